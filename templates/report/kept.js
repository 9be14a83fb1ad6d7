// What the reader looks at in one tree, found again in another: numbers of functions and of stacks
// differ from point to point and from metric to metric, names do not.

import { frameName, metric, tree } from "../profile/chosen.js";
import { state } from "../page/state.js";

/** @param {number} id of a function */
function nameOf(id) {
  const { object, file } = metric.functions[id] ?? {};
  return [frameName(id), object, file].join("\0");
}

/** The open function, and the frames down to the zoomed one, by name. */
export function remember() {
  const path = state.zoom === "" ? [] : tree.path(Number(state.zoom));
  return {
    name: state.function === "" ? "" : nameOf(Number(state.function)),
    path: path.map((node) => nameOf(tree.function[node])),
  };
}

/** Open and zoom to the same, as far down as it is there. @param {ReturnType<remember>} kept */
export function recall({ name, path }) {
  const found = name ? metric.functions.findIndex((_, id) => nameOf(id) === name) : -1;
  state.function = found < 0 ? "" : String(found);
  let node = tree.size;
  for (const step of path) {
    const next = tree.below(node).find((below) => nameOf(tree.function[below]) === step);
    if (next === undefined) break;
    node = next;
  }
  state.zoom = node === tree.size ? "" : String(node);
}
