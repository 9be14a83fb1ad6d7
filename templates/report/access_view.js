// The data that kernels load and store, as tables: what is loaded and stored, the stack apart, and
// what is not known. From a row to the functions, and from an instruction to its row.

import { accessDetails, accessLine, signSentences } from "../accesses/access_cells.js";
import { accessesOf, accessRows, grouping, heldAccesses, TABLES } from "../accesses/accesses.js";
import { data, ownPoint, point } from "../page/data.js";
import { at, button, clipped, element, fill, heading, scrollByKeys } from "../page/elements.js";
import { count, opsText, percent } from "../page/numbers.js";
import { openFunction } from "./sandwich.js";
import { alone, state, writeAddress } from "../page/state.js";

/** @import { PageAccesses } from "../page.d.ts" */
/** @import { AccessRow } from "../accesses/accesses.js" */

/** How many rows a table shows first, and how many more each time. */
const FIRST_ROWS_OF = 15;
const MORE_ROWS = 100;
const most = new Map(TABLES.map((name) => [name, FIRST_ROWS_OF]));
/** By which column rows are sorted. */
const sorted = { key: "delta", descending: true };

/** @typedef {{key: string, title: string, className: string,
 *   by: (row: AccessRow) => number | string}} AccessColumn */

/** @param {AccessRow} row */
const deltaOfRow = ({ counts }) => Math.abs(counts[state.right] - counts[state.left]);

/** How much changed for certain; behind it what is not certain.
 * @param {AccessRow} row */
const sureFirst = (row) =>
  row.span?.sure === false ? -1 / (1 + deltaOfRow(row)) : deltaOfRow(row);

/** @returns {AccessColumn[]} */
function accessColumns() {
  const side = (/** @type {string} */ key, /** @type {string} */ label) => ({
    key, title: label, className: alone() ? "number" : "number wide",
    by: (/** @type {AccessRow} */ row) => row.counts[label],
  });
  const name = {
    key: "name", title: "", className: "name", by: (/** @type {AccessRow} */ row) => row.name,
  };
  if (alone()) return [name, side("base", state.left)];
  const ratio = (/** @type {AccessRow} */ { counts, span }) => {
    const [left, right] = [counts[state.left], counts[state.right]];
    if (span?.sure === false) return -1;
    return left ? right / left : right ? Number.POSITIVE_INFINITY : 1;
  };
  return [
    name, side("base", state.left), side("other", state.right),
    { key: "delta", title: "delta", className: "number", by: sureFirst },
    { key: "change", title: "change", className: "number", by: ratio },
  ];
}

/** Rows that the reader wants, in order. @param {AccessRow[]} rows */
function wantedRows(rows) {
  const words = state.find.toLowerCase();
  const texts = (/** @type {AccessRow} */ { name, names, parts }) =>
    [name, ...names, ...parts.flatMap((part) => [part.name, part.within?.name ?? ""])];
  const found = rows.filter((row) =>
    (!state.does || (state.does === "store") === row.store) &&
    (!words || texts(row).some((text) => text.toLowerCase().includes(words))));
  const columns = accessColumns();
  const column = columns.find(({ key }) => key === sorted.key) ?? columns[1];
  const direction = sorted.descending === (column.key !== "name") ? -1 : 1;
  const before = (/** @type {number | string} */ a, /** @type {number | string} */ b) =>
    a < b ? -1 : a > b ? 1 : 0;
  return found.sort((a, b) =>
    direction * before(column.by(a), column.by(b)) || a.number - b.number);
}

/** A function as a link, where the page has it. @param {{id: number, name: string}} part */
function accessLink({ id, name }) {
  const text = clipped(name, 80);
  return id < 0 ? element("span", text) : button(text, "link", () => openFunction(id));
}

/** @param {HTMLTableElement} table @param {string} title of the rows */
function drawAccessHead(table, title) {
  const line = element("tr");
  for (const column of accessColumns()) {
    const cell = heading("col", "", column.className);
    const active = sorted.key === column.key;
    const ascending = sorted.descending === (column.key === "name");
    cell.ariaSort = active ? (ascending ? "ascending" : "descending") : "none";
    cell.append(button(column.title || title, "", () => {
      sorted.descending = active ? !sorted.descending : true;
      sorted.key = column.key;
      drawAccesses();
    }));
    line.append(cell);
  }
  line.append(heading("col", "mostly in", "optional what"));
  table.tHead?.replaceChildren(line);
}

/** @param {PageAccesses} page @param {(typeof TABLES)[number]} name @param {AccessRow[]} rows
 * @param {AccessRow[]} every of the table @returns {AccessRow[]} those that are drawn */
