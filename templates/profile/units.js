// Numbers in the chosen unit: one kernel's, or the difference of both.

import { cellCount, count, fine, fixed, opsText, percent, signed } from "../page/numbers.js";
import { data } from "../page/data.js";
import { metricNumber, state } from "../page/state.js";
import { metric, whole } from "./chosen.js";

/** @param {number} value */
export const perOp = (value) => fixed(value / (data.workload.ops ?? 1), 2);

/** As tables have it: whole from 1,000 on, and where it is whole. @param {number} value */
const shortPerOp = (value) => cellCount(value / (data.workload.ops ?? 1));

/** @param {number} value @param {string} label */
export const share = (value, label) => (100 * value) / whole(label);

/** @param {number} value @param {string} label */
export function formatCount(value, label) {
  if (state.unit === "per-op") return shortPerOp(value);
  return state.unit === "share" ? percent(share(value, label)) : count(value);
}

/** Another kernel's count minus the left one's in the chosen unit; of shares, the difference in
 * points. @param {number} left @param {number} other @param {string} label the other's */
export function differenceTo(left, other, label) {
  if (state.unit !== "share") return other - left;
  return share(other, label) - share(left, state.left);
}

/** Right minus left. @param {number} left @param {number} right */
export const difference = (left, right) => differenceTo(left, right, state.right);

/** @param {number} value */
export const points = (value) => `${fixed(value, 2)} points`;

/** A difference in the chosen unit. @param {number} value */
export function formatDelta(value) {
  if (state.unit === "per-op") return shortPerOp(value);
  return state.unit === "share" ? points(value) : count(value);
}

/** @param {number} left @param {number} right */
export const formatDifference = (left, right) => signed(difference(left, right), formatDelta);

/** As `formatCount`, for parts of a function. @param {number} value @param {string} label */
export function fineCount(value, label) {
  if (state.unit === "per-op") return fine(value / (data.workload.ops ?? 1));
  return state.unit === "share" ? `${fine(share(value, label))}%` : count(value);
}

/** As `formatDifference`, for parts of a function. @param {number} left @param {number} right */
export const fineDifference = (left, right) =>
  signed(difference(left, right), (value) => {
    if (state.unit === "per-op") return fine(value / (data.workload.ops ?? 1));
    return state.unit === "share" ? `${fine(value)} points` : count(value);
  });

/** What the numbers are, in words. */
export function unitTitle() {
  const title = metric.unit === metric.metric ? metric.metric : `${metric.metric} (${metric.unit})`;
  const shown = metric === data.metrics[metricNumber()] ? "" : " that are shown";
  if (state.unit === "share") return `share of each kernel's ${title}${shown}`;
  return state.unit === "per-op" ? `${title} per op (${opsText([data.workload.ops ?? 0])})` : title;
}
