// What the reader came for: the answers, how the kernels differ, the functions with the largest
// deltas.

import { ids, metric } from "./chosen.js";
import { data, kernelTitle, labels } from "./data.js";
import { at, button, clipped, element, fill, visible } from "./elements.js";
import { difference, formatChange, formatDifference } from "./numbers.js";
import { openFunction } from "./sandwich.js";
import { alone, sides, state } from "./state.js";

/** @import { ByKernel, FunctionRow, Kernel } from "./document.d.ts" */

export function drawAnswers() {
  const { answers, base, workload } = data;
  const nothing = `One kernel: ${base}. Nothing to compare it with.`;
  const where = data.joint ? ` ${data.joint.where}` : "";
  document.title = visible(`profdiff: ${labels().join(" against ")}${where}`);
  // Of several parts, what they have in common stands above.
  const id = data.joint ? "part-answers" : "answers";
  at(id).classList.toggle("many", answers.length > 2);
  fill(id, "span", answers.length ? answers : [nothing]);
  at("workload").textContent = visible(workload.description);
}

/** How two kernels differ, in a line. @param {string} base @param {string} label */
function howTheyDiffer(base, label) {
  const kernels = new Map(data.kernels.map((kernel) => [kernel.label, kernel]));
  const [left, right] = [base, label].map((one) => /** @type {Kernel} */ (kernels.get(one)));
  const named = (/** @type {Kernel} */ kernel) =>
    `${kernelTitle(kernel.label)}: ${kernel.release || "unknown release"}`;
  if (left === right) return named(left);
  const unlike = (/** @type {{values: ByKernel<unknown>}} */ { values }) =>
    values[base] !== values[label];
  const differ = [];
  if (left.release !== right.release) differ.push("release");
  if (left.compiler !== right.compiler) differ.push("compiler");
  if (left.build_id !== right.build_id) differ.push("build id");
  for (const { what } of data.facts.differences.filter(unlike)) {
    if (!differ.includes(what.toLowerCase())) differ.push(what);
  }
  const options = data.facts.config.filter(unlike);
  const relevant = options.filter((one) => one.relevant).length;
  if (options.length) differ.push(`${options.length} config options (${relevant} relevant)`);
  const said = differ.length
    ? `They differ in ${differ.join(", ")}.`
    : "No difference between the kernels is known.";
  return `${named(left)} → ${named(right)}. ${said}`;
}

/** The two chosen kernels; where there is nothing to choose, each against the base. */
export function drawDiffers() {
  const others = labels().filter((label) => label !== data.base);
  const against = (others.length ? others : [data.base]).map((label) => [data.base, label]);
  const pairs = data.metrics.length ? [[state.left, state.right]] : against;
  fill("differs", "span", pairs.map(([left, right]) => howTheyDiffer(left, right)));
}

export function drawLargest() {
  const by = (/** @type {FunctionRow} */ row) => Math.abs(difference(...sides(row.self)));
  const rows = alone() ? [] : metric.functions.filter(by);
  rows.sort((a, b) => by(b) - by(a));
  at("largest").hidden = !rows.length;
  at("chips").replaceChildren(
    ...rows.slice(0, 5).map((row) => {
      const [left, right] = sides(row.self);
      const tint = difference(left, right) > 0 ? "more" : "less";
      const chip = button("", `chip ${tint}`, () => {
        const search = at("search", HTMLInputElement);
        search.value = row.name;
        search.dispatchEvent(new Event("input"));
        openFunction(ids.get(row) ?? 0);
      });
      const change = ` ${formatDifference(left, right)} (${formatChange(left, right)})`;
      chip.append(element("b", clipped(row.name, 60)), element("span", change));
      return chip;
    }),
  );
}
