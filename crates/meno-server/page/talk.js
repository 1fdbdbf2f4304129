// The conversation: it asks, and learns.

import { marked } from "./bubble.js";
import { draw as drawDetails } from "./details.js";
import * as dial from "./dial.js";
import { $, button, el, emphasised, hidden } from "./dom.js";
import { drawForm } from "./form.js";
import { MEMORY_CHANGED, remove } from "./memory.js";
import { follow } from "./request.js";
import { call, storage } from "./server.js";
import { setUpSpeech, speak } from "./speech.js";
import { capital, kind, purpose } from "./words.js";

/** How many turns a reload of the page brings back. */
const KEPT = 60;
const KEY = "meno-talk";

let model = null;
let talk = { session: newSession(), turns: [] };
let request = null;
let bubbles = [];
/** The answers that can be pressed: what is said, and the button. */
let answers = [];
let isWaiting = false;

function newSession() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Says something: it stays in the box until the server has taken it. */
export async function say(text) {
  if (!text.trim() || isWaiting) return;
  const body = { session: talk.session, text, ...dial.stated() };
  $("turn").value = text;
  hold(true);
  try {
    const answer = await call("POST", "/v1/dialogue", body);
    $("turn").value = "";
    $("failed").hidden = true;
    $("trouble").hidden = true;
    take({ said: text, body, answer });
    speak(answer.reply.text);
    if (answer.concepts.length > 0 || answer.reply.forget) document.dispatchEvent(new Event(MEMORY_CHANGED));
  } catch (error) {
    const when = error.wait ? ` Try again in ${error.wait === "1" ? "a second" : `${error.wait} seconds`}.` : "";
    $("failed-why").textContent = `${error.message}${when} What you said is still in the box.`;
    $("failed").hidden = false;
  } finally {
    hold(false);
    focusBox();
  }
}

/** On a phone a focused box brings up the keyboard, which hides the conversation. */
function focusBox() {
  if (!matchMedia("(pointer: coarse)").matches) $("turn").focus();
}

let slow = null;

function hold(isOn) {
  isWaiting = isOn;
  $("turn").readOnly = isOn;
  clearTimeout(slow);
  $("waiting").textContent = "";
  if (isOn) slow = setTimeout(() => ($("waiting").textContent = "Waiting for the server…"), 400);
}

/** Takes a turn that the server has answered. */
function take(turn) {
  talk.turns.push(turn);
  storage.set("sessionStorage", KEY, JSON.stringify({ ...talk, turns: talk.turns.slice(-KEPT) }));
  show(turn, bubbles.length);
  showEnd();
}

/** What was said last stands right above the box. */
function showEnd() {
  $("conversation").scrollIntoView({ block: "end" });
}

function show(turn, at) {
  const { said, answer } = turn;
  const { reply } = answer;
  const before = request;
  request = follow(before, at, turn);
  closeQuestion();
  bubbles[at] = el("p", { class: "you" }, said);
  $("log").append(el("div", { class: "turn" }, hidden("You: "), bubbles[at]));
  for (const each of [before, request]) {
    const bubble = each?.turn == null ? null : bubbles[each.turn];
    bubble?.replaceChildren(...marked(each));
  }
  const words = el("div", { class: `meno ${reply.outcome}` }, el("p", {}, hidden("Meno: "), ...emphasised(reply.text)));
  if (reply.outcome === "ask") words.append(question(reply));
  $("log").append(words);
  note(answer);
  drawForm(request, model);
  drawDetails(request, turn, model);
  $("turn").placeholder = reply.outcome === "ask" ? "Answer, or say something else…" : "Ask for something…";
  $("dial-again").hidden = true;
}

/** Buttons for the answers to a question; the likely ones have a number to press. */
function question({ phrase, slot, options = [], proposed }) {
  const isOfIntent = phrase == null;
  const examples = model?.description?.slots?.[slot]?.examples ?? [];
  let likely = options.map((name) => (isOfIntent ? [purpose(name, model)] : [kind(name, model)]));
  if (proposed) likely = [["yes", `Yes, ${kind(proposed, model)}`], ["no", "No"]];
  if (slot) likely = examples.map((example) => [example, example]);
  const others = proposed || slot ? [] : [["something else", "Something else…"]];
  if (!isOfIntent) others.push(["I don't know", "I don’t know, go ahead"]);
  others.push(["never mind", "Never mind"]);
  const alone = !proposed && likely.length === 1 && !isOfIntent;
  const chips = [
    ...likely.map(([said, shown = capital(said)], i) =>
      chip(said, alone ? `Yes, ${said}` : shown, "likely", String(i + 1)),
    ),
    ...others.filter(([said]) => likely.length > 0 || said !== "something else").map(([said, shown]) => chip(said, shown, "other")),
  ];
  answers = likely.map(([said]) => said);
  return el("div", { class: "chips", role: "group", "aria-label": "Answers" }, ...chips);
}

