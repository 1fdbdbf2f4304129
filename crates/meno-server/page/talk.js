// The conversation: it asks, and learns.

import { MEMORY_CHANGED, remove } from "./concepts.js";
import { $, button, el, hidden } from "./dom.js";
import { attempt, call } from "./server.js";
import { plain } from "./words.js";

function newSession() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

let session = newSession();

/** Text in which `*words*` are set off. */
function emphasised(text) {
  return text.split(/\*([^*]+)\*/).map((part, i) => (i % 2 ? el("em", {}, part) : part));
}

function say(kind, speaker, ...content) {
  const log = $("talk");
  log.append(el("div", { class: `turn ${kind}` }, hidden(`${speaker}: `), ...content));
  log.scrollTop = log.scrollHeight;
}

let turns = Promise.resolve();
let hasTurns = false;

/** Takes a turn when the ones before it are done. */
export function takeTurn(text) {
  if (text.trim()) turns = turns.then(() => turn(text));
}

/** Says a request, and answers the question that follows if it is about the same phrase, or about the intent if there is none. */
export function sayAndAnswer(text, { phrase, answer }) {
  turns = turns.then(async () => {
    const reply = await turn(text);
    if (reply?.outcome === "ask" && (reply.phrase ?? null) === phrase) await turn(answer);
  });
}

/** Takes a turn at once; the reply, if there is one. */
async function turn(text) {
  say("you", "You", text);
  $("options").hidden = true;
  const answer = await attempt(() => call("POST", "/v1/dialogue", { session, text }));
  if (!answer) return;
  hasTurns = true;
  const { reply, concepts = [] } = answer;
  say(`meno ${reply.outcome}`, "Meno", el("p", {}, ...emphasised(reply.text)));
  if (concepts.length > 0) {
    const learnt = concepts.map((id, i) => ({ id, phrase: reply.lessons?.[i]?.phrase ?? String(id) }));
    say(
      "note",
      "Note",
      ...learnt.flatMap((concept) => ["Learnt ", el("em", {}, concept.phrase), " ", forget(concept)]),
    );
    document.dispatchEvent(new Event(MEMORY_CHANGED));
  }
  offer(reply);
  return reply;
}

function forget(concept) {
  const press = async ({ target }) => {
    target.disabled = true;
    target.disabled = await remove(concept);
  };
  return button(["Forget it", hidden(`: ${concept.phrase}`)], press, "quiet");
}

/** Buttons for the answers that a question names. */
function offer({ outcome, options = [] }) {
  const names = options.map(plain);
  const answer = (text) =>
    button(text, () => {
      takeTurn(text);
      $("turn").focus();
    });
  $("options").replaceChildren(...(outcome === "ask" ? [...names, "never mind"].map(answer) : []));
  $("options").hidden = outcome !== "ask";
}

async function startAnew() {
  const old = session;
  session = newSession();
  $("talk").replaceChildren();
  offer({});
  greet();
  if (hasTurns) await attempt(() => call("DELETE", `/v1/dialogue/${old}`));
  hasTurns = false;
}

function greet() {
  say("meno", "Meno", el("p", {}, "Ask me for something. What I do not know I ask about, and remember."));
}

$("reply").addEventListener("submit", (event) => {
  event.preventDefault();
  takeTurn($("turn").value);
  $("turn").value = "";
});
$("talk-new").addEventListener("click", startAnew);

greet();
