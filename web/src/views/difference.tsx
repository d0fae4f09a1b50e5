// Two runs: the answer, both mean steps drawn on one scale, both timelines, and tables of what changed.
import { useState } from "preact/hooks";
import { causeColour, kindColour, type Theme } from "../colours";
import {
  type DifferenceDocument,
  explaining,
  matchWords,
  type OperatorChange,
  type Part,
  type PartRow,
  partRows,
  pieces,
  type RankChange,
  type RankDifference,
  rowLabel,
  type Side,
  type SideName,
  type WorkRow,
} from "../data/difference";
import { canFind, type Wanted } from "../data/occurrences";
import type { Recordings } from "../data/recordings";
import { fileName } from "../data/report";
import { bytes, causeWords, count, duration, durationRange, percent, words } from "../format";
import { amount, text, time } from "./columns";
import { SideBySide, type Sought } from "./side_by_side";
import { DataTable, type RowOpener, type TableColumn } from "./tables";

export function signed(ns: number): string {
  if (ns === 0) return "0";
  return `${ns > 0 ? "+" : "−"}${duration(Math.abs(ns))}`;
}

interface Props {
  page: DifferenceDocument;
  theme: Theme;
  recordings: Recordings;
  sides: [number, number] | null; // recordings of A and B, where the page has them
}

export function DifferenceView({ page, theme, recordings, sides }: Props) {
  const [sought, setSought] = useState<Sought | null>(null);
  const typical = page.typical_rank;
  const rank = explaining(page);
  const of = page.ranks.length > 1 && rank.rank !== null ? ` of rank ${rank.rank}, which changed most` : "";
  const opens = <Row,>(wanted: (row: Row) => Wanted): RowOpener<Row> | undefined =>
    sides === null
      ? undefined
      : {
          title: "Show it on both timelines",
          can: (row) => canFind(wanted(row)),
          open: (row, from) => setSought({ wanted: wanted(row), from }),
        };
  return (
    <>
      <section class={`verdict ${page.doubts.length > 0 ? "withheld" : ""}`} aria-label="Answer">
        <p class="sentence">{page.answer}</p>
        <p class="where">
          A {page.before_files.join(", ")} · B {page.after_files.join(", ")}
        </p>
        {page.doubts.map((doubt) => (
          <p class="warning">Doubtful: {doubt}</p>
        ))}
        {page.unreadable.map((file) => (
          <p class="warning">
            Not read: {file.path}: {file.reason}
          </p>
        ))}
      </section>
      <dl class="figures">
        <Figure name="A" side={typical.before} />
        <Figure name="B" side={typical.after} />
        <NoiseFigure rank={typical} />
        <MemoryFigure rank={rank} />
      </dl>
      <FindingList rank={rank} />
      {!rank.is_host_only && (
        <section aria-labelledby="h-bars">
          <h2 id="h-bars">The mean step{of}</h2>
          <Bars rank={rank} theme={theme} />
        </section>
      )}
      <section aria-labelledby="h-sides">
        <h2 id="h-sides">Both timelines{of}</h2>
        {sides === null ? (
          <p class="faint">
            Drawn where both sides are given as recordings: a summary holds no events, a pipe is read once.
          </p>
        ) : (
          <SideBySide
            recordings={recordings}
            indices={sides}
            files={[fileName(rank.before.sources[0] ?? ""), fileName(rank.after.sources[0] ?? "")]}
            theme={theme}
            sought={sought}
          />
        )}
      </section>
      <section aria-labelledby="h-parts">
        <h2 id="h-parts">
          What explains it: {duration(rank.mean_step.before_ns)} → {duration(rank.mean_step.after_ns)},{" "}
          {signed(rank.mean_step.difference_ns)}
        </h2>
        <DataTable
          table={{ columns: partColumns, rows: partRows(rank) }}
          startKey="size"
          unfiltered
          opens={opens<PartRow>((row) => ({ kind: "part", row }))}
        />
      </section>
      {page.ranks.length > 1 && (
        <section aria-labelledby="h-ranks">
          <h2 id="h-ranks">Ranks</h2>
          <DataTable table={{ columns: rankColumns, rows: page.ranks }} startKey="own_change" unfiltered />
        </section>
      )}
      <section aria-labelledby="h-work">
        <h2 id="h-work">GPU work</h2>
        <DataTable
          table={{ columns: workColumns, rows: rank.work }}
          startKey="size"
          opens={opens<WorkRow>((row) => ({ kind: "work", row }))}
        />
      </section>
      <section aria-labelledby="h-host">
        <h2 id="h-host">Host time of operators and calls, with the profiler's cost</h2>
        <DataTable
          table={{ columns: operatorColumns, rows: rank.operators }}
          startKey="size"
          opens={opens<OperatorChange>((row) => ({ kind: "operator", row }))}
        />
      </section>
    </>
  );
}

