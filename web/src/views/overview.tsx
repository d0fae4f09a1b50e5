// The first view: can it be believed, how long, where it goes, what is wrong, what to do.
import { useEffect, useState } from "preact/hooks";
import { causeColour, kindColour, type Theme } from "../colours";
import type { Model } from "../data/model";
import { isLoaded, type Recordings, useModel } from "../data/recordings";
import {
  type Device,
  type Finding,
  mainDevice,
  type PageDocument,
  type Range,
  type Report,
  reportLabel,
  stepRange,
  stepSpread,
} from "../data/report";
import { bytes, capital, causeWords, count, duration, durationRange, percent, words } from "../format";
import { Advice } from "./advice";
import { StepChart } from "./steps";
import { Waiting } from "./waiting";

interface Props {
  page: PageDocument;
  report: Report | undefined;
  index: number;
  recordings: Recordings;
  theme: Theme;
  onEvidence(range: Range, title: string, rank?: number): void;
  onRank(index: number): void;
}

export function Overview({ page, report, index, recordings, theme, onEvidence, onRank }: Props) {
  const loaded = useModel(recordings, index);
  const verdict = page.joint?.is_one_run ? page.joint.verdict : report?.verdict;
  const findings = page.joint ? page.joint.findings : (report?.findings ?? []);
  if (!report) return <Unusable page={page} />;
  // Findings over all ranks point into the recording of the first rank that has them.
  const rankOf = (finding: Finding) => {
    const at = page.reports.findIndex((r) => finding.found_on?.includes(r.label ?? ""));
    return at < 0 ? index : at;
  };
  return (
    <>
      <section class={`verdict ${report.headline_withheld ? "withheld" : ""}`} aria-label="Verdict">
        <p class="sentence">{verdict}</p>
        <p class="where">{describe(report)}</p>
        {report.headline_withheld && report.headline_withheld !== verdict && (
          <p class="warning">{report.headline_withheld}</p>
        )}
      </section>
      <Figures report={report} lengths={isLoaded(loaded) ? stepLengths(loaded.model) : []} />
      <section aria-labelledby="h-bar">
        <h2 id="h-bar">Where {isPerStep(report) ? "a step" : "the time"} goes</h2>
        <WhereBar report={report} theme={theme} />
      </section>
      <section aria-labelledby="h-steps">
        <h2 id="h-steps">Each step</h2>
        {isLoaded(loaded) ? (
          <StepChart
            model={loaded.model}
            report={report}
            theme={theme}
            onStep={(range, title) => onEvidence(range, title, index)}
          />
        ) : (
          <Waiting of={loaded} what="recording" />
        )}
      </section>
      <section class="found" aria-labelledby="h-findings">
        <h2 id="h-findings">What was found</h2>
        {findings.length === 0 && <p class="faint">Nothing costs more than 1 % of the step.</p>}
        <ol class="findings">
          {findings.map((finding, i) => (
            <li>
              <FindingCard
                finding={finding}
                number={i + 1}
                onShow={(range) => onEvidence(range, finding.title, rankOf(finding))}
              />
            </li>
          ))}
        </ol>
      </section>
      <Completeness report={report} />
      {page.unusable.length > 0 && (
        <section>
          <h2>Not read</h2>
          <ul>
            {page.unusable.map((r) => (
              <li>
                {r.source.path}: {r.error?.message}
              </li>
            ))}
          </ul>
        </section>
      )}
      {page.reports.length > 1 && (
        <p class="faint">
          Figures above are of {reportLabel(report)}, the worst first.{" "}
          {index > 0 && (
            <button type="button" class="link" onClick={() => onRank(0)}>
              show the worst
            </button>
          )}
        </p>
      )}
    </>
  );
}

function Unusable({ page }: { page: PageDocument }) {
  return (
    <section class="verdict withheld">
      <p class="sentence">No recording could be read.</p>
      {page.unusable.map((r) => (
        <p>{r.error?.message}</p>
      ))}
    </section>
  );
}

