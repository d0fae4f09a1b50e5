// The timeline's canvas: what is seen, what is under the pointer, what the keys do. Drawn at most once a frame.
import type { Theme } from "../colours";
import type { Model } from "../data/model";
import { duration } from "../format";
import { fitText, LaneDrawer } from "./draw";
import { listener, onceAFrame } from "./frame";
import { rowAt } from "./lanes";
import { ticks, View } from "./scale";
import {
  kLeastWithDetail,
  kRow,
  type Lane,
  type LaneKind,
  type Layout,
  type TrackOptions,
  TrackSource,
} from "./tracks";

export interface Selection {
  kind: LaneKind;
  row: number;
}
export interface TimeRange {
  start: number;
  end: number;
}
export interface Hover {
  x: number;
  y: number;
  text: string;
}
export interface TimelineEvents {
  select(selection: Selection | null): void;
  range(range: TimeRange | null): void;
  hover(hover: Hover | null): void;
  moved?(): void; // another piece of time is in sight
}
// A stretch that a timeline is looked at against: times count from its start, and what lies outside is faint. `other`
// is where the stretch of the timeline beside it ends.
export interface Mark {
  start: number;
  end: number;
  zero: number; // where the ruler begins to count
  ruler: string;
  ends: string;
  other: number | null;
  otherEnds: string;
}

export const kLabels = 168; // pixels of the column of labels
const kRuler = 24;

export class TimelineController {
  readonly source: TrackSource;
  layout: Layout;
  readonly view: View;
  private readonly context: CanvasRenderingContext2D;
  private drawer: LaneDrawer;
  private scroll = 0;
  private height = 0;
  readonly redraw = onceAFrame(() => this.draw());
  private collapsed = new Set<string>();
  private hidden = new Set<string>();
  private mark: Mark | null = null;
  private seen = [0, 0]; // start and end of what was drawn last
  private frames = true;
  private arrows = false;
  selection: Selection | null = null;
  range: TimeRange | null = null;
  evidence: TimeRange | null = null;
  private keys = new Set<string>();
  private keyFrame = 0;
  private readonly cleanups: (() => void)[] = [];

  constructor(
    readonly model: Model,
    readonly canvas: HTMLCanvasElement,
    theme: Theme,
    private readonly events: TimelineEvents,
    private readonly small = false, // one of two: only what both have room for
  ) {
    const context = canvas.getContext("2d");
    if (!context) throw new Error("This browser draws no canvas.");
    this.context = context;
    this.source = new TrackSource(model);
    this.drawer = new LaneDrawer(model, context, theme);
    this.frames = this.source.hasFrames && !small && this.framesFit();
    this.view = new View(model.start, model.end, 1, model.start, model.end);
    const window = model.directory.window;
    if (model.steps.length > 0) this.view.show(window[0], window[1], 0.02);
    this.collapseMinor();
    this.layout = this.source.layout(this.options());
    this.tellHeight();
    this.listen();
    this.resize();
  }

  // Threads other than main that have few rows begin closed, so that the GPU is in sight.
  private collapseMinor(): void {
    const threads = this.model.threads.filter((t) => t.end > t.begin);
    const most = Math.max(0, ...threads.map((t) => t.end - t.begin));
    for (const thread of threads) {
      const isMinor = !thread.isMain && thread.end - thread.begin < most / 20;
      if (isMinor && this.small) this.hidden.add(`thread${thread.row}`);
      if (isMinor || this.small) this.collapsed.add(`thread${thread.row}`);
    }
  }

  // A deep pile of Python frames pushes the GPU out of sight: then the timeline begins without it.
  private framesFit(): boolean {
    const lanes = this.model.threads.map((thread) => this.source.lanesOf(thread.row, true).lanes.length);
    return Math.max(0, ...lanes) * kRow < 300;
  }

