// Every step of every rank on one clock: a row a rank, so that who makes the others wait is seen as a column of waits
// that ends where that rank is ready.
import { useEffect, useRef, useState } from "preact/hooks";
import { kindColour, paint, type Theme } from "../colours";
import { elementText, unpack } from "../data/container";
import type { Fleet } from "../data/fleet";
import { isLoaded, useLoaded } from "../data/recordings";
import {
  kParts,
  type LinePaint,
  type Part,
  paintLine,
  partsOf,
  pixelOf,
  type RankSteps,
  ranksOfLines,
  readRankSteps,
} from "../fleet/rank_steps";
import { count, duration } from "../format";
import { fitText } from "../timeline/draw";
import { listener, onceAFrame } from "../timeline/frame";
import { ticks, View } from "../timeline/scale";
import { Choice } from "./choice";
import { Waiting } from "./waiting";

const kLabels = 150;
const kAxis = 24;
const kTallest = 24; // pixels of a row
const kReadable = 16;
const kLeastStraggler = 4;
const kFirstSteps = 12; // in sight at first: more are stripes
const kBox = 640; // of the rows; a screen's worth

export function hasRankSteps(): boolean {
  return elementText("stepscope-fleet") !== "";
}

export function RankLanes({ fleet, theme }: { fleet: Fleet; theme: Theme }) {
  const loaded = useLoaded<RankSteps>(async () => readRankSteps(await unpack("stepscope-fleet")), []);
  if (!isLoaded(loaded)) return <Waiting of={loaded} what="steps" />;
  return <Lanes fleet={fleet} theme={theme} steps={loaded.model} />;
}

type Order = "late" | "rank";
const kPartWords: Record<Part, string> = {
  own: "own work",
  communication: "communication",
  wait: "waits for other ranks",
};

// Communication and waits as in the bars above, where waits are its hatched colour: rows of a pixel have no room for a hatch.
function partColours(theme: Theme): Record<Part, string> {
  return {
    own: theme === "light" ? "#4f74b8" : "#6d90d3",
    communication: kindColour("communication", theme),
    wait: theme === "light" ? "#dba6c0" : "#74405a",
  };
}

// Latest first; those without steps have no row.
export function rankOrder(fleet: Fleet, steps: RankSteps, by: Order): number[] {
  const rows = fleet.ranks.map((_, row) => row).filter((row) => steps.rows.has(row));
  if (by === "rank") return rows;
  const late = (row: number) => fleet.ranks[row].late_ns ?? 0;
  return rows.sort((a, b) => late(b) - late(a));
}

function Lanes({ fleet, theme, steps }: { fleet: Fleet; theme: Theme; steps: RankSteps }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const picture = useRef<LanesPicture | null>(null);
  const [by, setBy] = useState<Order>("rank");
  const [isReadable, setReadable] = useState(false);
  const [chosen, setChosen] = useState<number | null>(null);
  const [hover, setHover] = useState<{ x: number; y: number; row: number } | null>(null);
  const ranks = steps.rows.size;
  const canSeeAll = kBox / ranks >= kReadable;
  const rowHeight = isReadable
    ? Math.max(kReadable, Math.min(kTallest, kBox / ranks))
    : Math.min(kTallest, kBox / ranks);
  const height = kAxis + Math.min(kBox, Math.ceil(ranks * rowHeight));
  useEffect(() => {
    if (!canvas.current) return;
    const made = new LanesPicture(canvas.current, fleet, steps, { choose: setChosen, hover: setHover });
    picture.current = made;
    (window as unknown as { stepscope: unknown }).stepscope = { lanes: made };
    return () => made.destroy();
  }, [fleet, steps]);
  useEffect(
    () => picture.current?.show(rankOrder(fleet, steps, by), rowHeight, theme),
    [fleet, steps, by, rowHeight, theme],
  );
  const colours = partColours(theme);
  return (
    <>
      <div class="tools">
        <Choice
          label="Rows"
          all={["rank", "late"]}
          value={by}
          words={{ rank: "by rank", late: "latest first" }}
          onChange={setBy}
        />
        {!canSeeAll && (
          <label>
            <input type="checkbox" checked={isReadable} onChange={(e) => setReadable(e.currentTarget.checked)} /> rows
            high enough to read
          </label>
        )}
        <ul class="legend">
          {kParts.map((part) => (
            <li>
              <i class="swatch" style={{ "--fill": colours[part] }} />
              {kPartWords[part]}
            </li>
          ))}
          {fleet.stragglers.length > 0 && (
            <li>
              <b class="straggler">▶</b> makes the others wait
            </li>
          )}
        </ul>
      </div>
      <div class="canvas-box ranks" style={{ height: `${height}px` }}>
        <canvas
          ref={canvas}
          tabIndex={0}
          role="application"
          aria-label={`Each step of ${count(ranks)} ranks on one clock, a row a rank. Arrow keys go from step to step and from rank to rank.`}
          aria-describedby="lanes-help"
        />
        {hover && (
          <div class="hover" style={{ left: `${Math.min(hover.x + 14, 700)}px`, top: `${hover.y + 16}px` }}>
            {stepWords(fleet, steps, hover.row)}
          </div>
        )}
      </div>
      <p role="status">{chosen === null ? "" : stepWords(fleet, steps, chosen)}</p>
      <p id="lanes-help" class="faint">
        A step begins at the thin line; how long its parts are is true, not where in the step they lie. Wheel or{" "}
        <kbd>W</kbd> <kbd>S</kbd>: zoom, drag or <kbd>A</kbd> <kbd>D</kbd>: move, <kbd>0</kbd>: all, arrow keys: next
        step and rank, wheel over the names or <kbd>PageDown</kbd>: scroll.
        {steps.leftOut > 0 && " Only the first steps are drawn: there are too many for a page."}
      </p>
    </>
  );
}

