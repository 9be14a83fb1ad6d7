// The data: trees of stacks in typed columns, and two kernels set against each other.
"use strict";

/** @typedef {{name: string, object: string, file: string, side: string, namesakes: boolean,
 *   line: Record<string, number>, symbols: Record<string, string[]>, self: Record<string, number>,
 *   total: Record<string, number>, samples: Record<string, number> | null,
 *   marks: Record<string, string>}} Row */

/** @type {any} */
let data;
/** @type {any} */
let metric;
/** @type {Tree} */
let tree;
/** @type {Pair} */
let pair;

/** The report's data, which is gzip in base64. */
async function inflate() {
  const packed = Uint8Array.from(atob(at("data").textContent), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

/** Stacks, parents before children; node `size` stands above the roots. */
class Tree {
  /** @param {ArrayLike<number>} parent @param {ArrayLike<number>} functions
   * @param {(node: number, label: string) => boolean} inlined */
  constructor(parent, functions, inlined) {
    this.size = parent.length;
    this.parent = Int32Array.from(parent, (above) => (above < 0 ? this.size : above));
    this.function = Int32Array.from(functions);
    this.inlined = inlined;
    /** Children of a node: `children[first[node]]` up to `first[node + 1]`, by name. */
    this.first = new Int32Array(this.size + 2);
    this.children = new Int32Array(this.size);
    this.order();
  }

  /** Two counting sorts: by name, then by parent; every view has the same order of frames. */
  order() {
    const rank = ranks();
    const place = new Int32Array(rank.length + 1);
    for (const id of this.function) place[rank[id] + 1]++;
    for (let i = 1; i < place.length; i++) place[i] += place[i - 1];
    const byName = new Int32Array(this.size);
    for (let node = 0; node < this.size; node++) byName[place[rank[this.function[node]]]++] = node;
    for (const above of this.parent) this.first[above + 1]++;
    for (let i = 1; i < this.first.length; i++) this.first[i] += this.first[i - 1];
    const next = this.first.slice();
    for (const node of byName) this.children[next[this.parent[node]]++] = node;
  }

  /** From the root down to `node`. @param {number} node */
  path(node) {
    const found = [];
    for (; node < this.size; node = this.parent[node]) found.push(node);
    return found.reverse();
  }

  /** Sums of `values` over everything below and at each node. @param {ArrayLike<number>} values */
  totals(values) {
    const sums = new Float64Array(this.size + 1);
    for (let node = this.size - 1; node >= 0; node--) {
      sums[node] += values[node];
      sums[this.parent[node]] += sums[node];
    }
    return sums;
  }
}

/** Two kernels' counts over one tree. Widths add up: a frame is never narrower than what is in it. */
class Pair {
  /** @param {Tree} over @param {ArrayLike<number>} left @param {ArrayLike<number>} right */
  constructor(over, left, right) {
    this.tree = over;
    this.self = { left, right };
    this.total = { left: over.totals(left), right: over.totals(right) };
    /** One count of each side in the chosen unit: shares are of each kernel's whole. */
    this.unit = { left: 1, right: 1 };
    if (state.unit === "share") this.unit = { left: 1 / (metric.totals[state.left] || 1), right: 1 / (metric.totals[state.right] || 1) };
    /** @type {Record<string, Float64Array>} */
    this.widths = {};
    /** @type {Record<string, number>} */
    this.most = {};
  }

  /** @param {"self" | "total"} kind @param {number} node */
  delta(kind, node) {
    return this[kind].right[node] * this.unit.right - this[kind].left[node] * this.unit.left;
  }

  /** Widths by one of the rules. @param {string} rule */
  width(rule) {
    if (this.widths[rule]) return this.widths[rule];
    const { left, right } = this.self;
    const { left: l, right: r } = this.unit;
    // With --difference a count can be below nothing: such a stack has no width of its own.
    const of = {
      left: (node) => left[node] * l,
      right: (node) => right[node] * r,
      larger: (node) => Math.max(left[node] * l, right[node] * r),
      delta: (node) => Math.abs(right[node] * r - left[node] * l),
    }[rule];
    const values = new Float64Array(this.tree.size);
    for (let node = 0; node < values.length; node++) values[node] = Math.max(0, of(node));
    return (this.widths[rule] = this.tree.totals(values));
  }

  /** The largest delta of a node, which has the strongest colour. @param {"self" | "total"} kind */
  largest(kind) {
    if (this.most[kind] === undefined) {
      let most = 0;
      for (let node = 0; node < this.tree.size; node++) most = Math.max(most, Math.abs(this.delta(kind, node)));
      this.most[kind] = most;
    }
    return this.most[kind];
  }
}

/** What a frame is called. @param {number} id of a function, or behind them of an unresolved one */
function frameName(id) {
  const row = metric.functions[id];
  if (row) return row.name;
  const other = data.stacks[metric.stacks].unnamed[id - metric.functions.length];
  return `[unresolved: ${other ? other.reason : "unknown"}]`;
}

/** `kernel` or `user`. @param {number} id */
function frameSide(id) {
  const row = metric.functions[id] || data.stacks[metric.stacks].unnamed[id - metric.functions.length];
  return row ? row.side : "kernel";
}

/** @type {Map<number, {tree: Tree, ranks: Int32Array, names: string[], calls: boolean}>} */
const tables = new Map();

function ranks() {
  return /** @type {any} */ (tables.get(metric.stacks)).ranks;
}

/** Frames' names as they are drawn. */
const names = () => /** @type {any} */ (tables.get(metric.stacks)).names;

/** Whether the stacks have callers, not only what was inlined into the function at an address. */
const hasCalls = () => /** @type {any} */ (tables.get(metric.stacks)).calls;

/** Take the metric and the kernels of the state. */
function choose() {
  metric = data.metrics[Number(state.metric)];
  const table = data.stacks[metric.stacks];
  if (!tables.has(metric.stacks)) {
    const count = metric.functions.length + table.unnamed.length;
    const raw = Array.from({ length: count }, (_, id) => frameName(id));
    const order = raw.map((_, id) => id).sort((a, b) => (raw[a] < raw[b] ? -1 : raw[a] > raw[b] ? 1 : a - b));
    const found = new Int32Array(count);
    order.forEach((id, rank) => (found[id] = rank));
    const made = { ranks: found, names: raw.map(visible), tree: /** @type {any} */ (null), calls: false };
    tables.set(metric.stacks, made);
    made.tree = new Tree(table.parent, table.function, (node, label) => Boolean(table.inlined[label][node]));
    const counted = Object.values(metric.counts);
    const inlined = Object.values(table.inlined);
    made.calls =
      metric.calls !== null ||
      table.parent.some((above, node) => above >= 0 && counted.some((one) => one[node]) && !inlined.some((one) => one[node]));
  }
  tree = /** @type {any} */ (tables.get(metric.stacks)).tree;
  pair = new Pair(tree, metric.counts[state.left], metric.counts[state.right]);
}

/** Calls of each function, and the self counts of those of its stacks that have calls. */
function callsOf() {
  if (!metric.calls) return null;
  if (!metric.callsOf) {
    metric.callsOf = {};
    for (const kernel of data.kernels) {
      const label = kernel.label;
      const calls = new Float64Array(metric.functions.length);
      const work = new Float64Array(metric.functions.length);
      for (let node = 0; node < tree.size; node++) {
        const id = tree.function[node];
        if (!metric.calls[label][node] || id >= calls.length) continue;
        calls[id] += metric.calls[label][node];
        work[id] += metric.counts[label][node];
      }
      metric.callsOf[label] = { calls, work };
    }
  }
  return metric.callsOf;
}
