// The playground: what the model makes of a sentence, a conversation that learns, the concepts that were learnt.
//
// Whatever comes from the server or the user becomes text of elements, never markup. An annotation enters `judge`, which
// decides again with another threshold; what leaves it is drawn.

const $ = (id) => document.getElementById(id);

// ---------------------------------------------------------------------------------------------- elements

/** An element with attributes (`on...` are listeners) and children. */
function el(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value === true) node.setAttribute(key, "");
    else if (value !== false && value != null) node.setAttribute(key, value);
  }
  node.append(...children.filter((child) => child != null));
  return node;
}

function svg(name, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

const hidden = (text) => el("span", { class: "hidden" }, text);
const percent = (share) => `${Math.round(100 * share)} %`;
const number = (value) => value.toFixed(2);
const quoted = (text) => `“${text}”`;

/** Calls back when nothing has happened for a while. */
function debounced(milliseconds, callback) {
  let timer;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(callback, milliseconds);
  };
}

// ---------------------------------------------------------------------------------------------- server

const storage = {
  get: (area, key) => { try { return window[area].getItem(key); } catch { return null; } },
  set: (area, key, value) => {
    try {
      if (value == null) window[area].removeItem(key);
      else window[area].setItem(key, value);
    } catch { /* Private windows may refuse; the value then lasts as long as the page. */ }
  },
};

let token = storage.get("sessionStorage", "meno-token");

class Refused extends Error {
  constructor(status, { message, hint } = {}) {
    super([message ?? `The server answered ${status}.`, hint].filter(Boolean).join(" — "));
    this.status = status;
  }
}

/** Asks the server; asks the user for a token where one is needed. */
async function call(method, path, body, signal) {
  const headers = {};
  if (token) headers.authorization = `Bearer ${token}`;
  if (body !== undefined) headers["content-type"] = "application/json";
  const request = { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) };
  let response;
  try {
    response = await fetch(path, request);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, { message: "The server cannot be reached." });
  }
  if (response.ok) return response.status === 204 ? null : response.json();
  const { error } = await response.json().catch(() => ({}));
  const refused = new Refused(response.status, error);
  if (response.status === 401 && (await newToken(refused.message))) return call(method, path, body, signal);
  throw refused;
}

let asking = null;

/** Whether the user gave a token; several requests that wait for one ask once. */
function newToken(reason) {
  asking ??= new Promise((resolve) => {
    const dialog = $("token-dialog");
    $("token-reason").textContent = reason;
    $("token").value = "";
    const finish = () => {
      dialog.removeEventListener("close", finish);
      asking = null;
      const given = dialog.returnValue;
      if (given) setToken(given);
      resolve(Boolean(given));
    };
    dialog.returnValue = "";
    dialog.addEventListener("close", finish);
    dialog.showModal();
  });
  return asking;
}

function setToken(value) {
  token = value;
  storage.set("sessionStorage", "meno-token", value);
  $("forget-token").hidden = !value;
}

/** Does something, and shows what goes wrong. */
async function attempt(action) {
  try {
    const result = await action();
    $("trouble").hidden = true;
    return result;
  } catch (error) {
    if (error.name === "AbortError") return undefined;
    $("trouble").textContent = error.message;
    $("trouble").hidden = false;
    return undefined;
  }
}

// ---------------------------------------------------------------------------------------------- judging

const UNKNOWN = "unknown";

/** For each byte of a text in UTF-8, as the server counts, the index in the string; one more for the end. */
function byteIndex(text) {
  const index = [];
  let at = 0;
  for (const char of text) {
    const code = char.codePointAt(0);
    const bytes = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (let i = 0; i < bytes; i += 1) index.push(at);
    at += char.length;
  }
  index.push(at);
  return index;
}

const within = (inner, outer) => outer.start <= inner.start && inner.end <= outer.end;
// The server compares 32-bit numbers, which JSON shows in few digits.
const isOver = (uncertainty, threshold) => Math.fround(uncertainty) > threshold;

