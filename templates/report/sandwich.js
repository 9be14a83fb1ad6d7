// One function: who calls it (above) and what it calls (below), both sides against each other.

import {
  callsOf, formatCalls, frameName, idOf, keyOf, knownCalls, metric, pair, pairOf, ranks, tree,
  unhurried,
} from "../profile/chosen.js";
import { codeSentences, drawClasses } from "../profile/classes.js";
import { drawCode, startCode } from "../code/code_view.js";
import { data } from "../page/data.js";
import { declared, hideTip, showTip } from "../profile/details.js";
import { at, button, cells, element, fill, visible } from "../page/elements.js";
import { Flamegraph } from "../profile/flamegraph.js";
import { MOST_ROWS } from "../profile/frames.js";
import { count, formatChange, short } from "../page/numbers.js";
import { formatCount, formatDifference } from "../profile/units.js";
import { alone, joined, parted, sides, state, writeAddress } from "../page/state.js";
import { Tree } from "../profile/tree.js";

/** @import { Calls } from "../profile/chosen.js" */
/** @import { Kind, Pair } from "../profile/tree.js" */

/** The tree of all callers, or of all callees, of a function; the outermost of nested calls counts.
 * @param {number} id @param {boolean} callers */
function around(id, callers) {
  const { left, right } = pair.self;
  const parent = [-1];
  const functions = [id];
  const from = [-1];
  const selfs = { left: [0], right: [0] };
  /** @type {Map<number, number>[]} */
  const below = [new Map()];
  const step = (/** @type {number} */ node, /** @type {number} */ original) => {
    const next = tree.function[original];
    let to = below[node].get(next);
    if (to === undefined) {
      to = parent.length;
      below[node].set(next, to);
      below.push(new Map());
      parent.push(node);
      functions.push(next);
      from.push(original);
      selfs.left.push(0);
      selfs.right.push(0);
    }
    return to;
  };
  /** Where a node of the whole tree lies in the new one; -1: not under the function. */
  const place = new Int32Array(tree.size + 1).fill(-1);
  for (let node = 0; node < tree.size; node++) {
    const above = place[tree.parent[node]];
    if (above < 0 && tree.function[node] !== id) continue;
    let to = above;
    if (above < 0) {
      to = 0;
      from[0] = node;
      // Counts of everything under the outermost call go to the end of the chain of its callers,
      // of which there are no more than are drawn.
      let up = callers ? tree.parent[node] : tree.size;
      for (let row = 0; up < tree.size && row < MOST_ROWS; row++, up = tree.parent[up]) {
        to = step(to, up);
      }
    } else if (!callers) to = step(above, node);
    place[node] = to;
    selfs.left[to] += left[node];
    selfs.right[to] += right[node];
  }
  const inlined = (/** @type {number} */ node, /** @type {string} */ label) =>
    from[node] >= 0 && tree.inlined(from[node], label);
  return pairOf(new Tree(parent, functions, ranks, inlined), selfs.left, selfs.right);
}

/** The number of the open function, -1 if there is none here. */
export const openId = () => idOf(state.function);

const drawHalvesUnhurried = unhurried(drawHalves);

/** What had the focus when a function was opened. @type {Element | null} */
let opener = null;

/** Show a function, with its heading in view.
 * @param {number} id of a function; other frames have no callers to show */
export function openFunction(id) {
  if (id >= metric.functions.length) return;
  const from = document.activeElement;
  if (!at("sandwich").contains(from)) opener = from;
  state.function = keyOf(id);
  writeAddress(true);
  hideTip();
  drawHeading();
  drawHalvesUnhurried();
  showHeading();
}

/** Scroll to the function that is open; it is read out, and keys go on from there. */
export function showHeading() {
  if (openId() < 0) return;
  at("sandwich").scrollIntoView({ block: "start" });
  at("sandwich-name").focus({ preventScroll: true });
}

function closeFunction() {
  state.function = "";
  writeAddress(true);
  drawSandwich();
  if (opener instanceof HTMLElement && opener.isConnected) opener.focus();
}

export function drawSandwich() {
  drawHeading();
  drawHalves();
}

function drawHeading() {
  const id = openId();
  at("sandwich").hidden = id < 0;
  if (id < 0) return;
  const row = metric.functions[id];
  const said = (/** @type {Kind} */ kind) => {
    const [left, right] = sides(row[kind]);
    if (alone()) return `${kind} ${formatCount(left, state.left)}`;
    const both = `${formatCount(left, state.left)} → ${formatCount(right, state.right)}`;
    return `${kind} ${both}: ${formatDifference(left, right)} (${formatChange(left, right)})`;
  };
  at("sandwich-name").textContent = visible(row.name);
  at("focus-open", HTMLButtonElement).disabled = idOf(state.focus) === id;
  const where = [row.object, row.side, declared(id)].filter(Boolean).join(" · ");
  at("sandwich-where").textContent = visible(where);
  const told = [said("self"), said("total"), ...callSentences(id), ...codeSentences(id)];
  fill("sandwich-numbers", "li", told);
  drawClasses(id);
  drawCode(id);
}

