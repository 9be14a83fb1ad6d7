// Bars of deltas in the function table: one scale for all functions of the metric, whatever is
// searched for. Nothing is at the same place in every row, with less on its left.

import { metric, pair } from "./chosen.js";
import { element } from "../page/elements.js";
import { signed } from "../page/numbers.js";
import { difference, formatDelta } from "./units.js";
import { sides } from "../page/state.js";

/** @import { Row } from "./columns.js" */

/** The largest deltas down and up, in the chosen unit. */
const reach = { less: 0, more: 0 };

/** @param {Row} row */
const deltaOf = (row) => difference(...sides(row.self));

/** Take the scale from the functions of the chosen metric. */
export function scaleBars() {
  const deltas = metric.functions.map(deltaOf);
  reach.less = -deltas.reduce((least, delta) => Math.min(least, delta), 0);
  reach.more = deltas.reduce((most, delta) => Math.max(most, delta), 0);
}

/** The heading: both ends of the scale. */
export function barHeading() {
  const { less, more } = reach;
  const cell = element("th", "", "bar");
  const scale = element("span", "", "scale");
  const end = (/** @type {number} */ value) => signed(value, formatDelta);
  scale.append(element("span", end(-less)), element("span", end(more)));
  cell.append(scale);
  cell.scope = "col";
  return cell;
}

/** The cell of a row. @param {Row} row */
export function barCell(row) {
  const delta = deltaOf(row);
  const percent = 100 / (reach.less + reach.more || 1);
  const cell = element("td", "", "bar");
  const track = element("span", "", "track");
  const tint = !pair.isSure(...sides(row.self)) ? "unsure" : delta > 0 ? "more" : "less";
  const filled = element("i", "", tint);
  track.style.setProperty("--nothing", `${reach.less * percent}%`);
  filled.style.left = `${(reach.less + Math.min(0, delta)) * percent}%`;
  filled.style.width = `${Math.abs(delta) * percent}%`;
  if (delta) track.append(filled);
  cell.append(track);
  return cell;
}
