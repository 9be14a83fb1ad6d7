// Several architectures, or compilers, side by side: what the same change costs there.

import { data } from "../page/data.js";
import { at, element, fill, heading, scrolling, visible } from "../page/elements.js";
import { chartFigure, nameCell, resultCell } from "./experiment.js";

/** @import { PartsTable } from "../page.d.ts" */

/** A row of parts above the columns that are theirs. @param {string[]} groups */
function groupRow(groups) {
  const line = element("tr");
  for (const [n, group] of groups.entries()) {
    if (n && group === groups[n - 1]) continue;
    const cell = heading("col", group, group ? "group" : "");
    const next = groups.findIndex((one, place) => place > n && one !== group);
    cell.colSpan = (next < 0 ? groups.length : next) - n;
    if (group) cell.scope = "colgroup";
    line.append(cell);
  }
  return line;
}

/** A change is tinted: more, or less. @param {string} text */
function changeCell(text) {
  const cell = resultCell(text);
  if (/^\+[0-9]/.test(text)) cell.classList.add("more");
  if (/^-[0-9]/.test(text)) cell.classList.add("less");
  return cell;
}

/** @param {PartsTable} shown @param {number} number */
function jointTable({ title, names, header, groups, rows, foot }, number) {
  const head = element("h3", title);
  head.id = `joint-table-${number}`;
  const table = element("table", "", "experiment joint");
  const starts = groups.map((group, n) => group !== "" && group !== groups[n - 1]);
  /** @param {string[]} texts @param {string} kind
   * @param {(text: string, n: number) => HTMLElement} cell */
  const add = (texts, kind, cell) => {
    const line = element("tr", "", kind);
    const made = texts.map(cell);
    for (const [n, one] of made.entries()) if (starts[n]) one.classList.add("starts");
    line.append(...made);
    table.append(line);
  };
  table.append(groupRow(groups));
  add(header, "", (text, n) => (n < names ? nameCell("col", text) : heading("col", text)));
  const cell = (/** @type {string} */ text, /** @type {number} */ n) =>
    n < names ? nameCell("row", text) : changeCell(text);
  for (const row of rows) add(row, "", cell);
  for (const row of foot) add(row, "foot", cell);
  return [head, scrolling(head.id, table)];
}

/** Once: it is the same at every point. */
export function startJoint() {
  const { joint } = data;
  at("joint").hidden = !joint;
  if (!joint) return;
  const [first, ...sentences] = joint.sentences;
  at("heading").textContent = visible(first);
  fill("answers", "span", sentences);
  fill("joint-missing", "li", joint.missing);
  at("joint-tables").replaceChildren(...joint.tables.flatMap(jointTable));
  fill("joint-notes", "li", joint.notes);
  at("joint-charts").replaceChildren(...joint.charts.map(chartFigure));
  // Below is one of them, of which the page's head would otherwise speak.
  at("place").querySelector("label")?.replaceChildren("Everything below is of");
  const kept = ["place", "part-heading", "part-answers", "differs", "workload", "state-section"];
  at("part").replaceChildren(...kept.map((id) => at(id)));
}
