// The page: fills the controls, and draws everything when the state changes.

import { choose, unhurried } from "./chosen.js";
import { data, load } from "./data.js";
import { at, visible } from "./elements.js";
import { drawExperiment } from "./experiment.js";
import { drawFacts } from "./facts.js";
import { drawAnswers, drawDiffers, drawLargest } from "./headline.js";
import { drawSandwich, startSandwich } from "./sandwich.js";
import { search } from "./search.js";
import { choices, readAddress, state, writeAddress } from "./state.js";
import { drawBody, drawTable, showFirst, startTable } from "./table.js";
import { drawTree, startTree } from "./tree_view.js";

/** @import { Key } from "./state.js" */

/** @param {Key} key @param {string} value */
function change(key, value) {
  const before = state[key];
  state[key] = value;
  // A kernel is not set against itself: the sides change places.
  if (key === "left" && state.right === value) state.right = before;
  if (key === "right" && state.left === value) state.left = before;
  if (key === "metric") {
    const [old, chosen] = [before, value].map((one) => data.metrics[Number(one)].stacks);
    if (old !== chosen) state.zoom = state.function = "";
  }
  writeAddress();
  draw();
}

// Where the graph takes its time, the table waits until the reader stops typing.
const drawBodyUnhurried = unhurried(drawBody);

/** Show what the fields of the search say. */
function changeSearch() {
  state.search = at("search", HTMLInputElement).value;
  state.regex = at("regex", HTMLInputElement).checked ? "1" : "";
  showFirst();
  writeAddress();
  search();
  drawTree();
  drawBodyUnhurried();
}

/** @returns {[Key, string[][]][]} */
const selects = () => /** @type {[Key, string[][]][]} */ (Object.entries(choices()));

/** Show the state in the controls. */
function drawControls() {
  for (const [key, options] of selects()) {
    const shown = options.map(([value, title]) => new Option(visible(title), value));
    at(key, HTMLSelectElement).replaceChildren(...shown);
    at(key, HTMLSelectElement).value = state[key];
  }
  at("search", HTMLInputElement).value = state.search;
  at("regex", HTMLInputElement).checked = state.regex !== "";
}

function draw() {
  drawDiffers();
  // Timed runs have no functions.
  if (!data.metrics.length) return;
  choose();
  search();
  drawControls();
  drawLargest();
  drawTree();
  drawTable();
  drawSandwich();
}

/** Everything about functions: controls, graphs, table. */
function startProfile() {
  readAddress();
  for (const [key] of selects()) {
    const select = at(key, HTMLSelectElement);
    select.addEventListener("change", () => change(key, select.value));
  }
  const kernels = data.kernels.length;
  at("metric-label").hidden = data.metrics.length < 2;
  at("left-label").hidden = at("right-label").hidden = kernels < 3;
  at("colour-label").hidden = at("view-label").hidden = kernels < 2;
  at("controls").addEventListener("submit", (event) => event.preventDefault());
  at("search").addEventListener("input", changeSearch);
  at("regex").addEventListener("change", changeSearch);
  for (const event of ["hashchange", "popstate"]) {
    addEventListener(event, () => {
      readAddress();
      draw();
    });
  }
  startTable();
  startTree();
  startSandwich();
}

async function start() {
  await load();
  at("profile").hidden = !data.metrics.length;
  drawAnswers();
  drawExperiment();
  if (data.metrics.length) startProfile();
  drawFacts();
  draw();
  requestAnimationFrame(() => {
    performance.mark("interactive");
    document.documentElement.dataset.ready = "yes";
  });
}

start().catch((error) => {
  at("answers").textContent = `This report cannot be shown: ${visible(error)}`;
  throw error;
});
