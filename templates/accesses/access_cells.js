// A row of the data that kernels access: its numbers, and what is behind them.

import { data } from "../page/data.js";
import { breakable, button, element, heading, visible } from "../page/elements.js";
import { count, formatChange, percent, signed } from "../page/numbers.js";
import { perOp, points } from "../profile/units.js";
import { alone, state } from "../page/state.js";

/** @import { PageAccesses } from "../page.d.ts" */
/** @import { AccessRow, Cause, Part, Span } from "./accesses.js" */

/** Why a difference is not known. @type {Record<Cause, string>} */
const CAUSES = {
  unresolved: "unresolved accesses in the same functions",
  split: "unresolved accesses in functions that only one of the kernels executes",
  union: "accesses that may be of another member of a union",
  wider: "accesses wider than the field that they are named for",
  computed: "accesses whose offset is computed",
  container: "accesses by a pointer to the struct that the field is in, or to one in it",
};
/** What stands for a number that is not known, and in front of one that is not exact. */
export const UNSURE = "?";
export const ABOUT = "~";

/** A kernel's count in the chosen unit; shares are of all its loads and stores.
 * @param {PageAccesses} page @param {number} value @param {string} label */
export function accessCount(page, value, label) {
  if (state.unit === "per-op") return perOp(value);
  if (state.unit !== "share") return count(value);
  return percent((100 * value) / (page.totals[label] || 1));
}

/** Right minus left; what it could be, too.
 * @param {PageAccesses} page @param {Record<string, number>} counts @param {Span | null} span */
export function accessDelta(page, counts, span) {
  if (!span) return "";
  if (!span.sure) return UNSURE;
  const about = span.low === span.high ? "" : ABOUT;
  return about + differenceText(page, counts[state.left], counts[state.right]);
}

/** @param {PageAccesses} page @param {number} left @param {number} right */
function differenceText({ totals }, left, right) {
  if (state.unit === "per-op") return signed(right - left, perOp);
  if (state.unit !== "share") return signed(right - left, count);
  const [of, against] = [totals[state.left] || 1, totals[state.right] || 1];
  return signed(100 * (right / against - left / of), points);
}

/** @param {Record<string, number>} counts @param {Span | null} span */
export function accessChange(counts, span) {
  if (!span) return "";
  return span.sure ? formatChange(counts[state.left], counts[state.right]) : UNSURE;
}

/** More or less, where that is sure.
 * @param {Record<string, number>} counts @param {Span | null} span */
function tintOf(counts, span) {
  const delta = counts[state.right] - counts[state.left];
  return !span?.sure || !delta ? "" : delta > 0 ? "more" : "less";
}

/** @param {PageAccesses} page @param {AccessRow | Part} of @returns {HTMLElement[]} */
function numberCells(page, { counts, span }) {
  const cell = (/** @type {string} */ text, className = "wide") =>
    element("td", text, `number ${className}`.trim());
  const left = cell(accessCount(page, counts[state.left], state.left), alone() ? "" : "wide");
  if (alone()) return [left];
  const tint = tintOf(counts, span);
  return [
    left, cell(accessCount(page, counts[state.right], state.right)),
    cell(accessDelta(page, counts, span), tint), cell(accessChange(counts, span), tint),
  ];
}

/** A row, whose name shows what is behind it.
 * @param {PageAccesses} page @param {AccessRow} row @param {boolean} open
 * @param {() => void} press @param {(part: {id: number, name: string}) => HTMLElement} link */
export function accessLine(page, row, open, press, link) {
  const line = element("tr", "", open ? "open" : "");
  line.id = `access-row-${row.number}`;
  const name = heading("row", "", "name");
  const named = button("", "link", press);
  named.append(...breakable(row.name));
  named.ariaExpanded = String(open);
  name.append(named, " ", element("small", row.store ? "store" : "load"));
  const where = element("td", "", "optional what");
  const [first] = row.parts;
  if (first) where.append(link(first.within ?? first));
  line.append(name, ...numberCells(page, row), where);
  return line;
}