function stepWords(fleet: Fleet, steps: RankSteps, row: number): string {
  const parts = partsOf(steps, row);
  const rank = fleet.ranks[steps.rank[row]];
  const list = kParts.map((part) => `${kPartWords[part]} ${duration(parts[part])}`).join(", ");
  return `${rank?.label ?? ""}, step ${steps.step[row]}: ${duration(steps.end[row] - steps.start[row])}; ${list}`;
}

interface LanesEvents {
  choose(row: number): void;
  hover(hover: { x: number; y: number; row: number } | null): void;
}

class LanesPicture {
  readonly view: View;
  private readonly context: CanvasRenderingContext2D;
  private order: number[] = [];
  private rowHeight = 1;
  private theme: Theme = "light";
  private scroll = 0;
  private height = 0;
  private readonly redraw = onceAFrame(() => this.draw());
  chosen: number | null = null;
  private readonly stragglers: Set<number>;
  private readonly cleanups: (() => void)[] = [];

  constructor(
    readonly canvas: HTMLCanvasElement,
    readonly fleet: Fleet,
    readonly steps: RankSteps,
    private readonly events: LanesEvents,
  ) {
    this.context = canvas.getContext("2d") as CanvasRenderingContext2D;
    this.view = new View(steps.low, steps.high, 1, steps.low, steps.high);
    const first = [...steps.rows.values()][0] ?? [];
    if (first.length > kFirstSteps) this.view.show(steps.low, steps.end[first[kFirstSteps - 1]], 0.01);
    const late = new Set(fleet.stragglers);
    this.stragglers = new Set(fleet.ranks.map((rank, row) => (late.has(rank.label) ? row : -1)));
    const on = listener(canvas, this.cleanups);
    const observer = new ResizeObserver(() => this.resize());
    observer.observe(canvas);
    this.cleanups.push(() => observer.disconnect());
    on("wheel", (event) => this.wheel(event));
    on("pointermove", (event) => this.move(event));
    on("pointerleave", () => events.hover(null));
    on("click", (event) => this.select(this.hit(event.offsetX, event.offsetY)));
    on("keydown", (event) => this.key(event));
  }
  destroy(): void {
    for (const cleanup of this.cleanups) cleanup();
  }
  show(order: number[], rowHeight: number, theme: Theme): void {
    [this.order, this.rowHeight, this.theme] = [order, rowHeight, theme];
    this.setScroll(this.scroll);
  }

  private resize(): void {
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.max(1, Math.round(this.canvas.clientWidth * ratio));
    this.canvas.height = Math.max(1, Math.round(this.canvas.clientHeight * ratio));
    this.view.width = Math.max(1, this.canvas.clientWidth - kLabels);
    this.height = this.canvas.clientHeight;
    this.setScroll(this.scroll);
  }
  private setScroll(to: number): void {
    const most = Math.max(0, this.order.length * this.rowHeight - (this.height - kAxis));
    this.scroll = Math.min(Math.max(0, to), most);
    this.redraw();
  }

