// The playground: what the model makes of a sentence, a conversation that learns, the concepts that were learnt.

import { MEMORY_CHANGED, listConcepts } from "./concepts.js";
import { $, button, el } from "./dom.js";
import { annotate, setModel } from "./sentence.js";
import { attempt, call, setToken, storage } from "./server.js";
import { takeTurn } from "./talk.js";

/** Sentences for models with these intents; the last of each has something that no model knows. */
const EXAMPLES = [
  ["alarm", "Wake me up at half past six, please!"],
  ["remind", "Remind me to call my sister tomorrow morning."],
  ["route", "Um, how do I get to the airport from the office?"],
  ["alarm", "Wake me at six with Snugglebarn!"],
  ["weather", "What's the weather in Plimsoll Wharf tomorrow?"],
  ["PlayMusic", "play some jazz from 1959 by Miles Davis"],
  ["BookRestaurant", "book a table for four at a sushi bar in Boston"],
  ["GetWeather", "will it snow in Oslo tomorrow"],
  ["AddToPlaylist", "add Gimme Shelter to my Burpees and Regrets playlist"],
  ["atis_flight", "show me flights from Boston to Denver on Monday morning"],
  ["atis_airfare", "what is the cheapest fare from Dallas to Baltimore"],
  ["atis_flight", "flights from Zzyzx to Boston on Quuxair"],
];

function drawModel(model) {
  const parts = [
    model.file,
    `${model.intents.length} intents`,
    `${model.slots.length} slots`,
    model.version && `meno ${model.version}`,
  ];
  $("model").textContent = parts.filter(Boolean).join(" · ");
  $("slots").replaceChildren(...model.slots.map((slot) => el("option", { value: slot })));
  const choose = (text) => {
    $("text").value = text;
    $("text").focus();
    annotate();
  };
  const fitting = EXAMPLES.filter(([intent]) => model.intents.includes(intent));
  $("examples").replaceChildren(...fitting.map(([, text]) => button(text, () => choose(text))));
  $("examples").hidden = fitting.length === 0;
}

const THEMES = ["auto", "light", "dark"];

function setTheme(theme) {
  const known = THEMES.includes(theme) ? theme : "auto";
  document.documentElement.dataset.theme = known;
  $("theme").textContent = `Theme: ${known}`;
  storage.set("localStorage", "meno-theme", known);
}

async function start() {
  const model = await attempt(() => call("GET", "/v1/model"));
  if (!model) return;
  drawModel(model);
  setModel(model);
  showMemory();
}

/** Shows again what memory has a part in. */
function showMemory() {
  annotate();
  listConcepts();
}

document.addEventListener(MEMORY_CHANGED, showMemory);
$("say").addEventListener("submit", (event) => {
  event.preventDefault();
  takeTurn($("text").value);
  $("turn").focus();
});
$("theme").addEventListener("click", () =>
  setTheme(THEMES[(THEMES.indexOf(document.documentElement.dataset.theme) + 1) % THEMES.length]),
);
$("forget-token").addEventListener("click", () => {
  setToken(null);
  start();
});

setTheme(storage.get("localStorage", "meno-theme"));
start();