export function isPerStep(report: Report): boolean {
  return report.steps.count > 0 && report.asked.window === "steps";
}

function describe(report: Report): string {
  const device = mainDevice(report);
  const { steps, source, ledger } = report;
  const parts = [
    device?.name ?? (device ? `GPU ${device.device}` : "no GPU work"),
    report.found.rank !== null ? `rank ${report.found.rank} of ${report.found.world_size ?? "?"}` : "",
    steps.count > 0 ? `${stepRange(steps)} (${steps.source_detail})` : "no steps known",
    `${count(source.event_count)} events`,
    ledger.gpu_event_count > 0
      ? `${count(ledger.linked_gpu_event_count)} of ${count(ledger.gpu_event_count)} GPU events have their launch`
      : "",
    source.host_name ? `host ${source.host_name}` : "",
  ];
  return parts.filter((part) => part !== "").join(" · ");
}

function stepLengths(model: Model): number[] {
  return model.steps.map((step) => step.end - step.start);
}

function Figures({ report, lengths }: { report: Report; lengths: number[] }) {
  const { steps, efficiency, launches } = report;
  const device = mainDevice(report);
  const busy = device?.gpu_busy_ns ?? null;
  const figures: [label: string, value: string, explanation: string][] = [];
  if (steps.median_ns !== null) {
    const spread = stepSpread(steps, lengths);
    const range = spread
      ? `; ${spread.isAll ? "all" : "10th to 90th percentile"} ${durationRange(spread.low, spread.high)}`
      : "";
    figures.push(["step", duration(steps.median_ns), `median of ${count(steps.count)} steps${range}`]);
  }
  if (steps.estimated_unprofiled_ns) {
    const { low, mid, high } = steps.estimated_unprofiled_ns;
    figures.push(["without the profiler", `about ${duration(mid)}`, `a guess: ${durationRange(low, high)}`]);
  }
  if (busy !== null && device)
    figures.push(["GPU busy", percent(busy / device.window_ns), `${duration(busy)} of ${duration(device.window_ns)}`]);
  if (efficiency.mfu_ratio !== null) {
    const peak = efficiency.peak_flops_per_s ? ` of ${(efficiency.peak_flops_per_s / 1e12).toFixed(0)} TFLOP/s` : "";
    figures.push([
      "MFU",
      percent(efficiency.mfu_ratio),
      `model FLOPs utilization${peak}; well-tuned large runs reach 40 to 60 %`,
    ]);
  }
  if (steps.host_lead_ns !== null && steps.median_ns && steps.host_lead_ns > 0.05 * steps.median_ns) {
    figures.push([
      "host runs ahead",
      `${(steps.host_lead_ns / steps.median_ns).toFixed(1)} steps`,
      `${duration(steps.host_lead_ns)} between the host's end of a step and the GPU's`,
    ]);
  }
  if (launches.median_kernel_ns !== null) {
    figures.push([
      "median kernel",
      duration(launches.median_kernel_ns),
      `${count(launches.kernel_count)} kernels, ${count(launches.short_kernel_count)} shorter than 10 µs`,
    ]);
  }
  const peak = report.memory.devices[0]?.allocated_peak;
  if (peak) figures.push(["memory peak", bytes(peak.bytes), "allocated by tensors"]);
  if (figures.length === 0) return null;
  return (
    <dl class="figures">
      {figures.map(([label, value, explanation]) => (
        <div>
          <dt>{label}</dt>
          <dd>
            <strong>{value}</strong>
            <span>{explanation}</span>
          </dd>
        </div>
      ))}
    </dl>
  );
}

interface Segment {
  key: string;
  label: string;
  ns: number;
  colour: string;
  idle: boolean;
}

