// Trees of stacks in typed columns, and two kernels' counts over one of them.

/** @typedef {"left" | "right"} Hand which of the two kernels that are shown */
/** @typedef {"self" | "total"} Kind */

/** Stacks, parents before children; node `size` stands above the roots. */
export class Tree {
  /** @param {ArrayLike<number>} parent @param {ArrayLike<number>} functions
   * @param {Int32Array} ranks of the functions by name
   * @param {(node: number, label: string) => boolean} inlined */
  constructor(parent, functions, ranks, inlined) {
    this.size = parent.length;
    this.parent = Int32Array.from(parent, (above) => (above < 0 ? this.size : above));
    this.function = Int32Array.from(functions);
    this.inlined = inlined;
    /** Children of a node: `children[first[node]]` up to `first[node + 1]`, by name. */
    this.first = new Int32Array(this.size + 2);
    this.children = new Int32Array(this.size);
    this.order(ranks);
  }

  /** Two counting sorts: by name, then by parent; every view has the same order of frames.
   * @param {Int32Array} ranks */
  order(ranks) {
    const place = new Int32Array(ranks.length + 1);
    for (const id of this.function) place[ranks[id] + 1]++;
    for (let i = 1; i < place.length; i++) place[i] += place[i - 1];
    const byName = new Int32Array(this.size);
    for (let node = 0; node < this.size; node++) {
      byName[place[ranks[this.function[node]]]++] = node;
    }
    for (const above of this.parent) this.first[above + 1]++;
    for (let i = 1; i < this.first.length; i++) this.first[i] += this.first[i - 1];
    const next = this.first.slice();
    for (const node of byName) this.children[next[this.parent[node]]++] = node;
  }

  /** Nodes directly below. @param {number} node */
  below(node) {
    return this.children.subarray(this.first[node], this.first[node + 1]);
  }

  /** Whether a node stands on another one of its function. @param {number} node */
  nested(node) {
    for (let at = this.parent[node]; at < this.size; at = this.parent[at]) {
      if (this.function[at] === this.function[node]) return true;
    }
    return false;
  }

  /** From the root down to `node`. @param {number} node */
  path(node) {
    const found = [];
    for (let at = node; at < this.size; at = this.parent[at]) found.push(at);
    return found.reverse();
  }

  /** The frames at the root that all stacks have: each holds at least `part` of every kernel's
   * counts. The last of them, where stacks part, is left out, and so is one alone.
   * @param {ArrayLike<number>[]} counts of each kernel */
  trunk(counts, part = 0.99) {
    const totals = counts.map((values) => this.totals(Float64Array.from(values, Math.abs)));
    const found = [];
    for (let at = this.size; ; ) {
      const next = this.below(at).find((node) =>
        totals.every((of) => of[node] && of[node] >= part * of[this.size]));
      if (next === undefined) break;
      found.push(next);
      at = next;
    }
    return found.length > 2 ? found.slice(0, -1) : [];
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

/** Two kernels' counts over one tree. Widths add up: a frame is never narrower than what is in it.
 */
export class Pair {
  /** @param {Tree} tree @param {ArrayLike<number>} left @param {ArrayLike<number>} right
   * @param {Record<Hand, number>} unit one count of each side in the chosen unit
   * @param {Record<Hand, number>} sample what one sample of each side counts; 0 of exact counts */
  constructor(tree, left, right, unit, sample) {
    this.tree = tree;
    this.unit = unit;
    this.sample = sample;
    this.self = { left, right };
    this.total = { left: tree.totals(left), right: tree.totals(right) };
    /** @type {Map<string, Float64Array>} */
    this.widths = new Map();
    /** @type {Map<Kind, number>} */
    this.most = new Map();
  }

  /** Counts of both sides: of a node, or of nodes on top of each other as if they were one.
   * @param {Kind} kind @param {number | number[]} nodes outermost first
   * @returns {[number, number]} */
  both(kind, nodes) {
    const { left, right } = this[kind];
    if (typeof nodes === "number") return [left[nodes], right[nodes]];
    if (kind === "total") return [left[nodes[0]], right[nodes[0]]];
    const sum = (/** @type {ArrayLike<number>} */ of) =>
      nodes.reduce((all, node) => all + of[node], 0);
    return [sum(left), sum(right)];
  }

  /** @param {Kind} kind @param {number | number[]} nodes as of `both` */
  delta(kind, nodes) {
    const [left, right] = this.both(kind, nodes);
    return right * this.unit.right - left * this.unit.left;
  }

  /** Whether two counts differ by more than chance makes of samples: three standard errors, as in
   * the marks of functions. Exact counts always do. @param {number} left @param {number} right */
  isSure(left, right) {
    const { sample, unit } = this;
    const square = (/** @type {number} */ value, /** @type {Hand} */ side) =>
      unit[side] ** 2 * sample[side] * Math.max(Math.abs(value), sample[side]);
    const delta = right * unit.right - left * unit.left;
    return delta ** 2 >= 9 * (square(left, "left") + square(right, "right"));
  }

  /** Widths by one of the rules. @param {string} rule `left`, `right`, `larger` or `delta` */
  width(rule) {
    let widths = this.widths.get(rule);
    if (!widths) {
      const values = new Float64Array(this.tree.size);
      for (let node = 0; node < values.length; node++) {
        const left = this.self.left[node] * this.unit.left;
        const right = this.self.right[node] * this.unit.right;
        // With --difference a count can be below nothing: such a stack has no width of its own.
        if (rule === "delta") values[node] = Math.abs(right - left);
        else
          values[node] = Math.max(
            0,
            rule === "right" ? right : left,
            rule === "larger" ? right : 0,
          );
      }
      widths = this.tree.totals(values);
      this.widths.set(rule, widths);
    }
    return widths;
  }

  /** The largest delta of a node, which has the strongest colour. @param {Kind} kind */
  largest(kind) {
    let most = this.most.get(kind);
    if (most === undefined) {
      most = 0;
      for (let node = 0; node < this.tree.size; node++) {
        most = Math.max(most, Math.abs(this.delta(kind, node)));
      }
      this.most.set(kind, most);
    }
    return most;
  }
}
