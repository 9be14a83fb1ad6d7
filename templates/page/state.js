// What the reader chose; it is in the address, so that a view can be linked.

import { choosePoint, data, labels, ownPoint } from "./data.js";


/** @typedef {Record<string, string>} Titles */
/** @type {Titles} */
export const VIEWS = {
  both: "side by side", difference: "difference", left: "left only", right: "right only",
};
/** @type {Titles} */
export const WIDTHS = {
  left: "left", right: "right", larger: "larger of both", delta: "absolute delta",
};
/** @type {Titles} */
export const COLOURS = { self: "self delta", total: "total delta", none: "kernel / user" };
const SHAPES = { icicle: "icicle", flame: "flame" };

export const state = /** @type {ReturnType<typeof defaults>} */ ({});

/** @typedef {keyof typeof state} Key */

/** Which cell of a suite's page is open; "" on other pages. */
export const place = { cell: "" };

/** One kernel is shown, against nothing. */
export const alone = () => state.left === state.right;

/** The values of the two kernels that are shown.
 * @template T @param {Record<string, T>} values @returns {[T, T]} */
export const sides = (values) => [values[state.left], values[state.right]];

/** The state of a fresh page. */
function defaults() {
  const several = data.kernels.length > 1;
  return {
    point: ownPoint(),
    metric: "0",
    unit: data.workload.ops ? "per-op" : "absolute",
    view: several ? "difference" : "left",
    width: "larger",
    colour: several ? "self" : "none",
    shape: "icicle",
    left: data.base,
    right: labels().find((label) => label !== data.base) ?? data.base,
    search: "",
    regex: "",
    side: "",
    by: "instruction",
    group: "field",
    access: "",
    find: "",
    does: "",
    // Of the lines that change hands, the first row is open.
    line: data.sharing?.rows ? "0" : "",
    fold: "",
    zoom: "",
    function: "",
  };
}

const keys = () => /** @type {Key[]} */ (Object.keys(defaults()));

/** What can be chosen for a key, each with its title.
 * @returns {Partial<Record<Key, string[][]>>} */
export function choices() {
  const kernels = labels().map((label) => [label, label]);
  const title = (/** @type {{metric: string, exact: boolean}} */ one) =>
    `${one.metric}, ${one.exact ? "exact" : "sampled"}`;
  const views = { ...VIEWS, left: `${state.left} only`, right: `${state.right} only` };
  const units = { absolute: "absolute", share: "share" };
  return {
    point: data.points.map(({ at, title }) => [at, title]),
    metric: data.metrics.map((one, index) => [String(index), title(one)]),
    unit: Object.entries(data.workload.ops ? { "per-op": "per op", ...units } : units),
    view: kernels.length > 1 ? Object.entries(views) : [["left", "alone"]],
    width: Object.entries({ ...WIDTHS, left: state.left, right: state.right }),
    colour: Object.entries(COLOURS),
    shape: Object.entries(SHAPES),
    left: kernels,
    right: kernels,
    by: [["instruction", "instruction"], ["line", "line"]],
    group: [["field", "a field"], ["type", "a type"], ["line", "a line of 64 bytes"]],
    does: Object.entries({ "": "loads and stores", load: "loads", store: "stores" }),
    side: Object.entries({ "": "kernel and user", kernel: "kernel", user: "user" }),
  };
}

/** What a key may be; searches may be anything. @param {Key} key @param {string} value */
function allowed(key, value) {
  const { stacks, functions } = data.metrics[Number(state.metric)] ?? { functions: [] };
  /** @type {Record<string, number>} */
  const rowsOf = data.accesses?.held ?? {};
  const below = (/** @type {number} */ count) =>
    value === "" || (/^\d+$/.test(value) && Number(value) < count);
  if (key === "fold") return value === "" || value === "open";
  if (key === "zoom") return below(data.stacks[stacks ?? 0]?.parent.length ?? 0);
  if (key === "function") return below(functions.length);
  if (key === "access") return below(rowsOf[state.group] ?? 0);
  if (key === "line") return below(data.sharing?.rows ?? 0);
  return choices()[key]?.some(([choice]) => choice === value) ?? true;
}

/** Take the state from the address; what is not valid there is ignored. */
export function readAddress() {
  takeState(Object.fromEntries(new URLSearchParams(location.hash.slice(1))));
}

/** Take a state at its point; what is not valid there is as on a fresh page.
 * @param {Partial<Record<Key, string>>} given */
export function takeState(given) {
  choosePoint("");
  if (given.point && allowed("point", given.point)) choosePoint(given.point);
  Object.assign(state, defaults());
  for (const key of keys()) {
    const wanted = given[key];
    if (wanted !== undefined && allowed(key, wanted)) state[key] = wanted;
  }
  // A kernel is not set against itself.
  if (alone()) state.right = labels().find((label) => label !== state.left) ?? state.left;
}

/** Put what is not as on a fresh page into the address. @param {boolean} [step] undone by Back */
export function writeAddress(step = false) {
  const fresh = defaults();
  const changed = keys().filter((key) => state[key] !== fresh[key]);
  const entries = changed.map((key) => [key, state[key]]);
  if (place.cell) entries.unshift(["cell", place.cell]);
  const hash = `#${new URLSearchParams(entries)}`;
  if (hash === (location.hash || "#")) return;
  if (step) history.pushState(null, "", hash);
  else history.replaceState(null, "", hash);
}
