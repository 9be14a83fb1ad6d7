// The function table: sorted, filtered, the accessible form of the graphs.

import { barCell, barHeading, scaleBars } from "../profile/bars.js";
import { ids, isBelow, metric, pair } from "../profile/chosen.js";
import { columns, selfDelta } from "../profile/columns.js";
import { data } from "../page/data.js";
import {
  at, breakable, button, element, heading, scrollByKeys, visible,
} from "../page/elements.js";
import { count } from "../page/numbers.js";
import { difference, unitTitle } from "../profile/units.js";
import { openFunction } from "./sandwich.js";
import { found } from "../profile/search.js";
import { sides, state } from "../page/state.js";

/** @import { Column, Row } from "../profile/columns.js" */
/** @import { Function as FunctionRow } from "../page.d.ts" */

/** How many rows are shown first, and how many more each time. */
const FIRST = 20;
const PAGE = 200;
/** By which column rows are sorted, and how many are shown. */
const order = { key: "delta", descending: true, shown: FIRST };
const table = at("functions", HTMLTableElement);
/** Columns in which a number has a fraction. @type {Set<string>} */
let broken = new Set();

/** Whether a row changed the way that the reader wants to see. @param {FunctionRow} row */
function isWay(row) {
  if (!state.way) return true;
  const delta = difference(...sides(row.self));
  return state.way === "more" ? delta > 0 : delta < 0;
}

/** Whether nothing of a function is left on either side. @param {FunctionRow} row */
const isGone = ({ self, total }) =>
  ![...sides(self), ...sides(total)].some((count) => count !== 0);

/** Functions that the side, the way and the search leave, in order. */
function chosenRows() {
  const isPart = Boolean(state.focus || state.hide);
  const rows = metric.functions.filter(
    (row, id) => (!state.side || row.side === state.side) && (found.matches?.[id] ?? true) &&
      isWay(row) && !isBelow(...sides(row.total)) && !(isPart && isGone(row)),
  );
  const column = columns().find(({ key }) => key === order.key);
  const direction = order.descending ? -1 : 1;
  const byName = (/** @type {Row} */ a, /** @type {Row} */ b) =>
    a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
  if (!column) return rows.sort((a, b) => -direction * byName(a, b));
  const keys = new Map(rows.map((row) => [row, column.by(row)]));
  const key = (/** @type {FunctionRow} */ row) => keys.get(row) ?? 0;
  return rows.sort((a, b) => direction * (key(a) - key(b) || 0) || byName(a, b));
}

/** @param {string} [width] @param {string} [tint] */
const numberClass = (width, tint) => ["number", tint, width].filter(Boolean).join(" ");

function drawHead() {
  const row = element("tr");
  for (const column of [{ key: "name", title: "function", width: "" }, ...columns()]) {
    const byName = column.key === "name";
    const cell = heading("col", "", byName ? "name" : numberClass(column.width));
    const active = order.key === column.key;
    const ascending = byName ? order.descending : !order.descending;
    cell.ariaSort = active ? (ascending ? "ascending" : "descending") : "none";
    const sort = button(column.title, "", () => {
      order.descending = active ? !order.descending : true;
      order.key = column.key;
      drawHead();
      drawBody();
      const heads = table.tHead?.querySelectorAll("th") ?? [];
      heads[[...row.children].indexOf(cell)].querySelector("button")?.focus();
    });
    cell.append(sort);
    row.append(cell);
    if (column.key === "delta") row.append(barHeading());
  }
  table.tHead?.replaceChildren(row);
}

/** @param {HTMLElement} line @param {Row} row @param {Column[]} shown
 * @param {(row: Row) => HTMLElement} bar */
function addNumbers(line, row, shown, bar) {
  const delta = selfDelta(row);
  const sure = delta && pair.isSure(...sides(row.self));
  for (const column of shown) {
    const tint = column.signed && sure ? (delta > 0 ? "more" : "less") : "";
    const text = column.cell(row);
    const cell = element("td", text, numberClass(column.width, tint));
    cell.classList.toggle("whole", broken.has(column.key) && /^[+-]?[\d,]+$/.test(text));
    line.append(cell);
    if (column.key === "delta") line.append(bar(row));
  }
}

/** @param {FunctionRow} row @param {Column[]} shown */
function drawRow(row, shown) {
  const line = element("tr");
  const name = element("td", "", "name");
  const open = button("", "link", () => openFunction(ids.get(row) ?? 0));
  open.append(...breakable(row.name));
  name.append(open);
  const notes = [
    ...(row.object === "vmlinux" ? [] : [row.object]),
    ...(row.namesakes && row.file ? [row.file] : []),
    ...new Set(Object.values(row.symbols).flat()),
    ...(state.left === data.base && row.marks[state.right] ? [row.marks[state.right]] : []),
  ];
  if (notes.length) name.append(element("small", notes.join(", ")));
  name.title = visible(row.file);
  line.append(name);
  addNumbers(line, row, shown, barCell);
  return line;
}

export function drawBody() {
  const rows = chosenRows();
  const shown = columns();
  const seen = rows.slice(0, order.shown);
  broken = new Set(shown.filter(({ cell }) =>
    seen.some((row) => /\d\.\d+$/.test(cell(row)))).map(({ key }) => key));
  const lines = seen.map((row) => drawRow(row, shown));
  table.tBodies[0].replaceChildren(...lines);
  const rest = rows.length - lines.length;
  at("status").textContent = visible(
    `${count(rows.length)} of ${count(metric.functions.length)} functions` +
      `${rest ? ` (the first ${order.shown} shown)` : ""}; self counts, ${unitTitle()}; ` +
      `delta and change are against ${state.left}`,
  );
  at("more").hidden = !rest;
  at("more").textContent = `Show ${Math.min(PAGE, rest)} more of ${rest}`;
}

/** What belongs to no function, and the sum. */
function drawFoot() {
  const ofSide = (/** @type {{side: string}} */ row) => !state.side || row.side === state.side;
  const lines = metric.unresolved.filter(ofSide).map(({ reason, side, self }) => ({
    name: `unresolved: ${reason} (${side})`,
    self,
    total: self,
    className: "unresolved",
  }));
  /** @type {Record<string, number>} */
  const all = {};
  const counted = [...metric.functions, ...metric.unresolved].filter(ofSide);
  for (const [label, total] of Object.entries(metric.totals)) {
    all[label] = state.side ? counted.reduce((sum, row) => sum + row.self[label], 0) : total;
  }
  const name = state.side ? `all of ${state.side}` : "all";
  lines.push({ name, self: all, total: all, className: "" });
  const shown = columns();
  table.tFoot?.replaceChildren(
    ...lines.map((row) => {
      const line = element("tr", "", row.className);
      line.append(element("td", row.name, "what"));
      addNumbers(line, row, shown, () => element("td", "", "bar"));
      return line;
    }),
  );
}

export function drawTable() {
  scaleBars();
  drawHead();
  drawBody();
  drawFoot();
}

/** Show the first rows again, as of another search. */
export function showFirst() {
  order.shown = FIRST;
}

/** Open the first function of the table. */
export function openFirst() {
  const [row] = chosenRows();
  if (row) openFunction(ids.get(row) ?? 0);
}

export function startTable() {
  scrollByKeys(table);
  at("more").addEventListener("click", () => {
    order.shown += PAGE;
    drawBody();
  });
}
