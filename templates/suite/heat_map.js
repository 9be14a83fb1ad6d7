// The cells of a suite on every kernel, as a map that numbers and signs alone explain.

import { at, element, heading, visible } from "../page/elements.js";
import { cellCount, changeText, count, leastOf, percent, signed } from "../page/numbers.js";
import { addressOfCell, suite } from "./overview_data.js";
import { overview } from "./overview_state.js";

/** @import { SuiteCell, SuiteChange } from "../page.d.ts" */

const heat = at("heat", HTMLTableElement);
/** From which fractions on a change is larger. */
const LEVELS = [0.05, 0.1, 0.25, 1];

const otherLabels = () => suite().kernels.slice(1).map(({ label }) => label);

/** Whether a change is not due to chance. @param {SuiteChange | undefined} change */
const isSignificant = (change) => Boolean(change?.delta) &&
  (change?.verdict === "exact" || change?.verdict === "changed" || Boolean(change?.relevant));

/** @param {SuiteCell} cell */
function isShown(cell) {
  const changes = Object.values(cell.changes);
  if (overview.tag && !cell.tags.includes(overview.tag)) return false;
  if (overview.show === "relevant" && !changes.some(({ relevant }) => relevant)) return false;
  if (overview.show === "significant" && !changes.some(isSignificant)) return false;
  if (overview.show === "depends" && !dependsOnState(cell)) return false;
  if (overview.show === "missing" && !Object.keys(cell.missing).length) return false;
  const wanted = overview.find.toLowerCase();
  const functions = [...Object.values(cell.functions).flat(), ...Object.values(cell.seats)]
    .map(({ name }) => name);
  const texts = [cell.name, cell.about, cell.op, cell.command, ...cell.tags, ...functions];
  return !wanted || texts.some((text) => text.toLowerCase().includes(wanted));
}

/** How large a change is, either way: as a ratio, so that twice is as much as half; one that may be
 * due to chance is smaller than any other. @param {SuiteChange | undefined} change */
function sizeOf(change) {
  if (!change) return -2;
  if (!isSignificant(change)) return -1;
  return Math.abs(Math.log1p(leastOf(change) ?? Infinity));
}

/** Whether what a cell costs more or less is an accident of the state. @param {SuiteCell} cell */
function dependsOnState(cell) {
  const changes = Object.values(cell.changes);
  return changes.some(({ depends }) => depends) && !changes.some(({ relevant }) => relevant);
}

/** By what a cell is sorted, larger first. @param {SuiteCell} cell */
function sortKey(cell) {
  const [way, label] = overview.sort.split(/:(.*)/s);
  if (!way) return sizeOf(cell.changes[otherLabels().at(-1) ?? ""]);
  if (way === "count") return cell.values[suite().kernels[0].label] ?? -1;
  const change = cell.changes[label];
  if (!change) return -Infinity;
  const size = leastOf(change) ?? (change.delta > 0 ? Number.MAX_VALUE : 0);
  return way === "less" ? -size : size;
}

/** The cells that the reader asked for, in order: those that depend on state stand apart. */
export function chosenCells() {
  const cells = inOrder(suite().cells.filter(isShown));
  return [...cells.filter((cell) => !dependsOnState(cell)), ...cells.filter(dependsOnState)];
}

/** @param {SuiteCell[]} cells */
function inOrder(cells) {
  if (overview.sort === "workload") {
    const order = [...new Set(suite().cells.map(({ workload }) => workload))];
    const rank = new Map(order.map((workload, n) => [workload, n]));
    const of = (/** @type {SuiteCell} */ cell) => rank.get(cell.workload) ?? 0;
    return cells.sort((a, b) => of(a) - of(b));
  }
  const byName = (/** @type {SuiteCell} */ a, /** @type {SuiteCell} */ b) =>
    (a.name < b.name ? -1 : 1);
  // Two endless changes have no difference.
  return cells.sort((a, b) => (sortKey(b) === sortKey(a) ? 0 : sortKey(b) - sortKey(a)) ||
    byName(a, b));
}

/** How strongly a change is marked. @param {SuiteChange} change */
function changeClass(change) {
  const { delta, relevant, depends } = change;
  if (depends) return "depends";
  // It is not certain, or below the threshold.
  if (!delta || !relevant) return "same";
  const size = Math.abs(leastOf(change) ?? 1);
  const level = LEVELS.filter((least) => size >= least).length;
  const way = delta > 0 ? "more" : "less";
  return `${way} level-${level} relevant`;
}

