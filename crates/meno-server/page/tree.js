// The dependency tree of a sentence as arcs over its words.

import { $, svg } from "./dom.js";

const GAP = 22;
const LEVEL = 26;

export function drawArcs({ tokens, parse }) {
  const pen = document.createElement("canvas").getContext("2d");
  const family = getComputedStyle(document.body).fontFamily;
  const width = (text, size) => {
    pen.font = `${size}px ${family}`;
    return pen.measureText(text).width;
  };
  const levels = levelsOf(parse);
  const base = LEVEL * (Math.max(0, ...levels) + 1) + 8;
  let right = 12;
  const middles = tokens.map((token, i) => {
    // A short arc must be as wide as its relation's name.
    const needed = Math.max(
      width(token.text, 15),
      width(parse[i].upos, 11),
      width(parse[i].relation, 11) - GAP + 14,
    );
    const middle = right + needed / 2;
    right += needed + GAP;
    return middle;
  });
  const sentences = parse.map(({ head, relation }, i) =>
    head == null
      ? `${tokens[i].text} is the root`
      : `${tokens[i].text} is ${relation} of ${tokens[head].text}`,
  );
  const drawing = svg("svg", {
    width: right,
    height: base + 46,
    viewBox: `0 0 ${right} ${base + 46}`,
    role: "img",
    "aria-label": sentences.join("; "),
  });
  const text = (at, y, kind, content) =>
    svg("text", { x: at, y, class: kind, "text-anchor": "middle" }, content);
  tokens.forEach((token, i) => {
    const { head, relation, upos } = parse[i];
    drawing.append(
      text(middles[i], base + 20, "arc-word", token.text),
      text(middles[i], base + 37, "arc-tag", upos),
    );
    if (head == null) {
      drawing.append(
        svg("path", { class: "arc", d: `M${middles[i]} 8V${base - 5}` }),
        arrow(middles[i], base),
        text(middles[i] + 18, 16, "arc-tag", "root"),
      );
      return;
    }
    const shift = head < i ? -5 : 5;
    const [from, to] = [middles[head] - shift, middles[i] + shift];
    const top = base - LEVEL * levels[i];
    drawing.append(
      svg("path", { class: "arc", d: `M${from} ${base}C${from} ${top},${to} ${top},${to} ${base - 5}` }),
      arrow(to, base),
      text((from + to) / 2, base - 0.75 * LEVEL * levels[i] - 4, "arc-tag", relation),
    );
  });
  $("arcs").replaceChildren(drawing);
}

const arrow = (x, y) => svg("path", { class: "arrow", d: `M${x - 4} ${y - 7}H${x + 4}L${x} ${y}Z` });

/** How high each arc is: higher than all that it spans. */
function levelsOf(parse) {
  const arcs = parse.flatMap(({ head }, i) =>
    head == null ? [] : [{ i, low: Math.min(head, i), high: Math.max(head, i) }],
  );
  const levels = parse.map(() => 0);
  for (const arc of [...arcs].sort((a, b) => a.high - a.low - (b.high - b.low))) {
    const under = arcs.filter((other) => other !== arc && arc.low <= other.low && other.high <= arc.high);
    levels[arc.i] = 1 + Math.max(0, ...under.map((other) => levels[other.i]));
  }
  return levels;
}
