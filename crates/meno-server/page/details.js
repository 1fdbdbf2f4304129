// The numbers behind an answer: words with their labels, how sure it is, the grammar, and what the server said.

import { laidOut } from "./answer.js";
import { $, copy, el, hidden } from "./dom.js";
import { asCurl, call } from "./server.js";
import { drawArcs } from "./tree.js";
import { UNKNOWN, number, percent, quoted } from "./words.js";

/** The request as it is laid out, and the turn that was taken last. */
let shown = null;
let last = null;
let parsed = null;

/** Shows a request, and the answer to the last turn. */
export function draw(request, turn, model) {
  last = turn;
  hideTip();
  shown = request && laidOut(request.annotation, model);
  if (!shown) return;
  drawWords(shown);
  drawNumbers(shown, model, turn.body);
  $("legend").hidden = !model.threshold;
  $("json").textContent = JSON.stringify(turn.answer, null, 2);
  $("copied").textContent = "";
  drawTree();
}

function drawNumbers({ intent, confidence, decision, threshold }, { trust }, body) {
  const rows = [
    ["Decision", decision],
    ["Intent", intent && `${intent.name}, ${percent(intent.probability)}`],
    ["Confidence", confidence == null ? null : `${percent(confidence)} in the whole reading`],
    ["Acts from", trust && body.threshold == null ? percent(body.act_from ?? trust.act_from) : null],
    ["Unknown above", threshold == null ? null : `an uncertainty of ${number(threshold)}`],
  ];
  const row = ([name, value]) => [el("dt", {}, name), el("dd", {}, value)];
  $("numbers").replaceChildren(...rows.filter(([, value]) => value).flatMap(row));
}

/** The tree is asked for once somebody looks. */
async function drawTree() {
  if (!shown || !$("details").open) return;
  const { text } = shown;
  if (parsed?.text !== text) {
    parsed = await call("POST", "/v1/annotate", { text, syntax: true }).catch(() => null);
    if (shown?.text !== text) return;
  }
  $("tree").hidden = !parsed?.parse?.length;
  if (!$("tree").hidden) drawArcs(parsed);
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
    notes.push(`It belongs to a phrase with ${quoted(shown.tokens[token.grown.from].text)}.`);
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

async function copied(text, what) {
  $("copied").textContent = (await copy(text)) ? `${what} is on the clipboard.` : "The browser does not let the page copy.";
}

$("details").addEventListener("toggle", drawTree);
$("copy-json").addEventListener("click", () => copied($("json").textContent, "The answer"));
$("copy-curl").addEventListener("click", () => copied(asCurl("POST", "/v1/dialogue", last.body), "The command"));
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") hideTip();
});
