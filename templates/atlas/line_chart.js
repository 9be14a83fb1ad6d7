// A cell's line over releases: readable in print and without colour, which its classes give.

import { clipped, visible } from "../page/elements.js";
import { cellCount } from "../page/numbers.js";

/** A release on a line. `value`: null where there is none, of which `note` tells why; `way`: of a
 * relevant step up to it; `note`: what made the step.
 * @typedef {{ title: string, value: number | null, way: "" | "more" | "less", change: string,
 * note: string }} LineMark */

const LEFT = 128;
const TOP = 92;
const ROOM = 190;
const BOTTOM = TOP + ROOM;
/** Below are the names of releases. */
const TILTED = 104;
const LEVEL = 34;
/** A page's width; of very many releases, the chart is wider. */
const WIDTH = 1180;
const STRIDE = 92;
/** What a letter takes, at most. */
const LETTER = 7.5;
const LONGEST = 26;

/** An element of SVG with text; attributes take no markup.
 * @param {string} tag @param {Record<string, string | number>} attributes @param {string} [text] */
function drawn(tag, attributes, text = "") {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  made.textContent = visible(text);
  return made;
}

/** @param {number} x @param {number} y @param {string} text @param {string} [kind] its class
 * @param {string} [anchor] */
const label = (x, y, text, kind = "", anchor = "middle") =>
  drawn("text", { class: kind, x, y, "text-anchor": anchor }, text);

/** @param {string} kind its class @param {string} d */
const path = (kind, d) => drawn("path", { class: kind, d });

/** The chart, with every value; `title` is read out.
 * @param {string} title @param {string} unit @param {LineMark[]} marks */
export function lineChart(title, unit, marks) {
  const width = Math.max(WIDTH, LEFT + STRIDE * marks.length + 40);
  const stride = (width - LEFT - 40) / Math.max(1, marks.length);
  const letters = Math.floor(stride / LETTER);
  const height = BOTTOM + (marks.some((mark) => mark.title.length > letters) ? TILTED : LEVEL);
  const most = Math.max(0, ...marks.map(({ value }) => value ?? 0)) || 1;
  const placed = marks.map((mark, n) => ({
    ...mark,
    x: LEFT + stride * (n + 0.5),
    y: TOP + ROOM * (1 - Math.max(mark.value ?? 0, 0) / most),
  }));
  const chart = drawn("svg", {
    class: "line-chart", role: "img", "aria-label": visible(title), width, height,
    viewBox: `0 0 ${width} ${height}`,
  });
  for (const part of [0, 0.5, 1]) {
    const y = TOP + ROOM * (1 - part);
    chart.append(
      path("axis", `M${LEFT} ${y}H${width - 10}`),
      label(LEFT - 8, y + 4, cellCount(part * most), "faint", "end"),
    );
  }
  chart.append(label(8, 16, unit, "faint", "start"));
  const known = placed.filter(({ value }) => value !== null);
  for (const [n, { x, y }] of known.slice(1).entries()) {
    const before = known[n];
    const isGap = placed.indexOf(before) + 1 < placed.indexOf(known[n + 1]);
    chart.append(path(isGap ? "line gap" : "line", `M${before.x} ${before.y}L${x} ${y}`));
  }
  for (const mark of placed) chart.append(...drawnMark(mark, letters));
  return chart;
}

/** A release: its mark on the line, its name below, and above all lines what is said of it, in at
 * most so many `letters`. @param {LineMark & { x: number, y: number }} mark
 * @param {number} letters */
function drawnMark({ x, y, title, value, way, change, note }, letters) {
  const isLevel = title.length <= letters;
  const below = isLevel
    ? label(x, BOTTOM + 20, title)
    : label(x, BOTTOM + 16, clipped(title, LONGEST), "", "end");
  if (!isLevel) {
    below.setAttribute("transform", `rotate(-28 ${x} ${BOTTOM + 16})`);
    below.append(drawn("title", {}, title));
  }
  if (value === null) return [below, label(x, BOTTOM - 6, clipped(note, letters), "faint")];
  const [tip, foot] = way === "more" ? [y - 7, y + 5] : [y + 7, y - 5];
  const shape = way
    ? path(way === "more" ? "up" : "down", `M${x} ${tip}L${x + 6} ${foot}H${x - 6}Z`)
    : drawn("circle", { class: "point", cx: x, cy: y, r: 3.5 });
  shape.append(drawn("title", {}, `${title}: ${cellCount(value)} ${change}`));
  const said = [[cellCount(value), "faint"]];
  if (way) said.push([change, "strong"], ...(note ? [[note, ""]] : []));
  const above = said.map(([text, kind], row) =>
    label(x, TOP - 18 - 14 * row, clipped(text, letters), `said ${kind}`));
  return [below, shape, ...above];
}

/** A line without words, for a table that has the numbers; nothing for fewer than two values.
 * @param {(number | null)[]} values */
export function sparkline(values) {
  const known = values.flatMap((value, at) => (value === null ? [] : [{ at, value }]));
  if (known.length < 2) return [];
  const high = Math.max(...known.map(({ value }) => value));
  const least = Math.min(...known.map(({ value }) => value));
  const low = high > 0 ? Math.min(least, 0.9 * high) : least;
  const step = 84 / Math.max(1, values.length - 1);
  const points = known.map(({ at, value }) =>
    [3 + at * step, 19 - (16 * (value - low)) / (high - low || 1)]);
  const [x, y] = points[points.length - 1];
  const chart = drawn("svg", {
    class: "line-chart small", "aria-hidden": "true", width: 90, height: 22, viewBox: "0 0 90 22",
  });
  chart.append(
    path("line", `M${points.map((point) => point.join(" ")).join("L")}`),
    drawn("circle", { class: "point", cx: x, cy: y, r: 2.2 }),
  );
  return [chart];
}
