// One flamegraph on a canvas: paints frames, and tells what is hit.

import { frameSide, names } from "./chosen.js";
import { at, clipped } from "../page/elements.js";
import { Frames, NARROWEST } from "./frames.js";
import { alone, state } from "../page/state.js";

/** @import { Box, Scene } from "./frames.js" */

const ROW = 18;
const FONT = '11px ui-monospace, "SF Mono", "DejaVu Sans Mono", monospace';

/** Text on every fill has a contrast of 4.5 or more. */
const PALETTES = {
  light: {
    ground: [232, 234, 238], user: [216, 226, 222], less: [90, 165, 235],
    more: [245, 135, 75], text: "#15171a", ring: "#000000", faded: "#f1f2f4",
    faint: "#5d6570", match: "#7a1fa2", narrow: "#c9ced6",
  },
  dark: {
    ground: [58, 63, 71], user: [52, 68, 64], less: [24, 98, 170], more: [172, 70, 8],
    text: "#f4f5f7", ring: "#ffffff", faded: "#24282d", faint: "#9aa3ae", match: "#e7a6ff",
    narrow: "#565d67",
  },
};

function palette() {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches && !matchMedia("print").matches;
  return dark ? PALETTES.dark : PALETTES.light;
}

/** @param {number[]} from @param {number[]} to @param {number} part */
const mix = (from, to, part) =>
  `rgb(${from.map((value, i) => Math.round(value + (to[i] - value) * part)).join(",")})`;

export class Flamegraph {
  /** @param {string} id of a canvas */
  constructor(id) {
    this.canvas = at(id, HTMLCanvasElement);
    this.context = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d"));
    /** What scrolls the canvas where it is higher than the whole graph. */
    this.room = this.canvas.closest(".room");
    this.zoom = -1;
    this.height = 0;
    this.colours = PALETTES.light;
    /** @type {Frames | null} */
    this.frames = null;
  }

  /** Where the frames of a scene lie on this canvas. @param {Scene} scene */
  layout(scene) {
    return new Frames(scene, this.canvas.clientWidth || 600);
  }

  /** @param {Frames} frames @param {number} rows how high the canvas is to be
   * @param {number} seen how many of them are seen without scrolling */
  paint(frames, rows, seen = rows) {
    const { scene } = frames;
    const { canvas, context } = this;
    this.frames = frames;
    this.colours = palette();
    const ratio = window.devicePixelRatio || 1;
    const shown = canvas.clientWidth || 600;
    this.height = Math.max(1, rows) * ROW;
    const width = Math.round(shown * ratio);
    const height = Math.round(this.height * ratio);
    if (canvas.width !== width || canvas.height !== height) {
      canvas.width = width;
      canvas.height = height;
      canvas.style.height = `${this.height}px`;
    }
    if (this.room instanceof HTMLElement) {
      this.room.style.height = `${Math.max(1, seen) * ROW}px`;
      if (this.zoom !== scene.zoom) this.room.scrollTop = scene.flame ? this.height : 0;
      this.zoom = scene.zoom;
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, shown, this.height);
    context.textBaseline = "middle";
    context.font = FONT;
    const letter = context.measureText("0").width;
    for (const [depth, row] of frames.rows.entries()) {
      const y = this.top(depth);
      for (const box of row) {
        if (box.node < 0) {
          context.fillStyle = this.colours.narrow;
          context.fillRect(box.from, y + ROW / 2, box.to - box.from, 2);
        } else this.box(scene, box, y, depth < frames.zoomed, letter);
      }
    }
    if (!scene.scale || !scene.widths[scene.zoom]) {
      const zoomed = scene.zoom < scene.pair.tree.size;
      const row = Math.max(0, frames.rows.length - (frames.rows.at(-1)?.length ? 0 : 1));
      context.fillStyle = this.colours.faint;
      const text = zoomed ? `${scene.label} has nothing here` : "nothing was counted";
      context.fillText(text, 6, this.top(row) + ROW / 2);
    }
  }

