// The code of the open function: what is said above it, its rows, and arrows beside them.

import { idOf, keyOf, metric } from "../profile/chosen.js";
import { arrowsOf, drawArrows, gutter, lanesOf, picture } from "./code_arrows.js";
import { countDelta, headCells, rowElement } from "./code_cells.js";
import { addressOf, codeOf, isHeld } from "./code.js";
import { jumpsOf, rowsOf } from "./code_rows.js";
import { data, ownPoint, point } from "../page/data.js";
import { at, fill } from "../page/elements.js";
import { LongList } from "../page/long_list.js";
import { count } from "../page/numbers.js";
import { fineCount, fineDifference } from "../profile/units.js";
import { alone, metricNumber, state } from "../page/state.js";

/** @import { Arrow } from "./code_arrows.js" */
/** @import { InstructionRow, Row } from "./code_rows.js" */
/** @import { FunctionCode } from "../page.d.ts" */

const CODE_ROW = 20;
const codeList = new LongList(at("code-list"), CODE_ROW);
/** Of the left side and of the right one. */
const pictures = [picture(), picture()];

/** What is shown. @type {{name: string, rows: Row[], arrows: Arrow[][]}} */
let shown = { name: "", rows: [], arrows: [] };

/** Why there is no code of a function; "" where there is. @param {number} id */
function whyNot(id) {
  const { functions, why } = data.code;
  const own = point === null || point.own;
  const command = point?.annotate ?? "profdiff annotate SESSION FUNCTION";
  if (why) return `No code: ${why}.`;
  if (!own) return `The page holds the code at ${ownPoint()}; ${command} shows it here.`;
  if (isHeld(metricNumber(), id)) return "";
  const held = functions[metricNumber()]?.length ?? 0;
  return `The page holds the code of ${count(held)} ${held === 1 ? "function" : "functions"}, ` +
    `those that differ most; ${command} shows that of others.`;
}

/** Show the code of a function, as soon as it is unpacked. @param {number} id */
export async function drawCode(id) {
  const why = whyNot(id);
  at("code-none").textContent = why;
  for (const name of ["by-label", "code-largest", "code-said", "code-list", "code-keys"]) {
    at(name).hidden = Boolean(why);
  }
  if (why) return;
  const name = JSON.stringify([state.metric, keyOf(id)]);
  const code = await codeOf(metricNumber(), id);
  // Meanwhile, another function may have been opened.
  if (idOf(state.function) === id) drawUnpacked(code, name);
}

/** @param {FunctionCode} code @param {string} name of what is shown */
function drawUnpacked(code, name) {
  const { left, right } = state;
  const rows = rowsOf(code, left, right, state.by === "line");
  const labels = alone() ? [left] : [left, right];
  const arrows = labels.map((label, side) =>
    arrowsOf(jumpsOf(code, rows, label, side ? 1 : 0)));
  const view = JSON.stringify([name, left, right, state.by]);
  const again = view === shown.name;
  shown = { name: view, rows, arrows };
  fill("code-said", "li", sentences(code));
  at("code-accesses").hidden = !rows.some((row) =>
    row.kind === "code" && row.accessed.some(Boolean));
  const box = at("code-list");
  box.dataset.function = name;
  box.classList.toggle("alone", alone());
  for (const side of [0, 1]) {
    const width = gutter(lanesOf(arrows[side] ?? []));
    box.style.setProperty(`--lanes-${side ? "right" : "left"}`, `${width}px`);
  }
  setWidths(rows);
  const reach = reachOf(rows);
  const place = (/** @type {InstructionRow} */ row, /** @type {0 | 1} */ side) =>
    addressOf(code.kernels[labels[side]], row.row);
  codeList.show(
    {
      size: rows.length,
      head: headCells(state.by === "line"),
      draw: (row) => rowElement(rows[row], code, reach, place, showOf),
      painted: drawPictures,
      press: follow,
    },
    again,
  );
  codeList.layer.replaceChildren(...pictures.slice(0, labels.length));
}

/** The largest deltas among rows that bars are drawn of. @param {Row[]} rows */
function reachOf(rows) {
  const deltas = rows.map((row) =>
    row.kind === "code" || row.kind === "line" ? countDelta(row.counts) : 0);
  const most = deltas.reduce((a, b) => Math.max(a, b), 0);
  return { less: -deltas.reduce((a, b) => Math.min(a, b), 0), more: most };
}

