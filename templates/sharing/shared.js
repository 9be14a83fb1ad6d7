// The lines that change hands between vCPUs, unpacked when they are first shown, and their numbers.

import { data, point } from "../page/data.js";
import { count, fixed, signed } from "../page/numbers.js";
import { unpacked } from "../page/packed.js";

/** @import { PageSharing, SharedChange } from "../page.d.ts" */

/** @typedef {"transfers" | "misses"} Measure */

/** What stands for a difference that is not sure, and in front of one that is not exact. */
const NOT_SURE = "?";
const ROUGHLY = "~";

/** @type {Promise<PageSharing> | null} */
let takenSharing = null;

/** What the page has of shared lines here: those of its own point. */
export const heldSharing = () => (point === null || point.own ? data.sharing : null);

/** @returns {Promise<PageSharing>} */
export const sharingOf = () => (takenSharing ??= unpacked("held-sharing"));

/** Two digits, or five for what two would show as nothing. @param {number} value */
export const perOperation = (value) => fixed(value, value && Math.abs(value) < 0.005 ? 5 : 2);

/** A kernel's count: per op by its own operations, where all kernels have complete ones.
 * @param {PageSharing} page @param {string} label @param {number} value */
export function sharedCount(page, label, value) {
  const kernel = page.kernels.find((one) => one.label === label);
  return page.per_op && kernel ? perOperation(value / kernel.ops) : count(value);
}

/** A kernel's difference to the base.
 * @param {PageSharing} page @param {string} label @param {Record<string, number>} counts
 * @param {SharedChange} change @param {Measure} measure */
export function sharedDelta(page, label, counts, change, measure) {
  const base = counts[page.kernels[0].label];
  const { delta, low, high } = change[measure];
  if (delta === null) return counts[label] || base ? NOT_SURE : "0";
  const whole = page.per_op ? delta : counts[label] - base;
  const about = low < high ? ROUGHLY : "";
  return about + (whole ? signed(whole, page.per_op ? perOperation : count) : "0");
}

/** More or less, where that is sure. @param {SharedChange} change @param {Measure} measure */
export function sharedTint(change, measure) {
  const { delta } = change[measure];
  return !delta ? "" : delta > 0 ? "more" : "less";
}

/** A count of each kernel. @template T
 * @param {Record<string, T>} kernels @param {(of: T) => number} counted */
export const countsOf = (kernels, counted) =>
  Object.fromEntries(Object.entries(kernels).map(([label, of]) => [label, counted(of)]));

/** vCPUs by number, those that follow each other as one part. @param {number[]} numbers */
export function vcpuList(numbers) {
  /** @type {[number, number][]} */
  const parts = [];
  for (const number of numbers) {
    const last = parts.at(-1);
    if (last && last[1] + 1 === number) last[1] = number;
    else parts.push([number, number]);
  }
  return parts.map(([first, last]) =>
    first === last ? `${first}` : `${first}${last > first + 1 ? "-" : "+"}${last}`).join("+");
}
