// Functions that the search names, and their part of both sides, nested ones once.

import { frameName, metric, names, pair, tree } from "./chosen.js";
import { state } from "../page/state.js";

const NOTHING = { matches: /** @type {Uint8Array | null} */ (null), self: [0, 0], wrong: "" };

/** `matches` has 1 for each function that is named; `wrong` tells why none can be. */
export let found = NOTHING;

export function search() {
  found = NOTHING;
  if (!state.search) return;
  let test;
  try {
    test = tester();
  } catch (error) {
    found = { ...NOTHING, wrong: String(/** @type {Error} */ (error).message) };
    return;
  }
  const matches = Uint8Array.from(names, (_, id) => {
    const row = metric.functions[id];
    return Number([frameName(id), ...(row ? [row.object, row.file] : [])].some(test));
  });
  const under = new Uint8Array(tree.size + 1);
  const self = [0, 0];
  for (let node = 0; node < tree.size; node++) {
    if (!matches[tree.function[node]] && !under[tree.parent[node]]) continue;
    under[node] = 1;
    self[0] += pair.self.left[node];
    self[1] += pair.self.right[node];
  }
  found = { matches, self, wrong: "" };
}

/** What tells whether a text matches; throws where the reader's expression is none.
 * @returns {(text: string) => boolean} */
function tester() {
  if (state.regex) {
    const expression = new RegExp(state.search, "i");
    return (text) => expression.test(text);
  }
  const wanted = state.search.toLowerCase();
  return (text) => text.toLowerCase().includes(wanted);
}
