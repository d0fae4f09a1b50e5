// Both recordings of a difference, one above the other: aligned where a chosen step begins, or at an operator that a
// row of the tables below leads to, and always at one zoom.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Theme } from "../colours";
import type { Model, Step } from "../data/model";
import { medianStep, occurrences, stepsOf, type Wanted, wantedName } from "../data/occurrences";
import { isLoaded, type Recordings, useModel } from "../data/recordings";
import { causeWords, count, duration, shorten, words } from "../format";
import { type Hover, type Selection, TimelineController } from "../timeline/controller";
import { TimelinePair } from "../timeline/pair";
import { Details } from "./details";
import { Waiting } from "./waiting";

export interface Sought {
  wanted: Wanted;
  from: HTMLElement; // the row's button, to go back to
}
interface Props {
  recordings: Recordings;
  indices: [number, number]; // of A and B
  files: [string, string];
  theme: Theme;
  sought: Sought | null;
}
const kSides = ["A", "B"] as const;

export function SideBySide(props: Props) {
  const before = useModel(props.recordings, props.indices[0]);
  const after = useModel(props.recordings, props.indices[1]);
  if (!isLoaded(before)) return <Waiting of={before} what="recordings" />;
  if (!isLoaded(after)) return <Waiting of={after} what="recordings" />;
  return <Timelines {...props} models={[before.model, after.model]} />;
}

function Timelines({ models, files, theme, sought }: Props & { models: [Model, Model] }) {
  const canvases = [useRef<HTMLCanvasElement>(null), useRef<HTMLCanvasElement>(null)];
  const pair = useRef<TimelinePair | null>(null);
  const steps = useMemo(() => models.map(stepsOf), [models]);
  const [chosen, setChosen] = useState(() => steps.map(medianStep));
  const [selected, setSelected] = useState<(Selection | null)[]>([null, null]);
  const [hovers, setHovers] = useState<(Hover | null)[]>([null, null]);
  const [at, setAt] = useState(0); // which occurrence
  const [isAtStep, setAtStep] = useState(true); // aligned there, and not at what is sought
  const current = chosen.map((index, side) => steps[side][index]);
  const found = useMemo(
    () =>
      sought && {
        before: occurrences(models[0], current[0], sought.wanted, "before"),
        after: occurrences(models[1], current[1], sought.wanted, "after"),
      },
    [models, sought, chosen],
  );

  useEffect(() => {
    const made = canvases.map((canvas, side) => {
      const set =
        <T,>(change: (update: (old: (T | null)[]) => (T | null)[]) => void) =>
        (value: T | null) =>
          change((old) => old.map((each, i) => (i === side ? value : each)));
      const events = {
        select: set<Selection>(setSelected),
        range: () => undefined,
        hover: set<Hover>(setHovers),
        moved: () => pair.current?.moved(made[side]),
      };
      return new TimelineController(models[side], canvas.current as HTMLCanvasElement, theme, events, true);
    });
    pair.current = new TimelinePair(made[0], made[1]);
    (window as unknown as { stepscope: unknown }).stepscope = { pair: pair.current };
    return () => {
      pair.current = null;
      for (const controller of made) controller.destroy();
    };
  }, [models]);
  useEffect(() => {
    pair.current?.first.setTheme(theme);
    pair.current?.second.setTheme(theme);
  }, [theme]);
  useEffect(() => {
    setAt(0);
    setAtStep(sought === null);
    if (!sought) return;
    canvases[0].current?.closest("section")?.scrollIntoView({ block: "start" });
    canvases[0].current?.focus({ preventScroll: true });
  }, [sought]);
  useEffect(() => {
    if (!pair.current) return;
    if (isAtStep || !found || found.before.length + found.after.length === 0) {
      alignSteps(pair.current, current);
    } else {
      alignFound(pair.current, current, [pick(found.before, at), pick(found.after, at)]);
    }
  }, [models, chosen, found, at, isAtStep]);

  const choose = (side: number, selection: Selection) => {
    const controller = side === 0 ? pair.current?.first : pair.current?.second;
    controller?.select(selection, true);
    canvases[side].current?.focus({ preventScroll: true });
  };
  return (
    <div class="sides">
      <div class="tools">
        {kSides.map((name, side) => (
          <StepPicker
            name={name}
            steps={steps[side]}
            chosen={chosen[side]}
            onChoose={(index) => {
              setChosen(chosen.map((old, i) => (i === side ? index : old)));
              setAtStep(true);
            }}
          />
        ))}
        <button type="button" onClick={() => pair.current && showSteps(pair.current, current)}>
          Whole step
        </button>
        {sought && found && (
          <SoughtTools
            sought={sought}
            found={found}
            models={models}
            at={at}
            onAt={setAt}
            isAtStep={isAtStep}
            onStep={setAtStep}
          />
        )}
      </div>
      {kSides.map((name, side) => (
        <div class="side">
          <h3>
            {name} <span class="faint">{files[side]}</span>
          </h3>
          <div class="canvas-box">
            <canvas
              ref={canvases[side]}
              tabIndex={0}
              role="application"
              aria-label={`Timeline of ${name}, above or below the other at the same zoom. Arrow keys go from event to event.`}
              aria-describedby="sides-help"
            />
            {hovers[side] && (
              <div class="hover" style={{ left: `${hovers[side].x + 14}px`, top: `${hovers[side].y + 16}px` }}>
                {shorten(hovers[side].text, 160)}
              </div>
            )}
          </div>
        </div>
      ))}
      <p id="sides-help" class="faint">
        Wheel or <kbd>W</kbd> <kbd>S</kbd>: zoom, drag or <kbd>A</kbd> <kbd>D</kbd>: move, both together. Click an event
        for its details; a name in the tables below brings both timelines to it. Click ▸ to open a thread.
      </p>
      <div class="below">
        {kSides.map((name, side) => (
          <section class="panel" aria-live="polite" aria-label={`Details of the event chosen in ${name}`}>
            {selected[side] && (
              <Details model={models[side]} selection={selected[side]} onChoose={(next) => choose(side, next)} />
            )}
          </section>
        ))}
      </div>
    </div>
  );
}

