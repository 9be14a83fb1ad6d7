// The overview of a suite as its page gets it: `profdiff.suite-report/1`, of which
// profdiff/suite-report.schema.json is the schema, and how its cells are opened. Only the type
// checker reads this.

import type { ByKernel, Metric, Report, Side, Stacks } from "./document.d.ts";

export interface SuiteKernel {
  label: string;
  release: string | null;
  build_id: string | null;
  compiler: string | null;
}

/** Against the first kernel; `relative`: a fraction, null where that has none. */
export interface SuiteChange {
  relative: number | null;
  delta: number;
  verdict: "changed" | "unchanged" | "unsure" | "exact" | "depends on state";
  relevant: boolean;
  states: number;
  low: number | null;
  high: number | null;
  depends: boolean;
  differs: string;
}

/** Why a kernel has no value. */
export interface SuiteMissing { kind: "not there" | "failed" | "not recorded"; why: string; lacks: string }

/** A function's part of a cell's delta. */
export interface SuiteCellFunction {
  name: string; object: string; side: Side; delta: number; share: number | null;
}

export interface SuiteCell {
  name: string;
  workload: string;
  part: string;
  point: Record<string, string>;
  cpus: number | null;
  tags: string[];
  op: string;
  about: string;
  session: string;
  at: string;
  command: string;
  values: ByKernel<number | null>;
  per_op: boolean;
  changes: ByKernel<SuiteChange>;
  missing: ByKernel<SuiteMissing>;
  functions: ByKernel<SuiteCellFunction[]>;
  seats: ByKernel<SuiteCellFunction>;
  noise: number | null;
  reproduce: string;
}

/** In how many cells a function makes it dearer or cheaper, and by how much over all of them. */
export interface SuiteFunction {
  name: string;
  object: string;
  side: Side;
  up: ByKernel<number>;
  down: ByKernel<number>;
  points: ByKernel<number>;
}

/** One kernel against the base. */
export interface SuiteSummary {
  kernel: string;
  compared: number;
  more: number;
  less: number;
  depend: number;
  other: number;
  not_there: number;
  failed: number;
  not_recorded: number;
  functions: string[];
  sentence: string;
}

export interface SuiteReport {
  schema: "profdiff.suite-report/1";
  name: string;
  created: string;
  profdiff: string;
  metric: string;
  unit: string;
  better: "lower" | "higher";
  banner: string;
  sentence: string;
  threshold: number;
  restored: boolean | null;
  noise: { cells: number; differ: number; unsure: number; sentence: string } | null;
  summaries: SuiteSummary[];
  kernels: SuiteKernel[];
  cells: SuiteCell[];
  functions: SuiteFunction[];
  damaged: { name: string; why: string }[];
  remarks: string[];
}

/** What the overview's page holds. `held`: of each cell the number of its element, null if the
 * page has none; `pages`: of each cell its page's address, "" if it has none; `shared`: what
 * several cells' documents have in common. */
export interface SuitePage {
  suite: SuiteReport;
  held: (number | null)[];
  pages: string[];
  shared: { members: unknown[]; functions: SharedFunctions };
}

/** Columns over functions that several documents have. */
export interface SharedFunctions {
  name: string[];
  object: string[];
  file: string[];
  side: Side[];
  namesakes: boolean[];
  line: ByKernel<number[]>;
}

/** Functions of a cell. `shared`: the steps from one's number to the next one's. */
export interface PackedFunctions {
  shared: number[];
  symbols: [number, ByKernel<string[]>][];
  marks: [number, ByKernel<string>][];
  self: ByKernel<number[]> | null;
  total: ByKernel<number[]> | null;
  samples: ByKernel<number[]> | null;
}

/** A report of one cell, with what it shares taken out. `members`: numbers of shared members, by
 * their name; callers of stacks are distances. */
export interface PackedCell {
  report: Partial<Report>;
  members: Record<string, number>;
  stacks: Stacks[];
  metrics: (Omit<Metric, "functions"> & { functions: PackedFunctions })[];
}
