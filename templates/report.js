// The page: takes its document, and shows the report.

import { load } from "./data.js";
import { at, visible } from "./elements.js";
import { startJoint } from "./joint.js";
import { readAgain, showReport } from "./whole_report.js";

async function start() {
  await load();
  startJoint();
  showReport();
  for (const event of ["hashchange", "popstate"]) addEventListener(event, readAgain);
}

start().catch((error) => {
  at("heading").textContent = `This report cannot be shown: ${visible(error)}`;
  throw error;
});
