// One row of the code as an element: its numbers, and what stands there on both sides.

import { metric } from "../profile/chosen.js";
import { button, clipped, element, visible } from "../page/elements.js";
import { count, percent } from "../page/numbers.js";
import { difference, fineCount, fineDifference } from "../profile/units.js";
import { alone, state } from "../page/state.js";

/** @import { FunctionCode } from "../page.d.ts" */
/** @import { Both, GapRow, HeadingRow, InstructionRow, LineRow } from "./code_rows.js" */
/** @import { Mark, PlaceRow, Row } from "./code_rows.js" */

/** Signs of how the sides relate, and what they are called.
 * @type {Record<Mark, [string, string]>} */
const MARKS = {
  same: ["", ""],
  changed: ["≠", "other operands"],
  left: ["−", "only left"],
  right: ["+", "only right"],
};
/** No row needs a longer text; source lines may be a stranger's. */
const MOST_TEXT = 400;

/** @param {string} [text] @param {string} [className] */
function cell(text = "", className = "") {
  const made = element("span", text, className);
  made.role = "gridcell";
  return made;
}

/** @param {string} className */
function line(className) {
  const made = element("div", "", className);
  made.role = "row";
  return made;
}

/** Right minus left; a side without the row has nothing. @param {Both<number>} counts */
export const countDelta = ([left, right]) => (alone() ? 0 : difference(left ?? 0, right ?? 0));

/** Names of the columns. @param {boolean} byLine @returns {HTMLElement} */
export function headCells(byLine) {
  const made = line("head");
  const column = (/** @type {string} */ text, className = "") => {
    const one = element("span", text, className);
    one.role = "columnheader";
    return one;
  };
  const kernels = alone() ? [state.left] : [state.left, state.right];
  const samples = metric.exact ? "" : " (samples)";
  made.append(...kernels.map((label) => column(clipped(label, 20) + samples, "number")));
  if (!alone()) made.append(column("delta", "number"), column("", "bar"));
  const texts = byLine ? [column("line", "text whole")] : kernels.map((of) => column(of, "text"));
  made.append(column("", "mark"), ...texts);
  return made;
}

/** A count with its samples; nothing where the side has no such row.
 * @param {number | null} value @param {string} label @param {number | null} [samples] */
function numberCell(value, label, samples = null) {
  const made = cell("", "number");
  if (value === null) return made;
  made.append(value ? fineCount(value, label) : "0");
  if (samples) made.append(element("small", ` (${count(samples)})`));
  return made;
}

/** Counts of both sides, their delta and its bar.
 * @param {Both<number>} counts @param {Both<number>} samples @param {Reach} reach */
function numbers([left, right], [mine, other], reach) {
  const first = numberCell(left, state.left, mine);
  if (alone()) return [first];
  const delta = countDelta([left, right]);
  const tint = delta > 0 ? "more" : delta < 0 ? "less" : "";
  const said = delta ? fineDifference(left ?? 0, right ?? 0) : "";
  return [
    first, numberCell(right, state.right, other), cell(said, `number ${tint}`), bar(delta, reach),
  ];
}

/** The largest deltas down and up. @typedef {{less: number, more: number}} Reach */

/** @param {number} delta @param {Reach} reach */
function bar(delta, { less, more }) {
  const made = cell("", "bar");
  if (!delta) return made;
  const percentage = 100 / (less + more || 1);
  const filled = element("i", "", delta > 0 ? "more" : "less");
  filled.style.left = `${(less + Math.min(0, delta)) * percentage}%`;
  filled.style.width = `${Math.abs(delta) * percentage}%`;
  made.append(filled);
  return made;
}

/** Line numbers of both sides, once where they are the same. A number alone would not say whose it
 * is. @param {Both<number>} lines */
function lineNumbers([left, right]) {
  if (left === right) return String(left ?? "");
  return `${left ?? "-"} → ${right ?? "-"}`;
}

/** How often a branch jumped, as a part of how often it was executed.
 * @param {number | null} taken @param {number | null} executed */
const takenShare = (taken, executed) =>
  taken === null || !executed ? "" : `taken ${percent((100 * taken) / executed, 1)}`;

/** @param {InstructionRow} row @param {FunctionCode} code @param {Reach} reach
 * @param {(side: 0 | 1) => string} place where the instruction is, in words
 * @param {(row: number) => void} showData */