/** From 0, as sure as of most words, over 1, the threshold, to 2. */
function heat(uncertainty, threshold, median) {
  const over = isOver(uncertainty, threshold);
  if (threshold <= median) return over ? 2 : 0;
  const heat = (uncertainty - median) / (threshold - median);
  return over ? Math.min(Math.max(heat, 1), 2) : Math.min(Math.max(heat, 0), 1);
}

/** Which of the six grounds; the upper three are over the threshold. */
function heatStep(heat, isUnknown) {
  return isUnknown ? Math.min(5, Math.max(3, Math.floor(3 * heat))) : Math.min(2, Math.floor(3 * heat));
}

/** Labels in which unknown neighbours are one span, and every span begins with `B-`. */
function mark(labels, unknown) {
  const marked = [];
  labels.forEach((label, i) => {
    if (unknown[i]) {
      marked.push(i > 0 && unknown[i - 1] ? "I-unknown" : "B-unknown");
      return;
    }
    const slot = label.slice(2);
    const goesOn = i > 0 && !unknown[i - 1] && marked[i - 1] !== "O" && marked[i - 1].slice(2) === slot;
    marked.push(label.startsWith("I-") && !goesOn ? `B-${slot}` : label);
  });
  return marked;
}

/** The spans of labels, with the numbers of their words: `last` is one past the last. */
function spansOf(labels) {
  const spans = [];
  labels.forEach((label, i) => {
    if (label === "O") return;
    const slot = label.slice(2);
    const open = spans.at(-1);
    if (label.startsWith("I-") && open?.last === i && open.slot === slot) open.last = i + 1;
    else spans.push({ slot, first: i, last: i + 1 });
  });
  return spans;
}

/** A model that judges concepts: each span is known or not, its limits stay. */
function judgeConcepts({ tokens, spans, memory }, threshold) {
  const labels = tokens.map(() => "O");
  const judged = spans.map((span) => {
    const words = tokens.flatMap((token, i) => (within(token, span) ? [i] : []));
    const recalled = memory.find((concept) => concept.start === span.start && concept.end === span.end);
    const { guess } = span;
    const isUnknown = guess && isOver(guess.uncertainty, threshold);
    const slot = recalled || !guess || threshold == null ? span.slot : isUnknown ? UNKNOWN : guess.slot;
    words.forEach((i, n) => { labels[i] = `${n ? "I" : "B"}-${slot}`; });
    return { slot, guess, recalled, first: words[0], last: words.at(-1) + 1 };
  });
  return { labels, spans: judged };
}

/** A model that judges words: unknown neighbours become a span. */
function judgeWords({ tokens, memory }, threshold) {
  const recalled = tokens.map((token) => memory.find((concept) => within(token, concept)));
  const over = tokens.map((token, i) => threshold != null && !recalled[i] && isOver(token.uncertainty, threshold));
  // What grew along the tree stays where the word that it grew from does.
  const isUnknown = (i, depth = 0) => over[i] || (!recalled[i] && depth < tokens.length && tokens[i].grown != null
    && isUnknown(tokens[i].grown.from, depth + 1));
  const unknown = tokens.map((_, i) => isUnknown(i));
  const labels = mark(tokens.map((token, i) => (recalled[i] ? token.label : token.first_choice ?? token.label)), unknown);
  const spans = spansOf(labels).map((span) => ({ ...span, recalled: recalled[span.first] }));
  return { labels, spans };
}

