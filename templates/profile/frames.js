// Where the frames of a tree lie: rows of those that are wide enough to be seen.

import { isBelow } from "./chosen.js";

/** @import { Kind, Pair } from "./tree.js" */

export const MOST_ROWS = 400;
/** Rows at the end in which nothing is this wide are left out. */
const WORTH_A_ROW = 2;
export const NARROWEST = 0.5;

/** What is drawn: widths of nodes, of which `scale` fills the canvas. `folded`: nodes that are one
 * row, outermost first; the last of them stands for all.
 * @typedef {{pair: Pair, zoom: number, widths: Float64Array, scale: number, label: string,
 *   colour: Kind | "none", most: number, matches: Uint8Array | null, flame: boolean,
 *   selected: number, folded: number[]}} Scene */
/** Of a frame, or where `node` is -1, of those that are too narrow to be seen.
 * @typedef {{from: number, to: number, node: number}} Box */

export class Frames {
  /** @param {Scene} scene @param {number} width in pixels */
  constructor(scene, width) {
    this.scene = scene;
    /** @type {Box[][]} */
    this.rows = [];
    /** Whether there is more below the last row. */
    this.deeper = false;
    /** The frame that stands for those that are folded. */
    this.fold = scene.folded.at(-1) ?? -1;
    const [first] = scene.folded;
    const callers = scene.pair.tree.path(scene.zoom).slice(0, -1);
    // Above the zoomed frame its callers, as wide as the graph.
    for (const caller of callers) {
      const node = caller === first ? this.fold : caller;
      if (caller !== first && scene.folded.includes(caller)) continue;
      this.rows.push([{ from: 0, to: width, node }]);
    }
    this.zoomed = this.rows.length;
    this.layout(scene.scale ? width / scene.scale : 0);
    for (const row of this.rows) row.sort((a, b) => a.from - b.from);
    let keep = this.rows.length;
    const worth = (/** @type {Box} */ box) => box.node >= 0 && box.to - box.from >= WORTH_A_ROW;
    while (keep > this.zoomed + 1 && !this.rows[keep - 1].some(worth)) keep--;
    if (keep < this.rows.length) this.deeper = true;
    this.rows.length = keep;
  }

  /** @param {number} pixels for one count */
  layout(pixels) {
    const { pair, zoom, widths } = this.scene;
    const [first] = this.scene.folded;
    const todo = [{ node: zoom, depth: this.zoomed, from: 0 }];
    for (let next = todo.pop(); next; next = todo.pop()) {
      const { node, from } = next;
      let { depth } = next;
      if (node < pair.tree.size) {
        this.place(depth, from, from + widths[node === this.fold ? first : node] * pixels, node);
        depth++;
      }
      if (depth >= MOST_ROWS) {
        this.deeper = true;
        continue;
      }
      let x = from;
      let narrow = x;
      for (const child of this.below(node)) {
        const to = x + widths[child] * pixels;
        if (to - x >= NARROWEST && !isBelow(...pair.both("total", child))) {
          if (x - narrow >= NARROWEST) this.place(depth, narrow, x, -1);
          todo.push({ node: child === first ? this.fold : child, depth, from: x });
          narrow = to;
        }
        x = to;
      }
      if (x - narrow >= NARROWEST) this.place(depth, narrow, x, -1);
    }
  }

  /** What stands on a frame. Folded ones are as one: all that any of them calls stands on them.
   * @param {number} node @returns {Iterable<number>} */
  below(node) {
    const { folded, pair } = this.scene;
    if (node !== this.fold) return pair.tree.below(node);
    /** @type {(from: number) => number[]} */
    const deeper = (from) =>
      [...pair.tree.below(from)].flatMap((one) => (folded.includes(one) ? deeper(one) : one));
    return deeper(folded[0]);
  }

  /** @param {number} row @param {number} from @param {number} to @param {number} node */
  place(row, from, to, node) {
    while (this.rows.length <= row) this.rows.push([]);
    if (to > from) this.rows[row].push({ from, to, node });
  }

  /** The node at a place, or -1. @param {number} depth @param {number} x */
  hit(depth, x) {
    const row = this.rows[depth] ?? [];
    let low = 0;
    let high = row.length - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      if (x < row[middle].from) high = middle - 1;
      else if (x >= row[middle].to) low = middle + 1;
      else return row[middle].node;
    }
    return -1;
  }

  /** Where a node lies. @param {number} node */
  find(node) {
    for (const [depth, row] of this.rows.entries()) {
      const box = row.find((one) => one.node === node && node >= 0);
      if (box) return { depth, box };
    }
    return null;
  }

  /** Where the keys begin: the widest frame, the zoomed one if there is one; -1 if none is seen. */
  widest() {
    return widestOf(this.rows[this.zoomed] ?? [])?.node ?? -1;
  }

  /** The frame that a step from `node` leads to. @param {number} node
   * @param {string} step `out`, `in`, `before` or `after` */
  neighbour(node, step) {
    const seen = (/** @type {number} */ depth) =>
      (this.rows[depth] ?? []).filter((box) => box.node >= 0);
    const place = this.find(node);
    if (!place) return this.widest();
    const { depth, box } = place;
    const holds = (/** @type {Box} */ outer, /** @type {Box} */ inner) =>
      outer.from <= inner.from + 0.01 && outer.to >= inner.to - 0.01;
    if (step === "out") return seen(depth - 1).find((one) => holds(one, box))?.node ?? node;
    if (step === "in") {
      return widestOf(seen(depth + 1).filter((one) => holds(box, one)))?.node ?? node;
    }
    const row = seen(depth);
    return row[row.indexOf(box) + (step === "after" ? 1 : -1)]?.node ?? node;
  }
}

/** The first of the widest. @param {Box[]} boxes */
function widestOf(boxes) {
  const frames = boxes.filter((box) => box.node >= 0);
  return frames.sort((a, b) => b.to - b.from - (a.to - a.from))[0];
}
