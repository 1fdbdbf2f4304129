// What the model makes of the sentence in the field, as one types and moves the threshold.

import { laidOut } from "./answer.js";
import { $, button, debounced, el, hidden } from "./dom.js";
import { attempt, call } from "./server.js";
import { sayAndAnswer } from "./talk.js";
import { drawArcs } from "./tree.js";
import { UNKNOWN, changes, number, percent, plain, priceOf, quoted, reason } from "./words.js";

/** `own` is the answer with the model's own threshold, `answer` the one that is shown. */
const state = { model: null, own: null, answer: null, threshold: null, range: [0, 1] };

const isMoved = () => state.model?.threshold != null && state.threshold !== state.model.threshold.value;

function drawAnswer() {
  const { answer, model } = state;
  $("answer").hidden = !model || !answer || answer.tokens.length === 0;
  hideTip();
  if ($("answer").hidden) return;
  drawWords(answer);
  $("decision").textContent = answer.decision;
  $("decision").className = `decision ${answer.decision}`;
  $("reason").textContent = reason(answer, model);
  drawChoices(answer);
  drawIntent(answer);
  $("stated").hidden = !isMoved() || answer.confidence == null;
  $("threshold-box").hidden = $("legend").hidden = !model.threshold;
  if (model.threshold) {
    drawTicks(answer);
    drawChanges();
  }
  $("tree").hidden = !answer.parse;
  if (answer.parse) drawArcs(answer);
}

/** Buttons for the likeliest answers to a question. A conversation asks by the model's own threshold alone. */
function drawChoices({ text, decision, about }) {
  const options = decision === "ask" && !isMoved() ? about.options : [];
  const choice = ({ name, probability }) => {
    const press = () => {
      sayAndAnswer(text, { phrase: about.text, answer: plain(name) });
      $("turn").focus();
    };
    return button([plain(name), " ", el("span", { class: "share" }, percent(probability))], press);
  };
  $("choices").replaceChildren(...options.map(choice));
  $("choices").hidden = options.length === 0;
}

function drawIntent({ intent, confidence }) {
  const fill = (id, share) => $(id).style.setProperty("width", `${100 * share}%`);
  $("intent-row").hidden = !intent;
  if (intent) {
    $("intent").textContent = intent.name;
    $("intent-score").textContent = percent(intent.probability);
    $("intent-confidence").textContent =
      intent.confidence == null ? "" : `confidence ${percent(intent.confidence)}`;
    fill("intent-gauge", intent.probability);
  }
  $("confidence-row").hidden = confidence == null;
  if (confidence != null) {
    $("confidence").textContent = `confidence ${percent(confidence)}`;
    fill("confidence-gauge", confidence);
  }
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
  const kinds = ["word", `heat-${token.ground}`, token.isUnknown && "is-unknown", token.isAsked && "is-asked"];
  const chip = el(
    "button",
    { type: "button", class: kinds.filter(Boolean).join(" ") },
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
      `Uncertainty ${number(token.uncertainty)}, threshold ${number(token.reason.threshold)}${token.isUnknown ? ": unknown" : ""}.`,
    );
  }
  if (token.grown)
    notes.push(`It belongs to a phrase with ${quoted(state.answer.tokens[token.grown.from].text)}.`);
  if (token.isRecalled) notes.push("It is remembered.");
  if (token.part) {
    const { text, slot, confidence } = token.part;
    notes.push(`Confidence that ${quoted(text)} is ${slot ?? "in no slot"}: ${percent(confidence)}.`);
  }
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

/** The threshold that the slider stands at, and what it costs. */
function drawThreshold() {
  const { model, threshold } = state;
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
}

function drawTicks({ spans }) {
  const [low, high] = state.range;
  const tick = (value, kind, title) => {
    const node = el("span", { class: kind, title });
    node.style.setProperty("left", `${100 * Math.min(1, Math.max(0, (value - low) / (high - low)))}%`);
    return node;
  };
  const uncertainties = spans
    .filter((span) => span.guess && !span.recalled)
    .map((span) => tick(span.guess.uncertainty, "tick", `${span.text}: ${number(span.guess.uncertainty)}`));
  $("ticks").replaceChildren(tick(state.model.threshold.value, "own", "the model’s own"), ...uncertainties);
}

/** What is another than with the model's own threshold. */
function drawChanges() {
  const { own, answer } = state;
  const found = answer === own ? [] : changes(own, answer);
  const none = answer === own ? [] : ["Nothing changes in this sentence."];
  $("changes").replaceChildren(...(found.length ? found : none).map((text) => el("li", {}, text)));
}

let pending = new AbortController();
let slow = null;

/** Says that the server takes its time, once it does, or why what is shown is not what was asked for; or nothing. */
function tell(text) {
  clearTimeout(slow);
  slow = null;
  $("waiting").textContent = text;
  $("answer").removeAttribute("aria-busy");
}

function expectAnswer() {
  slow ??= setTimeout(() => {
    $("waiting").textContent = "Waiting for the server…";
    $("answer").setAttribute("aria-busy", "true");
  }, 300);
}

function show(own, answer) {
  tell("");
  Object.assign(state, { own, answer });
  drawAnswer();
}

/** Asks about the text in the field, with the threshold of the slider; an answer that a later question overtook is dropped. */
async function ask() {
  pending.abort();
  pending = new AbortController();
  const { signal } = pending;
  const text = $("text").value;
  if (!text.trim()) {
    show(null, null);
    return;
  }
  const annotation = (more) =>
    call("POST", "/v1/annotate", { text, syntax: true, ...more }, signal).then((found) =>
      laidOut(found, state.model),
    );
  expectAnswer();
  const found = await attempt(() => {
    const own = state.own?.text === text ? state.own : annotation();
    return Promise.all([own, isMoved() ? annotation({ threshold: state.threshold }) : own]);
  });
  if (signal.aborted) return;
  if (found) show(...found);
  else tell("There is no answer from the server. What is shown is its last one.");
}

/** Asks about the text in the field, of which nothing is known any more. */
export function annotate() {
  state.own = null;
  return ask();
}

/** Takes a model, and its threshold. */
export function setModel(model) {
  Object.assign(state, { model, own: null, answer: null, threshold: null });
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
  drawThreshold();
}

const askSoon = debounced(100, ask);

$("text").addEventListener("input", debounced(100, annotate));
$("threshold").addEventListener("input", () => {
  const [low, high] = state.range;
  state.threshold = low + ((high - low) * $("threshold").value) / 400;
  drawThreshold();
  askSoon();
});
$("threshold-reset").addEventListener("click", () => {
  resetThreshold();
  ask();
  $("threshold").focus();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") hideTip();
});