  private options(): TrackOptions {
    return { frames: this.frames, collapsed: this.collapsed, hidden: this.hidden };
  }
  // For the style sheet, which gives the canvas no more height than it has to show.
  private tellHeight(): void {
    const height = Math.ceil(this.layout.height + kRuler) + 2; // the frame
    this.canvas.parentElement?.parentElement?.style.setProperty("--content", `${height}px`);
  }
  private relayout(): void {
    this.layout = this.source.layout(this.options());
    this.tellHeight();
    this.setScroll(this.scroll);
  }

  destroy(): void {
    for (const cleanup of this.cleanups) cleanup();
    cancelAnimationFrame(this.keyFrame);
  }

  setTheme(theme: Theme): void {
    this.drawer = new LaneDrawer(this.model, this.context, theme);
    this.redraw();
  }
  setFrames(on: boolean): void {
    this.frames = on;
    this.relayout();
  }
  showsFrames(): boolean {
    return this.frames;
  }
  setArrows(on: boolean): void {
    this.arrows = on;
    this.redraw();
  }
  setMatches(matches: Uint8Array | null): void {
    this.drawer.setMatches(matches);
    this.redraw();
  }
  setEvidence(range: TimeRange | null): void {
    this.evidence = range;
    if (range) this.view.show(range.start, range.end, 0.4);
    this.redraw();
  }
  showAll(): void {
    this.view.set(this.view.low, this.view.high);
    this.redraw();
  }
  // What moves together with another timeline can go as far as both reach.
  setBounds(low: number, high: number): void {
    [this.view.low, this.view.high] = [low, high];
  }
  // Exactly there: no limit may part two timelines that move together, and nobody is told of it.
  follow(start: number, end: number): void {
    [this.view.start, this.view.end] = [start, end];
    this.seen = [start, end];
    this.redraw();
  }
  setMark(mark: Mark | null): void {
    this.mark = mark;
    this.redraw();
  }
  // Brings the row of an event into sight, and opens its thread; time stays.
  revealRow(selection: Selection): void {
    if (selection.kind === "host") {
      const id = `thread${this.model.host.thread[selection.row]}`;
      const [wasHidden, wasCollapsed] = [this.hidden.delete(id), this.collapsed.delete(id)];
      if (wasHidden || wasCollapsed) this.relayout();
    }
    this.revealY(this.yOf(selection));
    this.redraw();
  }
  toggle(id: string): void {
    if (!this.collapsed.delete(id)) this.collapsed.add(id);
    this.relayout();
  }

  select(selection: Selection | null, reveal = false): void {
    this.selection = selection;
    if (selection && reveal) {
      const [start, end] = this.timesOf(selection);
      if (end < this.view.start || start > this.view.end || end - start < this.view.perPixel * 3) {
        this.view.show(start, end, 4);
      }
      this.revealY(this.yOf(selection));
    }
    this.events.select(selection);
    this.redraw();
  }
  setRange(range: TimeRange | null): void {
    this.range = range;
    this.events.range(range);
    this.redraw();
  }
  focusSelection(): void {
    const range = this.selection
      ? this.timesOf(this.selection)
      : this.range
        ? [this.range.start, this.range.end]
        : null;
    if (!range) return;
    this.view.show(range[0], range[1], 1);
    if (this.selection) this.revealY(this.yOf(this.selection));
    this.redraw();
  }