function Figure({ name, side }: { name: string; side: Side }) {
  const range =
    side.step_count > 1
      ? `${durationRange(side.step_least_ns, side.step_greatest_ns)} in ${side.step_count} steps`
      : "one step";
  const runs = side.sources.length > 1 ? ` of ${side.sources.length} runs` : "";
  const where = [
    side.rank === null ? "" : `rank ${side.rank}`,
    side.device_name ?? "",
    fileName(side.sources[0] ?? ""),
  ];
  return (
    <div>
      <dt>{name}: median step</dt>
      <dd>
        <strong>{duration(side.step_median_ns)}</strong>
        <span>{range + runs}</span>
        {side.step_unprofiled_ns && <span>without the profiler about {duration(side.step_unprofiled_ns.mid)}</span>}
        <span>{where.filter((word) => word !== "").join(", ")}</span>
      </dd>
    </div>
  );
}

function NoiseFigure({ rank }: { rank: RankDifference }) {
  const { ratio, ratio_low, ratio_high, between_runs_ratio, before_count, after_count, unit } = rank.step;
  if (ratio === null) return null;
  return (
    <div>
      <dt>B / A</dt>
      <dd>
        <strong>{ratio.toFixed(3)}</strong>
        {ratio_low !== null && ratio_high !== null && (
          <span>
            95 %: {ratio_low.toFixed(3)} to {ratio_high.toFixed(3)}
          </span>
        )}
        <span>
          from {before_count} and {after_count} {unit}
        </span>
        {between_runs_ratio !== null && <span>noise between runs assumed: {percent(between_runs_ratio)}</span>}
      </dd>
    </div>
  );
}

function MemoryFigure({ rank }: { rank: RankDifference }) {
  const { before_allocated_peak_bytes: before, after_allocated_peak_bytes: after } = rank.memory;
  if (before === null && after === null) return null;
  return (
    <div>
      <dt>peak memory, allocated</dt>
      <dd>
        <strong>{bytes(after)}</strong>
        <span>in B; in A {bytes(before)}</span>
      </dd>
    </div>
  );
}

const kChange = { appeared: "new in B", gone: "gone in B", stayed: "in both" } as const;

function FindingList({ rank }: { rank: RankDifference }) {
  if (rank.findings.length === 0) return null;
  return (
    <section aria-labelledby="h-findings">
      <h2 id="h-findings">Findings</h2>
      <ol class="findings">
        {rank.findings.map((finding) => {
          const shown = finding.after ?? finding.before;
          if (!shown) return null;
          return (
            <li>
              <article class={`finding ${shown.severity}`} aria-label={shown.title}>
                <header>
                  <span class="severity">{kChange[finding.change]}</span>
                  <span class="id">{finding.id}</span>
                  <span class="cost">
                    {cost(finding.before)} → {cost(finding.after)}
                  </span>
                </header>
                <h3>{shown.title}</h3>
              </article>
            </li>
          );
        })}
      </ol>
    </section>
  );
}

function cost(side: { saving_ns: { mid: number } | null } | null): string {
  if (side === null) return "none";
  return side.saving_ns && side.saving_ns.mid > 0 ? `${duration(side.saving_ns.mid)} a step` : "yes";
}

// Both steps on one scale: classes and causes above, rows of work below. A piece's title compares it.
function Bars({ rank, theme }: { rank: RankDifference; theme: Theme }) {
  const whole = Math.max(rank.mean_step.before_ns, rank.mean_step.after_ns, 1);
  const width = (ns: number) => `${(ns / whole) * 100}%`;
  const describe = (label: string, part: Part) =>
    `${label}: ${duration(part.before_ns)} → ${duration(part.after_ns)}, ${signed(part.difference_ns)}${judged(part)}`;
  return (
    <div class="difference-bars">
      {(["before", "after"] as SideName[]).map((side) => {
        const all = pieces(rank, side);
        const total = side === "before" ? rank.mean_step.before_ns : rank.mean_step.after_ns;
        return (
          <div class="difference-side">
            <b>{side === "before" ? "A" : "B"}</b>
            <div>
              <div
                class="bar"
                role="img"
                style={{ width: width(total) }}
                aria-label={`${side === "before" ? "A" : "B"}: ${all.map((p) => `${label(p)} ${duration(p.length)}`).join("; ")}`}
              >
                {all.map((piece) => (
                  <div
                    class={piece.kind === "idle" ? "segment idle" : "segment"}
                    style={{
                      width: `${(piece.length / Math.max(total, 1)) * 100}%`,
                      "--fill": piece.kind === "idle" ? causeColour(piece.key) : kindColour(piece.key, theme),
                    }}
                    title={describe(label(piece), piece.part)}
                  >
                    {piece.length / whole > 0.06 && <span>{label(piece)}</span>}
                  </div>
                ))}
              </div>
              <div class="bar small below-bar" style={{ width: width(total) }} aria-hidden="true">
                {all.map((piece) => (
                  <div class="row-group" style={{ width: `${(piece.length / Math.max(total, 1)) * 100}%` }}>
                    {piece.rows.map((row) => (
                      <div
                        class="segment"
                        style={{
                          width: `${(row.length / Math.max(piece.length, 1)) * 100}%`,
                          "--fill": kindColour(piece.key, theme),
                        }}
                        title={describe(row.label, row.row)}
                      />
                    ))}
                  </div>
                ))}
              </div>
            </div>
          </div>
        );
      })}
      <ul class="legend">
        {[...new Map([...pieces(rank, "before"), ...pieces(rank, "after")].map((p) => [label(p), p]))].map(
          ([name, piece]) => (
            <li>
              <i
                class={piece.kind === "idle" ? "swatch idle" : "swatch"}
                style={{ "--fill": piece.kind === "idle" ? causeColour(piece.key) : kindColour(piece.key, theme) }}
              />
              {name}
            </li>
          ),
        )}
      </ul>
      <p class="faint">
        Solid is GPU work by class, its operators below; hatched is idle time by cause. Point at a piece to compare it.
      </p>
    </div>
  );
}

