// The call tree as a table: rows that open, with both sides' total counts.

import { folded, frameName, isBelow, names, pair, tree, zoomed } from "../profile/chosen.js";
import { at, breakable, button, element, heading, scrollByKeys } from "../page/elements.js";
import { count, formatChange } from "../page/numbers.js";
import { formatCount, formatDifference } from "../profile/units.js";
import { openFunction } from "./sandwich.js";
import { alone, state } from "../page/state.js";

/** @import { Tree } from "../profile/tree.js" */

/** So many callees of a frame are shown first, those that hold this part of what it holds, and so
 * many rows open by themselves. */
const FIRST_CALLEES = 10;
const LEAST_PART = 0.02;
const OPEN_ROWS = 24;
/** A branch that holds this part of what is above it opens by itself. */
const MAIN_PART = 0.5;

/** Frames that are open, and those all of whose callees are shown. @type {Set<number>} */
let openNodes = new Set();
/** @type {Set<number>} */
let wholeNodes = new Set();
/** What these are of. @type {{tree: Tree | null, key: string}} */
const drawnTree = { tree: null, key: "" };

/** @param {number} node */
const weightOf = (node) => {
  const [left, right] = pair.both("total", node);
  return alone() ? left : Math.abs(pair.delta("total", node)) || Math.min(left, right) * 1e-9;
};

/** Whether a frame is to be seen. @param {number} node */
function isSeen(node) {
  const [left, right] = pair.both("total", node);
  return Boolean(left || right) && !isBelow(left, right);
}

/** Callees that are to be seen, the largest change first. @param {number} node */
const callees = (node) =>
  [...tree.below(node)].filter(isSeen).sort((a, b) => weightOf(b) - weightOf(a));

/** Those of them that are shown first. @param {number} node @param {number[]} found */
const firstCallees = (node, found) => found.slice(0, FIRST_CALLEES).filter((one, n) =>
  n === 0 || weightOf(one) >= LEAST_PART * weightOf(node));

/** Open the way to what changed most. @param {number} top */
function openMainWay(top) {
  openNodes = new Set();
  wholeNodes = new Set();
  let rows = 0;
  for (let node = top; rows < OPEN_ROWS; ) {
    const below = callees(node);
    if (!below.length || (node !== top && weightOf(below[0]) < MAIN_PART * weightOf(node))) break;
    rows += firstCallees(node, below).length;
    if (node !== top) openNodes.add(node);
    node = below[0];
  }
}

/** @param {number} node @param {number} level @param {boolean} opens whether its callees can be
 * closed and opened */
function callRow(node, level, opens) {
  const id = tree.function[node];
  const [left, right] = pair.both("total", node);
  const sure = left !== right && pair.isSure(left, right);
  const tint = !sure ? "" : pair.delta("total", node) > 0 ? "more" : "less";
  const line = element("tr");
  line.ariaLevel = String(level);
  const name = element("td", "", "name");
  name.style.setProperty("--level", String(Math.min(level - 1, 24)));
  if (opens) {
    line.ariaExpanded = String(openNodes.has(node));
    const turn = button(openNodes.has(node) ? "▾" : "▸", "turn", () => {
      if (!openNodes.delete(node)) openNodes.add(node);
      drawCallRows();
      const again = at("call-tree").querySelector(`[data-node="${node}"] button.turn`);
      if (again instanceof HTMLElement) again.focus();
    });
    turn.ariaLabel = `${openNodes.has(node) ? "Close" : "Open"} ${names[id].slice(0, 100)}`;
    name.append(turn);
  } else name.append(element("span", "", "turn"));
  const shown = frameName(id).slice(0, 300);
  const open = button("", "link", () => openFunction(id));
  open.append(...breakable(shown));
  name.append(open);
  line.dataset.node = String(node);
  line.append(name);
  if (alone()) line.append(element("td", formatCount(left, state.left), "number"));
  else {
    line.append(
      element("td", formatDifference(left, right), `number ${tint}`),
      element("td", formatChange(left, right), `number ${tint}`),
      element("td", formatDifference(...pair.both("self", node)), "number optional"),
      element("td", formatCount(left, state.left), "number wide"),
      element("td", formatCount(right, state.right), "number wide"),
    );
  }
  return line;
}

/** A frame's callees, and theirs where they are open. @param {number} node @param {number} level
 * @returns {HTMLElement[]} */
function rowsBelow(node, level) {
  const found = callees(node);
  const shown = wholeNodes.has(node) ? found : firstCallees(node, found);
  const rows = shown.flatMap((one) =>
    [
      callRow(one, level, tree.below(one).some(isSeen)),
      ...(openNodes.has(one) ? rowsBelow(one, level + 1) : []),
    ]);
  if (shown.length < found.length) {
    const line = element("tr");
    line.ariaLevel = String(level);
    const cell = element("td", "", "name");
    cell.colSpan = alone() ? 2 : 6;
    cell.style.setProperty("--level", String(Math.min(level - 1, 24)));
    cell.append(button(`Show ${count(found.length - shown.length)} more`, "link", () => {
      wholeNodes.add(node);
      drawCallRows();
    }));
    line.append(cell);
    rows.push(line);
  }
  return rows;
}

/** Where the table begins: at the zoomed frame, or where the frames part that all stacks have. */
function topOfTable() {
  const node = zoomed();
  return node === tree.size ? folded().at(-1) ?? node : node;
}

function drawCallRows() {
  const table = at("call-tree", HTMLTableElement);
  const top = topOfTable();
  table.tBodies[0].replaceChildren(
    ...(top === tree.size ? [] : [callRow(top, 1, false)]),
    ...rowsBelow(top, top === tree.size ? 1 : 2),
  );
}

export function drawCallTree() {
  const key = `${state.left} ${state.right} ${state.threshold} ${topOfTable()}`;
  if (drawnTree.tree !== tree || drawnTree.key !== key) openMainWay(topOfTable());
  Object.assign(drawnTree, { tree, key });
  const table = at("call-tree", HTMLTableElement);
  const head = element("tr");
  head.append(heading("col", "function", "name"), ...(alone()
    ? [heading("col", state.left, "number")]
    : [
      heading("col", "total delta", "number"), heading("col", "change", "number"),
      heading("col", "self delta", "number optional"), heading("col", state.left, "number wide"),
      heading("col", state.right, "number wide"),
    ]));
  table.tHead?.replaceChildren(head);
  drawCallRows();
}

export function startCallTree() {
  scrollByKeys(at("call-tree"));
}