/** As wide as the longest number needs: rows know nothing of each other. @param {Row[]} rows */
function setWidths(rows) {
  let [number, delta, samples] = [0, 0, 0];
  for (const row of rows) {
    if (!("counts" in row)) continue;
    const [left, right] = row.counts.map((one) => one ?? 0);
    number = Math.max(number, fineCount(left, state.left).length,
      fineCount(right, state.right).length);
    delta = Math.max(delta, fineDifference(left, right).length);
    if ("samples" in row) samples = Math.max(samples, ...row.samples.map((one) => one ?? 0));
  }
  const more = samples ? count(samples).length + 3 : 0;
  // Labels above them, unless they are long ones.
  const named = Math.min(12, Math.max(state.left.length, state.right.length) + 1) +
    (samples ? " (samples)".length : 0);
  const box = at("code-list");
  box.style.setProperty("--number", `${Math.max(7, named, number + more + 1)}ch`);
  box.style.setProperty("--delta", `${Math.max(7, delta + 1)}ch`);
}

/** @param {number} first row @param {number} end */
function drawPictures(first, end) {
  const heads = [...at("code-list").querySelectorAll(".head .text")];
  for (const [side, arrows] of shown.arrows.entries()) {
    const [head] = heads.slice(side);
    const width = gutter(lanesOf(arrows));
    const view = { first, end, height: CODE_ROW, width, chosen: codeList.chosen };
    drawArrows(pictures[side], arrows, view);
    if (head instanceof HTMLElement) pictures[side].style.left = `${head.offsetLeft}px`;
  }
}

/** Sums, and what the reader must know. @param {FunctionCode} code @returns {string[]} */
function sentences({ split, size, places, notes }) {
  const said = [];
  const { left, right } = state;
  const found = left === data.base && !alone() ? split[right] : undefined;
  if (found) {
    const words = (/** @type {number} */ value) => fineDifference(0, value);
    said.push(`the same code, executed more or less often: ${words(found.same)}; other code: ${
      words(found.other)}`);
  }
  const both = (/** @type {(label: string) => string} */ of) =>
    alone() || of(left) === of(right) ? of(left) : `${of(left)} → ${of(right)}`;
  // Above stands how large it is with what is inlined: of one that inlines nothing, that says all.
  const whole = (/** @type {string} */ label) =>
    metric.code?.size[label][idOf(state.function)] ?? Number.POSITIVE_INFINITY;
  if ([left, right].some((label) => (size[label] ?? 0) < whole(label))) {
    said.push(`own code: ${both((label) => count(size[label] ?? 0))} bytes`);
  }
  // Exact counts tell more.
  if (places.length > 1 && !metric.code) said.push(`${count(places.length)} places`);
  return [...said, ...notes];
}

/** Go where a row's jump leads. @param {number} row */
function follow(row) {
  const arrow = shown.arrows.flat().find(({ from }) => from === row);
  if (arrow) codeList.choose(arrow.to);
}

/** How much a row differs. @param {Row} row */
const differs = (row) =>
  row.kind === "code" || row.kind === "line" ? Math.abs(countDelta(row.counts)) : 0;

function showLargest() {
  let most = -1;
  for (const [n, row] of shown.rows.entries()) {
    if (differs(row) > (most < 0 ? 0 : differs(shown.rows[most]))) most = n;
  }
  if (most >= 0) codeList.choose(most);
  at("code-list").focus({ preventScroll: true });
}

/** The next row whose count or code differs. @param {1 | -1} step */
function walk(step) {
  const { rows } = shown;
  for (let n = codeList.chosen + step; n >= 0 && n < rows.length; n += step) {
    const row = rows[n];
    const other = row.kind === "code" && row.executed && row.mark !== "same" && !alone();
    if (other || differs(row)) return codeList.choose(n);
  }
}

/** Show the data that the chosen row accesses, the right side's first. */
function showAccessed() {
  const row = shown.rows[codeList.chosen];
  if (row?.kind !== "code") return;
  const [left, right] = row.accessedRows;
  const found = [right, left].find((one) => one !== null && one >= 0);
  if (found !== undefined && found !== null) showOf(found);
}

/** Shows the row of the data that an instruction accesses. @type {(row: number) => void} */
let showOf = () => {};

/** @param {(row: number) => void} showData as of `showOf` */
export function startCode(showData) {
  showOf = showData;
  at("code-largest").addEventListener("click", showLargest);
  at("code-list").addEventListener("keydown", ({ key, ctrlKey, altKey, metaKey }) => {
    if (ctrlKey || altKey || metaKey) return;
    if (key === "n") walk(1);
    if (key === "p") walk(-1);
    if (key === "d") showAccessed();
  });
}
