// The chosen metric: its tree of stacks, and the two chosen kernels over it.

import { data } from "../page/data.js";
import { visible } from "../page/elements.js";
import { sides, state } from "../page/state.js";
import { Pair, Tree } from "./tree.js";

/** @import { Metric, Stacks } from "../page.d.ts" */

/** From so many stacks on the graph is drawn first, and what takes long follows. */
const LARGE = 20_000;

/** @type {Metric} */
export let metric;
/** @type {Tree} */
export let tree;
/** @type {Pair} */
export let pair;
/** Frames' names as they are drawn. @type {string[]} */
export let names;
/** Functions' ranks by name. @type {Int32Array} */
export let ranks;
/** Whether the stacks have callers, not only what was inlined into the function at an address. */
export let hasCalls = false;
/** Each function's number. @type {Map<object, number>} */
export let ids;
/** Frames at the root that are folded into one row, outermost first. @type {number[]} */
let trunk;

/** What is made of the stacks of a metric, once.
 * @typedef {{tree: Tree, names: string[], ranks: Int32Array, hasCalls: boolean,
 *   ids: Map<object, number>, trunk: number[]}} Made */
/** @type {WeakMap<Metric, Made>} */
const known = new WeakMap();

/** Take the metric and the kernels of the state. */
export function choose() {
  metric = data.metrics[Number(state.metric)];
  const made = known.get(metric) ?? make(data.stacks[metric.stacks]);
  known.set(metric, made);
  ({ tree, names, ranks, hasCalls, ids, trunk } = made);
  pair = pairOf(tree, ...sides(metric.counts));
}

/** @param {Stacks} stacks of the chosen metric @returns {Made} */
function make(stacks) {
  const count = metric.functions.length + stacks.unnamed.length;
  const raw = Array.from({ length: count }, (_, id) => frameName(id));
  const order = raw.map((_, id) => id);
  order.sort((a, b) => (raw[a] < raw[b] ? -1 : raw[a] > raw[b] ? 1 : a - b));
  const found = new Int32Array(count);
  for (const [rank, id] of order.entries()) found[id] = rank;
  const isInlined = Object.values(stacks.inlined);
  const counted = Object.values(metric.counts);
  const called = (/** @type {number} */ above, /** @type {number} */ node) =>
    above >= 0 && counted.some((one) => one[node]) && !isInlined.some((one) => one[node]);
  const inlined = (/** @type {number} */ node, /** @type {string} */ label) =>
    Boolean(stacks.inlined[label][node]);
  const made = new Tree(stacks.parent, stacks.function, found, inlined);
  return {
    tree: made,
    trunk: made.trunk(counted),
    names: raw.map(visible),
    ranks: found,
    hasCalls: metric.calls !== null || stacks.parent.some(called),
    ids: new Map(metric.functions.map((row, id) => [row, id])),
  };
}

/** A kernel's total, of which shares are parts. @param {string} label */
export const whole = (label) => metric.totals[label] || 1;

/** The two kernels' counts over a tree in the chosen unit: shares are of each kernel's whole.
 * @param {Tree} over @param {ArrayLike<number>} left @param {ArrayLike<number>} right */
export function pairOf(over, left, right) {
  const share = state.unit === "share";
  const [of, against] = share ? [whole(state.left), whole(state.right)] : [1, 1];
  return new Pair(over, left, right, { left: 1 / of, right: 1 / against });
}

/** What draws at once, or when the reader pauses where that takes its time.
 * @param {() => void} draw */
export function unhurried(draw) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    if (tree.size < LARGE) draw();
    else timer = setTimeout(draw, 80);
  };
}

/** Frames that are drawn as one row: the trunk, unless the reader opened it. */
export const folded = () => (state.fold === "open" ? [] : trunk);

/** How many frames can be folded. */
export const foldable = () => trunk.length;

/** The zoomed frame; the whole is the node above the roots, and any of the folded frames. */
export function zoomed() {
  const zoom = state.zoom === "" ? tree.size : Number(state.zoom);
  return folded().includes(zoom) ? tree.size : zoom;
}

/** Behind the functions come those that are not resolved. @param {number} id */
const unnamed = (id) => data.stacks[metric.stacks].unnamed[id - metric.functions.length];

/** What a frame is called. @param {number} id */
export const frameName = (id) =>
  metric.functions[id]?.name ?? `[unresolved: ${unnamed(id)?.reason ?? "unknown"}]`;

/** @param {number} id */
export const frameSide = (id) => (metric.functions[id] ?? unnamed(id))?.side ?? "kernel";

/** How often something was called that ran for so much; NaN where that was not counted: it was
 * inlined, or entered before the window. @param {number} calls @param {number} work */
export const knownCalls = (calls, work) => (calls || !work ? calls : Number.NaN);

/** @param {number} calls as of `knownCalls` @param {(calls: number) => string} format */
export const formatCalls = (calls, format) =>
  Number.isNaN(calls) ? "not counted" : format(calls);

/** Of each function: calls, and the self and total counts of those of its stacks that have calls,
 * nested ones once; NaN where a caller both calls the function and has a copy of it inlined.
 * @typedef {{calls: Float64Array, self: Float64Array, total: Float64Array}} Calls */
/** @type {Map<Metric, Record<string, Calls>>} */
const countedCalls = new Map();

export function callsOf() {
  if (!metric.calls) return null;
  let found = countedCalls.get(metric);
  if (!found) {
    found = {};
    for (const [label, column] of Object.entries(metric.calls)) {
      const totals = tree.totals(metric.counts[label]);
      const [calls, self, total] = [0, 1, 2].map(() => new Float64Array(metric.functions.length));
      for (const [node, id] of tree.function.entries()) {
        if (!column[node] || id >= calls.length) continue;
        const known = tree.inlined(node, label) ? Number.NaN : 1;
        calls[id] += column[node];
        self[id] += known * metric.counts[label][node];
        if (!tree.nested(node)) total[id] += known * totals[node];
      }
      found[label] = { calls, self, total };
    }
    countedCalls.set(metric, found);
  }
  return found;
}