/** What the model would answer with this threshold, or without one. */
function judge(annotation, threshold, model) {
  const { text, tokens, memory = [] } = annotation;
  const whole = { ...annotation, memory };
  const isConcepts = model.threshold?.score === "concept" || (!model.threshold && !tokens.some((t) => t.first_choice));
  const { labels, spans } = (isConcepts ? judgeConcepts : judgeWords)(whole, threshold);
  const index = byteIndex(text);
  const shown = tokens.map((token, i) => {
    const label = labels[i];
    const isUnknown = label.endsWith(`-${UNKNOWN}`);
    const warmth = threshold == null || token.uncertainty == null ? 0 : heat(token.uncertainty, threshold, model.threshold.median);
    const isRecalled = memory.some((concept) => within(token, concept));
    return { ...token, label, isUnknown, isRecalled, step: isRecalled ? 0 : heatStep(warmth, isUnknown),
      from: index[token.start], to: index[token.end] };
  });
  const named = spans.map((span) => ({ ...span, text: text.slice(shown[span.first].from, shown[span.last - 1].to) }));
  const doubt = (span) => span.guess?.uncertainty ?? 0;
  const unknown = named.filter((span) => span.slot === UNKNOWN);
  const about = unknown.reduce((worst, span) => (worst && doubt(worst) >= doubt(span) ? worst : span), null);
  const decision = annotation.decision === "reject" ? "reject" : about ? "ask" : "act";
  return { text, tokens: shown, spans: named, decision, about, threshold, parse: annotation.parse, intent: annotation.intent };
}

/** The decision in words. */
function reason({ decision, about, spans, tokens, threshold }, model) {
  if (tokens.length === 0) return "There is no word.";
  if (decision === "reject") return "This is unlike everything that the model was trained on.";
  if (decision === "ask") {
    const { guess } = about;
    const over = (uncertainty) => `its uncertainty of ${number(uncertainty)} is above ${number(threshold)}`;
    if (guess) {
      return `What is ${quoted(about.text)}? Most likely ${guess.slot} (${percent(guess.probability)}), but ${over(guess.uncertainty)}.`;
    }
    const worst = Math.max(...tokens.slice(about.first, about.last).map((token) => token.uncertainty));
    return `What is ${quoted(about.text)}? ${over(worst).replace("its", "Its")}.`;
  }
  const recalled = spans.filter((span) => span.recalled);
  const parts = recalled.map((span) => `${quoted(span.text)} is remembered as ${span.slot}.`);
  if (!model.threshold) return [...parts, "The model has no threshold: nothing is ever unknown."].join(" ");
  const doubt = (span) => span.guess?.uncertainty ?? Math.max(...tokens.slice(span.first, span.last).map((t) => t.uncertainty));
  const rest = spans.filter((span) => !span.recalled).sort((a, b) => doubt(b) - doubt(a));
  if (rest.length > 0) {
    parts.push(`Nothing${recalled.length ? " else" : ""} is above the threshold of ${number(threshold)}; the most doubtful is ${quoted(rest[0].text)} (${number(doubt(rest[0]))}).`);
  } else if (recalled.length === 0) parts.push("There is no slot to be unsure of.");
  return parts.join(" ");
}

/** What another threshold changes, in words. */
function changes(before, after) {
  const found = [];
  const name = (judged, span) => judged.spans.find((other) => other.first < span.last && span.first < other.last)?.slot ?? "no slot";
  for (const span of after.spans) {
    const old = name(before, span);
    if (old !== span.slot) found.push(`${quoted(span.text)}: ${old} → ${span.slot}`);
  }
  for (const span of before.spans) {
    if (name(after, span) === "no slot") found.push(`${quoted(span.text)}: ${span.slot} → no slot`);
  }
  if (before.decision !== after.decision) found.push(`decision: ${before.decision} → ${after.decision}`);
  return found;
}

/** Slot F1 on the valid set with a threshold, as far as the model knows. */
function priceOf(threshold, { offers = [], f1_before: before }) {
  return threshold >= offers[0]?.value ? before : offers.find((offer) => offer.value <= threshold)?.f1;
}

// ---------------------------------------------------------------------------------------------- sentence

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
  words.replaceChildren();
  let done = 0;
  tokens.forEach((token, i) => {
    const gap = text.slice(done, token.from).trim();
    if (gap) words.append(el("span", { class: "gap" }, gap));
    done = token.to;
    const span = spans.find((span) => span.first <= i && i < span.last);
    const chip = wordChip(token);
    if (!span) words.append(chip);
    else if (span.first === i) words.append(bracket(span, chip));
    else words.lastElementChild.querySelector(".inside").append(chip);
  });
  const rest = text.slice(done).trim();
  if (rest) words.append(el("span", { class: "gap" }, rest));
}

