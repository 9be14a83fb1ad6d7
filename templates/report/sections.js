// What topics show: tables whose columns say what they hold. Nothing here knows a topic.

import { at, clipped, element, heading, scrolling, visible } from "../page/elements.js";
import { count, fine, formatChange, opsText, signed } from "../page/numbers.js";

/** @import { Column, Section, TableTable as Table } from "../page.d.ts" */
/** @typedef {Table["rows"][number]} Row */
/** A column of the page. ``draw``: the cell of a row, or of a sum.
 * @typedef {{ title: string, kind: string, draw: (row: Row, sum: boolean) => HTMLElement }} Shown
 */

// What the bars of histograms are made of, how many the longest one has, and what of a path fits.
const BAR = "▇";
const LONGEST_BAR = 20;
const FUNCTIONS = 3;
// What a path begins with that is shown whole.
const CUT = "...";
const NAME = 120;

/** @param {Table} table @param {unknown} value @param {string | null} [kernel] whose it is */
function shapeCount({ kernels, ops }, value, kernel) {
  const own = Array.isArray(ops) ? ops[Math.max(kernels.indexOf(kernel ?? ""), 0)] : ops;
  if (value === null || value === "") return value === null ? "?" : "";
  if (own) return fine(Number(value) / own);
  return Number.isInteger(value) ? count(Number(value)) : fine(Number(value));
}

/** @param {unknown} value a fraction, null where it is not known @param {number} [digits] */
const formatShare = (value, digits) =>
  (value === null ? "-" : value === "" ? "" : `${(100 * Number(value)).toFixed(digits)}%`);

/** @param {Table} table @param {string} name @param {string | null} kernel */
const cellOf = ({ columns }, name, kernel) => {
  const number = columns.findIndex((one) => one.name === name && one.kernel === kernel);
  return (/** @type {Row} */ row) => (number < 0 ? null : row[number]);
};

/** What stands where the pointer rests: lines that programs alone need otherwise.
 * @param {Table} table @param {Row} row */
function details({ columns }, row) {
  const told = columns.flatMap(({ kind, title, kernel }, n) =>
    (kind === "detail" && row[n] !== null ? [`${kernel ?? ""} ${title}: ${row[n]}`.trim()] : []));
  return told.map((line) => visible(line.slice(0, 1000)));
}

/** The numbers of the columns that name a row. Where no kernel has a column, it is the first name,
 * and others stand beside it as what the row has does.
 * @param {Table} table */
function namingColumns({ columns }) {
  const own = columns.flatMap(({ kernel }, n) => ((kernel ?? null) === null ? [n] : []));
  const names = own.filter((n) => ["name", "path"].includes(columns[n].kind));
  if (!names.length) return own.filter((n) => columns[n].kind === "number");
  return own.length < columns.length ? names : names.slice(0, 1);
}

/** The cell that names a row: the first name is whole, others stand below it.
 * @param {Table} table @param {Row} row */
function rowName(table, row) {
  const names = namingColumns(table).map((n) => {
    const cell = row[n];
    if (table.columns[n].kind !== "path") return typeof cell === "number" ? count(cell) : `${cell}`;
    const path = /** @type {string[]} */ (cell);
    return path.slice(path[0] === CUT ? 0 : -FUNCTIONS).join(" > ") || "(not known)";
  });
  const paths = table.columns.flatMap(({ kind }, n) =>
    (kind === "path" ? [/** @type {string[]} */ (row[n]).join(" > ")] : []));
  const cell = heading("row", clipped(names[0], NAME), "what");
  cell.title = [...paths, ...(names[0].length > NAME ? [names[0]] : [])]
    .map((name) => visible(name.slice(0, 1000))).concat(details(table, row)).join("\n");
  cell.append(...names.slice(1).map((name) => element("small", name)));
  return cell;
}

/** @param {Table} table @param {Column} column @param {number} n its number
 * @param {string} what of it is shown @returns {Shown} */
function shownColumn(table, { name, title, kernel, of, shows, digits }, n, what) {
  const { kernels } = table;
  const near = table.by_kernel && (kernel ?? null) !== null;
  const label = kernel ?? "";
  const before = cellOf(table, of ?? "", kernels[0]), after = cellOf(table, of ?? "", kernel);
  const prefix = table.grouped ? `${of}_` : "";
  const low = cellOf(table, `${prefix}low`, kernel), high = cellOf(table, `${prefix}high`, kernel);
  const verdict = cellOf(table, "verdict", kernel), only = cellOf(table, "only", kernel);
  const told = what === "about" ? table.grouped ? `${of} delta` : "delta" : what;
  const named = ["count", "name", "number", "share", "word"].includes(what) ? title || name : told;
  const head = near && what === "count" ? label
    : near || what === "name" ? named : `${named} ${label}`.trim();
  /** @param {Row} row */
  const draw = (row) => {
    const value = row[n];
    if (what === "change") {
      const ends = [before(row), after(row)];
      const known = ends[0] !== null && ends[1] !== null;
      const text = only(row) ? `only ${only(row)}`
        : known ? formatChange(Number(ends[0]), Number(ends[1])) : "?";
      return element("td", text, near ? "optional" : "");
    }
    if (what === "verdict") return element("td", value ?? "not known", "optional verdict");
    if (what === "count") return element("td", shapeCount(table, value, kernel));
    if (what === "name" || what === "word") return element("td", value ?? "", `${what} what`);
    if (what === "share") return element("td", formatShare(value, digits));
    if (what === "number") {
      const written = Number.isInteger(value) ? count : fine;
      const whole = shows?.length ? signed(Number(value), written) : written(Number(value));
      return element("td", value === null ? "-" : whole);
    }
    const sure = value && isSure(verdict(row));
    const tint = !sure || !near ? "" : Number(value) > 0 ? "more" : "less";
    /** @param {number} one */
    const shown = (one) => shapeCount(table, one, kernel);
    const about = what === "about" && Number(low(row)) < Number(high(row)) ? "~" : "";
    const text = value === null ? "?" : about + signed(Number(value), shown);
    return element("td", text, tint);
  };
  const optional = near && (what === "change" || what === "verdict");
  const text = ["name", "word"].includes(what);
  return { title: head, kind: text ? "what" : optional ? `optional ${what}` : "", draw };
}