function chip(said, shown, kind, key = null) {
  const label = key ? [shown, " ", el("kbd", { "aria-hidden": "true" }, key)] : [shown];
  return button(label, () => say(said), kind);
}

function closeQuestion() {
  answers = [];
  for (const chips of $("log").querySelectorAll(".chips")) chips.remove();
}

/** What was learnt or forgotten by a turn, and a way back. */
function note({ reply, concepts }) {
  concepts.forEach((id, i) => {
    const lesson = reply.lessons?.[i];
    if (!lesson) return;
    const forget = button(["Forget it", hidden(`: ${lesson.phrase}`)], async () => {
      forget.disabled = true;
      if (await remove({ id, phrase: lesson.phrase })) forget.replaceWith("forgotten");
      else forget.disabled = false;
    }, "link");
    const means = lesson.value ? `, which means ${lesson.value}` : "";
    const what = `: ${kind(lesson.slot, model)}${means} · `;
    $("log").append(el("p", { class: "note" }, "Learnt ", el("strong", {}, lesson.phrase), what, forget));
  });
}

/** What is there before anything is said. */
function greet() {
  const examples = Object.values(model?.description?.intents ?? {}).map(({ examples = [] }) => examples[0]).filter(Boolean);
  const step = Math.max(1, Math.floor(examples.length / 4));
  const some = examples.filter((_, i) => i % step === 0).slice(0, 4);
  const words = el("div", { class: "meno" }, el("p", {}, hidden("Meno: "), "Ask me for something. What I do not know I ask about, and remember."));
  if (some.length > 0) {
    const chips = some.map((text) => chip(text, capital(text), "other"));
    words.append(el("div", { class: "chips", role: "group", "aria-label": "What can be said" }, ...chips));
  }
  $("log").replaceChildren(words);
}

/** Takes a model, and takes up the conversation of before a reload. */
export function setModel(next) {
  model = next;
  request = null;
  bubbles = [];
  try {
    const kept = JSON.parse(storage.get("sessionStorage", KEY));
    if (kept?.session && Array.isArray(kept.turns)) talk = kept;
  } catch {
    /* What is not a conversation is none. */
  }
  greet();
  drawForm(null, model);
  talk.turns.forEach((turn, at) => show(turn, at));
  if (talk.turns.length > 0) showEnd();
}

async function startAnew() {
  const { session, turns } = talk;
  talk = { session: newSession(), turns: [] };
  storage.set("sessionStorage", KEY, null);
  setModel(model);
  $("failed").hidden = true;
  $("turn").value = "";
  focusBox();
  // It ends by itself, too.
  if (turns.length > 0) await call("DELETE", `/v1/dialogue/${session}`).catch(() => null);
}

$("say").addEventListener("submit", (event) => {
  event.preventDefault();
  say($("turn").value);
});
$("again").addEventListener("click", () => say($("turn").value));
$("anew").addEventListener("click", startAnew);
$("turn").addEventListener("keydown", (event) => {
  const { key, ctrlKey, altKey, metaKey } = event;
  if ($("turn").value !== "" || ctrlKey || altKey || metaKey) return;
  const last = talk.turns.at(-1)?.said;
  if (/^[1-9]$/.test(key) && answers[key - 1] !== undefined) {
    event.preventDefault();
    say(answers[key - 1]);
  } else if (key === "ArrowUp" && last) {
    event.preventDefault();
    $("turn").value = last;
  }
});
dial.onMove(() => {
  $("dial-again").hidden = !request;
});
$("dial-again").addEventListener("click", () => request && say(request.said));
setUpSpeech((text, isFinal) => {
  $("turn").value = text;
  if (isFinal) say(text);
});
