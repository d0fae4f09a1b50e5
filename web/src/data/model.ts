// One recording as typed columns, and the few questions that the views ask of it.
//
// Rows are numbers, never objects: a million small objects are 100 MB and a second of garbage collection. Times are
// nanoseconds since the recording's origin, so a double holds them exactly.
import type { Container, Directory } from "./container";

export const kSpan = 0;
export const kOperator = 1;
export const kCall = 2;
export const kFrame = 3;
export const kAsyncSpan = 4;
export const kHostKindNames = ["span", "operator", "call", "Python frame", "asynchronous span"];

export interface Thread {
  row: number;
  label: string;
  isMain: boolean;
  begin: number; // host rows
  end: number;
  leftOut: number;
}
export interface Stream {
  row: number;
  device: number;
  label: string;
  begin: number; // GPU rows
  end: number;
  leftOut: number;
}
export interface DeviceInfo {
  row: number;
  number: number;
  label: string;
}

export interface Host {
  count: number;
  start: Float64Array;
  end: Float64Array;
  kind: Uint8Array;
  name: Uint32Array;
  shapes: Uint32Array;
  types: Uint32Array;
  callStack: Uint32Array;
  forward: Uint32Array; // row + 1
  thread: Uint32Array;
}
export interface Gpu {
  count: number;
  start: Float64Array;
  end: Float64Array;
  kind: Uint8Array;
  name: Uint32Array;
  launch: Uint32Array; // host row + 1
  operator: Uint32Array; // host row + 1
  operatorName: Uint32Array;
  bytes: Float64Array; // + 1
  config: Uint32Array;
  collective: Uint32Array; // row + 1
  stream: Uint32Array;
}
export interface Step {
  number: number;
  hostStart: number;
  hostEnd: number;
  start: number;
  end: number;
  gpuEvents: number;
  busy: number | null;
  idleByCause: Float64Array | null;
}
export interface Gaps {
  count: number;
  device: Uint32Array;
  start: Float64Array;
  end: Float64Array;
  endedBy: Uint32Array; // GPU row + 1
  detail: Uint32Array;
  partBegin: Uint32Array; // count + 1
  partCause: Uint8Array;
  partLength: Float64Array;
}
export interface Waits {
  count: number;
  thread: Uint32Array;
  start: Float64Array;
  end: Float64Array;
  call: Uint32Array;
  kind: Uint8Array;
  condition: Uint32Array;
  blocked: Uint8Array;
  hidden: Uint8Array;
}
// Samples of a level, in order of time.
export interface Level {
  time: Float64Array;
  value: Float64Array;
}
export interface GpuSpans {
  count: number;
  stream: Uint32Array;
  start: Float64Array;
  end: Float64Array;
  name: Uint32Array;
  category: Uint32Array;
}
export interface SumRow {
  name: string;
  inputShapes: string;
  count: number;
  cpu: number;
  selfCpu: number;
  device: number;
  selfDevice: number;
  deviceMemory: number;
  flops: number;
  forwardDevice: number;
  backwardDevice: number;
}
export interface KernelSum {
  name: string;
  kind: number;
  tensorCores: "yes" | "no" | "";
  count: number;
  total: number;
}
export interface FoldedStack {
  frames: string[];
  value: number; // ns
}

function ends(start: Float64Array, duration: Float64Array): Float64Array {
  const out = duration; // in place: the durations are not needed again
  for (let i = 0; i < out.length; i++) out[i] += start[i];
  return out;
}

// Rows of one table stand together by thread or stream: how many each has says where they begin.
function inGroups(counts: Uint32Array, groupOf: Uint32Array, visit: (row: number, begin: number, end: number) => void) {
  let begin = 0;
  counts.forEach((rows, group) => {
    const end = begin + rows;
    groupOf.fill(group, begin, end);
    visit(group, begin, end);
    begin = end;
  });
}

export class Model {
  readonly directory: Directory;
  readonly strings: string[];
  readonly threads: Thread[] = [];
  readonly devices: DeviceInfo[];
  readonly streams: Stream[] = [];
  readonly host: Host;
  readonly gpu: Gpu;
  readonly steps: Step[];
  readonly gaps: Gaps;
  readonly waits: Waits;
  readonly gpuSpans: GpuSpans;
  readonly start: number;
  readonly end: number;

  constructor(readonly container: Container) {
    this.directory = container.directory;
    this.strings = container.texts("strings", "text");
    this.devices = this.readDevices();
    this.host = this.readHost();
    this.gpu = this.readGpu();
    this.steps = this.readSteps();
    this.gaps = this.readGaps();
    this.waits = this.readWaits();
    this.gpuSpans = this.readGpuSpans();
    [this.start, this.end] = this.findBounds();
  }

  text(id: number): string {
    return this.strings[id] ?? "";
  }

  // Nanoseconds since 1970, where the file says so; else on the file's own clock. For several ranks on one clock.
  get absoluteOrigin(): bigint {
    return BigInt(this.directory.origin_ns) + BigInt(this.directory.base_ns);
  }
  // A time of the report's document, which is on the file's clock, on this model's.
  fromFileClock(ns: number): number {
    return ns - Number(this.directory.origin_ns);
  }

