// The key "fleet" of the report's document (docs/formats/report.md), as far as the page reads it, and what is drawn of it.
import { count, duration } from "../format";
import { type MissingSteps, missingWords } from "./report";

export interface FleetParts {
  idle_ns: Record<string, number>;
  work_ns: Record<string, number>;
}
export interface FleetRank {
  label: string;
  rank: number | null;
  source: string;
  host: string | null;
  headline_withheld: string | null;
  step_ns: number | null;
  own_ns: number | null;
  wait_ns: number | null;
  late_ns: number | null;
  late_step_ratio: number | null;
  gpu_busy_ns: number | null;
  exposed_communication_ns: number | null;
  kernel_time_ratio: number | null;
  allocated_peak_bytes: number | null;
  clock_offset_ns: number;
  parts: FleetParts | null;
  first_finding: string | null;
  missing_steps: MissingSteps[];
}
export interface FleetStep {
  step: number;
  typical_own_ns: number;
  slowest_own_ns: number;
  slowest: string;
  arrivals: { kind: string | null; spread_ns: number; transfer_ns: number; first: string; last: string } | null;
}
export interface FleetBandwidth {
  kind: string | null;
  rank_count: number;
  from_bytes: number;
  count: number;
  best_bus_bytes_per_s: number;
  median_bus_bytes_per_s: number;
}
// What Stepscope itself stopped.
export interface FleetStops {
  ranks: { rank: string; count: number; total_ns: number }[];
  steps_left_out: number[];
  in_every_step: boolean;
}
export interface Fleet {
  world_size: number | null;
  rank_count: number;
  missing_count: number;
  stragglers: string[];
  stops: FleetStops;
  groups: unknown[];
  steps: FleetStep[];
  bandwidths: FleetBandwidth[];
  ranks: FleetRank[];
}

export interface FleetPiece {
  label: string;
  idle: boolean;
  kind: string; // cause or kind of work; "wait"
  ns: number;
}

// Where a rank's mean step goes: work, idle, and the wait for others last. What is negative by rounding is left out.
export function fleetPieces(rank: FleetRank): FleetPiece[] {
  if (rank.parts === null) return [];
  const list = (parts: Record<string, number>, idle: boolean) =>
    Object.entries(parts)
      .filter(([, ns]) => ns > 0)
      .sort((a, b) => b[1] - a[1])
      .map(([kind, ns]) => ({ label: kind, idle, kind, ns }));
  const wait = rank.wait_ns ?? 0;
  return [
    ...list(rank.parts.work_ns, false),
    ...list(rank.parts.idle_ns, true),
    ...(wait > 0 ? [{ label: "waits for other ranks", idle: true, kind: "wait", ns: wait }] : []),
  ];
}

// The ranks worth a bar: all when they are few; else the latest, the typical one and the earliest.
export function barRanks(fleet: Fleet, most = 12): FleetRank[] {
  const known = fleet.ranks
    .filter((rank) => rank.step_ns !== null)
    .sort((a, b) => (b.late_ns ?? 0) - (a.late_ns ?? 0) || (b.step_ns ?? 0) - (a.step_ns ?? 0));
  if (known.length <= most) return known;
  return [...known.slice(0, most - 2), known[Math.floor(known.length / 2)], known[known.length - 1]];
}

// In the terminal's words what of the times is ours and nothing of the run; empty if we stopped no rank for long.
export function stopWords({ stops, groups }: Fleet): string {
  const left = stops.steps_left_out;
  if (left.length === 0 && !stops.in_every_step) return "";
  const only = stops.ranks.length === 1;
  const total = stops.ranks.reduce((sum, rank) => sum + rank.total_ns, 0);
  const who = only ? stops.ranks[0].rank : `${count(stops.ranks.length)} ranks`;
  const waited = groups.length > 0 ? ", and others waited for it" : "";
  const start = `Stepscope itself stopped ${who} for ${duration(total)}${only ? "" : " together"}${waited}: `;
  if (stops.in_every_step)
    return `${start}in every step, so what ranks wait for and step times hold that; no rank is called late for it`;
  const steps = left.length === 1 ? `step ${left[0]} is` : `${count(left.length)} steps are`;
  return `${start}${steps} counted on no rank`;
}

// Which ranks skip which steps, those that skip the same together, as the terminal says it; empty if none does.
export function missingStepsOf({ ranks }: Fleet): string {
  const kMostLists = 3;
  const byList = new Map<string, FleetRank[]>();
  for (const rank of ranks) {
    if (rank.missing_steps.length === 0) continue;
    const key = JSON.stringify(rank.missing_steps);
    byList.set(key, [...(byList.get(key) ?? []), rank]);
  }
  const lists = [...byList.values()];
  const sentences = lists.slice(0, kMostLists).map((same) => {
    const others = same.length === 2 ? ` and ${same[1].label}` : ` and ${count(same.length - 1)} others`;
    const who =
      same.length > 1 && same.length === ranks.length ? "all" : same[0].label + (same.length > 1 ? others : "");
    return `${who}: ${missingWords(same[0].missing_steps)}`;
  });
  const more = lists.slice(kMostLists).reduce((sum, same) => sum + same.length, 0);
  return [...sentences, ...(more > 0 ? [`${count(more)} more skip other steps`] : [])].join("; ");
}
