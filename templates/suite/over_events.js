// Events of the workload over all cells of a suite, and items of the inventory, where they changed
// by more than instructions.

import { at, cells, element, heading, visible } from "../page/elements.js";
import { cellCount, count } from "../page/numbers.js";
import { addressOfCell, suite } from "./overview_data.js";

/** @param {string} label */
const happenedHeads = (label) => [`${label}: cells with more`, "cells with less"];

/** @param {"events" | "items"} kind */
export function drawHappened(kind) {
  const others = suite().kernels.slice(1).map(({ label }) => label);
  const changed = suite()[kind], { summaries } = suite();
  for (const part of ["", "-title", "-status"]) at(`over-${kind}${part}`).hidden = !changed.length;
  const table = at(`over-${kind}`, HTMLTableElement);
  const head = element("tr");
  head.append(
    heading("col", kind.slice(0, -1), "what"),
    ...others.flatMap(happenedHeads).map((text) => heading("col", text, "number")),
    heading("col", "largest in", "what"),
  );
  table.tHead?.replaceChildren(head);
  table.tBodies[0].replaceChildren(...changed.map(({ event, is_what: told, more, fewer }) => {
    const line = cells("td", []);
    const title = heading("row", event, "what");
    title.title = visible(told);
    line.append(title);
    for (const label of others) {
      for (const by of [more, fewer]) line.append(element("td", count(by[label] ?? 0), "number"));
    }
    line.append(largestIn(kind, event, others));
    return line;
  }));
  const known = summaries.map((one) =>
    `${one.kernel}: in ${count(one[kind])} of ${count(one[`${kind}_known`])} cells`);
  at(`over-${kind}-status`).textContent = visible(`Per op, for certain. ${known.join("; ")}.`);
}

/** The cell with the largest difference.
 * @param {"events" | "items"} kind @param {string} event @param {string[]} others */
function largestIn(kind, event, others) {
  const found = suite().cells.flatMap((cell) => others.flatMap((label) =>
    (cell[kind][label] ?? []).filter((one) => one.event === event).map((one) => (
      { cell, label, ...one, size: Math.abs(one.value - one.base) }))));
  const most = found.reduce((one, other) => (other.size > one.size ? other : one));
  const address = addressOfCell(most.cell);
  const name = element(address ? "a" : "span", most.cell.name);
  if (name instanceof HTMLAnchorElement) name.href = address;
  const made = element("td", "", "what");
  const ends = `${cellCount(most.base)} to ${cellCount(most.value)} on ${most.label}`;
  made.append(name, " ", element("small", ends));
  return made;
}
