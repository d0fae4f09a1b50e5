// The canvas of a memory view: bands, levels, marks; and the keys and clicks that move it or choose a moment.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { paint, type Theme } from "../colours";
import { bytes, count, shorten } from "../format";
import { type Band, type Bands, bandAt, offsetAt } from "../memory/bands";
import { kRest } from "../memory/colouring";
import type { MemoryDevice, MemoryModel } from "../memory/model";
import { View } from "../timeline/scale";

interface CanvasProps {
  model: MemoryModel;
  device: MemoryDevice;
  bands: Bands;
  theme: Theme;
  axis: "event" | "time";
  moment: number;
  chosen: number | null;
  colour(row: number): string;
  name(row: number): string;
  onChoose(moment: number, row: number | null): void;
}

const kTop = 26;
const kLeft = 78;
const kHeight = Math.max(420, Math.min(760, Math.round(window.innerHeight * 0.5)));

export function BandCanvas(props: CanvasProps) {
  const { model, device, bands, axis } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const view = useRef<View | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const [hover, setHover] = useState<{ x: number; y: number; text: string } | null>(null);
  const most = useMemo(() => {
    let highest = 1;
    for (const value of device.reserved) if (value > highest) highest = value;
    for (const value of device.allocated) if (value > highest) highest = value;
    return highest;
  }, [device]);

  const at = (moment: number) => (axis === "event" ? moment : device.time[Math.min(moment, device.moments - 1)]);
  const momentAt = (place: number) => {
    if (axis === "event") return Math.max(0, Math.min(device.moments - 1, Math.floor(place)));
    let low = 0;
    let high = device.moments;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (device.time[middle] <= place) low = middle + 1;
      else high = middle;
    }
    return Math.max(0, low - 1);
  };
  const draw = () => {
    const context = canvas.current?.getContext("2d");
    if (context && view.current) drawBands(context, view.current, latest.current, most, at);
  };
  useEffect(() => {
    const element = canvas.current;
    if (!element) return;
    const end = axis === "event" ? device.moments : Math.max(1, device.time[device.moments - 1]);
    view.current = new View(0, end, 1, 0, end);
    const resize = () => {
      const ratio = window.devicePixelRatio || 1;
      element.width = Math.round(element.clientWidth * ratio);
      element.height = Math.round(element.clientHeight * ratio);
      if (view.current) view.current.width = Math.max(1, element.clientWidth - kLeft);
      draw();
    };
    const move = (change: (view: View) => void) => {
      if (view.current) change(view.current);
      requestAnimationFrame(draw);
    };
    const wheel = (event: WheelEvent) => {
      event.preventDefault();
      move((v) =>
        event.shiftKey ? v.pan(event.deltaY || event.deltaX) : v.zoom(1.0018 ** event.deltaY, event.offsetX - kLeft),
      );
    };
    const key = (event: KeyboardEvent) => {
      const keys: Record<string, (v: View) => void> = {
        w: (v) => v.zoom(0.85, v.width / 2),
        s: (v) => v.zoom(1.18, v.width / 2),
        a: (v) => v.pan(-v.width * 0.08),
        d: (v) => v.pan(v.width * 0.08),
        "0": (v) => v.set(0, end),
      };
      const { moment, onChoose } = latest.current;
      if (event.key === "ArrowRight") onChoose(Math.min(device.moments - 1, moment + 1), null);
      else if (event.key === "ArrowLeft") onChoose(Math.max(0, moment - 1), null);
      else if (!event.ctrlKey && !event.metaKey && keys[event.key]) move(keys[event.key]);
      else return;
      event.preventDefault();
    };
    const observer = new ResizeObserver(resize);
    observer.observe(element);
    element.addEventListener("wheel", wheel, { passive: false });
    element.addEventListener("keydown", key);
    return () => {
      observer.disconnect();
      element.removeEventListener("wheel", wheel);
      element.removeEventListener("keydown", key);
    };
  }, [device, axis]);
  useEffect(draw);

  const find = (event: MouseEvent): { moment: number; band: Band | null } | null => {
    if (!view.current || event.offsetX < kLeft) return null;
    const moment = momentAt(view.current.time(event.offsetX - kLeft));
    const level = ((kHeight - event.offsetY) / (kHeight - kTop)) * most;
    return { moment, band: bandAt(bands.bands, moment, level) };
  };
  const press = useRef<{ x: number; moved: boolean } | null>(null);
  return (
    <div class="canvas-box" style={{ height: `${kHeight}px` }}>
      <canvas
        ref={canvas}
        tabIndex={0}
        role="application"
        aria-label="Allocations over time; arrow keys move the moment, whose tables follow"
        onPointerDown={(event) => {
          press.current = { x: event.offsetX, moved: false };
        }}
        onPointerMove={(event) => {
          const found = find(event);
          setHover(
            found?.band
              ? {
                  x: event.offsetX,
                  y: event.offsetY,
                  text: `${bytes(model.requested[found.band.row])}: ${props.name(found.band.row)}`,
                }
              : null,
          );
          if (!press.current || event.buttons !== 1) return;
          if (Math.abs(event.offsetX - press.current.x) > 3) press.current.moved = true;
          if (press.current.moved) {
            view.current?.pan(-event.movementX);
            requestAnimationFrame(draw);
          }
        }}
        onPointerUp={(event) => {
          const found = find(event);
          if (found && !press.current?.moved) props.onChoose(found.moment, found.band?.row ?? null);
          press.current = null;
        }}
        onPointerLeave={() => setHover(null)}
      />
      {hover && (
        <div class="hover" style={{ left: `${hover.x + 14}px`, top: `${hover.y + 16}px` }}>
          {shorten(hover.text, 120)}
        </div>
      )}
    </div>
  );
}

