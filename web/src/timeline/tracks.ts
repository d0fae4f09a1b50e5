// What the timeline shows, from top to bottom: steps, threads, waits, then each device's idle time, streams and levels.
import { kFrame, type Model } from "../data/model";
import { type HostLanes, hostLanes, kNoDepth, LevelIndex, range } from "./lanes";

export type LaneKind = "step" | "host" | "wait" | "gap" | "gpu-span" | "gpu" | "level";
export interface Lane {
  kind: LaneKind;
  order: Uint32Array;
  start: Float64Array;
  end: Float64Array;
  height: number;
  y: number; // from the top of all tracks
  level?: LevelIndex;
  levelUnder?: LevelIndex; // drawn in front of it: allocated before reserved
  unit?: "bytes" | "count";
}
export interface Track {
  id: string;
  label: string;
  detail: string;
  lanes: Lane[];
  y: number;
  height: number;
  collapsed: boolean;
  canCollapse: boolean;
}
export interface TrackOptions {
  frames: boolean;
  collapsed: ReadonlySet<string>;
  hidden?: ReadonlySet<string>; // threads that have no track at all
}
export interface Layout {
  tracks: Track[];
  height: number;
  yOfHost(row: number): number;
  yOfGpu(row: number): number;
}

export const kRow = 17;
const kGap = 9;
const kLeastTrack = 18; // the label's line
export const kLeastWithDetail = 33; // and the line of what is said below it

// Built once a recording: the costly parts, which collapsing and scrolling do not change.
export class TrackSource {
  private readonly byThread = new Map<string, HostLanes>();
  readonly hasFrames: boolean;
  private readonly stepStart: Float64Array;
  private readonly stepEnd: Float64Array;
  private readonly levels: {
    label: string;
    detail: string;
    level: LevelIndex;
    under?: LevelIndex;
    unit: "bytes" | "count";
  }[] = [];
  private readonly gapsOfDevice: Uint32Array[];
  private readonly spansOfStream: Uint32Array[];

  constructor(readonly model: Model) {
    this.hasFrames = model.host.kind.includes(kFrame);
    this.stepStart = Float64Array.from(model.steps, (s) => s.start);
    this.stepEnd = Float64Array.from(model.steps, (s) => s.end);
    for (const { device, allocated, reserved } of model.memory()) {
      const level = new LevelIndex(reserved.time, reserved.value);
      const under = new LevelIndex(allocated.time, allocated.value);
      this.levels.push({
        label: `memory of GPU ${device}`,
        detail: "allocated, before reserved",
        level: level.value.length > 0 ? level : under,
        under,
        unit: "bytes",
      });
    }
    const queue = model.queue();
    if (queue.time.length > 0) {
      const level = new LevelIndex(queue.time, queue.value);
      this.levels.push({ label: "queue depth", detail: "launched, not yet ended", level, unit: "count" });
    }
    this.gapsOfDevice = split(model.gaps.device, model.devices.length);
    this.spansOfStream = split(model.gpuSpans.stream, model.streams.length, (row) => {
      // Synchronization records repeat what the waits track shows.
      return !model.text(model.gpuSpans.category[row]).startsWith("cuda_");
    });
  }

  lanesOf(thread: number, frames: boolean): HostLanes {
    const key = `${thread} ${frames}`;
    let lanes = this.byThread.get(key);
    if (!lanes) {
      lanes = hostLanes(this.model.host, this.model.threads[thread], frames);
      this.byThread.set(key, lanes);
    }
    return lanes;
  }

