// What was taught: found, changed, taken back, taken out and in.

import { ownColour } from "./bubble.js";
import { $, button, debounced, download, el, hidden } from "./dom.js";
import { attempt, call, callText } from "./server.js";
import { kind, plain, quoted } from "./words.js";

/** The event of the document that tells that something was learnt or forgotten. */
export const MEMORY_CHANGED = "memory-changed";

/** More than these are not counted. */
const COUNTED = 1000;

let page = { next: null, turn: 0 };
let model = null;

/** Takes a model: what its slots are called. */
export function setModel(next) {
  model = next;
  $("slots").replaceChildren(...model.slots.map((slot) => el("option", { value: slot })));
}

/** How much was taught, and what last. */
export async function drawRemembered() {
  const list = await call("GET", `/v1/concepts?limit=${COUNTED}`).catch(() => null);
  if (!list) return;
  const { concepts, next } = list;
  $("memory-count").textContent = next == null ? concepts.length : `${concepts.length}+`;
  $("memory-count").hidden = $("remembered").hidden = concepts.length === 0;
  const row = ({ phrase, slot, value, uses }) => {
    const facts = [plain(slot), value && `means ${value}`, uses > 0 && `used ${uses === 1 ? "once" : `${uses} times`}`];
    return el("li", {}, el("strong", {}, phrase), ` · ${facts.filter(Boolean).join(" · ")}`);
  };
  const latest = [...concepts].sort((a, b) => b.updated - a.updated).slice(0, 3);
  $("recent").replaceChildren(...latest.map(row));
}

export async function listConcepts(after = 0) {
  const turn = ++page.turn;
  const query = new URLSearchParams({ query: $("search").value.trim(), after, limit: 50 });
  const list = await attempt(() => call("GET", `/v1/concepts?${query}`));
  if (!list || turn !== page.turn) return;
  const rows = list.concepts.map(conceptRow);
  if (after) $("concepts").append(...rows);
  else $("concepts").replaceChildren(...rows);
  page.next = list.next;
  $("more").hidden = list.next == null;
  $("no-concepts").hidden = $("concepts").childElementCount > 0;
  $("no-concepts").textContent = $("search").value.trim()
    ? "Nothing of that kind was taught."
    : "Nothing was taught yet.";
}

function conceptRow(concept) {
  const { id, phrase, slot, value, owner, uses } = concept;
  const whose = owner ? [el("span", { class: "fine" }, ` of ${owner}`)] : [];
  const row = el("tr", { "data-id": id });
  const action = (name, run) => button([name, hidden(` ${phrase}`)], run, "quiet");
  row.append(
    el("td", { class: "phrase" }, phrase),
    el("td", { class: "kind" }, el("span", { class: `value ${ownColour(slot)}` }, plain(slot)), ...whose),
    el("td", { class: "value-of" }, value ?? ""),
    el("td", { class: "learnt" }, ...learnt(concept)),
    el("td", { class: "number uses" }, uses === 0 ? "never" : uses === 1 ? "once" : `${uses} times`),
    el(
      "td",
      { class: "actions" },
      action("Edit", () => editRow(row, concept)),
      action("Delete", async () => (await remove(concept)) && $("undo").focus()),
    ),
  );
  return row;
}

/** Where and when it was learnt. */
function learnt({ phrase, source, created }) {
  const when = el("time", { datetime: new Date(created).toISOString() }, new Date(created).toLocaleDateString());
  if (!source?.words?.length) return ["typed in, ", when];
  return ["in ", el("q", {}, ...setOff(source.words.join(" "), phrase)), ", ", when];
}

/** A text with a phrase in it set off, whatever its case. */
function setOff(text, phrase) {
  const at = text.toLowerCase().indexOf(phrase.toLowerCase());
  if (at < 0) return [text];
  const end = at + phrase.length;
  return [text.slice(0, at), el("strong", {}, text.slice(at, end)), text.slice(end)];
}