// Kinds may overlap (streams side by side): their widths are scaled so that they fill the busy part.
export function segments(device: Device, theme: Theme): Segment[] {
  const busy = device.gpu_busy_ns ?? 0;
  const kinds = Object.entries(device.busy_by_kind_ns).filter(([, ns]) => ns > 0);
  const sum = kinds.reduce((total, [, ns]) => total + ns, 0);
  const out: Segment[] = kinds
    .sort((a, b) => b[1] - a[1])
    .map(([kind, ns]) => ({
      key: kind,
      label: words(kind),
      ns: sum > 0 ? (ns * busy) / sum : 0,
      colour: kindColour(kind, theme),
      idle: false,
    }));
  const causes = device.idle_by_cause_ns ? Object.entries(device.idle_by_cause_ns).filter(([, ns]) => ns > 0) : [];
  if (causes.length === 0 && device.idle_ns) {
    out.push({ key: "idle", label: "idle", ns: device.idle_ns, colour: "#8a8f98", idle: true });
  }
  for (const [cause, ns] of causes.sort((a, b) => b[1] - a[1])) {
    out.push({ key: `idle-${cause}`, label: causeWords(cause), ns, colour: causeColour(cause), idle: true });
  }
  return out;
}

function WhereBar({ report, theme }: { report: Report; theme: Theme }) {
  const device = mainDevice(report);
  if (!device) return <p class="faint">No GPU work was recorded.</p>;
  if (device.gpu_busy_ns === null) return <p class="faint">{report.headline_withheld ?? "Not known."}</p>;
  const divisor = isPerStep(report) ? report.steps.count : 1;
  const all = segments(device, theme);
  const total = device.window_ns;
  const half = (idle: boolean) => all.filter((s) => s.idle === idle);
  const sumOf = (list: Segment[]) => list.reduce((sum, s) => sum + s.ns, 0);
  return (
    <>
      <div
        class="bar"
        role="img"
        aria-label={`${all.map((s) => `${s.idle ? "idle, " : ""}${s.label} ${percent(s.ns / total)}`).join("; ")}`}
      >
        {all.map((s) => (
          <div
            class={s.idle ? "segment idle" : "segment"}
            style={{ width: `${(s.ns / total) * 100}%`, "--fill": s.colour }}
            title={`${s.idle ? "idle: " : ""}${s.label}: ${duration(s.ns / divisor)}, ${percent(s.ns / total)}`}
          >
            {s.ns / total > 0.06 && <span>{s.label}</span>}
          </div>
        ))}
      </div>
      <div class="legends">
        {[false, true].map((idle) => (
          <div>
            <h3>
              {idle ? "GPU idle" : "GPU busy"} {duration(sumOf(half(idle)) / divisor)} (
              {percent(sumOf(half(idle)) / total)})
              {idle && device.idle_cause_withheld && <em> {device.idle_cause_withheld}</em>}
            </h3>
            <ul class="legend">
              {half(idle)
                .filter((s) => s.ns / total >= 0.001)
                .map((s) => (
                  <li>
                    <i class={s.idle ? "swatch idle" : "swatch"} style={{ "--fill": s.colour }} />
                    {s.label} <b>{duration(s.ns / divisor)}</b>
                  </li>
                ))}
            </ul>
          </div>
        ))}
      </div>
      {device.exposed_communication_ns > 0 && (
        <p class="faint">
          Of the busy time, communication under no computation: {duration(device.exposed_communication_ns / divisor)}.
        </p>
      )}
    </>
  );
}

const kSeverity = { fault: "fault", note: "note", information: "for information" } as const;

