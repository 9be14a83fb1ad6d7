// Numbers in words: in the chosen unit, one kernel's or the difference of both.

import { metric, whole } from "./chosen.js";
import { data } from "./data.js";
import { state } from "./state.js";

// Making a format takes longer than using it, and a table has thousands of numbers.
const formats = [0, 1, 2, 3, 4, 5, 6].map((digits) => {
  const same = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return new Intl.NumberFormat("en-US", same);
});

/** @param {number} value @param {number} digits up to 6 */
export const fixed = (value, digits) => formats[digits].format(value);

/** @param {number} value */
export const count = (value) => fixed(value, 0);

/** Two digits for small numbers, none for large ones: what a reader can compare.
 * @param {number} value */
export const short = (value) =>
  fixed(value, Math.abs(value) >= 10_000 || Number.isInteger(value) ? 0 : 2);

/** @param {number} value */
export const perOp = (value) => fixed(value / (data.workload.ops ?? 1), 2);

/** @param {number} share in percent @param {0 | 1 | 2} [digits] */
export const percent = (share, digits = 2) => `${fixed(share, digits)}%`;

/** @param {number} value @param {string} label */
export const share = (value, label) => (100 * value) / whole(label);

/** More has its sign. @param {number} value @param {(value: number) => string} format */
export const signed = (value, format) => (value > 0 ? "+" : "") + format(value);

/** @param {number} value @param {string} label */
export function formatCount(value, label) {
  if (state.unit === "per-op") return perOp(value);
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
  if (state.unit === "per-op") return perOp(value);
  return state.unit === "share" ? points(value) : count(value);
}

/** @param {number} left @param {number} right */
export const formatDifference = (left, right) => signed(difference(left, right), formatDelta);

/** @param {number} before @param {number} after */
export function formatChange(before, after) {
  if (before === after) return percent(0, 0);
  if (before < 0 || (before === 0 && after < 0)) return "-";
  if (before === 0) return "new";
  if (after === 0) return "vanished";
  if (after >= 10 * before) return `${count(after / before)} times`;
  return signed((100 * (after - before)) / before, (change) => percent(change, 1));
}

/** Two digits behind the point, and of what is small two that say something: an instruction that
 * one page in a thousand needs is not 0.00. @param {number} value */
function fine(value) {
  if (!value || Math.abs(value) >= 0.1) return fixed(value, 2);
  return fixed(value, Math.min(6, 1 - Math.floor(Math.log10(Math.abs(value)))));
}

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
  if (state.unit === "share") return `share of each kernel's ${title}`;
  return state.unit === "per-op" ? `${title} per op (${count(data.workload.ops ?? 0)} ops)` : title;
}
