// What the experiment found: state, tables of metrics with spread and verdict, charts, notes.

import { data, point } from "../page/data.js";
import { at, clipped, element, fill, heading, scrolling, visible } from "../page/elements.js";
import { count } from "../page/numbers.js";

/** @import { Chart, Table as ExperimentTable, Trace } from "../page.d.ts" */

/** A row's name may be a stranger's value: whole only where the pointer rests.
 * @param {"row" | "col"} scope @param {string} text */
export function nameCell(scope, text) {
  const cell = heading(scope, clipped(text, 40), "what");
  cell.title = visible(text.slice(0, 1000));
  return cell;
}

// What the bars of histograms are made of, and how many the longest one has.
const BAR = "▇";
const LONGEST = 20;

/** A number, a verdict or a bar. @param {string} text */
export function resultCell(text) {
  if (text.startsWith(BAR)) return element("td", text, "bar");
  const verdict = /^(changed|unchanged|unsure|exact)\b/.exec(text);
  return element("td", text, verdict ? `verdict-${verdict[1]}` : "");
}

/** A table under its title. @param {ExperimentTable} shown @param {number} number */
function experimentTable({ title, names, header, rows }, number) {
  const head = element("h3", title);
  head.id = `experiment-table-${number}`;
  const table = element("table", "", "experiment");
  /** @param {string[]} texts @param {"row" | "col"} scope
   * @param {(text: string) => HTMLElement} cell */
  const add = (texts, scope, cell) => {
    const line = element("tr");
    line.append(...texts.map((text, n) => (n < names ? nameCell(scope, text) : cell(text))));
    table.append(line);
  };
  add(header, "col", (text) => heading("col", text));
  for (const row of rows) add(row, "row", resultCell);
  return [head, scrolling(head.id, table)];
}

/** The calls of a function by how long each took, as a table: numbers, then bars.
 * @param {Trace} trace @returns {ExperimentTable} */
function traceTable({ title, rows }) {
  const labels = Object.keys(rows[0]?.calls ?? {});
  const most = Math.max(1, ...rows.flatMap(({ calls }) => Object.values(calls)));
  /** @param {number} calls */
  const bar = (calls) => BAR.repeat(Math.ceil((LONGEST * calls) / most));
  const cells = rows.map(({ low, calls }) => {
    const each = labels.map((label) => calls[label]);
    return [count(low), ...each.map(count), ...each.map(bar)];
  });
  return { title, names: 1, header: ["from", ...labels, ...labels], rows: cells };
}

/** A chart: its title is in the picture. @param {Chart} chart @param {number} number */
export function chartFigure(chart, number) {
  const figure = element("figure");
  const image = element("img");
  image.id = `chart-${chart.about}-${number}`;
  // An image cannot run scripts or load anything, whatever the SVG says.
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(chart.svg)}`;
  image.alt = visible(chart.title);
  figure.append(scrolling(image.id, image));
  return figure;
}

/** @param {Chart["about"]} about */
export const chartsOf = (about) =>
  data.charts.filter((chart) => chart.about === about).map(chartFigure);

export function drawExperiment() {
  const { tables, notes, state_lines: told, state_differs: differs } = data.experiment;
  at("state").replaceChildren(...told.map(({ kind, text }) => element("li", text, kind)));
  at("state-section").hidden = !told.length;
  at("state-section").classList.toggle("alarm", differs);
  const charts = chartsOf("experiment");
  const shown = [...tables, ...data.traces.map(traceTable)];
  at("experiment").hidden = !shown.length && !charts.length;
  at("experiment-tables").replaceChildren(...shown.flatMap(experimentTable));
  at("experiment-charts").replaceChildren(...charts);
  fill("experiment-notes", "li", notes);
  drawPlace();
}

/** What the page holds of the chosen point, the command that shows the rest, and how the kernels'
 * state is there. */
function drawPlace() {
  at("place").hidden = !point;
  const parts = { stacks: "", functions: "stacks", nothing: "functions" };
  const missing = point ? parts[point.holds] : "";
  const said = missing ? `This page does not hold the ${missing} there; this command does: ` : "";
  at("place-held").replaceChildren(said, ...(said ? [element("code", point?.command)] : []));
  at("place-state").textContent = visible(stateThere());
}

/** What differs in the state of the kernels at the chosen point, and from other points. */
function stateThere() {
  const there = data.experiment.state_points.find(({ setting }) => setting === point?.setting);
  if (!there) return "";
  const { verdict, differences, changes } = there;
  const told = verdict === "not compared" ? ["The kernels' state is not compared there."] : [];
  if (differences.length) told.push(`The kernels' state differs there: ${differences.join(", ")}.`);
  if (changes.length) told.push(`Their state is not that of other points: ${changes.join(", ")}.`);
  return told.join(" ");
}
