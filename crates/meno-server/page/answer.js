// An annotation of the server as it is drawn: where words stand in the string, which of them a span has, how they are tinted.

import { UNKNOWN } from "./words.js";

/** For each byte of a text in UTF-8, as the server counts, the index in the string; one more for the end. */
export function byteIndex(text) {
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

/** A piece of a text, by its bytes. */
export function byteSlice(text, { start, end }) {
  const index = byteIndex(text);
  return text.slice(index[start], index[end]);
}

const within = (inner, outer) => outer.start <= inner.start && inner.end <= outer.end;

/**
 * Which of the six grounds a word has. The lower three go from as sure as of most words to the threshold; the upper three are
 * for unknown words alone, however unsure a known one is.
 */
function ground({ uncertainty, reason }, isUnknown, median) {
  if (uncertainty == null) return 0;
  const { threshold } = reason;
  if (threshold <= median) return isUnknown ? 5 : 0;
  const heat = Math.floor((3 * (uncertainty - median)) / (threshold - median));
  return isUnknown ? Math.min(5, Math.max(3, heat)) : Math.min(2, Math.max(0, heat));
}

/** An annotation with what is needed to draw it; `last` of a span is one past its last word. */
export function laidOut(annotation, { threshold }) {
  const { text, memory, outside = [], about: asked } = annotation;
  const index = byteIndex(text);
  const tokens = annotation.tokens.map((token) => {
    const isUnknown = token.label.endsWith(`-${UNKNOWN}`);
    const isRecalled = memory.some((concept) => within(token, concept));
    return {
      ...token,
      isUnknown,
      isRecalled,
      isAsked: asked?.outside != null && within(token, asked),
      part: isRecalled ? null : partOf(token, annotation.spans, outside),
      ground: isRecalled ? 0 : ground(token, isUnknown, threshold?.median),
      from: index[token.start],
      to: index[token.end],
    };
  });
  const spans = annotation.spans.map((span) => ({
    ...span,
    recalled: memory.find((concept) => within(span, concept)),
    first: tokens.findIndex((token) => within(token, span)),
    last: tokens.findLastIndex((token) => within(token, span)) + 1,
  }));
  return { ...annotation, tokens, spans, threshold: tokens[0]?.reason?.threshold ?? null };
}

/** The span or the stretch outside of all spans that a word is in, with what it is taken for; none if nothing is said of it. */
function partOf(token, spans, outside) {
  const part = [...spans, ...outside].find((part) => within(token, part));
  if (part?.confidence == null) return null;
  const { text, confidence, slot } = part;
  return { text, confidence, slot: slot === UNKNOWN ? part.guess?.slot : slot };
}
