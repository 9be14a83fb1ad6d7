// The flamegraphs of the whole tree: what they show of the state, pointer and keys.

import { folded, pair, pathOf, tree, zoomed } from "../profile/chosen.js";
import { drawCallTree } from "./call_tree.js";
import { drawCrumbs, startCrumbs } from "./crumbs.js";
import { hideTip, showTip, spoken } from "../profile/details.js";
import { at, element } from "../page/elements.js";
import { Flamegraph } from "../profile/flamegraph.js";
import { drawLegend } from "../profile/legend.js";
import { drawSandwich, openFunction } from "./sandwich.js";
import { found } from "../profile/search.js";
import { alone, state, writeAddress } from "../page/state.js";

/** @import { Scene } from "../profile/frames.js" */
/** @import { Kind, Tree } from "../profile/tree.js" */

const graphs = { left: new Flamegraph("graph-left"), right: new Flamegraph("graph-right") };
/** The frame under the pointer. */
let hovered = -1;
/** The frame that the keys chose; it stays when the focus goes elsewhere. */
let cursor = -1;
/** Whose frames these are. @type {Tree | null} */
let drawn = null;
let scheduled = false;
/** Rows of the whole graph, and what they were counted for. */
const tall = { key: "", rows: 0 };

/** The canvas that keys work on, and not the pointer. @type {HTMLCanvasElement | null} */
let keyed = null;

/** The nodes of a row of the graph. @param {number} node */
const nodesAt = (node) => (node === folded().at(-1) ? folded() : [node]);

