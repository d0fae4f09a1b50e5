// The document of `stepscope diff --json` (docs/formats/diff.md), as far as the page reads it, and what is drawn of it.
export interface Part {
  before_ns: number;
  after_ns: number;
  difference_ns: number;
  noise_ns: number | null;
  is_told: boolean;
}
export interface Identity {
  operator: string | null;
  shapes: string | null;
  kernel: string | null;
  place: string | null;
}
export interface WorkRow extends Part {
  match: "same" | "renamed" | "moved" | "reshaped" | "replaced" | "new" | "gone" | "rest";
  class: string;
  before: Identity | null;
  after: Identity | null;
  before_call_count: number;
  after_call_count: number;
  by_calls_ns: number;
  by_time_ns: number;
}
export interface OperatorChange extends Part {
  name: string | null;
  before_call_count: number;
  after_call_count: number;
}
export interface Side {
  sources: string[];
  rank: number | null;
  device_name: string | null;
  torch_version: string | null;
  step_count: number;
  step_median_ns: number;
  step_least_ns: number;
  step_greatest_ns: number;
  step_unprofiled_ns: { low: number; mid: number; high: number } | null;
}
export interface FindingSide {
  severity: "fault" | "note" | "information";
  title: string;
  saving_ns: { low: number; mid: number; high: number } | null;
}
export interface RankDifference {
  rank: number | null;
  before: Side;
  after: Side;
  step: {
    verdict: "slower" | "faster" | "no_difference" | "too_few";
    ratio: number | null;
    ratio_low: number | null;
    ratio_high: number | null;
    unit: string;
    before_count: number;
    after_count: number;
    between_runs_ratio: number | null;
  };
  is_host_only: boolean;
  mean_step: Part;
  gpu_busy: Part;
  idle: Part;
  busy_by_class: Record<string, Part>;
  idle_by_cause: Record<string, Part>;
  work: WorkRow[];
  operators: OperatorChange[];
  findings: {
    id: string;
    change: "appeared" | "gone" | "stayed";
    before: FindingSide | null;
    after: FindingSide | null;
  }[];
  memory: {
    before_allocated_peak_bytes: number | null;
    after_allocated_peak_bytes: number | null;
    before_reserved_peak_bytes: number | null;
    after_reserved_peak_bytes: number | null;
  };
}
export interface RankChange {
  rank: number | null;
  before_step_ns: number;
  after_step_ns: number;
  before_own_ns: number;
  after_own_ns: number;
}
export interface DifferenceDocument {
  status: string;
  verdict: string;
  answer: string;
  explanation: string;
  before_files: string[];
  after_files: string[];
  doubts: string[];
  unreadable: { path: string; reason: string }[];
  ranks: RankChange[];
  typical_rank: RankDifference;
  explaining_rank: RankDifference | null;
}

// The rank whose step without exposed communication changed most: its parts are shown.
export function explaining(page: DifferenceDocument): RankDifference {
  return page.explaining_rank ?? page.typical_rank;
}

export interface PartRow extends Part {
  key: string;
  kind: "busy" | "idle";
}
export function partRows(rank: RankDifference): PartRow[] {
  const rows = (parts: Record<string, Part>, kind: "busy" | "idle") =>
    Object.entries(parts).map(([key, part]) => ({ key, kind, ...part }));
  return [...rows(rank.busy_by_class, "busy"), ...rows(rank.idle_by_cause, "idle")].sort(
    (a, b) => Math.abs(b.difference_ns) - Math.abs(a.difference_ns),
  );
}

// A piece of a side's bar: a class of work or a cause of idle time above, its rows below. Pieces of both sides stand in
// the same order, so that the eye finds them again.
export interface Piece {
  key: string;
  kind: "busy" | "idle";
  part: PartRow;
  start: number; // ns from the beginning of the step
  length: number;
  rows: { label: string; row: WorkRow; start: number; length: number }[];
}
export type SideName = "before" | "after";

export function rowLabel(row: WorkRow): string {
  const identity = row.match === "gone" ? row.before : (row.after ?? row.before);
  return identity?.operator ?? identity?.kernel ?? "small rows, together";
}

export function pieces(rank: RankDifference, side: SideName): Piece[] {
  const of = (part: Part) => (side === "before" ? part.before_ns : part.after_ns);
  const larger = (part: Part) => Math.max(part.before_ns, part.after_ns);
  const ordered = partRows(rank).sort((a, b) =>
    a.kind === b.kind ? larger(b) - larger(a) : a.kind === "busy" ? -1 : 1,
  );
  const rowsOf = new Map<string, WorkRow[]>();
  for (const row of rank.work) {
    const rows = rowsOf.get(row.class) ?? [];
    rows.push(row);
    rowsOf.set(row.class, rows);
  }
  let at = 0;
  return ordered.map((part) => {
    const start = at;
    let inside = start;
    const rows = part.kind === "busy" ? (rowsOf.get(part.key) ?? []) : [];
    const drawn = [...rows]
      .sort((a, b) => larger(b) - larger(a))
      .map((row) => {
        const begin = inside;
        inside += of(row);
        return { label: rowLabel(row), row, start: begin, length: of(row) };
      })
      .filter((each) => each.length > 0);
    at += of(part);
    return { key: part.key, kind: part.kind, part, start, length: of(part), rows: drawn };
  });
}

const kMatchWords: Record<WorkRow["match"], string> = {
  same: "",
  renamed: "another kernel",
  moved: "another place",
  reshaped: "other shapes",
  replaced: "another operator",
  new: "new",
  gone: "gone",
  rest: "small rows",
};
export function matchWords(row: WorkRow): string {
  return kMatchWords[row.match];
}

export function isDifference(json: object): json is DifferenceDocument {
  return "typical_rank" in json && "explaining_rank" in json;
}
