// What the numbers rest on: kernels and how they differ, runs, machine, commands, charts.
"use strict";

/** How two kernels differ, in a line. @param {string} base @param {string} label */
function howTheyDiffer(base, label) {
  const [left, right] = [base, label].map((name) => data.kernels.find((kernel) => kernel.label === name));
  const named = (kernel) => `${kernelTitle(kernel.label)}: ${kernel.release || "unknown release"}`;
  if (left === right) return named(left);
  const differ = [];
  for (const [key, title] of [["release", "release"], ["compiler", "compiler"], ["build_id", "build id"]])
    if (left[key] !== right[key]) differ.push(title);
  const facts = data.facts || {};
  for (const one of facts.differences || [])
    if (one.values[left.label] !== one.values[right.label] && !differ.includes(one.what.toLowerCase())) differ.push(one.what);
  const options = (facts.config || []).filter((one) => one.values[left.label] !== one.values[right.label]);
  if (options.length) differ.push(`${options.length} config options (${options.filter((one) => one.relevant).length} relevant)`);
  return `${named(left)} → ${named(right)}. ${differ.length ? `They differ in ${differ.join(", ")}.` : "No difference between the kernels is known."}`;
}

/** The two chosen kernels; where there is nothing to choose, each against the base. */
function drawDiffers() {
  const others = data.kernels.map((kernel) => kernel.label).filter((label) => label !== data.base);
  const pairs = data.metrics.length ? [[state.left, state.right]] : (others.length ? others : [data.base]).map((label) => [data.base, label]);
  at("differs").replaceChildren(...pairs.map(([left, right]) => element("span", howTheyDiffer(left, right))));
}

/** The functions with the largest deltas: what the reader came for. */
function drawLargest() {
  const by = (row) => Math.abs(difference(row.self[state.left], row.self[state.right]));
  const rows = state.left === state.right ? [] : [...metric.functions].sort((a, b) => by(b) - by(a)).filter(by).slice(0, 5);
  at("largest").hidden = !rows.length;
  at("chips").replaceChildren(
    ...rows.map((row) => {
      const [left, right] = [row.self[state.left], row.self[state.right]];
      const button = element("button", "", difference(left, right) > 0 ? "chip more" : "chip less");
      button.type = "button";
      const name = row.name.length > 60 ? `${row.name.slice(0, 59)}…` : row.name;
      button.append(element("b", name), element("span", ` ${formatDifference(left, right)} (${formatChange(left, right)})`));
      button.addEventListener("click", () => {
        at("search").value = row.name;
        setSearch(row.name);
        chooseFunction(place(row));
      });
      return button;
    }),
  );
}

/** A table with a heading cell in each row. @param {[string, (kernel: any) => string][]} facts */
function kernelTable(facts) {
  return facts.map(([title, value]) => {
    const line = element("tr");
    const head = element("th", title);
    head.scope = "row";
    line.append(head, ...data.kernels.map((kernel) => element(title ? "td" : "th", value(kernel))));
    return line;
  });
}

/** Counts that belong to no function, as a part of the whole. */
function unresolvedRow(one) {
  return [
    `Unresolved, ${one.metric}`,
    (kernel) => {
      const lost = one.unresolved.filter((row) => row.self[kernel.label]);
      const share = (row) => `${fixed((100 * row.self[kernel.label]) / (one.totals[kernel.label] || 1), 2)} %`;
      return lost.map((row) => `${share(row)} ${row.reason} (${row.side})`).join(", ") || "none";
    },
  ];
}

/** @type {[string, (kernel: any) => string]} */
const inlinedRow = ["Inlined functions", (kernel) => (kernel.inlines_visible ? "visible" : "not visible: no debug ELF")];

