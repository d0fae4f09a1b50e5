// The document of `stepscope report --json` (docs/formats/report.md), as far as the page reads it.

import { type DifferenceDocument, explaining, isDifference } from "./difference";
import type { Fleet } from "./fleet";

export interface Range {
  start_ns: number;
  end_ns: number;
}
export interface Estimate {
  low: number;
  mid: number;
  high: number;
}
export interface Evidence {
  text: string;
  at: Range | null;
}
export interface Finding {
  id: string;
  severity: "fault" | "note" | "information";
  title: string;
  saving_ns: Estimate | null;
  saving_ratio: number | null;
  evidence: Evidence[];
  advice: string[];
  gain: string | null;
  found_on?: string[];
}
export interface Device {
  device: number;
  name: string | null;
  is_main: boolean;
  window_ns: number;
  gpu_busy_ns: number | null;
  idle_ns: number | null;
  idle_cause_withheld: string | null;
  idle_by_cause_ns: Record<string, number> | null;
  idle_details: { cause: string; name: string; length_ns: number }[] | null;
  busy_by_kind_ns: Record<string, number>;
  event_count_by_kind: Record<string, number>;
  communication_ns: number;
  exposed_communication_ns: number;
  exposed_copy_ns: number;
}
export interface SyncRow {
  kind: string;
  count: number;
  count_per_step: number | null;
  blocked_count: number;
  hidden_count: number;
  blocked_ns: number;
  python_line: string | null;
  operators: string | null;
  spans: string | null;
}
export interface Note {
  kind: string;
  severity: string;
  count: number;
  example: string;
}
// Numbers that the recording skips, both included.
export interface MissingSteps {
  first: number;
  last: number;
}
export interface Report {
  label?: string;
  schema_version: number;
  stepscope_version: string;
  status: "complete" | "partial" | "unusable";
  verdict: string;
  headline_withheld: string | null;
  error?: { code: string; message: string };
  source: {
    path: string;
    producer: string;
    event_count: number;
    base_ns: number;
    host_name: string | null;
    trace_name: string | null;
    with_stack: boolean;
    record_shapes: boolean;
    record_with: { stacks: string | null; modules: string | null; shapes: string | null };
  };
  asked: { window: string };
  found: { rank: number | null; world_size: number | null; backend: string | null; devices: number[] };
  steps: {
    count: number;
    source: string;
    source_detail: string;
    first: number | null;
    last: number | null;
    left_out: number[];
    disturbed: { step: number; cause: string }[];
    missing: MissingSteps[];
    window: Range;
    median_ns: number | null;
    p10_ns: number | null;
    p90_ns: number | null;
    host_span_median_ns: number | null;
    host_lead_ns: number | null;
    estimated_unprofiled_ns: Estimate | null;
  };
  devices: Device[];
  findings: Finding[];
  efficiency: {
    mfu_ratio: number | null;
    peak_flops_per_s: number | null;
    peak_dtype: string | null;
    not_available: string | null;
  };
  memory: {
    recorded: boolean;
    devices: {
      device: number;
      allocated_peak: { bytes: number; time_ns: number } | null;
      reserved_peak: { bytes: number; time_ns: number } | null;
    }[];
  };
  what_if: { self_check: { refused: string | null } };
  synchronizations: SyncRow[];
  launches: {
    median_latency_ns: number | null;
    kernel_count: number;
    short_kernel_count: number;
    median_kernel_ns: number | null;
    max_queue_depth_count: number;
    mean_queue_depth_count: number | null;
  };
  ledger: {
    launch_count: number;
    gpu_event_count: number;
    linked_gpu_event_count: number;
    launch_without_gpu_event_count: number;
    is_host_only: boolean;
  };
  notes: Note[];
}
export interface RanksDocument {
  schema_version: number;
  stepscope_version: string;
  status: string;
  verdict: string;
  is_one_run: boolean;
  findings: Finding[];
  fleet?: Fleet; // all ranks together; with is_one_run
  ranks: Report[];
}

// The document of `stepscope memory --json`, as far as the page reads it.
export interface MemoryFinding {
  id: string;
  severity: "fault" | "note" | "information";
  title: string;
  saving_bytes: number | null;
  evidence: { text: string; event: number | null }[];
  advice: string[];
  gain: string | null;
}
export interface MemoryWhatIf {
  settings: string;
  reserved_peak_bytes: number | null;
  retries: number | null;
  cuda_malloc_count: number | null;
  least_capacity_bytes: number | null;
  oom: { entry: number | null; request_bytes: number } | null;
  replay_matched: number;
  replay_total: number;
  replay_device_calls_matched: number;
  replay_device_calls_total: number;
  withheld: string | null;
  capacity_bytes: number | null;
}
export interface MemoryDocument {
  settings: string;
  what_if: MemoryWhatIf[]; // best first; empty: not simulated
  status: string;
  headline_withheld: string | null;
  source: { path: string; format: string };
  shown_device: number | null;
  live: unknown;
  findings: MemoryFinding[];
  notes: Note[];
}