export function FindingCard({
  finding,
  number,
  onShow,
}: {
  finding: Finding;
  number: number;
  onShow(range: Range): void;
}) {
  const saving = finding.saving_ns;
  const first = finding.evidence.find((e) => e.at)?.at;
  return (
    <article class={`finding ${finding.severity}`} aria-label={finding.title}>
      <header>
        <span class="number">{number}</span>
        <span class="id">{finding.id}</span>
        <span class="severity">{kSeverity[finding.severity]}</span>
        {saving && (
          <span class="cost">
            −{duration(saving.mid)} a step{finding.saving_ratio !== null ? ` (${percent(finding.saving_ratio)})` : ""}
            <small> {durationRange(saving.low, saving.high)}</small>
          </span>
        )}
      </header>
      <h3>{finding.title}</h3>
      {finding.gain && <p class="gain">{capital(finding.gain.replace(/\.$/, ""))}.</p>}
      {finding.found_on?.length ? <p class="faint">Seen in: {finding.found_on.join(", ")}</p> : null}
      <div class="columns">
        {finding.evidence.length > 0 && (
          <div>
            <h4>How it shows</h4>
            <ul>
              {finding.evidence.map((evidence) => (
                <li>
                  {evidence.text}{" "}
                  {evidence.at && (
                    <button type="button" class="link" onClick={() => evidence.at && onShow(evidence.at)}>
                      show on the timeline
                    </button>
                  )}
                </li>
              ))}
            </ul>
          </div>
        )}
        <Advice lines={finding.advice} />
      </div>
      {first && (
        <button type="button" class="show" onClick={() => onShow(first)}>
          Show on the timeline
        </button>
      )}
    </article>
  );
}

function launchWords({ ledger }: Report): string {
  const missing = ledger.launch_without_gpu_event_count;
  if (ledger.is_host_only) return "No GPU work was recorded.";
  if (missing === 0) return ledger.launch_count > 0 ? "Every launch has its GPU work." : "";
  return missing === 1
    ? "One launch has no GPU work in the file."
    : `${count(missing)} launches have no GPU work in the file.`;
}

// What was wrong with the file, and where the host waited.
function Completeness({ report }: { report: Report }) {
  const [open, setOpen] = useState(false);
  useEffect(() => setOpen(false), [report]);
  const { notes, synchronizations } = report;
  const shown = open ? synchronizations : synchronizations.slice(0, 5);
  return (
    <>
      {synchronizations.length > 0 && (
        <section aria-labelledby="h-sync">
          <h2 id="h-sync">Where the host waits for the GPU</h2>
          <table class="plain">
            <thead>
              <tr>
                <th>what</th>
                <th class="n">a step</th>
                <th class="n">blocked</th>
                <th class="n">hidden</th>
                <th class="n">time blocked</th>
                <th>place</th>
              </tr>
            </thead>
            <tbody>
              {shown.map((row) => (
                <tr>
                  <td>{row.kind}</td>
                  <td class="n">{row.count_per_step === null ? count(row.count) : row.count_per_step.toFixed(1)}</td>
                  <td class="n">{count(row.blocked_count)}</td>
                  <td class="n">{count(row.hidden_count)}</td>
                  <td class="n">{duration(row.blocked_ns)}</td>
                  <td class="name">{row.python_line || row.operators || row.spans || "unknown"}</td>
                </tr>
              ))}
            </tbody>
          </table>
          <p class="faint">
            Blocked: the GPU was not done, so the host stood still. Hidden: that in mid-step, where the queue of
            launches then runs dry.
          </p>
          {synchronizations.length > 5 && (
            <button type="button" class="link" aria-expanded={open} onClick={() => setOpen(!open)}>
              {open ? "fewer" : `all ${synchronizations.length}`}
            </button>
          )}
        </section>
      )}
      <section aria-labelledby="h-notes">
        <h2 id="h-notes">How complete the data are</h2>
        <p>
          {report.status === "complete"
            ? "The file was read whole."
            : "Something was lost; numbers are of what is there."}{" "}
          {launchWords(report)}
        </p>
        {notes.length > 0 && (
          <ul class="notes">
            {notes.map((note) => (
              <li>
                <b>{words(note.kind)}</b> ({note.severity}) {note.count > 1 ? `${count(note.count)} times` : ""}:{" "}
                {note.example}
              </li>
            ))}
          </ul>
        )}
      </section>
    </>
  );
}
