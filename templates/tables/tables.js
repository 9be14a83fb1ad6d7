// The page of tables: what a command shows that is no report.

import { at, visible } from "../page/elements.js";
import { unpacked } from "../page/packed.js";
import { drawSections } from "../report/sections.js";

/** @import { TablesPage } from "../page.d.ts" */

async function startTables() {
  /** @type {TablesPage} */
  const { heading, command, profdiff, sections } = await unpacked("data");
  document.title = visible(`profdiff: ${heading}`);
  at("heading").textContent = visible(heading);
  drawSections(sections);
  at("made").textContent = visible([`profdiff ${profdiff}`, command].filter(Boolean).join(": "));
  document.documentElement.dataset.ready = "yes";
}

startTables().catch((error) => {
  at("heading").textContent = `This page cannot be shown: ${visible(error)}`;
  throw error;
});
