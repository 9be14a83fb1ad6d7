// What the numbers rest on: kernels, configuration, runs, machine, commands, charts.

import { data, kernelTitle, point } from "../page/data.js";
import { at, cells, element, fill, heading, holeRow } from "../page/elements.js";
import { chartsOf } from "./experiment.js";
import { count, fixed, percent } from "../page/numbers.js";

/** @import { Facts, Kernel, Metric } from "../page.d.ts" */

/** What is known of each kernel, under a title. @typedef {(kernel: Kernel) => string} Value */
/** @typedef {[string, Value]} Fact */

/** The total of a metric. @param {Metric} metric @returns {Fact} */
function totalOf({ metric, unit, exact, totals }) {
  const title = `${metric[0].toUpperCase()}${metric.slice(1)}, ${exact ? "exact" : "sampled"}`;
  return [title, ({ label }) => count(totals[label]) + (unit === metric ? "" : ` ${unit}`)];
}

/** Counts that belong to no function, as a part of the whole. @param {Metric} metric
 * @returns {Fact} */
function unresolvedOf({ metric, totals, unresolved }) {
  const value = (/** @type {Kernel} */ { label }) =>
    unresolved
      .filter(({ self }) => self[label])
      .map(({ self, reason, side }) => {
        const share = percent((100 * self[label]) / (totals[label] || 1));
        return `${share} ${reason} (${side})`;
      })
      .join(", ") || "none";
  return [`Unresolved, ${metric}`, value];
}

/** @param {Kernel} kernel */
function runsOf({ runs, reproduced }) {
  if (reproduced === null) return String(runs);
  return `${runs}, ${reproduced ? "reproduced bit for bit" : "NOT reproduced"}`;
}

/** @param {Facts["shares"][0]} share @returns {Fact} */
const lostOf = ({ metric, lost }) =>
  [`Lost samples, ${metric}`, ({ label }) => percent(100 * (lost[label] || 0))];

/** What two lengths leave out, by collector and metric. @returns {Fact[]} */
function leftOut() {
  const fixed = data.lengths?.fixed ?? [];
  const names = new Set(fixed.map(({ collector, metric }) => `${metric}, ${collector}`));
  return [...names].map((name) => [
    `Does not grow with ops: ${name}`,
    ({ label }) => {
      const one = fixed.find((other) =>
        other.label === label && `${other.metric}, ${other.collector}` === name);
      return one ? `${count(one.count)} (${percent(100 * one.share, 1)}), left out` : "-";
    },
  ]);
}

/** @param {Facts["differences"][0]} difference @returns {Fact} */
const differenceOf = ({ what, values }) => [what, ({ label }) => values[label] ?? "-"];

/** @returns {Fact[]} */
function kernelFacts() {
  const { facts, metrics } = data;
  const lost = facts.shares.filter((one) => Object.values(one.lost).some(Boolean));
  const shown = ["compiler", "command line"];
  const differences = facts.differences.filter((one) => !shown.includes(one.what));
  /** @type {Value} */
  const inlined = (kernel) => (kernel.inlines_visible ? "visible" : "not visible");
  /** @type {Value} */
  const machine = ({ label }) =>
    Object.entries(facts.machine[label] ?? {}).map((fact) => fact.join(": ")).join("; ");
  return [
    ["Release", (kernel) => kernel.release || "unknown"],
    ["Build id", (kernel) => kernel.build_id || "none"],
    ...variants(),
    ["Compiler", (kernel) => kernel.compiler || "unknown"],
    ["Version", (kernel) => kernel.version || "unknown"],
    ...sources(),
    ...metrics.map(totalOf),
    ...leftOut(),
    ...metrics.map(unresolvedOf),
    // Timed runs have no functions.
    .../** @type {Fact[]} */ (metrics.length ? [["Inlined functions", inlined]] : []),
    ["Runs", runsOf],
    ["Recorded from", (kernel) => kernel.spec],
    ["Command line", ({ label }) => facts.command_lines[label] || "unknown"],
    ["Machine", (kernel) => machine(kernel) || "unknown"],
    ...lost.map(lostOf),
    ...differences.map(differenceOf),
  ];
}

