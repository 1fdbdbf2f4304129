// What a model's answer becomes with another threshold, and why: from an annotation of the server to what is drawn. Nothing
// here touches the page.

export const UNKNOWN = "unknown";

export const percent = (share) => `${Math.round(100 * share)} %`;
export const number = (value) => value.toFixed(2);
export const quoted = (text) => `“${text}”`;

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
    words.forEach((i, n) => {
      labels[i] = `${n ? "I" : "B"}-${slot}`;
    });
    return { slot, guess, recalled, first: words[0], last: words.at(-1) + 1 };
  });
  return { labels, spans: judged };
}

/** A model that judges words: unknown neighbours become a span. */
function judgeWords({ tokens, memory }, threshold) {
  const recalled = tokens.map((token) => memory.find((concept) => within(token, concept)));
  const over = tokens.map(
    (token, i) => threshold != null && !recalled[i] && isOver(token.uncertainty, threshold),
  );
  // How words join a phrase along the tree is the server's to say: what did stays while any word is unknown by itself.
  const grows = over.includes(true);
  const unknown = tokens.map((token, i) => over[i] || (grows && !recalled[i] && token.grown != null));
  const labels = mark(
    tokens.map((token, i) => (recalled[i] ? token.label : (token.first_choice ?? token.label))),
    unknown,
  );
  const spans = spansOf(labels).map((span) => ({ ...span, recalled: recalled[span.first] }));
  return { labels, spans };
}

/** What the model would answer with this threshold, or without one. */
export function judge(annotation, threshold, model) {
  const { text, tokens, memory = [] } = annotation;
  const whole = { ...annotation, memory };
  const isConcepts = model.recipe === "tagger";
  const { labels, spans } = (isConcepts ? judgeConcepts : judgeWords)(whole, threshold);
  const index = byteIndex(text);
  const shown = tokens.map((token, i) => {
    const label = labels[i];
    const isUnknown = label.endsWith(`-${UNKNOWN}`);
    const warmth =
      threshold == null || token.uncertainty == null
        ? 0
        : heat(token.uncertainty, threshold, model.threshold.median);
    const isRecalled = memory.some((concept) => within(token, concept));
    return {
      ...token,
      label,
      isUnknown,
      isRecalled,
      step: isRecalled ? 0 : heatStep(warmth, isUnknown),
      from: index[token.start],
      to: index[token.end],
    };
  });
  const named = spans.map((span) => ({
    ...span,
    text: text.slice(shown[span.first].from, shown[span.last - 1].to),
  }));
  const doubt = (span) => span.guess?.uncertainty ?? 0;
  const unknown = named.filter((span) => span.slot === UNKNOWN);
  const about = unknown.reduce((worst, span) => (worst && doubt(worst) >= doubt(span) ? worst : span), null);
  const decision = annotation.decision === "reject" ? "reject" : about ? "ask" : "act";
  return {
    text,
    tokens: shown,
    spans: named,
    decision,
    about,
    threshold,
    parse: annotation.parse,
    intent: annotation.intent,
  };
}

/** The decision in words. */
export function reason({ decision, about, spans, tokens, threshold }, model) {
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
  const doubt = (span) =>
    span.guess?.uncertainty ?? Math.max(...tokens.slice(span.first, span.last).map((t) => t.uncertainty));
  const rest = spans.filter((span) => !span.recalled).sort((a, b) => doubt(b) - doubt(a));
  if (rest.length > 0) {
    parts.push(
      `Nothing${recalled.length ? " else" : ""} is above the threshold of ${number(threshold)}; the most doubtful is ${quoted(rest[0].text)} (${number(doubt(rest[0]))}).`,
    );
  } else if (recalled.length === 0) parts.push("There is no slot to be unsure of.");
  return parts.join(" ");
}

/** What another threshold changes, in words. */
export function changes(before, after) {
  const found = [];
  const name = (judged, span) =>
    judged.spans.find((other) => other.first < span.last && span.first < other.last)?.slot ?? "no slot";
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
export function priceOf(threshold, { offers = [], f1_before: before }) {
  return threshold >= offers[0]?.value ? before : offers.find((offer) => offer.value <= threshold)?.f1;
}
