// The report's document at the chosen point, which everything on the page shows.

import { unpacked } from "./packed.js";

/** @import { Point, Page } from "../page.d.ts" */

/** As the page was made, at its own point. @type {Page} */
let report;
/** @type {Page} */
export let data;
/** The point of `data`, null if the report has one alone. @type {Point | null} */
export let point = null;

/** Take the document out of the page. */
export async function load() {
  take(await unpacked("data"));
}

/** Show another document from now on. @param {Page} shown */
export function take(shown) {
  report = shown;
  choosePoint("");
}

/** The point that the page was made at; "" if there is no other. */
export const ownPoint = () => report.points.find(({ own }) => own)?.at ?? "";

/** Show what the report says at a point. @param {string} at one of the points, or "" */
export function choosePoint(at) {
  point = report.points.find((one) => one.at === (at || ownPoint())) ?? null;
  data = { ...report, ...report.parts[point?.part ?? ""], ...point?.report };
}

export const labels = () => data.kernels.map((kernel) => kernel.label);

/** Kernels are always named; the base is said to be it. @param {string} label */
export const kernelTitle = (label) =>
  label === data.base && label !== "base" ? `${label} (base)` : label;
