// What the reader chose; it is in the address, so that a view can be linked.
"use strict";

const PAGE = 200;
/** From so many stacks on the graph is drawn first, and what takes long follows. */
const LARGE = 20_000;
const VIEWS = { both: "side by side", difference: "difference", left: "left only", right: "right only" };
const WIDTHS = { left: "left", right: "right", larger: "larger of both", delta: "absolute delta" };
const COLOURS = { self: "self delta", total: "total delta", none: "kernel / user" };
const SHAPES = { icicle: "icicle", flame: "flame" };

/** @type {Record<string, any>} */
const state = { sort: "delta", descending: true, shown: PAGE };

/** The state of a fresh page. */
function defaults() {
  const labels = data.kernels.map((kernel) => kernel.label);
  return {
    metric: "0",
    unit: data.workload.ops ? "per-op" : "absolute",
    view: labels.length > 1 ? "difference" : "left",
    width: "larger",
    colour: labels.length > 1 ? "self" : "none",
    shape: "icicle",
    left: data.base,
    right: labels.find((label) => label !== data.base) || data.base,
    search: "",
    regex: "",
    side: "",
    zoom: "",
    function: "",
  };
}

/** What a key may be; searches may be anything. */
function allowed(key, value) {
  const labels = data.kernels.map((kernel) => kernel.label);
  const index = (count) => value === "" || (/^\d+$/.test(value) && Number(value) < count);
  const chosen = data.metrics[Number(state.metric)] || data.metrics[0];
  if (key === "metric") return value !== "" && index(data.metrics.length);
  if (key === "unit") return ["absolute", "share", ...(data.workload.ops ? ["per-op"] : [])].includes(value);
  if (key === "view") return Object.hasOwn(VIEWS, value) && (labels.length > 1 || value === "left");
  if (key === "width") return Object.hasOwn(WIDTHS, value);
  if (key === "colour") return Object.hasOwn(COLOURS, value);
  if (key === "shape") return Object.hasOwn(SHAPES, value);
  if (key === "left" || key === "right") return labels.includes(value);
  if (key === "side") return ["", "kernel", "user"].includes(value);
  if (key === "zoom") return index(data.stacks[chosen.stacks].parent.length);
  if (key === "function") return index(chosen.functions.length);
  return true;
}

/** Take the state from the address; what is not valid there is ignored. */
function readAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  for (const [key, value] of Object.entries(defaults())) {
    const wanted = given.get(key);
    state[key] = wanted !== null && allowed(key, wanted) ? wanted : value;
  }
  // A kernel is not set against itself.
  if (state.left === state.right) state.right = data.kernels.map((kernel) => kernel.label).find((label) => label !== state.left) || state.left;
}

/** Put what is not as on a fresh page into the address. @param {boolean} [step] undone by Back */
function writeAddress(step = false) {
  const changed = new URLSearchParams();
  for (const [key, value] of Object.entries(defaults())) if (state[key] !== value) changed.set(key, state[key]);
  const hash = `#${changed}`;
  if (hash === (location.hash || "#")) return;
  if (step) history.pushState(null, "", hash);
  else history.replaceState(null, "", hash);
}