  timesOf({ kind, row }: Selection): [number, number] {
    const { host, gpu, gaps, waits, gpuSpans, steps } = this.model;
    if (kind === "host") return [host.start[row], host.end[row]];
    if (kind === "gpu") return [gpu.start[row], gpu.end[row]];
    if (kind === "gap") return [gaps.start[row], gaps.end[row]];
    if (kind === "wait") return [waits.start[row], waits.end[row]];
    if (kind === "gpu-span") return [gpuSpans.start[row], gpuSpans.end[row]];
    return [steps[row]?.start ?? 0, steps[row]?.end ?? 0];
  }
  private yOf({ kind, row }: Selection): number {
    if (kind === "host") return this.layout.yOfHost(row);
    if (kind === "gpu") return this.layout.yOfGpu(row);
    return this.laneOf({ kind, row })?.y ?? 0;
  }
  private laneOf({ kind, row }: Selection): Lane | null {
    for (const track of this.layout.tracks) {
      for (const lane of track.lanes) {
        if (lane.kind === kind && lane.order.includes(row)) return lane;
      }
    }
    return null;
  }
  private revealY(y: number): void {
    const bottom = this.height - kRuler - 40;
    if (y < this.scroll + 10) this.setScroll(y - 60);
    else if (y > this.scroll + bottom) this.setScroll(y - bottom / 2);
  }

  private setScroll(y: number): void {
    const most = Math.max(0, this.layout.height - (this.height - kRuler));
    this.scroll = Math.min(Math.max(0, y), most);
    this.redraw();
  }

  private resize(): void {
    const box = this.canvas.getBoundingClientRect();
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.max(1, Math.round(box.width * ratio));
    this.canvas.height = Math.max(1, Math.round(box.height * ratio));
    this.view.width = Math.max(1, box.width - kLabels);
    this.height = box.height;
    this.setScroll(this.scroll);
    this.redraw();
  }

  private draw(): void {
    const { context, view, drawer } = this;
    const ratio = window.devicePixelRatio || 1;
    const colours = drawer.paint;
    const width = view.width + kLabels;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = colours.background;
    context.fillRect(0, 0, width, this.height);

    context.save();
    context.beginPath();
    context.rect(kLabels, 0, view.width, this.height);
    context.clip();
    context.translate(kLabels, 0);
    this.drawGrid();
    this.drawBand(this.evidence, colours.evidence);
    context.save();
    context.beginPath();
    context.rect(0, kRuler, view.width, this.height - kRuler);
    context.clip();
    for (const track of this.layout.tracks) {
      for (const lane of track.lanes) {
        const y = lane.y - this.scroll + kRuler;
        if (y + lane.height < kRuler || y > this.height) continue;
        drawer.lane(lane, view, y);
      }
    }
    this.drawArrows();
    this.drawSelection();
    context.restore();
    this.drawMark();
    this.drawBand(this.range, "rgba(11,98,196,0.14)", colours.accent);
    context.restore();
    this.drawLabels();
    this.drawScrollbar();
    if (this.seen[0] !== view.start || this.seen[1] !== view.end) {
      this.seen = [view.start, view.end];
      this.events.moved?.();
    }
  }

  private drawMark(): void {
    const { mark, context, view } = this;
    if (!mark) return;
    const colours = this.drawer.paint;
    const [from, to] = [view.x(mark.start), view.x(mark.end)];
    context.fillStyle = colours.background;
    context.globalAlpha = 0.6;
    if (from > 0) context.fillRect(0, kRuler, from, this.height);
    if (to < view.width) context.fillRect(Math.max(to, 0), kRuler, view.width, this.height);
    context.globalAlpha = 1;
    this.drawEnd(view.x(mark.start), "", colours.accent, 0);
    this.drawEnd(to, mark.ends, colours.accent, 1);
    if (mark.other !== null) this.drawEnd(view.x(mark.other), mark.otherEnds, colours.faint, 2);
  }
  private drawEnd(x: number, text: string, colour: string, line: number): void {
    const { context, view } = this;
    if (x < -1 || x > view.width + 1) return;
    context.fillStyle = colour;
    context.fillRect(Math.round(x) - 1, kRuler, 2, this.height);
    if (text === "") return;
    context.font = "bold 11px system-ui, 'DejaVu Sans', sans-serif";
    context.textBaseline = "middle";
    const width = context.measureText(text).width + 8;
    const left = x + width > view.width ? x - width - 1 : x + 1;
    const y = this.height - 18 * line - 4;
    context.fillStyle = this.drawer.paint.panel;
    context.fillRect(left, y - 9, width, 17);
    context.fillStyle = colour;
    context.fillText(text, left + 4, y);
  }