/** @param {SuiteCell} cell @param {string} label */
function valueCell(cell, label) {
  const value = cell.values[label];
  const missing = cell.missing[label];
  if (value === null || value === undefined) {
    const made = element("td", missing?.kind ?? "not recorded", "missing");
    made.title = visible(missing?.why ?? "");
    return made;
  }
  const change = cell.changes[label];
  if (label === suite().kernels[0].label || !change) {
    return element("td", cellCount(value), "number");
  }
  const made = element("td", "", `change ${changeClass(change)}`);
  if (change.iterated !== null) {
    const each = signed(100 * change.iterated, (one) => percent(one, 1));
    made.title = `${each} with each iteration of repeated string instructions counted`;
  }
  const verdict = change.depends ? "depends on state" : change.verdict;
  made.append(
    element("span", changeText({ ...change, verdict })),
    element("small", cellCount(value)),
  );
  return made;
}

/** The seat of a kernel's change, or else the function whose own count makes most of it.
 * @param {SuiteCell} cell @param {string} label */
const mostOf = (cell, label) => cell.seats[label] ?? cell.functions[label]?.[0];

/** The function that makes most of a cell's change. @param {SuiteCell} cell */
function mostCell(cell) {
  const made = element("td", "", "most");
  const [, chosen] = overview.sort.split(/:(.*)/s);
  const label = chosen ?? otherLabels().findLast((one) => mostOf(cell, one)) ?? "";
  const differs = Object.values(cell.changes).findLast((one) => one.depends)?.differs;
  if (dependsOnState(cell)) {
    if (differs) made.append(element("code", differs));
    return made;
  }
  const most = mostOf(cell, label);
  if (!most || !cell.changes[label]?.delta) return made;
  if (cell.seats[label]) {
    const below = (cell.functions[label] ?? []).map(({ name, share }) =>
      `${name}${share === null ? "" : ` ${percent(100 * share, 0)}`}`);
    made.title = visible(`with all that it calls; by self counts: ${below.join(", ") || "none"}`);
  }
  const share = most.share === null ? "" : ` (${percent(100 * most.share, 0)})`;
  made.append(
    element("code", most.name),
    element("small", `${signed(most.delta, cellCount)}${share}`),
  );
  return made;
}

/** @param {SuiteCell} cell */
function nameOfCell(cell) {
  const made = heading("row", "", "what");
  const address = addressOfCell(cell);
  if (address) {
    const link = element("a", cell.name);
    link.href = address;
    made.append(link);
  } else made.append(element("span", cell.name));
  const measured = Object.values(cell.values).some((value) => value !== null);
  if (measured && !cell.per_op) made.append(element("small", "whole run"));
  made.title = visible([cell.about, `tags: ${cell.tags.join(", ")}`, cell.command].join("\n"));
  return made;
}

/** Above the cells that depend on state. @param {number} columns */
function dependLine(columns) {
  const line = element("tr", "", "group");
  const made = heading("row", "Depends on state", "what");
  made.scope = "rowgroup";
  made.colSpan = columns;
  made.append(element("small", "at least the threshold in some states, not in all: from the "
    + "lowest to the highest of all states, and the function in which states differ most"));
  line.append(made);
  return line;
}

/** What a group of cells has in common. @param {SuiteCell} cell @param {number} columns */
function groupLine(cell, columns) {
  const line = element("tr", "", "group");
  const made = heading("row", cell.workload, "what");
  made.scope = "rowgroup";
  made.colSpan = columns;
  const about = [cell.about, `per ${cell.op}`, cell.tags.join(", ")].filter(Boolean).join(" · ");
  made.append(element("small", about));
  line.append(made);
  return line;
}

/** Draw what the reader asked for. */
export function drawHeat() {
  const { kernels, cells } = suite();
  const labels = kernels.map(({ label }) => label);
  const others = otherLabels();
  const head = element("tr");
  head.append(heading("col", "cell", "what"));
  for (const [n, label] of labels.entries()) {
    head.append(heading("col", n || label === "base" ? label : `${label} (base)`, "number"));
  }
  if (others.length) head.append(heading("col", "function that makes most of it", "most"));
  heat.tHead?.replaceChildren(head);
  const chosen = chosenCells();
  /** @type {HTMLElement[]} */
  const lines = [];
  for (const [n, cell] of chosen.entries()) {
    const apart = dependsOnState(cell);
    if (apart && !(n && dependsOnState(chosen[n - 1]))) {
      lines.push(dependLine(labels.length + (others.length ? 2 : 1)));
    }
    if (!apart && overview.sort === "workload" && chosen[n - 1]?.workload !== cell.workload) {
      lines.push(groupLine(cell, labels.length + (others.length ? 2 : 1)));
    }
    const line = element("tr");
    line.append(nameOfCell(cell), ...labels.map((label) => valueCell(cell, label)));
    if (others.length) line.append(mostCell(cell));
    lines.push(line);
  }
  heat.tBodies[0].replaceChildren(...lines);
  const perOp = chosen.length && chosen.every((cell) => cell.per_op) ? " per op" : "";
  at("heat-status").textContent = visible(
    `${count(chosen.length)} of ${count(cells.length)} cells; ${suite().metric}${perOp}`,
  );
}
