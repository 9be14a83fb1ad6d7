// Which commits the delta comes from: effects add up to it, and so do lines.

import { metric } from "../profile/chosen.js";
import { data, kernelTitle, point } from "../page/data.js";
import { at, button, clipped, element, fill, heading } from "../page/elements.js";
import { count, fixed, percent, signed } from "../page/numbers.js";
import { perOp } from "../profile/units.js";
import { openFunction } from "./sandwich.js";
import { state } from "../page/state.js";

/** @import { Blame, Row as BlameRow } from "../page.d.ts" */

/** Of a row, as many functions are named. */
const MOST_NAMED = 4;
const HASH = 12;
/** The first rows of many: the flamegraph is not to be far below. */
const FIRST_ROWS = 6;
const FIRST_PAIRS = 3;
let allShown = false;

/** Instructions, per op if the reader wants that. @param {number} value */
const perUnit = (value) => signed(value, state.unit === "per-op" ? perOp : count);

/** A function as reports print it: a link where the page has it. @param {string} title */
function functionLink(title) {
  const rows = metric?.functions ?? [];
  const [name] = title.split(" ");
  const found = rows.flatMap((row, id) => (row.name === name ? [id] : []));
  const text = clipped(title, 60);
  if (found.length !== 1) return element("span", text);
  return button(text, "link", () => openFunction(found[0]));
}

/** @param {BlameRow} row */
function functionsCell({ functions }) {
  const cell = element("td", "", "what");
  for (const [n, one] of functions.slice(0, MOST_NAMED).entries()) {
    if (n) cell.append(", ");
    cell.append(functionLink(one.function), ` ${perUnit(one.effect || one.instructions)}`);
  }
  const rest = functions.length - MOST_NAMED;
  if (rest > 0) cell.append(`, ${count(rest)} more`);
  return cell;
}

/** @param {BlameRow} row @param {number} whole delta @param {number} most of a row */
function blameRow(row, whole, most) {
  const { commit, subject, author_date: date, effect, instructions, suspects, together } = row;
  const line = element("tr", "", row.kind === "commit" ? "" : "other");
  const tint = effect > 0 ? "more" : "less";
  const bar = element("td", "", "bar");
  const track = element("span", "", "track");
  const filled = element("i", "", tint);
  filled.style.width = `${(100 * Math.abs(effect)) / (most || 1)}%`;
  track.append(filled);
  bar.append(track);
  const share = whole ? percent((100 * effect) / whole, 1) : "-";
  const what = heading("row", "", "what");
  if (commit) what.append(element("code", commit.slice(0, HASH)), " ");
  what.append(element("span", clipped(subject, 120)));
  if (date) what.append(" ", element("small", date.slice(0, 10)));
  const near = row.kind === "more-often" ? "callers" : "the function";
  for (const [words, hashes] of /** @type {[string, string[]][]} */ ([
    [`suspects: commits that changed ${near}`, suspects],
    ["the same lines were changed by", together],
  ])) {
    const named = hashes.map((one) => one.slice(0, HASH)).join(", ");
    if (named) what.append(element("p", `${words}: ${named}`));
  }
  line.append(
    element("td", perUnit(effect), `number ${effect ? tint : ""}`),
    element("td", share, "number"), bar, element("td", perUnit(instructions), "number"),
    what, functionsCell(row),
  );
  return line;
}

/** What is not listed, in one row that shows it.
 * @param {BlameRow[]} rows @param {number} whole delta */
function restRow(rows, whole) {
  const rest = rows.slice(FIRST_ROWS);
  if (allShown || !rest.length) return [];
  const sum = rest.reduce((all, row) => all + row.effect, 0);
  const own = rest.reduce((all, row) => all + row.instructions, 0);
  const line = element("tr");
  const share = whole ? percent((100 * sum) / whole, 1) : "-";
  const cell = element("td", "", "what");
  cell.append(button(`Show ${count(rest.length)} more rows`, "", () => {
    allShown = true;
    drawBlame();
  }));
  line.append(element("td", perUnit(sum), "number"), element("td", share, "number"));
  line.append(element("td", "", "bar"), element("td", perUnit(own), "number"));
  line.append(cell, element("td"));
  return [line];
}

/** @param {Blame} blame */
function drawRows({ base, new: other, delta, rows, renamed, notes, revisions }) {
  const head = element("tr");
  const unit = state.unit === "per-op" ? "per op" : "instructions";
  const kinds = ["number", "number", "bar", "number", "what", "what"];
  const titles = [`effect, ${unit}`, "share of delta", "", "its lines", "commit, or what it is"];
  head.append(...[...titles, "functions"].map((text, n) => heading("col", text, kinds[n])));
  const most = rows.reduce((all, row) => Math.max(all, Math.abs(row.effect)), 0);
  const foot = element("tr");
  foot.append(element("td", perUnit(delta), "number"), element("td", "100.0%", "number"));
  foot.append(element("td", "", "bar"), element("td", perUnit(delta), "number"));
  foot.append(element("td", "the delta", "what"), element("td"));
  const listed = allShown ? rows : rows.slice(0, FIRST_ROWS);
  at("blame-rows").replaceChildren(
    head, ...listed.map((row) => blameRow(row, delta, most)), ...restRow(rows, delta), foot);
  const at_ = (/** @type {string} */ label) =>
    kernelTitle(label) + (revisions[label] ? ` at ${revisions[label].slice(0, HASH)}` : "");
  const pairs = renamed.map(({ vanished, new: now, alike }) =>
    `${vanished} → ${now}? ${fixed(100 * alike, 0)}% of their code is alike.`);
  const listedPairs = allShown ? pairs : pairs.slice(0, FIRST_PAIRS);
  const rest = pairs.length - listedPairs.length;
  if (rest) listedPairs.push(`${count(rest)} more pairs may be one function, renamed or moved`);
  fill("blame-notes", "li", [`${at_(other)} against ${at_(base)}`, ...listedPairs, ...notes]);
}

/** The table, where the page has one and it is about the chosen point. */
export function drawBlame() {
  const { blame } = data;
  const shown = blame !== null && (point === null || point.own);
  at("blame").hidden = !shown;
  if (shown) drawRows(blame);
}
