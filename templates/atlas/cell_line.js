// The page of one cell of an atlas: its line over releases in each series, and every number.

import { element, scrolling } from "../page/elements.js";
import { cellCount } from "../page/numbers.js";
import {
  bannerLine, commitCell, eventsCell, functionsCell, linesTable, link, machineLine, nameCell,
  pointCell, stepCell, stepText, tableCell, wayOf,
} from "./atlas_cells.js";
import { atlas, held, unitOf } from "./atlas_data.js";
import { lineChart } from "./line_chart.js";

/** @import { AtlasCell, AtlasPoint, AtlasSeries } from "../page.d.ts" */

/** What the page holds below its heading. */
export function cellParts() {
  const lines = atlas().series.map((series) => ({ series, cell: series.cells[0] }));
  const { about, tags } = lines[0].cell;
  const told = [about, tags.length ? `tags: ${tags.join(", ")}` : ""].filter(Boolean).join("; ");
  const trail = element("nav", "", "trail");
  trail.ariaLabel = "Atlas";
  trail.append(link("index.html", "← All cells"));
  return [
    trail,
    element("h1", held.cell),
    ...bannerLine(),
    element("p", told, "machine"),
    ...(lines.length > 1 ? [element("p", `${lines.length} lines of different machines or \
workloads: no number of one is one of another's.`, "machine")] : []),
    ...lines.map(({ series, cell }, n) => line(series, cell, `line-${n}`)),
  ];
}

/** @param {AtlasSeries} series @param {AtlasCell} cell @param {string} title an id */
function line(series, cell, title) {
  const unit = unitOf(series, cell);
  const heading = element("h2", series.title || unit);
  heading.id = title;
  const chart = element("div");
  chart.append(
    lineChart(`${cell.name}, ${unit}, by release`, unit, cell.points.map((point) => ({
      title: series.releases[point.release].title,
      value: point.value,
      way: wayOf(point.step),
      change: point.step ? stepText(point.step) : "",
      note: (point.step?.seat ?? point.step?.functions[0])?.name ?? point.missing?.kind ?? "",
    }))),
  );
  const made = element("section");
  made.append(
    heading,
    machineLine(series),
    scrolling(title, chart),
    linesTable(title, [
      ["release", "what"], [unit, "number"], ["change", "change"],
      ["functions that make most of it", "wrap"], ["events and items", "wrap"], ["commit", "wrap"],
      ["recording", ""],
    ], cell.points.map((point) => releaseRow(series, cell, point))),
    ...again(cell),
  );
  return made;
}

/** The commands that record it, the same for all kernels of a recording. @param {AtlasCell} cell */
function again({ points }) {
  const commands = new Map(points.map((one) => [`${one.source} ${one.reproduce}`, one]));
  return [...commands.values()].map(({ source, reproduce }) => {
    const made = element("p", `${atlas().sources[source].name} again: `);
    made.append(element("code", reproduce));
    return made;
  });
}

/** What a change is computed from, where these are not the values that the line shows.
 * @param {AtlasCell} cell @param {AtlasPoint} point */
function endsOf({ points }, { step, value }) {
  if (!step) return "";
  const before = points.find(({ release }) => release === step.since)?.value;
  if (before === step.before.value && value === step.after.value) return "";
  return [step.before, step.after]
    .map((one) => `${cellCount(one.value)} (${atlas().sources[one.source].name})`)
    .join(" to ");
}

/** @param {AtlasSeries} series @param {AtlasCell} cell @param {AtlasPoint} point */
function releaseRow(series, cell, point) {
  const { name, page } = atlas().sources[point.source];
  const others = Object.entries(point.others).flatMap(([other, value]) =>
    [element("br"), element("small", `${other}: ${cellCount(value)}`)]);
  return {
    cells: [
      nameCell(element("span", series.releases[point.release].title)),
      pointCell(point),
      stepCell(point.step, endsOf(cell, point)),
      functionsCell(point.step),
      eventsCell(point.step),
      commitCell(point.step),
      tableCell("", link(point.page || page, name), ...others),
    ],
  };
}
