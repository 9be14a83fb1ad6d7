// The code of a function, unpacked from its element when it is first opened.

import { data } from "../page/data.js";
import { unpacked } from "../page/packed.js";

/** @import { CodeColumns, FunctionCode } from "../page.d.ts" */

export const RELATIONS = /** @type {const} */ (["same", "changed", "only"]);

/** @type {Map<string, Promise<FunctionCode>>} */
const opened = new Map();

/** Whether the page has the code of a function. @param {number} metric @param {number} id */
export const isHeld = (metric, id) => data.code.functions[metric]?.includes(id) ?? false;

/** @param {number} metric @param {number} id @returns {Promise<FunctionCode>} */
export function codeOf(metric, id) {
  const name = `code-${metric}-${id}`;
  const found = opened.get(name) ?? unpacked(name).then(withPlaces);
  opened.set(name, found);
  return found;
}

/** Addresses and lines are packed as differences: make them offsets. @param {FunctionCode} code */
function withPlaces(code) {
  for (const of of Object.values(code.kernels)) {
    let offset = 0;
    of.address = of.address.map((step, row) => (of.text[row] ? (offset += step) : 0));
  }
  return code;
}

/** An address, in hexadecimal. @param {CodeColumns} of @param {number} row */
export const addressOf = ({ start, address }, row) =>
  (BigInt(`0x${start}`) + BigInt(address[row])).toString(16);
