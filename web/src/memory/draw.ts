// Draws allocations as bands over time, with what was allocated and reserved, marks and axes.
//
// A frame must not walk all entries: a history has millions, a canvas a thousand columns. So levels are read from an index of
// maxima, and a band's edge is asked only for its changes that are a pixel apart. Of a history of 6.9 million entries, the whole in sight,
// a frame walked them three times before.
import { paint, type Theme } from "../colours";
import { firstThat } from "../data/sorted";
import { bytes, count } from "../format";
import { LevelIndex } from "../timeline/lanes";
import { byteTicks, countTicks, ticks, type View } from "../timeline/scale";
import { type Band, type Bands, offsetAt } from "./bands";
import { kRest } from "./colouring";
import type { MemoryDevice, MemoryModel } from "./model";

export type Axis = "event" | "time";
export interface Shown {
  theme: Theme;
  axis: Axis;
  moment: number;
  chosen: number | null;
  colour(row: number): string;
}

export const kTop = 26;
export const kLeft = 78;
const kAxis = 22; // below: events, or time
export const kHeight = Math.max(420, Math.min(1000, Math.round(globalThis.innerHeight * 0.6)));
export const kFloor = kHeight - kAxis; // where 0 bytes are
const kFont = "11px system-ui, 'DejaVu Sans', sans-serif";
const kOut = 10; // pixels beyond the edge, where nothing is seen of a shape's side
const kApart = 0.7; // pixels

export class BandPicture {
  readonly most: number;
  private readonly allocated: LevelIndex;
  private readonly reserved: LevelIndex;
  private readonly all: LevelIndex;

  constructor(
    readonly model: MemoryModel,
    readonly device: MemoryDevice,
    readonly bands: Bands,
  ) {
    this.allocated = new LevelIndex(device.time, device.allocated);
    this.reserved = new LevelIndex(device.time, device.reserved);
    this.all = new LevelIndex(device.time, bands.all);
    this.most = Math.max(1, this.reserved.most, this.allocated.most);
  }

  // The moment that holds at a place of the axis.
  momentAt(place: number, axis: Axis): number {
    return Math.max(0, Math.min(this.device.moments, this.firstFrom(Math.floor(place) + 1, axis)) - 1);
  }
  // The first moment at or behind a place.
  private firstFrom(place: number, axis: Axis): number {
    const { moments, time } = this.device;
    if (axis === "event") return Math.max(0, Math.min(moments, Math.ceil(place)));
    return firstThat(0, moments, (moment) => time[moment] >= place);
  }

  draw(context: CanvasRenderingContext2D, view: View, shown: Shown): void {
    const colours = paint(shown.theme);
    const ratio = window.devicePixelRatio || 1;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = colours.background;
    context.fillRect(0, 0, view.width + kLeft, kHeight);
    const levels = byteTicks(this.most);
    context.fillStyle = colours.line;
    for (const tick of levels) context.fillRect(kLeft, Math.round(this.y(tick.at)), view.width, 1);
    context.save();
    context.beginPath();
    context.rect(kLeft, 0, view.width, kFloor);
    context.clip();
    context.translate(kLeft, 0);
    this.drawBands(context, view, shown);
    // The small ones on top, then the levels.
    if (this.bands.smallCount > 0) {
      context.fillStyle = kRest;
      context.globalAlpha = 0.6;
      this.trace(context, view, shown.axis, this.all, this.bands.top);
      context.fill();
      context.globalAlpha = 1;
    }
    context.strokeStyle = colours.text;
    this.trace(context, view, shown.axis, this.allocated);
    context.stroke();
    context.strokeStyle = colours.faint;
    context.setLineDash([5, 4]);
    this.trace(context, view, shown.axis, this.reserved);
    context.stroke();
    context.setLineDash([]);
    this.drawMarks(context, view, shown);
    context.restore();
    drawAxes(context, view, shown, levels, (level) => this.y(level));
  }

  private y(level: number): number {
    return kFloor - (level / this.most) * (kFloor - kTop);
  }
  private x(view: View, axis: Axis, moment: number): number {
    const { time, moments } = this.device;
    return view.x(axis === "event" ? moment : time[Math.min(moment, moments - 1)]);
  }

  private drawBands(context: CanvasRenderingContext2D, view: View, shown: Shown): void {
    const right = view.width + kOut;
    const begin = this.firstFrom(view.start, shown.axis);
    for (const band of this.bands.bands) {
      const from = this.x(view, shown.axis, band.moment[0]);
      const to = this.x(view, shown.axis, band.end);
      const height = this.y(0) - this.y(band.size);
      if (to < 0 || from > view.width || height < 0.15) continue;
      context.fillStyle = shown.colour(band.row);
      if (band.moment.length === 1) {
        const left = Math.max(from, -kOut);
        const y = this.y(band.offset[0] + band.size);
        context.fillRect(left, y, Math.min(to, right) - left, Math.max(height - 0.3, 0.5));
        continue;
      }
      const edge = this.edgeOf(band, begin, view, shown.axis);
      context.beginPath();
      for (const [left, end, offset] of edge) {
        context.lineTo(left, this.y(offset + band.size));
        context.lineTo(end, this.y(offset + band.size));
      }
      for (const [left, end, offset] of edge.reverse()) {
        context.lineTo(end, this.y(offset) - 0.3);
        context.lineTo(left, this.y(offset) - 0.3);
      }
      context.fill();
    }
  }