/** What guests were given otherwise than others, if any was. @returns {Fact[]} */
function variants() {
  const any = data.kernels.some(({ variant }) => variant.words.length);
  return any ? [["Given", ({ variant }) => variant.words.join(" ") || "-"]] : [];
}

/** What profdiff built kernels from, if it did. @returns {Fact[]} */
function sources() {
  const built = data.kernels.some(({ source }) => source);
  return built ? [["Source", ({ source }) => source?.sentence ?? "-"]] : [];
}

function drawKernels() {
  const head = data.kernels.map(({ label }) => kernelTitle(label));
  const rows = kernelFacts().map(([title, value]) => {
    const line = cells("td", data.kernels.map(value));
    line.prepend(heading("row", title));
    return line;
  });
  const holes = data.holes.map((hole) => holeRow(hole, head.length));
  at("kernels").replaceChildren(cells("th", ["Kernel", ...head]), ...rows, ...holes);
}

function drawConfig() {
  const options = [...data.facts.config];
  options.sort((a, b) => Number(b.relevant) - Number(a.relevant));
  const relevant = options.filter((one) => one.relevant).length;
  const labels = data.kernels.map(({ label }) => label);
  at("config-section").hidden = !options.length;
  at("config-title").textContent = `${options.length} options differ, ${relevant} of them relevant`;
  // A long list is opened by who wants it.
  at("config-section", HTMLDetailsElement).open = options.length <= 12;
  at("config").replaceChildren(
    cells("th", ["Option", ...labels, "Relevant"]),
    ...options.map((one) => {
      const values = labels.map((label) => one.values[label] ?? "not set");
      return cells("td", [one.option, ...values, one.relevant ? "yes" : ""]);
    }),
  );
}

function drawRuns() {
  const rows = data.runs.map((run) => {
    const { instructions, collector } = run;
    const counted = instructions === null ? collector : `${count(instructions)} instructions`;
    const outcome = run.failure ? `failed: ${run.failure}` : counted;
    return cells("td", [run.id, run.kernel, run.started, fixed(run.wall_seconds, 1), outcome]);
  });
  const head = cells("th", ["Run", "Kernel", "Started", "Seconds", "Outcome"]);
  at("runs").replaceChildren(head, ...rows);
}

function drawEvidence() {
  const lines = [...data.evidence];
  if (data.guest) {
    const { arch, cpu, memory_mib: memory, cpus, append, settle, restored } = data.guest;
    const vcpus = `${cpus} ${cpus === 1 ? "vCPU" : "vCPUs"}`;
    const machine = [[arch, cpu].filter(Boolean).join(" "), `${memory} MiB`, vcpus];
    const begun = restored ? ", restored for each run" : "";
    const said = `guest: ${machine.filter(Boolean).join(", ")}, ${settle} s to settle${begun}`;
    lines.push(append ? `${said}, command line: ${append}` : said);
    const { not_restored: why } = data.guest;
    if (why) lines.push(`guests booted for each run, none was restored: ${why}`);
  }
  fill("evidence", "li", lines);
}

/** The commands that made the recording and this report. */
function drawMade() {
  const { created, command } = data.recorded;
  const made = element("span", `profdiff ${data.profdiff}, recorded ${created}: `);
  at("made").replaceChildren(made, element("code", command.join(" ")));
  if (data.report_command) {
    const by = element("span", "reported by: ");
    at("made").append(element("br"), by, element("code", data.report_command));
  }
}

export function drawFacts() {
  drawKernels();
  drawConfig();
  drawEvidence();
  drawRuns();
  drawMade();
  // They were drawn at the page's own point.
  const charts = point && !point.own ? [] : chartsOf("functions");
  at("charts").hidden = !charts.length;
  at("charts").replaceChildren(...charts);
}
