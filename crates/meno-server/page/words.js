// An answer in words: why it is so, what is another with another threshold, and what that costs. Nothing here touches the page.

export const UNKNOWN = "unknown";

export const percent = (share) => `${Math.round(100 * share)} %`;
export const number = (value) => value.toFixed(2);
export const quoted = (text) => `“${text}”`;

/** The name of a slot or an intent as one would say it. */
export const plain = (name) => name.split(".").at(-1).replaceAll("_", " ");

const either = (names) => [names.slice(0, -1).join(", "), names.at(-1)].filter(Boolean).join(" or ");

/** The decision in words. */
export function reason({ decision, because, about, spans, tokens, threshold, confidence }, model) {
  if (tokens.length === 0) return "There is no word.";
  if (decision === "reject") {
    return because === "language"
      ? "This is in another language than what the model was trained on."
      : "This is unlike everything that the model was trained on.";
  }
  if (decision === "ask") {
    const unsure = `I am only ${percent(confidence)} sure of the whole reading`;
    if (about.intent != null) {
      return `Is it for ${either(about.options.map(({ name }) => name))}? ${unsure}.`;
    }
    if (about.outside != null) {
      return `What is ${quoted(about.text)}? It is in no slot, but ${unsure}.`;
    }
    const { guess } = about;
    if (guess && guess.uncertainty <= threshold) {
      return `What is ${quoted(about.text)}? Most likely ${guess.slot} (${percent(guess.probability)}), but ${unsure}.`;
    }
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
  const uncertainty = (span) =>
    span.guess?.uncertainty ?? Math.max(...tokens.slice(span.first, span.last).map((t) => t.uncertainty));
  const rest = spans.filter((span) => !span.recalled).sort((a, b) => uncertainty(b) - uncertainty(a));
  if (rest.length > 0) {
    parts.push(
      `Nothing${recalled.length ? " else" : ""} is above the threshold of ${number(threshold)}; the most uncertain is ${quoted(rest[0].text)} (${number(uncertainty(rest[0]))}).`,
    );
  } else if (recalled.length === 0) parts.push("There is no slot to be unsure of.");
  return parts.join(" ");
}

/** What is another in the second answer to a text, in words. */
export function changes(before, after) {
  const found = [];
  const name = (answer, span) =>
    answer.spans.find((other) => other.first < span.last && span.first < other.last)?.slot ?? "no slot";
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