function instruction(row, code, reach, place, showData) {
  const made = line(`code is-${row.mark}${row.executed ? "" : " never"}`);
  const [sign, words] = MARKS[row.mark];
  const mark = cell(sign, "mark");
  mark.title = words;
  /** @type {(0 | 1)[]} */
  const shown = alone() ? [0] : [0, 1];
  const texts = shown.map((side) => {
    const text = row.texts[side];
    const one = cell("", `text ${side ? "right" : "left"}`);
    if (text === null) return one;
    one.append(element("code", text));
    const share = takenShare(row.taken[side], row.counts[side]);
    if (share) one.append(element("small", share));
    const jumps = share ? `, ${share}: ${count(row.taken[side] ?? 0)} times` : "";
    const accessed = row.accessed[side] ?? "";
    if (accessed) one.append(accessedName(accessed, row.accessedRows[side] ?? -1, showData));
    const about = [text, accessed, place(side) + jumps, code.strings[code.classes[row.row]]];
    one.title = about.filter(Boolean).map(visible).join("\n");
    return one;
  });
  const counts = row.executed ? row.counts : /** @type {Both<number>} */ ([null, null]);
  made.append(...numbers(counts, row.samples, reach), mark, ...texts);
  made.ariaLabel = inWords(row, words);
  return made;
}

/** What an instruction accesses. Keys reach it from the row: a list has one Tab stop.
 * @param {string} name @param {number} row its own, -1 if the page has none
 * @param {(row: number) => void} showData */
function accessedName(name, row, showData) {
  if (row < 0) return element("small", name, "accessed");
  const made = button(name, "link accessed", () => showData(row));
  made.tabIndex = -1;
  return made;
}

/** The row in a sentence. @param {InstructionRow} row @param {string} words how the sides relate */
function inWords(row, words) {
  const said = [row.texts[0] ?? row.texts[1] ?? ""];
  if (row.mark === "changed") said.push(`right ${row.texts[1]}`);
  if (words) said.push(words);
  if (!row.executed) said.push(unseen());
  else {
    const [left, right] = row.counts;
    said.push(`${state.left} ${left === null ? "none" : fineCount(left, state.left)}`);
    if (!alone()) {
      said.push(`${state.right} ${right === null ? "none" : fineCount(right, state.right)}`);
      said.push(`delta ${fineDifference(left ?? 0, right ?? 0)}`);
    }
  }
  const accessed = new Set(row.accessed.filter(Boolean));
  if (accessed.size) said.push(`accesses ${[...accessed].join(", right ")}`);
  const shares = row.taken.map((taken, side) => takenShare(taken, row.counts[side]));
  said.push(...new Set(shares.filter(Boolean)));
  return visible(said.join(", "));
}

/** A row that spans the code's columns. @param {string} kind @param {HTMLElement[]} cells
 * @param {HTMLElement[]} parts of the text */
function spanning(kind, cells, parts) {
  const made = line(kind);
  const text = cell("", "text whole");
  text.append(...parts);
  made.append(...cells, cell("", "mark"), text);
  return made;
}

/** Cells for rows without numbers. */
const noNumbers = () => Array.from({ length: alone() ? 1 : 4 }, () => cell());

/** @param {HeadingRow | LineRow} row @param {string} [file] */
function sourceParts({ lines, text }, file) {
  const numbers = lineNumbers(lines);
  const where = element("span", file ? `${file}:${numbers}` : numbers, "where");
  return text === null ? [where] : [where, element("code", clipped(text, MOST_TEXT))];
}

/** What of the code was never seen. */
const unseen = () => (metric.exact ? "never executed" : "no samples");

/** @param {GapRow} row */
const gapText = ({ rows }) =>
  `${rows === 1 ? "1 instruction" : `${count(rows)} instructions`}, ${unseen()}`;

/** From the nearest caller to the physical function. @param {PlaceRow} place */
function placeText({ chains }) {
  const into = (/** @type {string[]} */ chain) =>
    chain.length === 1
      ? `${chain[0]} itself`
      : `inlined into ${chain.slice(0, -1).reverse().join(" ‹ ")}`;
  return [...new Set(chains.flatMap((chain) => (chain ? [into(chain)] : [])))].join(" → ");
}

/** The element of a row. @param {Row} row @param {FunctionCode} code @param {Reach} reach
 * @param {(row: InstructionRow, side: 0 | 1) => string} place
 * @param {(row: number) => void} showData shows the data that an instruction accesses */
export function rowElement(row, code, reach, place, showData) {
  if (row.kind === "code") {
    return instruction(row, code, reach, (side) => place(row, side), showData);
  }
  if (row.kind === "gap") return spanning("gap", noNumbers(), [element("span", gapText(row))]);
  if (row.kind === "file") return spanning("place", noNumbers(), [element("span", row.file)]);
  if (row.kind === "heading") return spanning("heading", noNumbers(), sourceParts(row, row.file));
  if (row.kind === "line") {
    return spanning("line", numbers(row.counts, row.samples, reach), sourceParts(row));
  }
  // The place's own counts are sums of what is below: its bar would belittle all others.
  const told = numbers(row.counts, [null, null], { less: 0, more: 0 });
  if (!alone()) told[3] = cell("", "bar");
  const text = placeText(row);
  const made = spanning("place", told, [element("span", clipped(text, MOST_TEXT))]);
  made.title = visible(text);
  return made;
}
