// Everything about one frame: beside the pointer, and in words for a screen reader.
"use strict";

/** @param {number} id @param {string} label */
function declared(id, label) {
  const row = metric.functions[id];
  if (!row || !row.file) return "";
  return row.line && row.line[label] ? `${row.file}:${row.line[label]}` : row.file;
}

/** File and line on both sides, once where they are the same. @param {number} id */
function declaredBoth(id) {
  const all = [...new Set([declared(id, state.left), declared(id, state.right)])].filter(Boolean);
  // A kernel without the function has no line for it.
  const lines = all.filter((one) => /:\d+$/.test(one));
  const places = lines.length ? lines : all;
  return places.length > 1 ? `${places[0]} (${state.left}), ${places[1]} (${state.right})` : places[0] || "";
}

/** Where the frame was inlined. @param {Tree} over @param {number} node */
function inlinedIn(over, node) {
  const labels = [...new Set([state.left, state.right])].filter((label) => over.inlined(node, label));
  if (!labels.length) return "";
  return labels.length === 1 && state.left !== state.right ? `(inlined in ${labels[0]})` : "(inlined)";
}

/** Numbers of a frame: what, left, right, delta, change. @param {Pair} of @param {number} node */
function frameNumbers(of, node) {
  const ops = data.workload.ops;
  const lines = [];
  for (const kind of /** @type {("self" | "total")[]} */ (["self", "total"])) {
    const left = of[kind].left[node];
    const right = of[kind].right[node];
    const change = formatChange(left, right);
    lines.push([kind, left.toLocaleString("en-US"), right.toLocaleString("en-US"), `${right > left ? "+" : ""}${(right - left).toLocaleString("en-US")}`, change]);
    if (ops) lines.push([`${kind} per op`, fixed(left / ops, 2), fixed(right / ops, 2), `${right > left ? "+" : ""}${fixed((right - left) / ops, 2)}`, ""]);
    const shares = [left / (metric.totals[state.left] || 1), right / (metric.totals[state.right] || 1)].map((share) => 100 * share);
    lines.push([`${kind} share`, `${fixed(shares[0], 2)} %`, `${fixed(shares[1], 2)} %`, `${shares[1] > shares[0] ? "+" : ""}${fixed(shares[1] - shares[0], 2)} points`, ""]);
  }
  const calls = of.tree === tree && metric.calls;
  if (calls) {
    const [left, right] = [calls[state.left][node], calls[state.right][node]];
    lines.push(["calls", left.toLocaleString("en-US"), right.toLocaleString("en-US"), `${right > left ? "+" : ""}${(right - left).toLocaleString("en-US")}`, formatChange(left, right)]);
    const each = (kind, side, count) => (count ? of[kind][side][node] / count : 0);
    for (const kind of ["self", "total"])
      if (left || right) lines.push([`${kind} per call`, short(each(kind, "left", left)), short(each(kind, "right", right)), short(each(kind, "right", right) - each(kind, "left", left)), ""]);
  }
  return lines;
}

/** @param {Pair} of @param {number} node */
function describe(of, node) {
  const id = of.tree.function[node];
  const row = metric.functions[id];
  const where = [inlinedIn(of.tree, node), row ? row.object : "", frameSide(id), declaredBoth(id)].filter(Boolean).join(" · ");
  return { name: frameName(id), where, lines: frameNumbers(of, node) };
}

/** @param {Pair} of @param {number} node @param {number} x @param {number} y of the window */
function showTip(of, node, x, y) {
  const { name, where, lines } = describe(of, node);
  const one = state.left === state.right;
  const keep = (line) => (one ? line.slice(0, 2) : line);
  const table = element("table");
  table.append(cells("th", keep(["", kernelTitle(state.left), kernelTitle(state.right), "delta", "change"])), ...lines.map((line) => cells("td", keep(line))));
  const tip = at("tip");
  const title = element("strong", name.length > 600 ? `${name.slice(0, 600)}… (${name.length.toLocaleString("en-US")} characters)` : name);
  tip.replaceChildren(title, element("p", where), table);
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const right = x + 14 + box.width > innerWidth ? Math.max(4, innerWidth - box.width - 8) : x + 14;
  tip.style.left = `${right}px`;
  tip.style.top = `${y + 18 + box.height > innerHeight ? Math.max(4, y - box.height - 12) : y + 18}px`;
}

function hideTip() {
  at("tip").hidden = true;
}

/** The frame in a sentence. @param {Pair} of @param {number} node */
function speak(of, node) {
  const { name, where, lines } = describe(of, node);
  const said = lines.map(([what, left, right, delta]) =>
    state.left === state.right ? `${what} ${left}` : `${what} ${left} in ${state.left}, ${right} in ${state.right}, delta ${delta}`,
  );
  at("spoken").textContent = visible(`${name.slice(0, 300)}, ${where}. ${said.join("; ")}.`);
}
