// A list of rows of one height, in a box of its own: only those in sight are elements, so that
// thousands of them scroll as smoothly as a few. Keys and clicks choose a row.

import { element } from "./elements.js";

/** Rows beyond those in sight: what a turn of the wheel shows is there already. */
const AHEAD = 12;
/** How many rows paper gets. */
const MOST_ON_PAPER = 1000;

/** What is listed. `draw` makes the element of a row; `painted` gets which rows are elements;
 * `press` is a second click on the chosen row, or Enter; `chosen` the row.
 * @typedef {{size: number, head: HTMLElement, draw: (row: number) => HTMLElement,
 *   painted: (first: number, end: number) => void, press: (row: number) => void}} Listed */

export class LongList {
  /** @param {HTMLElement} box @param {number} height of a row, in pixels */
  constructor(box, height) {
    this.box = box;
    this.height = height;
    /** All rows' room; `layer` is what is drawn over them. */
    this.room = element("div", "", "rows");
    this.room.role = "rowgroup";
    this.layer = element("div", "", "layer");
    /** @type {Listed | null} */
    this.listed = null;
    this.chosen = -1;
    /** The elements of rows. @type {Map<number, HTMLElement>} */
    this.drawn = new Map();
    this.scheduled = false;
    box.addEventListener("scroll", () => this.schedule());
    box.addEventListener("keydown", (event) => this.key(event));
    box.addEventListener("click", (event) => this.click(event));
    new ResizeObserver(() => this.schedule()).observe(box);
    matchMedia("print").addEventListener("change", () => this.paint());
  }

  /** Show rows, from the first one on. @param {Listed} listed @param {boolean} [again] the same
   * rows, in other words: what is in sight stays there */
  show(listed, again = false) {
    this.listed = listed;
    this.forget();
    this.box.replaceChildren(listed.head, this.room);
    this.box.ariaRowCount = String(listed.size + 1);
    listed.head.ariaRowIndex = "1";
    this.room.style.height = `${listed.size * this.height}px`;
    if (!again) {
      this.chosen = -1;
      this.box.scrollTop = 0;
    }
    this.paint();
  }

  forget() {
    this.drawn.clear();
    this.room.replaceChildren(this.layer);
  }

  schedule() {
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      this.scheduled = false;
      this.paint();
    });
  }

  /** Which rows are to be elements. @returns {[number, number]} */
  range() {
    const { size } = /** @type {Listed} */ (this.listed);
    if (matchMedia("print").matches) return [0, Math.min(size, MOST_ON_PAPER)];
    const { scrollTop, clientHeight } = this.box;
    const first = Math.floor(scrollTop / this.height) - AHEAD;
    const end = Math.ceil((scrollTop + clientHeight) / this.height) + AHEAD;
    return [Math.max(0, Math.min(first, size)), Math.max(0, Math.min(end, size))];
  }

  /** Make the rows in sight, and let go of the others. */
  paint() {
    if (!this.listed) return;
    const [first, end] = this.range();
    for (const [row, made] of this.drawn) {
      if (row >= first && row < end) continue;
      made.remove();
      this.drawn.delete(row);
    }
    for (let row = first; row < end; row++) {
      if (this.drawn.has(row)) continue;
      const made = this.listed.draw(row);
      made.id = `${this.box.id}-${row}`;
      made.ariaRowIndex = String(row + 2);
      made.style.top = `${row * this.height}px`;
      this.drawn.set(row, made);
      // In order, as a screen reader passes through them.
      this.room.insertBefore(made, this.drawn.get(row + 1) ?? null);
    }
    for (const [row, made] of this.drawn) {
      made.ariaSelected = String(row === this.chosen);
    }
    this.layer.style.top = `${first * this.height}px`;
    this.listed.painted(first, end);
  }

  /** Choose a row, and scroll to it. @param {number} row */
  choose(row) {
    if (!this.listed?.size) return;
    this.chosen = Math.max(0, Math.min(row, this.listed.size - 1));
    const head = this.listed.head.offsetHeight;
    const room = this.box.clientHeight - head;
    const top = this.chosen * this.height;
    const { scrollTop } = this.box;
    if (top < scrollTop || top + this.height > scrollTop + room) {
      // One row further where keys walk; in the middle where it is far away.
      const near = Math.abs(top - scrollTop) < room + 2 * this.height;
      const below = top > scrollTop;
      this.box.scrollTop = near
        ? below ? top + this.height - room : top
        : top - (room - this.height) / 2;
    }
    this.paint();
    this.box.setAttribute("aria-activedescendant", `${this.box.id}-${this.chosen}`);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (!this.listed || event.ctrlKey || event.altKey || event.metaKey) return;
    const page = Math.max(1, Math.floor(this.box.clientHeight / this.height) - 2);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
    const step = new Map(Object.entries(steps)).get(event.key);
    if (step !== undefined) this.choose(this.chosen < 0 ? this.inSight() : this.chosen + step);
    else if (event.key === "Home") this.choose(0);
    else if (event.key === "End") this.choose(this.listed.size - 1);
    else if (event.key === "Enter" && this.chosen >= 0) this.listed.press(this.chosen);
    else return;
    event.preventDefault();
  }

  /** The first row in sight. */
  inSight() {
    return Math.ceil(this.box.scrollTop / this.height);
  }

  /** @param {MouseEvent} event */
  click(event) {
    for (const [row, made] of this.drawn) {
      if (!(event.target instanceof Node) || !made.contains(event.target)) continue;
      if (row === this.chosen) this.listed?.press(row);
      else this.choose(row);
      return;
    }
  }
}