/** @param {Table} table @returns {Shown[]} */
function shownColumns(table) {
  const naming = namingColumns(table);
  const alone = ["count", "verdict", "number", "share", "word", "name"];
  const shown = table.columns.flatMap((column, n) => {
    const whats = column.kind === "delta" ? column.shows ?? []
      : alone.includes(column.kind) && !naming.includes(n) ? [column.kind] : [];
    return whats.map((what) => shownColumn(table, column, n, what));
  });
  if (!table.bars) return shown;
  const bars = table.columns.flatMap(({ kind }, n) => (kind === "count" ? [n] : []));
  const most = Math.max(1, ...table.rows.flatMap((row) => bars.map((n) => Number(row[n]))));
  /** @param {number} value */
  const bar = (value) => BAR.repeat(Math.max(0, Math.ceil((LONGEST_BAR * value) / most)));
  return [...shown, ...bars.map((n) => ({
    title: table.columns[n].kernel ?? "", kind: "bar",
    draw: (/** @type {Row} */ row, /** @type {boolean} */ sum) =>
      element("td", sum ? "" : bar(Number(row[n])), "bar"),
  }))];
}

/** A table without its title. @param {Table} table */
function drawShape(table) {
  const made = element("table", "", "experiment shape");
  made.id = table.name;
  const columns = shownColumns(table);
  const head = element("tr");
  const named = table.columns[namingColumns(table)[0]];
  head.append(heading("col", named?.title || named?.name || "", "what"),
    ...columns.map(({ title, kind }) => heading("col", title, kind)));
  made.createTHead().append(head);
  /** @param {Row} row @param {boolean} sum */
  const line = (row, sum) => {
    const cells = element("tr");
    cells.append(rowName(table, row), ...columns.map(({ draw }) => draw(row, sum)));
    return cells;
  };
  made.createTBody().append(...table.rows.map((row) => line(row, false)));
  if (table.sums?.length) made.createTFoot().append(...table.sums.map((row) => line(row, true)));
  return made;
}

/** @param {string[] | undefined} notes */
function noteList(notes) {
  const list = element("ul", "", "notes");
  list.append(...(notes ?? []).map((note) => element("li", note)));
  return list;
}

/** A table under its title, with its notes.
 * @param {Table} table @param {string} section the id of what names a table without a title
 * @returns {HTMLElement[]} */
function titledShape(table, section) {
  const { ops, rows, title, name, folded, notes } = table;
  const remark = title ? table.remark ?? "" : "";
  const per = title && ops ? ` per op (${opsText([ops].flat())})` : "";
  const head = element("h3", `${title}${per}${remark}`);
  head.id = `${name}-title`;
  const noted = notes?.length ? [noteList(notes)] : [];
  if (!rows.length) return noted.length ? [head, ...noted] : [];
  const shown = [scrolling(title ? head.id : section, drawShape(table)), ...noted];
  if (!folded) return [...(title ? [head] : []), ...shown];
  const details = element("details"), summary = element("summary");
  summary.append(head);
  details.append(summary, ...shown);
  return [details];
}

/** Whether a difference is known, and no chance. @param {unknown} verdict of it, if it has one */
const isSure = (verdict) => [null, "exact", "changed"].includes(/** @type {any} */ (verdict));

/** Whether nothing in a section changed for certain, of what could have.
 * @param {Section} section */
function isUnchanged({ tables }) {
  const cells = (tables ?? []).flatMap((table) =>
    table.columns.flatMap(({ kernel, kind }, n) => {
      if (kind !== "delta") return [];
      const verdict = cellOf(table, "verdict", kernel ?? null);
      return table.rows.map((row) => Number(row[n]) !== 0 && isSure(verdict(row)));
    }));
  return cells.length > 0 && !cells.some(Boolean);
}

/** @param {Section} section @param {boolean} folds a line that opens */
function drawSection({ name, title, sentences, tables, notes }, folds) {
  const made = element("section");
  made.id = name;
  const head = element("h2", title);
  head.id = `${name}-title`;
  made.setAttribute("aria-labelledby", head.id);
  const told = (sentences ?? []).map((sentence) => element("p", sentence));
  const parts = (tables ?? []).flatMap((table) => titledShape(table, head.id));
  if (notes?.length) parts.push(noteList(notes));
  if (!folds) {
    made.append(head, ...told, ...parts);
    return made;
  }
  const details = element("details"), summary = element("summary");
  const said = (sentences ?? []).join(" ") || "nothing changed for certain";
  summary.append(head, " ", element("span", said));
  details.append(summary, ...parts);
  made.append(details);
  return made;
}

/** What changed first; behind it, folded, what did not. @param {Section[]} sections */
export function drawSections(sections) {
  const same = sections.filter(isUnchanged);
  const changed = sections.filter((section) => !same.includes(section));
  at("sections").replaceChildren(
    ...changed.map((section) => drawSection(section, false)),
    ...same.map((section) => drawSection(section, true)),
  );
}