function drawFacts() {
  at("answers").classList.toggle("many", data.answers.length > 2);
  at("answers").replaceChildren(
    ...(data.answers.length ? data.answers : [`One kernel: ${data.base}. Nothing to compare it with.`]).map((text) => element("span", text)),
  );
  at("workload").textContent = visible(data.workload.description);
  const facts = data.facts || {};
  at("kernels").replaceChildren(
    ...kernelTable([
      ["", (kernel) => kernel.label + (kernel.label === data.base ? " (base)" : "")],
      ["Release", (kernel) => kernel.release || "unknown"],
      ["Build id", (kernel) => kernel.build_id || "none"],
      ["Compiler", (kernel) => kernel.compiler || "unknown"],
      ["Version", (kernel) => kernel.version || "unknown"],
      ...data.metrics.map((one) => [
        `${one.metric[0].toUpperCase()}${one.metric.slice(1)}${one.exact ? ", exact" : ", sampled"}`,
        (kernel) => `${one.totals[kernel.label].toLocaleString("en-US")}${one.unit === one.metric ? "" : ` ${one.unit}`}`,
      ]),
      ...data.metrics.map(unresolvedRow),
      // Timed runs have no functions.
      ...(data.metrics.length ? [inlinedRow] : []),
      ["Runs", (kernel) => `${kernel.runs}${kernel.reproduced === true ? ", reproduced bit for bit" : kernel.reproduced === false ? ", NOT reproduced" : ""}`],
      ["Recorded from", (kernel) => kernel.spec],
      ["Command line", (kernel) => (facts.command_lines || {})[kernel.label] || "unknown"],
      ["Machine", (kernel) => Object.entries((facts.machine || {})[kernel.label] || {}).map(([name, value]) => `${name}: ${value}`).join("; ") || "unknown"],
      ...(facts.shares || []).filter((one) => Object.values(one.lost).some(Boolean)).map((one) => [
        `Lost samples, ${one.metric}`,
        (kernel) => `${fixed(100 * (one.lost[kernel.label] || 0), 2)} %`,
      ]),
      ...(facts.differences || []).filter((one) => !["compiler", "command line"].includes(one.what)).map((one) => [one.what, (kernel) => String(one.values[kernel.label] ?? "-")]),
    ]),
  );
  const options = [...(facts.config || [])].sort((a, b) => Number(b.relevant) - Number(a.relevant));
  at("config-section").hidden = !options.length;
  at("config-title").textContent = `${options.length} options differ, ${options.filter((one) => one.relevant).length} of them relevant`;
  // A long list is opened by who wants it.
  at("config-details").open = options.length <= 12;
  at("config").replaceChildren(
    cells("th", ["Option", ...data.kernels.map((kernel) => kernel.label), "Relevant"]),
    ...options.map((one) => cells("td", [one.option, ...data.kernels.map((kernel) => one.values[kernel.label] ?? "not set"), one.relevant ? "yes" : ""])),
  );
  at("evidence").replaceChildren(...data.evidence.map((text) => element("li", text)));
  if (data.guest) {
    const { memory_mib, cpus, append, settle } = data.guest;
    at("evidence").append(element("li", `guest: ${memory_mib} MiB, ${cpus} vCPUs, ${settle} s to settle${append ? `, command line: ${append}` : ""}`));
  }
  const head = cells("th", ["Run", "Kernel", "Started", "Seconds", "Outcome"]);
  at("runs").replaceChildren(
    head,
    ...data.runs.map((run) => {
      const counted = run.instructions === null ? run.collector : `${run.instructions.toLocaleString("en-US")} instructions`;
      return cells("td", [run.id, run.kernel, run.started, fixed(run.wall_seconds, 1), run.failure ? `failed: ${run.failure}` : counted]);
    }),
  );
  at("made").append(element("span", `profdiff ${data.profdiff}, recorded ${data.recorded.created}: `), element("code", data.recorded.command.join(" ")));
  if (data.report_command) at("made").append(element("br"), element("span", "reported by: "), element("code", data.report_command));
  const charts = chartsOf("functions");
  at("charts").hidden = !charts.length;
  at("charts").replaceChildren(...charts);
}
