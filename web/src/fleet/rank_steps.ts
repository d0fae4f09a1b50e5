// Each step of each rank on the run's one clock, and the drawing of them: a row a rank.
//
// With a thousand ranks a row is less than a pixel high, and a frame of rectangles would be a hundred thousand calls. So
// the rows are written as pixels: a line of pixels is one rank, a step of it three runs of one colour, each of them one
// fill of an array; lines of the same rank are copied. What a frame costs is the pixels it has.
import type { Container } from "../data/container";
import type { View } from "../timeline/scale";

export interface RankSteps {
  count: number;
  rank: Uint32Array; // row of the document's fleet.ranks
  step: Float64Array;
  start: Float64Array; // ns since the first
  end: Float64Array;
  wait: Float64Array; // for others, inside collectives
  communication: Float64Array; // with nothing beside it, without the waits
  leftOut: number;
  rows: Map<number, number[]>; // of each rank, in order of time
  low: number;
  high: number;
}
export const kParts = ["own", "communication", "wait"] as const;
export type Part = (typeof kParts)[number];

export function readRankSteps(container: Container): RankSteps {
  const column = (name: string) => container.float64("rank_steps", name);
  const [start, duration] = [column("start_ns"), column("duration_ns")];
  const rank = container.uint32("rank_steps", "rank");
  const rows = new Map<number, number[]>();
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let i = 0; i < start.length; i++) {
    const list = rows.get(rank[i]);
    if (list) list.push(i);
    else rows.set(rank[i], [i]);
    low = Math.min(low, start[i]);
    high = Math.max(high, start[i] + duration[i]);
  }
  for (const list of rows.values()) list.sort((a, b) => start[a] - start[b]);
  return {
    count: start.length,
    rank,
    step: column("step"),
    start,
    end: duration.map((length, i) => start[i] + length),
    wait: column("wait_ns"),
    communication: column("communication_ns"),
    leftOut: (container.directory as { left_out_count?: number }).left_out_count ?? 0,
    rows,
    low: start.length > 0 ? low : 0,
    high: start.length > 0 ? Math.max(high, low + 1) : 1,
  };
}

// How long each part of a step is. Own work is computing, and idle time that is the rank's own.
export function partsOf(steps: RankSteps, row: number): Record<Part, number> {
  const { wait, communication } = steps;
  const own = Math.max(0, steps.end[row] - steps.start[row] - wait[row] - communication[row]);
  return { own, communication: communication[row], wait: wait[row] };
}

// Which rank a line of pixels shows where several share it: the one that comes first in `order`, which is the latest.
export function ranksOfLines(order: number[], lines: number, shown: (index: number) => number): Int32Array {
  const out = new Int32Array(lines).fill(-1);
  for (let index = order.length - 1; index >= 0; index--) {
    const line = Math.floor(shown(index));
    if (line >= 0 && line < lines) out[line] = order[index];
  }
  return out;
}

// 0xAABBGGRR of "#rrggbb", as the pixels of a canvas lie in memory of every machine that browsers run on.
export function pixelOf(colour: string): number {
  const value = Number.parseInt(colour.slice(1), 16);
  return (0xff000000 | ((value & 255) << 16) | (value & 0xff00) | (value >> 16)) >>> 0;
}

export interface LinePaint {
  background: number;
  edge: number; // where a step begins
  parts: Record<Part, number>;
}

// One line of pixels of a rank's steps.
export function paintLine(line: Uint32Array, steps: RankSteps, rows: number[], view: View, paint: LinePaint): void {
  line.fill(paint.background);
  const perPixel = (view.end - view.start) / line.length;
  const x = (time: number) => Math.min(line.length, Math.max(0, Math.round((time - view.start) / perPixel)));
  for (const row of rows) {
    if (steps.end[row] < view.start) continue;
    if (steps.start[row] >= view.end) break;
    const parts = partsOf(steps, row);
    let at = steps.start[row];
    for (const part of kParts) {
      const to = at + parts[part];
      line.fill(paint.parts[part], x(at), x(to));
      at = to;
    }
    const [from, to] = [x(steps.start[row]), x(steps.end[row])];
    if (to - from >= 4 && steps.start[row] >= view.start) line[from] = paint.edge;
  }
}
