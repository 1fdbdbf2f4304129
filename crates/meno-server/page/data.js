// What can be said, and what the model is.

import { ownColour } from "./bubble.js";
import { $, button, debounced, el } from "./dom.js";
import { take } from "./memory.js";
import { address } from "./server.js";
import { capital, plain, purpose } from "./words.js";

let model = null;
let say = () => {};

/** Takes a model, and what says a sentence. */
export function setModel(next, onSay) {
  model = next;
  say = onSay;
  const names = abilities().map((intent) => purpose(intent, model));
  const some = names.length > 4 ? `${names.slice(0, 4).join(", ")}…` : names.join(", ");
  $("model").textContent = some ? `Can ${model.description?.intents?.[abilities()[0]]?.say ? "" : "do: "}${some}` : model.file;
  drawSayings();
  drawKinds();
  drawFacts();
}

/** What it can do: not what it rejects. */
function abilities() {
  return model.intents.filter((intent) => !model.description?.intents?.[intent]?.reject);
}

function drawSayings() {
  const wanted = $("search-sayings").value.trim().toLowerCase();
  const cards = abilities().map((intent) => {
    const examples = model.description?.intents?.[intent]?.examples ?? [];
    const name = capital(purpose(intent, model));
    const isWanted = [intent, name, ...examples].some((text) => text.toLowerCase().includes(wanted));
    if (!isWanted) return null;
    const buttons = examples.map((text) => button(capital(text), () => say(text), "other"));
    return el("section", { class: "saying" }, el("h3", {}, name), el("div", { class: "chips" }, ...buttons));
  });
  const found = cards.filter(Boolean);
  $("sayings").replaceChildren(...found);
  $("no-sayings").hidden = found.length > 0;
}

export function drawKinds() {
  if (!model) return;
  const row = (slot) => {
    const { say, examples = [] } = model.description?.slots?.[slot] ?? {};
    const name = el("dt", {}, el("span", { class: `value ${ownColour(slot)}` }, plain(slot)));
    return [name, el("dd", {}, examples.length > 0 ? examples.join(", ") : (say ?? plain(slot)))];
  };
  $("kinds").replaceChildren(...model.slots.flatMap(row));
}

function drawFacts() {
  const { file, size, architecture, version, loaded, record = {} } = model;
  const rows = [
    ["File", `${file}, ${(size / 1e6).toFixed(1)} MB`],
    ["Architecture", architecture],
    ["Knows", `${model.intents.length} intents, ${model.slots.length} slots`],
    ["Slot F1 on valid", record.valid_slot_f1?.toFixed(1)],
    ["Loaded", new Date(loaded).toLocaleString()],
    ["Server", `meno ${version}`],
  ];
  const row = ([name, value]) => [el("dt", {}, name), el("dd", {}, value)];
  $("facts").replaceChildren(...rows.filter(([, value]) => value).flatMap(row));
}

$("openapi").href = address("/openapi.json");
$("search-sayings").addEventListener("input", debounced(100, drawSayings));
$("export-corpus").addEventListener("click", () => take("corpus", "learnt.jsonl"));
