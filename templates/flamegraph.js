// One flamegraph on a canvas: lays out what is wide enough to be seen, paints it, finds what is hit.
"use strict";

const ROW = 18;
const MOST_ROWS = 400;
/** Rows at the end in which nothing is this wide are left out. */
const WORTH_A_ROW = 2;
const NARROWEST = 0.5;
const FONT = '11px ui-monospace, "SF Mono", "DejaVu Sans Mono", monospace';

/** Text on every fill has a contrast of 4.5 or more. */
const PALETTES = {
  light: { ground: [232, 234, 238], user: [216, 226, 222], less: [90, 165, 235], more: [245, 135, 75], text: "#15171a", gap: "#ffffff", ring: "#000000", faded: "#f1f2f4", faint: "#5d6570", match: "#7a1fa2", narrow: "#c9ced6" },
  dark: { ground: [58, 63, 71], user: [52, 68, 64], less: [24, 98, 170], more: [172, 70, 8], text: "#f4f5f7", gap: "#15171a", ring: "#ffffff", faded: "#24282d", faint: "#9aa3ae", match: "#e7a6ff", narrow: "#565d67" },
};

const palette = () =>
  matchMedia("(prefers-color-scheme: dark)").matches && !matchMedia("print").matches ? PALETTES.dark : PALETTES.light;

/** @param {number[]} from @param {number[]} to @param {number} part */
const mix = (from, to, part) => `rgb(${from.map((value, i) => Math.round(value + (to[i] - value) * part)).join(",")})`;

/** The colour of a delta: its root, so that the middle of the scale can be told from nothing.
 * @param {any} colours @param {number} delta @param {number} most */
function deltaColour(colours, delta, most) {
  if (!most || !delta) return mix(colours.ground, colours.ground, 0);
  return mix(colours.ground, delta > 0 ? colours.more : colours.less, Math.sqrt(Math.min(1, Math.abs(delta) / most)));
}

/** @typedef {{pair: Pair, zoom: number, widths: Float64Array, scale: number, colour: string, label: string,
 *   matches: Uint8Array | null, flame: boolean, selected: number, most?: number}} Scene */

