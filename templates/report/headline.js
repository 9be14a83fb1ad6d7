// What the reader came for: the answers, how the kernels differ, the functions with the largest
// deltas.

import { ids, metric } from "../profile/chosen.js";
import { data, kernelTitle, labels } from "../page/data.js";
import { at, button, clipped, element, fill, visible } from "../page/elements.js";
import { formatChange, signed } from "../page/numbers.js";
import { differenceTo, formatDelta } from "../profile/units.js";
import { openFunction } from "./sandwich.js";
import { alone, state } from "../page/state.js";

/** @import { Function as FunctionRow, Kernel } from "../page.d.ts" */

/** How many functions a kernel has, and how many kernels, among the largest changes. */
const CHIPS = 5;
const CHIP_ROWS = 3;

export function drawAnswers() {
  const { answers, base, heading, workload } = data;
  const nothing = `One kernel: ${base}. There is nothing to compare it with.`;
  const where = data.joint ? ` ${data.joint.where}` : "";
  document.title = visible(`profdiff: ${labels().join(" against ")}${where}`);
  // What several parts have in common stands above.
  const [title, told] = data.joint ? ["part-heading", "part-answers"] : ["heading", "answers"];
  at(title).textContent = visible(heading);
  // The first sentence says it all: a heading above it would say it twice.
  at(title).classList.toggle("hidden", answers.length > 0);
  fill(told, "span", answers.length ? answers : [nothing]);
  at("workload").textContent = visible(workload.description);
}

/** How two kernels differ, in a line. @param {string} base @param {string} label */
function howTheyDiffer(base, label) {
  const kernels = new Map(data.kernels.map((kernel) => [kernel.label, kernel]));
  const [left, right] = [base, label].map((one) => /** @type {Kernel} */ (kernels.get(one)));
  const named = (/** @type {Kernel} */ kernel) =>
    `${kernelTitle(kernel.label)}: ${kernel.release || "unknown release"}`;
  if (left === right) return named(left);
  const unlike = (/** @type {{values: Record<string, unknown>}} */ { values }) =>
    values[base] !== values[label];
  const differ = [];
  if (left.release !== right.release) differ.push("release");
  if (left.compiler !== right.compiler) differ.push("compiler");
  if (left.build_id !== right.build_id) differ.push("build id");
  for (const { what } of data.facts.differences.filter(unlike)) {
    if (!differ.includes(what.toLowerCase())) differ.push(what);
  }
  const [before, after] = [left, right].map(({ variant }) => variant.words);
  const intended = [
    ...after.filter((word) => !before.includes(word)),
    ...before.filter((word) => !after.includes(word)).map((word) => `without ${word}`),
  ];
  const options = data.facts.config.filter(unlike);
  const relevant = options.filter((one) => one.relevant).length;
  if (options.length) differ.push(`${options.length} config options (${relevant} relevant)`);
  const meant = intended.length ? `They are meant to differ in ${intended.join(", ")}. ` : "";
  const said = differ.length
    ? `${meant}They ${meant && "also "}differ in ${differ.join(", ")}.`
    : `${meant}No ${meant && "other "}difference between the kernels is known.`;
  return `${named(left)} → ${named(right)}. ${said}`;
}

/** The two chosen kernels; where there is nothing to choose, each against the base. */
export function drawDiffers() {
  const others = labels().filter((label) => label !== data.base);
  const against = (others.length ? others : [data.base]).map((label) => [data.base, label]);
  const pairs = data.metrics.length ? [[state.left, state.right]] : against;
  fill("differs", "span", pairs.map(([left, right]) => howTheyDiffer(left, right)));
}

/** The functions that changed most on a kernel, each with a button that opens it there.
 * @param {string} label @param {(label: string) => void} show the kernel, on the right */
function chipsOf(label, show) {
  const left = (/** @type {FunctionRow} */ row) => row.self[state.left];
  const delta = (/** @type {FunctionRow} */ row) => differenceTo(left(row), row.self[label], label);
  const rows = metric.functions.filter(delta);
  rows.sort((a, b) => Math.abs(delta(b)) - Math.abs(delta(a)));
  return rows.slice(0, CHIPS).map((row) => {
    const tint = delta(row) > 0 ? "more" : "less";
    const chip = button("", `chip ${tint}`, () => {
      show(label);
      const search = at("search", HTMLInputElement);
      search.value = row.name;
      search.dispatchEvent(new Event("input"));
      openFunction(ids.get(row) ?? 0);
    });
    const text = signed(delta(row), formatDelta);
    const change = ` ${text} (${formatChange(left(row), row.self[label])})`;
    chip.append(element("b", clipped(row.name, 60)), element("span", change));
    return chip;
  });
}

/** Of each kernel against the left one, a row; of many, those nearest to the right one.
 * @param {(label: string) => void} show a kernel, on the right */
export function drawLargest(show) {
  const others = alone() ? [] : labels().filter((label) => label !== state.left);
  const first = Math.min(others.indexOf(state.right), others.length - CHIP_ROWS);
  const shown = others.slice(Math.max(0, first)).slice(0, CHIP_ROWS);
  const lines = shown.map((label) => {
    const line = element("p");
    if (others.length > 1) line.append(element("span", clipped(label, 40), "kernel"));
    line.append(...chipsOf(label, show));
    return line;
  });
  at("largest").hidden = !lines.some((line) => line.querySelector("button"));
  at("chips").replaceChildren(...lines);
}