  // Where a band lies, from left to right: from, to, offset. Changes inside one pixel are one.
  private edgeOf(band: Band, begin: number, view: View, axis: Axis): [number, number, number][] {
    const edge: [number, number, number][] = [];
    const { moment, offset } = band;
    let i = Math.max(0, firstThat(0, moment.length, (at) => moment[at] > begin - 1) - 1);
    while (i < moment.length) {
      const left = this.x(view, axis, moment[i]);
      if (left > view.width + kOut) break;
      const next = this.firstFrom(view.time(Math.max(left, 0) + kApart), axis);
      const from = i;
      i =
        i + 1 < moment.length && moment[i + 1] >= next
          ? i + 1
          : firstThat(i + 1, moment.length, (at) => moment[at] >= next);
      const end = this.x(view, axis, i < moment.length ? moment[i] : band.end);
      edge.push([Math.max(left, -kOut), Math.min(end, view.width + kOut), offset[from]]);
    }
    return edge;
  }

  // A path along a level, of the moments inside one pixel the highest; with a floor, around what lies between.
  private trace(
    context: CanvasRenderingContext2D,
    view: View,
    axis: Axis,
    level: LevelIndex,
    floor?: Float64Array,
  ): void {
    const { moments } = this.device;
    const back: [number, number][] = [];
    context.beginPath();
    let moment = Math.max(0, this.firstFrom(view.start, axis) - 1);
    let before = level.value[moment];
    while (moment < moments) {
      const x = this.x(view, axis, moment);
      if (x > view.width + 2) break;
      const next = Math.max(moment + 1, this.firstFrom(view.time(x + kApart), axis));
      context.lineTo(x, this.y(before));
      context.lineTo(x, this.y(level.highest(moment + 1, next)));
      before = level.value[next - 1];
      if (floor) {
        if (back.length > 0) back.push([x, back[back.length - 1][1]]);
        back.push([x, this.y(floor[next - 1])]);
      }
      moment = next;
    }
    const end = Math.max(0, Math.min(view.width, this.x(view, axis, moments)));
    context.lineTo(end, this.y(before));
    if (back.length > 0) context.lineTo(end, back[back.length - 1][1]);
    for (const [x, bottom] of back.reverse()) context.lineTo(x, bottom);
  }

  private drawMarks(context: CanvasRenderingContext2D, view: View, { theme, axis, moment, chosen }: Shown): void {
    const { model, device } = this;
    const colours = paint(theme);
    const at = (when: number) => this.x(view, axis, when);
    mark(0, context, at(device.peakMoment), colours.text, `peak ${bytes(device.peakBytes)}`, view.width);
    for (const oom of model.ooms)
      if (oom.device === device.row)
        mark(1, context, at(oom.moment), theme === "light" ? "#b3261e" : "#ff8a80", "out of memory", view.width);
    if (moment !== device.peakMoment)
      mark(2, context, at(moment), colours.accent, `event ${count(moment)}`, view.width);
    const band = chosen === null ? undefined : this.bands.bands.find((b) => b.row === chosen);
    if (!band || moment < band.moment[0] || moment >= band.end) return;
    const offset = offsetAt(band, moment);
    const top = this.y(offset + band.size);
    context.strokeStyle = colours.text;
    context.lineWidth = 2;
    context.strokeRect(at(moment) - 4, top, 8, Math.max(2, this.y(offset) - top));
    context.lineWidth = 1;
  }
}

// Bytes on the left; below allocator events, or time since the first of them.
function drawAxes(
  context: CanvasRenderingContext2D,
  view: View,
  { axis, theme }: Shown,
  levels: { at: number; text: string }[],
  y: (level: number) => number,
): void {
  const colours = paint(theme);
  context.fillStyle = colours.panel;
  context.fillRect(0, 0, kLeft, kHeight);
  context.fillRect(0, kFloor, kLeft + view.width, kAxis);
  context.font = kFont;
  context.textBaseline = "middle";
  context.fillStyle = colours.faint;
  context.textAlign = "right";
  for (const { at, text } of levels) context.fillText(text, kLeft - 6, y(at));
  context.textAlign = "left";
  context.fillText(axis === "event" ? "event" : "time", 8, kFloor + kAxis / 2 + 1);
  const make = axis === "event" ? countTicks : ticks;
  for (const { at, text } of make(Math.max(0, view.start), Math.min(view.high, view.end), view.perPixel * 110)) {
    const x = kLeft + Math.round(view.x(at));
    context.fillRect(x, kFloor, 1, 5);
    // At the right end the label would be cut.
    if (x + 4 + context.measureText(text).width < kLeft + view.width)
      context.fillText(text, x + 4, kFloor + kAxis / 2 + 1);
  }
}

// Labels of marks stand one below the other, since marks may lie close.
function mark(
  row: number,
  context: CanvasRenderingContext2D,
  x: number,
  colour: string,
  text: string,
  width: number,
): void {
  if (x < -2 || x > width + 2) return;
  context.fillStyle = colour;
  context.fillRect(Math.round(x), 0, 1.5, kFloor);
  context.font = `600 ${kFont}`;
  context.textBaseline = "top";
  const right = x > width - 140;
  context.textAlign = right ? "right" : "left";
  context.fillText(text, x + (right ? -5 : 5), 5 + row * 14);
  context.textAlign = "left";
}