  // How much lies below: tracks out of sight are otherwise not known of.
  private drawScrollbar(): void {
    const seen = this.height - kRuler;
    if (this.layout.height <= seen) return;
    const { context } = this;
    context.fillStyle = this.drawer.paint.faint;
    context.globalAlpha = 0.6;
    const y = kRuler + (this.scroll / this.layout.height) * seen;
    context.fillRect(kLabels + this.view.width - 6, y, 5, Math.max(20, (seen / this.layout.height) * seen));
    context.globalAlpha = 1;
  }

  private drawGrid(): void {
    const { context, view } = this;
    const colours = this.drawer.paint;
    context.font = "11px system-ui, 'DejaVu Sans', sans-serif";
    context.textBaseline = "middle";
    context.fillStyle = colours.panel;
    context.fillRect(0, 0, view.width, kRuler);
    const zero = this.mark?.zero ?? 0;
    for (const tick of ticks(view.start - zero, view.end - zero, view.perPixel * 110)) {
      const x = Math.round(view.x(tick.at + zero)) + 0.5;
      context.strokeStyle = colours.line;
      context.beginPath();
      context.moveTo(x, 0);
      context.lineTo(x, this.height);
      context.stroke();
      context.fillStyle = colours.faint;
      // At the right end it would be cut.
      if (x + 4 + context.measureText(tick.text).width <= view.width) context.fillText(tick.text, x + 4, kRuler / 2);
    }
  }

  private drawBand(range: TimeRange | null, fill: string, edge?: string): void {
    if (!range) return;
    const { context, view } = this;
    const from = view.x(range.start);
    const to = Math.max(view.x(range.end), from + 1);
    context.fillStyle = fill;
    context.fillRect(from, 0, to - from, this.height);
    if (!edge) return;
    context.fillStyle = edge;
    context.fillRect(from, 0, 1, this.height);
    context.fillRect(to - 1, 0, 1, this.height);
    context.font = "bold 11px system-ui, sans-serif";
    const text = duration(range.end - range.start);
    context.fillStyle = this.drawer.paint.panel;
    context.fillRect(from + 1, 2, context.measureText(text).width + 8, kRuler - 4);
    context.fillStyle = edge;
    context.fillText(text, from + 4, kRuler / 2);
  }

  private drawSelection(): void {
    if (!this.selection) return;
    const [start, end] = this.timesOf(this.selection);
    const lane = this.laneHeight(this.selection);
    const y = this.yOf(this.selection) - this.scroll + kRuler;
    const x = this.view.x(start);
    const width = Math.max(this.view.x(end) - x, 2);
    this.context.strokeStyle = this.drawer.paint.text;
    this.context.lineWidth = 2;
    this.context.strokeRect(Math.max(x, -5), y, Math.min(width, this.view.width + 10), lane - 1);
    this.context.lineWidth = 1;
  }
  private laneHeight(selection: Selection): number {
    return selection.kind === "gpu" || selection.kind === "gap" ? 20 : 17;
  }

