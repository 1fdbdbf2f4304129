// The table of concepts that were taught.

import { $, button, debounced, el, hidden } from "./dom.js";
import { attempt, call } from "./server.js";
import { quoted } from "./words.js";

/** The event of the document that tells that something was learnt or forgotten. */
export const MEMORY_CHANGED = "memory-changed";

let page = { next: null, turn: 0 };

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
  const row = el("tr", { "data-id": id });
  const action = (name, run) => button([name, hidden(` ${phrase}`)], run, "quiet");
  row.append(
    el("td", { class: "phrase" }, phrase),
    el("td", {}, slot),
    el("td", { class: "value" }, value ?? ""),
    el("td", { class: "wide" }, owner ?? "everyone"),
    el("td", { class: "wide number" }, String(uses)),
    el(
      "td",
      { class: "actions" },
      action("Edit", () => editRow(row, concept)),
      action("Delete", async () => (await remove(concept)) && $("undo").focus()),
    ),
  );
  return row;
}

function editRow(row, concept) {
  const field = (name, value, extra = {}) =>
    el("input", { type: "text", "aria-label": name, value: value ?? "", autocomplete: "off", ...extra });
  const phrase = field("Phrase", concept.phrase, { required: true });
  const slot = field("Slot", concept.slot, { required: true, list: "slots" });
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
    el("td", { class: "wide" }),
    el("td", { class: "wide" }),
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
  told(`Learnt ${quoted(concept.phrase)}.`);
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

/** Says what was done, and that it was. */
function told(text) {
  $("done").textContent = text;
  document.dispatchEvent(new Event(MEMORY_CHANGED));
}

$("add").addEventListener("submit", add);
$("undo").addEventListener("click", undo);
$("search").addEventListener(
  "input",
  debounced(150, () => listConcepts()),
);
$("more").addEventListener("click", () => listConcepts(page.next));