  /** @param {number} depth */
  top(depth) {
    return this.frames?.scene.flame ? this.height - (depth + 1) * ROW : depth * ROW;
  }

  /** Scroll to a row: in the graph's room, and the page. @param {number} depth */
  reveal(depth) {
    const top = this.top(depth);
    if (this.room && (top < this.room.scrollTop || top + ROW > this.room.scrollTop +
        this.room.clientHeight)) this.room.scrollTop = top - this.room.clientHeight / 2;
    const y = this.canvas.getBoundingClientRect().top + top;
    if (y < 0 || y + ROW > innerHeight) scrollBy(0, y - innerHeight / 2);
  }

  /** @param {Scene} scene @param {Box} box @param {number} y
   * @param {boolean} above the zoomed frame @param {number} letter its width */
  box(scene, { from, to, node }, y, above, letter) {
    const { colours, context } = this;
    const { tree, total } = scene.pair;
    const width = to - from;
    const folded = node === this.frames?.fold;
    const nodes = folded ? scene.folded : [node];
    const ids = nodes.map((one) => tree.function[one]);
    const user = ids.every((id) => frameSide(id) === "user");
    const matched = ids.some((id) => scene.matches?.[id]);
    const drawn = Math.max(NARROWEST, width - (width > 2 ? 1 : 0));
    context.fillStyle = above ? colours.faded : this.fill(scene, nodes, user);
    context.globalAlpha = scene.matches && !matched ? 0.35 : 1;
    context.fillRect(from, y, drawn, ROW - 1);
    context.globalAlpha = scene.matches && !matched ? 0.7 : 1;
    const inlined =
      !folded && (tree.inlined(node, state.left) || tree.inlined(node, state.right));
    context.fillStyle = colours.faint;
    if (inlined && width > 4) {
      for (let dot = 1; dot < ROW - 2; dot += 4) context.fillRect(from, y + dot, 2, 2);
    }
    if (user && width > 2) context.fillRect(from, y + ROW - 3, drawn, 2);
    if (!above && width > 4 && !alone() && (!total.left[node] || !total.right[node])) {
      const vanished = total.left[node];
      context.strokeStyle = `rgb(${vanished ? colours.less : colours.more})`;
      context.setLineDash(vanished ? [3, 2] : []);
      context.strokeRect(from + 0.5, y + 0.5, drawn - 1, ROW - 2);
      context.setLineDash([]);
    }
    const letters = Math.floor((width - 8) / letter);
    if (letters >= 2) {
      context.font = inlined ? `italic ${FONT}` : FONT;
      context.fillStyle = above ? colours.faint : colours.text;
      const name = ids.map((id) => names[id]).join(" › ");
      const text = folded ? `${nodes.length} frames: ${name}` : name;
      context.fillText(clipped(text, letters), from + 5, y + ROW / 2, width - 7);
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

  /** The colour of a frame, or of those that are folded, as of one.
   * @param {Scene} scene @param {number[]} nodes @param {boolean} user */
  fill({ pair, colour, most }, nodes, user) {
    const { ground, user: userGround, less, more } = this.colours;
    if (colour === "none") {
      const [id] = nodes.map((node) => pair.tree.function[node]);
      return mix(user ? userGround : ground, less, 0.25 + (id % 5) * 0.05);
    }
    const delta = pair.isSure(...pair.both(colour, nodes)) ? pair.delta(colour, nodes) : 0;
    // Its root, so that the middle of the scale can be told from nothing.
    const part = most ? Math.sqrt(Math.min(1, Math.abs(delta) / most)) : 0;
    return mix(ground, delta > 0 ? more : less, part);
  }

  /** The node under the pointer, or -1. @param {MouseEvent} event */
  hit({ offsetX, offsetY }) {
    const y = this.frames?.scene.flame ? this.height - offsetY : offsetY;
    return this.frames?.hit(Math.floor(y / ROW), offsetX) ?? -1;
  }
}