function editRow(row, concept) {
  const field = (name, value, extra = {}) =>
    el("input", { type: "text", "aria-label": name, value: value ?? "", autocomplete: "off", ...extra });
  const phrase = field("Phrase", concept.phrase, { required: true });
  const slot = field("Kind", concept.slot, { required: true, list: "slots" });
  const value = field("Stands for", concept.value);
  const close = () => {
    const fresh = conceptRow(concept);
    row.replaceWith(fresh);
    fresh.querySelector("button").focus();
  };
  const save = async () => {
    const change = { phrase: phrase.value, slot: slot.value, value: value.value.trim() || null };
    const changed = await attempt(() => call("PATCH", `/v1/concepts/${concept.id}`, change));
    if (changed) told(`Changed ${quoted(changed.phrase)}.`);
  };
  const onkeydown = (event) => {
    if (event.key === "Enter") save();
    if (event.key === "Escape") close();
  };
  for (const input of [phrase, slot, value]) input.addEventListener("keydown", onkeydown);
  const buttons = el("td", { class: "actions" }, button("Save", save), button("Cancel", close, "quiet"));
  row.replaceChildren(
    el("td", {}, phrase),
    el("td", {}, slot),
    el("td", {}, value),
    el("td", { class: "learnt" }, ...learnt(concept)),
    el("td", { class: "number uses" }),
    buttons,
  );
  phrase.focus();
}

/** Forgets a concept; whether it did. */
export async function remove({ id, phrase }) {
  const done = await attempt(() => call("DELETE", `/v1/concepts/${id}`));
  if (done === undefined) return false;
  told(`Forgot ${quoted(phrase)}.`);
  return true;
}

async function add(event) {
  event.preventDefault();
  const value = $("add-value").value.trim();
  const draft = { phrase: $("add-phrase").value, slot: $("add-slot").value.trim(), ...(value && { value }) };
  const concept = await attempt(() => call("POST", "/v1/concepts", draft));
  if (!concept) return;
  event.target.reset();
  $("add-phrase").focus();
  told(`Learnt that ${quoted(concept.phrase)} is ${kind(concept.slot, model)}.`);
}

async function undo() {
  const done = await attempt(() => call("POST", "/v1/concepts/undo"));
  if (!done) return;
  const sentence = ({ before, after }) => {
    if (before && after) return `${quoted(before.phrase)} is as it was.`;
    return after ? `${quoted(after.phrase)} is back.` : `${quoted(before.phrase)} is forgotten.`;
  };
  const sentences = done.changes.map(sentence);
  told(sentences.length ? sentences.slice(0, 3).join(" ") : "There is nothing to undo.");
}

/** Takes concepts out as they are, or the sentences in which they were learnt. */
export async function take(form, name) {
  const text = await attempt(() => callText("GET", `/v1/concepts/export?as=${form}`));
  if (text === undefined) return;
  if (text) download(name, text);
  $("done").textContent = text ? "" : "There is nothing to export.";
}

async function bring() {
  const [file] = $("import-file").files;
  if (!file) return;
  const sent = { type: "application/x-ndjson", text: await file.text() };
  const answer = await attempt(() => callText("POST", "/v1/concepts/import", sent));
  $("import-file").value = "";
  if (answer === undefined) return;
  const { concepts, new: fresh } = JSON.parse(answer);
  told(`Imported ${concepts} from ${file.name}, ${fresh} of them new.`);
}

/** Says what was done, and that it was. */
function told(text) {
  $("done").textContent = text;
  document.dispatchEvent(new Event(MEMORY_CHANGED));
}

$("add").addEventListener("submit", add);
$("undo").addEventListener("click", undo);
$("export").addEventListener("click", () => take("jsonl", "taught.jsonl"));
$("import").addEventListener("click", () => $("import-file").click());
$("import-file").addEventListener("change", bring);
$("search").addEventListener(
  "input",
  debounced(150, () => listConcepts()),
);
$("more").addEventListener("click", () => listConcepts(page.next));
