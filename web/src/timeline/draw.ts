// Drawing of lanes. What is narrower than a pixel is drawn as one pixel and everything that begins in that pixel is
// skipped by a search, so a frame costs the pixels of the screen and not the events of the recording.
import { causeColour, hatch, hostColour, kindColour, type Paint, paint, type Theme, textOn } from "../colours";
import type { Model } from "../data/model";
import { bytes, causeWords, count, shorten } from "../format";
import { gallop, lowerBound } from "./lanes";
import type { View } from "./scale";
import type { Lane } from "./tracks";

export interface Look {
  fill: string | CanvasPattern;
  solid: string; // of the fill, for choosing the text's colour
  text: string;
}

const kFont = "11px system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif";
const kCharacter = 6.1; // mean width of one in kFont

export class LaneDrawer {
  readonly paint: Paint;
  private matches: Uint8Array | null = null; // by string id: 1 found by the search

  constructor(
    readonly model: Model,
    readonly context: CanvasRenderingContext2D,
    readonly theme: Theme,
  ) {
    this.paint = paint(theme);
  }

  setMatches(matches: Uint8Array | null): void {
    this.matches = matches;
  }

  look(lane: Lane, row: number): Look {
    const { model } = this;
    const solid = this.solid(lane, row);
    switch (lane.kind) {
      case "gpu":
        return { fill: solid, solid, text: model.text(model.gpu.name[row]) };
      case "host":
        return { fill: solid, solid, text: model.text(model.host.name[row]) };
      case "gap":
        return { fill: this.fill(lane, row), solid: this.paint.idleBase, text: causeWords(this.cause(row)) };
      case "wait":
        return { fill: solid, solid, text: `${model.directory.wait_kinds[model.waits.kind[row]]} wait` };
      case "gpu-span":
        return { fill: solid, solid, text: model.text(model.gpuSpans.name[row]) };
      default:
        return { fill: solid, solid, text: `step ${model.steps[row]?.number}` };
    }
  }

  // Asked for each pixel of each lane, so it makes no object.
  private fill(lane: Lane, row: number): string | CanvasPattern {
    return lane.kind === "gap" ? hatch(this.context, causeColour(this.cause(row)), this.theme) : this.solid(lane, row);
  }
  private solid(lane: Lane, row: number): string {
    const { model, theme } = this;
    const light = theme === "light";
    switch (lane.kind) {
      case "gpu":
        return kindColour(model.directory.kinds[model.gpu.kind[row]], theme);
      case "host":
        return hostColour(model.host.kind[row], model.host.name[row], theme);
      case "wait":
        return model.waits.blocked[row] ? causeColour("synchronization") : light ? "#d9c8bb" : "#5a4c42";
      case "gpu-span":
        return light ? "#dfe4ec" : "#39414d";
      default:
        return row % 2 === 1 ? (light ? "#cfdcf0" : "#33455f") : light ? "#e3ebf7" : "#293649";
    }
  }
  // Of the longest part.
  private cause(gap: number): string {
    const { gaps, directory } = this.model;
    return directory.causes[gaps.partCause[gaps.partBegin[gap]]] ?? "unlinked";
  }

  private nameId(lane: Lane, row: number): number {
    if (lane.kind === "gpu") return this.model.gpu.name[row];
    return lane.kind === "host" ? this.model.host.name[row] : 0;
  }

