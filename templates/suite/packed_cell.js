// The report of one cell of a suite, put together from what it shares with the others.

/** @import { Function as FunctionRow, Metric, Page, Stacks } from "../page.d.ts" */
/** @import { PackedCell, SharedFunctions, SuitePage } from "../page.d.ts" */

/** @param {PackedCell} packed @param {SuitePage["shared"]} shared @returns {Page} */
export function unpackedCell(packed, shared) {
  /** @type {Record<string, any>} */
  const report = structuredClone(packed.report);
  for (const [path, number] of Object.entries(packed.members)) {
    const [name, inner] = path.split(".");
    if (inner) report[name][inner] = shared.members[number];
    else report[name] = shared.members[number];
  }
  return {
    .../** @type {Page} */ (report),
    stacks: packed.stacks.map(unpackedStacks),
    metrics: packed.metrics.map((metric) => unpackedMetric(metric, shared.functions)),
  };
}

/** @param {Stacks} stacks with distances to parents @returns {Stacks} */
const unpackedStacks = (stacks) => ({
  ...stacks,
  parent: stacks.parent.map((distance, number) => (distance ? number - distance : -1)),
});

/** @param {PackedCell["metrics"][0]} metric @param {SharedFunctions} shared @returns {Metric} */
function unpackedMetric(metric, shared) {
  const packed = metric.functions;
  const symbols = new Map(packed.symbols);
  const marks = new Map(packed.marks);
  let id = 0;
  const labels = Object.keys(metric.totals);
  /** @template T @param {Record<string, T[]>} columns @param {number} row
   * @returns {Record<string, T>} */
  const values = (columns, row) =>
    Object.fromEntries(labels.map((label) => [label, columns[label]?.[row]]));
  /** @type {FunctionRow[]} */
  const functions = packed.shared.map((step, row) => {
    id += step;
    return {
      name: shared.name[id],
      object: shared.object[id],
      file: shared.file[id],
      line: Object.fromEntries(labels.map((label) => [label, shared.line[label]?.[id] ?? 0])),
      side: shared.side[id],
      namesakes: shared.namesakes[id],
      symbols: symbols.get(row) ?? {},
      self: values(packed.self ?? {}, row),
      total: values(packed.total ?? {}, row),
      samples: packed.samples && values(packed.samples, row),
      marks: marks.get(row) ?? {},
    };
  });
  return { ...metric, functions };
}
