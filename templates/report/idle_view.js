// For how long vCPUs idled, and what gave way to that.

import { data, labels } from "../page/data.js";
import { at, element, fill, heading, scrollByKeys } from "../page/elements.js";
import { count, formatChange } from "../page/numbers.js";
import { titledTable } from "./experiment.js";
import { eachOp, eachOpTitle } from "./per_op.js";

/** @import { Idle, IdlePath, Table as ExperimentTable } from "../page.d.ts" */

const PATHS = 8;
// The innermost functions say most of why.
const FUNCTIONS = 3;

/** @param {Idle} idle @returns {ExperimentTable} */
function timesTable({ advanced, idle, vcpus }) {
  const [base, ...others] = labels();
  /** @param {string} name @param {(label: string) => number} value */
  const row = (name, value) => [
    name,
    ...[base, ...others].map((label) => eachOp(value(label))),
    ...others.map((label) => formatChange(value(base), value(label))),
  ];
  // One vCPU says no more than that none was busy.
  const several = Math.min(...Object.values(vcpus).map((each) => each.length));
  const numbers = several > 1 ? Array.from({ length: several }, (_, vcpu) => vcpu) : [];
  return {
    title: `idle, in ns of the guest's clock${eachOpTitle()}`,
    names: 1,
    header: ["vCPU", base, ...others, ...others.map((label) => `change ${label}`)],
    rows: [
      row("none busy", (label) => idle[label]),
      ...numbers.map((vcpu) => row(String(vcpu), (label) => vcpus[label][vcpu])),
      row("clock", (label) => advanced[label]),
    ],
  };
}

/** @param {IdlePath} path */
function pathLine({ functions, time, times }) {
  const line = element("tr");
  const shown = functions.slice(-FUNCTIONS).join(" > ") || "(not known)";
  const name = heading("row", shown, "name");
  name.title = functions.join(" > ");
  const numbers = [time, times].flatMap((by) => labels().map((label) => eachOp(by[label])));
  line.append(name, ...numbers.map((text) => element("td", text)));
  return line;
}

/** @param {IdlePath[]} paths */
function drawPaths(paths) {
  const table = at("idle-paths", HTMLTableElement);
  const head = element("tr");
  head.append(heading("col", "the last task gave way in", "name"));
  for (const what of ["idle", "times"]) {
    head.append(...labels().map((label) => heading("col", `${what} ${label}`)));
  }
  table.tHead?.replaceChildren(head);
  table.tBodies[0].replaceChildren(...paths.slice(0, PATHS).map(pathLine));
}

export function drawIdle() {
  const idle = data.metrics.find((metric) => metric.idle)?.idle;
  at("idle").hidden = !idle;
  if (!idle) return;
  at("idle-times").replaceChildren(...titledTable(timesTable(idle), "idle-times-title"));
  drawPaths(idle.paths);
  at("idle-paths-shown").hidden = !idle.paths.length;
  const more = idle.paths.length - PATHS;
  fill("idle-notes", "li", idle.paths.length ? [
    "idle: summed over vCPUs; times: how often one began to idle.",
    ...(more > 0 ? [`${count(more)} more paths not shown.`] : []),
  ] : []);
}

export function startIdle() {
  scrollByKeys(at("idle-paths"));
}
