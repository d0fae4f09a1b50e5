// One memory snapshot as typed columns: allocations with their lives, levels at each moment, segments at the end.
//
// A moment is the number of entries of a device already done; moment 0 is before the first.
import type { Container } from "../data/container";

export interface MemoryDevice {
  row: number;
  number: number;
  hasHistory: boolean;
  moments: number;
  time: Float64Array; // ns since the first entry, by moment
  allocated: Float64Array;
  reserved: Float64Array;
  allocationBegin: number;
  allocationEnd: number;
  segmentBegin: number;
  segmentEnd: number;
  peakMoment: number;
  peakBytes: number;
  reservedPeak: number;
  freeBytes: number;
  largestFree: number;
  freePieces: number;
}
export interface MemoryStep {
  device: number;
  number: number;
  begin: number;
  end: number;
}
export interface Oom {
  device: number;
  moment: number;
  request: number;
  isFragmentation: boolean;
}

export interface LiveGroup {
  name: string;
  bytes: number;
  count: number | null; // of allocations; null where only the sum of some is known
  isInferred: boolean; // the category of at least one
}

export class MemoryModel {
  readonly strings: string[];
  readonly categories: string[];
  readonly devices: MemoryDevice[];
  readonly allocMoment: Float64Array;
  readonly freeMoment: Float64Array; // 0: still held
  readonly requested: Float64Array;
  readonly size: Float64Array;
  readonly category: Uint8Array;
  readonly line: Uint32Array;
  readonly stack: Uint32Array; // row + 1
  readonly isInferred: Uint8Array; // 1: the category
  readonly isSum: Uint8Array; // 1: stands for allocations of which only the sum is known
  readonly segmentBytes: Float64Array;
  readonly segmentSmall: Uint8Array;
  readonly segmentExpandable: Uint8Array;
  readonly blockBegin: Uint32Array;
  readonly blockBytes: Float64Array;
  readonly blockState: Uint8Array; // 0 free
  readonly blockLine: Uint32Array;
  readonly steps: MemoryStep[];
  readonly ooms: Oom[];
  private readonly frameBegin: Uint32Array;
  private readonly frames: Uint32Array;

  constructor(container: Container) {
    const c = container;
    this.strings = c.texts("strings", "text");
    this.categories = (c.directory as unknown as { categories: string[] }).categories ?? [];
    this.allocMoment = c.float64("allocations", "alloc_moment");
    this.freeMoment = c.float64("allocations", "free_moment");
    this.requested = c.float64("allocations", "requested_bytes");
    this.size = c.float64("allocations", "size_bytes");
    this.category = c.uint8("allocations", "category");
    this.line = c.uint32("allocations", "line");
    this.stack = c.uint32("allocations", "stack");
    this.isInferred = c.uint8("allocations", "is_inferred");
    this.isSum = c.uint8("allocations", "is_sum");
    this.frameBegin = starts(c.uint32("stacks", "frame_count"));
    this.frames = c.uint32("stack_frames", "text");
    this.segmentBytes = c.float64("segments", "total_bytes");
    this.segmentSmall = c.uint8("segments", "is_small");
    this.segmentExpandable = c.uint8("segments", "is_expandable");
    this.blockBegin = starts(c.uint32("segments", "block_count"));
    this.blockBytes = c.float64("blocks", "size_bytes");
    this.blockState = c.uint8("blocks", "state");
    this.blockLine = c.uint32("blocks", "line");
    this.devices = readDevices(c);
    const [device, number, begin, end] = ["device", "number", "begin_moment", "end_moment"].map((k) =>
      c.float64("steps", k),
    );
    this.steps = Array.from(device, (d, i) => ({ device: d, number: number[i], begin: begin[i], end: end[i] }));
    const oomDevice = c.float64("ooms", "device");
    const oomMoment = c.float64("ooms", "moment");
    const request = c.float64("ooms", "request_bytes");
    const fragmentation = c.uint8("ooms", "is_fragmentation");
    this.ooms = Array.from(oomDevice, (d, i) => ({
      device: d,
      moment: oomMoment[i],
      request: request[i],
      isFragmentation: fragmentation[i] === 1,
    }));
  }

  text(id: number): string {
    return this.strings[id] ?? "";
  }
  // Innermost first.
  stackOf(row: number): string[] {
    const stack = this.stack[row] - 1;
    if (stack < 0) return [];
    return Array.from(this.frames.subarray(this.frameBegin[stack], this.frameBegin[stack + 1]), (id) => this.text(id));
  }
  isLive(row: number, moment: number): boolean {
    return this.allocMoment[row] <= moment && (this.freeMoment[row] === 0 || this.freeMoment[row] > moment);
  }

  // Requested bytes held at a moment, by line or by category, most first.
  live(device: MemoryDevice, moment: number, by: "line" | "category"): LiveGroup[] {
    const sums = new Map<number, Omit<LiveGroup, "name">>();
    const keys: ArrayLike<number> = by === "line" ? this.line : this.category;
    for (let row = device.allocationBegin; row < device.allocationEnd; row++) {
      if (!this.isLive(row, moment)) continue;
      const sum = sums.get(keys[row]) ?? { bytes: 0, count: 0, isInferred: false };
      sum.bytes += this.requested[row];
      sum.count = sum.count === null || this.isSum[row] === 1 ? null : sum.count + 1;
      sum.isInferred ||= this.isInferred[row] === 1;
      sums.set(keys[row], sum);
    }
    const name = (key: number) => (by === "line" ? this.text(key) : (this.categories[key] ?? "unknown"));
    return [...sums].map(([key, sum]) => ({ name: name(key), ...sum })).sort((a, b) => b.bytes - a.bytes);
  }
}

function starts(counts: Uint32Array): Uint32Array {
  const out = new Uint32Array(counts.length + 1);
  for (let i = 0; i < counts.length; i++) out[i + 1] = out[i] + counts[i];
  return out;
}

function readDevices(c: Container): MemoryDevice[] {
  const column = (name: string) => c.float64("devices", name);
  const number = column("number");
  const momentCount = column("moment_count");
  const allocations = column("allocation_count");
  const segments = column("segment_count");
  const history = column("has_history");
  const time = c.float64("moments", "time_us").map((us) => us * 1000);
  const allocated = c.float64("moments", "allocated_bytes");
  const reserved = c.float64("moments", "reserved_bytes");
  let [moment, allocation, segment] = [0, 0, 0];
  return Array.from(number, (n, row) => {
    const range = [moment, moment + momentCount[row]] as const;
    moment = range[1];
    allocation += allocations[row];
    segment += segments[row];
    return {
      row,
      number: n,
      hasHistory: history[row] === 1,
      moments: momentCount[row],
      time: time.subarray(...range),
      allocated: allocated.subarray(...range),
      reserved: reserved.subarray(...range),
      allocationBegin: allocation - allocations[row],
      allocationEnd: allocation,
      segmentBegin: segment - segments[row],
      segmentEnd: segment,
      peakMoment: column("allocated_peak_moment")[row],
      peakBytes: column("allocated_peak_bytes")[row],
      reservedPeak: column("reserved_peak_bytes")[row],
      freeBytes: column("free_bytes")[row],
      largestFree: column("largest_free_bytes")[row],
      freePieces: column("free_piece_count")[row],
    };
  });
}
