// The report's document as the page gets it: `profdiff.report/1`, of which
// profdiff/report.schema.json is the schema, with the charts. Only the type checker reads this.

/** A value of each kernel, by the kernel's label. */
export type ByKernel<T> = Record<string, T>;
export type Counts = ByKernel<number>;
export type Side = "kernel" | "user";

export interface Report {
  schema: "profdiff.report/1";
  profdiff: string;
  heading: string;
  answers: string[];
  bisection: Bisection | null;
  evidence: string[];
  base: string;
  kernels: Kernel[];
  without_result: string[];
  holes: Hole[];
  workload: { argv: string[]; ops: number | null; description: string };
  lengths: {
    parameters: { parameter: string; short: string; long: string }[];
    short_ops: number;
    long_ops: number;
    fixed: { label: string; collector: string; metric: string; count: number; share: number }[];
    growth: { label: string; short_kib: number; long_kib: number }[];
  } | null;
  guest: {
    arch: string | null; cpu: string | null; memory_mib: number; cpus: number | null;
    append: string; settle: number; restored: boolean; not_restored: string | null;
  } | null;
  facts: Facts;
  experiment: Experiment;
  report_command: string;
  recorded: { created: string; command: string[] };
  runs: Run[];
  stacks: Stacks[];
  metrics: Metric[];
  charts: Chart[];
  points: Point[];
  code: HeldCode;
  blame: Blame | null;
  joint: Joint | null;
  parts: Record<string, Partial<Report>>;
}

/** A kernel that could not be built. */
export interface Hole {
  label: string;
  spec: string;
  reason: string;
}

/** A commit that a bisection measured. */
export interface Revision {
  commit: string;
  subject: string;
  value: number | null;
}

/** A further culprit of a bisection. */
export interface FurtherStep {
  culprit: Revision;
  parent: Revision;
  explained: number | null;
  candidates: Revision[];
}

/** What a bisection found; the answers have its sentences. */
export interface Bisection {
  good: Revision;
  bad: Revision;
  parent: Revision;
  culprit: Revision;
  condition: string;
  what: string;
  revert: string;
  undone: number | null;
  explained: number | null;
  tested: number;
  taken_over: number;
  skipped: number;
  candidates: Revision[];
  others: FurtherStep[];
  reverted: Revision | null;
  ops: number | null;
  longer: number | null;
  sentences: string[];
}

/** Several architectures, or compilers, side by side; `parts` are the reports of those that are not
 * the page's own. `where`: on all of them, as a sentence ends. `missing`: why others have none. */
export interface Joint {
  where: string;
  sentences: string[];
  tables: JointTable[];
  notes: string[];
  missing: string[];
  charts: Chart[];
}

/** `groups`: the part of each column, "" for those that name the row. `foot`: rows that
 * have the rest, and the sum. */
export interface JointTable {
  title: string;
  names: number;
  header: string[];
  groups: string[];
  rows: string[][];
  foot: string[][];
}

/** A point of the sweep: what `report --at` calls it, the command with it, and what the report
 * says otherwise there. There are none if there is one point alone. `annotate`: the command that
 * shows code there; `setting`: its title in its part; `part`: "" if there is one only. */
export interface Point {
  at: string;
  command: string;
  annotate: string;
  title: string;
  setting: string;
  part: string;
  own: boolean;
  holds: "stacks" | "functions" | "nothing";
  report: Partial<Report>;
}

export interface Kernel {
  label: string;
  release: string | null;
  build_id: string | null;
  version: string | null;
  compiler: string | null;
  spec: string;
  image_sha256: string | null;
  inlines_visible: boolean;
  runs: number;
  reproduced: boolean | null;
  source: { sentence: string } | null;
}

/** From the kernel before it to `kernel`; `others`: how many more functions differ. */
export interface Step {
  kernel: string;
  previous: string;
  before: number;
  after: number;
  functions: StepFunction[];
  others: number;
  rest: number;
  /** On state: no step of the kernel alone. */
  depends: boolean;
  unsure: boolean;
}

export interface StepFunction {
  name: string;
  title: string;
  object: string;
  file: string;
  side: Side;
  before: number;
  after: number;
}

export interface Facts {
  differences: { what: string; values: ByKernel<string | null> }[];
  config: { option: string; values: ByKernel<string | null>; relevant: boolean }[];
  config_summary: string[];
  command_lines: ByKernel<string>;
  machine: ByKernel<Record<string, string>>;
  shares: { metric: string; collector: string; unresolved: Counts; lost: Counts }[];
}

export interface Experiment {
  setting: string;
  results: unknown[];
  tables: ExperimentTable[];
  notes: string[];
  state: string[];
  state_lines: { kind: "differs" | "same" | "unknown"; text: string }[];
  state_points: {
    setting: string;
    verdict: "same" | "differs" | "partly known" | "not compared";
    differences: string[];
    changes: string[];
  }[];
  state_differs: boolean;
}

