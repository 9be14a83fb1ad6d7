// The page: takes its document, and shows the report.

import { data, load } from "../page/data.js";
import { at, visible } from "../page/elements.js";
import { startJoint } from "./joint.js";
import { readAgain, showReport } from "./whole_report.js";

async function start() {
  await load();
  if (data.back) {
    at("back").hidden = false;
    at("back-link", HTMLAnchorElement).href = data.back.address;
    at("back-cell").textContent = visible(data.back.cell);
  }
  startJoint();
  showReport();
  for (const event of ["hashchange", "popstate"]) addEventListener(event, readAgain);
}

start().catch((error) => {
  at("heading").textContent = `This report cannot be shown: ${visible(error)}`;
  throw error;
});
