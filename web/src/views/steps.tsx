// Each step as a bar: solid where the GPU is busy, hatched where it is idle, a mark on outliers.
import { causeColour, type Theme } from "../colours";
import type { Model, Step } from "../data/model";
import { disturbedWords, type Range, type Report } from "../data/report";
import { causeWords, duration } from "../format";

interface Props {
  model: Model;
  report: Report;
  theme: Theme;
  onStep(range: Range, title: string): void;
}

const kHeight = 130;
const kMostBars = 400; // more are thinner than a finger; then the longest of each bin is drawn
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

export function StepChart({ model, report, theme, onStep }: Props) {
  const { steps } = model;
  if (steps.length === 0)
    return <p class="faint steps-none">No steps are known in this recording; name their span with --steps.</p>;
  const bars = stepBars(steps);
  const median = report.steps.median_ns ?? 0;
  const most = Math.max(...bars.map((b) => b.step.end - b.step.start));
  const origin = Number(model.directory.origin_ns);
  const outliers = bars.filter((b) => b.step.end - b.step.start >= kOutlier * median);
  const slot = Math.min(90, 1100 / bars.length);
  const width = slot * bars.length;
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
        aria-label={`${steps.length} steps, median ${duration(median)}; ${outliers.length} outliers`}
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
              <rect x={i * slot} y={0} width={slot} height={kHeight + 18} fill="transparent" />
              <rect
                x={i * slot + slot * 0.08}
                y={y(length)}
                width={slot * 0.84}
                height={y(busy) - y(length)}
                fill="url(#idle-hatch)"
              />
              <rect
                x={i * slot + slot * 0.08}
                y={y(busy)}
                width={slot * 0.84}
                height={kHeight - y(busy)}
                class="busy"
              />
              {(bars.length <= 30 || i % Math.ceil(bars.length / 20) === 0) && (
                <text x={i * slot + slot / 2} y={kHeight + 14} text-anchor="middle">
                  {step.number}
                </text>
              )}
            </g>
          );
        })}
        {median > 0 && median <= most && (
          <g>
            <line x1={0} x2={width} y1={y(median)} y2={y(median)} class="median" />
            <text x={width + 4} y={y(median) + 4}>
              {duration(median)}
            </text>
          </g>
        )}
        {bars.map(({ step }, i) => (
          <Length length={step.end - step.start} x={i * slot + slot / 2} y={y} slot={slot} median={median} />
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
        {bars.length < steps.length && `; of each ${Math.ceil(steps.length / kMostBars)} steps the longest`}. Below the
        bars is the step's number. Click a step to see it on the timeline.
        {disturbedWords(report.steps.disturbed).map((sentence) => (
          <p key={sentence} class="stops">
            {sentence}.
          </p>
        ))}
      </figcaption>
    </figure>
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
