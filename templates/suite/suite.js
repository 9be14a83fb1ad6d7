// The page of a suite: its overview, and the report of the cell that is open.

import { take } from "../page/data.js";
import { at, visible } from "../page/elements.js";
import { heldCell, loadSuite, reportOfCell } from "./overview_data.js";
import { drawOverview, startOverview } from "./overview.js";
import { overviewHash } from "./overview_state.js";
import { place } from "../page/state.js";
import { readAgain, showReport } from "../report/whole_report.js";

/** @import { SuiteCell } from "../page.d.ts" */

/** Where the overview was scrolled to. */
let wasAt = 0;

/** @param {SuiteCell | null} cell null: the overview */
function showPlace(cell) {
  if (!at("overview").hidden) wasAt = scrollY;
  at("overview").hidden = Boolean(cell);
  at("back").hidden = !cell;
}

/** @param {SuiteCell} cell */
async function openCell(cell) {
  if (place.cell === cell.name) {
    readAgain();
    return;
  }
  const report = await reportOfCell(cell);
  showPlace(cell);
  place.cell = cell.name;
  at("back-link", HTMLAnchorElement).href = overviewHash();
  at("back-cell").textContent = visible(`${cell.name}, per ${cell.op}. ${cell.about}`);
  take(report);
  showReport();
  document.title = visible(`${cell.name}: ${document.title}`);
  scrollTo(0, 0);
  at("back-link").focus({ preventScroll: true });
}

function showOverview() {
  const before = place.cell;
  place.cell = "";
  showPlace(null);
  drawOverview();
  if (!before) return;
  scrollTo(0, wasAt);
  const links = [...at("heat").querySelectorAll("a")];
  links.find((link) => link.textContent === before)?.focus({ preventScroll: true });
}

/** Show what the address says. */
async function go() {
  const cell = heldCell(new URLSearchParams(location.hash.slice(1)).get("cell") ?? "");
  if (cell) await openCell(cell);
  else showOverview();
}

async function startSuite() {
  await loadSuite();
  startOverview();
  await go();
  addEventListener("hashchange", go);
  addEventListener("popstate", go);
  performance.mark("overview");
  document.documentElement.dataset.ready = "yes";
}

startSuite().catch((error) => {
  at("suite-heading").textContent = `This report cannot be shown: ${visible(error)}`;
  throw error;
});
