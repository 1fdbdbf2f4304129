// The page: a conversation, what was taught in it, what can be said, and settings.

import * as data from "./data.js";
import * as dial from "./dial.js";
import { $ } from "./dom.js";
import * as memory from "./memory.js";
import { MEMORY_CHANGED } from "./memory.js";
import { attempt, call, setToken, storage } from "./server.js";
import * as talk from "./talk.js";

const VIEWS = ["talk", "memory", "data", "settings"];

/** Shows the part of the page that the address names. */
function showView({ isMoved }) {
  const named = location.hash.slice(1);
  // The link that skips to the box is no part of its own.
  if (named === "turn") return;
  const view = VIEWS.includes(named) ? named : "talk";
  for (const name of VIEWS) $(`${name}-view`).hidden = name !== view;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#${view}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (view === "memory") memory.listConcepts();
  if (view === "data") data.drawKinds();
  if (isMoved) {
    window.scrollTo(0, 0);
    ($(`${view}-view`).querySelector("[tabindex='-1']") ?? $("turn")).focus({ preventScroll: true });
  }
}

function showMemory() {
  memory.drawRemembered();
  if (!$("memory-view").hidden) memory.listConcepts();
}

function sayInTalk(text) {
  location.hash = "#talk";
  talk.say(text);
}

async function start() {
  const model = await attempt(() => call("GET", "/v1/model"));
  if (!model) return;
  dial.setModel(model);
  memory.setModel(model);
  data.setModel(model, sayInTalk);
  talk.setModel(model);
  showMemory();
}

function setTheme(theme) {
  const known = ["light", "dark"].includes(theme) ? theme : "auto";
  document.documentElement.dataset.theme = known;
  for (const choice of document.querySelectorAll("[name=theme]")) choice.checked = choice.value === known;
  storage.set("localStorage", "meno-theme", known === "auto" ? null : known);
}

window.addEventListener("hashchange", () => showView({ isMoved: true }));
document.addEventListener(MEMORY_CHANGED, showMemory);
for (const choice of document.querySelectorAll("[name=theme]")) {
  choice.addEventListener("change", () => setTheme(choice.value));
}
$("skip").addEventListener("click", (event) => {
  event.preventDefault();
  location.hash = "#talk";
  $("turn").focus();
});
$("forget-token").addEventListener("click", () => {
  setToken(null);
  start();
});

setTheme(storage.get("localStorage", "meno-theme"));
showView({ isMoved: false });
if (!$("talk-view").hidden && !matchMedia("(pointer: coarse)").matches) $("turn").focus();
start();
