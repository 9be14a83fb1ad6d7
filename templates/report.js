// The report's page. Whatever comes from the recording is put in by textContent, never as markup.
"use strict";

/** @typedef {{name: string, object: string, file: string, side: string, namesakes: boolean,
 *   symbols: Record<string, string[]>, self: Record<string, number>, total: Record<string, number>,
 *   samples: Record<string, number> | null, marks: Record<string, string>}} Row */

const data = JSON.parse(/** @type {HTMLElement} */ (document.getElementById("data")).textContent || "");
let metric = data.metrics[0];
const base = data.base;
const others = data.kernels.map((kernel) => kernel.label).filter((label) => label !== base);
const PAGE = 200;

const state = {
  search: "",
  metric: "0",
  unit: data.workload.ops ? "per-op" : "absolute",
  side: "",
  other: others[0] || base,
  sort: "delta",
  descending: true,
  shown: PAGE,
};

/** @param {string} id */
const at = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** An element with text and children; no attribute takes markup.
 * @param {string} tag @param {string} [text] @param {string} [className] */
function element(tag, text = "", className = "") {
  const made = document.createElement(tag);
  made.textContent = visible(text);
  if (className) made.className = className;
  return made;
}

/** Control and format characters would hide or reorder what follows: show them as their codes.
 * @param {string} text */
function visible(text) {
  return String(text).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);
}

/** @param {number} value @param {string} label */
function formatCount(value, label) {
  if (state.unit === "per-op") return fixed(value / data.workload.ops, 2);
  if (state.unit === "share") return `${fixed((100 * value) / (metric.totals[label] || 1), 2)} %`;
  return value.toLocaleString("en-US");
}

/** @param {number} value @param {number} digits */
const fixed = (value, digits) =>
  value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });

/** Other minus base in the chosen unit; of shares, the difference in points.
 * @param {Record<string, number>} counts */
function delta(counts) {
  if (state.unit !== "share") return counts[state.other] - counts[base];
  return 100 * (counts[state.other] / (metric.totals[state.other] || 1) - counts[base] / (metric.totals[base] || 1));
}

/** @param {Record<string, number>} counts */
function formatDelta(counts) {
  const value = delta(counts);
  const sign = value > 0 ? "+" : "";
  if (state.unit === "per-op") return sign + fixed(value / data.workload.ops, 2);
  if (state.unit === "share") return `${sign}${fixed(value, 2)} points`;
  return sign + value.toLocaleString("en-US");
}

/** @param {Record<string, number>} counts */
function change(counts) {
  const before = counts[base];
  const after = counts[state.other];
  if (before === after) return "0 %";
  if (before === 0) return "new";
  if (after === 0) return "vanished";
  if (after >= 10 * before) return `${fixed(after / before, 0)} times`;
  return `${after > before ? "+" : ""}${fixed((100 * (after - before)) / before, 1)} %`;
}

/** @param {Record<string, number>} counts */
const ratio = (counts) =>
  counts[base] ? counts[state.other] / counts[base] : counts[state.other] ? Infinity : 1;

const whole = () => metric.totals[state.other] - metric.totals[base];

/** Name and unit of the chosen metric. */
const metricTitle = () => (metric.unit === metric.metric ? metric.metric : `${metric.metric} (${metric.unit})`);

/** Cycles per instruction on both sides, where both were sampled together. */
function perInstruction() {
  const other = data.metrics.find((candidate) => !candidate.exact && candidate.metric === "instructions");
  if (metric.metric !== "cycles" || metric.exact || !other) return [];
  const work = new Map(other.functions.map((row) => [`${row.name}\0${row.object}\0${row.file}`, row.self]));
  const of = (row, label) => {
    const counts = work.get(`${row.name}\0${row.object}\0${row.file}`);
    return counts && counts[label] ? row.self[label] / counts[label] : 0;
  };
  return [base, state.other].map((label, index) => ({
    key: `cpi${index}`,
    title: `CPI ${label}`,
    by: (row) => of(row, label),
    cell: (row) => (row.name && of(row, label) ? fixed(of(row, label), 2) : "-"),
    width: " optional",
  }));
}

