// The flamegraphs: what they show of the state, pointer, keys, breadcrumb, search and legend.
"use strict";

const graphs = { left: /** @type {any} */ (null), right: /** @type {any} */ (null) };
let selected = -1;
let scheduled = false;
/** @type {{matches: Uint8Array | null, left: number, right: number, count: number, wrong: string}} */
let found = { matches: null, left: 0, right: 0, count: 0, wrong: "" };

/** The zoomed frame; the whole is the node above the roots. */
const zoomed = () => (state.zoom === "" ? tree.size : Number(state.zoom));

/** Functions that the search names, and their part of both sides, nested ones once. */
function searchTree() {
  found = { matches: null, left: 0, right: 0, count: 0, wrong: "" };
  if (!state.search) return;
  let test;
  if (state.regex) {
    try {
      const expression = new RegExp(state.search, "i");
      test = (text) => expression.test(text);
    } catch (error) {
      found.wrong = String(/** @type {Error} */ (error).message);
      return;
    }
  } else {
    const wanted = state.search.toLowerCase();
    test = (text) => text.toLowerCase().includes(wanted);
  }
  const matches = Uint8Array.from(names(), (_, id) => {
    const row = metric.functions[id];
    return Number(test(frameName(id)) || Boolean(row && (test(row.object) || test(row.file))));
  });
  const under = new Uint8Array(tree.size + 1);
  const { left, right } = pair.self;
  for (let node = 0; node < tree.size; node++) {
    if (!matches[tree.function[node]] && !under[tree.parent[node]]) continue;
    under[node] = 1;
    found.left += left[node];
    found.right += right[node];
  }
  found.count = matches.reduce((sum, one) => sum + one, 0);
  found.matches = matches;
}

/** Which canvases a view has, with what on them. */
function scenes() {
  const zoom = zoomed();
  const scene = (label, widths, scale) => ({ pair, zoom, widths, scale, label, colour: state.left === state.right ? "none" : state.colour, matches: found.matches, flame: state.shape === "flame", selected });
  const sides = { left: pair.width("left"), right: pair.width("right") };
  if (state.view === "both") {
    const scale = Math.max(sides.left[zoom], sides.right[zoom]);
    return [scene(state.left, sides.left, scale), scene(state.right, sides.right, scale)];
  }
  const rule = state.view === "difference" ? state.width : state.view;
  const widths = pair.width(rule);
  return [scene(state.view === "right" ? state.right : state.view === "left" ? state.left : "this", widths, widths[zoom])];
}

function paintTree() {
  scheduled = false;
  const shown = scenes();
  const used = [graphs.left, graphs.right].slice(0, shown.length);
  at("second").hidden = shown.length < 2;
  const rows = Math.max(1, ...used.map((graph, i) => graph.layout(shown[i])));
  used.forEach((graph) => graph.paint(rows));
  at("deeper").hidden = !used.some((graph) => graph.deeper);
  document.documentElement.dataset.painted = String(Number(document.documentElement.dataset.painted || 0) + 1);
}

function repaint() {
  if (scheduled) return;
  scheduled = true;
  requestAnimationFrame(paintTree);
}

