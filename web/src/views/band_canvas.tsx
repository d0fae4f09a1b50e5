// The canvas of a memory view: bands, levels, marks; and the keys and clicks that move it or choose a moment.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Theme } from "../colours";
import { bytes, shorten } from "../format";
import { type Band, type Bands, bandAt } from "../memory/bands";
import { BandPicture, kFloor, kHeight, kLeft, kTop } from "../memory/draw";
import type { MemoryDevice, MemoryModel } from "../memory/model";
import { onceAFrame } from "../timeline/frame";
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

export function BandCanvas(props: CanvasProps) {
  const { model, device, bands, axis } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const view = useRef<View | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const [hover, setHover] = useState<{ x: number; y: number; text: string } | null>(null);
  const picture = useMemo(() => new BandPicture(model, device, bands), [model, device, bands]);
  const draw = () => {
    const context = canvas.current?.getContext("2d");
    if (context && view.current) picture.draw(context, view.current, latest.current);
  };
  const latestDraw = useRef(draw);
  latestDraw.current = draw;
  const redraw = useMemo(() => onceAFrame(() => latestDraw.current()), []);
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
      redraw();
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
    const moment = picture.momentAt(view.current.time(event.offsetX - kLeft), axis);
    const level = ((kFloor - event.offsetY) / (kFloor - kTop)) * picture.most;
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
            redraw();
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
