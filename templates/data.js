// The report's document, which everything on the page shows.

import { at } from "./elements.js";

/** @import { Report } from "./document.d.ts" */

/** @type {Report} */
export let data;

/** Take the document out of the page, where it is gzip in base64. */
export async function load() {
  const packed = Uint8Array.from(atob(at("data").textContent ?? ""), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  data = await new Response(stream).json();
}

export const labels = () => data.kernels.map((kernel) => kernel.label);

/** Kernels are always named; the base is said to be it. @param {string} label */
export const kernelTitle = (label) =>
  label === data.base && label !== "base" ? `${label} (base)` : label;
