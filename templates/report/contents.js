// The list of what is on the page, in its order.

import { at, button } from "../page/elements.js";

/** Sections without a heading of their own in sight. */
const NAMED = new Map([["graphs-title", "Flamegraph"], ["sandwich-name", ""]]);

/** Name every section that is shown; a click goes there. */
export function drawContents() {
  const heads = [...document.querySelectorAll("main h2")].filter((head) =>
    head instanceof HTMLElement && !head.closest("[hidden]"));
  at("contents").replaceChildren(...heads.flatMap((head) => {
    const title = NAMED.get(head.id) ?? head.textContent ?? "";
    if (!title || !(head instanceof HTMLElement)) return [];
    return [button(title, "link", () => {
      const details = head.closest("details");
      if (details) details.open = true;
      head.tabIndex = -1;
      head.scrollIntoView({ block: "start" });
      head.focus({ preventScroll: true });
    })];
  }));
}