/** Columns: what sorts, what shows; those with a width go first where the screen is narrow. */
const columns = () => [
  { key: "base", title: base, width: " wide", by: (row) => row.self[base], cell: (row) => formatCount(row.self[base], base) },
  ...(others.length
    ? [
        { key: "other", title: state.other, width: " wide", by: (row) => row.self[state.other], cell: (row) => formatCount(row.self[state.other], state.other) },
        { key: "delta", title: "delta", by: (row) => Math.abs(delta(row.self)), cell: (row) => formatDelta(row.self), signed: true },
        { key: "change", title: "change", by: (row) => ratio(row.self), cell: (row) => change(row.self), signed: true },
        { key: "share", title: "share of delta", by: (row) => (row.self[state.other] - row.self[base]) / (whole() || 1), cell: (row) => (whole() ? `${fixed((100 * (row.self[state.other] - row.self[base])) / whole(), 1)} %` : "-"), width: " optional" },
        ...(metric.exact
          ? []
          : [{ key: "samples", title: "samples", by: (row) => Object.values(row.samples || {}).reduce((a, b) => a + b, 0), cell: (row) => (row.samples ? `${row.samples[base]} / ${row.samples[state.other]}` : ""), width: " optional" }]),
        ...perInstruction(),
        { key: "total", title: "total delta", by: (row) => Math.abs(delta(row.total)), cell: (row) => formatDelta(row.total), width: " optional" },
      ]
    : []),
];

function selected() {
  const wanted = state.search.toLowerCase();
  const rows = metric.functions.filter(
    (row) =>
      (!state.side || row.side === state.side) &&
      (!wanted || [row.name, row.object, row.file].some((text) => text.toLowerCase().includes(wanted))),
  );
  const column = columns().find((candidate) => candidate.key === state.sort);
  const direction = state.descending ? -1 : 1;
  const byName = (a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);
  return rows.sort((a, b) =>
    column ? direction * (column.by(a) - column.by(b) || 0) || byName(a, b) : -direction * byName(a, b),
  );
}

function drawHead() {
  const row = element("tr");
  for (const column of [...columns(), { key: "name", title: "function" }]) {
    const cell = element("th", "", column.key === "name" ? "" : `number${column.width || ""}`);
    cell.scope = "col";
    const active = state.sort === column.key;
    const ascending = column.key === "name" ? state.descending : !state.descending;
    cell.setAttribute("aria-sort", active ? (ascending ? "ascending" : "descending") : "none");
    const button = element("button", column.title);
    button.type = "button";
    button.addEventListener("click", () => {
      state.descending = active ? !state.descending : true;
      state.sort = column.key;
      drawHead();
      drawBody();
      at("functions").querySelectorAll("thead button")[[...row.children].indexOf(cell)].focus();
    });
    cell.append(button);
    row.append(cell);
  }
  row.append(element("th", "", "bar"));
  at("functions").tHead.replaceChildren(row);
}

/** @param {HTMLElement} line @param {{self: Record<string, number>, total: Record<string, number>}} row */
function addNumbers(line, row) {
  const direction = row.self[state.other] - row.self[base];
  for (const column of columns()) {
    const tint = column.signed && direction ? (direction > 0 ? " more" : " less") : "";
    line.append(element("td", column.cell(row), `number${tint}${column.width || ""}`));
  }
}

/** @param {Row} row @param {number} largest */
function drawRow(row, largest) {
  const line = element("tr");
  addNumbers(line, row);
  const name = element("td", row.name, "name");
  const notes = [];
  if (row.object !== "vmlinux") notes.push(row.object);
  if (row.namesakes && row.file) notes.push(row.file);
  notes.push(...new Set(Object.values(row.symbols).flat()));
  if (row.marks[state.other]) notes.push(row.marks[state.other]);
  if (notes.length) name.append(element("small", notes.join(", ")));
  name.title = visible(row.file);
  line.append(name);
  const bar = element("td", "", "bar");
  const value = row.self[state.other] - row.self[base];
  const fill = element("i", "", value > 0 ? "more" : "less");
  fill.style.width = `${largest ? (100 * Math.abs(value)) / largest : 0}%`;
  bar.append(fill);
  line.append(bar);
  return line;
}

function drawBody() {
  const rows = selected();
  const largest = rows.reduce((most, row) => Math.max(most, Math.abs(row.self[state.other] - row.self[base])), 1);
  const table = at("functions");
  table.tBodies[0].replaceChildren(...rows.slice(0, state.shown).map((row) => drawRow(row, largest)));
  const unit = { "per-op": `${metricTitle()} per op (${(data.workload.ops || 0).toLocaleString("en-US")} ops)`, absolute: metricTitle(), share: `share of each kernel's ${metricTitle()}` }[state.unit];
  at("status").textContent = visible(
    `${rows.length.toLocaleString("en-US")} of ${metric.functions.length.toLocaleString("en-US")} functions${rows.length > state.shown ? ` (the first ${state.shown} shown)` : ""}; self counts, ${unit}; ` +
      `delta and change are against ${base}`,
  );
  const more = at("more");
  more.hidden = rows.length <= state.shown;
  more.textContent = `Show ${Math.min(PAGE, rows.length - state.shown)} more of ${rows.length - state.shown}`;
}