function drawBands(
  context: CanvasRenderingContext2D,
  view: View,
  props: CanvasProps,
  most: number,
  at: (moment: number) => number,
): void {
  const { device, bands, theme, moment, chosen } = props;
  const colours = paint(theme);
  const ratio = window.devicePixelRatio || 1;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = colours.background;
  context.fillRect(0, 0, view.width + kLeft, kHeight);
  const y = (level: number) => kHeight - (level / most) * (kHeight - kTop);
  context.save();
  context.beginPath();
  context.rect(kLeft, 0, view.width, kHeight);
  context.clip();
  context.translate(kLeft, 0);
  const x = (m: number) => Math.max(-10, Math.min(view.width + 10, view.x(at(m))));
  for (const band of bands.bands) {
    const from = view.x(at(band.moment[0]));
    const to = view.x(at(band.end));
    if (to < 0 || from > view.width || y(0) - y(band.size) < 0.15) continue;
    context.fillStyle = props.colour(band.row);
    if (band.moment.length === 1) {
      context.fillRect(
        Math.max(from, -10),
        y(band.offset[0] + band.size),
        Math.min(to, view.width + 10) - Math.max(from, -10),
        Math.max(y(0) - y(band.size) - 0.3, 0.5),
      );
      continue;
    }
    context.beginPath();
    const last = band.moment.length - 1;
    for (let i = 0; i <= last; i++) {
      const right = x(i === last ? band.end : band.moment[i + 1]);
      context.lineTo(x(band.moment[i]), y(band.offset[i] + band.size));
      context.lineTo(right, y(band.offset[i] + band.size));
    }
    for (let i = last; i >= 0; i--) {
      const right = x(i === last ? band.end : band.moment[i + 1]);
      context.lineTo(right, y(band.offset[i]) - 0.3);
      context.lineTo(x(band.moment[i]), y(band.offset[i]) - 0.3);
    }
    context.fill();
  }
  // One line a pixel: the small ones on top, then the levels.
  const first = Math.max(0, device.moments <= 1 ? 0 : firstMoment(device, view, at));
  if (bands.smallCount > 0) {
    level(
      context,
      view,
      device,
      first,
      at,
      (m) => bands.top[m] + bands.small[m],
      y,
      kRest,
      "area",
      (m) => bands.top[m],
    );
  }
  level(context, view, device, first, at, (m) => device.allocated[m], y, colours.text, "line");
  context.setLineDash([5, 4]);
  level(context, view, device, first, at, (m) => device.reserved[m], y, colours.faint, "line");
  context.setLineDash([]);
  mark(0, context, view.x(at(device.peakMoment)), colours.text, `peak ${bytes(device.peakBytes)}`, view.width);
  for (const oom of props.model.ooms)
    if (oom.device === device.row) mark(1, context, view.x(at(oom.moment)), "#c62828", "out of memory", view.width);
  if (moment !== device.peakMoment)
    mark(2, context, view.x(at(moment)), colours.accent, `event ${count(moment)}`, view.width);
  const band = chosen === null ? undefined : bands.bands.find((b) => b.row === chosen);
  if (band && moment >= band.moment[0] && moment < band.end) {
    const top = y(offsetAt(band, moment) + band.size);
    context.strokeStyle = colours.text;
    context.lineWidth = 2;
    context.strokeRect(view.x(at(moment)) - 4, top, 8, Math.max(2, y(offsetAt(band, moment)) - top));
    context.lineWidth = 1;
  }
  context.restore();
  context.fillStyle = colours.panel;
  context.fillRect(0, 0, kLeft, kHeight);
  context.fillStyle = colours.faint;
  context.font = "11px system-ui, 'DejaVu Sans', sans-serif";
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (let i = 0; i <= 4; i++)
    context.fillText(bytes(Math.round((most * i) / 4)), kLeft - 6, Math.min(kHeight - 7, y((most * i) / 4)));
  context.textAlign = "left";
}

