// Numbers and changes in words, the same on every page.

// Making a format takes longer than using it, and a table has thousands of numbers.
const formats = [0, 1, 2, 3, 4, 5, 6].map((digits) => {
  return new Intl.NumberFormat("en-US", {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
    // As the reports that are text round.
    roundingMode: "halfEven",
  });
});

/** @param {number} value @param {number} digits up to 6 */
export const fixed = (value, digits) => formats[digits].format(value);

/** @param {number} value */
export const count = (value) => fixed(value, 0);

/** How many operations counts are of: `20 ops`, of several `20 and 40 ops`.
 * @param {number[]} ops */
export function opsText(ops) {
  const every = [...new Set(ops)];
  return `${every.map(count).join(" and ")} ${every.length === 1 && every[0] === 1 ? "op" : "ops"}`;
}

/** Two digits for small numbers, none for large ones: what a reader can compare.
 * @param {number} value */
export const short = (value) =>
  fixed(value, Math.abs(value) >= 10_000 || Number.isInteger(value) ? 0 : 2);

/** @param {number} share in percent @param {0 | 1 | 2} [digits] */
export const percent = (share, digits = 2) => `${fixed(share, digits)}%`;

/** From which fraction on a change is relevant. @param {number} threshold */
export const leastText = (threshold) => `${Number((100 * threshold).toPrecision(6))}%`;

/** More has its sign. @param {number} value @param {(value: number) => string} format */
export const signed = (value, format) => (value > 0 ? "+" : "") + format(value);

/** A number that can be compared with its neighbours. @param {number} value */
export const cellCount = (value) =>
  fixed(value, Math.abs(value) >= 1000 || Number.isInteger(value) ? 0 : 2);

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
export function fine(value) {
  if (!value || Math.abs(value) >= 0.1) return fixed(value, 2);
  return fixed(value, Math.min(6, 1 - Math.floor(Math.log10(Math.abs(value)))));
}

/** Against another kernel, as records of suites and atlases have it.
 * @typedef {{ relative: number | null, delta: number, verdict: string, low: number | null,
 * high: number | null }} Change */

/** The lowest and the highest change over states. @param {Change} change */
function spanText({ low, high }) {
  if (low === null || high === null) return "from 0 in some";
  const ends = [low, high].map((one) => signed(100 * one, (value) => percent(value, 1)));
  return ends.join(" to ");
}

/** What a change is in the state that shows least of it. @param {Change} change */
export function leastOf({ relative, verdict, low, high }) {
  if (verdict !== "depends on state" || low === null || high === null) return relative;
  return low > 0 ? low : Math.max(high, Math.min(low, 0));
}

/** A change in words and signs, which are enough without colour. @param {Change} change */
export function changeText(change) {
  const { relative, delta, verdict } = change;
  if (verdict === "depends on state") return spanText(change);
  if (!delta || verdict === "unchanged") return "=";
  const unsure = verdict === "unsure" ? " ?" : "";
  if (relative === null) return `${delta > 0 ? "from 0" : "to less"}${unsure}`;
  if (relative >= 9) return `${count(1 + relative)} times${unsure}`;
  const digits = Math.abs(relative) < 0.0005 ? 2 : 1;
  const shown = percent(100 * relative, digits);
  if (/^-?0\.00%$/.test(shown)) return `${delta > 0 ? "+" : "-"}<0.01%${unsure}`;
  return signed(100 * relative, () => shown) + unsure;
}
