// Names and sentences: what slots and intents are called, why it asks, how much it asks. Nothing here touches the page.

export const UNKNOWN = "unknown";

export const percent = (share) => `${Math.round(100 * share)} %`;
export const number = (value) => value.toFixed(2);
export const quoted = (text) => `“${text}”`;
export const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** The name of a slot or an intent as one would say it. */
export const plain = (name) => name.split(".").at(-1).replaceAll(/[_-]/g, " ");

/** What a slot type is called in a sentence: `a place`. */
export function kind(slot, model) {
  const said = model?.description?.slots?.[slot]?.say;
  return said ?? `${/^[aeiou]/i.test(plain(slot)) ? "an" : "a"} ${plain(slot).toLowerCase()}`;
}

/** What an intent is called: `set an alarm`. */
export const purpose = (intent, model) => model?.description?.intents?.[intent]?.say ?? plain(intent);

/** Why it asks, acts or refuses, in one sentence; `*words*` are set off. */
export function why({ state, asked, annotation, said }, model) {
  if (state === "reject") {
    return annotation.because === "language"
      ? "This is in another language than the one that Meno was trained in."
      : "This is unlike everything that Meno was trained for.";
  }
  if (state === "ask") return whyItAsks(asked, annotation, model);
  if (state !== "act") return "";
  const taught = (annotation.memory ?? []).filter((concept) => said.includes(concept.text));
  if (taught.length > 0) {
    const parts = taught.map(({ text, slot }) => `that *${text}* is ${kind(slot, model)}`);
    return `Meno remembers ${parts.join(" and ")}.`;
  }
  return "";
}

function whyItAsks({ phrase, slot: missing, options, proposed }, { spans = [], about }, model) {
  if (missing) return `Meno cannot do that without *${kind(missing, model)}*.`;
  if (proposed && model?.slots?.includes(proposed)) return "Meno may have got that wrong, so it makes sure before it learns it.";
  if (proposed) return `*${capital(plain(proposed))}* would be a new kind of thing, so Meno makes sure.`;
  if (phrase == null) return "What you said could mean more than one thing, and Meno would rather not guess.";
  const span = spans.find(({ text }) => text === phrase || text.includes(phrase) || phrase.includes(text));
  const slot = span?.guess?.slot ?? options[0];
  if (!slot) return `Meno does not know what *${phrase}* is.`;
  if (!span && about?.outside != null) return `*${phrase}* is new to Meno here, and it may matter.`;
  return (span?.guess?.probability ?? 0) >= 0.7
    ? `The sentence says that it is *${kind(slot, model)}*, but Meno does not know these words well enough to act on them.`
    : `From the sentence alone *${phrase}* could be more than one thing.`;
}

/** What share of requests is asked about, in words. */
export function howMany(share) {
  if (share >= 0.995) return "every request is asked about";
  if (share < 0.0005) return "hardly any request is asked about";
  if (share <= 0.4) return `about 1 in ${Math.round(1 / share)} requests is asked about`;
  return `about ${Math.round(10 * share)} in 10 requests are asked about`;
}

/** The share that is asked about if it acts from a confidence, from the shares that the model counted; none if it did not. */
export function shareAsked(actFrom, shares = []) {
  if (shares.length < 2) return null;
  const at = actFrom * (shares.length - 1);
  const low = Math.min(Math.floor(at), shares.length - 2);
  return shares[low] + (at - low) * (shares[low + 1] - shares[low]);
}

/** A value in the form that a program takes, as far as it is words or numbers. */
export function resolvedText(resolved) {
  if (resolved == null) return null;
  if (typeof resolved !== "object") return String(resolved);
  const { value, from, to, unit, grain } = resolved;
  if (from || to) return [from, to].map((end) => resolvedText(end) ?? "…").join(" – ");
  if (typeof value === "object" && value !== null) return resolvedText(value);
  const said = grain ? moment(value, grain) : value;
  return [said, unit].filter((part) => part != null && part !== "").join(" ") || JSON.stringify(resolved);
}

/** A day, or a day and a time: `2026-11-17 19:30`. */
function moment(value, grain) {
  const [day, time = ""] = String(value).split("T");
  return ["hour", "minute", "second"].includes(grain) ? `${day} ${time.slice(0, 5)}` : day;
}
