// Time to pixels and back, and the marks of the ruler.

export class View {
  constructor(
    public start: number,
    public end: number,
    public width: number,
    public low: number, // what there is to see
    public high: number,
  ) {}

  get perPixel(): number {
    return (this.end - this.start) / Math.max(this.width, 1);
  }
  x(time: number): number {
    return (time - this.start) / this.perPixel;
  }
  time(x: number): number {
    return this.start + x * this.perPixel;
  }

  set(start: number, end: number): void {
    const least = 100; // ns: kernels are microseconds, and below that doubles of large times get coarse
    const most = (this.high - this.low) * 1.04;
    const length = Math.min(Math.max(end - start, least), Math.max(most, least));
    const middle = (start + end) / 2;
    const margin = length * 0.9; // always a piece of the recording stays in sight
    const from = Math.min(Math.max(middle - length / 2, this.low - margin), this.high - length + margin);
    this.start = from;
    this.end = from + length;
  }
  zoom(factor: number, x: number): void {
    const at = this.time(x);
    const length = (this.end - this.start) * factor;
    const start = at - (x / Math.max(this.width, 1)) * length;
    this.set(start, start + length);
  }
  pan(pixels: number): void {
    const by = pixels * this.perPixel;
    this.set(this.start + by, this.end + by);
  }
  // With a margin on both sides.
  show(start: number, end: number, margin = 0.15): void {
    const by = Math.max((end - start) * margin, 50);
    this.set(start - by, end + by);
  }
}

// Steps of 1, 2 or 5 times a power of ten, at least `least` apart.
export function tickStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  for (const factor of [1, 2, 5, 10]) {
    if (power * factor >= least) return power * factor;
  }
  return power * 10;
}

// Marks of a scale of bytes, from 0 to the most, some four to nine: 1, 2 or 5 times a power of ten of the unit that the most has.
export function byteTicks(most: number): { at: number; text: string }[] {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (unit < units.length - 1 && most >= 1024 ** (unit + 1)) unit++;
  const size = 1024 ** unit;
  const inUnit = most / size;
  const step = Math.max(1, (tickStep((inUnit / 8) * 1000) * size) / 1000);
  const decimals = step < size ? Math.ceil(-Math.log10(step / size) - 1e-9) : 0;
  const out: { at: number; text: string }[] = [];
  for (let i = 0; i * step <= most; i++) {
    const text = ((i * step) / size).toLocaleString("en-US", {
      minimumFractionDigits: decimals,
      maximumFractionDigits: decimals,
    });
    out.push({ at: i * step, text: i === 0 ? "0" : `${text} ${units[unit]}` });
  }
  return out;
}

// Marks of a scale that counts: whole numbers.
export function countTicks(start: number, end: number, least: number): { at: number; text: string }[] {
  const step = tickStep(least);
  const out: { at: number; text: string }[] = [];
  for (let at = Math.ceil(start / step) * step; at <= end; at += step)
    out.push({ at, text: (at || 0).toLocaleString("en-US") });
  return out;
}

const kUnits: [number, string][] = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
  [1, "ns"],
];

export function ticks(start: number, end: number, least: number): { at: number; text: string }[] {
  const step = tickStep(least);
  // The largest unit that needs no more than three decimals: 1,034.5 ms and not 1,034,500 µs.
  const far = Math.max(Math.abs(start), Math.abs(end));
  const [size, unit] = kUnits.find(([s]) => s <= Math.max(far, step) && step / s >= 0.0009) ?? [1, "ns"];
  const decimals = Math.max(0, Math.min(3, Math.ceil(-Math.log10(step / size) - 1e-9)));
  const format = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
  const out: { at: number; text: string }[] = [];
  for (let at = Math.ceil(start / step) * step; at <= end; at += step) {
    out.push({ at, text: `${((at || 0) / size).toLocaleString("en-US", format)} ${unit}` });
  }
  return out;
}
