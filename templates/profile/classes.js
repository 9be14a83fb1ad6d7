// The inventory of the open function, and how large its code is.

import { metric } from "./chosen.js";
import { at, element } from "../page/elements.js";
import { data } from "../page/data.js";
import { count } from "../page/numbers.js";
import { fineCount, fineDifference } from "./units.js";
import { alone, state } from "../page/state.js";

/** @import { Code } from "../page.d.ts" */

/** An item and the values of both sides. @param {string} name @param {number} left
 * @param {number} right */
function classItem(name, left, right) {
  const made = element("li", `${name} ${fineCount(left, state.left)}`);
  if (alone() || left === right) return made;
  const delta = fineDifference(left, right);
  const tint = right > left ? "more" : "less";
  made.append(` → ${fineCount(right, state.right)}: `, element("span", delta, tint));
  return made;
}

/** A table of the inventory: its rows, and where its columns are. @param {string} name */
function inventoryTable(name) {
  const tables = data.sections.flatMap((section) => section.tables ?? []);
  const table = tables.find((one) => one.name === name);
  const place = (/** @type {string} */ column, /** @type {string | null} */ kernel) =>
    table?.columns.findIndex((one) => one.name === column && (one.kernel ?? null) === kernel) ?? -1;
  return { rows: [...(table?.rows ?? []), ...(table?.hidden ?? [])], place };
}

/** The instructions that a function executed itself, by item. @param {number} id */
export function drawClasses(id) {
  const own = inventoryTable("inventory-functions"), whole = inventoryTable("inventory");
  const number = own.place("number", null), item = own.place("item", null);
  const counts = [state.left, state.right].map((label) => own.place("count", label));
  const order = whole.rows.map((row) => row[whole.place("item", null)]);
  const rows = metric.exact ? own.rows.filter((row) => row[number] === id) : [];
  rows.sort((one, other) => order.indexOf(one[item]) - order.indexOf(other[item]));
  const items = rows.map((row) => {
    const [left, right] = counts.map((at) => Number(row[at]));
    return { name: String(row[item]), left, right };
  }).filter(({ left, right }) => left || right)
    .map(({ name, left, right }) => classItem(name, left, right));
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
