// What a page holds compressed: its data, the code of functions, the reports of cells.

import { at } from "./elements.js";

/** What an inert element of the page holds, gzip in base64. @param {string} id */
export async function unpacked(id) {
  const packed = Uint8Array.from(atob(at(id).textContent ?? ""), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}