/** The first `names` columns name the row, the others are numbers and verdicts. */
export interface ExperimentTable {
  title: string;
  names: number;
  header: string[];
  rows: string[][];
}

export interface Run {
  id: string;
  kernel: string;
  collector: string;
  point: number;
  repetition: number;
  started: string;
  wall_seconds: number;
  failure: string | null;
  instructions: number | null;
  each_iteration: number | null;
  beside: number | null;
}

/** Stacks, parents before children; a root's parent is -1. */
export interface Stacks {
  parent: number[];
  function: number[];
  unnamed: { reason: string; side: Side }[];
  inlined: ByKernel<number[]>;
}

/** A function and its part of a whole delta. */
export interface SeatFunction {
  name: string;
  object: string;
  side: Side;
  delta: number;
  part: number;
}

/** The deepest function whose total delta is at least half of the change. */
export interface Seat extends SeatFunction { self_part: number; below: SeatFunction[] }

/** `counts` and `calls` are columns over the stacks of `stacks`. */
export interface Metric {
  metric: string;
  unit: string;
  collector: string;
  exact: boolean;
  totals: Counts;
  stacks: number;
  counts: ByKernel<number[]>;
  calls: ByKernel<number[]> | null;
  unresolved: { reason: string; side: Side; self: Counts }[];
  functions: FunctionRow[];
  steps: Step[];
  seats: ByKernel<Seat>;
  beside: ByKernel<number> | null;
  classes: Classes | null;
  code: KernelCode | null;
}

/** By class; `functions` are columns over the metric's functions. */
export interface Classes {
  total: ByKernel<Counts>;
  functions: ByKernel<ByKernel<number[]>>;
  rest: ByKernel<Counts>;
  unseen: Counts;
}

/** Columns over the functions: bytes with what is inlined, null where that is not known; in how
 * many places a function ran inlined, and whether it ran by itself. */
export interface KernelCode {
  size: ByKernel<(number | null)[]>;
  copies: ByKernel<number[]>;
  called: ByKernel<boolean[]>;
}

export interface FunctionRow {
  name: string;
  object: string;
  file: string;
  line: Counts;
  side: Side;
  namesakes: boolean;
  symbols: ByKernel<string[]>;
  self: Counts;
  total: Counts;
  samples: Counts | null;
  marks: ByKernel<string>;
}

export interface Chart {
  title: string;
  about: "experiment" | "functions" | "parts";
  svg: string;
}

/** Of which functions the page holds code: their numbers, for each metric. `why`: not of any, and
 * the reason. */
export interface HeldCode {
  functions: number[][];
  why: string;
}

/** The code of a function, which lies in an element of its own: columns over rows, and over lines.
 * Texts are numbers of `strings`, of which 0 is not a text. `before` and `after`: how many
 * instructions that were never executed are left out there. */
export interface FunctionCode {
  size: Counts;
  split: ByKernel<{ same: number; other: number }>;
  places: { chains: ByKernel<string[]>; self: Counts }[];
  notes: string[];
  place: number[];
  relation: number[];
  before: number[];
  after: number[];
  file: number[];
  classes: number[];
  kernels: ByKernel<CodeColumns>;
  lines: CodeLines;
  strings: string[];
}

/** Where the kernel lacks a row, `text` is 0. `address`: from `start`, the difference to the row
 * before it that the kernel has; `taken`: -1 where it is not a conditional branch's, or is not
 * known of all executions; `target`: the row that a jump leads to, -1 if none. */
export interface CodeColumns {
  start: string;
  address: number[];
  text: number[];
  count: number[];
  samples: number[] | null;
  taken: number[];
  target: number[];
  line: number[];
}

export interface CodeLines {
  file: number[];
  text: number[];
  kernels: ByKernel<LineColumns>;
}

/** Where the kernel lacks a line, `line` is 0. */
export interface LineColumns {
  line: number[];
  count: number[];
  samples: number[] | null;
}

/** `profdiff.blame/1`: the rows add up to `delta`. */
export interface Blame {
  schema: "profdiff.blame/1";
  base: string;
  new: string;
  revisions: ByKernel<string>;
  ops: number | null;
  delta: number;
  rows: BlameRow[];
  renamed: { vanished: string; new: string; alike: number }[];
  notes: string[];
}

/** `instructions` is `added` and `removed`, which is negative; `effect`: what ran below calls that
 * the commit added or removed, too. */
export interface BlameRow {
  kind: string;
  commit: string | null;
  subject: string;
  author_date: string | null;
  instructions: number;
  added: number;
  removed: number;
  effect: number;
  functions: { function: string; instructions: number; effect: number }[];
  suspects: string[];
  together: string[];
}