class Flamegraph {
  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.canvas = canvas;
    this.context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    /** @type {{from: number, to: number, node: number}[][]} */
    this.rows = [];
    this.deeper = false;
    /** @type {Scene | null} */
    this.scene = null;
  }

  /** Lay out; returns how many rows that takes. @param {Scene} scene */
  layout(scene) {
    this.scene = scene;
    this.width = this.canvas.clientWidth || 600;
    this.rows = [];
    this.deeper = false;
    const { tree: over } = scene.pair;
    const path = over.path(scene.zoom);
    // Above the zoomed frame its callers, as wide as the graph.
    for (const node of path.slice(0, -1)) this.rows.push([{ from: 0, to: this.width, node }]);
    this.zoomed = this.rows.length;
    const pixels = scene.scale ? this.width / scene.scale : 0;
    const todo = [{ node: scene.zoom, depth: path.length ? path.length - 1 : 0, from: 0 }];
    while (todo.length) {
      const { node, depth, from } = /** @type {any} */ (todo.pop());
      let x = from;
      let below = depth;
      if (node < over.size) {
        this.place(depth, from, from + scene.widths[node] * pixels, node);
        below++;
      }
      if (below >= MOST_ROWS) {
        this.deeper = true;
        continue;
      }
      const last = over.first[node + 1];
      let narrow = x;
      for (let i = over.first[node]; i < last; i++) {
        const child = over.children[i];
        const to = x + scene.widths[child] * pixels;
        if (to - x >= NARROWEST) {
          if (x - narrow >= NARROWEST) this.place(below, narrow, x, -1);
          todo.push({ node: child, depth: below, from: x });
          narrow = to;
        }
        x = to;
      }
      if (x - narrow >= NARROWEST) this.place(below, narrow, x, -1);
    }
    for (const row of this.rows) row.sort((a, b) => a.from - b.from);
    const worth = (row) => row.some((box) => box.node >= 0 && box.to - box.from >= WORTH_A_ROW);
    let keep = this.rows.length;
    while (keep > this.zoomed + 1 && !worth(this.rows[keep - 1])) keep--;
    if (keep < this.rows.length) {
      this.rows.length = keep;
      this.deeper = true;
    }
    return this.rows.length;
  }

  /** @param {number} row @param {number} from @param {number} to @param {number} node */
  place(row, from, to, node) {
    while (this.rows.length <= row) this.rows.push([]);
    if (to > from) this.rows[row].push({ from, to, node });
  }

  /** @param {number} rows how high the canvas is to be */
  paint(rows) {
    const scene = /** @type {Scene} */ (this.scene);
    const { context } = this;
    const ratio = window.devicePixelRatio || 1;
    this.height = Math.max(1, rows) * ROW;
    const width = Math.round(/** @type {number} */ (this.width) * ratio);
    const height = Math.round(this.height * ratio);
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
      this.canvas.style.height = `${this.height}px`;
    }
    const colours = palette();
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, /** @type {number} */ (this.width), this.height);
    context.textBaseline = "middle";
    context.font = FONT;
    const letter = context.measureText("0").width;
    const called = names();
    const most = scene.colour === "none" ? 0 : scene.most || scene.pair.largest(/** @type {any} */ (scene.colour));
    this.rows.forEach((row, depth) => {
      const y = this.top(depth);
      for (const box of row) this.box(scene, box, y, depth < /** @type {number} */ (this.zoomed), colours, most, called, letter);
    });
    if (!scene.scale || !scene.widths[scene.zoom]) {
      context.fillStyle = colours.faint;
      const text = scene.zoom < scene.pair.tree.size ? `${scene.label} has nothing here` : "nothing was counted";
      context.fillText(text, 6, this.top(Math.max(0, this.rows.length - (this.rows.at(-1)?.length ? 0 : 1))) + ROW / 2);
    }
  }

  /** @param {number} depth */
  top(depth) {
    return /** @type {Scene} */ (this.scene).flame ? /** @type {number} */ (this.height) - (depth + 1) * ROW : depth * ROW;
  }

  /** @param {Scene} scene @param {{from: number, to: number, node: number}} box @param {number} y
   * @param {boolean} above @param {any} colours @param {number} most @param {string[]} called @param {number} letter */
  box(scene, box, y, above, colours, most, called, letter) {
    const { context } = this;
    const { from, node } = box;
    const width = box.to - from;
    if (node < 0) {
      context.fillStyle = colours.narrow;
      context.fillRect(from, y + ROW / 2, width, 2);
      return;
    }
    const id = scene.pair.tree.function[node];
    const user = frameSide(id) === "user";
    const matched = scene.matches && scene.matches[id];
    if (above) context.fillStyle = colours.faded;
    else if (scene.colour === "none") context.fillStyle = mix(user ? colours.user : colours.ground, colours.less, 0.25 + (id % 5) * 0.05);
    else context.fillStyle = deltaColour(colours, scene.pair.delta(/** @type {any} */ (scene.colour), node), most);
    context.globalAlpha = scene.matches && !matched ? 0.35 : 1;
    const drawn = Math.max(NARROWEST, width - (width > 2 ? 1 : 0));
    context.fillRect(from, y, drawn, ROW - 1);
    context.globalAlpha = scene.matches && !matched ? 0.7 : 1;
    const inlined = scene.pair.tree.inlined(node, state.left) || scene.pair.tree.inlined(node, state.right);
    context.fillStyle = colours.faint;
    if (inlined && width > 4) for (let dot = 1; dot < ROW - 2; dot += 4) context.fillRect(from, y + dot, 2, 2);
    if (user && width > 2) context.fillRect(from, y + ROW - 3, drawn, 2);
    const { left, right } = scene.pair.total;
    if (!above && width > 4 && state.left !== state.right && (!left[node] || !right[node])) {
      context.strokeStyle = left[node] ? `rgb(${colours.less})` : `rgb(${colours.more})`;
      context.setLineDash(left[node] ? [3, 2] : []);
      context.strokeRect(from + 0.5, y + 0.5, drawn - 1, ROW - 2);
      context.setLineDash([]);
    }
    const letters = Math.floor((width - 8) / letter);
    if (letters >= 2) {
      context.font = inlined ? `italic ${FONT}` : FONT;
      context.fillStyle = above ? colours.faint : colours.text;
      const name = called[id];
      const text = name.length > letters ? `${name.slice(0, letters - 1)}…` : name;
      context.fillText(text, from + 5, y + ROW / 2, width - 7);
    }
    context.globalAlpha = 1;
    if (matched && width > 1.5) {
      context.fillStyle = colours.match;
      context.fillRect(from, y, drawn, 2);
    }
    if (node === scene.selected) {
      context.strokeStyle = colours.ring;
      context.lineWidth = 2;
      context.strokeRect(from + 1, y + 1, Math.max(2, drawn - 2), ROW - 3);
      context.lineWidth = 1;
    }
  }

  /** The node at a place of the canvas, or -1. @param {number} x @param {number} y */
  hit(x, y) {
    if (!this.scene) return -1;
    const depth = Math.floor((this.scene.flame ? /** @type {number} */ (this.height) - y : y) / ROW);
    const row = this.rows[depth] || [];
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

  /** Where a node is drawn. @param {number} node */
  find(node) {
    for (let depth = 0; depth < this.rows.length; depth++) {
      const place = this.rows[depth].findIndex((box) => box.node === node);
      if (place >= 0) return { depth, place, box: this.rows[depth][place] };
    }
    return null;
  }

  /** The frame that a step from `node` leads to: out, in, or beside. @param {number} node @param {string} step */
  neighbour(node, step) {
    const seen = (row) => (row || []).filter((box) => box.node >= 0);
    const found = this.find(node);
    if (!found) return seen(this.rows[this.zoomed])[0]?.node ?? -1;
    if (step === "out") return seen(this.rows[found.depth - 1]).find((box) => box.from <= found.box.from && box.to >= found.box.to - 0.01)?.node ?? node;
    if (step === "in") {
      const within = seen(this.rows[found.depth + 1]).filter((box) => box.from >= found.box.from - 0.01 && box.to <= found.box.to + 0.01);
      return within.sort((a, b) => b.to - b.from - (a.to - a.from))[0]?.node ?? node;
    }
    const row = seen(this.rows[found.depth]);
    const place = row.findIndex((box) => box.node === node) + (step === "after" ? 1 : -1);
    return row[place]?.node ?? node;
  }
}