  // From a launch call to what it started: of the selection, or of everything in sight when asked for.
  private drawArrows(): void {
    const { gpu } = this.model;
    const arrow = (row: number, strong: boolean) => {
      const launch = gpu.launch[row] - 1;
      if (launch >= 0) this.drawArrow(launch, row, strong);
    };
    const chosen = this.selection;
    if (this.arrows) {
      const most = 600; // more are a black area
      let drawn = 0;
      for (const track of this.layout.tracks) {
        for (const lane of track.lanes) {
          if (lane.kind !== "gpu") continue;
          for (const row of lane.order) {
            if (gpu.start[row] > this.view.end || drawn > most) break;
            if (gpu.end[row] < this.view.start) continue;
            arrow(row, false);
            drawn++;
          }
        }
      }
    }
    if (chosen?.kind === "gpu") arrow(chosen.row, true);
    if (chosen?.kind === "host") {
      for (const row of this.model.gpuRowsOf(chosen.row).slice(0, 200)) arrow(row, true);
    }
    if (chosen?.kind === "gap" && this.model.gaps.endedBy[chosen.row] > 0) {
      arrow(this.model.gaps.endedBy[chosen.row] - 1, true);
    }
  }
  private drawArrow(launch: number, row: number, strong: boolean): void {
    const { context, view } = this;
    const x0 = view.x(this.model.host.start[launch]);
    const x1 = view.x(this.model.gpu.start[row]);
    if ((x0 < -50 && x1 < -50) || (x0 > view.width + 50 && x1 > view.width + 50)) return;
    const y0 = this.layout.yOfHost(launch) - this.scroll + kRuler + 14;
    const y1 = this.layout.yOfGpu(row) - this.scroll + kRuler;
    const bend = Math.max(30, Math.abs(x1 - x0) / 3);
    context.strokeStyle = this.drawer.paint.text;
    context.fillStyle = this.drawer.paint.text;
    context.globalAlpha = strong ? 0.9 : 0.25;
    context.lineWidth = strong ? 1.5 : 1;
    context.beginPath();
    context.moveTo(x0, y0);
    context.bezierCurveTo(x0 + bend, y0, x1 - bend, y1 - 6, x1, y1 - 2);
    context.stroke();
    context.beginPath();
    context.moveTo(x1, y1);
    context.lineTo(x1 - 4, y1 - 6);
    context.lineTo(x1 + 3, y1 - 6);
    context.fill();
    context.globalAlpha = 1;
    context.lineWidth = 1;
  }

  private drawLabels(): void {
    const { context } = this;
    const colours = this.drawer.paint;
    context.fillStyle = colours.panel;
    context.fillRect(0, 0, kLabels, this.height);
    context.fillStyle = colours.line;
    context.fillRect(kLabels - 1, 0, 1, this.height);
    context.save();
    context.beginPath();
    context.rect(0, kRuler, kLabels - 1, this.height - kRuler);
    context.clip();
    context.textBaseline = "top";
    for (const track of this.layout.tracks) {
      const y = track.y - this.scroll + kRuler;
      if (y > this.height || y + track.height < kRuler - 12) continue;
      context.fillStyle = colours.line;
      context.fillRect(0, y - 5, kLabels + this.view.width, 1);
      context.font = "600 12px system-ui, 'DejaVu Sans', sans-serif";
      context.fillStyle = colours.text;
      const sticky = Math.max(y, Math.min(kRuler, y + track.height - 18)) + 2;
      const caret = track.canCollapse ? (track.collapsed ? "▸ " : "▾ ") : "";
      const label = fitText(context, caret + track.label, kLabels - 14);
      context.fillText(label, 8, sticky);
      if (!track.detail) continue;
      // Below the label, or beside it where the track is one line high.
      const beside = track.height < kLeastWithDetail ? context.measureText(label).width + 8 : 0;
      context.font = "11px system-ui, 'DejaVu Sans', sans-serif";
      context.fillStyle = colours.faint;
      const detail = fitText(context, track.detail, kLabels - 14 - beside);
      if (beside === 0) context.fillText(detail, 8, sticky + 16);
      else if (detail === track.detail) context.fillText(detail, 8 + beside, sticky + 1);
    }
    context.restore();
    context.fillStyle = colours.faint;
    context.font = "11px system-ui, 'DejaVu Sans', sans-serif";
    context.textBaseline = "middle";
    context.fillText(this.mark?.ruler ?? "time since the first event", 8, kRuler / 2, kLabels - 12);
  }

