// A request with its slots set off: one colour a slot, with a small label; what is unknown is dashed.

import { byteIndex } from "./answer.js";
import { el, hidden } from "./dom.js";
import { UNKNOWN, plain } from "./words.js";

const N_COLOURS = 10;
const colours = new Map();

/** The class of a slot's colour: the next that is free, so that the slots of a conversation hardly ever share one. */
export function colour(slot) {
  if (!colours.has(slot)) colours.set(slot, colours.size % N_COLOURS);
  return ownColour(slot);
}

/** The same where slots are only named: one that was not used yet has none. */
export const ownColour = (slot) => (colours.has(slot) ? `slot-${colours.get(slot)}` : "slot-none");

/** The text of a request as nodes. */
export function marked({ said, slots, asked, annotation }) {
  const unknown = annotation.spans.filter(({ slot }) => slot === UNKNOWN);
  const isFree = (span) => !slots.some((slot) => slot.start < span.end && span.start < slot.end);
  const open = asked?.place ? [asked.place] : [];
  const isApart = (span) => !open.some((place) => place.start < span.end && span.start < place.end);
  const dashed = [...open, ...(asked ? unknown.filter(isApart) : [])].filter(isFree);
  const marks = [...slots, ...dashed.map((place) => ({ ...place, slot: UNKNOWN }))];
  marks.sort((a, b) => a.start - b.start);
  const index = byteIndex(said);
  const nodes = [];
  let done = 0;
  for (const { start, end, slot } of marks) {
    const [from, to] = [index[start], index[end]];
    if (from === undefined || to === undefined || from < done) continue;
    nodes.push(said.slice(done, from), mark(said.slice(from, to), slot));
    done = to;
  }
  nodes.push(said.slice(done));
  return nodes.filter((node) => node !== "");
}

function mark(text, slot) {
  if (slot === UNKNOWN) return el("mark", { class: "is-unknown" }, text, hidden(" (unknown)"));
  return el("mark", { class: colour(slot) }, text, "\u00a0", el("small", {}, plain(slot)));
}
