// Counts of the whole window, or of one operation where ops are known.

import { data } from "../page/data.js";
import { count, fine } from "../page/numbers.js";

/** @param {number} value */
export function eachOp(value) {
  const { ops } = data.workload;
  return ops ? fine(value / ops) : count(value);
}

/** What stands behind the name of what is counted. */
export function eachOpTitle() {
  const { ops } = data.workload;
  return ops ? ` per op (${count(ops)} ops)` : "";
}
