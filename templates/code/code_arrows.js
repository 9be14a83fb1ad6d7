// Arrows of jumps beside the code: each in a lane of its own, inner ones nearer to the code.

/** @import { Jump } from "./code_rows.js" */

/** More lanes than these cannot be told apart. */
export const MOST_LANES = 6;
const STEP = 6;
const HEAD = 4;
const SVG = "http://www.w3.org/2000/svg";

/** How wide all lanes are, in pixels. @param {number} lanes */
export const gutter = (lanes) => (lanes ? lanes * STEP + 2 * HEAD : 0);

/** A jump with its lane, from 0; -1 where all lanes are taken.
 * @typedef {Jump & {lane: number}} Arrow */

/** @param {Jump[]} jumps @returns {Arrow[]} */
export function arrowsOf(jumps) {
  const sized = jumps.map((jump) => ({ ...jump, lane: -1 }));
  sized.sort((a, b) => Math.abs(a.to - a.from) - Math.abs(b.to - b.from) || a.from - b.from);
  /** In each lane, the rows that are taken. @type {[number, number, number][][]} */
  const lanes = [];
  for (const arrow of sized) {
    const [first, last] = [Math.min(arrow.from, arrow.to), Math.max(arrow.from, arrow.to)];
    // Jumps to one row share its lane.
    let lane = lanes.findIndex((taken) =>
      taken.every(([from, to, target]) => to < first || last < from || target === arrow.to));
    if (lane < 0 && lanes.length < MOST_LANES) lane = lanes.push([]) - 1;
    if (lane >= 0) lanes[lane].push([first, last, arrow.to]);
    arrow.lane = lane;
  }
  return sized;
}

/** How many lanes there are. @param {Arrow[]} arrows */
export const lanesOf = (arrows) => 1 + arrows.reduce((most, { lane }) => Math.max(most, lane), -1);

/** Draw the arrows that pass rows. @param {SVGSVGElement} into @param {Arrow[]} arrows
 * @param {{first: number, end: number, height: number, width: number, chosen: number}} view
 *   rows, their height, the width of all lanes, and the row whose arrows are emphasised */
export function drawArrows(into, arrows, { first, end, height, width, chosen }) {
  const y = (/** @type {number} */ row) => (row - first + 0.5) * height;
  const drawn = arrows.filter(({ from, to }) => Math.max(from, to) >= first &&
    Math.min(from, to) < end);
  into.setAttribute("width", String(width));
  into.setAttribute("height", String((end - first) * height));
  into.replaceChildren(
    ...drawn.map(({ from, to, taken, lane }) => {
      const path = document.createElementNS(SVG, "path");
      const name = [to <= from ? "loop" : "", taken ? "" : "untaken"];
      if (chosen === from || chosen === to) name.push("chosen");
      path.setAttribute("class", name.filter(Boolean).join(" "));
      // Far away, an arrow need not be longer than what is seen.
      const [begin, goal] = [from, to].map((row) =>
        Math.max(-height, Math.min((end - first + 1) * height, y(row))));
      const x = width - 2 * HEAD - lane * STEP;
      const head = `m${-HEAD},${-HEAD}l${HEAD},${HEAD}l${-HEAD},${HEAD}`;
      const down = to > from ? 1 : -1;
      path.setAttribute(
        "d",
        lane < 0
          ? `M${width},${begin}H${width - HEAD}v${down * HEAD}`
          : `M${width},${begin}H${x}V${goal}H${width - 1}${head}`,
      );
      return path;
    }),
  );
}

/** An empty picture, which a screen reader passes over. */
export function picture() {
  const made = document.createElementNS(SVG, "svg");
  made.setAttribute("aria-hidden", "true");
  return made;
}