/** What the one or two canvases of a view show. @param {number} zoom @returns {Scene[]} */
function scenes(zoom) {
  const colour = alone() ? "none" : /** @type {Kind | "none"} */ (state.colour);
  const most = colour === "none" ? 0 : pair.largest(colour);
  const flame = state.shape === "flame";
  const selected = keyed ? cursor : hovered;
  const scene = {
    pair, zoom, colour, most, matches: found.matches, flame, selected, folded: folded(),
  };
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

/** How many rows the whole graph has. The zoomed one gets as many, so that zooming moves nothing
 * else, and scrolls where it has more. @param {Flamegraph[]} used */
function rowsOfWhole(used) {
  const width = used[0].canvas.clientWidth;
  const key = JSON.stringify({ ...state, zoom: "", function: "", search: "", width });
  if (tall.key !== key || drawn !== tree) {
    const rows = scenes(tree.size).map((scene, i) => used[i].layout(scene).rows.length);
    Object.assign(tall, { key, rows: Math.max(...rows) });
  }
  return tall.rows;
}

function paintTree() {
  scheduled = false;
  // Without functions there is no tree.
  if (!pair) return;
  const shown = scenes(zoomed());
  at("second").hidden = shown.length < 2;
  const used = [graphs.left, graphs.right].slice(0, shown.length);
  const frames = used.map((graph, i) => graph.layout(shown[i]));
  const seen = rowsOfWhole(used);
  const rows = Math.max(seen, ...frames.map((one) => one.rows.length));
  for (const [i, graph] of used.entries()) graph.paint(frames[i], rows, seen);
  at("deeper").classList.toggle("absent", !frames.some((one) => one.deeper));
  drawn = tree;
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
  if (drawn !== tree) hovered = cursor = -1;
  drawLegend([graphs.left.canvas, graphs.right.canvas]);
  drawCrumbs(zoomTo);
  repaint();
}

/** @param {number} node */
function zoomTo(node) {
  state.zoom = node >= tree.size || folded().includes(node) ? "" : pathOf(node);
  hideTip();
  writeAddress(true);
  drawTree();
  drawCallTree();
}

function turnFold() {
  cursor = folded()[0] ?? -1;
  state.fold = state.fold ? "" : "open";
  hideTip();
  writeAddress(true);
  drawTree();
  drawCallTree();
}

/** Zoom to a frame. The zoomed one opens its function, and those that are folded open themselves.
 * @param {number} node */
function press(node) {
  if (node === folded().at(-1)) return zoomed() === tree.size ? turnFold() : zoomTo(tree.size);
  if (node === zoomed()) return openFunction(tree.function[node]);
  cursor = node;
  zoomTo(node);
}

/** Choose a frame by keys: it is drawn, scrolled to, and read out.
 * @param {Flamegraph} graph @param {number} node */
function walkTo(graph, node) {
  cursor = node;
  paintTree();
  const place = graph.frames?.find(node);
  if (!place) return hideTip();
  const { canvas } = graph;
  graph.reveal(place.depth);
  const nodes = nodesAt(node);
  showTip(pair, nodes, canvas, canvas.getBoundingClientRect().top + graph.top(place.depth));
  const item = element("div");
  item.id = `${canvas.id}-${node}`;
  item.role = "treeitem";
  item.ariaSelected = "true";
  item.ariaLevel = String(place.depth + 1);
  item.ariaLabel = spoken(pair, nodes);
  canvas.replaceChildren(item);
  canvas.setAttribute("aria-activedescendant", item.id);
}

/** Where the keys begin, or go on. @param {Flamegraph} graph */
function begin(graph) {
  setKeyed(graph.canvas);
  paintTree();
  const { frames } = graph;
  if (frames) walkTo(graph, frames.find(cursor) ? cursor : frames.widest());
}

/** @param {HTMLCanvasElement | null} canvas */
function setKeyed(canvas) {
  keyed = canvas;
  for (const graph of Object.values(graphs)) {
    graph.canvas.parentElement?.classList.toggle("keyed", graph.canvas === canvas);
  }
}

/** @param {Flamegraph} graph @param {KeyboardEvent} event */
function treeKey(graph, event) {
  const { key } = event;
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  const [down, up] = state.shape === "flame" ? ["out", "in"] : ["in", "out"];
  const steps = { ArrowLeft: "before", ArrowRight: "after", ArrowDown: down, ArrowUp: up };
  const step = new Map(Object.entries(steps)).get(key);
  const back = key === "Escape" || key === "Backspace";
  if (!step && !["Enter", " ", "Home"].includes(key) && !back) return;
  event.preventDefault();
  if (keyed !== graph.canvas) begin(graph);
  if (step) cursor = graph.frames?.neighbour(cursor, step) ?? -1;
  else if (key === "Home") {
    cursor = -1;
    zoomTo(tree.size);
  } else if (back) zoomTo(tree.parent[zoomed()] ?? tree.size);
  else if (cursor < 0) return;
  else if (key === "Enter") press(cursor);
  else openFunction(tree.function[cursor]);
  // A function that was opened has the focus now.
  if (document.activeElement === graph.canvas) begin(graph);
}

/** @param {Flamegraph} graph @param {PointerEvent} event */
function rest(graph, event) {
  const node = graph.hit(event);
  graph.canvas.style.cursor = node >= 0 ? "pointer" : "default";
  if (node !== hovered || keyed) {
    setKeyed(null);
    hovered = node;
    repaint();
  }
  if (node >= 0) showTip(pair, nodesAt(node), graph.canvas, event.clientY);
  else hideTip();
}

function leave() {
  setKeyed(null);
  hovered = -1;
  hideTip();
  repaint();
}

export function startTree() {
  for (const graph of Object.values(graphs)) {
    const { canvas } = graph;
    canvas.addEventListener("pointermove", (event) => rest(graph, event));
    canvas.addEventListener("pointerleave", () => {
      if (!keyed) leave();
    });
    canvas.addEventListener("click", (event) => {
      const node = graph.hit(event);
      if (node >= 0) press(node);
    });
    // Side by side, a row stands beside itself.
    graph.room?.addEventListener("scroll", () => {
      for (const { room } of Object.values(graphs)) {
        if (room && graph.room) room.scrollTop = graph.room.scrollTop;
      }
    });
    canvas.addEventListener("keydown", (event) => treeKey(graph, event));
    canvas.addEventListener("focus", () => {
      if (canvas.matches(":focus-visible")) begin(graph);
    });
    canvas.addEventListener("blur", leave);
  }
  startCrumbs(turnFold);
  at("skip").addEventListener("click", () => graphs.left.canvas.focus());
  new ResizeObserver(repaint).observe(at("graphs"));
  for (const query of ["(prefers-color-scheme: dark)", "print"]) {
    matchMedia(query).addEventListener("change", () => {
      paintTree();
      drawSandwich();
    });
  }
}