  layout(options: TrackOptions): Layout {
    const { model } = this;
    const tracks: Track[] = [];
    const yOfThread = new Map<number, number>();
    const yOfStream = new Map<number, number>();
    let y = 0;
    const add = (
      id: string,
      label: string,
      detail: string,
      lanes: Lane[],
      canCollapse: boolean,
      least = kLeastTrack,
    ) => {
      const collapsed = canCollapse && options.collapsed.has(id);
      const shown = collapsed ? lanes.slice(0, 1) : lanes;
      let at = y;
      for (const lane of shown) {
        lane.y = at;
        at += lane.height;
      }
      at = Math.max(at, y + least);
      tracks.push({ id, label, detail, lanes: shown, y, height: at - y, collapsed, canCollapse });
      y = at + kGap;
      return shown[0]?.y ?? at;
    };
    const { host, gpu, gaps, waits, gpuSpans } = model;

    if (model.steps.length > 0) {
      const lane = makeLane("step", range(0, model.steps.length), this.stepStart, this.stepEnd, kRow + 1);
      add("steps", "steps", "on the GPU's clock", [lane], false);
    }
    const threads = model.threads.filter((t) => t.end > t.begin && !options.hidden?.has(`thread${t.row}`));
    threads.sort((a, b) => Number(b.isMain) - Number(a.isMain) || b.end - b.begin - (a.end - a.begin));
    for (const thread of threads) {
      const { lanes } = this.lanesOf(thread.row, options.frames);
      if (lanes.length === 0) continue;
      const made = lanes.map((order) => makeLane("host", order, host.start, host.end, kRow));
      const [label, name] = splitLabel(thread.label);
      const detail =
        thread.leftOut > 0
          ? `${thread.leftOut.toLocaleString("en-US")} short events left out`
          : [name, thread.isMain ? "main thread" : ""].filter((word) => word !== "").join(", ");
      yOfThread.set(thread.row, add(`thread${thread.row}`, label, detail, made, true));
    }
    if (waits.count > 0) {
      const rows = range(0, waits.count).sort((a, b) => waits.start[a] - waits.start[b]);
      add("waits", "host waits for GPU", "", [makeLane("wait", rows, waits.start, waits.end, kRow)], false);
    }
    for (const device of model.devices) {
      const streams = model.streams.filter((s) => s.device === device.row && s.end > s.begin);
      const idle = this.gapsOfDevice[device.row];
      if (idle.length > 0) {
        add(
          `idle${device.row}`,
          `GPU ${device.number} idle`,
          "by cause",
          [makeLane("gap", idle, gaps.start, gaps.end, kRow + 3)],
          false,
        );
      }
      streams.sort((a, b) => b.end - b.begin - (a.end - a.begin));
      for (const stream of streams) {
        const lanes: Lane[] = [];
        lanes.push(makeLane("gpu", range(stream.begin, stream.end), gpu.start, gpu.end, kRow + 3));
        const spans = this.spansOfStream[stream.row];
        if (spans.length > 0) lanes.push(...stackedLanes(spans, gpuSpans.start, gpuSpans.end));
        const detail = stream.leftOut > 0 ? `${stream.leftOut.toLocaleString("en-US")} short events left out` : "";
        const least = detail === "" ? kLeastTrack : kLeastWithDetail;
        const label = `GPU ${device.number} ${stream.label}`;
        const at = add(`stream${stream.row}`, label, detail, lanes, lanes.length > 1, least);
        yOfStream.set(stream.row, at);
      }
    }
    for (const { label, detail, level, under, unit } of this.levels) {
      const lane = makeLane("level", new Uint32Array(0), new Float64Array(0), new Float64Array(0), 44);
      lane.level = level;
      if (under) lane.levelUnder = under;
      lane.unit = unit;
      add(label, label, detail, [lane], false);
    }

    const collapsed = new Set(tracks.filter((t) => t.collapsed).map((t) => t.id));
    return {
      tracks,
      height: y,
      yOfHost: (row) => {
        const thread = host.thread[row];
        const lanes = this.lanesOf(thread, options.frames);
        const depth = lanes.depth[row - model.threads[thread].begin];
        const base = yOfThread.get(thread) ?? 0;
        return depth === kNoDepth || collapsed.has(`thread${thread}`) ? base : base + depth * kRow;
      },
      yOfGpu: (row) => yOfStream.get(gpu.stream[row]) ?? 0,
    };
  }
}

// "thread 873 (python3)": the number beside the row, the name below it.
function splitLabel(label: string): [label: string, name: string] {
  const parts = /^(thread \d+) \((.+)\)$/.exec(label);
  return parts ? [parts[1], parts[2]] : [label, ""];
}

function makeLane(kind: LaneKind, order: Uint32Array, start: Float64Array, end: Float64Array, height: number): Lane {
  return { kind, order, start, end, height, y: 0 };
}

// Spans of a stream nest and overlap: as many lanes as it takes, each without overlap.
function stackedLanes(rows: Uint32Array, start: Float64Array, end: Float64Array): Lane[] {
  const order = rows.slice().sort((a, b) => start[a] - start[b] || end[b] - end[a]);
  const lanes: number[][] = [];
  const free: number[] = [];
  for (const row of order) {
    let lane = free.findIndex((time) => time <= start[row]);
    if (lane < 0) {
      if (lanes.length === 6) continue; // damaged files overlap without end
      lane = lanes.length;
      lanes.push([]);
    }
    free[lane] = end[row];
    lanes[lane].push(row);
  }
  return lanes.map((list) => makeLane("gpu-span", Uint32Array.from(list), start, end, kRow - 2));
}

function split(owner: Uint32Array, owners: number, keep: (row: number) => boolean = () => true): Uint32Array[] {
  const lists: number[][] = Array.from({ length: owners }, () => []);
  for (let i = 0; i < owner.length; i++) {
    if (owner[i] < owners && keep(i)) lists[owner[i]].push(i);
  }
  return lists.map((list) => Uint32Array.from(list));
}
