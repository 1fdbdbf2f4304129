// The request as a form that fills, with one plain state and why it is so.

import { colour } from "./bubble.js";
import { $, el, emphasised } from "./dom.js";
import { capital, plain, purpose, resolvedText, why } from "./words.js";

const STATES = { ask: "Needs one answer", act: "Understood", reject: "Cannot help" };

export function drawForm(request, model) {
  const state = request?.state ?? "idle";
  $("state").textContent = STATES[state] ?? "Listening";
  $("state").className = `state ${state}`;
  $("form").replaceChildren(...(request && state !== "reject" ? rows(request, model) : []));
  $("form").hidden = !$("form").childElementCount;
  const sentence = request ? why(request, model) : "What you say is taken apart here.";
  $("why").replaceChildren(...emphasised(sentence));
  $("why").hidden = !sentence;
  $("details").hidden = !request;
}

function rows({ intent, slots, asked }, model) {
  const row = (name, kind, ...value) => [el("dt", { class: kind }, name), el("dd", { class: kind }, ...value)];
  const list = [];
  if (asked && asked.phrase == null && !asked.slot) {
    list.push(row("Request", "open", `${asked.options.map((name) => purpose(name, model)).join(" or ")}?`));
  } else if (intent) list.push(row("Request", "intent", capital(purpose(intent, model))));
  const fields = slots.map((slot) => ({ at: slot.start, row: row(plain(slot.slot), "filled", ...value(slot)) }));
  if (asked?.phrase != null) {
    const name = asked.proposed ?? asked.options[0];
    fields.push({ at: asked.place.start, row: row(name ? `${plain(name)}?` : "?", "open", asked.phrase) });
  }
  list.push(...fields.sort((a, b) => a.at - b.at).map((field) => field.row));
  const required = model?.description?.intents?.[intent]?.required ?? [];
  const isThere = (name) => slots.some(({ slot }) => slot === name) || asked?.options?.includes(name);
  for (const name of required.filter((name) => !isThere(name))) list.push(row(plain(name), asked?.slot === name ? "open" : "missing", asked?.slot === name ? "?" : "not said"));
  return list.flat();
}

function value({ slot, text, value, resolved }) {
  const means = resolvedText(resolved) ?? value;
  const words = el("span", { class: `value ${colour(slot)}` }, text);
  return means && means !== text ? [words, " ", el("span", { class: "means" }, means)] : [words];
}
