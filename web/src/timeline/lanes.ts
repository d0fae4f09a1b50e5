// Rows of one track that never overlap, in order of time; and the searches that make a million of them quick to draw.
import { type Host, kAsyncSpan, kCall, kFrame, kOperator, kSpan, type Thread } from "../data/model";

// First index in [low, high) of `order` whose row starts at or after `time`.
export function lowerBound(
  order: Uint32Array,
  start: Float64Array,
  time: number,
  low = 0,
  high = order.length,
): number {
  while (low < high) {
    const middle = (low + high) >> 1;
    if (start[order[middle]] < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

// The same from a place known to be near: doubling steps, then halving. Panning asks for neighbours of neighbours.
export function gallop(order: Uint32Array, start: Float64Array, time: number, from: number): number {
  let step = 1;
  let high = from;
  while (high < order.length && start[order[high]] < time) {
    high += step;
    step *= 2;
  }
  return lowerBound(order, start, time, Math.max(from, high - step), Math.min(high, order.length));
}

export interface HostLanes {
  depth: Uint16Array; // by host row - thread.begin
  lanes: Uint32Array[]; // rows by depth
}

// Depth by a stack of what is open. Labelled spans stand above the rest in lanes of their own: ProfilerStep begins in
// the middle of one call of profiler.step() and ends in the next, so in one pile each step would push the next one
// deeper. Asynchronous spans overlap others and get lanes below. Frames can be left out.
export function hostLanes(host: Host, thread: Thread, withFrames: boolean): HostLanes {
  const size = thread.end - thread.begin;
  const depth = new Uint16Array(size).fill(kNoDepth);
  const counts: number[] = [];
  const pile = (kinds: (kind: number) => boolean) => {
    const base = counts.length;
    const open: number[] = []; // ends
    for (let i = thread.begin; i < thread.end; i++) {
      if (!kinds(host.kind[i])) continue;
      while (open.length > 0 && open[open.length - 1] <= host.start[i]) open.pop();
      const d = Math.min(base + open.length, kNoDepth - 1);
      open.push(host.end[i]);
      depth[i - thread.begin] = d;
      counts[d] = (counts[d] ?? 0) + 1;
    }
  };
  pile((kind) => kind === kSpan);
  pile((kind) => kind === kOperator || kind === kCall || (kind === kFrame && withFrames));
  const base = counts.length;
  const free: number[] = [];
  for (let i = thread.begin; i < thread.end; i++) {
    if (host.kind[i] !== kAsyncSpan) continue;
    let lane = free.findIndex((end) => end <= host.start[i]);
    if (lane < 0) lane = free.length;
    free[lane] = host.end[i];
    depth[i - thread.begin] = base + lane;
    counts[base + lane] = (counts[base + lane] ?? 0) + 1;
  }
  const lanes = counts.map((n) => new Uint32Array(n ?? 0));
  const filled = new Uint32Array(lanes.length);
  for (let i = thread.begin; i < thread.end; i++) {
    const d = depth[i - thread.begin];
    if (d !== kNoDepth) lanes[d][filled[d]++] = i;
  }
  return { depth, lanes };
}
export const kNoDepth = 65535;

export function range(begin: number, end: number): Uint32Array {
  const out = new Uint32Array(end - begin);
  for (let i = 0; i < out.length; i++) out[i] = begin + i;
  return out;
}

// The row of a lane that lies at `time`, or the nearest within `slack`; -1 when there is none.
export function rowAt(order: Uint32Array, start: Float64Array, end: Float64Array, time: number, slack: number): number {
  const after = lowerBound(order, start, time);
  let best = -1;
  let nearest = slack;
  for (const at of [after - 1, after]) {
    if (at < 0 || at >= order.length) continue;
    const row = order[at];
    if (time >= start[row] && time < end[row]) return row;
    const distance = time < start[row] ? start[row] - time : time - end[row];
    if (distance <= nearest) {
      nearest = distance;
      best = row;
    }
  }
  return best;
}

// The largest of each block of a level, so that a pixel that covers a hundred thousand samples costs a few look-ups.
const kBlock = 128;
export class LevelIndex {
  private readonly blocks: Float64Array;
  readonly most: number;
  constructor(
    readonly time: Float64Array,
    readonly value: Float64Array,
  ) {
    this.blocks = new Float64Array(Math.ceil(value.length / kBlock));
    let most = 0;
    for (let i = 0; i < value.length; i++) {
      const block = Math.floor(i / kBlock);
      if (i % kBlock === 0 || value[i] > this.blocks[block]) this.blocks[block] = value[i];
      if (value[i] > most) most = value[i];
    }
    this.most = most;
  }
  // Samples before `time`.
  before(time: number): number {
    let low = 0;
    let high = this.time.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.time[middle] < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }
  // The highest level within [begin, end) samples and the one that holds before them.
  highest(begin: number, end: number): number {
    let most = begin > 0 ? this.value[begin - 1] : 0;
    let i = begin;
    while (i < end) {
      if (i % kBlock === 0 && i + kBlock <= end) {
        most = Math.max(most, this.blocks[i / kBlock]);
        i += kBlock;
      } else {
        most = Math.max(most, this.value[i]);
        i++;
      }
    }
    return most;
  }
}
