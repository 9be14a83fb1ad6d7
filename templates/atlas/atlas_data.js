// The atlas that a page shows: the whole index, or one cell's line in each series.

import { unpacked } from "../page/packed.js";

/** @import { Atlas, AtlasCell, AtlasPage, AtlasSeries } from "../page.d.ts" */

/** @type {AtlasPage} */
export let held;

/** Take the atlas out of the page. */
export async function loadAtlas() {
  held = await unpacked("data");
}

/** @returns {Atlas} */
export const atlas = () => held.atlas;

/** What a cell's values are. @param {AtlasSeries} series @param {AtlasCell} cell */
export const unitOf = (series, cell) =>
  (cell.per_op ? `${series.unit} per ${cell.op}` : series.unit);
