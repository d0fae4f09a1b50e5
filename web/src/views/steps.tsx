// Each step as a bar: solid where the GPU is busy, hatched where it is idle, a mark on outliers.
import { causeColour, type Theme } from "../colours";
import type { Model, Step } from "../data/model";
import { disturbedWords, type MissingSteps, missingWords, noStepsWords, type Range, type Report } from "../data/report";
import { capital, causeWords, duration } from "../format";

interface Props {
  model: Model;
  report: Report;
  theme: Theme;
  onStep(range: Range, title: string): void;
}

const kHeight = 130;
const kMostBars = 400; // more are thinner than a finger; then the longest of each bin is drawn
const kGap = 0.35; // of a bar's room
const kOutlier = 1.5; // as the rule outlier-step has it

interface Bar {
  step: Step;
  from: number;
  to: number;
}

export function stepBars(steps: Step[]): Bar[] {
  const per = Math.max(1, Math.ceil(steps.length / kMostBars));
  const bars: Bar[] = [];
  for (let i = 0; i < steps.length; i += per) {
    const group = steps.slice(i, i + per);
    const step = group.reduce((a, b) => (b.end - b.start > a.end - a.start ? b : a));
    bars.push({ step, from: group[0].number, to: group[group.length - 1].number });
  }
  return bars;
}

// Where numbers between two bars are in no account: the place of the bar behind, and what they are.
export interface StepGap {
  before: number;
  first: number;
  last: number;
  isMissing: boolean; // else the step was left out, or lies between two windows of a capture
}

export function stepGaps(bars: Bar[], missing: MissingSteps[]): StepGap[] {
  const gaps: StepGap[] = [];
  for (let i = 1; i < bars.length; i++) {
    const [first, last] = [bars[i - 1].to + 1, bars[i].from - 1];
    if (first > last) continue;
    const isMissing = missing.some((range) => range.first <= last && range.last >= first);
    gaps.push({ before: i, first, last, isMissing });
  }
  return gaps;
}

function gapTitle({ first, last, isMissing }: StepGap): string {
  const which = first === last ? `step ${first} is` : `steps ${first} to ${last} are`;
  return `${which} ${isMissing ? "missing in the recording" : "in no account"}`;
}