function drawAccessTable(page, name, rows, every) {
  at(`accesses-${name}`).hidden = !every.length;
  const table = at(`accesses-${name}-rows`, HTMLTableElement);
  const titles = { data: `${state.group} or variable`, stack: "on the stack", unresolved: "why" };
  if (state.group === "line") titles.data = "line of 64 bytes";
  drawAccessHead(table, titles[name]);
  // The open one is shown, wherever it is.
  const open = rows.findIndex(({ key }) => key === state.access);
  const end = Math.max(most.get(name) ?? 0, open + 1);
  const shown = rows.slice(0, end);
  const columns = accessColumns().length + 1;
  table.tBodies[0].replaceChildren(...shown.flatMap((row, place) => {
    const isOpen = place === open;
    const press = () => openAccess(isOpen ? "" : row.key);
    const line = accessLine(page, row, isOpen, press, accessLink);
    return isOpen ? [line, accessDetails(page, row, columns, accessLink)] : [line];
  }));
  const rest = rows.length - shown.length;
  at(`accesses-${name}-more`).hidden = !rest;
  at(`accesses-${name}-more`).textContent = `Show ${Math.min(MORE_ROWS, rest)} more of ${rest}`;
  return shown;
}

/** What the tables are of. @param {PageAccesses} page @param {number} wanted @param {number} all */
function statusText(page, wanted, all) {
  const per = state.unit === "per-op" ? `, per op (${opsText([data.workload.ops ?? 0])})` : "";
  const unit = state.unit === "share" ? ", share of each kernel's loads and stores" : per;
  const labels = alone() ? [state.left] : [state.left, state.right];
  const unknown = labels.map((label) => {
    const part = (100 * page.unresolved[label]) / (page.totals[label] || 1);
    return percent(part, 1);
  });
  const held = heldAccesses();
  const whole = held?.all[grouping()] ?? 0;
  const left = whole > (held?.held[grouping()] ?? 0)
    ? `; the page holds those of ${count(whole)} that changed most, profdiff report --types ` +
      "--csv FILE has all"
    : "";
  return `${count(wanted)} of ${count(all)} rows; loads and stores${unit}; ${
    [...new Set(unknown)].join(" and ")} of all are not resolved${left}`;
}

/** @param {PageAccesses} page */
function drawUnpackedAccesses(page) {
  const every = accessRows(page);
  const wanted = wantedRows([...every]);
  const shown = TABLES.flatMap((name, group) => drawAccessTable(
    page, name, wanted.filter((row) => row.group === group),
    every.filter((row) => row.group === group),
  ));
  at("accesses-status").textContent = statusText(page, wanted.length, every.length);
  fill("accesses-notes", "li", signSentences(shown));
  at("accesses").dataset.ready = `${state.group} ${state.access}`;
}

/** Show what is accessed, as soon as it is unpacked. */
export async function drawAccesses() {
  const held = heldAccesses();
  const elsewhere = !held && data.accesses && point !== null && !point.own;
  at("accesses").hidden = !held && !elsewhere;
  at("accesses-none").textContent = elsewhere
    ? `The page holds what is accessed at ${ownPoint()}.` : "";
  at("accesses-shown").hidden = !held;
  if (!held) return;
  at("find", HTMLInputElement).value = state.find;
  const page = await accessesOf();
  if (heldAccesses() === held) drawUnpackedAccesses(page);
}

/** Open a row, "" for none. @param {string} key */
function openAccess(key) {
  const from = document.activeElement;
  state.access = key;
  writeAddress();
  const again = from?.closest("#accesses tr")?.id;
  drawAccesses().then(() => {
    if (again) document.getElementById(again)?.querySelector("button")?.focus();
  });
}

/** Show the row of a field, and go there. @param {number} row */
export async function showAccess(row) {
  Object.assign(state, { group: "field", access: "", find: "", does: "" });
  state.access = accessRows(await accessesOf())[row]?.key ?? "";
  writeAddress(true);
  at("group", HTMLSelectElement).value = state.group;
  at("does", HTMLSelectElement).value = state.does;
  await drawAccesses();
  const line = at(`access-row-${row}`);
  line.scrollIntoView({ block: "center" });
  line.querySelector("button")?.focus({ preventScroll: true });
}

export function startAccesses() {
  for (const name of TABLES) {
    scrollByKeys(at(`accesses-${name}-rows`));
    at(`accesses-${name}-more`).addEventListener("click", () => {
      most.set(name, (most.get(name) ?? 0) + MORE_ROWS);
      drawAccesses();
    });
  }
  at("find").addEventListener("input", () => {
    state.find = at("find", HTMLInputElement).value;
    for (const name of TABLES) most.set(name, FIRST_ROWS_OF);
    writeAddress();
    drawAccesses();
  });
}
