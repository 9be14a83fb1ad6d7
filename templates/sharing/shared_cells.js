// A row of data whose lines change hands: its numbers, and what is behind them.

import { breakable, button, element, heading } from "../page/elements.js";
import { count } from "../page/numbers.js";
import { bytesText, lineDrawing, lineKeys } from "./line_drawing.js";
import {
  countsOf, perOperation, sharedCount, sharedDelta, sharedTint, vcpuList,
} from "./shared.js";

/** @import { LineField, PageSharing, SharedChange, SharedRow } from "../page.d.ts" */
/** @import { Measure } from "./shared.js" */

/** @typedef {{title: string, group: string, className: string}} SharedColumn */

/** @type {Measure[]} */
const MEASURES = ["transfers", "misses"];
/** @type {Record<SharedChange["causes"][number], string>} */
const WHY = {
  schedule: "lines are recycled",
  runs: "the runs of a kernel differ",
  unnamed: "lines without a name, in the same functions, may be of the same data",
};

/** The columns of numbers. Where there is no room, differences stay: the counts of one kernel
 * alone, too. @param {PageSharing} page @returns {SharedColumn[]} */
export function sharedColumns({ kernels }) {
  const alone = kernels.length === 1;
  return MEASURES.flatMap((group) => kernels.flatMap(({ label }, n) => {
    const wide = alone ? "number" : group === "misses" ? "number optional" : "number wide";
    const own = { title: label, group, className: wide };
    return n ? [own, { title: "delta", group, className: "number" }] : [own];
  }));
}

/** The cells of a row's numbers, or of the sum's.
 * @param {PageSharing} page @param {Record<Measure, Record<string, number>>} counts
 * @param {Record<string, SharedChange>} changes */
export function sharedNumbers(page, counts, changes) {
  const columns = sharedColumns(page);
  const texts = MEASURES.flatMap((measure) => page.kernels.flatMap(({ label }, n) => {
    const own = { text: sharedCount(page, label, counts[measure][label]), tint: "" };
    const change = changes[label];
    return n ? [own, {
      text: sharedDelta(page, label, counts[measure], change, measure),
      tint: sharedTint(change, measure),
    }] : [own];
  }));
  return texts.map(({ text, tint }, n) =>
    element("td", text, `${columns[n].className} ${tint}`.trim()));
}

/** A row, whose name shows what is behind it.
 * @param {PageSharing} page @param {SharedRow} row @param {number} number @param {boolean} open
 * @param {() => void} press @param {(name: string) => HTMLElement} link */
export function sharedLine(page, row, number, open, press, link) {
  const line = element("tr", "", open ? "open" : "");
  line.id = `shared-row-${number}`;
  const name = heading("row", "", "name");
  const named = button("", "link", press);
  named.append(...breakable(row.name));
  named.ariaExpanded = String(open);
  name.append(named);
  const counts = {
    transfers: countsOf(row.kernels, (of) => of.transfers),
    misses: countsOf(row.kernels, (of) => of.misses),
  };
  const where = element("td", "", "optional what");
  const [first] = row.functions;
  if (first) where.append(link(first.within || first.name));
  line.append(
    name, ...sharedNumbers(page, counts, row.changes),
    element("td", row.verdict, `optional verdict-${row.verdict}`),
    element("td", row.kind, "kind"), where,
  );
  return line;
}

/** The line of a row on a kernel, or why there is none.
 * @param {PageSharing} page @param {SharedRow} row @param {string} label */
function lineFigure(page, row, label) {
  const { line, transfers, misses, kind } = row.kernels[label];
  const figure = element("figure", "", "contended");
  const caption = element("figcaption");
  caption.append(element("b", label));
  figure.append(caption);
  if (!line) {
    const why = transfers || misses ? "many lines were recorded as one sum"
      : "no line of this data changes hands";
    caption.append(element("span", why));
    return figure;
  }
  const here = kind ? `${kind} sharing` : "";
  const said = line.of ? `the line of ${line.of}, which it has instead`
    : [here, `${sharedCount(page, label, transfers)} transfers${page.per_op ? " per op" : ""}`]
      .filter(Boolean).join(", ");
  caption.append(element("span", said));
  const ops = page.per_op ? page.kernels.find((one) => one.label === label)?.ops : null;
  figure.append(lineDrawing(line, label, ops ?? 0));
  if (line.more) figure.append(element("p", `${count(line.more)} more fields are not drawn.`));
  return figure;
}

/** How often each vCPU does it in one of its own operations; one number where all are alike.
 * @param {PageSharing} page @param {string} label @param {number[]} counts */
