// Text and elements. Whatever comes from the recording is put in by textContent, never as markup.
"use strict";

/** @param {string} id */
const at = (id) => /** @type {any} */ (document.getElementById(id));

/** Control and format characters would hide or reorder what follows: show them as their codes.
 * @param {unknown} text */
function visible(text) {
  if (typeof text === "string" && /^[ -~]*$/.test(text)) return text;
  return String(text).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (c) => `\\u{${(c.codePointAt(0) || 0).toString(16)}}`);
}

/** An element with text; no attribute takes markup.
 * @param {string} tag @param {unknown} [text] @param {string} [className] @returns {any} */
function element(tag, text = "", className = "") {
  const made = document.createElement(tag);
  made.textContent = visible(text);
  if (className) made.className = className;
  return made;
}

/** A row of cells. @param {string} tag @param {unknown[]} texts */
function cells(tag, texts) {
  const line = element("tr");
  line.append(...texts.map((text) => element(tag, text)));
  return line;
}

// Making a format takes longer than using it, and a table has thousands of numbers.
const formats = [0, 1, 2].map((digits) => new Intl.NumberFormat("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits }));

/** @param {number} value @param {0 | 1 | 2} digits */
const fixed = (value, digits) => formats[digits].format(value);

/** Two digits for small numbers, none for large ones: what a reader can compare. @param {number} value */
const short = (value) => fixed(value, Math.abs(value) >= 10_000 || Number.isInteger(value) ? 0 : 2);

/** @param {number} value @param {string} label */
function formatCount(value, label) {
  if (state.unit === "per-op") return fixed(value / data.workload.ops, 2);
  if (state.unit === "share") return `${fixed((100 * value) / (metric.totals[label] || 1), 2)} %`;
  return fixed(value, 0);
}

/** Right minus left in the chosen unit; of shares, the difference in points.
 * @param {number} left @param {number} right */
function difference(left, right) {
  if (state.unit !== "share") return right - left;
  return 100 * (right / (metric.totals[state.right] || 1) - left / (metric.totals[state.left] || 1));
}

/** @param {number} left @param {number} right */
function formatDifference(left, right) {
  const value = difference(left, right);
  const sign = value > 0 ? "+" : "";
  if (state.unit === "per-op") return sign + fixed(value / data.workload.ops, 2);
  if (state.unit === "share") return `${sign}${fixed(value, 2)} points`;
  return sign + fixed(value, 0);
}

/** @param {number} before @param {number} after */
function formatChange(before, after) {
  if (before === after) return "0 %";
  if (before === 0) return "new";
  if (after === 0) return "vanished";
  if (before < 0) return "-";
  if (after >= 10 * before) return `${fixed(after / before, 0)} times`;
  return `${after > before ? "+" : ""}${fixed((100 * (after - before)) / before, 1)} %`;
}

/** Name and unit of the chosen metric. */
const metricTitle = () => (metric.unit === metric.metric ? metric.metric : `${metric.metric} (${metric.unit})`);

/** What the numbers are, in words. */
function unitTitle() {
  if (state.unit === "share") return `share of each kernel's ${metricTitle()}`;
  return state.unit === "per-op" ? `${metricTitle()} per op (${data.workload.ops.toLocaleString("en-US")} ops)` : metricTitle();
}

/** Kernels are always named; the base is said to be it. @param {string} label */
const kernelTitle = (label) => (label === data.base ? (label === "base" ? label : `${label} (base)`) : label);
