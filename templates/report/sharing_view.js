// The lines that change hands between vCPUs, as a table. From a row to the drawing of its line.

import { data, ownPoint, point } from "../page/data.js";
import { at, button, clipped, element, fill, heading, scrollByKeys } from "../page/elements.js";
import { count, opsText } from "../page/numbers.js";
import { distinct, FIRST_LINE, metricNumber, state, writeAddress } from "../page/state.js";
import { onOtherRoom } from "../sharing/line_drawing.js";
import { heldLocks } from "../sharing/held_locks.js";
import { heldSharing, sharingOf } from "../sharing/shared.js";
import {
  sharedColumns, sharedDetails, sharedLine, sharedNumbers,
} from "../sharing/shared_cells.js";
import { openFunction } from "./sandwich.js";

/** @import { PageSharing } from "../page.d.ts" */

/** How many rows are shown first. */
const FIRST_SHARED = 15;
let allRows = false;

/** A function as a link, where the page has one of this name. @param {string} title */
function sharedLink(title) {
  const { functions } = data.metrics[metricNumber()] ?? { functions: [] };
  const [name] = title.split(" ");
  const found = functions.flatMap((row, id) => (row.name === name ? [id] : []));
  const text = clipped(title, 80);
  if (found.length !== 1) return element("span", text);
  return button(text, "link", () => openFunction(found[0]));
}

/** @param {PageSharing} page */
function sharingHead(page) {
  const line = element("tr");
  line.append(heading("col", "data", "name"));
  for (const { title, group, className } of sharedColumns(page)) {
    const cell = heading("col", "", className);
    cell.append(element("small", group), element("span", title));
    line.append(cell);
  }
  line.append(
    heading("col", "verdict", "optional"), heading("col", "kind", "kind"),
    heading("col", "mostly in", "optional what"),
  );
  at("sharing-rows", HTMLTableElement).tHead?.replaceChildren(line);
}

/** What no row has, and the sum. @param {PageSharing} page */
function sharingFoot(page) {
  const line = element("tr");
  line.append(heading("row", "all lines", "name"));
  line.append(...sharedNumbers(page, page, page.changes));
  line.append(element("td", "", "optional"), element("td"), element("td", "", "optional"));
  at("sharing-rows", HTMLTableElement).tFoot?.replaceChildren(line);
}

/** @param {PageSharing} page */
function drawUnpackedSharing(page) {
  sharingHead(page);
  const table = at("sharing-rows", HTMLTableElement);
  const keys = distinct(page.rows.map(({ name }) => name));
  const open = state.line === FIRST_LINE ? 0 : keys.indexOf(state.line);
  const shown = allRows ? page.rows : page.rows.slice(0, Math.max(FIRST_SHARED, open + 1));
  const columns = sharedColumns(page).length + 4;
  table.tBodies[0].replaceChildren(...shown.flatMap((row, number) => {
    const press = () => openLine(number === open ? "" : keys[number]);
    const line = sharedLine(page, row, number, number === open, press, sharedLink);
    return number === open ? [line, sharedDetails(page, row, columns, sharedLink)] : [line];
  }));
  sharingFoot(page);
  at("sharing-table").hidden = !page.rows.length;
  at("sharing-locks").replaceChildren(...heldLocks(page, sharedLink));
  const left = page.rows.length - shown.length;
  at("sharing-more").hidden = !left;
  at("sharing-more").textContent = `Show ${count(left)} more`;
  const per = page.per_op
    ? `, per op (${opsText(page.kernels.map(({ ops }) => ops))})`
    : "";
  const rest = page.rest
    ? `; ${count(page.rest)} more are not on the page: profdiff report --sharing --csv FILE has all`
    : "";
  at("sharing-status").textContent = page.rows.length || page.rest
    ? `${count(page.rows.length)} rows${per}; choose one to see its line${rest}` : "";
  fill("sharing-notes", "li", page.notes);
  at("sharing").dataset.ready = state.line;
}

/** A sentence in which names stand between backticks. @param {string} text */
const withCode = (text) =>
  text.split("`").map((part, n) => element(n % 2 ? "code" : "span", part));

/** Show the lines, as soon as they are unpacked. */
export async function drawSharing() {
  const held = heldSharing();
  const elsewhere = !held && data.sharing && point !== null && !point.own;
  at("sharing").hidden = !held && !elsewhere;
  at("sharing-shown").hidden = !held;
  const there = `The page holds the lines that change hands at ${ownPoint()}.`;
  at("sharing-said").replaceChildren(...withCode(held ? held.sentence : elsewhere ? there : ""));
  if (!held) return;
  const page = await sharingOf();
  if (heldSharing() === held) drawUnpackedSharing(page);
}

/** Open a row, "" for none. @param {string} name */
function openLine(name) {
  const again = document.activeElement?.closest("#sharing tr")?.id;
  state.line = name;
  writeAddress();
  drawSharing().then(() => {
    if (again) document.getElementById(again)?.querySelector("button")?.focus();
  });
}

export function startSharing() {
  scrollByKeys(at("sharing-rows"));
  onOtherRoom(() => drawSharing());
  at("sharing-more").addEventListener("click", () => {
    allRows = true;
    drawSharing();
  });
}
