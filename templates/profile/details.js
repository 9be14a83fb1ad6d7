// Everything about one frame: beside the pointer, and in words for a screen reader.

import {
  formatCalls, frameName, frameSide, knownCalls, metric, tree,
} from "./chosen.js";
import { data, kernelTitle } from "../page/data.js";
import { at, cells, clipped, element, visible } from "../page/elements.js";
import { count, formatChange, percent, short, signed } from "../page/numbers.js";
import { perOp, points, share } from "./units.js";
import { alone, sides, state } from "../page/state.js";

/** @import { Kind, Pair, Tree } from "./tree.js" */

/** Between a graph and the numbers of its frame, in pixels. */
const GAP = 4;

/** File and line on both sides, once where they are the same. @param {number} id of a function */
export function declared(id) {
  const row = metric.functions[id];
  if (!row?.file) return "";
  const [left, right] = sides(row.line);
  const place = (/** @type {number} */ line) => (line ? `${row.file}:${line}` : row.file);
  // A kernel without the function has no line for it.
  if (!left || !right || left === right) return place(left || right);
  return `${place(left)} (${state.left}), ${place(right)} (${state.right})`;
}

/** Where the frame was inlined. @param {Tree} over @param {number} node */
function inlinedIn(over, node) {
  const labels = [state.left, state.right].filter((label) => over.inlined(node, label));
  if (!labels.length) return "";
  return labels.length === 1 ? `(inlined in ${labels[0]})` : "(inlined)";
}

/** Numbers of a frame: what, left, right, delta, change.
 * @param {Pair} of @param {number[]} nodes one, or those that are folded */
function frameNumbers(of, nodes) {
  /** @type {string[][]} */
  const lines = [];
  /** @typedef {(value: number) => string} Format */
  /** @param {string} what @param {[number, number]} both @param {Format} format
   * @param {string} [change] @param {Format} [delta] */
  const line = (what, [left, right], format, change = "", delta = format) =>
    lines.push([what, format(left), format(right), signed(right - left, delta), change]);
  const kinds = /** @type {Kind[]} */ (["self", "total"]);
  for (const kind of kinds) {
    const [left, right] = of.both(kind, nodes);
    line(kind, [left, right], count, formatChange(left, right));
    if (data.workload.ops) line(`${kind} per op`, [left, right], perOp);
    const [was, is] = [share(left, state.left), share(right, state.right)];
    line(`${kind} share`, [was, is], percent, "", points);
  }
  if (of.tree !== tree || !metric.calls || nodes.length > 1) return lines;
  const [node] = nodes;
  const ran = of.both("total", node);
  const [left, right] = sides(metric.calls).map((calls, n) => knownCalls(calls[node], ran[n]));
  const told = (/** @type {number} */ calls) => formatCalls(calls, count);
  if (Number.isNaN(left + right)) lines.push(["calls", told(left), told(right), "", ""]);
  else line("calls", [left, right], count, formatChange(left, right));
  if (left || right) {
    for (const kind of kinds) {
      const [work, other] = of.both(kind, node);
      const each = [left ? work / left : 0, right ? other / right : 0];
      if (!Number.isNaN(left + right)) line(`${kind} per call`, [each[0], each[1]], short);
      else lines.push([`${kind} per call`, ...each.map((one) => (one ? short(one) : "-")), "", ""]);
    }
  }
  return lines;
}

/** Frames in words. @param {Pair} of @param {number[]} nodes one, or those that are folded */
function describe(of, nodes) {
  const lines = frameNumbers(of, nodes);
  const [node] = nodes;
  if (nodes.length > 1) {
    const names = nodes.map((one) => clipped(frameName(of.tree.function[one]), 60));
    return { name: `${nodes.length} frames at the root, folded`, where: names.join(" › "), lines };
  }
  const id = of.tree.function[node];
  const object = metric.functions[id]?.object ?? "";
  const where = [inlinedIn(of.tree, node), object, frameSide(id), declared(id)];
  return { name: frameName(id), where: where.filter(Boolean).join(" · "), lines };
}

/** Numbers of a frame stand beside the graph, so that neither it nor what is beside it is hidden:
 * below it, or above, or where neither has room, at the end of the window that is farther away.
 * @param {Pair} of @param {number[]} nodes as of `describe`
 * @param {HTMLElement} canvas of the graph @param {number} y of the frame in the window */
export function showTip(of, nodes, canvas, y) {
  const { name, where, lines } = describe(of, nodes);
  const kinds = ["", kernelTitle(state.left), kernelTitle(state.right), "delta", "change"];
  const table = element("table");
  table.append(
    cells("th", ["", ...lines.map(([what]) => what)]),
    ...kinds.slice(1, alone() ? 2 : undefined).map((kind, n) =>
      cells("td", [kind, ...lines.map((line) => line[n + 1])])),
  );
  const tip = at("tip");
  const long = name.length > 600;
  const title = long ? `${name.slice(0, 600)}… (${count(name.length)} characters)` : name;
  tip.replaceChildren(element("strong", title), element("p", where), table);
  tip.hidden = false;
  const graph = (canvas.closest(".room") ?? canvas).getBoundingClientRect();
  const { width, height } = tip.getBoundingClientRect();
  const [below, above] = [graph.bottom + GAP, graph.top - height - GAP];
  const end = innerHeight - height - GAP;
  const top = below <= end ? below : above >= 0 ? above : y < innerHeight / 2 ? end : GAP;
  tip.style.left = `${Math.max(GAP, Math.min(graph.left, innerWidth - width - 2 * GAP))}px`;
  tip.style.top = `${top}px`;
}

export function hideTip() {
  at("tip").hidden = true;
}

/** The frame in a sentence. @param {Pair} of @param {number[]} nodes as of `describe` */
export function spoken(of, nodes) {
  const { name, where, lines } = describe(of, nodes);
  const both = (/** @type {string[]} */ [, right, delta]) =>
    ` in ${state.left}, ${right} in ${state.right}, delta ${delta}`;
  const said = lines.map(([what, ...n]) => `${what} ${n[0]}${alone() ? "" : both(n)}`);
  return visible(`${name.slice(0, 300)}, ${where}. ${said.join("; ")}.`);
}
