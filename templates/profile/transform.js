// Transforms of the stacks, as if the kernels had been counted so: one function and what it calls
// alone, and functions whose counts are their callers'.

import { Tree } from "./tree.js";

/** @import { Metric, Stacks } from "../page.d.ts" */

/** Outside of what is shown, and directly at the root. */
const OUTSIDE = -2;
const AT_ROOT = -1;

/** Frames of the new stacks, callers before what they call.
 * @typedef {{parent: number[], function: number[], from: number[], place: Int32Array}} Frames */

/** Where each frame goes. @param {Stacks} stacks @param {number} focus a function, -1 for none
 * @param {Set<number>} hidden functions @returns {Frames} */
function movedFrames(stacks, focus, hidden) {
  const size = stacks.parent.length;
  const place = new Int32Array(size);
  /** @type {Frames} */
  const made = { parent: [], function: [], from: [], place };
  /** @type {Map<string, number>} */
  const known = new Map();
  const labels = Object.keys(stacks.inlined);
  for (let node = 0; node < size; node++) {
    const above = stacks.parent[node];
    const id = stacks.function[node];
    let under = above < 0 ? (focus < 0 ? AT_ROOT : OUTSIDE) : place[above];
    if (under === OUTSIDE && id === focus) under = AT_ROOT;
    else if (under === OUTSIDE || hidden.has(id)) {
      place[node] = under;
      continue;
    }
    const inlined = labels.map((label) => stacks.inlined[label][node]);
    const key = `${under} ${id} ${inlined}`;
    let to = known.get(key);
    if (to === undefined) {
      to = made.parent.length;
      known.set(key, to);
      made.parent.push(under);
      made.function.push(id);
      made.from.push(node);
    }
    place[node] = to;
  }
  return made;
}

/** Values of frames, summed where they went.
 * @param {Frames} made @param {ArrayLike<number>} of @param {(node: number) => boolean} counts */
function movedSums({ parent, place }, of, counts = () => true) {
  const sums = new Array(parent.length).fill(0);
  for (let node = 0; node < place.length; node++) {
    if (place[node] >= 0 && counts(node)) sums[place[node]] += of[node];
  }
  return sums;
}

/** Self and total counts of each function, nested calls once, and the sum of all.
 * @param {Tree} tree @param {number[]} counts @param {number} size how many functions */
function countsOfFunctions(tree, counts, size) {
  const self = new Float64Array(size), total = new Float64Array(size);
  const totals = tree.totals(counts);
  for (const [node, id] of tree.function.entries()) {
    self[id] += counts[node];
    if (!tree.nested(node)) total[id] += totals[node];
  }
  return { self, total, all: totals[tree.size] };
}

/** @template T @param {Record<string, T>} of
 * @param {(value: T, label: string) => any} value */
const byLabel = (of, value) =>
  Object.fromEntries(Object.entries(of).map(([label, one]) => [label, value(one, label)]));

/** A metric and its stacks after the transforms. A hidden function's own counts go to its caller;
 * where it has none, they are left out.
 * @param {Metric} metric @param {Stacks} stacks @param {number} focus a function, -1 for none
 * @param {Set<number>} hidden @returns {{metric: Metric, stacks: Stacks}} */
export function transform(metric, stacks, focus, hidden) {
  const made = movedFrames(stacks, focus, hidden);
  const size = metric.functions.length + stacks.unnamed.length;
  const counts = byLabel(metric.counts, (column) => movedSums(made, column));
  // Nobody sees this tree: its order does not matter.
  const tree = new Tree(made.parent, made.function, new Int32Array(size), () => false);
  const summed = byLabel(counts, (column) => countsOfFunctions(tree, column, size));
  const of = (/** @type {"self" | "total"} */ kind, /** @type {number} */ id) =>
    byLabel(summed, (one) => one[kind][id]);
  // How often a hidden function was called is nothing of its caller's.
  const isOwn = (/** @type {number} */ node) =>
    made.function[made.place[node]] === stacks.function[node];
  const calls = metric.calls && byLabel(metric.calls, (column) => movedSums(made, column, isOwn));
  return {
    metric: {
      ...metric,
      counts,
      calls,
      totals: byLabel(summed, ({ all }) => all),
      functions: metric.functions.map((row, id) =>
        ({ ...row, self: of("self", id), total: of("total", id), samples: null, marks: {} })),
      unresolved: stacks.unnamed.map(({ reason, side }, n) =>
        ({ reason, side, self: of("self", metric.functions.length + n) })),
    },
    stacks: {
      ...stacks,
      parent: made.parent,
      function: made.function,
      inlined: byLabel(stacks.inlined, (column) => made.from.map((node) => column[node])),
    },
  };
}
