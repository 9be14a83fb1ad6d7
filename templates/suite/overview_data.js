// The suite that an overview shows, and which of its cells can be opened.

import { unpacked } from "../page/packed.js";
import { unpackedCell } from "./packed_cell.js";

/** @import { Page } from "../page.d.ts" */
/** @import { SuiteCell, SuitePage } from "../page.d.ts" */

/** @type {SuitePage} */
let held;

/** Take the overview out of the page. */
export async function loadSuite() {
  held = await unpacked("data");
}

export const suite = () => held.suite;

/** Every tag that a cell has, in order. */
export const tags = () => [...new Set(suite().cells.flatMap((cell) => cell.tags))].sort();

/** Where a cell is shown; "": nowhere. @param {SuiteCell} cell */
export function addressOfCell(cell) {
  const number = suite().cells.indexOf(cell);
  if (held.pages[number]) return held.pages[number];
  return held.held[number] === null ? "" : `#${new URLSearchParams({ cell: cell.name })}`;
}

/** A cell that the page itself holds. @param {string} name */
export function heldCell(name) {
  return suite().cells.find((cell, n) => cell.name === name && held.held[n] !== null) ?? null;
}

/** The report of a cell that the page holds. @param {SuiteCell} cell @returns {Promise<Page>} */
export async function reportOfCell(cell) {
  const number = held.held[suite().cells.indexOf(cell)];
  return unpackedCell(await unpacked(`cell-${number}`), held.shared);
}
