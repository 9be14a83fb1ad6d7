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
/** A function or frame below this percentage of both kernels' counts is hidden. */
const LEAST = ["", "0.1", "0.5", "1", "5"];
const WAYS = { "": "more and less", more: "only more", less: "only less" };

export const state = /** @type {ReturnType<typeof defaults>} */ ({});

/** @typedef {keyof typeof state} Key */

/** Which cell of a suite's page is open; "" on other pages. */
export const place = { cell: "" };

/** One kernel is shown, against nothing. */
export const alone = () => state.left === state.right;

/** The values of the two kernels that are shown.
 * @template T @param {Record<string, T>} values @returns {[T, T]} */
export const sides = (values) => [values[state.left], values[state.right]];

/** The open row of lines that change hands on a fresh page; others have their names. */
export const FIRST_LINE = "first";

/** What metrics are called in an address. @returns {string[]} */
const metricKeys = () => {
  const names = data.metrics.map(({ metric, exact }) => `${metric}-${exact ? "exact" : "sampled"}`);
  return names.map((name, n) => (names.indexOf(name) < n ? `${name}-${n}` : name));
};

/** The number of the chosen metric. */
export const metricNumber = () => metricKeys().indexOf(state.metric);

/** Several names in one: `;` stands between them. @param {string[]} names */
export const joined = (names) =>
  names.map((name) => name.replace(/[%;]/g, encodeURIComponent)).join(";");

/** What addresses call things by their names: of namesakes, those that follow the first with their
 * number. @param {string[]} names */
export function distinct(names) {
  const seen = new Set();
  return names.map((name, n) => {
    const key = seen.has(name) ? `${name}@${n}` : name;
    seen.add(name);
    return key;
  });
}

/** The names that are in one. @param {string} text */
export const parted = (text) => (text ? text.split(";").map((name) =>
  name.replace(/%(25|3B)/g, decodeURIComponent)) : []);

/** The state of a fresh page. */
function defaults() {
  const several = data.kernels.length > 1;
  return {
    point: ownPoint(),
    metric: metricKeys()[0] ?? "",
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
    way: "",
    threshold: "",
    by: "instruction",
    group: "field",
    access: "",
    find: "",
    does: "",
    // Of the lines that change hands, the first row is open.
    line: data.sharing?.rows ? FIRST_LINE : "",
    fold: "",
    // These are names, so that a link leads to the same in another recording.
    focus: "",
    hide: "",
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
    metric: metricKeys().map((key, index) => [key, title(data.metrics[index])]),
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
    way: Object.entries(WAYS),
    threshold: LEAST.map((one) => [one, one ? `below ${one}%` : "nothing"]),
  };
}

/** What a key may be; searches and names may be anything: what is not there is not shown.
 * @param {Key} key @param {string} value */
function allowed(key, value) {
  if (key === "fold") return value === "" || value === "open";
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
