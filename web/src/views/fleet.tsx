// All ranks of a run: bars of the ranks that tell most, how each step went, and a row for every rank.
import { causeColour, kindColour, type Theme } from "../colours";
import {
  barRanks,
  type Fleet,
  type FleetBandwidth,
  type FleetRank,
  type FleetStep,
  fleetPieces,
  missingStepsOf,
  stopWords,
} from "../data/fleet";
import { bytes, capital, causeWords, count, duration, percent, words } from "../format";
import { amount, number, size, text, time } from "./columns";
import { hasRankSteps, RankLanes } from "./rank_lanes";
import { DataTable, type TableColumn } from "./tables";

export function FleetView({ fleet, theme }: { fleet: Fleet; theme: Theme }) {
  const of = fleet.world_size === null ? "" : ` of ${count(fleet.world_size)}`;
  const stops = stopWords(fleet);
  const missing = missingStepsOf(fleet);
  return (
    <>
      <p class="faint">
        {count(fleet.rank_count)}
        {of} ranks{fleet.missing_count > 0 && `, ${count(fleet.missing_count)} without a file`}. Own work is the step
        less what a rank waited inside collectives for others.
      </p>
      {stops && <p class="stops">{stops}.</p>}
      {missing && <p class="stops">{capital(missing)}.</p>}
      <section aria-labelledby="h-fleet-bars">
        <h2 id="h-fleet-bars">Where a step of a rank goes, the latest first</h2>
        <Bars fleet={fleet} theme={theme} />
      </section>
      {hasRankSteps() && (
        <section aria-labelledby="h-fleet-lanes">
          <h2 id="h-fleet-lanes">Each step of each rank, on one clock</h2>
          <RankLanes fleet={fleet} theme={theme} />
        </section>
      )}
      <section aria-labelledby="h-fleet-ranks">
        <h2 id="h-fleet-ranks">Ranks</h2>
        <DataTable table={{ columns: rankColumns, rows: fleet.ranks }} startKey="late" />
      </section>
      {fleet.steps.length > 0 && (
        <section aria-labelledby="h-fleet-steps">
          <h2 id="h-fleet-steps">Steps</h2>
          <DataTable table={{ columns: stepColumns, rows: fleet.steps }} startKey="step" ascending unfiltered />
        </section>
      )}
      {fleet.bandwidths.length > 0 && (
        <section aria-labelledby="h-fleet-bandwidth">
          <h2 id="h-fleet-bandwidth">Bus bandwidth, after the last rank has come</h2>
          <DataTable table={{ columns: bandwidthColumns, rows: fleet.bandwidths }} startKey="size" unfiltered />
        </section>
      )}
    </>
  );
}

