// The function table: sorted, filtered, the accessible form of the graphs.
"use strict";

/** @param {Record<string, number>} counts */
const ratio = (counts) =>
  counts[state.left] ? counts[state.right] / counts[state.left] : counts[state.right] ? Infinity : 1;

const whole = () => metric.totals[state.right] - metric.totals[state.left];

/** Cycles per instruction on both sides, where both were sampled together. */
function perInstruction() {
  const other = data.metrics.find((candidate) => !candidate.exact && candidate.metric === "instructions");
  if (metric.metric !== "cycles" || metric.exact || !other) return [];
  const work = new Map(other.functions.map((row) => [`${row.name}\0${row.object}\0${row.file}`, row.self]));
  const of = (row, label) => {
    const counts = work.get(`${row.name}\0${row.object}\0${row.file}`);
    return counts && counts[label] ? row.self[label] / counts[label] : 0;
  };
  return [state.left, state.right].map((label, index) => ({
    key: `cpi${index}`,
    title: `CPI ${label}`,
    by: (row) => of(row, label),
    cell: (row) => (row.name && of(row, label) ? fixed(of(row, label), 2) : "-"),
    width: " optional",
  }));
}

/** Called more often, or more at each call: both sides, where calls are counted. */
function perCall() {
  const counted = callsOf();
  if (!counted) return [];
  const { ops } = data.workload;
  const kinds = [
    [ops ? "calls per op" : "calls", (of, id) => of.calls[id] / (ops || 1)],
    [`${metric.unit} per call`, (of, id) => (of.calls[id] ? of.work[id] / of.calls[id] : 0)],
  ];
  return kinds.flatMap(([title, value], kind) =>
    [state.left, state.right].map((label, side) => ({
      key: `call${kind}${side}`,
      title: `${title} ${label}`,
      by: (row) => (row.name ? value(counted[label], place(row)) : 0),
      cell: (row) => (row.file !== undefined && counted[label].calls[place(row)] ? short(value(counted[label], place(row))) : "-"),
      width: " optional",
    })),
  );
}

/** A function's index. @param {any} row */
function place(row) {
  if (!metric.places) metric.places = new Map(metric.functions.map((one, id) => [one, id]));
  return metric.places.get(row);
}

/** Columns: what sorts, what shows; those with a width go first where the screen is narrow. */
const columns = () => [
  { key: "base", title: state.left, width: " wide", by: (row) => row.self[state.left], cell: (row) => formatCount(row.self[state.left], state.left) },
  ...(state.left !== state.right
    ? [
        { key: "other", title: state.right, width: " wide", by: (row) => row.self[state.right], cell: (row) => formatCount(row.self[state.right], state.right) },
        { key: "delta", title: "delta", by: (row) => Math.abs(difference(row.self[state.left], row.self[state.right])), cell: (row) => formatDifference(row.self[state.left], row.self[state.right]), signed: true },
        { key: "change", title: "change", by: (row) => ratio(row.self), cell: (row) => formatChange(row.self[state.left], row.self[state.right]), signed: true },
        { key: "share", title: "share of delta", by: (row) => (row.self[state.right] - row.self[state.left]) / (whole() || 1), cell: (row) => (whole() ? `${fixed((100 * (row.self[state.right] - row.self[state.left])) / whole(), 1)} %` : "-"), width: " optional" },
        ...(metric.exact
          ? []
          : [{ key: "samples", title: "samples", by: (row) => Object.values(row.samples || {}).reduce((a, b) => a + b, 0), cell: (row) => (row.samples ? `${row.samples[state.left]} / ${row.samples[state.right]}` : ""), width: " optional" }]),
        ...perInstruction(),
        ...perCall(),
        { key: "total", title: "total delta", by: (row) => Math.abs(difference(row.total[state.left], row.total[state.right])), cell: (row) => formatDifference(row.total[state.left], row.total[state.right]), width: " optional" },
      ]
    : []),
];

function chosenRows() {
  const rows = metric.functions.filter(
    (row) =>
      (!state.side || row.side === state.side) &&
      (!found.matches || found.matches[place(row)]),
  );
  const column = columns().find((candidate) => candidate.key === state.sort);
  const direction = state.descending ? -1 : 1;
  const byName = (a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);
  const keys = new Map(column ? rows.map((row) => [row, column.by(row)]) : []);
  return rows.sort((a, b) =>
    column ? direction * (keys.get(a) - keys.get(b) || 0) || byName(a, b) : -direction * byName(a, b),
  );
}

function drawHead() {
  const row = element("tr");
  for (const column of [{ key: "name", title: "function" }, ...columns()]) {
    const cell = element("th", "", column.key === "name" ? "name" : `number${column.width || ""}`);
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
function addNumbers(line, row, shown = columns()) {
  const direction = row.self[state.right] - row.self[state.left];
  for (const column of shown) {
    const tint = column.signed && direction ? (direction > 0 ? " more" : " less") : "";
    line.append(element("td", column.cell(row), `number${tint}${column.width || ""}`));
  }
}

/** @param {Row} row @param {number} largest @param {any[]} shown */
function drawRow(row, largest, shown) {
  const line = element("tr");
  const name = element("td", "", "name");
  const open = element("button", row.name, "link");
  open.type = "button";
  open.addEventListener("click", () => {
    chooseFunction(place(row));
    at("sandwich").scrollIntoView({ block: "nearest" });
  });
  name.append(open);
  const notes = [];
  if (row.object !== "vmlinux") notes.push(row.object);
  if (row.namesakes && row.file) notes.push(row.file);
  notes.push(...new Set(Object.values(row.symbols).flat()));
  if (state.left === data.base && row.marks[state.right]) notes.push(row.marks[state.right]);
  if (notes.length) name.append(element("small", notes.join(", ")));
  name.title = visible(row.file);
  line.append(name);
  addNumbers(line, row, shown);
  const bar = element("td", "", "bar");
  const value = row.self[state.right] - row.self[state.left];
  const fill = element("i", "", value > 0 ? "more" : "less");
  fill.style.width = `${largest ? (100 * Math.abs(value)) / largest : 0}%`;
  bar.append(fill);
  line.append(bar);
  return line;
}

function drawBody() {
  const rows = chosenRows();
  const largest = rows.reduce((most, row) => Math.max(most, Math.abs(row.self[state.right] - row.self[state.left])), 1);
  const table = at("functions");
  const shown = columns();
  table.tBodies[0].replaceChildren(...rows.slice(0, state.shown).map((row) => drawRow(row, largest, shown)));
  at("status").textContent = visible(
    `${fixed(rows.length, 0)} of ${fixed(metric.functions.length, 0)} functions${rows.length > state.shown ? ` (the first ${state.shown} shown)` : ""}; self counts, ${unitTitle()}; ` +
      `delta and change are against ${state.left}`,
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
      line.append(element("td", row.name, "what"));
      addNumbers(line, row);
      line.append(element("td", "", "bar"));
      return line;
    }),
  );
}

function drawTable() {
  drawHead();
  drawBody();
  drawFoot();
}