  // What lies at a place of the canvas.
  hit(x: number, y: number): Selection | null {
    const at = y - kRuler + this.scroll;
    const time = this.view.time(x - kLabels);
    for (const track of this.layout.tracks) {
      for (const lane of track.lanes) {
        if (at < lane.y || at >= lane.y + lane.height || lane.kind === "level") continue;
        const row = rowAt(lane.order, lane.start, lane.end, time, this.view.perPixel * 2);
        return row >= 0 ? { kind: lane.kind, row } : null;
      }
    }
    return null;
  }
  private trackAt(y: number): string | null {
    const at = y - kRuler + this.scroll;
    const track = this.layout.tracks.find((t) => at >= t.y && at < t.y + t.height);
    return track?.canCollapse ? track.id : null;
  }
  describe(selection: Selection): string {
    const [start, end] = this.timesOf(selection);
    const lane = this.laneOf(selection);
    const name = lane ? this.drawer.look(lane, selection.row).text : "";
    return `${name}, ${duration(end - start)}`;
  }

  // The neighbour in the same lane, for arrow keys.
  step(direction: 1 | -1): void {
    const chosen = this.selection ?? this.firstInSight();
    if (!chosen) return;
    if (!this.selection) return this.select(chosen, true);
    const lane = this.laneOf(chosen);
    if (!lane) return;
    const next = lane.order[lane.order.indexOf(chosen.row) + direction];
    if (next !== undefined) this.select({ kind: chosen.kind, row: next }, true);
  }
  // The event of the next lane up or down that lies at the same time.
  stepLane(direction: 1 | -1): void {
    const chosen = this.selection ?? this.firstInSight();
    if (!chosen) return;
    const lanes = this.layout.tracks.flatMap((t) => t.lanes).filter((l) => l.kind !== "level");
    const [start] = this.timesOf(chosen);
    let at = lanes.findIndex((l) => l.kind === chosen.kind && l.order.includes(chosen.row));
    for (at += direction; at >= 0 && at < lanes.length; at += direction) {
      const lane = lanes[at];
      const row = rowAt(lane.order, lane.start, lane.end, start, Number.POSITIVE_INFINITY);
      if (row >= 0) return this.select({ kind: lane.kind, row }, true);
    }
  }
  private firstInSight(): Selection | null {
    for (const track of this.layout.tracks) {
      const lane = track.lanes[0];
      if (!lane || lane.kind === "level") continue;
      const row = rowAt(lane.order, lane.start, lane.end, this.view.start, Number.POSITIVE_INFINITY);
      if (row >= 0) return { kind: lane.kind, row };
    }
    return null;
  }

  private listen(): void {
    const { canvas } = this;
    const on = listener(canvas, this.cleanups);
    const observer = new ResizeObserver(() => this.resize());
    observer.observe(canvas);
    this.cleanups.push(() => observer.disconnect());
    on("wheel", (event) => this.wheel(event));
    on("pointerdown", (event) => this.press(event));
    on("pointermove", (event) => this.hover(event));
    on("pointerleave", () => this.events.hover(null));
    on("dblclick", () => this.focusSelection());
    on("keydown", (event) => this.key(event));
    on("keyup", (event) => this.keys.delete(event.key.toLowerCase()));
    on("blur", () => this.keys.clear());
  }

