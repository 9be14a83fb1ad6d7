// The rows that the code of a function is shown as: places, source lines, instructions, gaps.

import { RELATIONS } from "./code.js";

/** @import { FunctionCode } from "../page.d.ts" */

/** Of the left kernel and the right one; null where it has none.
 * @template T @typedef {[T | null, T | null]} Both */

/** A copy of the function. `chains`: from the physical function, which others are inlined into.
 * @typedef {{kind: "place", chains: Both<string[]>, counts: [number, number]}} PlaceRow */
/** @typedef {{kind: "file", file: string}} FileRow */
/** A source line, above its instructions. `text`: null without sources.
 * @typedef {{kind: "heading", file: string, lines: Both<number>,
 *   text: string | null}} HeadingRow */
/** Instructions that were left out, since no kernel executed them.
 * @typedef {{kind: "gap", rows: number}} GapRow */
/** `row`: its number in the code; `accessed`: the data, and `accessedRows` its rows, -1 if the page
 * has none; `mark`: how both sides relate.
 * @typedef {{kind: "code", row: number, texts: Both<string>, counts: Both<number>,
 *   samples: Both<number>, taken: Both<number>, accessed: Both<string>,
 *   accessedRows: Both<number>, mark: Mark, executed: boolean}} InstructionRow */
/** A source line with the counts of all of its instructions.
 * @typedef {{kind: "line", lines: Both<number>, text: string | null, counts: Both<number>,
 *   samples: Both<number>}} LineRow */
/** @typedef {PlaceRow | FileRow | HeadingRow | GapRow | InstructionRow | LineRow} Row */
/** @typedef {"same" | "changed" | "left" | "right"} Mark */

/** What is shown of the two kernels, which may be one. @param {FunctionCode} code
 * @param {string} left @param {string} right @param {boolean} byLine @returns {Row[]} */
export const rowsOf = (code, left, right, byLine) =>
  byLine ? lineRows(code, left, right) : instructionRows(code, left, right);

/** @param {FunctionCode} code @param {string} left @param {string} right */
function instructionRows(code, left, right) {
  const kernels = [left, right].map((label) => code.kernels[label]);
  const source = sourceTexts(code);
  /** @type {Row[]} */
  const rows = [];
  let place = -1;
  /** What the last heading says. @type {{file: string, lines: Both<number>}} */
  let current = { file: "", lines: [null, null] };
  /** @param {number} number how many rows were left out */
  const addGap = (number) => {
    const last = rows.at(-1);
    if (!number) return;
    if (last?.kind === "gap") last.rows += number;
    else rows.push({ kind: "gap", rows: number });
  };
  for (const [row, own] of code.place.entries()) {
    if (own !== place) {
      place = own;
      current = { file: "", lines: [null, null] };
      const { chains, self } = code.places[place];
      if (code.places.length > 1 || Object.values(chains).some((chain) => chain.length > 1)) {
        rows.push({
          kind: "place",
          chains: [chains[left] ?? null, chains[right] ?? null],
          counts: [self[left] ?? 0, self[right] ?? 0],
        });
      }
    }
    addGap(code.before[row]);
    const [ours, theirs] = kernels.map((of) => of.text[row] !== 0);
    if (ours || theirs) {
      const file = code.strings[code.file[row]];
      const lines = both(kernels, row, (of) => of.line[row] || null);
      if (lines.some(Boolean) && (file !== current.file || hasMoved(current.lines, lines))) {
        current = { file, lines: file === current.file ? merged(current.lines, lines) : lines };
        const labels = [left, right];
        const texts = lines.map((line, side) => source.get(`${labels[side]} ${line} ${file}`));
        const text = texts.find((one) => one !== undefined) ?? null;
        rows.push({ kind: "heading", file, lines, text });
      } else current.lines = merged(current.lines, lines);
      const texts = both(kernels, row, (of) => code.strings[of.text[row]]);
      const counts = both(kernels, row, (of) => of.count[row]);
      rows.push({
        kind: "code", row, texts, counts,
        samples: both(kernels, row, (of) => of.samples?.[row] ?? null),
        taken: both(kernels, row, (of) => (of.taken[row] < 0 ? null : of.taken[row])),
        accessed: both(kernels, row, (of) => code.strings[of.accessed?.[row] ?? 0] || null),
        accessedRows: both(kernels, row, (of) => of.accessed_row?.[row] ?? -1),
        mark: markOf(texts, code.relation[row]),
        executed: counts.some(Boolean),
      });
    }
    addGap(code.after[row]);
  }
  return rows.filter((row, n) => row.kind !== "place" || holds(rows, n));
}