function byVcpu(page, label, counts) {
  const ops = page.kernels.find((one) => one.label === label)?.by_vcpu ?? [];
  /** @type {Map<string, number[]>} */
  const told = new Map();
  for (const [vcpu, value] of counts.entries()) {
    if (!value) continue;
    const each = page.per_op && ops[vcpu] ? perOperation(value / ops[vcpu]) : count(value);
    told.set(each, [...(told.get(each) ?? []), vcpu]);
  }
  return [...told].map(([each, some]) => `${vcpuList(some)}: ${each}`).join(", ");
}

/** Who accesses what, for those who see no picture and those who want numbers.
 * @param {PageSharing} page @param {SharedRow} row */
function fieldTable(page, row) {
  const table = element("table");
  const head = element("tr");
  head.append(...["bytes", "data", "loads", "stores"].map((title) => heading("col", title)));
  table.append(
    element("caption", `By vCPU${page.per_op ? ", in each of its own operations" : ""}`), head);
  for (const { label } of page.kernels) {
    const { line } = row.kernels[label];
    if (!line) continue;
    const title = heading("row", label, "kernel");
    title.colSpan = 4;
    title.scope = "rowgroup";
    const body = element("tbody");
    const own = element("tr");
    own.append(title);
    body.append(own, ...line.fields.map((field) => fieldLine(page, label, field)));
    table.append(body);
  }
  return table;
}

/** @param {PageSharing} page @param {string} label @param {LineField} field */
function fieldLine(page, label, field) {
  const line = element("tr");
  line.append(
    element("td", bytesText(field)), heading("row", field.name || "without a name", "name"),
    element("td", byVcpu(page, label, field.loads)),
    element("td", byVcpu(page, label, field.stores)),
  );
  return line;
}

/** Names with a count of each kernel. @param {PageSharing} page @param {string} title
 * @param {[HTMLElement[], Record<string, number>][]} rows */
function countTable(page, title, rows) {
  const table = element("table");
  const head = element("tr");
  head.append(heading("col", title));
  head.append(...page.kernels.map(({ label }) => heading("col", label, "number")));
  table.append(head);
  for (const [what, counts] of rows) {
    const line = element("tr");
    const name = heading("row", "", "name");
    name.append(...what);
    line.append(name, ...page.kernels.map(({ label }) =>
      element("td", sharedCount(page, label, counts[label] ?? 0), "number")));
    table.append(line);
  }
  return table;
}

/** What a row's numbers do not say. @param {PageSharing} page @param {SharedRow} row */
function sharedRemarks(page, row) {
  const said = [];
  for (const [label, change] of Object.entries(row.changes)) {
    const why = change.causes.map((cause) => WHY[cause]).join("; ");
    if (why) said.push(`${label}: no exact difference: ${why}.`);
  }
  for (const { label } of page.kernels) {
    const { lines, misses, read_fetches, write_fetches, upgrades, locked } = row.kernels[label];
    if (!misses) continue;
    const sorts = [
      [read_fetches, "fetches to read"], [write_fetches, "fetches to write"],
      [upgrades, "upgrades"], [locked, "locked instructions"],
    ];
    const told = sorts.flatMap(([value, what]) =>
      value ? [`${sharedCount(page, label, Number(value))} ${what}`] : []);
    const many = `${count(lines)} line${lines === 1 ? "" : "s"}`;
    said.push(`${label}: ${many}; ${told.join(", ")}${page.per_op ? " per op" : ""}.`);
  }
  return said;
}

/** What is behind a row: its line on each kernel, who accesses it, and which functions miss it.
 * @param {PageSharing} page @param {SharedRow} row @param {number} columns
 * @param {(name: string) => HTMLElement} link */
export function sharedDetails(page, row, columns, link) {
  const line = element("tr", "", "details");
  const cell = element("td");
  cell.colSpan = columns;
  cell.append(...page.kernels.map(({ label }) => lineFigure(page, row, label)));
  const vcpus = Math.max(...page.kernels.map(({ by_vcpu }) => by_vcpu.length));
  if (page.kernels.some(({ label }) => row.kernels[label].line)) {
    cell.append(lineKeys(vcpus, page.per_op), fieldTable(page, row));
  }
  cell.append(countTable(page, `misses of${page.per_op ? ", per op" : ""}`, row.functions.map(
    ({ name, within, misses }) =>
      [within ? [link(name), element("span", " in "), link(within)] : [link(name)], misses])));
  if (row.more) cell.append(element("p", `${count(row.more)} more functions.`));
  if (row.bystanders.length) {
    const title = `loads of bytes that nobody writes${page.per_op ? ", per op" : ""}`;
    cell.append(countTable(page, title, row.bystanders.map(
      ({ name, reads }) => [[element("span", name)], reads])));
  }
  cell.append(...sharedRemarks(page, row).map((text) => element("p", text)));
  line.append(cell);
  return line;
}