  private wheel(event: WheelEvent): void {
    event.preventDefault();
    const box = this.canvas.getBoundingClientRect();
    const x = event.clientX - box.left;
    const lines = event.deltaMode === 1 ? 16 : 1;
    if (x < kLabels || event.altKey) return this.setScroll(this.scroll + event.deltaY * lines);
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      this.view.pan((event.deltaX || event.deltaY) * lines);
    } else {
      this.view.zoom(1.0018 ** (event.deltaY * lines), x - kLabels);
    }
    this.redraw();
  }

  // A drag moves; on the ruler, or with shift held, it selects a range; a press without a drag selects an event.
  private press(event: PointerEvent): void {
    if (event.button !== 0) return;
    const box = this.canvas.getBoundingClientRect();
    const x0 = event.clientX - box.left;
    const y0 = event.clientY - box.top;
    const ranging = event.shiftKey || y0 < kRuler;
    let [lastX, lastY, moved] = [x0, y0, false];
    try {
      this.canvas.setPointerCapture(event.pointerId);
    } catch {
      // A pointer that is already gone; the drag ends with the next event.
    }
    const move = (e: PointerEvent) => {
      const x = e.clientX - box.left;
      const y = e.clientY - box.top;
      moved ||= Math.hypot(x - x0, y - y0) > 4;
      if (moved && ranging) {
        const times = [this.view.time(x0 - kLabels), this.view.time(x - kLabels)].sort((a, b) => a - b);
        this.setRange({ start: times[0], end: times[1] });
      } else if (moved) {
        this.view.pan(lastX - x);
        this.setScroll(this.scroll + lastY - y);
      }
      [lastX, lastY] = [x, y];
    };
    const up = () => {
      this.canvas.removeEventListener("pointermove", move);
      this.canvas.removeEventListener("pointerup", up);
      this.canvas.removeEventListener("pointercancel", up);
      if (moved) return;
      if (ranging && y0 < kRuler) return this.setRange(null);
      const track = x0 < kLabels ? this.trackAt(y0) : null;
      if (track) this.toggle(track);
      else if (x0 >= kLabels) this.select(this.hit(x0, y0));
    };
    this.canvas.addEventListener("pointermove", move);
    this.canvas.addEventListener("pointerup", up);
    this.canvas.addEventListener("pointercancel", up);
  }

  private hover(event: PointerEvent): void {
    if (event.buttons !== 0) return this.events.hover(null);
    const box = this.canvas.getBoundingClientRect();
    const x = event.clientX - box.left;
    const y = event.clientY - box.top;
    const found = x >= kLabels ? this.hit(x, y) : null;
    this.canvas.style.cursor =
      found || (x < kLabels && this.trackAt(y)) ? "pointer" : y < kRuler ? "col-resize" : "grab";
    this.events.hover(found ? { x, y, text: this.describe(found) } : null);
  }

  private key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const key = event.key.toLowerCase();
    const run: Record<string, () => void> = {
      arrowright: () => this.step(1),
      arrowleft: () => this.step(-1),
      arrowdown: () => this.stepLane(1),
      arrowup: () => this.stepLane(-1),
      f: () => this.focusSelection(),
      enter: () => this.focusSelection(),
      "0": () => this.showAll(),
      pagedown: () => this.setScroll(this.scroll + this.height / 2),
      pageup: () => this.setScroll(this.scroll - this.height / 2),
      escape: () => {
        this.setRange(null);
        this.select(null);
        this.setEvidence(null);
      },
    };
    if ("wasd".includes(key) && key.length === 1) {
      if (!this.keys.has(key)) this.move(key, 1);
      this.keys.add(key);
      if (this.keyFrame === 0) this.moveHeld(performance.now());
    } else if (run[key]) {
      run[key]();
    } else {
      return;
    }
    event.preventDefault();
  }
  // Held keys move as long as they are held, as fast on every screen.
  private moveHeld(before: number): void {
    this.keyFrame = requestAnimationFrame((now) => {
      this.keyFrame = 0;
      if (this.keys.size === 0) return;
      for (const key of this.keys) this.move(key, (now - before) / 50);
      this.moveHeld(now);
    });
  }
  private move(key: string, amount: number): void {
    const middle = this.view.width / 2;
    if (key === "w") this.view.zoom(0.88 ** amount, middle);
    if (key === "s") this.view.zoom(1.136 ** amount, middle);
    if (key === "a") this.view.pan(-this.view.width * 0.06 * amount);
    if (key === "d") this.view.pan(this.view.width * 0.06 * amount);
    this.redraw();
  }
}