/** Whether a row has another line than the last heading. What that says of one side is as good for
 * the other one where that has the same line. @param {Both<number>} before
 * @param {Both<number>} now */
function hasMoved(before, now) {
  return now.some((line, side) => {
    const other = 1 - side;
    const isSaid = before[side] === null && now[other] === line && before[other] === line;
    return line !== null && line !== before[side] && !isSaid;
  });
}

/** Whether a place has a row of either kernel. @param {Row[]} rows @param {number} n */
function holds(rows, n) {
  for (let next = n + 1; next < rows.length && rows[next].kind !== "place"; next++) {
    if (rows[next].kind === "code") return true;
  }
  return false;
}

/** Values of the kernels that have a row. @template T, V @param {T[]} kernels @param {number} row
 * @param {(of: T) => V | null} value @returns {Both<V>} */
function both(kernels, row, value) {
  const [left, right] = kernels.map((of) =>
    (/** @type {any} */ (of).text[row] ? value(of) : null));
  return [left, right];
}

/** @param {Both<number>} before @param {Both<number>} now @returns {Both<number>} */
const merged = (before, now) => [now[0] ?? before[0], now[1] ?? before[1]];

/** Registers and where jumps lead are not differences. @param {string} text */
const shapeOf = (text) =>
  text
    .replace(/%(?![er]?[sib]p\b)[a-z][a-z0-9]*/g, "%")
    .replace(/\b[xw]\d+\b/g, "x")
    .replace(/ \S+\+0x[0-9a-f]+$/, "");

/** How the two sides relate. Some third kernel may be why a row is not the same one everywhere:
 * then the texts tell. @param {Both<string>} texts @param {number} relation @returns {Mark} */
function markOf([left, right], relation) {
  if (left === null) return "right";
  if (right === null) return "left";
  const said = RELATIONS[relation];
  if (said === "same" || left === right) return "same";
  return said === "changed" || shapeOf(left) !== shapeOf(right) ? "changed" : "same";
}

/** Source by kernel, line and file. @param {FunctionCode} code */
function sourceTexts(code) {
  /** @type {Map<string, string>} */
  const found = new Map();
  for (const [label, of] of Object.entries(code.lines.kernels)) {
    for (const [n, line] of of.line.entries()) {
      const file = code.strings[code.lines.file[n]];
      if (line && code.lines.text[n]) {
        found.set(`${label} ${line} ${file}`, code.strings[code.lines.text[n]]);
      }
    }
  }
  return found;
}

/** @param {FunctionCode} code @param {string} left @param {string} right */
function lineRows(code, left, right) {
  const kernels = [left, right].map((label) => code.lines.kernels[label]);
  /** @type {Row[]} */
  const rows = [];
  let shown = "";
  for (const [n, number] of code.lines.file.entries()) {
    const counts = /** @type {[number, number]} */ (kernels.map((of) => of.count[n]));
    if (!counts.some(Boolean)) continue;
    const file = code.strings[number] || "no line is known";
    if (file !== shown) rows.push({ kind: "file", file });
    shown = file;
    const [ours, theirs] = kernels.map((of) => of.line[n] || null);
    const [mine, other] = kernels.map((of) => of.samples?.[n] ?? null);
    const text = code.lines.text[n] ? code.strings[code.lines.text[n]] : null;
    rows.push({ kind: "line", lines: [ours, theirs], text, counts, samples: [mine, other] });
  }
  return rows;
}

/** A jump that was executed, between rows that are shown. `taken`: whether it ever jumped.
 * @typedef {{from: number, to: number, taken: boolean}} Jump */

/** The jumps on one side. @param {FunctionCode} code @param {Row[]} rows @param {string} label
 * @param {0 | 1} side @returns {Jump[]} */
export function jumpsOf(code, rows, label, side) {
  const { target } = code.kernels[label];
  const at = new Map(rows.flatMap((row, n) => (row.kind === "code" ? [[row.row, n]] : [])));
  /** @type {Jump[]} */
  const found = [];
  for (const [from, row] of rows.entries()) {
    if (row.kind !== "code" || !row.counts[side]) continue;
    const to = at.get(target[row.row]);
    if (to !== undefined) found.push({ from, to, taken: row.taken[side] !== 0 });
  }
  return found;
}
