// Several recordings: one row each, worst first; and all of them on one clock, so that who is late is seen.
import { useEffect, useRef } from "preact/hooks";
import { causeColour, kindColour, paint, type Theme } from "../colours";
import type { Model } from "../data/model";
import { isLoaded, type Loaded, type Recordings, useLoaded } from "../data/recordings";
import { mainDevice, type PageDocument, type Range, reportLabel } from "../data/report";
import { duration, percent } from "../format";
import { endOfPixel, fitText } from "../timeline/draw";
import { lowerBound, range } from "../timeline/lanes";
import { ticks, View } from "../timeline/scale";
import { FleetView } from "./fleet";
import { FindingCard, segments } from "./overview";
import { Waiting } from "./waiting";

interface Props {
  page: PageDocument;
  recordings: Recordings;
  theme: Theme;
  onEvidence(range: Range, title: string, rank?: number): void;
}

export function RanksView({ page, recordings, theme, onEvidence }: Props) {
  const loaded = useLoaded<Model[]>(
    () => Promise.all(page.reports.map((_, i) => recordings.get(i))),
    [page, recordings],
  );
  return (
    <>
      <section class="verdict">
        <p class="sentence">{page.joint?.verdict}</p>
        {!page.joint?.is_one_run && (
          <p class="faint">These recordings do not say that they are ranks of one run; each was judged by itself.</p>
        )}
      </section>
      {page.reports.length === 0 && (page.joint?.findings.length ?? 0) > 0 && <h2>What was found</h2>}
      {page.reports.length === 0 && (
        <ol class="findings">
          {page.joint?.findings.map((finding, i) => (
            <li key={finding.id}>
              <FindingCard finding={finding} number={i + 1} onShow={() => undefined} />
            </li>
          ))}
        </ol>
      )}
      {page.joint?.fleet && <FleetView fleet={page.joint.fleet} theme={theme} />}
      {page.reports.length > 0 && <Recorded page={page} loaded={loaded} theme={theme} onEvidence={onEvidence} />}
    </>
  );
}

type RecordedProps = Pick<Props, "page" | "theme" | "onEvidence"> & { loaded: Loaded<Model[]> };