  lane(lane: Lane, view: View, y: number): void {
    if (lane.level) return this.level(lane, view, y);
    const { context, matches } = this;
    const { order, start, end } = lane;
    const height = lane.height - 1;
    const perPixel = view.perPixel;
    let i = Math.max(0, lowerBound(order, start, view.start) - 1);
    let runFrom = -1;
    let runTo = -1;
    let runFill: string | CanvasPattern = "";
    const flush = () => {
      if (runFrom < 0) return;
      context.fillStyle = runFill;
      context.fillRect(runFrom, y, runTo - runFrom, height);
      runFrom = -1;
    };
    context.font = kFont;
    context.textBaseline = "middle";
    while (i < order.length) {
      const row = order[i];
      const from = start[row];
      if (from >= view.end) break;
      if (end[row] < view.start) {
        i++;
        continue;
      }
      const x = (from - view.start) / perPixel;
      const width = (end[row] - from) / perPixel;
      const faded = matches !== null && matches[this.nameId(lane, row)] === 0;
      if (width < 1.5) {
        // A pixel: joined to the run before it where they touch in the same colour.
        const pixel = Math.max(0, Math.floor(x));
        const next = endOfPixel(order, start, end, view.start + (pixel + 1) * perPixel, i);
        // Idle time between kernels is everywhere and short: a pixel of it shows only where it is most of the pixel.
        if (lane.kind === "gap" && coverage(order, start, end, i, next) < perPixel / 2) {
          i = next;
          continue;
        }
        const fill = faded ? this.paint.line : this.fill(lane, row);
        if (runFrom >= 0 && fill === runFill && pixel <= runTo) runTo = pixel + 1;
        else {
          flush();
          runFrom = pixel;
          runTo = pixel + 1;
          runFill = fill;
        }
        i = next;
        continue;
      }
      flush();
      const look = this.look(lane, row);
      const left = Math.max(x, -2);
      const right = Math.min(x + width, view.width + 2);
      if (lane.kind === "gap") {
        context.fillStyle = this.paint.idleBase;
        context.fillRect(left, y, right - left - 0.5, height);
      }
      context.globalAlpha = faded ? 0.22 : 1;
      context.fillStyle = look.fill;
      context.fillRect(left, y, Math.max(right - left - 0.5, 1), height);
      context.globalAlpha = 1;
      if (lane.kind === "wait" && this.model.waits.hidden[row]) this.mark(left, y, height);
      // A gap's name stands on a plain box, which must leave some hatching to be seen.
      if (right - left > (lane.kind === "gap" ? 70 : 26) && !faded)
        this.label(look, left, right, y, height, lane.kind === "gap");
      i++;
    }
    flush();
  }

  private label(look: Look, left: number, right: number, y: number, height: number, boxed: boolean): void {
    const { context } = this;
    const from = Math.max(left, 0) + 4;
    const room = Math.floor((right - from - 3) / kCharacter);
    if (room < 3) return;
    const text = shorten(look.text, room);
    if (boxed) {
      context.fillStyle = this.paint.idleBase;
      context.fillRect(from - 2, y + 3, Math.min(text.length * kCharacter + 4, right - from), height - 6);
    }
    context.fillStyle = textOn(look.solid);
    context.fillText(text, from, y + height / 2 + 0.5, right - from - 2);
  }

  private mark(x: number, y: number, height: number): void {
    const { context } = this;
    context.fillStyle = this.paint.text;
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(x + 8, y);
    context.lineTo(x + 4, y + height / 2);
    context.fill();
  }

  private level(lane: Lane, view: View, y: number): void {
    const { context } = this;
    const index = lane.level;
    if (!index || index.most <= 0) return;
    const height = lane.height - 1;
    const area = (level: typeof index, fill: string) => {
      context.fillStyle = fill;
      context.beginPath();
      context.moveTo(0, y + height);
      let at = level.before(view.start);
      for (let x = 0; x < view.width; x++) {
        const next = level.before(view.time(x + 1));
        const top = y + height - (level.highest(at, next) / index.most) * (height - 2);
        context.lineTo(x, top);
        context.lineTo(x + 1, top);
        at = next;
      }
      context.lineTo(view.width, y + height);
      context.fill();
    };
    const dark = this.theme === "dark";
    area(index, dark ? "#3d4653" : "#d5dae2");
    const front = lane.levelUnder ?? index;
    area(front, dark ? "#6f8fc0" : "#7c9cd0");
    context.font = kFont;
    context.fillStyle = this.paint.faint;
    context.textBaseline = "top";
    const most = lane.unit === "bytes" ? bytes(index.most) : count(index.most);
    context.textAlign = "right";
    context.fillText(`most ${most}`, view.width - 12, y + 2); // left of the scroll bar
    context.textAlign = "left";
  }
}

// Shortened until it fits: a canvas would squeeze its letters instead.
export function fitText(context: CanvasRenderingContext2D, text: string, width: number): string {
  const whole = context.measureText(text).width;
  return whole <= width ? text : shorten(text, Math.max(1, Math.floor((text.length * width) / whole)));
}

// The first row behind `i` that does not lie in its pixel: one that begins in it may still be wide.
export function endOfPixel(order: Uint32Array, start: Float64Array, end: Float64Array, to: number, i: number): number {
  const next = gallop(order, start, to, i + 1);
  return next - 1 > i && end[order[next - 1]] > to ? next - 1 : next;
}

// Summed lengths of the rows [from, to) of a lane, from at most 64 of them.
function coverage(order: Uint32Array, start: Float64Array, end: Float64Array, from: number, to: number): number {
  const step = Math.max(1, Math.floor((to - from) / 64));
  let sum = 0;
  for (let i = from; i < to; i += step) sum += (end[order[i]] - start[order[i]]) * step;
  return sum;
}