function Bars({ fleet, theme }: { fleet: Fleet; theme: Theme }) {
  const ranks = barRanks(fleet);
  const longest = Math.max(1, ...ranks.map((rank) => fleetPieces(rank).reduce((sum, piece) => sum + piece.ns, 0)));
  return (
    <div class="scroll">
      <table class="plain ranks fleet">
        <thead>
          <tr>
            <th>rank</th>
            <th class="n">step</th>
            <th>where it goes</th>
            <th>late</th>
          </tr>
        </thead>
        <tbody>
          {ranks.map((rank) => (
            <tr key={rank.label}>
              <td>{fleet.stragglers.includes(rank.label) ? <strong>{rank.label}</strong> : rank.label}</td>
              <td class="n">{duration(rank.step_ns)}</td>
              <td class="wide">
                <div class="bar small" role="img" aria-label={`own work ${duration(rank.own_ns ?? rank.step_ns)}`}>
                  {fleetPieces(rank).map((piece) => (
                    <div
                      key={piece.kind}
                      class={piece.idle ? "segment idle" : "segment"}
                      title={`${pieceWords(piece.kind, piece.idle)}: ${duration(piece.ns)}`}
                      style={{
                        width: `${(piece.ns / longest) * 100}%`,
                        "--fill": colourOf(piece.kind, piece.idle, theme),
                      }}
                    />
                  ))}
                </div>
              </td>
              <td>{rank.late_ns !== null && rank.late_ns > 0 ? duration(rank.late_ns) : ""}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <PieceLegend ranks={ranks} theme={theme} />
    </div>
  );
}

// Every piece that the bars have, the largest first.
function PieceLegend({ ranks, theme }: { ranks: FleetRank[]; theme: Theme }) {
  const sums = new Map<string, { kind: string; idle: boolean; ns: number }>();
  for (const piece of ranks.flatMap(fleetPieces)) {
    const key = `${piece.kind} ${piece.idle}`;
    sums.set(key, { ...piece, ns: piece.ns + (sums.get(key)?.ns ?? 0) });
  }
  const pieces = [...sums.values()].sort((a, b) => Number(a.idle) - Number(b.idle) || b.ns - a.ns);
  return (
    <ul class="legend">
      {pieces.map(({ kind, idle }) => (
        <li>
          <i class={idle ? "swatch idle" : "swatch"} style={{ "--fill": colourOf(kind, idle, theme) }} />
          {idle && kind !== "wait" ? "idle: " : ""}
          {pieceWords(kind, idle)}
        </li>
      ))}
    </ul>
  );
}

function pieceWords(kind: string, idle: boolean): string {
  if (kind === "wait") return "waits for other ranks";
  return idle ? causeWords(kind) : words(kind);
}

function colourOf(kind: string, idle: boolean, theme: Theme): string {
  if (kind === "wait") return kindColour("communication", theme);
  return idle ? causeColour(kind) : kindColour(kind, theme);
}

const rankColumns: TableColumn<FleetRank>[] = [
  { key: "rank", title: "rank", help: "as its file says", value: (r) => r.rank ?? -1, show: (r) => r.label },
  time("late", "late", "own work beyond the typical rank's, median step", (r) => r.late_ns),
  time("step", "step", "median", (r) => r.step_ns),
  time("own", "own work", "step less waits, median", (r) => r.own_ns),
  time("wait", "waits", "inside collectives for ranks that had not come, nothing computing", (r) => r.wait_ns),
  time("comm", "exposed comm.", "communication with nothing computing beside it", (r) => r.exposed_communication_ns),
  amount("busy", "GPU busy", "of the median step", busyRatio, percent),
  amount("kernels", "kernel time", "of the same kernels on the typical rank", (r) => r.kernel_time_ratio, times),
  size("memory", "memory", "allocated peak", (r) => r.allocated_peak_bytes),
  text("host", "host", "where the file names it", (r) => r.host ?? ""),
  text("finding", "first finding", "of this rank alone", (r) => r.headline_withheld ?? r.first_finding ?? ""),
];

function busyRatio(rank: FleetRank): number | null {
  return rank.gpu_busy_ns === null || rank.step_ns === null ? null : rank.gpu_busy_ns / rank.step_ns;
}
function times(ratio: number): string {
  return `${ratio.toFixed(2)} x`;
}

const stepColumns: TableColumn<FleetStep>[] = [
  number("step", "step", "number", (s) => s.step),
  time("typical", "typical own work", "lower median", (s) => s.typical_own_ns),
  time("slowest", "slowest own work", "of all ranks", (s) => s.slowest_own_ns),
  text("who", "slowest", "which rank", (s) => s.slowest),
  time("spread", "arrival spread", "last - first arrival, where it is largest", (s) => s.arrivals?.spread_ns ?? null),
  text("last", "last to arrive", "there", (s) => s.arrivals?.last ?? ""),
  time("transfer", "transfer", "after that", (s) => s.arrivals?.transfer_ns ?? null),
];

const perSecond = (value: number) => `${(value / 1e9).toFixed(1)} GB/s`;
const fromBytes = (value: number) => (value === 0 ? "under 64 KiB" : `${bytes(value)} on`);

const bandwidthColumns: TableColumn<FleetBandwidth>[] = [
  text("kind", "kind", "of collective", (b) => b.kind ?? "unnamed"),
  number("ranks", "ranks", "of the group", (b) => b.rank_count),
  amount("size", "size", "from so many bytes to eight times as many", (b) => b.from_bytes, fromBytes),
  number("count", "count", "collectives", (b) => b.count),
  amount("best", "best", "nccl-tests' bus bandwidth", (b) => b.best_bus_bytes_per_s, perSecond),
  amount("median", "median", "likewise", (b) => b.median_bus_bytes_per_s, perSecond),
];
