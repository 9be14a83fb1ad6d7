// Elements of the page. What comes from the recording is put in by textContent, never as markup.

/** @import { Hole } from "../page.d.ts" */

/** Control and format characters would hide or reorder what follows: show them as their codes.
 * @param {unknown} text */
export function visible(text) {
  if (typeof text === "string" && /^[ -~]*$/.test(text)) return text;
  const code = (/** @type {string} */ c) => `\\u{${(c.codePointAt(0) ?? 0).toString(16)}}`;
  return String(text).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, code);
}

/** @param {string} text @param {number} most characters */
export const clipped = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

/** The element that the page has under an id.
 * @template {HTMLElement} T
 * @param {string} id @param {new () => T} [kind] @returns {T} */
export function at(id, kind) {
  const found = document.getElementById(id);
  if (!(found instanceof (kind ?? HTMLElement))) throw new TypeError(`the page has no such ${id}`);
  return /** @type {T} */ (found);
}

/** An element with text; no attribute takes markup.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag @param {unknown} [text] @param {string} [className] */
export function element(tag, text = "", className = "") {
  const made = document.createElement(tag);
  made.textContent = visible(text);
  if (className) made.className = className;
  return made;
}

/** A name that may be broken behind its underscores and dots. @param {string} name
 * @returns {(string | HTMLElement)[]} */
export const breakable = (name) => visible(name).split(/(?<=[_.])(?=[^_.])/).flatMap((part, n) =>
  (n ? [document.createElement("wbr"), part] : [part]));

/** @param {string} text @param {string} className @param {() => void} press */
export function button(text, className, press) {
  const made = element("button", text, className);
  made.type = "button";
  made.addEventListener("click", press);
  return made;
}

/** A row of cells. @param {"td" | "th"} tag @param {unknown[]} texts */
export function cells(tag, texts) {
  const line = element("tr");
  line.append(...texts.map((text) => element(tag, text)));
  return line;
}

/** A cell that names its row or column.
 * @param {"row" | "col"} scope @param {string} [text] @param {string} [className] */
export function heading(scope, text, className) {
  const cell = element("th", text, className);
  cell.scope = scope;
  return cell;
}

/** The row of a kernel that could not be built, and why.
 * @param {Hole} hole @param {number} columns behind the label's */
export function holeRow({ label, reason }, columns) {
  const line = element("tr");
  const why = element("td", `not built: ${reason}`, "what");
  why.colSpan = columns;
  line.append(heading("row", label, "what"), why);
  return line;
}

/** Fill an element with one for each text.
 * @param {string} id @param {"li" | "span"} tag @param {string[]} texts */
export function fill(id, tag, texts) {
  at(id).replaceChildren(...texts.map((text) => element(tag, text)));
}

/** A box in which what is wide scrolls, by keys as well. @param {string} title the id of its name
 * @param {HTMLElement} content */
export function scrolling(title, content) {
  const box = element("div", "", "scroll");
  box.setAttribute("role", "group");
  box.setAttribute("aria-labelledby", title);
  box.append(content);
  scrollByKeys(content);
  return box;
}

/** Mark a box that is too narrow for its content, and whether some of that is at the right.
 * @param {Element} box */
function markCut(box) {
  const { clientWidth, scrollLeft, scrollWidth } = box;
  box.classList.toggle("overfull", scrollWidth > clientWidth);
  box.classList.toggle("cut", scrollLeft + clientWidth < scrollWidth - 1);
}

const sizes = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const box = target.closest(".scroll");
    if (!box) continue;
    markCut(box);
    // Where nothing scrolls, keys have nothing to do there.
    if (box.scrollWidth > box.clientWidth) box.setAttribute("tabindex", "0");
    else box.removeAttribute("tabindex");
  }
});

/** Make the box around some content a Tab stop while that is wider than the box, and show that it
 * is. @param {HTMLElement} content */
export function scrollByKeys(content) {
  sizes.observe(content);
  const box = content.parentElement;
  if (!box) return;
  sizes.observe(box);
  box.addEventListener("scroll", () => markCut(box));
}
