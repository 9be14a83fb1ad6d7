// The report: fills the controls, and draws everything when the state changes.

import { drawAccesses, showAccess, startAccesses } from "./access_view.js";
import { drawCallTree, startCallTree } from "./call_tree.js";
import { drawContents } from "./contents.js";
import { drawBlame } from "./blame.js";
import { choose, unhurried } from "../profile/chosen.js";
import { data, point } from "../page/data.js";
import { at, scrollByKeys, visible } from "../page/elements.js";
import { drawExperiment } from "./experiment.js";
import { drawFacts } from "./facts.js";
import { drawAnswers, drawDiffers, drawLargest } from "./headline.js";
import { drawSandwich, showHeading, startSandwich } from "./sandwich.js";
import { search } from "../profile/search.js";
import { searchByKeys } from "../page/search_keys.js";
import { choices, readAddress, state, takeState, writeAddress } from "../page/state.js";
import { drawSections } from "./sections.js";
import { drawSharing, startSharing } from "./sharing_view.js";
import { drawSteps, startSteps } from "./steps.js";
import { drawBody, drawTable, openFirst, showFirst, startTable } from "./table.js";
import { drawTransforms } from "./transforms.js";
import { drawTree, startTree } from "./tree_view.js";

/** @import { Point } from "../page.d.ts" */
/** @import { Key } from "../page/state.js" */

/** @param {Key} key @param {string} value */
function change(key, value) {
  const before = state[key];
  state[key] = value;
  // A kernel is not set against itself: the sides change places.
  if (key === "left" && state.right === value) state.right = before;
  if (key === "right" && state.left === value) state.left = before;
  // What is looked at has a name, and is found again there.
  if (key === "metric" || key === "point") takeState({ ...state });
  // Rows of another kind have other names.
  if (key === "group") state.access = "";
  writeAddress();
  draw();
}

/** Take another transform of the stacks. @param {{focus?: string, hide?: string}} to */
function transformBy(to) {
  // A frame can lie elsewhere, or be gone.
  Object.assign(state, { zoom: "", ...to });
  writeAddress(true);
  draw();
  if (state.function !== "") showHeading();
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
  const kernels = data.kernels.length;
  at("metric-label").hidden = data.metrics.length < 2;
  at("left-label").hidden = at("right-label").hidden = kernels < 3;
  for (const id of ["colour-label", "view-label", "way-label"]) at(id).hidden = kernels < 2;
  at("search", HTMLInputElement).value = state.search;
  at("regex", HTMLInputElement).checked = state.regex !== "";
}

/** @type {Point | null | undefined} */
let drawnPoint;

/** What is otherwise at another point, apart from functions. */
function drawPoint() {
  drawnPoint = point;
  drawAnswers();
  drawSections(data.sections);
  drawExperiment();
  drawFacts();
  // Timed runs have no functions.
  for (const id of ["profile", "skip", "largest"]) at(id).hidden = !data.metrics.length;
  if (!data.metrics.length) for (const id of ["accesses", "blame"]) at(id).hidden = true;
}

function draw() {
  drawAll();
  drawContents();
}

function drawAll() {
  if (drawnPoint !== point) drawPoint();
  drawControls();
  drawDiffers();
  drawSharing();
  if (!data.metrics.length) return;
  choose();
  search();
  drawLargest((label) => {
    if (label !== state.right) change("right", label);
  });
  drawBlame();
  drawTransforms(transformBy);
  drawTree();
  drawTable();
  drawCallTree();
  drawAccesses();
  drawSteps();
  drawSandwich();
}

/** Everything about functions: controls, graphs, table. */
function startProfile() {
  for (const [key] of selects()) {
    const select = at(key, HTMLSelectElement);
    select.addEventListener("change", () => change(key, select.value));
  }
  searchByKeys(
    at("search", HTMLInputElement),
    () => [...at("functions").querySelectorAll("button.link")].filter(
      (one) => one instanceof HTMLElement),
    openFirst,
  );
  at("search").addEventListener("input", changeSearch);
  at("regex").addEventListener("change", changeSearch);
  startTable();
  startSteps();
  startTree();
  startCallTree();
  startSandwich(showAccess, transformBy);
  startAccesses();
}

/** Show what the address says otherwise. */
export function readAgain() {
  const before = state.function;
  readAddress();
  draw();
  if (state.function !== before) showHeading();
}

/** What the reader left folded, and paper shows. @type {HTMLDetailsElement[]} */
let unfolded = [];

/** Paper has all that can be unfolded. @param {boolean} paper */
function unfold(paper) {
  if (paper) unfolded = [...document.querySelectorAll("details:not([open])")].filter(
    (one) => one instanceof HTMLDetailsElement);
  for (const one of unfolded) one.open = paper;
}

let isStarted = false;

/** Show the document that was taken, for the first time. */
export function showReport() {
  readAddress();
  if (!isStarted) {
    for (const id of ["kernels", "runs", "config", "blame-rows"]) scrollByKeys(at(id));
    startProfile();
    startSharing();
    matchMedia("print").addEventListener("change", ({ matches }) => unfold(matches));
    isStarted = true;
  }
  drawnPoint = undefined;
  draw();
  requestAnimationFrame(() => {
    // The graph has its height now.
    if (data.metrics.length) showHeading();
    performance.mark("interactive");
    document.documentElement.dataset.ready = "yes";
  });
}
