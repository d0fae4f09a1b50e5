// The timeline with its tools: search, range totals, details of an event, and the keys that move it.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { causeColour, kindColour, type Theme } from "../colours";
import type { Model } from "../data/model";
import { isLoaded, type Recordings, useModel } from "../data/recordings";
import type { Range, Report } from "../data/report";
import { search } from "../data/search";
import { rangeTotals } from "../data/totals";
import { causeWords, count, duration, percent, shorten, words } from "../format";
import { type Hover, type Selection, TimelineController, type TimeRange } from "../timeline/controller";
import { Details } from "./details";
import { Waiting } from "./waiting";

export interface Focus {
  range: Range;
  title: string;
  at: number;
}
interface Props {
  index: number;
  report: Report | undefined;
  recordings: Recordings;
  theme: Theme;
  focus: Focus | null;
}

export function TimelineView(props: Props) {
  const loaded = useModel(props.recordings, props.index);
  if (!isLoaded(loaded)) return <Waiting of={loaded} what="recording" />;
  if (loaded.model.host.count + loaded.model.gpu.count === 0)
    return <p class="faint">This recording has no events to draw.</p>;
  return <Timeline {...props} model={loaded.model} />;
}

function Timeline({ model, theme, focus }: Props & { model: Model }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const controller = useRef<TimelineController | null>(null);
  const [selection, setSelection] = useState<Selection | null>(null);
  const [range, setRange] = useState<TimeRange | null>(null);
  const [hover, setHover] = useState<Hover | null>(null);
  const [frames, setFrames] = useState(true);
  const [hasFrames, setHasFrames] = useState(false);
  const [arrows, setArrows] = useState(false);
  const [evidence, setEvidence] = useState("");
  const [help, setHelp] = useState(false);

  useEffect(() => {
    if (!canvas.current) return;
    const made = new TimelineController(model, canvas.current, theme, {
      select: setSelection,
      range: setRange,
      hover: setHover,
    });
    controller.current = made;
    setFrames(made.showsFrames());
    setHasFrames(made.source.hasFrames);
    // For tests and for people with a console: nothing else reads it.
    (window as unknown as { stepscope: unknown }).stepscope = { timeline: made, model };
    return () => made.destroy();
  }, [model]);
  useEffect(() => controller.current?.setTheme(theme), [theme]);
  useEffect(() => {
    if (!focus) return;
    const at = { start: model.fromFileClock(focus.range.start_ns), end: model.fromFileClock(focus.range.end_ns) };
    controller.current?.setEvidence(at);
    controller.current?.setRange(at);
    setEvidence(focus.title);
    canvas.current?.focus({ preventScroll: true });
  }, [focus, model]);

  const choose = (next: Selection) => {
    controller.current?.select(next, true);
    canvas.current?.focus({ preventScroll: true });
  };
  return (
    <div class="timeline">
      <h2 class="unseen">Timeline</h2>
      <div class="tools">
        <Search model={model} controller={controller} onChoose={choose} />
        {hasFrames && (
          <label>
            <input
              type="checkbox"
              checked={frames}
              onChange={(e) => {
                setFrames(e.currentTarget.checked);
                controller.current?.setFrames(e.currentTarget.checked);
              }}
            />{" "}
            Python frames
          </label>
        )}
        <label>
          <input
            type="checkbox"
            checked={arrows}
            onChange={(e) => {
              setArrows(e.currentTarget.checked);
              controller.current?.setArrows(e.currentTarget.checked);
            }}
          />{" "}
          launch arrows
        </label>
        <button type="button" onClick={() => controller.current?.showAll()}>
          Show all
        </button>
        <button type="button" aria-expanded={help} aria-controls="timeline-help" onClick={() => setHelp(!help)}>
          Keys
        </button>
        {evidence && (
          <span class="evidence">
            evidence of: {shorten(evidence, 90)}{" "}
            <button
              type="button"
              class="link"
              onClick={() => {
                setEvidence("");
                controller.current?.setEvidence(null);
                controller.current?.setRange(null);
              }}
            >
              clear
            </button>
          </span>
        )}
      </div>
      <p id="timeline-help" class={help ? "help" : "help unseen"}>
        <kbd>W</kbd>
        <kbd>S</kbd> or wheel: zoom · <kbd>A</kbd>
        <kbd>D</kbd>, drag or Shift+wheel: move · drag the ruler, or Shift+drag: select a range · wheel over the names,{" "}
        <kbd>PageUp</kbd>
        <kbd>PageDown</kbd>: scroll · <kbd>←</kbd>
        <kbd>→</kbd>
        <kbd>↑</kbd>
        <kbd>↓</kbd>: next event · <kbd>F</kbd> or double click: zoom to it · <kbd>0</kbd>: show all · <kbd>Esc</kbd>:
        clear
      </p>
      <div class="canvas-box">
        <canvas
          ref={canvas}
          tabIndex={0}
          role="application"
          aria-label="Timeline: threads above, GPU streams below. Arrow keys go from event to event; the details follow."
          aria-describedby="timeline-help"
        />
        {hover && (
          <div class="hover" style={{ left: `${hover.x + 14}px`, top: `${hover.y + 16}px` }}>
            {shorten(hover.text, 160)}
          </div>
        )}
      </div>
      <div class="below">
        <section class="panel" aria-live="polite" aria-label="Details of the chosen event">
          {selection ? (
            <Details model={model} selection={selection} onChoose={choose} />
          ) : (
            <p class="faint">
              Click an event for its operator, shapes, stack and launch latency. Hatched is idle time of the GPU,
              coloured by its cause.
            </p>
          )}
        </section>
        <section class="panel" aria-live="polite" aria-label="Totals of the chosen range">
          {range ? <Totals model={model} range={range} theme={theme} /> : <Legend model={model} theme={theme} />}
        </section>
      </div>
    </div>
  );
}

