// The data that kernels load and store, unpacked when it is first shown, row by row.

import { data, point } from "../page/data.js";
import { unpacked } from "../page/packed.js";
import { alone, distinct, metricNumber, state } from "../page/state.js";

/** @import { AccessRows, PageAccesses } from "../page.d.ts" */

/** Why a difference is not known. @typedef {PageAccesses["causes"][number]} Cause */

/** Tables of rows, as `group` numbers them. */
export const TABLES = /** @type {const} */ (["data", "stack", "unresolved"]);

/** How far a difference of the right side to the left one is known; null if it is not known at
 * all: of two kernels of which none is the base. `sure`: whether there is more, less or the same.
 * @typedef {{low: number, high: number, sure: boolean}} Span */
/** A function's part of a row. `id`: its number in the metric, -1 if that has not got it.
 * @typedef {{id: number, name: string, within: {id: number, name: string} | null,
 *   counts: Record<string, number>, span: Span | null}} Part */
/** `key`: what addresses call it.
 * @typedef {{number: number, key: string, name: string, names: string[], store: boolean,
 *   group: number, counts: Record<string, number>, line: Record<string, number>,
 *   offset: Record<string, number>, span: Span | null, causes: Cause[], parts: Part[],
 *   more: number}} AccessRow */

/** @type {Promise<PageAccesses> | null} */
let taken = null;

/** What the page has of accesses here: those at its own point, of one metric. */
export function heldAccesses() {
  const isOwn = point === null || point.own;
  const held = isOwn ? data.accesses : null;
  return held?.metric === metricNumber() ? held : null;
}

export const accessesOf = () => (taken ??= unpacked("held-accesses"));

/** What a row is. */
export const grouping = () => /** @type {"field" | "type" | "line"} */ (state.group);

/** The difference to the base as one of the right side to the left one.
 * @param {Record<string, number[]>} low @param {Record<string, number[]>} high
 * @param {number} row @returns {Span | null} */
function spanOf(low, high, row) {
  const { left, right } = state;
  if (alone() || (left !== data.base && right !== data.base)) return null;
  const turned = right === data.base;
  const of = turned ? left : right;
  const [least, most] = [low[of][row], high[of][row]];
  const ends = turned ? [-most, -least] : [least, most];
  return { low: ends[0], high: ends[1], sure: ends[0] > 0 || ends[1] < 0 || least === most };
}

/** @param {Record<string, number[]>} columns @param {number} row */
const ofRow = (columns, row) =>
  Object.fromEntries(Object.entries(columns).map(([label, column]) => [label, column[row]]));

/** The causes of a row's uncertainty on the two sides.
 * @param {PageAccesses} page @param {AccessRows} rows @param {number} row */
function causesOf(page, rows, row) {
  const bits = [state.left, state.right].map((label) => rows.causes[label]?.[row] ?? 0);
  return page.causes.filter((_, bit) => ((bits[0] | bits[1]) >> bit) & 1);
}

/** All rows, with the two chosen kernels. @param {PageAccesses} page @returns {AccessRow[]} */
export function accessRows(page) {
  const rows = page.rows[grouping()];
  const { functions } = data.metrics[metricNumber()];
  const named = (/** @type {number} */ id) =>
    id >= 0 ? { id, name: functions[id].name } : { id: -1, name: page.others[-2 - id] };
  const keys = distinct(rows.name.map((name, row) => {
    const group = rows.group[row];
    const does = rows.store[row] === 1 ? "store" : "load";
    return `${page.strings[name]}:${does}${group ? `:${group}` : ""}`;
  }));
  let start = 0;
  return rows.name.map((name, row) => {
    const first = start;
    start += rows.parts[row];
    const numbers = Array.from({ length: rows.parts[row] }, (_, n) => first + n);
    return {
      number: row,
      key: keys[row],
      name: page.strings[name],
      names: rows.names[row].map((one) => page.strings[one]),
      store: rows.store[row] === 1,
      group: rows.group[row],
      counts: ofRow(rows.counts, row),
      line: ofRow(rows.line, row),
      offset: ofRow(rows.offset, row),
      span: spanOf(rows.low, rows.high, row),
      causes: causesOf(page, rows, row),
      parts: numbers.map((part) => ({
        ...named(rows.function[part]),
        within: rows.within[part] === -1 ? null : named(rows.within[part]),
        counts: ofRow(rows.part_counts, part),
        span: spanOf(rows.part_low, rows.part_high, part),
      })),
      more: rows.more[row],
    };
  });
}