export function StepChart({ model, report, theme, onStep }: Props) {
  const { steps } = model;
  if (steps.length === 0) return <p class="faint steps-none">{noStepsWords(report.steps)}</p>;
  const bars = stepBars(steps);
  const median = report.steps.median_ns ?? 0;
  const most = Math.max(...bars.map((b) => b.step.end - b.step.start));
  const origin = Number(model.directory.origin_ns);
  const outliers = bars.filter((b) => b.step.end - b.step.start >= kOutlier * median);
  const gaps = stepGaps(bars, report.steps.missing);
  const slot = Math.min(90, 1100 / (bars.length + kGap * gaps.length));
  const width = slot * (bars.length + kGap * gaps.length);
  const x = (i: number) => slot * (i + kGap * gaps.filter((gap) => gap.before <= i).length);
  const y = (ns: number) => kHeight - (ns / most) * (kHeight - 18);
  const show = (bar: Bar) => {
    const { step } = bar;
    onStep({ start_ns: step.start + origin, end_ns: step.end + origin }, `step ${step.number}`);
  };
  return (
    <figure class="steps">
      <svg
        viewBox={`0 0 ${width + 70} ${kHeight + 20}`}
        style={{ width: `${width + 70}px`, maxWidth: "100%" }}
        role="group"
        aria-label={`${steps.length} steps, median ${duration(median)}; ${outliers.length} outliers; ${gaps.length} gaps`}
      >
        <defs>
          <pattern id="idle-hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
            <rect width="6" height="6" fill={theme === "light" ? "#f1d8c9" : "#4a3a30"} />
            <rect width="2.4" height="6" fill={causeColour("synchronization")} opacity="0.75" />
          </pattern>
        </defs>
        {bars.map((bar, i) => {
          const { step } = bar;
          const length = step.end - step.start;
          const busy = Math.min(step.busy ?? length, length);
          const label = stepTitle(model, bar);
          return (
            <g
              role="button"
              tabIndex={0}
              aria-label={label}
              class="step"
              onClick={() => show(bar)}
              onKeyDown={(e) => e.key === "Enter" && show(bar)}
            >
              <title>{label}</title>
              <rect x={x(i)} y={0} width={slot} height={kHeight + 18} fill="transparent" />
              <rect
                x={x(i) + slot * 0.08}
                y={y(length)}
                width={slot * 0.84}
                height={y(busy) - y(length)}
                fill="url(#idle-hatch)"
              />
              <rect x={x(i) + slot * 0.08} y={y(busy)} width={slot * 0.84} height={kHeight - y(busy)} class="busy" />
              {(bars.length <= 30 || i % Math.ceil(bars.length / 20) === 0) && (
                <text x={x(i) + slot / 2} y={kHeight + 14} text-anchor="middle">
                  {step.number}
                </text>
              )}
            </g>
          );
        })}
        {gaps.map((gap) => (
          <Gap gap={gap} x={x(gap.before) - slot * kGap} width={slot * kGap} />
        ))}
        {median > 0 && median <= most && (
          <g>
            <line x1={0} x2={width} y1={y(median)} y2={y(median)} class="median" />
            <text x={width + 4} y={y(median) + 4}>
              {duration(median)}
            </text>
          </g>
        )}
        {bars.map(({ step }, i) => (
          <Length length={step.end - step.start} x={x(i) + slot / 2} y={y} slot={slot} median={median} />
        ))}
      </svg>
      <figcaption>
        {steps.some((step) => step.busy !== null) ? (
          <>
            <i class="swatch busy" /> GPU busy,{" "}
            <i class="swatch idle" style={{ "--fill": causeColour("synchronization") }} /> GPU idle
          </>
        ) : (
          <>
            <i class="swatch busy" /> the host's step; no GPU was recorded
          </>
        )}
        {median > 0 && ", line: median"}
        {outliers.length > 0 &&
          `, ▼ ${outliers.length === 1 ? "an outlier" : `${outliers.length} outliers`}: 1.5 times the median and more`}
        {gaps.length > 0 && ", dotted: the steps between two bars are not in the recording, or left out"}
        {bars.length < steps.length && `; of each ${Math.ceil(steps.length / kMostBars)} steps the longest`}. Below the
        bars is the step's number. Click a step to see it on the timeline.
        {report.steps.missing.length > 0 && <p class="stops">{capital(missingWords(report.steps.missing))}.</p>}
        {disturbedWords(report.steps.disturbed).map((sentence) => (
          <p key={sentence} class="stops">
            {sentence}.
          </p>
        ))}
      </figcaption>
    </figure>
  );
}

// No step stands here, though the bars beside it do not follow each other.
function Gap({ gap, x, width }: { gap: StepGap; x: number; width: number }) {
  return (
    <g role="img" aria-label={gapTitle(gap)} class="gap">
      <title>{gapTitle(gap)}</title>
      <rect x={x} y={0} width={width} height={kHeight + 18} fill="transparent" />
      <line x1={x + width / 2} x2={x + width / 2} y1={4} y2={kHeight} />
      {width > 12 && (
        <text x={x + width / 2} y={kHeight + 14} text-anchor="middle">
          ⋯
        </text>
      )}
    </g>
  );
}

interface LengthProps {
  length: number;
  x: number;
  y(ns: number): number;
  slot: number;
  median: number;
}
// Above the bar, and in front of the median's line. The bar's own name says it too.
function Length({ length, x, y, slot, median }: LengthProps) {
  const isOutlier = length >= kOutlier * median;
  if (!isOutlier && slot <= 70) return null;
  return (
    <text x={x} y={y(length) - 3} text-anchor="middle" class={isOutlier ? "outlier" : "length"}>
      {isOutlier ? "▼ " : ""}
      {slot > 40 ? duration(length) : ""}
    </text>
  );
}

function stepTitle(model: Model, { step, from, to }: Bar): string {
  const range = from === to ? "" : ` (longest of steps ${from} to ${to})`;
  let text = `step ${step.number}${range}: ${duration(step.end - step.start)}`;
  if (step.busy !== null) text += `, GPU busy ${duration(step.busy)}`;
  if (step.idleByCause) {
    let best = 0;
    for (let i = 1; i < step.idleByCause.length; i++) if (step.idleByCause[i] > step.idleByCause[best]) best = i;
    if (step.idleByCause[best] > 0)
      text += `, idle mostly ${causeWords(model.directory.causes[best])} ${duration(step.idleByCause[best])}`;
  }
  return text;
}