function bracket(span, chip) {
  const isUnknown = span.slot === UNKNOWN;
  const guess = isUnknown && span.guess ? ` · ${span.guess.slot}?` : "";
  const memory = span.recalled ? (span.recalled.value ? ` · remembered: ${span.recalled.value}` : " · remembered") : "";
  const name = `${isUnknown ? "? " : ""}${span.slot}${guess}${memory}`;
  const kind = isUnknown ? "span is-unknown" : span.recalled ? "span is-recalled" : "span";
  return el("span", { class: kind, role: "group", "aria-label": name },
    el("span", { class: "inside" }, chip), el("span", { class: "slot", "aria-hidden": "true" }, name));
}

function wordChip(token) {
  const chip = el("button", { type: "button", class: `word heat-${token.step}${token.isUnknown ? " is-unknown" : ""}` },
    el("span", { class: "form" }, token.text), el("span", { class: "label" }, token.label),
    token.uncertainty == null ? null : hidden(`, uncertainty ${number(token.uncertainty)}`));
  for (const event of ["mouseenter", "focus", "click"]) chip.addEventListener(event, () => showTip(chip, token));
  for (const event of ["mouseleave", "blur"]) chip.addEventListener(event, hideTip);
  return chip;
}

function showTip(chip, token) {
  const tip = $("tip");
  const choices = [{ label: token.first_choice ?? token.label, probability: token.probability }, ...(token.reason?.runners_up ?? [])];
  const row = ({ label, probability }) => {
    const gauge = el("span");
    gauge.style.setProperty("width", `${100 * probability}%`);
    return el("li", {}, el("span", { class: "name" }, label), el("span", { class: "gauge" }, gauge), el("span", {}, percent(probability)));
  };
  const notes = [];
  if (token.uncertainty != null) {
    notes.push(`Uncertainty ${number(token.uncertainty)}, threshold ${number(state.threshold)}${token.isUnknown ? ": unknown" : ""}.`);
  }
  if (token.grown) notes.push(`It belongs to a phrase with ${quoted(state.annotation.tokens[token.grown.from].text)}.`);
  if (token.isRecalled) notes.push("It is remembered.");
  tip.replaceChildren(el("strong", {}, token.text), el("ul", {}, ...choices.map(row)), ...notes.map((note) => el("p", {}, note)));
  tip.hidden = false;
  document.querySelectorAll("[aria-describedby=tip]").forEach((other) => other.removeAttribute("aria-describedby"));
  chip.setAttribute("aria-describedby", "tip");
  const place = chip.getBoundingClientRect();
  const left = Math.min(Math.max(8, place.left + place.width / 2 - tip.offsetWidth / 2), document.documentElement.clientWidth - tip.offsetWidth - 8);
  tip.style.setProperty("left", `${left + window.scrollX}px`);
  tip.style.setProperty("top", `${place.bottom + window.scrollY + 6}px`);
}

function hideTip() {
  $("tip").hidden = true;
}

function drawThreshold(judged) {
  const { model, threshold, annotation, range: [low, high] } = state;
  $("threshold-box").hidden = $("legend").hidden = !model.threshold;
  if (!model.threshold) return;
  const own = model.threshold.value;
  $("threshold-value").textContent = number(threshold) + (threshold === own ? " (the model’s own)" : "");
  $("threshold").setAttribute("aria-valuetext", number(threshold));
  $("threshold-reset").hidden = threshold === own;
  const f1 = priceOf(threshold, model.threshold);
  const before = model.threshold.f1_before;
  $("price").textContent = f1 === undefined || before <= 0 ? "" :
    `On the data that it was chosen on, slot F1 is ${number(f1)} with this threshold, ${number(before)} without one.`;
  const place = (value) => `${100 * Math.min(1, Math.max(0, (value - low) / (high - low)))}%`;
  const tick = (value, kind, title) => {
    const node = el("span", { class: kind, title });
    node.style.setProperty("left", place(value));
    return node;
  };
  const doubts = judged.spans.filter((span) => span.guess && !span.recalled)
    .map((span) => tick(span.guess.uncertainty, "tick", `${span.text}: ${number(span.guess.uncertainty)}`));
  $("ticks").replaceChildren(tick(own, "own", "the model’s own"), ...doubts);
  const found = threshold === own ? [] : changes(judge(annotation, own, model), judged);
  const none = threshold === own ? [] : ["Nothing changes in this sentence."];
  $("changes").replaceChildren(...(found.length ? found : none).map((text) => el("li", {}, text)));
}

