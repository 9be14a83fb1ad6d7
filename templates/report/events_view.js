// How often events happened in the kernels: those of the workload, and those beside it.

import { data, labels } from "../page/data.js";
import { at, cells, element, fill, heading, scrollByKeys } from "../page/elements.js";
import { count, formatChange, signed } from "../page/numbers.js";
import { eachOp } from "./per_op.js";

/** @import { EventDelta, EventRow } from "../page.d.ts" */

const EVENT_NOTES = {
  what: "An event is an entry of a function of the kernel that means it: the pointer on its " +
    "name shows which.",
  beside: "Beside the workload are interrupts with their softirqs, threads of the kernel and " +
    "idle vCPUs: chance decides what of them falls into the window.",
  unsure: "unsure: timer ticks, which task runs first, or where things lie decide such a number, " +
    "too; profdiff record --vary-state shows whether the change holds in other states.",
};

/** @param {number | null} value */
const eventNumber = (value) => (value === null ? "?" : eachOp(value));

/** The cells of a kernel against the base.
 * @param {EventRow} row @param {string} label @param {EventDelta | null} change */
function eventCells(row, label, change) {
  const before = row.counts[data.base], after = row.counts[label];
  const known = change !== null && before !== null && after !== null;
  const sure = known && change.delta && change.verdict === "exact";
  const tint = !sure ? "" : change.delta > 0 ? "more" : "less";
  return [
    element("td", eventNumber(after)),
    element("td", known ? signed(change.delta, eventNumber) : "?", tint),
    element("td", known ? formatChange(before, after) : "?", "optional"),
    element("td", known ? change.verdict : "not known", "optional verdict"),
  ];
}

/** @param {EventRow} row */
function eventLine(row) {
  const line = element("tr");
  const name = heading("row", row.event, "name");
  name.title = Object.entries(row.told).map(([label, told]) =>
    `${label}: ${told ? `${told.functions.join(", ")} (${told.source})` : "not known"}`).join("\n");
  name.append(element("small", row.is_what));
  line.append(name, element("td", eventNumber(row.counts[data.base])));
  for (const [label, change] of Object.entries(row.changes)) {
    line.append(...eventCells(row, label, change));
  }
  return line;
}

/** @param {string} id @param {EventRow[]} rows */
function drawEventRows(id, rows) {
  const table = at(id, HTMLTableElement);
  const [base, ...others] = labels();
  const head = cells("th", []);
  head.append(heading("col", "Event", "name"), heading("col", base));
  for (const label of others) {
    head.append(
      heading("col", label), heading("col", "Delta"), heading("col", "Change", "optional"),
      heading("col", "Verdict", "optional verdict"),
    );
  }
  table.tHead?.replaceChildren(head);
  table.tBodies[0].replaceChildren(...rows.map(eventLine));
}

export function drawEvents() {
  const { events } = data;
  at("events").hidden = !events.length;
  const own = events.filter(({ context }) => context === "own");
  const beside = events.filter(({ context }) => context === "beside");
  drawEventRows("events-own", own);
  drawEventRows("events-beside", beside);
  at("events-apart").hidden = !beside.length;
  const { ops } = data.workload;
  at("events-status").textContent =
    `${count(own.length)} of the workload${ops ? `, per op (${count(ops)} ops)` : ""}`;
  const someUnsure = events.some(({ changes }) =>
    Object.values(changes).some((change) => change?.verdict === "unsure"));
  const { what, unsure, beside: apart } = EVENT_NOTES;
  fill("events-notes", "li", [
    what, ...(someUnsure ? [unsure] : []), ...(beside.length ? [apart] : [])]);
}

export function startEvents() {
  for (const id of ["events-own", "events-beside"]) scrollByKeys(at(id));
}
