// What the model makes of the sentence in the field, as one types.

import { $, debounced, el, hidden } from "/page/dom.js";
import { UNKNOWN, changes, judge, number, percent, priceOf, quoted, reason } from "/page/judge.js";
import { attempt, call } from "/page/server.js";
import { drawArcs } from "/page/tree.js";

const state = { model: null, annotation: null, threshold: null, range: [0, 1] };

function drawAnswer() {
  const { annotation, model, threshold } = state;
  $("answer").hidden = !model || !annotation || annotation.tokens.length === 0;
  hideTip();
  if ($("answer").hidden) return;
  const judged = judge(annotation, threshold, model);
  drawWords(judged);
  $("decision").textContent = judged.decision;
  $("decision").className = `decision ${judged.decision}`;
  $("reason").textContent = reason(judged, model);
  $("intent-row").hidden = !judged.intent;
  if (judged.intent) {
    $("intent").textContent = judged.intent.name;
    $("intent-score").textContent = percent(judged.intent.probability);
    $("intent-gauge").style.setProperty("width", `${100 * judged.intent.probability}%`);
  }
  drawThreshold(judged);
  $("tree").hidden = !judged.parse;
  if (judged.parse) drawArcs(judged);
}

function drawWords({ text, tokens, spans }) {
  const words = $("words");
  const gap = (from, to) => {
    const rest = text.slice(from, to).trim();
    return rest ? [el("span", { class: "gap" }, rest)] : [];
  };
  words.replaceChildren();
  let done = 0;
  let at = words;
  tokens.forEach((token, i) => {
    const span = spans.find((span) => span.first <= i && i < span.last);
    if (!span || span.first === i) at = words;
    at.append(...gap(done, token.from));
    if (span?.first === i) {
      at = el("span", { class: "inside" });
      words.append(bracket(span, at));
    }
    at.append(wordChip(token));
    done = token.to;
  });
  words.append(...gap(done));
}

function bracket(span, inside) {
  const isUnknown = span.slot === UNKNOWN;
  const parts = [isUnknown ? `? ${span.slot}` : span.slot];
  if (isUnknown && span.guess) parts.push(`${span.guess.slot}?`);
  if (span.recalled) parts.push(["remembered", span.recalled.value].filter(Boolean).join(": "));
  const name = parts.join(" · ");
  const kind = isUnknown ? "span is-unknown" : span.recalled ? "span is-recalled" : "span";
  return el(
    "span",
    { class: kind, role: "group", "aria-label": name },
    inside,
    el("span", { class: "slot", "aria-hidden": "true" }, name),
  );
}

function wordChip(token) {
  const chip = el(
    "button",
    { type: "button", class: `word heat-${token.step}${token.isUnknown ? " is-unknown" : ""}` },
    el("span", { class: "form" }, token.text),
    el("span", { class: "label" }, token.label),
    token.uncertainty == null ? null : hidden(`, uncertainty ${number(token.uncertainty)}`),
  );
  for (const event of ["mouseenter", "focus", "click"])
    chip.addEventListener(event, () => showTip(chip, token));
  for (const event of ["mouseleave", "blur"]) chip.addEventListener(event, hideTip);
  return chip;
}

function showTip(chip, token) {
  const tip = $("tip");
  const choices = [
    { label: token.first_choice ?? token.label, probability: token.probability },
    ...(token.reason?.runners_up ?? []),
  ];
  const row = ({ label, probability }) => {
    const gauge = el("span");
    gauge.style.setProperty("width", `${100 * probability}%`);
    return el(
      "li",
      {},
      el("span", { class: "name" }, label),
      el("span", { class: "gauge" }, gauge),
      el("span", {}, percent(probability)),
    );
  };
  const notes = [];
  if (token.uncertainty != null) {
    notes.push(
      `Uncertainty ${number(token.uncertainty)}, threshold ${number(state.threshold)}${token.isUnknown ? ": unknown" : ""}.`,
    );
  }
  if (token.grown)
    notes.push(`It belongs to a phrase with ${quoted(state.annotation.tokens[token.grown.from].text)}.`);
  if (token.isRecalled) notes.push("It is remembered.");
  tip.replaceChildren(
    el("strong", {}, token.text),
    el("ul", {}, ...choices.map(row)),
    ...notes.map((note) => el("p", {}, note)),
  );
  tip.hidden = false;
  document
    .querySelectorAll("[aria-describedby=tip]")
    .forEach((other) => other.removeAttribute("aria-describedby"));
  chip.setAttribute("aria-describedby", "tip");
  const place = chip.getBoundingClientRect();
  const left = Math.min(
    Math.max(8, place.left + place.width / 2 - tip.offsetWidth / 2),
    document.documentElement.clientWidth - tip.offsetWidth - 8,
  );
  tip.style.setProperty("left", `${left + window.scrollX}px`);
  tip.style.setProperty("top", `${place.bottom + window.scrollY + 6}px`);
}

