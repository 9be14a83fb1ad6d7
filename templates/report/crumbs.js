// The row above the graphs, which is always as high: the path to the zoomed frame, and what can be
// opened there.

import { foldable, folded, frameName, tree, zoomed } from "../profile/chosen.js";
import { at, button, clipped, visible } from "../page/elements.js";
import { openFunction } from "./sandwich.js";

/** @param {(node: number) => void} zoomTo */
export function drawCrumbs(zoomTo) {
  const node = zoomed();
  const path = tree.path(node).filter((one) => !folded().includes(one));
  const crumb = (/** @type {string} */ text, /** @type {number} */ to) =>
    button(clipped(text, 40), "", () => zoomTo(to));
  const crumbs = at("crumbs");
  crumbs.replaceChildren(
    crumb("all", tree.size),
    ...path.map((one) => crumb(frameName(tree.function[one]), one)),
  );
  crumbs.lastElementChild?.setAttribute("aria-current", "true");
  crumbs.scrollLeft = crumbs.scrollWidth;
  const open = at("open-zoomed", HTMLButtonElement);
  open.disabled = node === tree.size;
  open.title = open.disabled ? "" : visible(frameName(tree.function[node]));
  const fold = at("fold", HTMLButtonElement);
  fold.hidden = !foldable();
  const frames = folded().length ? ["Expand", "collapsed"] : ["Collapse", "root"];
  fold.textContent = `${frames[0]} ${foldable()} ${frames[1]} frames`;
}

/** @param {() => void} turnFold */
export function startCrumbs(turnFold) {
  at("open-zoomed").addEventListener("click", () => openFunction(tree.function[zoomed()]));
  at("fold").addEventListener("click", turnFold);
}
