// Bands over time, as memory_viz stacks them: each allocation lies on those that were there before it, and sinks when
// one below is freed. The largest are drawn each by itself; the rest are one band on top, since a million bands of less
// than a pixel are only slow.
import { firstThat } from "../data/sorted";
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
  top: Float64Array; // bytes of the bands, by moment
  all: Float64Array; // and of the rest on top of them
  smallCount: number;
}

// Offsets of one band change each time one below it goes: this many keep that below a few million.
export const kMostBands = 2500;

export function layoutBands(model: MemoryModel, device: MemoryDevice, most = kMostBands): Bands {
  const { large, isLarge } = largest(model, device, most);
  const all = new Float64Array(device.moments + 1);
  let smallCount = 0;
  for (let row = device.allocationBegin; row < device.allocationEnd; row++) {
    if (model.size[row] <= 0 || isLarge[row - device.allocationBegin] === 1) continue;
    smallCount++;
    all[model.allocMoment[row]] += model.size[row];
    if (model.freeMoment[row] > 0) all[model.freeMoment[row]] -= model.size[row];
  }
  for (let i = 1; i < all.length; i++) all[i] += all[i - 1];

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
    all[moment] += total;
  }
  return { bands: [...bands.values()], top, all: all.subarray(0, device.moments), smallCount };
}

// The rows of the largest, of equal ones the first. Millions are not sorted by a comparison: their sizes are, as numbers.
function largest(model: MemoryModel, device: MemoryDevice, most: number): { large: number[]; isLarge: Uint8Array } {
  const { allocationBegin: begin, allocationEnd: end } = device;
  const sizes = model.size.slice(begin, end).sort();
  const least = sizes.length <= most ? 0 : most > 0 ? sizes[sizes.length - most] : Number.POSITIVE_INFINITY;
  // Of those that are just as large as the least, so many have a place.
  const above = sizes.length - firstThat(0, sizes.length, (i) => sizes[i] > least);
  let equal = Math.max(0, Math.min(most, sizes.length) - above);
  const large: number[] = [];
  const isLarge = new Uint8Array(end - begin);
  for (let row = begin; row < end; row++) {
    const size = model.size[row];
    if (size <= 0 || size < least || (size === least && equal-- <= 0)) continue;
    large.push(row);
    isLarge[row - begin] = 1;
  }
  return { large, isLarge };
}

// The offset of a band at a moment in its life.
export function offsetAt(band: Band, moment: number): number {
  const after = firstThat(0, band.moment.length, (i) => band.moment[i] > moment);
  return band.offset[Math.max(0, after - 1)];
}

export function bandAt(bands: Band[], moment: number, bytes: number): Band | null {
  for (const band of bands) {
    if (moment < band.moment[0] || moment >= band.end) continue;
    const offset = offsetAt(band, moment);
    if (bytes >= offset && bytes < offset + band.size) return band;
  }
  return null;
}