function drawFoot() {
  const lines = metric.unresolved
    .filter((row) => !state.side || row.side === state.side)
    .map((row) => ({ self: row.self, total: row.self, name: `unresolved: ${row.reason} (${row.side})`, className: "unresolved" }));
  const all = {};
  for (const kernel of data.kernels) {
    all[kernel.label] = state.side
      ? [...metric.functions, ...metric.unresolved]
          .filter((row) => row.side === state.side)
          .reduce((sum, row) => sum + row.self[kernel.label], 0)
      : metric.totals[kernel.label];
  }
  lines.push({ self: all, total: all, name: state.side ? `all of ${state.side}` : "all", className: "" });
  at("functions").tFoot.replaceChildren(
    ...lines.map((row) => {
      const line = element("tr", "", row.className);
      addNumbers(line, row);
      line.append(element("td", row.name), element("td", "", "bar"));
      return line;
    }),
  );
}

function draw() {
  drawHead();
  drawBody();
  drawFoot();
}

/** @param {string} id @param {[string, string][]} choices @param {"metric" | "unit" | "side" | "other"} key */
function fillSelect(id, choices, key) {
  const select = /** @type {HTMLSelectElement} */ (at(id));
  for (const [value, title] of choices) {
    const option = /** @type {HTMLOptionElement} */ (element("option", title));
    option.value = value;
    select.append(option);
  }
  select.value = state[key];
  select.addEventListener("change", () => {
    state[key] = select.value;
    metric = data.metrics[Number(state.metric)];
    draw();
  });
}

function drawFacts() {
  at("answers").replaceChildren(...(data.answers.length ? data.answers : [`One kernel: ${base}.`]).map((text) => element("span", text)));
  at("workload").textContent = visible(data.workload.description);
  const facts = [
    ["", (kernel) => kernel.label + (kernel.label === base ? " (base)" : "")],
    ["Release", (kernel) => kernel.release || "unknown"],
    ["Build id", (kernel) => kernel.build_id || "none"],
    ["Compiler", (kernel) => kernel.compiler || "unknown"],
    ["Version", (kernel) => kernel.version || "unknown"],
    ...data.metrics.map((one) => [
      `${one.metric[0].toUpperCase()}${one.metric.slice(1)}${one.exact ? ", exact" : ", sampled"}`,
      (kernel) => `${one.totals[kernel.label].toLocaleString("en-US")}${one.unit === one.metric ? "" : ` ${one.unit}`}`,
    ]),
    ["Inlined functions", (kernel) => (kernel.inlines_visible ? "visible" : "not visible: no debug ELF")],
    ["Runs", (kernel) => `${kernel.runs}${kernel.reproduced === true ? ", reproduced bit for bit" : kernel.reproduced === false ? ", NOT reproduced" : ""}`],
    ["Recorded from", (kernel) => kernel.spec],
  ];
  at("kernels").replaceChildren(
    ...facts.map(([title, value]) => {
      const line = element("tr");
      const head = element("th", title);
      head.scope = "row";
      line.append(head, ...data.kernels.map((kernel) => element(title ? "td" : "th", value(kernel))));
      return line;
    }),
  );
  at("evidence").replaceChildren(...data.evidence.map((text) => element("li", text)));
  const head = element("tr");
  head.append(...["Run", "Kernel", "Started", "Seconds", "Outcome"].map((text) => element("th", text)));
  at("runs").replaceChildren(
    head,
    ...data.runs.map((run) => {
      const line = element("tr");
      const counted = run.instructions === null ? run.collector : `${run.instructions.toLocaleString("en-US")} instructions`;
      const outcome = run.failure ? `failed: ${run.failure}` : counted;
      line.append(...[run.id, run.kernel, run.started, fixed(run.wall_seconds, 1), outcome].map((text) => element("td", text)));
      return line;
    }),
  );
  const made = at("made");
  made.append(element("span", `profdiff ${data.profdiff}, recorded ${data.recorded.created}: `), element("code", data.recorded.command.join(" ")));
}

document.title = visible(`profdiff: ${data.kernels.map((kernel) => kernel.label).join(" against ")}`);
fillSelect("metric", data.metrics.map((one, index) => [String(index), `${one.metric}${one.exact ? ", exact" : ", sampled"}`]), "metric");
at("metric-label").hidden = data.metrics.length < 2;
fillSelect("unit", [...(data.workload.ops ? [["per-op", "per op"]] : []), ["absolute", "absolute"], ["share", "share"]], "unit");
fillSelect("side", [["", "kernel and user"], ["kernel", "kernel"], ["user", "user"]], "side");
fillSelect("other", others.map((label) => [label, `${label} with ${base}`]), "other");
at("other-label").hidden = others.length < 2;
at("controls").addEventListener("submit", (event) => event.preventDefault());
at("search").addEventListener("input", (event) => {
  state.search = /** @type {HTMLInputElement} */ (event.target).value;
  state.shown = PAGE;
  drawBody();
});
at("more").addEventListener("click", () => {
  state.shown += PAGE;
  drawBody();
});
drawFacts();
draw();