interface SearchProps {
  model: Model;
  controller: { current: TimelineController | null };
  onChoose(selection: Selection): void;
}

function Search({ model, controller, onChoose }: SearchProps) {
  const [query, setQuery] = useState("");
  const [at, setAt] = useState(-1);
  const input = useRef<HTMLInputElement>(null);
  const result = useMemo(() => search(model, query), [model, query]);
  useEffect(() => {
    controller.current?.setMatches(result?.matches ?? null);
    setAt(-1);
  }, [result, controller]);
  useEffect(() => {
    const slash = (event: KeyboardEvent) => {
      if (event.key !== "/" || event.target instanceof HTMLInputElement) return;
      input.current?.focus();
      event.preventDefault();
    };
    document.addEventListener("keydown", slash);
    return () => document.removeEventListener("keydown", slash);
  }, []);
  const go = (by: number) => {
    if (!result || result.found.length === 0) return;
    const next = (at + by + result.found.length) % result.found.length;
    setAt(next);
    onChoose(result.found[next]);
    input.current?.focus();
  };
  return (
    <search>
      <label>
        search{" "}
        <input
          ref={input}
          type="search"
          value={query}
          placeholder="/ part of a name"
          onInput={(e) => setQuery(e.currentTarget.value)}
          onKeyDown={(e) => {
            if (e.key === "Enter") go(e.shiftKey ? -1 : 1);
          }}
        />
      </label>
      {result && (
        <>
          <button type="button" aria-label="Previous match" onClick={() => go(-1)}>
            ‹
          </button>
          <button type="button" aria-label="Next match" onClick={() => go(1)}>
            ›
          </button>
          <span role="status">
            {at >= 0 ? `${count(at + 1)} of ` : ""}
            {count(result.found.length)} events of {count(result.names)} names
          </span>
        </>
      )}
    </search>
  );
}

function Totals({ model, range, theme }: { model: Model; range: TimeRange; theme: Theme }) {
  const [settled, setSettled] = useState(range);
  useEffect(() => {
    // While the range is being dragged its sums would cost more than its drawing.
    const timer = setTimeout(() => setSettled(range), 120);
    return () => clearTimeout(timer);
  }, [range]);
  const totals = useMemo(() => rangeTotals(model, settled.start, settled.end), [model, settled]);
  return (
    <>
      <h3>Selected: {duration(range.end - range.start)}</h3>
      {totals.devices.map((device) => (
        <div>
          <p>
            GPU {device.device} busy <b>{duration(device.busy)}</b> ({percent(device.busy / totals.length)})
          </p>
          <ul class="legend">
            {device.byKind.map(([kind, ns]) => (
              <li>
                <i class="swatch" style={{ "--fill": kindColour(kind, theme) }} />
                {words(kind)} <b>{duration(ns)}</b>
              </li>
            ))}
            {device.idleByCause.map(([cause, ns]) => (
              <li>
                <i class="swatch idle" style={{ "--fill": causeColour(cause) }} />
                idle, {causeWords(cause)} <b>{duration(ns)}</b>
              </li>
            ))}
          </ul>
        </div>
      ))}
      {totals.waits > 0 && (
        <p>
          The host waits {count(totals.waits)} times for the GPU, {duration(totals.waited)}.
        </p>
      )}
      {totals.kernels.length > 0 && (
        <table class="plain">
          <thead>
            <tr>
              <th>GPU work ({count(totals.kernelCount)} events)</th>
              <th class="n">count</th>
              <th class="n">time</th>
            </tr>
          </thead>
          <tbody>
            {totals.kernels.map((kernel) => (
              <tr>
                <td class="name" title={kernel.name}>
                  {shorten(kernel.name, 70)}
                </td>
                <td class="n">{count(kernel.count)}</td>
                <td class="n">{duration(kernel.total)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}

// The kinds and causes that this recording has.
function Legend({ model, theme }: { model: Model; theme: Theme }) {
  const [kinds, causes] = useMemo(() => {
    const present = (values: Uint8Array) => [...new Set(values)].sort((a, b) => a - b);
    return [present(model.gpu.kind), present(model.gaps.partCause)];
  }, [model]);
  return (
    <>
      {kinds.length > 0 && <h3>GPU work</h3>}
      <ul class="legend">
        {kinds.map((kind) => (
          <li>
            <i class="swatch" style={{ "--fill": kindColour(model.directory.kinds[kind], theme) }} />
            {words(model.directory.kinds[kind])}
          </li>
        ))}
      </ul>
      {causes.length > 0 && <h3>GPU idle, by what the host did instead of launching</h3>}
      <ul class="legend">
        {causes.map((cause) => (
          <li>
            <i class="swatch idle" style={{ "--fill": causeColour(model.directory.causes[cause]) }} />
            {causeWords(model.directory.causes[cause])}
          </li>
        ))}
      </ul>
      {model.waits.hidden.includes(1) && (
        <p class="faint">
          ▼ marks a hidden wait of the host: one in mid-step, after which the queue of launches runs dry.
        </p>
      )}
      <p class="faint">Drag the ruler to select a range and see its totals.</p>
    </>
  );
}