function Recorded({ page, loaded, theme, onEvidence }: RecordedProps) {
  return (
    <>
      <h2>One row a recording, worst first</h2>
      <div class="scroll">
        <table class="plain ranks">
          <thead>
            <tr>
              <th>recording</th>
              <th class="n">step</th>
              <th class="n">GPU busy</th>
              <th class="n">exposed communication</th>
              <th>where a step goes</th>
              <th>first finding</th>
            </tr>
          </thead>
          <tbody>
            {page.reports.map((report, i) => {
              const device = mainDevice(report);
              const busy = device?.gpu_busy_ns ?? null;
              return (
                <tr>
                  <td>
                    <button
                      type="button"
                      class="link"
                      onClick={() => onEvidence(report.steps.window, `${reportLabel(report)}, all steps`, i)}
                    >
                      {reportLabel(report)}
                    </button>
                  </td>
                  <td class="n">{duration(report.steps.median_ns)}</td>
                  <td class="n">{device && busy !== null ? percent(busy / device.window_ns) : "unknown"}</td>
                  <td class="n">{device ? percent(device.exposed_communication_ns / device.window_ns) : ""}</td>
                  <td class="wide">
                    {device && busy !== null && (
                      <div class="bar small" role="img" aria-label={`busy ${percent(busy / device.window_ns)}`}>
                        {segments(device, theme).map((s) => (
                          <div
                            class={s.idle ? "segment idle" : "segment"}
                            title={`${s.label}: ${percent(s.ns / device.window_ns)}`}
                            style={{ width: `${(s.ns / device.window_ns) * 100}%`, "--fill": s.colour }}
                          />
                        ))}
                      </div>
                    )}
                  </td>
                  <td>{report.findings[0]?.id ?? ""}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      <h2>On one clock</h2>
      {!isLoaded(loaded) ? (
        <Waiting of={loaded} what="recordings" />
      ) : page.joint?.is_one_run || overlap(loaded.model) ? (
        <Clock page={page} models={loaded.model} theme={theme} />
      ) : (
        <p class="faint">
          They were recorded at different times, so there is no clock to lay them on.
          {page.difference && " The difference shows both, each from where a step begins."}
        </p>
      )}
    </>
  );
}

// Is there a moment at which two of them were recorded?
function overlap(models: Model[]): boolean {
  const spans = models.map((model) => {
    const origin = Number(model.absoluteOrigin);
    return [origin + model.start, origin + model.end];
  });
  spans.sort((a, b) => a[0] - b[0]);
  return spans.some(([start], i) => i > 0 && start < Math.max(...spans.slice(0, i).map(([, end]) => end)));
}

const kRankRow = 46;
const kLabel = 130;
const kAxis = 24;

// Each rank's main device: its steps above, its GPU work below, idle left empty; wheel and drag as in the timeline.
function Clock({ page, models, theme }: { page: PageDocument; models: Model[]; theme: Theme }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const height = kAxis + models.length * kRankRow + 6;
  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (!element || !context) return;
    let least = models[0].absoluteOrigin;
    for (const model of models) if (model.absoluteOrigin < least) least = model.absoluteOrigin;
    const shift = models.map((model) => Number(model.absoluteOrigin - least));
    const low = Math.min(...models.map((m, i) => m.start + shift[i]));
    const high = Math.max(...models.map((m, i) => m.end + shift[i]));
    const view = new View(low, high, 1, low, high);
    const draw = () => drawRanks(context, element, view, page, models, shift, theme);
    const resize = () => {
      const ratio = window.devicePixelRatio || 1;
      element.width = Math.round(element.clientWidth * ratio);
      element.height = Math.round(height * ratio);
      view.width = Math.max(1, element.clientWidth - kLabel);
      draw();
    };
    const wheel = (event: WheelEvent) => {
      event.preventDefault();
      if (event.shiftKey) view.pan(event.deltaY || event.deltaX);
      else view.zoom(1.0018 ** event.deltaY, event.offsetX - kLabel);
      requestAnimationFrame(draw);
    };
    const move = (event: PointerEvent) => {
      if (event.buttons !== 1) return;
      view.pan(-event.movementX);
      requestAnimationFrame(draw);
    };
    const key = (event: KeyboardEvent) => {
      const keys: Record<string, () => void> = {
        w: () => view.zoom(0.85, view.width / 2),
        s: () => view.zoom(1.18, view.width / 2),
        a: () => view.pan(-view.width * 0.08),
        d: () => view.pan(view.width * 0.08),
        "0": () => view.set(low, high),
      };
      if (event.ctrlKey || event.metaKey || !keys[event.key]) return;
      keys[event.key]();
      requestAnimationFrame(draw);
    };
    const observer = new ResizeObserver(resize);
    observer.observe(element);
    element.addEventListener("wheel", wheel, { passive: false });
    element.addEventListener("pointermove", move);
    element.addEventListener("keydown", key);
    return () => {
      observer.disconnect();
      element.removeEventListener("wheel", wheel);
      element.removeEventListener("pointermove", move);
      element.removeEventListener("keydown", key);
    };
  }, [models, theme, height, page]);
  return (
    <>
      <div class="canvas-box ranks" style={{ height: `${height}px` }}>
        <canvas
          ref={canvas}
          tabIndex={0}
          role="application"
          aria-label="All recordings on one clock; the table above has their numbers"
        />
      </div>
      <p class="faint">
        Above each row the steps on the GPU's clock, below the GPU's work by kind;{" "}
        <i class="swatch" style={{ "--fill": kindColour("communication", theme) }} /> is communication. Wheel or W, S:
        zoom; drag or A, D: move. The clock is that of the hosts: ranks of several machines may be apart by as much as
        their clocks are.
      </p>
    </>
  );
}

function drawRanks(
  context: CanvasRenderingContext2D,
  canvas: HTMLCanvasElement,
  view: View,
  page: PageDocument,
  models: Model[],
  shift: number[],
  theme: Theme,
): void {
  const ratio = window.devicePixelRatio || 1;
  const colours = paint(theme);
  const height = canvas.height / ratio;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = colours.background;
  context.fillRect(0, 0, view.width + kLabel, height);
  context.font = "12px system-ui, 'DejaVu Sans', sans-serif";
  context.textBaseline = "middle";
  context.save();
  context.beginPath();
  context.rect(kLabel, 0, view.width, height);
  context.clip();
  context.translate(kLabel, 0);
  for (const tick of ticks(view.start, view.end, view.perPixel * 110)) {
    const x = Math.round(view.x(tick.at)) + 0.5;
    context.fillStyle = colours.line;
    context.fillRect(x, 0, 1, height);
    context.fillStyle = colours.faint;
    if (x + 4 + context.measureText(tick.text).width <= view.width) context.fillText(tick.text, x + 4, kAxis / 2);
  }
  models.forEach((model, i) => {
    const y = kAxis + i * kRankRow;
    for (const [n, step] of model.steps.entries()) {
      const x = view.x(step.start + shift[i]);
      const w = view.x(step.end + shift[i]) - x;
      context.fillStyle = theme === "light" ? (n % 2 ? "#cfdcf0" : "#e3ebf7") : n % 2 ? "#33455f" : "#293649";
      context.fillRect(x, y + 2, Math.max(w - 0.5, 1), 14);
      context.fillStyle = colours.text;
      if (w > 40) context.fillText(`step ${step.number}`, Math.max(x, 0) + 4, y + 9.5, w - 6);
    }
    context.fillStyle = causeColour("no_event");
    context.globalAlpha = 0.14;
    context.fillRect(view.x(model.start + shift[i]), y + 18, (model.end - model.start) / view.perPixel, 22);
    context.globalAlpha = 1;
    for (const stream of model.streams)
      drawWork(context, model, range(stream.begin, stream.end), view, shift[i], y + 18, theme);
  });
  context.restore();
  context.fillStyle = colours.panel;
  context.fillRect(0, 0, kLabel, height);
  context.fillStyle = colours.text;
  models.forEach((_, i) => {
    const label = fitText(context, reportLabel(page.reports[i]), kLabel - 12);
    context.fillText(label, 8, kAxis + i * kRankRow + kRankRow / 2);
  });
}

function drawWork(
  context: CanvasRenderingContext2D,
  model: Model,
  order: Uint32Array,
  view: View,
  shift: number,
  y: number,
  theme: Theme,
): void {
  const { gpu, directory } = model;
  const start = view.start - shift;
  let i = Math.max(0, lowerBound(order, gpu.start, start) - 1);
  while (i < order.length && gpu.start[order[i]] < view.end - shift) {
    const row = order[i];
    const x = (gpu.start[row] - start) / view.perPixel;
    const w = (gpu.end[row] - gpu.start[row]) / view.perPixel;
    context.fillStyle = kindColour(directory.kinds[gpu.kind[row]], theme);
    context.fillRect(x, y, Math.max(w, 1), 22);
    i = w >= 1 ? i + 1 : endOfPixel(order, gpu.start, gpu.end, start + (Math.floor(x) + 1) * view.perPixel, i);
  }
}
