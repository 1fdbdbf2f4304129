// What a conversation is about: which turn made the request, and what is known of it. Nothing here touches the page.

import { byteSlice } from "./answer.js";
import { UNKNOWN } from "./words.js";

/**
 * The request after a turn: `turn` is the number of the turn that made it, `said` its text, `state` one of `ask`, `act` and
 * `reject`. A turn that is not about a request leaves it as it was, or none if the person let it go.
 */
export function follow(before, turn, { said, answer }) {
  const { reply, annotation } = answer;
  const waiting = before?.state === "ask" ? before : null;
  const own = { turn, said, annotation, intent: annotation.intent?.name ?? null, slots: known(annotation) };
  if (reply.outcome === "ask") {
    const request = waiting && isAboutAnother(said, annotation, reply, waiting) ? waiting : own;
    const { phrase = null, place = null, slot = null, options = [], proposed = null } = reply;
    const lesson = reply.lessons?.at(-1);
    const slots = (lesson?.slots ?? request.slots).filter((slot) => !place || !overlap(slot, place));
    return {
      ...request,
      intent: lesson?.intent ?? request.intent,
      slots,
      state: "ask",
      asked: { phrase, place, slot, options, proposed },
    };
  }
  if (reply.outcome === "act") {
    const { intent, slots } = reply;
    const fits = (text) => slots.every((slot) => byteSlice(text, slot) === slot.text);
    const isOwn = fits(said) && (slots.length > 0 || !waiting);
    const request = isOwn ? own : [waiting, before].find((other) => other && fits(other.said));
    // A change such as "make it five" makes a request that nobody said as it is.
    return { ...own, ...(request ?? { turn: null }), intent, slots: withResolved(slots, annotation), state: "act", asked: null };
  }
  if (reply.outcome === "reject") return { ...own, slots: [], state: "reject", asked: null };
  return reply.outcome === "drop" ? null : before;
}

const overlap = (a, b) => a.start < b.end && b.start < a.end;

const known = ({ spans }) => spans.filter(({ slot }) => slot !== UNKNOWN);

/** What a value was turned into, where only the annotation says it. */
function withResolved(slots, { spans }) {
  return slots.map((slot) => {
    const span = spans.find((span) => span.start === slot.start && span.text === slot.text);
    return { ...slot, resolved: slot.resolved ?? span?.resolved };
  });
}

/** Whether the words that are asked about are not in what was just said, but in the request that was waiting. */
function isAboutAnother(said, { about }, { phrase, place, options }, waiting) {
  if (phrase != null) return byteSlice(said, place) !== phrase;
  return about?.intent == null || String(options) === String(waiting.asked.options);
}
