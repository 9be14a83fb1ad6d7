// The index of an atlas: what the newest releases made dearer first, then every release and every
// cell. What is significant and what is relevant are told apart.

import { element } from "../page/elements.js";
import { changeText, count, leastText } from "../page/numbers.js";
import {
  commitCell, endCell, eventsCell, functionsCell, linesTable, link, machineLine, nameCell,
  namedCounts, pointCell, stepCell, tableCell,
} from "./atlas_cells.js";
import { atlas } from "./atlas_data.js";
import { sparkline } from "./line_chart.js";

/** @import { AtlasCell, AtlasPoint, AtlasSeries, AtlasStep } from "../page.d.ts" */
/** ``releases``: how many the series has.
 * @typedef {{ cell: AtlasCell, step: AtlasStep, releases: number }} Made */

/** More columns of values are no table: the first and the last ones, and each cell's page. */
const MOST_COLUMNS = 12;

/** The rows that a search looks in, each with its words. @type {Map<HTMLElement, string>} */
export const searched = new Map();

const least = () => leastText(atlas().threshold);

/** @param {number} number @param {string} one @param {string} [many] */
const counted = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;

/** @param {"h2" | "h3"} tag @param {string} text @param {string} id */
function titled(tag, text, id) {
  const made = element(tag, text);
  made.id = id;
  return made;
}

/** Every series. */
export const seriesParts = () => atlas().series.map((series, number) => {
  const made = element("section");
  made.append(
    titled("h2", series.title || "Releases", `title-${number}`),
    machineLine(series),
    releasesTable(series, number),
    element("p", "Each release is compared with the one before it. Changes below " +
      `${least()} are significant, but not relevant.`, "machine"),
    // The newest first: that is what was asked for.
    ...series.releases.flatMap((_, at) => releaseParts(series, number, at)).reverse().flat(),
    ...cellsParts(series, number),
  );
  return made;
});

/** @param {AtlasSeries} series @param {number} number */
function releasesTable({ releases }, number) {
  const titles = [
    `at least ${least()} more`, `at least ${least()} less`, "smaller", "same", "depends on state",
    "unsure", "no value",
  ];
  return linesTable(`title-${number}`, [
    ["release", "what"],
    ...titles.map((title) => /** @type {[string, string]} */ ([title, "number"])),
    ["compiler", "wrap"],
    ["build id", "wrap"],
  ], releases.map((one, at) => {
    const counts = [
      one.more, one.less, one.smaller, one.same, one.depend, one.unsure, one.missing,
    ];
    return { cells: [
      nameCell(link(one.sentence ? `#release-${number}-${at}` : "", one.title)),
      ...counts.map((value) =>
        tableCell("number", one.sentence || value ? count(value) : "")),
      tableCell("wrap", one.compiler ?? "unknown"),
      tableCell("wrap", element("code", (one.build_id ?? "unknown").slice(0, 16))),
    ] };
  }));
}

/** What one release changed: relevant steps, then those that are only significant, and those that
 * depend on state. @param {AtlasSeries} series @param {number} number @param {number} at */
function releaseParts({ releases, cells }, number, at) {
  const { sentence } = releases[at];
  if (!sentence) return [];
  const title = `release-${number}-${at}`;
  const made = cells.flatMap((cell) => cell.points.flatMap(({ release, step }) =>
    (release === at && step ? [{ cell, step, releases: releases.length }] : [])));
  const relevant = made.filter(({ step }) => step.relevant);
  const smaller = made.filter(({ step }) =>
    !step.relevant && step.delta && ["exact", "changed"].includes(step.verdict));
  const depend = made.filter(({ step }) =>
    !step.relevant && step.verdict === "depends on state");
  return [[
    titled("h3", sentence, title),
    ...(relevant.length ? [stepsTable(title, relevant)] : []),
    ...folded(title, smaller,
      `${counted(smaller.length, "smaller change")}, significant but below ${least()}`),
    ...folded(title, depend, `${counted(depend.length, "change depends", "changes depend")} on \
state: no step of the release alone`),
  ]];
}

/** @param {string} title an id @param {Made[]} made @param {string} text */
function folded(title, made, text) {
  if (!made.length) return [];
  const box = element("details");
  box.append(element("summary", text), stepsTable(title, made));
  return [box];
}

/** Increases first, the largest ones at the top; then decreases, the same way.
 * @param {Made} one @param {Made} other */
