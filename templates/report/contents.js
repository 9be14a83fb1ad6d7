// The list of what is on the page, in its order.

import { at, button } from "../page/elements.js";

/** Headings that are out of sight, or no name of a section: what stands for them, "" for none. */
const NAMED = new Map([
  ["graphs-title", "Flamegraph"], ["sandwich-name", ""], ["part-heading", ""],
]);

/** Name every section that is shown; a click goes there. */
export function drawContents() {
  const heads = document.querySelectorAll("main h2");
  at("contents").replaceChildren(...[...heads].flatMap((head) => {
    const title = NAMED.get(head.id) ?? head.textContent ?? "";
    if (!title || !(head instanceof HTMLElement) || head.closest("[hidden]")) return [];
    return [button(title, "link", () => {
      const details = head.closest("details");
      if (details) details.open = true;
      head.tabIndex = -1;
      head.scrollIntoView({ block: "start" });
      head.focus({ preventScroll: true });
    })];
  }));
}