  // Innermost host row of a kind that holds `time` in the thread of `row`, walking out from `row`; -1 at the top.
  parent(row: number): number {
    const { host } = this;
    const thread = this.threads[host.thread[row]];
    for (let i = row - 1; i >= thread.begin; i--) {
      if (host.end[i] >= host.end[row] && host.kind[i] !== kAsyncSpan) return i;
    }
    return -1;
  }
  // From outside in; the row itself last.
  path(row: number): number[] {
    const out: number[] = [];
    for (let at = row; at >= 0; at = this.parent(at)) out.push(at);
    return out.reverse();
  }

  // GPU rows by the host row that launched them: rows sorted by launch, for binary search.
  private launched: Uint32Array | null = null;
  gpuRowsOf(hostRow: number): number[] {
    if (!this.launched) {
      const order = Uint32Array.from({ length: this.gpu.count }, (_, i) => i);
      this.launched = order.sort((a, b) => this.gpu.launch[a] - this.gpu.launch[b]);
    }
    const wanted = hostRow + 1;
    let low = 0;
    let high = this.launched.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.gpu.launch[this.launched[middle]] < wanted) low = middle + 1;
      else high = middle;
    }
    const out: number[] = [];
    for (; low < this.launched.length && this.gpu.launch[this.launched[low]] === wanted; low++) {
      out.push(this.launched[low]);
    }
    return out;
  }

  stepAt(time: number): Step | null {
    return this.steps.find((step) => time >= step.start && time < step.end) ?? null;
  }

  queue(): Level {
    return {
      time: this.container.float64("queue", "time_ns"),
      value: this.container.float64("queue", "depth_count"),
    };
  }
  // Allocated and reserved bytes of each device that has samples.
  memory(): { device: number; allocated: Level; reserved: Level }[] {
    const device = this.container.float64("memory", "device_number");
    const time = this.container.float64("memory", "time_ns");
    const allocated = this.container.float64("memory", "allocated_bytes");
    const reserved = this.container.float64("memory", "reserved_bytes");
    const pick = (number: number, values: Float64Array): Level => {
      const rows = Array.from(device.keys()).filter((i) => device[i] === number && values[i] >= 0);
      return { time: Float64Array.from(rows, (i) => time[i]), value: Float64Array.from(rows, (i) => values[i]) };
    };
    return [...new Set(device)]
      .sort((a, b) => a - b)
      .map((number) => ({
        device: number,
        allocated: pick(number, allocated),
        reserved: pick(number, reserved),
      }));
  }

  sums(table: "operators" | "shapes" | "modules"): SumRow[] {
    const c = this.container;
    const name = c.texts(table, "name");
    const shapes = c.texts(table, "input_shapes");
    const columns = [
      "count",
      "cpu_ns",
      "self_cpu_ns",
      "device_ns",
      "self_device_ns",
      "device_memory_bytes",
      "flops",
      "forward_device_ns",
      "backward_device_ns",
    ].map((column) => c.float64(table, column));
    return name.map((text, i) => ({
      name: text,
      inputShapes: shapes[i],
      count: columns[0][i],
      cpu: columns[1][i],
      selfCpu: columns[2][i],
      device: columns[3][i],
      selfDevice: columns[4][i],
      deviceMemory: columns[5][i],
      flops: columns[6][i],
      forwardDevice: columns[7][i],
      backwardDevice: columns[8][i],
    }));
  }
  kernels(): KernelSum[] {
    const c = this.container;
    const kind = c.uint8("kernels", "kind");
    const cores = c.uint8("kernels", "tensor_cores");
    const counts = c.float64("kernels", "count");
    const total = c.float64("kernels", "total_ns");
    const words = ["yes", "no", ""] as const;
    return c.texts("kernels", "name").map((name, i) => ({
      name,
      kind: kind[i],
      tensorCores: words[cores[i]] ?? "",
      count: counts[i],
      total: total[i],
    }));
  }
  foldedStacks(table: "stacks_cpu" | "stacks_gpu"): FoldedStack[] {
    const value = this.container.float64(table, "value_us");
    return this.container.texts(table, "stack").map((stack, i) => ({
      frames: stack.split(";"),
      value: value[i] * 1000,
    }));
  }

  private readDevices(): DeviceInfo[] {
    const number = this.container.float64("devices", "number");
    const name = this.container.uint32("devices", "name");
    return Array.from(number, (n, row) => ({
      row,
      number: n,
      label: `GPU ${n}${name[row] ? ` (${this.text(name[row])})` : ""}`,
    }));
  }

  // What events of the host and of the GPU have in common.
  private readPlaced(table: "host" | "gpu", start: Float64Array) {
    const c = this.container;
    const end = ends(start, c.float64(table, "duration_ns"));
    return { count: start.length, start, end, kind: c.uint8(table, "kind"), name: c.uint32(table, "name") };
  }

  private readHost(): Host {
    const c = this.container;
    const start = c.float64("host", "start_ns");
    const host: Host = {
      ...this.readPlaced("host", start),
      shapes: c.uint32("host", "shapes"),
      types: c.uint32("host", "types"),
      callStack: c.uint32("host", "call_stack"),
      forward: c.uint32("host", "forward"),
      thread: new Uint32Array(start.length),
    };
    const key = c.uint32("threads", "key");
    const name = c.uint32("threads", "name");
    const counts = c.uint32("threads", "host_count");
    const leftOut = c.uint32("threads", "left_out_count");
    const isMain = c.uint8("threads", "is_main");
    inGroups(counts, host.thread, (row, begin, end) => {
      const label = this.text(name[row]) || `thread ${this.text(key[row])}`;
      this.threads.push({ row, label, isMain: isMain[row] === 1, begin, end, leftOut: leftOut[row] });
    });
    return host;
  }

  private readGpu(): Gpu {
    const c = this.container;
    const start = c.float64("gpu", "start_ns");
    const gpu: Gpu = {
      ...this.readPlaced("gpu", start),
      launch: c.uint32("gpu", "launch"),
      operator: c.uint32("gpu", "operator"),
      operatorName: c.uint32("gpu", "operator_name"),
      bytes: c.float64("gpu", "bytes"),
      config: c.uint32("gpu", "config"),
      collective: c.uint32("gpu", "collective"),
      stream: new Uint32Array(start.length),
    };
    const device = c.uint32("streams", "device");
    const key = c.uint32("streams", "key");
    const counts = c.uint32("streams", "gpu_count");
    const leftOut = c.uint32("streams", "left_out_count");
    inGroups(counts, gpu.stream, (row, begin, end) => {
      const label = `stream ${this.text(key[row])}`;
      this.streams.push({ row, device: device[row], label, begin, end, leftOut: leftOut[row] });
    });
    return gpu;
  }

  private readSteps(): Step[] {
    const c = this.container;
    const column = (name: string) => c.float64("steps", name);
    const [number, hostStart, hostEnd] = [column("number"), column("host_start_ns"), column("host_end_ns")];
    const [start, end, events] = [column("start_ns"), column("end_ns"), column("gpu_event_count")];
    const busy = this.directory.tables.steps?.columns.gpu_busy_ns ? column("gpu_busy_ns") : null;
    const idle = c.float64("step_idle", "length_ns");
    const causes = this.directory.causes.length;
    return Array.from(number, (n, i) => ({
      number: n,
      hostStart: hostStart[i],
      hostEnd: hostEnd[i],
      start: start[i],
      end: end[i],
      gpuEvents: events[i],
      busy: busy ? busy[i] : null,
      idleByCause: idle.length > 0 ? idle.subarray(i * causes, (i + 1) * causes) : null,
    }));
  }

  private readGaps(): Gaps {
    const c = this.container;
    const start = c.float64("gaps", "start_ns");
    const counts = c.uint32("gaps", "part_count");
    const partBegin = new Uint32Array(counts.length + 1);
    for (let i = 0; i < counts.length; i++) partBegin[i + 1] = partBegin[i] + counts[i];
    return {
      count: start.length,
      device: c.uint32("gaps", "device"),
      start,
      end: ends(start, c.float64("gaps", "duration_ns")),
      endedBy: c.uint32("gaps", "ended_by"),
      detail: c.uint32("gaps", "detail"),
      partBegin,
      partCause: c.uint8("gap_parts", "cause"),
      partLength: c.float64("gap_parts", "length_ns"),
    };
  }

  private readWaits(): Waits {
    const c = this.container;
    const start = c.float64("waits", "start_ns");
    return {
      count: start.length,
      thread: c.uint32("waits", "thread"),
      start,
      end: ends(start, c.float64("waits", "duration_ns")),
      call: c.uint32("waits", "call"),
      kind: c.uint8("waits", "kind"),
      condition: c.uint32("waits", "condition"),
      blocked: c.uint8("waits", "blocked"),
      hidden: c.uint8("waits", "hidden"),
    };
  }

  private readGpuSpans(): GpuSpans {
    const c = this.container;
    const start = c.float64("gpu_spans", "start_ns");
    return {
      count: start.length,
      stream: c.uint32("gpu_spans", "stream"),
      start,
      end: ends(start, c.float64("gpu_spans", "duration_ns")),
      name: c.uint32("gpu_spans", "name"),
      category: c.uint32("gpu_spans", "category"),
    };
  }

  // From the first to the last event; frames that stay open around the recording do not count.
  private findBounds(): [number, number] {
    let low = Number.POSITIVE_INFINITY;
    let high = Number.NEGATIVE_INFINITY;
    const { host, gpu } = this;
    for (let pass = 0; pass < 2 && low > high; pass++) {
      for (let i = 0; i < host.count; i++) {
        if (host.kind[i] === kFrame && pass === 0) continue;
        if (host.start[i] < low) low = host.start[i];
        if (host.end[i] > high) high = host.end[i];
      }
      for (let i = 0; i < gpu.count; i++) {
        if (gpu.start[i] < low) low = gpu.start[i];
        if (gpu.end[i] > high) high = gpu.end[i];
      }
    }
    return low <= high ? [low, Math.max(high, low + 1)] : [0, 1];
  }
}
