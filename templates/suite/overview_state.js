// What of a suite the reader asked for; it is in the address, so that a view can be linked.

import { leastText } from "../page/numbers.js";
import { suite, tags } from "./overview_data.js";

/** @typedef {"find" | "tag" | "show" | "sort"} OverviewKey */

/** @type {Record<OverviewKey, string>} */
export const overview = { find: "", tag: "", show: "", sort: "" };

/** The address of the overview as it is. */
export const overviewHash = () => `#${new URLSearchParams(Object.entries(overview).filter(
  ([, value]) => value,
))}`;

/** What can be chosen for a key, each with its title.
 * @returns {Record<Exclude<OverviewKey, "find">, string[][]>} */
export function overviewChoices() {
  const [base, ...others] = suite().kernels.map(({ label }) => label);
  const depend = suite().summaries.some((one) => one.depend > 0);
  return {
    tag: [["", "any"], ...tags().map((tag) => [tag, tag])],
    show: [
      ["", "all cells"],
      ["relevant", `changes of at least ${leastText(suite().threshold)}`],
      ["significant", "every significant change"],
      ...(depend ? [["depends", "changes that depend on state"]] : []),
      ["missing", "not there, failed or not recorded"],
    ],
    sort: [
      ["", others.length ? `largest change, ${others.at(-1)}` : "name"],
      ["workload", "workload"],
      ...others.flatMap((label) => [
        [`more:${label}`, `largest increase, ${label}`],
        [`less:${label}`, `largest decrease, ${label}`],
      ]),
      ["count", `count, ${base}`],
    ],
  };
}

/** Take the state from the address; what is not valid there is ignored. */
export function readOverview() {
  const given = new URLSearchParams(location.hash.slice(1));
  const choices = overviewChoices();
  overview.find = given.get("find") ?? "";
  for (const key of /** @type {const} */ (["tag", "show", "sort"])) {
    const wanted = given.get(key) ?? "";
    overview[key] = choices[key].some(([value]) => value === wanted) ? wanted : "";
  }
}

export function writeOverview() {
  history.replaceState(null, "", overviewHash());
}