function drawHalves() {
  const id = openId();
  if (id < 0) return;
  for (const half of halves) drawHalf(half, id);
}

/** @param {typeof halves[0]} half @param {number} id */
function drawHalf({ kind, graph }, id) {
  const callers = kind === "caller";
  const { name } = metric.functions[id];
  const found = around(id, callers);
  const widths = found.width(alone() ? "left" : "larger");
  // The scale is the whole's: a small function's delta is not to look like a large one.
  const most = pair.largest("total");
  const frames = graph.layout({
    pair: found, zoom: 0, widths, scale: widths[0], label: name, selected: -1, matches: null,
    folded: [], colour: alone() ? "none" : "total", most, flame: callers,
  });
  graph.paint(frames, frames.rows.length);
  graph.canvas.setAttribute("aria-label", `${kind}s of ${visible(name).slice(0, 200)}`);
  const nodes = [...found.tree.below(0)];
  nodes.sort((a, b) => Math.abs(found.delta("total", b)) - Math.abs(found.delta("total", a)));
  const head = [kind, ...(alone() ? ["total"] : [state.left, state.right, "delta"])];
  at(`${kind}s-list`).replaceChildren(
    cells("th", head),
    ...nodes.slice(0, 12).map((node) => neighbourRow(found, node)),
  );
  at(`${kind}s-none`).hidden = nodes.length > 0;
}

/** @param {Pair} of @param {number} node */
function neighbourRow(of, node) {
  const id = of.tree.function[node];
  const [left, right] = of.both("total", node);
  const both = [formatCount(right, state.right), formatDifference(left, right)];
  const line = cells("td", [formatCount(left, state.left), ...(alone() ? [] : both)]);
  const cell = element("td");
  cell.append(button(frameName(id).slice(0, 300), "link", () => openFunction(id)));
  line.prepend(cell);
  return line;
}

/** Called more often, or more at each call? @param {number} id */
function callSentences(id) {
  const calls = callsOf();
  if (!calls) return [];
  const both = sides(calls);
  if (!both.some((of) => of.calls[id])) {
    return ["calls: not counted (inlined everywhere, or never entered in the window)"];
  }
  const { ops } = data.workload;
  /** @param {string} what @param {(of: Calls, label: string) => string} value */
  const sentence = (what, value) => {
    const left = value(both[0], state.left);
    return `${what} ${alone() ? left : `${left} → ${value(both[1], state.right)}`}`;
  };
  const each = (/** @type {number} */ work, /** @type {Calls} */ of) =>
    of.calls[id] && !Number.isNaN(work) ? short(work / of.calls[id]) : "-";
  return [
    sentence(ops ? "calls per op" : "calls", (of, label) => {
      const calls = knownCalls(of.calls[id], metric.functions[id].total[label]);
      return formatCalls(calls, (known) => (ops ? short(known / ops) : count(known)));
    }),
    sentence("self per call", (of) => each(of.self[id], of)),
    sentence("total per call", (of) => each(of.total[id], of)),
  ];
}

const halves = ["caller", "callee"].map((kind) => {
  return { kind, graph: new Flamegraph(`graph-${kind}s`) };
});

/** @param {(row: number) => void} showData shows the data that an instruction accesses
 * @param {(to: {focus?: string, hide?: string}) => void} transformBy */
export function startSandwich(showData, transformBy) {
  startCode(showData);
  for (const { graph } of halves) {
    graph.canvas.addEventListener("pointermove", (event) => {
      const node = graph.hit(event);
      if (graph.frames && node >= 0) {
        showTip(graph.frames.scene.pair, [node], graph.canvas, event.clientY);
      } else hideTip();
    });
    graph.canvas.addEventListener("pointerleave", hideTip);
    graph.canvas.addEventListener("click", (event) => {
      const node = graph.hit(event);
      if (graph.frames && node >= 0) openFunction(graph.frames.scene.pair.tree.function[node]);
    });
  }
  let width = innerWidth;
  addEventListener("resize", () => {
    if (width !== innerWidth) drawSandwich();
    width = innerWidth;
  });
  at("sandwich-close").addEventListener("click", closeFunction);
  at("focus-open").addEventListener("click", () => transformBy({ focus: state.function }));
  at("hide-open").addEventListener("click", () => transformBy({
    hide: joined([...new Set([...parted(state.hide), state.function])]),
  }));
  at("sandwich").addEventListener("keydown", (event) => {
    if (event.key === "Escape") closeFunction();
  });
}