export interface PageDocument {
  difference: DifferenceDocument | null; // two runs compared; alone, or beside the reports of two recordings
  memory: MemoryDocument | null; // a snapshot's page: no report, and the memory is recording 0's
  joint: RanksDocument | null; // several recordings
  reports: Report[]; // those with columns, in the order of the page's recordings
  unusable: Report[];
}

// Recordings of A and B, by number: the only two of a page of differences, or those two of the page's reports; null where
// they are not in the page.
export function sidesOf(page: PageDocument, has: (recording: number) => boolean): [number, number] | null {
  if (!page.difference) return null;
  if (!page.joint) return has(0) && has(1) ? [0, 1] : null;
  const { before, after } = explaining(page.difference);
  const paths = page.reports.map((report) => report.source.path);
  const sides: [number, number] = [paths.indexOf(before.sources[0]), paths.lastIndexOf(after.sources[0])];
  return sides.every((side) => side >= 0) ? sides : null;
}

export function readDocument(json: unknown, difference: unknown = null): PageDocument {
  const nothing: PageDocument = { difference: null, memory: null, joint: null, reports: [], unusable: [] };
  if ("shown_device" in (json as object)) return { ...nothing, memory: json as MemoryDocument };
  if (isDifference(json as object)) return { ...nothing, difference: json as DifferenceDocument };
  const document = json as Report & RanksDocument;
  if (!Array.isArray(document.ranks)) return { ...nothing, reports: [document] };
  const usable = (report: Report) => report.error === undefined;
  return {
    ...nothing,
    difference: difference as DifferenceDocument | null,
    joint: document,
    reports: document.ranks.filter(usable),
    unusable: document.ranks.filter((report) => !usable(report)),
  };
}

export function mainDevice(report: Report): Device | null {
  return report.devices.find((device) => device.is_main) ?? null;
}

// A file's own name, without its folders.
export function fileName(path: string): string {
  return path.split(/[\\/]/).pop() || path;
}

export function reportLabel(report: Report): string {
  if (report.label) return report.label;
  return fileName(report.source.path);
}

// The range beside the median step, as the terminal shows it: all of a few steps, the 10th to 90th percentile of ten or
// more; one step has none.
export function stepSpread(
  steps: Report["steps"],
  lengths: number[],
): { low: number; high: number; isAll: boolean } | null {
  const kFewSteps = 10;
  if (steps.count >= kFewSteps && steps.p10_ns !== null && steps.p90_ns !== null)
    return { low: steps.p10_ns, high: steps.p90_ns, isAll: false };
  if (lengths.length < 2) return null;
  return { low: Math.min(...lengths), high: Math.max(...lengths), isAll: true };
}

// Steps that count nowhere since Stepscope itself stopped the program in them, in the terminal's words: a sentence a cause.
export function disturbedWords(disturbed: Report["steps"]["disturbed"]): string[] {
  const kMostNumbers = 8;
  const causes = new Map<string, number[]>();
  for (const { step, cause } of disturbed) causes.set(cause, [...(causes.get(cause) ?? []), step]);
  return [...causes].map(([cause, numbers]) => {
    const isOne = numbers.length === 1;
    const shown = numbers.slice(0, kMostNumbers).map((each) => `#${each}`);
    const list = [...shown, ...(numbers.length > kMostNumbers ? ["…"] : [])].join(", ");
    return `${numbers.length} ${isOne ? "step" : "steps"} left out: ${cause} in ${isOne ? "it" : "them"} (${list})`;
  });
}

function rangeWords({ first, last }: MissingSteps): string {
  return first === last ? `#${first}` : `#${first} to #${last}`;
}

// Steps whose numbers the recording skips, in the terminal's words; empty if none is.
export function missingWords(missing: MissingSteps[]): string {
  const kMostNamed = 4;
  if (missing.length === 0) return "";
  const isOne = missing.length === 1 && missing[0].first === missing[0].last;
  if (isOne) return `step ${rangeWords(missing[0])} is missing in the recording: the time of its gap is left out`;
  const named = missing.slice(0, kMostNamed).map(rangeWords);
  const list = [...named, ...(missing.length > kMostNamed ? ["…"] : [])].join(", ");
  const gaps = missing.length === 1 ? "gap" : "gaps";
  return `steps ${list} are missing in the recording: the time of their ${gaps} is left out`;
}

// "steps 4 to 9", and after it what the range does not hold, as the terminal's title.
export function stepRange({ first, last, missing }: Report["steps"]): string {
  const without = missing.length === 1 ? ` without ${rangeWords(missing[0])}` : missing.length > 1 ? ", not all" : "";
  return `steps ${first} to ${last}${without}`;
}

// Why there are no steps and what to do, where more is known than that nothing marks one.
export function noStepsWords({ source_detail }: Report["steps"]): string {
  if (source_detail === "") return "No steps are known in this recording; name their span with --steps.";
  const advice = source_detail.startsWith("only one step's end") ? " Record two steps or more." : "";
  return `No steps are known in this recording: ${source_detail}.${advice}`;
}

// What was not recorded, and how it would be with the tool that made the file.
export function notRecorded(what: string, how: string | null | undefined): string {
  return `No ${what} were recorded${how ? `: record with ${how}` : ""}.`;
}
