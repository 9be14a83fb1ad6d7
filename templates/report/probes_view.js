// What probes read: a histogram of the kernels for each, as a table with bars.

import { data } from "../page/data.js";
import { at, element } from "../page/elements.js";
import { count, signed } from "../page/numbers.js";
import { bars, titledTable } from "./experiment.js";
import { eachOp, eachOpTitle } from "./per_op.js";

/** @import { ProbedVariable, Table as ExperimentTable } from "../page.d.ts" */

/** @param {number} low @param {number} high */
const span = (low, high) => (low === high ? count(low) : `${count(low)} to ${count(high)}`);

/** @param {ProbedVariable} probe @param {string[]} labels @returns {ExperimentTable} */
function probeTable(probe, labels) {
  const { function: name, variable, histogram, others, unread, calls } = probe;
  /** @param {Record<string, number>} by */
  const values = (by) => labels.map((label) => by[label]);
  const shown = histogram.map((row) =>
    ({ name: span(row.low, row.high), each: values(row.calls) }));
  for (const [rest, by] of /** @type {const} */ ([["others", others], ["not known", unread]])) {
    if (values(by).some(Boolean)) shown.push({ name: rest, each: values(by) });
  }
  const all = values(calls);
  const most = Math.max(1, ...shown.flatMap(({ each }) => each));
  /** @param {number[]} each */
  const deltas = (each) => each.slice(1).map((value) => signed(value - each[0], eachOp));
  return {
    title: `${name} ${variable}, calls${eachOpTitle()}`,
    names: 1,
    header: [variable, ...labels, ...labels.slice(1).map((label) => `delta ${label}`), ...labels],
    rows: [
      ...shown.map((row) =>
        [row.name, ...row.each.map(eachOp), ...deltas(row.each), ...bars(row.each, most)]),
      ["all calls", ...all.map(eachOp), ...deltas(all), ...labels.map(() => "")],
    ],
  };
}

/** @param {ProbedVariable} probe @param {number} number */
function probeElements(probe, number) {
  const labels = Object.keys(probe.calls);
  const notes = element("ul", "", "notes");
  notes.append(...probe.notes.map((note) => element("li", `${note}.`)));
  const name = `${probe.function} ${probe.variable}`;
  const table = labels.length
    ? titledTable(probeTable(probe, labels), `probe-${number}`) : [element("h3", name)];
  return [...table, notes];
}

export function drawProbes() {
  at("probes").hidden = !data.probes.length;
  at("probes-tables").replaceChildren(...data.probes.flatMap(probeElements));
}
