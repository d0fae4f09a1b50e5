// Bands over time, as memory_viz stacks them: each allocation lies on those that were there before it, and sinks when
// one below is freed. The largest are drawn each by itself; the rest are one band on top, since a million bands of less
// than a pixel are only slow.
import type { MemoryDevice, MemoryModel } from "./model";

export interface Band {
  row: number;
  size: number;
  moment: number[]; // where the offset changes; the first is its begin
  offset: number[];
  end: number; // first moment at which it is gone
}
export interface Bands {
  bands: Band[];
  small: Float64Array; // bytes of the rest, by moment
  smallCount: number;
  top: Float64Array; // bytes of the bands, by moment
}

// Offsets of one band change each time one below it goes: this many keep that below a few million.
export const kMostBands = 2500;

export function layoutBands(model: MemoryModel, device: MemoryDevice, most = kMostBands): Bands {
  const rows: number[] = [];
  for (let row = device.allocationBegin; row < device.allocationEnd; row++) if (model.size[row] > 0) rows.push(row);
  rows.sort((a, b) => model.size[b] - model.size[a] || a - b);
  const small = new Float64Array(device.moments + 1);
  for (const row of rows.slice(most)) {
    small[model.allocMoment[row]] += model.size[row];
    if (model.freeMoment[row] > 0) small[model.freeMoment[row]] -= model.size[row];
  }
  for (let i = 1; i < small.length; i++) small[i] += small[i - 1];

  const large = rows.slice(0, most);
  const begins = [...large].sort((a, b) => model.allocMoment[a] - model.allocMoment[b] || a - b);
  const ends = large
    .filter((row) => model.freeMoment[row] > 0)
    .sort((a, b) => model.freeMoment[a] - model.freeMoment[b]);
  const bands = new Map<number, Band>();
  const stack: Band[] = [];
  const top = new Float64Array(device.moments);
  let total = 0;
  let [begin, end] = [0, 0];
  const free = (row: number) => {
    const gone = bands.get(row);
    if (!gone) return;
    const at = stack.indexOf(gone);
    if (at < 0) return;
    const moment = model.freeMoment[row];
    gone.end = moment;
    stack.splice(at, 1);
    total -= gone.size;
    for (let i = at; i < stack.length; i++) {
      const band = stack[i];
      const last = band.moment.length - 1;
      const offset = band.offset[last] - gone.size;
      if (band.moment[last] === moment) band.offset[last] = offset;
      else {
        band.moment.push(moment);
        band.offset.push(offset);
      }
    }
  };
  for (let moment = 0; moment < device.moments; moment++) {
    for (; end < ends.length && model.freeMoment[ends[end]] <= moment; end++) free(ends[end]);
    for (; begin < begins.length && model.allocMoment[begins[begin]] <= moment; begin++) {
      const row = begins[begin];
      const band = { row, size: model.size[row], moment: [moment], offset: [total], end: device.moments };
      bands.set(row, band);
      stack.push(band);
      total += band.size;
    }
    top[moment] = total;
  }
  return {
    bands: [...bands.values()],
    small: small.subarray(0, device.moments),
    smallCount: Math.max(0, rows.length - most),
    top,
  };
}

// The offset of a band at a moment in its life.
export function offsetAt(band: Band, moment: number): number {
  let low = 0;
  let high = band.moment.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (band.moment[middle] <= moment) low = middle + 1;
    else high = middle;
  }
  return band.offset[Math.max(0, low - 1)];
}

export function bandAt(bands: Band[], moment: number, bytes: number): Band | null {
  for (const band of bands) {
    if (moment < band.moment[0] || moment >= band.end) continue;
    const offset = offsetAt(band, moment);
    if (bytes >= offset && bytes < offset + band.size) return band;
  }
  return null;
}