function hideTip() {
  $("tip").hidden = true;
}

function drawThreshold(judged) {
  const {
    model,
    threshold,
    annotation,
    range: [low, high],
  } = state;
  $("threshold-box").hidden = $("legend").hidden = !model.threshold;
  if (!model.threshold) return;
  const own = model.threshold.value;
  $("threshold-value").textContent = number(threshold) + (threshold === own ? " (the model’s own)" : "");
  $("threshold").setAttribute("aria-valuetext", number(threshold));
  $("threshold-reset").hidden = threshold === own;
  const f1 = priceOf(threshold, model.threshold);
  const before = model.threshold.f1_before;
  $("price").textContent =
    f1 === undefined || before <= 0
      ? ""
      : `On the data that it was chosen on, slot F1 is ${number(f1)} with this threshold, ${number(before)} without one.`;
  const place = (value) => `${100 * Math.min(1, Math.max(0, (value - low) / (high - low)))}%`;
  const tick = (value, kind, title) => {
    const node = el("span", { class: kind, title });
    node.style.setProperty("left", place(value));
    return node;
  };
  const doubts = judged.spans
    .filter((span) => span.guess && !span.recalled)
    .map((span) => tick(span.guess.uncertainty, "tick", `${span.text}: ${number(span.guess.uncertainty)}`));
  $("ticks").replaceChildren(tick(own, "own", "the model’s own"), ...doubts);
  const found = threshold === own ? [] : changes(judge(annotation, own, model), judged);
  const none = threshold === own ? [] : ["Nothing changes in this sentence."];
  $("changes").replaceChildren(...(found.length ? found : none).map((text) => el("li", {}, text)));
}

let pending = new AbortController();

/** Annotates what stands in the field; an answer that a later one overtook is dropped. */
export async function annotate() {
  pending.abort();
  pending = new AbortController();
  const { signal } = pending;
  const text = $("text").value;
  if (!text.trim()) {
    state.annotation = null;
    drawAnswer();
    return;
  }
  const annotation = await attempt(() => call("POST", "/v1/annotate", { text, syntax: true }, signal));
  if (!annotation || signal.aborted) return;
  state.annotation = annotation;
  drawAnswer();
}

/** Takes a model, and its threshold. */
export function setModel(model) {
  state.model = model;
  state.threshold = null;
  if (!model.threshold) return;
  const { value, median, offers = [] } = model.threshold;
  const finite = offers.map((offer) => offer.value).filter((value) => Math.abs(value) < 1e30);
  const low = Math.min(value, median, ...finite);
  const high = Math.max(value + Math.abs(value - median), ...finite);
  const margin = 0.1 * (high - low) || 1;
  state.range = [low - margin, high + margin];
  resetThreshold();
}

function resetThreshold() {
  const [low, high] = state.range;
  state.threshold = state.model.threshold.value;
  $("threshold").value = Math.round((400 * (state.threshold - low)) / (high - low));
  drawAnswer();
}

$("text").addEventListener("input", debounced(100, annotate));
$("threshold").addEventListener("input", () => {
  const [low, high] = state.range;
  state.threshold = low + ((high - low) * $("threshold").value) / 400;
  drawAnswer();
});
$("threshold-reset").addEventListener("click", () => {
  resetThreshold();
  $("threshold").focus();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") hideTip();
});
