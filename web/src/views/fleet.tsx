// All ranks of a run: bars of the ranks that tell most, how each step went, and a row for every rank.
import { causeColour, kindColour, type Theme } from "../colours";
import { barRanks, type Fleet, type FleetBandwidth, type FleetRank, type FleetStep, fleetPieces } from "../data/fleet";
import { bytes, causeWords, count, duration, percent, words } from "../format";
import { DataTable, type TableColumn } from "./tables";

export function FleetView({ fleet, theme }: { fleet: Fleet; theme: Theme }) {
  const of = fleet.world_size === null ? "" : ` of ${count(fleet.world_size)}`;
  return (
    <>
      <p class="faint">
        {count(fleet.rank_count)}
        {of} ranks{fleet.missing_count > 0 && `, ${count(fleet.missing_count)} without a file`}. Own work is the step
        less what a rank waited inside collectives for others.
      </p>
      <section aria-labelledby="h-fleet-bars">
        <h2 id="h-fleet-bars">Where a step of a rank goes, the latest first</h2>
        <Bars fleet={fleet} theme={theme} />
      </section>
      <section aria-labelledby="h-fleet-ranks">
        <h2 id="h-fleet-ranks">Ranks</h2>
        <DataTable table={{ columns: rankColumns, rows: fleet.ranks }} startKey="late" />
      </section>
      {fleet.steps.length > 0 && (
        <section aria-labelledby="h-fleet-steps">
          <h2 id="h-fleet-steps">Steps</h2>
          <DataTable table={{ columns: stepColumns, rows: fleet.steps }} startKey="step" unfiltered />
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
              <td>{rank.late_ns !== null && rank.late_ns > 0 ? `${duration(rank.late_ns)} late` : ""}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
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

const time = (
  key: string,
  title: string,
  help: string,
  of: (rank: FleetRank) => number | null,
): TableColumn<FleetRank> => ({
  key,
  title,
  help,
  value: (rank) => of(rank) ?? -1,
  show: (rank) => (of(rank) === null ? "" : duration(of(rank))),
});

const rankColumns: TableColumn<FleetRank>[] = [
  { key: "rank", title: "rank", help: "as its file says", value: (r) => r.rank ?? -1, show: (r) => r.label },
  time("late", "late", "own work beyond the typical rank's, median step", (r) => r.late_ns),
  time("step", "step", "median", (r) => r.step_ns),
  time("own", "own work", "step less waits, median", (r) => r.own_ns),
  time("wait", "waits", "inside collectives for ranks that had not come, nothing computing", (r) => r.wait_ns),
  time("comm", "exposed comm.", "communication with nothing computing beside it", (r) => r.exposed_communication_ns),
  {
    key: "busy",
    title: "GPU busy",
    help: "of the median step",
    value: (r) => (r.gpu_busy_ns ?? -1) / (r.step_ns ?? 1),
    show: (r) => (r.gpu_busy_ns === null || r.step_ns === null ? "" : percent(r.gpu_busy_ns / r.step_ns)),
  },
  {
    key: "kernels",
    title: "kernel time",
    help: "of the same kernels on the typical rank",
    value: (r) => r.kernel_time_ratio ?? -1,
    show: (r) => (r.kernel_time_ratio === null ? "" : `${r.kernel_time_ratio.toFixed(2)} x`),
  },
  {
    key: "memory",
    title: "memory",
    help: "allocated peak",
    value: (r) => r.allocated_peak_bytes ?? -1,
    show: (r) => (r.allocated_peak_bytes === null ? "" : bytes(r.allocated_peak_bytes)),
  },
  { key: "host", title: "host", help: "where the file names it", value: (r) => r.host ?? "" },
  {
    key: "finding",
    title: "first finding",
    help: "of this rank alone",
    value: (r) => r.headline_withheld ?? r.first_finding ?? "",
  },
];

const stepColumns: TableColumn<FleetStep>[] = [
  { key: "step", title: "step", help: "number", value: (s) => s.step },
  {
    key: "typical",
    title: "typical own work",
    help: "lower median",
    value: (s) => s.typical_own_ns,
    show: (s) => duration(s.typical_own_ns),
  },
  {
    key: "slowest",
    title: "slowest own work",
    help: "of all ranks",
    value: (s) => s.slowest_own_ns,
    show: (s) => duration(s.slowest_own_ns),
  },
  { key: "who", title: "slowest", help: "which rank", value: (s) => s.slowest },
  {
    key: "spread",
    title: "arrival spread",
    help: "last - first arrival, where it is largest",
    value: (s) => s.arrivals?.spread_ns ?? -1,
    show: (s) => (s.arrivals ? duration(s.arrivals.spread_ns) : ""),
  },
  { key: "last", title: "last to arrive", help: "there", value: (s) => s.arrivals?.last ?? "" },
  {
    key: "transfer",
    title: "transfer",
    help: "after that",
    value: (s) => s.arrivals?.transfer_ns ?? -1,
    show: (s) => (s.arrivals ? duration(s.arrivals.transfer_ns) : ""),
  },
];

const perSecond = (value: number) => `${(value / 1e9).toFixed(1)} GB/s`;

const bandwidthColumns: TableColumn<FleetBandwidth>[] = [
  { key: "kind", title: "kind", help: "of collective", value: (b) => b.kind ?? "unnamed" },
  { key: "ranks", title: "ranks", help: "of the group", value: (b) => b.rank_count },
  {
    key: "size",
    title: "size",
    help: "from so many bytes to eight times as many",
    value: (b) => b.from_bytes,
    show: (b) => (b.from_bytes === 0 ? "under 64 KiB" : `${bytes(b.from_bytes)} on`),
  },
  { key: "count", title: "count", help: "collectives", value: (b) => b.count, show: (b) => count(b.count) },
  {
    key: "best",
    title: "best",
    help: "nccl-tests' bus bandwidth",
    value: (b) => b.best_bus_bytes_per_s,
    show: (b) => perSecond(b.best_bus_bytes_per_s),
  },
  {
    key: "median",
    title: "median",
    help: "likewise",
    value: (b) => b.median_bus_bytes_per_s,
    show: (b) => perSecond(b.median_bus_bytes_per_s),
  },
];