/** Words about the graph: captions, rule, legend, breadcrumb, search. */
function drawWords() {
  const one = state.left === state.right;
  const ruleNames = { ...WIDTHS, left: state.left, right: state.right };
  const total = (side, label) => formatCount(pair.total[side][zoomed()], label);
  const captions = {
    both: [`${kernelTitle(state.left)}: ${total("left", state.left)}`, `${kernelTitle(state.right)}: ${total("right", state.right)}`],
    difference: [`${kernelTitle(state.right)} against ${kernelTitle(state.left)}: ${formatDifference(pair.total.left[zoomed()], pair.total.right[zoomed()])} (${formatChange(pair.total.left[zoomed()], pair.total.right[zoomed()])})`],
    left: [`${kernelTitle(state.left)} alone: ${total("left", state.left)}`],
    right: [`${kernelTitle(state.right)} alone: ${total("right", state.right)}`],
  }[state.view];
  at("caption-left").textContent = captions[0];
  at("caption-right").textContent = captions[1] || "";
  const width = { both: "width: each side's own total, both at the scale of the larger", difference: `width: ${ruleNames[state.width]}${state.width === "larger" || state.width === "delta" ? ", summed over stacks" : ""}`, left: `width: ${state.left}`, right: `width: ${state.right}` }[state.view];
  at("rule").textContent = `${width}; colour: ${one ? "kernel / user" : COLOURS[state.colour]}; ${unitTitle()}`;
  at("ramp").hidden = one || state.colour === "none";
  if (!at("ramp").hidden) {
    const most = pair.largest(state.colour);
    const scaled = state.unit === "share" ? `${fixed(100 * most, 2)} points` : state.unit === "per-op" ? fixed(most / data.workload.ops, 2) : most.toLocaleString("en-US");
    at("least").textContent = `−${scaled} less`;
    at("most").textContent = `more +${scaled}`;
  }
  at("legend-change").hidden = one;
  const path = tree.path(zoomed());
  const crumb = (text, node) => {
    const button = element("button", text.length > 40 ? `${text.slice(0, 39)}…` : text);
    button.type = "button";
    button.addEventListener("click", () => zoomTo(node));
    return button;
  };
  at("crumbs").replaceChildren(crumb("all", tree.size), ...path.map((node) => crumb(frameName(tree.function[node]), node)));
  at("crumbs").hidden = !path.length;
  const part = (count, label) => `${label} ${fixed((100 * count) / (metric.totals[label] || 1), 2)} %`;
  at("matched").textContent = found.wrong
    ? `Not a regular expression: ${found.wrong}`
    : found.matches
      ? `${fixed(found.count, 0)} ${found.count === 1 ? "function matches" : "functions match"}, with what they call: ${part(found.left, state.left)}${one ? "" : `, ${part(found.right, state.right)}`}`
      : "";
  const label = `${VIEWS[state.view]} flamegraph, ${width}. Arrow keys choose a frame, Enter zooms, Escape goes back out.`;
  for (const graph of [graphs.left, graphs.right]) graph.canvas.setAttribute("aria-label", label);
  at("width-label").hidden = state.view !== "difference";
  at("missing").hidden = hasCalls();
}

/** @param {number} node */
function zoomTo(node) {
  state.zoom = node >= tree.size ? "" : String(node);
  hideTip();
  writeAddress(true);
  drawWords();
  repaint();
}

/** @param {Flamegraph} graph @param {number} node */
function select(graph, node, speaking = true) {
  selected = node;
  repaint();
  if (node < 0) return hideTip();
  const place = graph.find(node);
  const box = graph.canvas.getBoundingClientRect();
  if (place) showTip(pair, node, box.left + Math.min(place.box.from + 20, box.width - 40), box.top + graph.top(place.depth));
  if (speaking) speak(pair, node);
}

/** @param {Flamegraph} graph @param {KeyboardEvent} event */
function treeKey(graph, event) {
  const { key } = event;
  const flame = state.shape === "flame";
  const steps = { ArrowLeft: "before", ArrowRight: "after", ArrowDown: flame ? "out" : "in", ArrowUp: flame ? "in" : "out" };
  if (steps[key]) select(graph, graph.neighbour(selected, steps[key]));
  else if (key === "Enter" && selected >= 0) zoomTo(selected);
  else if (key === " " && selected >= 0) chooseFunction(tree.function[selected]);
  else if (key === "Home") zoomTo(tree.size);
  else if ((key === "Escape" || key === "Backspace") && state.zoom !== "") zoomTo(tree.parent[zoomed()]);
  else return;
  event.preventDefault();
}

function startTree() {
  for (const side of /** @type {("left" | "right")[]} */ (["left", "right"])) {
    const canvas = at(`graph-${side}`);
    const graph = (graphs[side] = new Flamegraph(canvas));
    canvas.addEventListener("pointermove", (event) => {
      const node = graph.hit(event.offsetX, event.offsetY);
      canvas.style.cursor = node >= 0 ? "pointer" : "default";
      if (node !== selected) {
        selected = node;
        repaint();
      }
      if (node >= 0) showTip(pair, node, event.clientX, event.clientY);
      else hideTip();
    });
    canvas.addEventListener("pointerleave", () => {
      selected = -1;
      hideTip();
      repaint();
    });
    canvas.addEventListener("click", (event) => {
      const node = graph.hit(event.offsetX, event.offsetY);
      if (node < 0) return;
      chooseFunction(tree.function[node]);
      zoomTo(node);
    });
    canvas.addEventListener("keydown", (event) => treeKey(graph, event));
    canvas.addEventListener("focus", () => canvas.matches(":focus-visible") && select(graph, selected >= 0 ? selected : graph.neighbour(-1, "in")));
    canvas.addEventListener("blur", () => select(graph, -1));
  }
  new ResizeObserver(repaint).observe(at("graphs"));
  for (const query of ["(prefers-color-scheme: dark)", "print"]) matchMedia(query).addEventListener("change", () => { paintTree(); drawSandwich(); });
}