/** A number of each side, once where they are the same, with the kernel where one alone has it; ""
 * where none is known. @param {Record<string, number>} values @param {string} unit */
function bothKnown(values, unit) {
  const labels = alone() ? [state.left] : [state.left, state.right];
  const known = labels.filter((label) => values[label] >= 0);
  const said = [...new Set(known.map((label) => count(values[label])))];
  if (!said.length) return "";
  const where = known.length < labels.length ? ` on ${known[0]}` : "";
  return `${said.join(" → ")}${unit}${where}`;
}

/** What a row's numbers do not say. @param {AccessRow} row */
function accessRemarks(row) {
  const { span } = row;
  const said = [];
  if (span && span.low !== span.high) {
    const [low, high] = [span.low, span.high].map((end) =>
      state.unit === "per-op" ? signed(end, perOp) : signed(end, count));
    const per = state.unit === "per-op" ? " per op" : "";
    const why = row.causes.map((cause) => CAUSES[cause]).join("; ");
    said.push(`The true difference is between ${low} and ${high}${per}. Why: ${why}.`);
  }
  if (row.names.length) said.push(`Names of the place: ${row.names.join(", ")}.`);
  const offset = bothKnown(row.offset, " bytes");
  const line = bothKnown(row.line, "");
  if (offset) said.push(`Offset ${offset}.`);
  if (line) said.push(`Line of 64 bytes, if the object is aligned to one: ${line}.`);
  return said;
}

/** What is behind a row: why it is not certain, where the data lies, and the functions.
 * @param {PageAccesses} page @param {AccessRow} row @param {number} columns
 * @param {(part: {id: number, name: string}) => HTMLElement} link */
export function accessDetails(page, row, columns, link) {
  const line = element("tr", "", "details");
  const cell = element("td");
  cell.colSpan = columns;
  cell.append(...accessRemarks(row).map((text) => element("p", text)));
  const table = element("table");
  const head = element("tr");
  head.append(heading("col", "function"), ...numberHeads());
  table.append(head, ...row.parts.map((part) => partLine(page, part, link)));
  cell.append(table);
  if (row.more) cell.append(element("p", `${count(row.more)} more functions.`));
  line.append(cell);
  return line;
}

/** @param {PageAccesses} page @param {Part} part
 * @param {(part: {id: number, name: string}) => HTMLElement} link */
function partLine(page, part, link) {
  const line = element("tr");
  const name = heading("row", "", "name");
  name.append(link(part));
  if (part.within) name.append(" in ", link(part.within));
  line.append(name, ...numberCells(page, part));
  return line;
}

/** @returns {HTMLElement[]} */
function numberHeads() {
  const titles = alone() ? [[state.left, ""]] : [
    [state.left, "wide"], [state.right, "wide"], ["delta", ""], ["change", ""],
  ];
  return titles.map(([title, width]) => heading("col", title, `number ${width}`.trim()));
}

/** What the signs mean, and what is counted, of what is shown. @param {AccessRow[]} rows */
export function signSentences(rows) {
  const spans = rows.flatMap(({ span }) => (span ? [span] : []));
  const others = state.left !== data.base && state.right !== data.base;
  return [
    ...(spans.some(({ sure }) => !sure)
      ? [`${UNSURE}: unresolved or ambiguous accesses could explain the difference; open its row ` +
        "to see the interval."]
      : []),
    ...(spans.some(({ low, high, sure }) => sure && low !== high)
      ? [`${ABOUT}: unresolved or ambiguous accesses can change the number, but not its sign.`]
      : []),
    ...(rows.some(({ name }) => name.includes(" | "))
      ? ["|: names of one place in a union."] : []),
    ...(rows.some(({ name }) => name.includes(" = "))
      ? ["=: names that kernels have for one field."] : []),
    ...(others && !alone()
      ? [`Whether a difference is sure is known only relative to ${visible(data.base)}.`] : []),
    "Counts are loads and stores that the kernel's code executed, not cache misses; user space " +
      "is not covered.",
  ];
}