  // Below the axis, from the top of the first row in sight.
  private yOf(index: number): number {
    return index * this.rowHeight - this.scroll;
  }
  private hit(x: number, y: number): number | null {
    const index = Math.floor((y - kAxis + this.scroll) / this.rowHeight);
    const rows = this.steps.rows.get(this.order[index] ?? -1);
    if (x < kLabels || y < kAxis || !rows) return null;
    const time = this.view.time(x - kLabels);
    return rows.find((row) => this.steps.start[row] <= time && time < this.steps.end[row]) ?? null;
  }
  private select(row: number | null): void {
    if (row === null) return;
    this.chosen = row;
    this.events.choose(row);
    const y = this.yOf(this.order.indexOf(this.steps.rank[row]));
    if (y < 0 || y + this.rowHeight > this.height - kAxis) this.setScroll(this.scroll + y - (this.height - kAxis) / 2);
    if (this.steps.end[row] < this.view.start || this.steps.start[row] > this.view.end)
      this.view.show(this.steps.start[row], this.steps.end[row], 0.3);
    this.redraw();
  }

  private wheel(event: WheelEvent): void {
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 16 : 1;
    if (event.offsetX < kLabels) return this.setScroll(this.scroll + event.deltaY * lines);
    if (event.shiftKey) this.view.pan((event.deltaX || event.deltaY) * lines);
    else this.view.zoom(1.0018 ** (event.deltaY * lines), event.offsetX - kLabels);
    this.redraw();
  }
  private move(event: PointerEvent): void {
    if (event.buttons === 1) {
      this.view.pan(-event.movementX);
      this.setScroll(this.scroll - event.movementY);
      return this.events.hover(null);
    }
    const row = this.hit(event.offsetX, event.offsetY);
    this.events.hover(row === null ? null : { x: event.offsetX, y: event.offsetY, row });
  }
  private key(event: KeyboardEvent): void {
    const middle = this.view.width / 2;
    const run: Record<string, () => void> = {
      w: () => this.view.zoom(0.85, middle),
      s: () => this.view.zoom(1.18, middle),
      a: () => this.view.pan(-this.view.width * 0.08),
      d: () => this.view.pan(this.view.width * 0.08),
      "0": () => this.view.set(this.steps.low, this.steps.high),
      PageDown: () => this.setScroll(this.scroll + this.height / 2),
      PageUp: () => this.setScroll(this.scroll - this.height / 2),
      ArrowRight: () => this.step(1, 0),
      ArrowLeft: () => this.step(-1, 0),
      ArrowDown: () => this.step(0, 1),
      ArrowUp: () => this.step(0, -1),
    };
    const name = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (event.ctrlKey || event.metaKey || event.altKey || !run[name]) return;
    event.preventDefault();
    run[name]();
    this.redraw();
  }
  // To a neighbour; from nothing to the straggler's first step, which is what one would look for.
  private step(along: number, down: number): void {
    const { steps, order } = this;
    if (this.chosen === null) {
      const first = order.find((rank) => this.stragglers.has(rank)) ?? order[0];
      return this.select(steps.rows.get(first)?.[0] ?? null);
    }
    const rank = steps.rank[this.chosen];
    const rows = steps.rows.get(rank) ?? [];
    const at = rows.indexOf(this.chosen);
    if (along !== 0) return this.select(rows[at + along] ?? null);
    const next = steps.rows.get(order[order.indexOf(rank) + down]) ?? [];
    this.select(next.find((row) => steps.step[row] === steps.step[this.chosen ?? 0]) ?? next[at] ?? null);
  }

