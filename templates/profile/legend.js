// Words about the flamegraph: captions, rule, colours, and what the search found.

import { hasCalls, metric, pair, zoomed } from "./chosen.js";
import { kernelTitle, point } from "../page/data.js";
import { at } from "../page/elements.js";
import { count, formatChange, percent } from "../page/numbers.js";
import { formatCount, formatDelta, formatDifference, share, unitTitle } from "./units.js";
import { found } from "./search.js";
import { alone, COLOURS, state, VIEWS, WIDTHS } from "../page/state.js";

/** @import { Kind } from "./tree.js" */

/** Captions of the one or two graphs. */
function captions() {
  const [left, right] = pair.both("total", zoomed());
  const of = (/** @type {string} */ label, /** @type {number} */ total, word = "") =>
    `${kernelTitle(label)}${word}: ${formatCount(total, label)}`;
  if (state.view === "both") return [of(state.left, left), of(state.right, right)];
  if (state.view === "left") return [of(state.left, left, " alone")];
  if (state.view === "right") return [of(state.right, right, " alone")];
  const against = `${kernelTitle(state.right)} against ${kernelTitle(state.left)}`;
  return [`${against}: ${formatDifference(left, right)} (${formatChange(left, right)})`];
}

/** What a frame's width is. */
function widthRule() {
  if (state.view === "both") return "width: each side's own total, both at the scale of the larger";
  const rule = state.view === "difference" ? state.width : state.view;
  if (rule === "left" || rule === "right") return `width: ${state[rule]}`;
  return `width: ${WIDTHS[rule]}, summed over stacks`;
}

/** What the search found, as a part of both sides. */
function searchResult() {
  if (found.wrong) return `Not a regular expression: ${found.wrong}`;
  if (!found.matches) return "";
  const named = found.matches.reduce((sum, one) => sum + one, 0);
  const part = (/** @type {number} */ value, /** @type {string} */ label) =>
    `${label} ${percent(share(value, label))}`;
  const parts = [part(found.self[0], state.left), part(found.self[1], state.right)];
  const said = `${count(named)} ${named === 1 ? "function matches" : "functions match"}`;
  return `${said}, with what they call: ${parts.slice(0, alone() ? 1 : 2).join(", ")}`;
}

/** @param {HTMLCanvasElement[]} canvases that the words are about */
export function drawLegend(canvases) {
  const [first, second] = captions();
  const width = widthRule();
  const colour = alone() ? "none" : state.colour;
  at("caption-left").textContent = first;
  at("caption-right").textContent = second ?? "";
  at("rule").textContent = `${width}; colour: ${COLOURS[colour]}; ${unitTitle()}`;
  at("ramp").hidden = colour === "none";
  if (colour !== "none") {
    const most = pair.largest(/** @type {Kind} */ (colour));
    const scaled = formatDelta(state.unit === "share" ? 100 * most : most);
    at("least").textContent = `-${scaled} less`;
    at("most").textContent = `more +${scaled}`;
  }
  at("legend-change").hidden = alone();
  at("legend-chance").hidden = alone() || metric.exact || colour === "none";
  at("matched").textContent = searchResult();
  at("width-label").hidden = state.view !== "difference";
  at("missing").hidden = hasCalls;
  at("missing").textContent =
    point?.holds === "functions"
      ? "This page does not hold the stacks there: a frame is a function, whoever called it."
      : `No call stacks were recorded: a frame is a function, and on it what was inlined into it.
        Who called it is not known, so the callers below are those that it was inlined into.`;
  const label = `${VIEWS[state.view]} flamegraph, ${width}`;
  for (const canvas of canvases) canvas.setAttribute("aria-label", label);
}