function byWay(one, other) {
  const way = Number(one.step.delta < 0) - Number(other.step.delta < 0);
  const [size, otherSize] = [one, other].map(({ step }) => Math.abs(step.relative ?? Infinity));
  if (way || size !== otherSize) return way || otherSize - size;
  return one.cell.name < other.cell.name ? -1 : 1;
}

/** @param {string} title an id @param {Made[]} made */
function stepsTable(title, made) {
  return linesTable(title, [
    ["cell", "what"], ["line", ""], ["before", "number"], ["after", "number"], ["change", "change"],
    ["functions that make most of it", "wrap"], ["events and items", "wrap"], ["commit", "wrap"],
  ], made.sort(byWay).map(({ cell, step, releases }) => ({
    cells: [
      cellName(cell), tableCell("", ...cellSparkline(cell, releases)),
      endCell(step.before), endCell(step.after), stepCell(step),
      functionsCell(step), eventsCell(step), commitCell(step),
    ],
    find: findText(cell),
  })), searched);
}

/** A cell's line, as long as every other one of the series.
 * @param {AtlasCell} cell @param {number} releases */
function cellSparkline({ points }, releases) {
  const values = Array.from({ length: releases }, () => /** @type {number | null} */ (null));
  for (const { release, value } of points) values[release] = value;
  return sparkline(values);
}

/** @param {AtlasCell} cell */
function cellName(cell) {
  const isKnown = cell.points.some(({ value }) => value !== null);
  const op = element("small", cell.per_op ? `per ${cell.op}` : "whole run");
  return nameCell(link(cell.page, cell.name), ...(isKnown ? [op] : []));
}

/** What a search looks in. @param {AtlasCell} cell */
function findText({ name, op, about, tags, points }) {
  const functions = points.flatMap(({ step }) =>
    [...(step?.functions ?? []), ...(step?.seat ? [step.seat] : [])].map((one) => one.name));
  const events = points.flatMap(({ step }) => namedCounts(step).map(({ event }) => event));
  return [name, op, about, ...tags, ...functions, ...events].join(" ");
}

/** Every cell's line. @param {AtlasSeries} series @param {number} number */
function cellsParts({ releases, cells }, number) {
  const isWide = releases.length > MOST_COLUMNS;
  const half = MOST_COLUMNS / 2;
  const columns = [...releases.keys()].filter(
    (at) => !isWide || at < half || at >= releases.length - half,
  );
  const rows = cells.map((cell) => {
    const points = new Map(cell.points.map((point) => [point.release, point]));
    return {
      cells: [
        cellName(cell),
        tableCell("", ...cellSparkline(cell, releases.length)),
        tableCell("change", overall(cell.points)),
        ...columns.map((at) => pointCell(points.get(at))),
      ],
      find: findText(cell),
    };
  });
  const said = isWide ? " (the first and the last releases; each cell has all)" : "";
  const title = `cells-${number}`;
  return [
    titled("h3", counted(cells.length, "cell") + said, title),
    linesTable(title, [
      ["cell", "what"], ["line", ""], ["first to last", "change"],
      ...columns.map((at) => /** @type {[string, string]} */ ([releases[at].title, "number"])),
    ], rows, searched),
  ];
}

/** From the first value to the last. @param {AtlasPoint[]} points */
function overall(points) {
  const known = points.filter(({ value }) => value !== null);
  const [first, last] = [known[0], known[known.length - 1]];
  if (known.length < 2 || !first.value) return "";
  const delta = (last.value ?? 0) - first.value;
  const verdict = first.exact && last.exact ? "exact" : "unsure";
  return changeText({ relative: delta / first.value, delta, verdict, low: null, high: null });
}

/** The recordings, each with its pages and its command. */
export const sourcesParts = () => [
  titled("h2", "Recordings", "recordings"),
  linesTable("recordings", [
    ["recording", "what"], ["cells", "number"], ["recorded", ""], ["A/A", "wrap"],
    ["command", "wrap"],
  ], atlas().sources.map(({ name, page, cells, created, noise, command }) => ({
    cells: [
      nameCell(link(page, name)),
      tableCell("number", count(cells)),
      tableCell("", created),
      tableCell("wrap", noise || "not recorded"),
      tableCell("wrap", element("code", command.join(" "))),
    ],
  }))),
];