function label(piece: { key: string; kind: "busy" | "idle" }): string {
  return piece.kind === "idle" ? `idle: ${causeWords(piece.key)}` : words(piece.key);
}

function judged(part: Part): string {
  if (part.noise_ns === null) return "";
  return part.is_told ? "" : " (no more than noise)";
}

function partFields<Row extends Part>(): TableColumn<Row>[] {
  return [
    {
      key: "size",
      title: "change",
      help: "B less A, of the mean step; sorted by size",
      value: (r) => Math.abs(r.difference_ns),
      show: (r) => signed(r.difference_ns),
    },
    time("before_ns", "A", "a step", (r) => r.before_ns),
    time("after_ns", "B", "a step", (r) => r.after_ns),
    amount(
      "noise_ns",
      "known to within",
      "95 %, all parts together; empty: too small or too few steps to be judged",
      (r) => r.noise_ns,
      (ns) => `±${duration(ns)}`,
    ),
    text("is_told", "more than noise", "whether the change is", (r) =>
      r.is_told ? "yes" : r.noise_ns === null ? "" : "no",
    ),
  ];
}

const partColumns: TableColumn<PartRow>[] = [
  text("part", "part", "GPU work by class, idle time by cause", label),
  ...partFields<PartRow>(),
];

const calls = <Row extends { before_call_count: number; after_call_count: number }>(): TableColumn<Row> => ({
  key: "calls",
  title: "calls",
  help: "a step, A → B",
  value: (r) => r.after_call_count,
  show: (r) => changed(callCount(r.before_call_count), callCount(r.after_call_count)),
});

function callCount(value: number): string {
  return Number.isInteger(value) ? count(value) : value.toFixed(1);
}

function changed(before: string, after: string): string {
  return before === after ? after : `${before} → ${after}`;
}

const workColumns: TableColumn<WorkRow>[] = [
  text("operator", "operator", "that launched it; the kernel where it is not known", rowLabel),
  text("kernel", "kernel", "A → B where it is another", kernels),
  text("match", "found as", "empty: the same on both sides", matchWords),
  ...partFields<WorkRow>(),
  calls<WorkRow>(),
  amount("by_calls_ns", "by calls", "of the change: calls that came or went", (r) => r.by_calls_ns, signed),
  amount("by_time_ns", "by their time", "of the change: calls that take another time", (r) => r.by_time_ns, signed),
  text("place", "place", "spans around it", (r) => r.after?.place ?? r.before?.place ?? ""),
  text("shapes", "shapes", "of the operator's inputs", (r) => r.after?.shapes ?? r.before?.shapes ?? ""),
];

function kernels(row: WorkRow): string {
  const [before, after] = [row.before?.kernel ?? "", row.after?.kernel ?? ""];
  return before === "" || after === "" ? after || before : changed(before, after);
}

const operatorColumns: TableColumn<OperatorChange>[] = [
  text("name", "operator", "self time", (r) => r.name ?? "small operators, together"),
  ...partFields<OperatorChange>(),
  calls<OperatorChange>(),
];

// Two times of one rank, sorted by `by`.
const pair = (
  key: string,
  title: string,
  help: string,
  of: (r: RankChange) => [before: number, after: number],
  by: (before: number, after: number) => number,
): TableColumn<RankChange> => ({
  key,
  title,
  help,
  value: (r) => by(...of(r)),
  show: (r) => changed(duration(of(r)[0]), duration(of(r)[1])),
});
const ownChange = (r: RankChange) => r.after_own_ns - r.before_own_ns;

const rankColumns: TableColumn<RankChange>[] = [
  amount(
    "rank",
    "rank",
    "of both sides",
    (r) => r.rank ?? -1,
    (rank) => (rank < 0 ? "unknown" : String(rank)),
  ),
  pair(
    "step",
    "step",
    "median",
    (r) => [r.before_step_ns, r.after_step_ns],
    (a, b) => b - a,
  ),
  pair(
    "own",
    "without exposed comm.",
    "the step without communication that nothing hides",
    (r) => [r.before_own_ns, r.after_own_ns],
    (_, b) => b,
  ),
  {
    key: "own_change",
    title: "its change",
    help: "sorted by size",
    value: (r) => Math.abs(ownChange(r)),
    show: (r) => signed(ownChange(r)),
  },
];