  private draw(): void {
    const { context, view, height } = this;
    const ratio = window.devicePixelRatio || 1;
    const colours = paint(this.theme);
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = colours.background;
    context.fillRect(0, 0, this.canvas.width, this.canvas.height);
    this.drawRows(ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.font = "11px system-ui, 'DejaVu Sans', sans-serif";
    context.textBaseline = "middle";
    context.fillStyle = colours.panel;
    context.fillRect(0, 0, view.width + kLabels, kAxis);
    for (const tick of ticks(view.start, view.end, view.perPixel * 110)) {
      const x = kLabels + view.x(tick.at);
      if (x < kLabels) continue;
      context.fillStyle = colours.faint;
      if (x + 4 + context.measureText(tick.text).width <= kLabels + view.width)
        context.fillText(tick.text, x + 4, kAxis / 2);
      context.globalAlpha = 0.35;
      context.fillRect(Math.round(x), 0, 1, height);
      context.globalAlpha = 1;
    }
    this.drawLabels(colours.panel, colours.text);
    this.drawChosen(colours.text);
  }

  private drawRows(ratio: number): void {
    const { view, steps, order, context } = this;
    const [left, top] = [Math.round(kLabels * ratio), Math.round(kAxis * ratio)];
    const [width, lines] = [this.canvas.width - left, this.canvas.height - top];
    if (width <= 0 || lines <= 0) return;
    const image = context.createImageData(width, lines);
    const pixels = new Uint32Array(image.data.buffer);
    const theme = paint(this.theme);
    const parts = partColours(this.theme);
    const linePaint: LinePaint = {
      background: pixelOf(theme.background),
      edge: pixelOf(theme.text),
      parts: { own: pixelOf(parts.own), communication: pixelOf(parts.communication), wait: pixelOf(parts.wait) },
    };
    pixels.fill(linePaint.background);
    const height = this.rowHeight * ratio;
    const gap = height >= 8 ? Math.round(2 * ratio) : 0;
    if (height < 1) {
      // Stragglers first, so that they show where ranks share a line.
      const latest = [...order.keys()].sort(
        (a, b) => Number(this.stragglers.has(order[b])) - Number(this.stragglers.has(order[a])),
      );
      const shown = ranksOfLines(
        latest.map((index) => order[index]),
        lines,
        (i) => this.yOf(latest[i]) * ratio,
      );
      for (let y = 0; y < lines; y++) {
        const rows = steps.rows.get(shown[y]);
        if (rows) paintLine(pixels.subarray(y * width, (y + 1) * width), steps, rows, view, linePaint);
      }
    } else {
      for (const [index, rank] of order.entries()) {
        const from = Math.max(0, Math.round(this.yOf(index) * ratio));
        const to = Math.min(lines, Math.round(this.yOf(index + 1) * ratio) - gap);
        if (to <= from) continue;
        paintLine(
          pixels.subarray(from * width, (from + 1) * width),
          steps,
          steps.rows.get(rank) ?? [],
          view,
          linePaint,
        );
        for (let y = from + 1; y < to; y++) pixels.copyWithin(y * width, from * width, (from + 1) * width);
      }
    }
    if (height < kLeastStraggler) this.drawStragglers(pixels, width, lines, ratio, linePaint);
    context.putImageData(image, left, top);
  }

  // Thick enough to be seen among a thousand.
  private drawStragglers(pixels: Uint32Array, width: number, lines: number, ratio: number, linePaint: LinePaint): void {
    for (const [index, rank] of this.order.entries()) {
      if (!this.stragglers.has(rank)) continue;
      const middle = Math.round(this.yOf(index) * ratio);
      const from = Math.min(Math.max(0, middle - 1), lines - kLeastStraggler);
      if (middle < 0 || middle >= lines || from < 0) continue;
      const rows = this.steps.rows.get(rank) ?? [];
      paintLine(pixels.subarray(from * width, (from + 1) * width), this.steps, rows, this.view, linePaint);
      for (let y = from + 1; y < from + kLeastStraggler; y++)
        pixels.copyWithin(y * width, from * width, (from + 1) * width);
    }
  }

  // All names where rows are high enough; else the stragglers', and of the others as many as there is room for.
  private drawLabels(panel: string, text: string): void {
    const { context, order } = this;
    context.fillStyle = panel;
    context.fillRect(0, 0, kLabels, this.height);
    context.fillStyle = text;
    context.fillText("since the first step", 8, kAxis / 2);
    context.save();
    context.beginPath();
    context.rect(0, kAxis, kLabels, this.height);
    context.clip();
    const taken: number[] = [];
    const label = (index: number, isLate: boolean) => {
      const y = Math.max(kAxis + 7, kAxis + this.yOf(index) + this.rowHeight / 2);
      if (this.yOf(index) + this.rowHeight < 0 || y > this.height || taken.some((other) => Math.abs(other - y) < 12))
        return;
      taken.push(y);
      const name = this.fleet.ranks[order[index]].label;
      context.font = `${isLate ? "bold " : ""}11px system-ui, 'DejaVu Sans', sans-serif`;
      context.fillStyle = isLate ? (this.theme === "light" ? "#b3261e" : "#ff8a80") : text;
      context.fillText(fitText(context, isLate ? `▶ ${name}` : name, kLabels - 12), isLate ? 4 : 16, y);
    };
    for (const [index, rank] of order.entries()) if (this.stragglers.has(rank)) label(index, true);
    const every = Math.max(1, Math.ceil(13 / this.rowHeight));
    for (let index = 0; index < order.length; index += every)
      if (!this.stragglers.has(order[index])) label(index, false);
    context.restore();
  }

  private drawChosen(colour: string): void {
    if (this.chosen === null) return;
    const { steps, view, context } = this;
    const y = kAxis + this.yOf(this.order.indexOf(steps.rank[this.chosen]));
    if (y < kAxis - 1) return;
    const [from, to] = [view.x(steps.start[this.chosen]), view.x(steps.end[this.chosen])];
    context.save();
    context.beginPath();
    context.rect(kLabels, kAxis, view.width, this.height);
    context.clip();
    context.strokeStyle = colour;
    context.lineWidth = 2;
    context.strokeRect(kLabels + from, y - 1, to - from, Math.max(this.rowHeight, 3) + 1);
    context.restore();
  }
}