interface PickerProps {
  name: string;
  steps: Step[];
  chosen: number;
  onChoose(index: number): void;
}
function StepPicker({ name, steps, chosen, onChoose }: PickerProps) {
  const median = medianStep(steps);
  return (
    <label>
      step of {name}{" "}
      <select value={chosen} onChange={(e) => onChoose(Number(e.currentTarget.value))}>
        {steps.map((step, i) => (
          <option value={i}>
            {step.number < 0 ? "whole recording" : `${step.number}`}: {duration(step.end - step.start)}
            {i === median && steps.length > 1 ? " (median)" : ""}
          </option>
        ))}
      </select>
    </label>
  );
}

interface SoughtProps {
  sought: Sought;
  found: { before: Selection[]; after: Selection[] };
  models: [Model, Model];
  at: number;
  isAtStep: boolean;
  onAt(at: number): void;
  onStep(isAtStep: boolean): void;
}
function SoughtTools({ sought, found, models, at, isAtStep, onAt, onStep }: SoughtProps) {
  const most = Math.max(found.before.length, found.after.length);
  const side = (name: string, list: Selection[], model: Model) => {
    const selection = pick(list, at);
    if (!selection) return `none in ${name}`;
    const [start, end] = timesOf(model, selection);
    return `${name} ${count(Math.min(at, list.length - 1) + 1)} of ${count(list.length)}, ${duration(end - start)}`;
  };
  return (
    <div class="sought">
      <span role="status">
        <b>{shorten(wantedWords(sought.wanted), 60)}</b>: {side("A", found.before, models[0])};{" "}
        {side("B", found.after, models[1])}
      </span>
      <button type="button" aria-label="Previous occurrence" disabled={at === 0} onClick={() => onAt(at - 1)}>
        ‹
      </button>
      <button type="button" aria-label="Next occurrence" disabled={at + 1 >= most} onClick={() => onAt(at + 1)}>
        ›
      </button>
      <label>
        <input
          type="checkbox"
          checked={!isAtStep}
          disabled={most === 0}
          onChange={(e) => onStep(!e.currentTarget.checked)}
        />{" "}
        aligned there
      </label>
      <button type="button" class="link" onClick={() => goBack(sought.from)}>
        back to the table
      </button>
    </div>
  );
}

function goBack(to: HTMLElement): void {
  to.scrollIntoView({ block: "center" });
  to.focus({ preventScroll: true });
}

// "other_api" and "matmul" are data; operators keep their own names.
function wantedWords(wanted: Wanted | undefined): string {
  if (!wanted) return "";
  if (wanted.kind !== "part") return wantedName(wanted);
  return wanted.row.kind === "idle" ? `idle: ${causeWords(wanted.row.key)}` : words(wanted.row.key);
}

function pick(list: Selection[], at: number): Selection | null {
  return list[Math.min(at, list.length - 1)] ?? null;
}

function timesOf(model: Model, { kind, row }: Selection): [number, number] {
  const table = kind === "host" ? model.host : kind === "gap" ? model.gaps : model.gpu;
  return [table.start[row], table.end[row]];
}

const stepWords = (name: string, step: Step) =>
  step.number < 0 ? `${name} ends` : `${name}: step ${step.number} ends`;

function setMarks(pair: TimelinePair, steps: Step[], zeros: [number, number], ruler: string): void {
  const [a, b] = steps;
  const ends = [stepWords("A", a), stepWords("B", b)];
  pair.first.setMark({
    start: a.start,
    end: a.end,
    zero: zeros[0],
    ruler,
    ends: ends[0],
    other: pair.toFirst(b.end),
    otherEnds: ends[1],
  });
  pair.second.setMark({
    start: b.start,
    end: b.end,
    zero: zeros[1],
    ruler,
    ends: ends[1],
    other: pair.toSecond(a.end),
    otherEnds: ends[0],
  });
}

function showSteps(pair: TimelinePair, [a, b]: Step[]): void {
  pair.show(Math.min(a.start, pair.toFirst(b.start)), Math.max(a.end, pair.toFirst(b.end)), 0.02);
}

function alignSteps(pair: TimelinePair, steps: Step[]): void {
  const [a, b] = steps;
  pair.align(a.start, b.start);
  setMarks(pair, steps, [a.start, b.start], "since the step began");
  showSteps(pair, steps);
}

// Where one side has none of it, the other is shown at the same time of its step.
function alignFound(pair: TimelinePair, steps: Step[], found: (Selection | null)[]): void {
  const sides = [pair.first, pair.second];
  const times = found.map((selection, side) => (selection ? sides[side].timesOf(selection) : null));
  const intoStep = times.map((time, side) => (time ? time[0] - steps[side].start : null));
  const starts = steps.map((step, side) => step.start + (intoStep[side] ?? intoStep[1 - side] ?? 0));
  const length = Math.max(...times.map((time) => (time ? time[1] - time[0] : 0)));
  pair.align(starts[0], starts[1]);
  setMarks(pair, steps, [starts[0], starts[1]], "since these began");
  pair.show(starts[0], starts[0] + length, 2);
  for (const [side, selection] of found.entries()) {
    sides[side].select(selection);
    if (selection) sides[side].revealRow(selection);
  }
}
