// The overview of a suite: the sentence, the map of cells, the functions over all of them.

import { at, cells, fill, heading, scrollByKeys, visible } from "../page/elements.js";
import { leastText } from "../page/numbers.js";
import { drawHeat } from "./heat_map.js";
import { drawOver, startOver } from "./over_cells.js";
import { drawHappened } from "./over_events.js";
import { suite } from "./overview_data.js";
import {
  overview, overviewChoices, overviewHash, readOverview, writeOverview,
} from "./overview_state.js";
import { searchByKeys } from "../page/search_keys.js";

/** @import { SuiteDocument } from "../page.d.ts" */

const CHOSEN = /** @type {const} */ (["tag", "show", "sort"]);

function drawSuite() {
  const { name, created, profdiff, kernels, sentence, summaries, banner, noise } = suite();
  const sentences = summaries.length ? summaries.map((one) => one.sentence) : [sentence];
  fill("suite-sentence", "span", sentences);
  at("suite-heading").textContent = visible(headingOf(suite()));
  at("suite-banner").textContent = visible(banner);
  at("suite-noise").hidden = !noise;
  at("suite-noise").textContent = visible(noise?.sentence ?? "");
  const restored = new Map([[true, "restored machines"], [false, "booted machines"]]);
  const machines = suite().restored;
  const said = [`Suite ${name}`, machines === null ? "" : restored.get(machines), ...remarks()];
  fill("suite-remarks", "li", said.filter((one) => one !== undefined && one !== "").map(String));
  at("suite-made").textContent = visible(`profdiff ${profdiff}, recorded ${created}`);
  const given = kernels.some(({ variant }) => variant.words.length);
  at("suite-kernels").replaceChildren(
    cells("th", ["Kernel", "Release", "Build id", "Compiler", ...(given ? ["Given"] : [])]),
    ...kernels.map(({ label, release, build_id: id, compiler, variant: { words } }) => {
      const own = given ? [words.join(" ") || "-"] : [];
      const known = [release, id, compiler].map((value) => value ?? "unknown");
      const line = cells("td", [...known, ...own]);
      line.prepend(heading("row", label));
      return line;
    }),
  );
  at("heat-relevant").textContent = leastText(suite().threshold);
}

const remarks = () => suite().remarks;

/** In how many cells the last two kernels changed. @param {SuiteDocument} shown */
function headingOf({ name, summaries, threshold }) {
  const last = summaries.slice(-2);
  if (!last.length) return `Suite ${name}`;
  const least = leastText(threshold);
  const more = last.map((one) => `${one.more} of ${one.compared} cells on ${one.kernel}`);
  const less = last.map((one) => String(one.less));
  return `At least ${least} more: ${more.join(", ")}; less: ${less.join(", ")}`;
}

/** Show the state in the controls. */
function drawChoices() {
  const choices = overviewChoices();
  for (const key of CHOSEN) {
    const select = at(`suite-${key}`, HTMLSelectElement);
    select.replaceChildren(...choices[key].map(([value, title]) =>
      new Option(visible(title), value)));
    select.value = overview[key];
  }
  at("suite-find", HTMLInputElement).value = overview.find;
}

/** The address of what is drawn: a reader's place in the table is not lost to drawing it again. */
let drawnHash = "";

function drawChosen() {
  drawnHash = overviewHash();
  drawHeat();
  drawOver();
}

function changeOverview() {
  overview.find = at("suite-find", HTMLInputElement).value;
  for (const key of CHOSEN) overview[key] = at(`suite-${key}`, HTMLSelectElement).value;
  writeOverview();
  drawChosen();
}

/** Show what the address says. */
export function drawOverview() {
  readOverview();
  document.title = visible(`profdiff: ${suite().name}`);
  if (overviewHash() === drawnHash) return;
  drawChoices();
  drawChosen();
}

export function startOverview() {
  drawSuite();
  drawHappened("events");
  drawHappened("items");
  startOver();
  for (const id of ["heat", "over", "over-events", "over-items", "suite-kernels"]) {
    scrollByKeys(at(id));
  }
  searchByKeys(at("suite-find", HTMLInputElement), () => [...at("heat").querySelectorAll("a")]);
  at("suite-find").addEventListener("input", changeOverview);
  for (const key of CHOSEN) at(`suite-${key}`).addEventListener("change", changeOverview);
}
