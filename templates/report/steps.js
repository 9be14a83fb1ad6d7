// What each kernel of a ladder executes more or less than the one before it.

import { metric } from "../profile/chosen.js";
import { data } from "../page/data.js";
import { at, cells, element, heading, holeRow, scrollByKeys } from "../page/elements.js";
import { count, formatChange, signed } from "../page/numbers.js";
import { perOp } from "../profile/units.js";
import { state } from "../page/state.js";

/** @import { ProfileStep, StepFunction } from "../page.d.ts" */

const MOST = 5;

/** @param {number} value */
const number = (value) => (state.unit === "per-op" ? perOp(value) : count(value));

/** What is counted, and how it differs.
 * @param {string} kernel @param {string} name @param {ProfileStep | StepFunction} counted */
function row(kernel, name, { before, after }) {
  const line = element("tr");
  const delta = after - before;
  const tint = delta > 0 ? "more" : delta < 0 ? "less" : "";
  line.append(
    heading("row", kernel, "what"),
    element("td", number(before)),
    element("td", number(after)),
    element("td", signed(delta, number), tint),
    element("td", formatChange(before, after)),
    element("td", name, "what"),
  );
  return line;
}

/** What is said of a step, or of the rest of it. @param {string} delta @param {string} text */
function words(delta, text) {
  const line = cells("td", ["", "", delta, ""]);
  line.prepend(heading("row", ""));
  line.append(element("td", text, "what"));
  return line;
}

/** @param {ProfileStep} step */
function rows(step) {
  const shown = step.functions.slice(0, MOST);
  const all = row(step.kernel, `all, from ${step.previous}`, step);
  all.className = "step";
  const more = step.functions.length - shown.length + step.others;
  const notes = step.notes.map((note) => words("", note));
  const made = [all, ...notes, ...shown.map((one) => row("", one.title, one))];
  const known = shown.reduce((sum, one) => sum + one.after - one.before, 0);
  const rest = step.after - step.before - known;
  if (!more && !rest) return made;
  const others = `${count(more)} more ${more === 1 ? "function" : "functions"}`;
  return [...made, words(signed(rest, number), more ? others : "unresolved")];
}

/** The steps of the chosen metric, and what could not be built. */
export function drawSteps() {
  const { steps } = metric;
  at("steps-section").hidden = !steps.length;
  const head = element("tr");
  const titles = ["Kernel", "Before", "After", "Delta", "Change", "Function"];
  const left = ["Kernel", "Function"];
  head.append(...titles.map((one) => heading("col", one, left.includes(one) ? "what" : "")));
  const holes = data.holes.map((hole) => holeRow(hole, titles.length - 1));
  at("steps").replaceChildren(head, ...steps.flatMap(rows), ...(steps.length ? holes : []));
}

export function startSteps() {
  scrollByKeys(at("steps"));
}
