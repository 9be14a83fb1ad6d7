// The flamegraphs of the whole tree: what they show of the state, pointer, keys and breadcrumb.

import { frameName, pair, tree, zoomed } from "./chosen.js";
import { hideTip, showTip, speak } from "./details.js";
import { at, button, clipped } from "./elements.js";
import { Flamegraph } from "./flamegraph.js";
import { drawLegend } from "./legend.js";
import { chooseFunction, drawSandwich } from "./sandwich.js";
import { found } from "./search.js";
import { alone, state, writeAddress } from "./state.js";

/** @import { Scene } from "./frames.js" */
/** @import { Kind } from "./tree.js" */

const graphs = { left: new Flamegraph("graph-left"), right: new Flamegraph("graph-right") };
let selected = -1;
let scheduled = false;

/** What the one or two canvases of a view show. @returns {Scene[]} */
function scenes() {
  const zoom = zoomed();
  const colour = alone() ? "none" : /** @type {Kind | "none"} */ (state.colour);
  const most = colour === "none" ? 0 : pair.largest(colour);
  const flame = state.shape === "flame";
  const scene = { pair, zoom, colour, most, matches: found.matches, flame, selected };
  if (state.view === "both") {
    const [left, right] = [pair.width("left"), pair.width("right")];
    const scale = Math.max(left[zoom], right[zoom]);
    return [
      { ...scene, label: state.left, widths: left, scale },
      { ...scene, label: state.right, widths: right, scale },
    ];
  }
  const widths = pair.width(state.view === "difference" ? state.width : state.view);
  const label = { left: state.left, right: state.right }[state.view] ?? "this";
  return [{ ...scene, label, widths, scale: widths[zoom] }];
}

function paintTree() {
  scheduled = false;
  const shown = scenes();
  at("second").hidden = shown.length < 2;
  const used = [graphs.left, graphs.right].slice(0, shown.length);
  const frames = used.map((graph, i) => graph.layout(shown[i]));
  const rows = Math.max(...frames.map((one) => one.rows.length));
  for (const [i, graph] of used.entries()) graph.paint(frames[i], rows);
  at("deeper").hidden = !frames.some((one) => one.deeper);
  const { dataset } = document.documentElement;
  dataset.painted = String(Number(dataset.painted ?? 0) + 1);
}

function repaint() {
  if (scheduled) return;
  scheduled = true;
  requestAnimationFrame(paintTree);
}

/** The graphs and all that is said about them. */
export function drawTree() {
  drawLegend([graphs.left.canvas, graphs.right.canvas]);
  const path = tree.path(zoomed());
  const crumb = (/** @type {string} */ text, /** @type {number} */ node) =>
    button(clipped(text, 40), "", () => zoomTo(node));
  at("crumbs").hidden = !path.length;
  at("crumbs").replaceChildren(
    crumb("all", tree.size),
    ...path.map((node) => crumb(frameName(tree.function[node]), node)),
  );
  repaint();
}

/** @param {number} node */
function zoomTo(node) {
  state.zoom = node >= tree.size ? "" : String(node);
  hideTip();
  writeAddress(true);
  drawTree();
}

/** @param {Flamegraph} graph @param {number} node */
function select(graph, node) {
  selected = node;
  repaint();
  if (node < 0) return hideTip();
  const place = graph.frames?.find(node);
  if (place) {
    const { left, top, width } = graph.canvas.getBoundingClientRect();
    const x = left + Math.min(place.box.from + 20, width - 40);
    showTip(pair, node, x, top + graph.top(place.depth));
  }
  speak(pair, node);
}

/** @param {Flamegraph} graph @param {KeyboardEvent} event */
function treeKey(graph, event) {
  const { key } = event;
  const [down, up] = state.shape === "flame" ? ["out", "in"] : ["in", "out"];
  const steps = { ArrowLeft: "before", ArrowRight: "after", ArrowDown: down, ArrowUp: up };
  const step = new Map(Object.entries(steps)).get(key);
  if (step) select(graph, graph.frames?.neighbour(selected, step) ?? -1);
  else if (key === "Enter" && selected >= 0) zoomTo(selected);
  else if (key === " " && selected >= 0) chooseFunction(tree.function[selected]);
  else if (key === "Home") zoomTo(tree.size);
  else if ((key === "Escape" || key === "Backspace") && state.zoom !== "") {
    zoomTo(tree.parent[zoomed()]);
  } else return;
  event.preventDefault();
}

export function startTree() {
  for (const graph of [graphs.left, graphs.right]) {
    const { canvas } = graph;
    canvas.addEventListener("pointermove", (event) => {
      const node = graph.hit(event);
      canvas.style.cursor = node >= 0 ? "pointer" : "default";
      if (node !== selected) {
        selected = node;
        repaint();
      }
      if (node >= 0) showTip(pair, node, event.clientX, event.clientY);
      else hideTip();
    });
    canvas.addEventListener("pointerleave", () => select(graph, -1));
    canvas.addEventListener("click", (event) => {
      const node = graph.hit(event);
      if (node < 0) return;
      chooseFunction(tree.function[node]);
      zoomTo(node);
    });
    canvas.addEventListener("keydown", (event) => treeKey(graph, event));
    canvas.addEventListener("focus", () => {
      if (!canvas.matches(":focus-visible")) return;
      select(graph, selected >= 0 ? selected : (graph.frames?.neighbour(-1, "in") ?? -1));
    });
    canvas.addEventListener("blur", () => select(graph, -1));
  }
  new ResizeObserver(repaint).observe(at("graphs"));
  for (const query of ["(prefers-color-scheme: dark)", "print"]) {
    matchMedia(query).addEventListener("change", () => {
      paintTree();
      drawSandwich();
    });
  }
}