// ---------------------------------------------------------------------------------------------- tree

const GAP = 22;
const LEVEL = 26;

function drawArcs({ tokens, parse }) {
  const pen = document.createElement("canvas").getContext("2d");
  const family = getComputedStyle(document.body).fontFamily;
  const width = (text, size) => { pen.font = `${size}px ${family}`; return pen.measureText(text).width; };
  const levels = levelsOf(parse);
  const base = LEVEL * (Math.max(0, ...levels) + 1) + 8;
  let right = 12;
  const middles = tokens.map((token, i) => {
    // A short arc must be as wide as its relation's name.
    const needed = Math.max(width(token.text, 15), width(parse[i].upos, 11), width(parse[i].relation, 11) - GAP + 14);
    const middle = right + needed / 2;
    right += needed + GAP;
    return middle;
  });
  const sentences = parse.map(({ head, relation }, i) =>
    head == null ? `${tokens[i].text} is the root` : `${tokens[i].text} is ${relation} of ${tokens[head].text}`);
  const drawing = svg("svg", { width: right, height: base + 46, viewBox: `0 0 ${right} ${base + 46}`, role: "img", "aria-label": sentences.join("; ") });
  const text = (at, y, kind, content) => svg("text", { x: at, y, class: kind, "text-anchor": "middle" }, content);
  tokens.forEach((token, i) => {
    const { head, relation, upos } = parse[i];
    drawing.append(text(middles[i], base + 20, "arc-word", token.text), text(middles[i], base + 37, "arc-tag", upos));
    if (head == null) {
      drawing.append(svg("path", { class: "arc", d: `M${middles[i]} 8V${base - 5}` }), arrow(middles[i], base), text(middles[i] + 18, 16, "arc-tag", "root"));
      return;
    }
    const shift = head < i ? -5 : 5;
    const [from, to] = [middles[head] - shift, middles[i] + shift];
    const top = base - LEVEL * levels[i];
    drawing.append(svg("path", { class: "arc", d: `M${from} ${base}C${from} ${top},${to} ${top},${to} ${base - 5}` }), arrow(to, base),
      text((from + to) / 2, base - 0.75 * LEVEL * levels[i] - 4, "arc-tag", relation));
  });
  $("arcs").replaceChildren(drawing);
}

const arrow = (x, y) => svg("path", { class: "arrow", d: `M${x - 4} ${y - 7}H${x + 4}L${x} ${y}Z` });

/** How high each arc is: higher than all that it spans. */
function levelsOf(parse) {
  const arcs = parse.flatMap(({ head }, i) => (head == null ? [] : [{ i, low: Math.min(head, i), high: Math.max(head, i) }]));
  const levels = parse.map(() => 0);
  for (const arc of [...arcs].sort((a, b) => a.high - a.low - (b.high - b.low))) {
    const under = arcs.filter((other) => other !== arc && arc.low <= other.low && other.high <= arc.high);
    levels[arc.i] = 1 + Math.max(0, ...under.map((other) => levels[other.i]));
  }
  return levels;
}

// ---------------------------------------------------------------------------------------------- asking

let pending = new AbortController();

