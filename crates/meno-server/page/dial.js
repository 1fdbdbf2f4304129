// How much it asks: a slider that goes with every turn of the conversation.

import { $ } from "./dom.js";
import { storage } from "./server.js";
import { howMany, shareAsked } from "./words.js";

const STEPS = 20;

/** What the slider moves: `name` in a request, from `least`, with which it asks least, to `most`; `own` is the model's. */
let scale = null;
let isMoved = false;

/** What a turn says of it: nothing, if it stands where the model does. */
export function stated() {
  return scale && isMoved ? { [scale.name]: value() } : {};
}

function value() {
  const at = Number($("asks").value) / STEPS;
  return Number((scale.least + at * (scale.most - scale.least)).toFixed(6));
}

export function setModel({ trust, threshold }) {
  scale = trust ? { name: "act_from", least: 0, most: 1, own: trust.act_from, shares: trust.asked } : ofThreshold(threshold);
  $("dial").hidden = !scale;
  if (!scale) return;
  const kept = storage.get("sessionStorage", "meno-asks");
  isMoved = kept !== null;
  $("asks").value = kept ?? home();
  draw();
}

/** Where the model does not say how sure it is of a reading, the threshold itself is moved: the lower, the more it asks. */
function ofThreshold(threshold) {
  if (!threshold) return null;
  const { value, median, offers = [] } = threshold;
  const finite = offers.map((offer) => offer.value).filter((value) => Math.abs(value) < 1e30);
  const low = Math.min(value, median, ...finite);
  const high = Math.max(value + Math.abs(value - median), ...finite);
  return { name: "threshold", least: high, most: low, own: value };
}

const home = () => Math.round((STEPS * (scale.own - scale.least)) / (scale.most - scale.least));

function draw() {
  const share = shareAsked(isMoved ? value() : scale.own, scale.shares);
  const side = Math.sign(Number($("asks").value) - home());
  const own = side === 0 ? "as the model was made to ask" : `asks ${side < 0 ? "less" : "more"} than it was made to`;
  const means = share === null ? own : `${howMany(share)}${side === 0 ? ", as the model was made to" : ""}`;
  $("dial-means").textContent = `${means[0].toUpperCase()}${means.slice(1)}.`;
  $("asks").setAttribute("aria-valuetext", means);
  $("dial-reset").hidden = !isMoved;
}

/** Calls back when it was moved. */
export function onMove(callback) {
  $("asks").addEventListener("input", () => {
    isMoved = Number($("asks").value) !== home();
    storage.set("sessionStorage", "meno-asks", isMoved ? $("asks").value : null);
    draw();
    callback();
  });
  $("dial-reset").addEventListener("click", () => {
    $("asks").value = home();
    isMoved = false;
    storage.set("sessionStorage", "meno-asks", null);
    draw();
    callback();
    $("asks").focus();
  });
}
