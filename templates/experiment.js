// What the experiment found: state, tables of metrics with spread and verdict, how they came about.
"use strict";

/** A table whose first columns name the row. */
function experimentTable(table) {
  const box = element("div", "", "scroll");
  const drawn = element("table", "", "experiment");
  drawn.append(element("caption", table.title), cells("th", table.header));
  for (const row of table.rows) {
    const line = element("tr");
    row.forEach((text, column) => {
      const cell = element(column < table.names ? "th" : "td", text);
      if (column < table.names) cell.scope = "row";
      const verdict = /^(changed|unchanged|unsure|exact)/.exec(text);
      if (verdict) cell.className = `verdict-${verdict[1]}`;
      line.append(cell);
    });
    drawn.append(line);
  }
  box.append(drawn);
  return box;
}

function drawExperiment() {
  const { tables, notes, state: told, setting } = data.experiment;
  at("state").replaceChildren(
    ...told.map((text) => element("li", text, text.startsWith("STATE DIFFERS") ? "differs" : "")),
  );
  at("state-section").hidden = !told.length;
  at("experiment").hidden = !tables.length;
  at("experiment-tables").replaceChildren(...tables.map(experimentTable));
  at("experiment-notes").replaceChildren(...notes.map((text) => element("li", text)));
  at("experiment-setting").textContent = setting ? visible(`Functions below are those at ${setting}.`) : "";
}
