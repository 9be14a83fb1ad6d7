// The report's document at the chosen point, which everything on the page shows.

import { at } from "./elements.js";

/** @import { Point, Report } from "./document.d.ts" */

/** As the page was made, at its own point. @type {Report} */
let report;
/** @type {Report} */
export let data;
/** The point of `data`, null if the report has one alone. @type {Point | null} */
export let point = null;

/** Take the document out of the page, where it is gzip in base64. */
export async function load() {
  take(await unpacked("data"));
}

/** Show another document from now on. @param {Report} shown */
export function take(shown) {
  report = shown;
  choosePoint("");
}

/** What an inert element of the page holds. @param {string} id */
export async function unpacked(id) {
  const packed = Uint8Array.from(atob(at(id).textContent ?? ""), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
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
