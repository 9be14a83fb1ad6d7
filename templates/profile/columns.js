// The columns of the function table: what sorts, what shows.

import { callsOf, ids, metric } from "./chosen.js";
import { data } from "../page/data.js";
import { fixed, formatChange, percent, short } from "../page/numbers.js";
import { difference, formatCount, formatDifference } from "./units.js";
import { alone, metricNumber, sides, state } from "../page/state.js";

/** @import { Calls } from "./chosen.js" */
/** @import { Function as FunctionRow } from "../page.d.ts" */

/** A row of the foot has a name and counts, and is not a function.
 * @typedef {FunctionRow | {name: string, self: Record<string, number>,
 * total: Record<string, number>, className: string}} Row */
/** `width`: goes first where the screen is narrow. `signed`: has the colour of more or less.
 * @typedef {{key: string, title: string, by: (row: Row) => number, cell: (row: Row) => string,
 *   width?: "wide" | "optional", signed?: boolean}} Column */

/** Right minus left, self counts. @param {Row} row */
export const selfDelta = (row) => row.self[state.right] - row.self[state.left];

/** @returns {Column[]} */
export function columns() {
  /** @type {(key: string, label: string) => Column} */
  const count = (key, label) => ({
    key, title: label, width: "wide",
    by: (row) => row.self[label],
    cell: (row) => formatCount(row.self[label], label),
  });
  if (alone()) return [count("base", state.left)];
  const [left, right] = sides(metric.totals);
  const part = (/** @type {Row} */ row) => (100 * selfDelta(row)) / (right - left || 1);
  return [
    {
      key: "delta", title: "delta", signed: true,
      by: (row) => Math.abs(difference(...sides(row.self))),
      cell: (row) => formatDifference(...sides(row.self)),
    },
    {
      key: "change", title: "change", signed: true,
      by: (row) => (isRenamed(row) ? 0 : changeSize(...sides(row.self))),
      cell: (row) => (isRenamed(row) ? "renamed" : formatChange(...sides(row.self))),
    },
    {
      key: "total", title: "total delta", width: "optional",
      by: (row) => (isTotal(row) ? Math.abs(difference(...sides(row.total))) : -1),
      cell: (row) => (isTotal(row) ? formatDifference(...sides(row.total)) : "-"),
    },
    count("base", state.left),
    count("other", state.right),
    {
      key: "share", title: "share of delta", width: "optional",
      by: part,
      cell: (row) => (left === right ? "-" : percent(part(row), 1)),
    },
    ...(metric.exact ? [] : [samples]),
    ...perInstruction(),
    ...perCall(),
  ];
}

/** Of two lengths, the shorter run can have executed more below a function: then the difference is
 * no total of it. @param {Row} row */
function isTotal(row) {
  const [self, total] = [sides(row.self), sides(row.total)];
  return total.every((count, side) => count >= self[side]);
}

/** Exact counts mark what may be one function by two names, and nothing else. @param {Row} row */
const isRenamed = (row) =>
  metric.exact && state.left === data.base && "marks" in row && Boolean(row.marks[state.right]);

/** How large a change is, whichever way it goes: half is as far as double. Behind what is new or
 * vanished comes what is not. @param {number} left @param {number} right */
function changeSize(left, right) {
  if (left === right) return 0;
  if (left > 0 && right > 0) return Math.abs(Math.log(right / left));
  return 1e6 + Math.abs(right - left);
}

/** @param {Row} row @returns {Record<string, number> | null} */
const samplesOf = (row) => ("samples" in row ? row.samples : null);

/** @type {Column} */
const samples = {
  key: "samples", title: "samples", width: "optional",
  by: (row) => Object.values(samplesOf(row) ?? {}).reduce((a, b) => a + b, 0),
  cell: (row) => {
    const found = samplesOf(row);
    return found ? sides(found).join(" / ") : "";
  },
};

/** Cycles per instruction on both sides, where both were sampled together; none after a transform,
 * which only the cycles went through. @returns {Column[]} */
function perInstruction() {
  if (metric !== data.metrics[metricNumber()]) return [];
  const other = data.metrics.find((one) => !one.exact && one.metric === "instructions");
  if (metric.metric !== "cycles" || metric.exact || !other) return [];
  const named = (/** @type {Row} */ row) =>
    "file" in row ? `${row.name}\0${row.object}\0${row.file}` : "";
  const work = new Map(other.functions.map((row) => [named(row), row.self]));
  return [state.left, state.right].map((label, side) => {
    const value = (/** @type {Row} */ row) => {
      const instructions = work.get(named(row))?.[label];
      return instructions ? row.self[label] / instructions : 0;
    };
    return {
      key: `cpi${side}`, title: `CPI ${label}`, width: "optional",
      by: value,
      cell: (row) => (value(row) ? fixed(value(row), 2) : "-"),
    };
  });
}

/** @param {number} value */
const perCallOrNot = (value) => (Number.isNaN(value) ? "-" : short(value));

/** Called more often, or more at each call: both sides, where calls are counted.
 * @returns {Column[]} */
function perCall() {
  const counted = callsOf();
  if (!counted) return [];
  const ops = data.workload.ops;
  /** @type {[string, (of: Calls, id: number) => number][]} */
  const kinds = [
    [ops ? "calls per op" : "calls", (of, id) => of.calls[id] / (ops ?? 1)],
    ["self per call", (of, id) => of.self[id] / of.calls[id]],
  ];
  return kinds.flatMap(([title, value], kind) =>
    [state.left, state.right].map((label, side) => {
      const of = counted[label];
      const idOf = (/** @type {Row} */ row) => ids.get(row) ?? -1;
      return {
        key: `call${kind}${side}`, title: `${title} ${label}`, width: "optional",
        by: (row) => (of.calls[idOf(row)] ? value(of, idOf(row)) || 0 : 0),
        cell: (row) => (of.calls[idOf(row)] ? perCallOrNot(value(of, idOf(row))) : "-"),
      };
    }),
  );
}
