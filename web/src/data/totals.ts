// What happens in a range of time: the numbers that a selection on the timeline shows.
import { lowerBound, range } from "../timeline/lanes";
import type { Model } from "./model";

export interface DeviceTotals {
  device: number;
  busy: number; // union over the streams
  byKind: [kind: string, ns: number][]; // sums of durations
  idleByCause: [cause: string, ns: number][]; // inside the steps, where idle time has causes
}
export interface RangeTotals {
  length: number;
  devices: DeviceTotals[];
  kernels: { name: string; count: number; total: number }[]; // longest first
  kernelCount: number;
  launches: number;
  waits: number;
  waited: number;
}

export function rangeTotals(model: Model, start: number, end: number, most = 8): RangeTotals {
  const { gpu, gaps, waits } = model;
  const clip = (from: number, to: number) => Math.max(0, Math.min(to, end) - Math.max(from, start));
  const byName = new Map<number, { count: number; total: number }>();
  let kernelCount = 0;
  const devices: DeviceTotals[] = [];
  for (const device of model.devices) {
    const kinds = new Float64Array(model.directory.kinds.length);
    const rows: number[] = [];
    for (const stream of model.streams) {
      if (stream.device !== device.row) continue;
      const order = range(stream.begin, stream.end);
      for (let i = Math.max(0, lowerBound(order, gpu.start, start) - 1); i < order.length; i++) {
        const row = order[i];
        if (gpu.start[row] >= end) break;
        const inside = clip(gpu.start[row], gpu.end[row]);
        if (inside <= 0) continue;
        rows.push(row);
        kinds[gpu.kind[row]] += inside;
        const sum = byName.get(gpu.name[row]) ?? { count: 0, total: 0 };
        sum.count++;
        sum.total += inside;
        byName.set(gpu.name[row], sum);
        kernelCount++;
      }
    }
    const causes = new Float64Array(model.directory.causes.length);
    for (let i = 0; i < gaps.count; i++) {
      if (gaps.device[i] !== device.row) continue;
      const inside = clip(gaps.start[i], gaps.end[i]);
      if (inside <= 0) continue;
      const share = inside / (gaps.end[i] - gaps.start[i]);
      for (let p = gaps.partBegin[i]; p < gaps.partBegin[i + 1]; p++)
        causes[gaps.partCause[p]] += gaps.partLength[p] * share;
    }
    if (rows.length === 0 && causes.every((ns) => ns === 0)) continue;
    devices.push({
      device: device.number,
      busy: unionLength(rows, gpu.start, gpu.end, start, end),
      byKind: named(kinds, model.directory.kinds),
      idleByCause: named(causes, model.directory.causes),
    });
  }
  let waitCount = 0;
  let waited = 0;
  for (let i = 0; i < waits.count; i++) {
    const inside = clip(waits.start[i], waits.end[i]);
    if (inside <= 0 || !waits.blocked[i]) continue;
    waitCount++;
    waited += inside;
  }
  const kernels = [...byName].map(([name, sum]) => ({ name: model.text(name), ...sum }));
  kernels.sort((a, b) => b.total - a.total);
  return {
    length: end - start,
    devices,
    kernels: kernels.slice(0, most),
    kernelCount,
    launches: byName.size,
    waits: waitCount,
    waited,
  };
}

function named(values: Float64Array, names: string[]): [string, number][] {
  return Array.from(values, (ns, i): [string, number] => [names[i], ns])
    .filter(([, ns]) => ns > 0)
    .sort((a, b) => b[1] - a[1]);
}

export function unionLength(rows: number[], from: Float64Array, to: Float64Array, low: number, high: number): number {
  rows.sort((a, b) => from[a] - from[b]);
  let total = 0;
  let reached = low;
  for (const row of rows) {
    const start = Math.max(from[row], reached);
    const end = Math.min(to[row], high);
    if (end > start) {
      total += end - start;
      reached = end;
    }
  }
  return total;
}
