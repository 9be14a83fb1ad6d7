// What the experiment found: state, tables of metrics with spread and verdict, charts, notes.
"use strict";

/** A row's name may be a stranger's value: whole only where the pointer rests. */
function nameCell(scope, text) {
  const cell = element("th", text.length > 40 ? `${text.slice(0, 39)}…` : text, "what");
  cell.title = visible(text.slice(0, 1000));
  cell.scope = scope;
  return cell;
}

/** A table under its title; the first columns name the row, the others are numbers and verdicts. */
function experimentTable(table, number) {
  const title = element("h3", table.title);
  title.id = `experiment-table-${number}`;
  const box = scrolling(title.id);
  const drawn = element("table", "", "experiment");
  const head = element("tr");
  for (const [column, text] of table.header.entries()) {
    const cell = column < table.names ? nameCell("col", text) : element("th", text);
    cell.scope = "col";
    head.append(cell);
  }
  drawn.append(head);
  for (const row of table.rows) {
    const line = element("tr");
    for (const [column, text] of row.entries()) {
      if (column < table.names) {
        line.append(nameCell("row", text));
        continue;
      }
      const verdict = /^(changed|unchanged|unsure|exact)\b/.exec(text);
      line.append(element("td", text, verdict ? `verdict-${verdict[1]}` : ""));
    }
    drawn.append(line);
  }
  box.append(drawn);
  return [title, box];
}

/** A box in which what is wide scrolls, by keys as well. @param {string} title the id of its name */
function scrolling(title) {
  const box = element("div", "", "scroll");
  box.tabIndex = 0;
  box.setAttribute("role", "region");
  box.setAttribute("aria-labelledby", title);
  return box;
}

/** A chart: its title is in the picture. */
function chartFigure(chart, number) {
  const figure = element("figure");
  const image = element("img");
  image.id = `chart-${chart.about}-${number}`;
  // An image cannot run scripts or load anything, whatever the SVG says.
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(chart.svg)}`;
  image.alt = visible(chart.title);
  const box = scrolling(image.id);
  box.append(image);
  figure.append(box);
  return figure;
}

/** @param {"experiment" | "functions"} about */
const chartsOf = (about) => (data.charts || []).filter((chart) => chart.about === about).map(chartFigure);

function drawExperiment() {
  const { tables, notes, state: told, state_differs: differs, setting } = data.experiment;
  at("state").replaceChildren(
    ...told.map((text) => element("li", text, text.startsWith("STATE DIFFERS") ? "differs" : "")),
  );
  at("state-section").hidden = !told.length;
  at("state-section").classList.toggle("alarm", differs);
  const charts = chartsOf("experiment");
  at("experiment").hidden = !tables.length && !charts.length;
  at("experiment-tables").replaceChildren(...tables.flatMap(experimentTable));
  at("experiment-charts").replaceChildren(...charts);
  at("experiment-notes").replaceChildren(...notes.map((text) => element("li", text)));
  at("experiment-setting").textContent = setting && data.metrics.length ? visible(`Functions below are those at ${setting}.`) : "";
}
