// Functions over all cells of a suite: what makes most of it, whichever cell it is seen in.

import { at, cells, element, heading, visible } from "../page/elements.js";
import { count, fixed, signed } from "../page/numbers.js";
import { suite } from "./overview_data.js";
import { overview } from "./overview_state.js";

const OVER_PAGE = 30;
let shownFunctions = OVER_PAGE;

/** @param {string} label */
const headsOf = (label) => [`${label}: points`, "cells with more", "cells with less"];

export function drawOver() {
  const others = suite().kernels.slice(1).map(({ label }) => label);
  const wanted = overview.find.toLowerCase();
  const all = suite().functions;
  const named = all.filter(({ name }) => name.toLowerCase().includes(wanted));
  // A search for a cell is none for a function.
  const rows = named.length ? named : all;
  const shown = rows.slice(0, shownFunctions);
  const table = at("over", HTMLTableElement);
  const nothing = !all.length || !others.length;
  for (const id of ["over", "over-title", "over-status"]) at(id).hidden = nothing;
  const head = element("tr");
  head.append(
    heading("col", "function", "what"),
    ...others.flatMap(headsOf).map((text) => heading("col", text, "number")),
  );
  table.tHead?.replaceChildren(head);
  table.tBodies[0].replaceChildren(
    ...shown.map(({ name, object, points, up, down }) => {
      const line = cells("td", []);
      const title = heading("row", "", "what");
      title.append(element("code", name));
      if (object !== "vmlinux") title.append(element("small", object));
      line.append(title);
      for (const label of others) {
        const value = points[label] ?? 0;
        const tint = value > 0 ? "more" : value < 0 ? "less" : "";
        const text = signed(value, (one) => fixed(one, 1));
        line.append(
          element("td", text, `number ${tint}`),
          element("td", count(up[label] ?? 0), "number"),
          element("td", count(down[label] ?? 0), "number"),
        );
      }
      return line;
    }),
  );
  at("over-status").textContent = visible(
    "Points: the function's delta as a percentage of the base's whole count of the cell, summed " +
      `over all cells. ${count(shown.length)} of ${count(rows.length)} functions.`,
  );
  const rest = rows.length - shown.length;
  at("over-more").hidden = rest <= 0;
  at("over-more").textContent = `Show ${Math.min(OVER_PAGE, rest)} more of ${rest}`;
}

export function startOver() {
  at("over-more").addEventListener("click", () => {
    shownFunctions += OVER_PAGE;
    drawOver();
  });
}
