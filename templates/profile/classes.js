// What kind of instructions the open function executed, and how large its code is.

import { metric } from "./chosen.js";
import { at, element } from "../page/elements.js";
import { count } from "../page/numbers.js";
import { fineCount, fineDifference } from "./units.js";
import { alone, sides, state } from "../page/state.js";

/** @import { Code } from "../page.d.ts" */

/** A class and the values of both sides. @param {string} name @param {[number, number]} both */
function classItem(name, [left, right]) {
  const made = element("li", `${name} ${fineCount(left, state.left)}`);
  if (alone() || left === right) return made;
  const delta = fineDifference(left, right);
  const tint = right > left ? "more" : "less";
  made.append(` → ${fineCount(right, state.right)}: `, element("span", delta, tint));
  return made;
}

/** The classes of the instructions that a function executed itself. @param {number} id */
export function drawClasses(id) {
  /** @type {Record<string, Record<string, number[]>>} */
  const columns = metric.classes?.functions ?? {};
  const items = Object.entries(columns).flatMap(([name, column]) => {
    const [left, right] = sides(column).map((values) => values[id]);
    return left || right ? [classItem(name, [left, right])] : [];
  });
  at("classes").hidden = !items.length;
  at("classes-list").replaceChildren(...items);
}

/** How a function ran on a kernel. @param {Code} code @param {number} id
 * @param {string} label */
function way({ copies, called }, id, label) {
  const places = copies[label][id];
  const inlined = places ? `inlined in ${count(places)} ${places === 1 ? "place" : "places"}` : "";
  const itself = called[label][id] ? "called" : "";
  return [itself, inlined].filter(Boolean).join(", and ") || "not executed";
}

/** How large its code is, and whether it ran inlined. @param {number} id @returns {string[]} */
export function codeSentences(id) {
  const { code } = metric;
  if (!code) return [];
  const labels = alone() ? [state.left] : [state.left, state.right];
  const said = (/** @type {string[]} */ values) => [...new Set(values)].join(" → ");
  const sizes = labels.map((label) => {
    const size = code.size[label][id];
    return size === null ? "?" : count(size);
  });
  const known = sizes.some((size) => size !== "?");
  const size = `code with what is inlined: ${said(sizes)} bytes`;
  return [said(labels.map((label) => way(code, id, label))), ...(known ? [size] : [])];
}
