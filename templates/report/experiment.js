// What the experiment found: state, tables of metrics with spread and verdict, charts, notes.

import { data, point } from "../page/data.js";
import { at, clipped, element, fill, heading, scrolling, visible } from "../page/elements.js";

/** @import { Chart, ExperimentTable } from "../page.d.ts" */

/** A row's name may be a stranger's value: whole only where the pointer rests.
 * @param {"row" | "col"} scope @param {string} text */
export function nameCell(scope, text) {
  const cell = heading(scope, clipped(text, 40), "what");
  cell.title = visible(text.slice(0, 1000));
  return cell;
}

/** A number or a verdict. @param {string} text */
export function resultCell(text) {
  const verdict = /^(changed|unchanged|unsure|exact)\b/.exec(text);
  return element("td", text, verdict ? `verdict-${verdict[1]}` : "");
}

/** A table under its title. @param {ExperimentTable} shown @param {string} id of the title */
export function titledTable({ title, names, header, rows }, id) {
  const head = element("h3", title);
  head.id = id;
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
  at("experiment").hidden = !tables.length && !charts.length;
  at("experiment-tables").replaceChildren(
    ...tables.flatMap((one, number) => titledTable(one, `experiment-table-${number}`)));
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
  if (changes.length) told.push(`Their state differs from other points: ${changes.join(", ")}.`);
  return told.join(" ");
}