function firstMoment(device: MemoryDevice, view: View, at: (moment: number) => number): number {
  let low = 0;
  let high = device.moments;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (at(middle) < view.start) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, low - 1);
}

function level(
  context: CanvasRenderingContext2D,
  view: View,
  device: MemoryDevice,
  first: number,
  at: (moment: number) => number,
  value: (moment: number) => number,
  y: (bytes: number) => number,
  colour: string,
  how: "line" | "area",
  below?: (moment: number) => number,
): void {
  context.beginPath();
  const back: [number, number][] = [];
  let m = first;
  let before = Number.NaN;
  while (m < device.moments) {
    const x = view.x(at(m));
    if (x > view.width + 2) break;
    // Of the moments inside one pixel the highest.
    let highest = value(m);
    let n = m + 1;
    while (n < device.moments && view.x(at(n)) < x + 0.7) {
      const here = value(n);
      if (here > highest) highest = here;
      n++;
    }
    if (!Number.isNaN(before)) context.lineTo(x, y(before));
    context.lineTo(x, y(highest));
    if (below) {
      if (back.length > 0) back.push([x, back[back.length - 1][1]]);
      back.push([x, y(below(n - 1))]);
    }
    before = value(n - 1);
    m = n;
  }
  const end = Math.min(view.width, view.x(at(device.moments)));
  if (!Number.isNaN(before)) context.lineTo(Math.max(0, end), y(before));
  if (how === "line") {
    context.strokeStyle = colour;
    context.stroke();
    return;
  }
  if (back.length > 0) context.lineTo(Math.max(0, end), back[back.length - 1][1]);
  for (const [x, bottom] of back.reverse()) context.lineTo(x, bottom);
  context.globalAlpha = 0.6;
  context.fillStyle = colour;
  context.fill();
  context.globalAlpha = 1;
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
  context.fillStyle = colour;
  context.fillRect(Math.round(x), 0, 1.5, kHeight);
  context.font = "600 11px system-ui, 'DejaVu Sans', sans-serif";
  context.textBaseline = "top";
  const right = x > width - 140;
  context.textAlign = right ? "right" : "left";
  context.fillText(text, x + (right ? -5 : 5), 5 + row * 14);
  context.textAlign = "left";
}
