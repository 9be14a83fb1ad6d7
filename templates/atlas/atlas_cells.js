// Table cells of an atlas: values that lead to their recordings, steps, what made them.

import { element, heading, scrolling, visible } from "../page/elements.js";
import { cellCount, changeText, percent, signed } from "../page/numbers.js";
import { atlas, held } from "./atlas_data.js";

/** @import { AtlasCommit, AtlasPoint, AtlasSeries, AtlasStep, AtlasValue, SuiteCellFunction }
 * from "../page.d.ts" */
/** @typedef {{ cells: HTMLElement[], find?: string }} AtlasRow */

/** So many functions are named of a step. */
const NAMED = 3;

/** A link to a page of the site; without one its text alone.
 * @param {string} page @param {string} text */
export function link(page, text) {
  if (!page) return element("span", text);
  const made = element("a", text);
  made.href = held.up + page;
  return made;
}

/** @param {string} kind its class @param {(Node | string)[]} content */
export function tableCell(kind, ...content) {
  const made = element("td", "", kind);
  made.append(...content.map((one) => (typeof one === "string" ? visible(one) : one)));
  return made;
}

/** The cell that names its row. @param {Node[]} content */
export function nameCell(...content) {
  const made = heading("row", "", "what");
  made.append(...content);
  return made;
}

/** A table that scrolls for itself, without columns that are empty in every row. What `found` gets
 * of each row is what a search looks in.
 * @param {string} title the id of its heading @param {[string, string][]} head titles and classes
 * @param {AtlasRow[]} rows @param {Map<HTMLElement, string>} [found] */
export function linesTable(title, head, rows, found) {
  const kept = head.map((_, n) => rows.some(({ cells }) => cells[n].hasChildNodes()));
  const isKept = (/** @type {unknown} */ _, /** @type {number} */ n) => kept[n];
  const made = element("table", "", "lines");
  const titles = made.createTHead().insertRow();
  titles.append(...head.filter(isKept).map(([text, kind]) => heading("col", text, kind)));
  const body = made.createTBody();
  for (const { cells, find } of rows) {
    const line = body.insertRow();
    line.append(...cells.filter(isKept));
    if (find !== undefined) found?.set(line, find.toLowerCase());
  }
  return scrolling(title, made);
}

/** A value, which leads to its recording's page.
 * @param {AtlasPoint | AtlasValue} one @param {number} value */
function numberCell(one, value) {
  const made = link(one.page, cellCount(value));
  made.title = visible(one.reproduce);
  return tableCell("number", made);
}

/** One end of a step. @param {AtlasValue} end */
export const endCell = (end) => numberCell(end, end.value);

/** A cell's value on a release, or why there is none. @param {AtlasPoint | undefined} point */
export function pointCell(point) {
  if (!point) return tableCell("missing");
  if (point.value !== null) return numberCell(point, point.value);
  const made = tableCell("missing", point.missing?.kind ?? "not recorded");
  made.title = visible(point.missing?.why ?? "");
  return made;
}

/** @param {AtlasStep} step */
export const stepText = (step) =>
  (step.verdict === "depends on state" ? "depends on state: " : "") + changeText(step);

/** Which way a relevant step leads. @param {AtlasStep | null} step */
export const wayOf = (step) => (step?.relevant ? (step.delta > 0 ? "more" : "less") : "");

/** Against the release before; `ends`: from what to what, where the table does not show it.
 * @param {AtlasStep | null} step @param {string} [ends] */
export function stepCell(step, ends) {
  if (!step) return tableCell("change");
  const way = wayOf(step);
  const told = ends ? [element("br"), element("small", ends)] : [];
  return tableCell(way ? `change ${way} step-${way}` : "change", stepText(step), ...told);
}

/** The functions that made a step, its seat first. @param {AtlasStep | null} step */
export function functionsCell(step) {
  const seat = step?.seat;
  const others = (step?.functions ?? []).filter(
    (one) => one.name !== seat?.name || one.object !== seat.object,
  );
  /** @type {SuiteCellFunction[]} */
  const chosen = seat ? [seat, ...others.slice(0, NAMED - 1)] : others;
  return tableCell("wrap", ...byLine(chosen.map(({ name, delta, share }) => [
    element("code", name),
    element("small", signed(delta, cellCount) +
      (share === null ? "" : ` (${percent(100 * share, 0)})`)),
  ])));
}

/** The events that changed by more than the instructions, and items of the inventory, by much more.
 * @param {AtlasStep | null} step */
export const eventsCell = (step) =>
  tableCell("wrap", ...byLine(namedCounts(step).map(({ event, base, value }) => [
    element("span", event),
    element("small", `${cellCount(base)} to ${cellCount(value)}`),
  ])));

/** @param {AtlasStep | null} step */
export const namedCounts = (step) => [...(step?.events ?? []), ...(step?.items ?? [])];

/** The commit that made a step, which leads to its bisection, or what one found in its range;
 * compilers and programs, where they differ. @param {AtlasStep | null} step */
export function commitCell(step) {
  if (!step) return tableCell("wrap");
  const lines = step.commit ? [[cited(step.commit)]] : [];
  for (const one of step.suspects) {
    lines.push([element("small", "a bisection found in this range: "), cited(one)]);
  }
  if (step.compilers.length) {
    lines.push([element("small", `compilers differ: ${step.compilers.join(" and ")}`)]);
  }
  if (step.programs_differ) lines.push([element("small", "program differs")]);
  return tableCell("wrap", ...byLine(lines));
}

/** @param {AtlasCommit} one */
const cited = ({ commit, subject, source }) =>
  link(atlas().sources[source].page, `${commit.slice(0, 12)} ("${subject}")`);

/** @param {HTMLElement[][]} lines */
const byLine = (lines) => lines.flatMap((line, n) => (n ? [element("br"), ...line] : line));

/** On what all of a series was counted. @param {AtlasSeries} series */
export const machineLine = ({ machine }) =>
  element("p", Object.entries(machine).map((one) => one.join(": ")).join("; "), "machine");

/** What values are not. */
export const bannerLine = () =>
  (atlas().banner ? [element("p", atlas().banner, "banner")] : []).map((made) => {
    made.role = "note";
    return made;
  });
