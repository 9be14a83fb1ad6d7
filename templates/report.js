// The page: fills the controls, and draws everything when the state changes.
"use strict";

/** @param {string} id @param {[string, string][]} choices */
function fillSelect(id, choices) {
  at(id).replaceChildren(
    ...choices.map(([value, title]) => {
      const option = element("option", title);
      option.value = value;
      return option;
    }),
  );
  at(id).addEventListener("change", () => {
    change(id === "other" ? "right" : id, at(id).value);
  });
}

/** @param {string} key @param {string} value */
function change(key, value) {
  const before = state[key];
  state[key] = value;
  // A kernel is not set against itself: the sides change places.
  if (key === "left" && state.right === value) state.right = before;
  if (key === "right" && state.left === value) state.left = before;
  if (key === "metric" && data.metrics[Number(before)].stacks !== data.metrics[Number(value)].stacks) state.zoom = state.function = "";
  writeAddress();
  draw();
}

let typing = 0;

/** @param {string} text */
function setSearch(text) {
  state.search = text;
  state.shown = PAGE;
  writeAddress();
  searchTree();
  drawWords();
  repaint();
  clearTimeout(typing);
  // Where the graph takes its time, the table waits until the reader stops typing.
  if (tree.size < LARGE) drawBody();
  else typing = setTimeout(drawBody, 80);
}

/** Show the state in the controls. */
function drawControls() {
  for (const key of ["metric", "unit", "view", "width", "colour", "shape", "left", "side", "search"]) at(key).value = state[key];
  at("other").value = state.right;
  at("regex").checked = state.regex !== "";
  for (const [key, titles] of [["width", { left: state.left, right: state.right }], ["view", { left: `${state.left} only`, right: `${state.right} only` }]])
    for (const option of at(key).options) if (titles[option.value]) option.textContent = titles[option.value];
}

function draw() {
  drawDiffers();
  // Timed runs have no functions.
  if (!data.metrics.length) return;
  choose();
  searchTree();
  drawControls();
  drawLargest();
  drawWords();
  repaint();
  drawTable();
  drawSandwich();
}

async function start() {
  data = await inflate();
  at("profile").hidden = !data.metrics.length;
  document.title = visible(`profdiff: ${data.kernels.map((kernel) => kernel.label).join(" against ")}`);
  drawExperiment();
  if (data.metrics.length) startProfile();
  drawFacts();
  draw();
  requestAnimationFrame(() => {
    performance.mark("interactive");
    document.documentElement.dataset.ready = "yes";
  });
}

/** Everything about functions: controls, graphs, table. */
function startProfile() {
  readAddress();
  const labels = data.kernels.map((kernel) => kernel.label);
  const entries = (choices) => Object.entries(choices);
  fillSelect("metric", data.metrics.map((one, index) => [String(index), `${one.metric}${one.exact ? ", exact" : ", sampled"}`]));
  fillSelect("unit", [...(data.workload.ops ? [["per-op", "per op"]] : []), ["absolute", "absolute"], ["share", "share"]]);
  fillSelect("side", [["", "kernel and user"], ["kernel", "kernel"], ["user", "user"]]);
  fillSelect("left", labels.map((label) => [label, label]));
  fillSelect("other", labels.map((label) => [label, label]));
  fillSelect("view", labels.length > 1 ? entries(VIEWS) : [["left", "alone"]]);
  fillSelect("width", entries(WIDTHS));
  fillSelect("colour", entries(COLOURS));
  fillSelect("shape", entries(SHAPES));
  at("metric-label").hidden = data.metrics.length < 2;
  at("left-label").hidden = at("other-label").hidden = labels.length < 3;
  at("colour-label").hidden = at("view-label").hidden = labels.length < 2;
  at("controls").addEventListener("submit", (event) => event.preventDefault());
  at("search").addEventListener("input", () => setSearch(at("search").value));
  at("regex").addEventListener("change", () => {
    state.regex = at("regex").checked ? "1" : "";
    setSearch(state.search);
  });
  at("more").addEventListener("click", () => {
    state.shown += PAGE;
    drawBody();
  });
  for (const event of ["hashchange", "popstate"])
    addEventListener(event, () => {
      readAddress();
      draw();
    });
  startTree();
  startSandwich();
}

start().catch((error) => {
  at("answers").textContent = `This report cannot be shown: ${visible(error)}`;
  throw error;
});
