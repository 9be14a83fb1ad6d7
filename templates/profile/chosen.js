// The chosen metric: its tree of stacks, and the two chosen kernels over it.

import { data } from "../page/data.js";
import { visible } from "../page/elements.js";
import { joined, metricNumber, parted, sides, state } from "../page/state.js";
import { transform } from "./transform.js";
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
/** What addresses call the functions, and frames without one. @type {string[]} */
let functionKeys;
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
/** The keys of a metric's functions, before any transform. @type {WeakMap<Metric, string[]>} */
const knownKeys = new WeakMap();
/** The last transform, by what it is of. @type {{of: Metric | null, by: string, metric: Metric,
 *   stacks: Stacks} | null} */
let last = null;

/** Take the metric, the kernels and the transforms of the state. */
export function choose() {
  const whole = data.metrics[metricNumber()];
  metric = whole;
  let stacks = data.stacks[whole.stacks];
  functionKeys = knownKeys.get(whole) ?? keysOf(stacks);
  knownKeys.set(whole, functionKeys);
  const focus = idOf(state.focus);
  const hidden = hiddenIds();
  if (focus >= 0 || hidden.length) {
    const by = `${focus} ${hidden}`;
    if (last?.of !== whole || last.by !== by) {
      last = { of: whole, by, ...transform(whole, stacks, focus, new Set(hidden)) };
    }
    ({ metric, stacks } = last);
  }
  const made = known.get(metric) ?? make(stacks);
  known.set(metric, made);
  ({ tree, names, ranks, hasCalls, ids, trunk } = made);
  pair = pairOf(tree, ...sides(metric.counts));
}

/** What addresses call each function: its name, and what tells it from its namesakes.
 * @param {Stacks} stacks */
function keysOf({ unnamed }) {
  const count = metric.functions.length + unnamed.length;
  const short = Array.from({ length: count }, (_, id) => frameName(id));
  const long = short.map((name, id) => {
    const row = metric.functions[id];
    return `${name}@${row ? row.file || row.object : frameSide(id)}`;
  });
  const several = (/** @type {string[]} */ of) =>
    of.reduce((all, one) => all.set(one, (all.get(one) ?? 0) + 1), new Map());
  const [shorts, longs] = [several(short), several(long)];
  return short.map((one, id) => {
    if (shorts.get(one) === 1) return one;
    return longs.get(long[id]) === 1 ? long[id] : `${long[id]}@${id}`;
  });
}

/** A function's number by what addresses call it, -1 if there is none. @param {string} key */
export function idOf(key) {
  if (!key) return -1;
  const found = functionKeys.indexOf(key);
  const id = found >= 0 ? found : metric.functions.findIndex(({ name }) =>
    name === key || key.startsWith(`${name}@`));
  return id < metric.functions.length ? id : -1;
}

/** What addresses call a function. @param {number} id */
export const keyOf = (id) => functionKeys[id];

/** The numbers of functions that the reader hid. */
export const hiddenIds = () => parted(state.hide).map(idOf).filter((id) => id >= 0);

/** The frames down to a node, as addresses have them. @param {number} node */
export const pathOf = (node) =>
  joined(tree.path(node).map((one) => functionKeys[tree.function[one]]));

/** Whether both kernels ran less of something than the reader wants to see. @param {number} left
 * @param {number} right */
export function isBelow(left, right) {
  const least = Number(state.threshold) / 100;
  return least > 0 && Math.abs(left) < least * whole(state.left) &&
    Math.abs(right) < least * whole(state.right);
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
  const [one, other] = sides(sampleCounts());
  return new Pair(
    over, left, right, { left: 1 / of, right: 1 / against }, { left: one, right: other });
}

/** @type {WeakMap<Metric, Record<string, number>>} */
const knownSamples = new WeakMap();

/** What one sample of each kernel counts on average; 0 where counts are exact. A transform moves
 * counts, and changes nothing of that. */
function sampleCounts() {
  const whole = data.metrics[metricNumber()];
  let found = knownSamples.get(whole);
  if (!found) {
    found = {};
    for (const label of data.kernels.map((kernel) => kernel.label)) {
      let [counts, samples] = [0, 0];
      for (const row of whole.functions) {
        if (!row.samples) continue;
        counts += Math.abs(row.self[label]);
        samples += row.samples[label];
      }
      found[label] = samples ? counts / samples : 0;
    }
    knownSamples.set(whole, found);
  }
  return found;
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

/** The zoomed frame, as far down as this tree has it; the whole is the node above the roots, and
 * any of the folded frames. */
export function zoomed() {
  let node = tree.size;
  for (const key of parted(state.zoom)) {
    const next = tree.below(node).find((below) => functionKeys[tree.function[below]] === key);
    if (next === undefined) break;
    node = next;
  }
  return folded().includes(node) ? tree.size : node;
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
/** @type {WeakMap<Metric, Record<string, Calls>>} */
const countedCalls = new WeakMap();

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