/** Annotates what stands in the field; an answer that a later one overtook is dropped. */
async function annotate() {
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

// ---------------------------------------------------------------------------------------------- conversation

const newSession = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
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

async function takeTurn(text) {
  if (!text.trim()) return;
  say("you", "You", text);
  $("options").hidden = true;
  const answer = await attempt(() => call("POST", "/v1/dialogue", { session, text }));
  if (!answer) return;
  const { reply, concepts = [] } = answer;
  say(`meno ${reply.outcome}`, "Meno", el("p", {}, ...emphasised(reply.text)), ...slotChips(reply));
  if (concepts.length > 0) {
    say("note", "Note", `Learnt ${concepts.length === 1 ? "a concept" : `${concepts.length} concepts`}. `,
      el("button", { type: "button", class: "quiet", onclick: (event) => { event.target.disabled = true; undo(); } }, "Undo"));
    listConcepts();
    annotate();
  }
  offer(reply);
}

function slotChips({ outcome, intent, slots = [] }) {
  if (outcome !== "act") return [];
  const chip = (name, value) => el("span", { class: "chip" }, el("span", { class: "name" }, name), ` ${value}`);
  return [el("p", { class: "chips" }, chip("intent", intent), ...slots.map(({ slot, text, value }) => chip(slot, value ?? text)))];
}

/** Buttons for the answers that a question names. */
function offer({ outcome, options = [] }) {
  const answers = outcome === "ask" ? [...options.map((option) => option.split(".").at(-1).replaceAll("_", " ")), "never mind"] : [];
  const button = (answer) => el("button", { type: "button", onclick: () => { takeTurn(answer); $("turn").focus(); } }, answer);
  $("options").replaceChildren(...answers.map(button));
  $("options").hidden = answers.length === 0;
}

async function startAnew() {
  const old = session;
  session = newSession();
  $("talk").replaceChildren();
  offer({});
  greet();
  // A session that never had a turn is not there to be ended.
  await call("DELETE", `/v1/dialogue/${old}`).catch(() => null);
}

function greet() {
  say("meno", "Meno", el("p", {}, "Ask me for something. What I do not know I ask about, and remember."));
}

// ---------------------------------------------------------------------------------------------- concepts

let page = { next: null, turn: 0 };

async function listConcepts(after = 0) {
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
  $("no-concepts").textContent = $("search").value.trim() ? "Nothing of that kind was taught." : "Nothing was taught yet.";
}

function conceptRow(concept) {
  const { id, phrase, slot, value, owner, uses } = concept;
  const row = el("tr", { "data-id": id });
  const action = (name, run) => el("button", { type: "button", class: "quiet", onclick: run }, name, hidden(` ${phrase}`));
  row.append(el("td", { class: "phrase" }, phrase), el("td", {}, slot), el("td", {}, value ?? ""), el("td", { class: "wide" }, owner ?? "everyone"),
    el("td", { class: "wide number" }, String(uses)), el("td", { class: "actions" }, action("Edit", () => editRow(row, concept)), action("Delete", () => remove(concept))));
  return row;
}

function editRow(row, concept) {
  const field = (name, value, extra = {}) => el("input", { type: "text", "aria-label": name, value: value ?? "", autocomplete: "off", ...extra });
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
  const buttons = el("td", { class: "actions" }, el("button", { type: "button", onclick: save }, "Save"), el("button", { type: "button", class: "quiet", onclick: close }, "Cancel"));
  row.replaceChildren(el("td", {}, phrase), el("td", {}, slot), el("td", {}, value), el("td", { class: "wide" }), el("td", { class: "wide" }), buttons);
  phrase.focus();
}

async function remove({ id, phrase }) {
  const done = await attempt(() => call("DELETE", `/v1/concepts/${id}`));
  if (done !== undefined) {
    told(`Forgot ${quoted(phrase)}.`);
    $("undo").focus();
  }
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
  const { changes } = done;
  told(changes.length ? changes.slice(0, 3).map(sentence).join(" ") + (changes.length > 3 ? " …" : "") : "There is nothing to undo.");
}

/** Says what was done, and shows what it changed. */
function told(text) {
  $("done").textContent = text;
  listConcepts();
  annotate();
}

// ---------------------------------------------------------------------------------------------- start

/** Sentences for models with these intents; the last of each has something that no model knows. */
const EXAMPLES = [
  ["alarm", "Wake me up at half past six, please!"],
  ["remind", "Remind me to call my sister tomorrow morning."],
  ["route", "Um, how do I get to the airport from the office?"],
  ["alarm", "Wake me up with Burpees and Regrets!"],
  ["route", "Drive me to snugglebarn"],
  ["PlayMusic", "play some jazz from 1959 by Miles Davis"],
  ["BookRestaurant", "book a table for four at a sushi bar in Boston"],
  ["GetWeather", "will it snow in Oslo tomorrow"],
  ["AddToPlaylist", "add Gimme Shelter to my Burpees and Regrets playlist"],
  ["atis_flight", "show me flights from Boston to Denver on Monday morning"],
  ["atis_airfare", "what is the cheapest fare from Dallas to Baltimore"],
  ["atis_flight", "flights from Zzyzx to Boston on Quuxair"],
];

function drawModel(model) {
  const parts = [model.file, `${model.intents.length} intents`, `${model.slots.length} slots`, model.version && `meno ${model.version}`];
  $("model").textContent = parts.filter(Boolean).join(" · ");
  $("slots").replaceChildren(...model.slots.map((slot) => el("option", { value: slot })));
  const choose = (text) => { $("text").value = text; $("text").focus(); annotate(); };
  const fitting = EXAMPLES.filter(([intent]) => model.intents.includes(intent));
  $("examples").replaceChildren(...fitting.map(([, text]) => el("button", { type: "button", onclick: () => choose(text) }, text)));
  $("examples").hidden = fitting.length === 0;
  if (!model.threshold) return;
  const { value, median, offers = [] } = model.threshold;
  const finite = offers.map((offer) => offer.value).filter((value) => Math.abs(value) < 1e30);
  const low = Math.min(value, median, ...finite);
  const high = Math.max(value + Math.abs(value - median), ...finite);
  const margin = 0.1 * (high - low) || 1;
  state.range = [low - margin, high + margin];
  setThreshold(value);
}

function setThreshold(value) {
  const [low, high] = state.range;
  state.threshold = value;
  $("threshold").value = Math.round((400 * (value - low)) / (high - low));
  drawAnswer();
}

function moveThreshold() {
  const [low, high] = state.range;
  state.threshold = low + ((high - low) * $("threshold").value) / 400;
  drawAnswer();
}

const THEMES = ["auto", "light", "dark"];

function setTheme(theme) {
  const known = THEMES.includes(theme) ? theme : "auto";
  document.documentElement.dataset.theme = known;
  $("theme").textContent = `Theme: ${known}`;
  storage.set("localStorage", "meno-theme", known);
}

function listen() {
  $("text").addEventListener("input", debounced(100, annotate));
  $("say").addEventListener("submit", (event) => {
    event.preventDefault();
    takeTurn($("text").value);
    $("turn").focus();
  });
  $("reply").addEventListener("submit", (event) => {
    event.preventDefault();
    takeTurn($("turn").value);
    $("turn").value = "";
  });
  $("talk-new").addEventListener("click", startAnew);
  $("threshold").addEventListener("input", moveThreshold);
  $("threshold-reset").addEventListener("click", () => { setThreshold(state.model.threshold.value); $("threshold").focus(); });
  $("add").addEventListener("submit", add);
  $("undo").addEventListener("click", undo);
  $("search").addEventListener("input", debounced(150, () => listConcepts()));
  $("more").addEventListener("click", () => listConcepts(page.next));
  $("theme").addEventListener("click", () => setTheme(THEMES[(THEMES.indexOf(document.documentElement.dataset.theme) + 1) % THEMES.length]));
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hideTip(); });
  $("token-form").addEventListener("submit", (event) => { event.preventDefault(); $("token-dialog").close($("token").value.trim()); });
  $("token-cancel").addEventListener("click", () => $("token-dialog").close(""));
  $("forget-token").addEventListener("click", () => { setToken(null); start(); });
}

async function start() {
  $("forget-token").hidden = !token;
  const model = await attempt(() => call("GET", "/v1/model"));
  if (!model) return;
  state.model = model;
  drawModel(model);
  annotate();
  listConcepts();
}

setTheme(storage.get("localStorage", "meno-theme"));
listen();
greet();
start();
