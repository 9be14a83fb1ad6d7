// One function: who calls it (above) and what it calls (below), both sides against each other.
"use strict";

const sandwich = { callers: /** @type {any} */ (null), callees: /** @type {any} */ (null) };

/** The tree of all callers, or of all callees, of a function; the outermost of nested calls counts.
 * @param {number} id @param {boolean} callers */
function around(id, callers) {
  const { left, right } = pair.self;
  const parent = [-1];
  const functions = [id];
  const from = [-1];
  const selfs = { left: [0], right: [0] };
  /** @type {Map<number, number>[]} */
  const below = [new Map()];
  const step = (node, original) => {
    const next = tree.function[original];
    let to = below[node].get(next);
    if (to === undefined) {
      to = parent.length;
      below[node].set(next, to);
      below.push(new Map());
      parent.push(node);
      functions.push(next);
      from.push(original);
      selfs.left.push(0);
      selfs.right.push(0);
    }
    return to;
  };
  /** Where a node of the whole tree lies in the new one; -1: not under the function. */
  const place = new Int32Array(tree.size + 1).fill(-1);
  for (let node = 0; node < tree.size; node++) {
    const above = place[tree.parent[node]];
    const same = tree.function[node] === id;
    if (above < 0 && !same) continue;
    if (callers) {
      // Counts of everything under the outermost call go to the end of the chain of its callers.
      let to = above;
      if (above < 0) {
        to = 0;
        let up = tree.parent[node];
        // No more callers than are drawn.
        for (let row = 0; up < tree.size && row < MOST_ROWS; row++, up = tree.parent[up]) to = step(to, up);
        from[0] = node;
      }
      place[node] = to;
    } else {
      place[node] = above < 0 ? 0 : step(above, node);
      if (above < 0) from[0] = node;
    }
    selfs.left[place[node]] += left[node];
    selfs.right[place[node]] += right[node];
  }
  const made = new Tree(parent, functions, (node, label) => from[node] >= 0 && tree.inlined(from[node], label));
  return new Pair(made, selfs.left, selfs.right);
}

let opening = 0;

/** @param {number} id */
function chooseFunction(id) {
  if (id >= metric.functions.length) return;
  state.function = String(id);
  writeAddress();
  clearTimeout(opening);
  if (tree.size < LARGE) drawSandwich();
  else opening = setTimeout(drawSandwich, 80);
}

function drawSandwich() {
  const section = at("sandwich");
  section.hidden = state.function === "";
  if (section.hidden) return;
  const id = Number(state.function);
  const row = metric.functions[id];
  at("sandwich-name").textContent = visible(row.name);
  const one = state.left === state.right;
  const said = (kind) => {
    const [left, right] = [row[kind][state.left], row[kind][state.right]];
    if (one) return `${kind} ${formatCount(left, state.left)}`;
    return `${kind} ${formatCount(left, state.left)} → ${formatCount(right, state.right)}: ${formatDifference(left, right)} (${formatChange(left, right)})`;
  };
  const where = [row.object, row.side, declaredBoth(id)].filter(Boolean).join(" · ");
  at("sandwich-where").textContent = visible(where);
  at("sandwich-numbers").replaceChildren(...[said("self"), said("total"), ...callSentences(id)].map((text) => element("li", text)));
  for (const kind of /** @type {("callers" | "callees")[]} */ (["callers", "callees"])) {
    const of = around(id, kind === "callers");
    const graph = sandwich[kind];
    graph.of = of;
    const widths = of.width(one ? "left" : "larger");
    // The scale is the whole's: a small function's delta is not to look like a large one.
    const scene = { pair: of, most: pair.largest("total"), zoom: 0, widths, scale: widths[0], label: row.name, colour: one ? "none" : "total", matches: null, flame: kind === "callers", selected: -1 };
    graph.paint(graph.layout(scene));
    graph.canvas.setAttribute("aria-label", `${kind} of ${visible(row.name).slice(0, 200)}`);
  }
  for (const [kind, callers] of /** @type {[string, boolean][]} */ ([["callers", true], ["callees", false]])) {
    const of = sandwich[kind].of;
    const nodes = [...of.tree.children.slice(of.tree.first[0], of.tree.first[1])];
    nodes.sort((a, b) => Math.abs(of.delta("total", b)) - Math.abs(of.delta("total", a)));
    const head = cells("th", [callers ? "caller" : "callee", ...(one ? ["total"] : [state.left, state.right, "delta"])]);
    at(`${kind}-list`).replaceChildren(
      head,
      ...nodes.slice(0, 12).map((node) => {
        const [left, right] = [of.total.left[node], of.total.right[node]];
        const line = cells("td", ["", formatCount(left, state.left), ...(one ? [] : [formatCount(right, state.right), formatDifference(left, right)])]);
        const open = element("button", frameName(of.tree.function[node]).slice(0, 300), "link");
        open.type = "button";
        open.addEventListener("click", () => chooseFunction(of.tree.function[node]));
        line.firstChild.append(open);
        return line;
      }),
    );
    at(`${kind}-none`).hidden = nodes.length > 0;
  }
}

/** Called more often, or more at each call? @param {number} id */
function callSentences(id) {
  const calls = callsOf();
  if (!calls) return [];
  const [left, right] = [calls[state.left], calls[state.right]];
  const ops = data.workload.ops;
  if (!left.calls[id] && !right.calls[id]) return ["calls: not counted (inlined everywhere, or never entered in the window)"];
  const often = (of) => (ops ? short(of.calls[id] / ops) : of.calls[id].toLocaleString("en-US"));
  const each = (of) => (of.calls[id] ? short(of.work[id] / of.calls[id]) : "-");
  const total = (label, of) => (of.calls[id] ? short(metric.functions[id].total[label] / of.calls[id]) : "-");
  const arrow = (a, b) => (state.left === state.right ? a : `${a} → ${b}`);
  return [
    `calls${ops ? " per op" : ""} ${arrow(often(left), often(right))}`,
    `self per call ${arrow(each(left), each(right))}`,
    `total per call ${arrow(total(state.left, left), total(state.right, right))}`,
  ];
}

function startSandwich() {
  for (const kind of /** @type {("callers" | "callees")[]} */ (["callers", "callees"])) {
    const canvas = at(`graph-${kind}`);
    const graph = (sandwich[kind] = new Flamegraph(canvas));
    canvas.addEventListener("pointermove", (event) => {
      const node = graph.hit(event.offsetX, event.offsetY);
      if (node >= 0) showTip(sandwich[kind].of, node, event.clientX, event.clientY);
      else hideTip();
    });
    canvas.addEventListener("pointerleave", hideTip);
    canvas.addEventListener("click", (event) => {
      const node = graph.hit(event.offsetX, event.offsetY);
      if (node >= 0) chooseFunction(sandwich[kind].of.tree.function[node]);
    });
  }
  let width = innerWidth;
  addEventListener("resize", () => {
    if (width !== innerWidth) drawSandwich();
    width = innerWidth;
  });
  at("sandwich-close").addEventListener("click", () => {
    state.function = "";
    writeAddress();
    drawSandwich();
  });
}
