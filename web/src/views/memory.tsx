// Memory: every allocation as a band over time, the peak marked, what was held at any moment, and the segments at the end.
import { useMemo, useState } from "preact/hooks";
import type { Theme } from "../colours";
import { isLoaded, type Recordings, useMemory } from "../data/recordings";
import type { MemoryDocument } from "../data/report";
import { bytes, count, duration, percent, shorten } from "../format";
import { layoutBands } from "../memory/bands";
import { type ColourBy, colouring } from "../memory/colouring";
import type { MemoryDevice, MemoryModel } from "../memory/model";
import { Advice } from "./advice";
import { BandCanvas } from "./band_canvas";
import { Choice } from "./choice";
import { Segments } from "./segments";
import { Waiting } from "./waiting";
import { WhatIfs } from "./what_ifs";

interface ViewProps {
  index: number;
  recordings: Recordings;
  theme: Theme;
  document: MemoryDocument | null;
}

export function MemoryView({ index, recordings, theme, document }: ViewProps) {
  const loaded = useMemory(recordings, index);
  const [chosen, setChosen] = useState<number | null>(null);
  if (!isLoaded(loaded)) return <Waiting of={loaded} what="memory" />;
  const { model } = loaded;
  if (model.devices.length === 0) return <p class="faint">No memory of a GPU was recorded.</p>;
  const main = model.devices.reduce((a, b) =>
    b.allocationEnd - b.allocationBegin > a.allocationEnd - a.allocationBegin ? b : a,
  );
  const device = model.devices[chosen ?? main.row];
  return (
    <>
      {model.devices.length > 1 && (
        <label>
          GPU{" "}
          <select value={device.row} onChange={(e) => setChosen(Number(e.currentTarget.value))}>
            {model.devices.map((d) => (
              <option value={d.row}>{d.number}</option>
            ))}
          </select>
        </label>
      )}
      <DeviceMemoryView key={device.row} model={model} device={device} theme={theme} document={document} />
    </>
  );
}

interface DeviceProps {
  model: MemoryModel;
  device: MemoryDevice;
  theme: Theme;
  document: MemoryDocument | null;
}

function DeviceMemoryView({ model, device, theme, document }: DeviceProps) {
  // Categories say more than lines where most of the memory has one.
  const groups = model.live(device, device.peakMoment, "category");
  const unknown = groups.find((group) => group.name === "unknown")?.bytes ?? 0;
  const known = unknown * 2 < groups.reduce((sum, group) => sum + group.bytes, 0);
  const [by, setBy] = useState<ColourBy>(known ? "category" : "line");
  const [moment, setMoment] = useState(device.peakMoment);
  const [band, setBand] = useState<number | null>(null);
  const [axis, setAxis] = useState<"event" | "time">("event");
  const bands = useMemo(() => layoutBands(model, device), [model, device]);
  const colours = useMemo(() => colouring(model, device, by, theme), [model, device, by, theme]);
  const step = model.steps.find((s) => s.device === device.row && moment >= s.begin && moment < s.end);
  const ooms = model.ooms.filter((oom) => oom.device === device.row);
  const showEvent = (event: number) => setMoment(Math.min(device.moments - 1, event + 1));
  const atPeak = moment === device.peakMoment;
  return (
    <>
      <section class="verdict" aria-label="Memory in short">
        <p class="sentence">
          {device.hasHistory
            ? `At the peak ${bytes(device.peakBytes)} were allocated, of ${bytes(device.reservedPeak)} reserved.`
            : "No history was recorded; this is what was held when the snapshot was written."}
          {ooms.length > 0 &&
            ` ${ooms.length === 1 ? "A request" : `${count(ooms.length)} requests`} of ${bytes(ooms[0].request)} failed.`}
        </p>
        <p class="where">
          {count(allocationCount(model, device))} allocations, {count(device.moments - 1)} entries over{" "}
          {duration(device.time[device.moments - 1])}
        </p>
      </section>
      <div class="tools above">
        <Choice label="Colour by" all={["category", "line"]} value={by} onChange={setBy} />
        <Choice
          label="Axis"
          all={["event", "time"]}
          value={axis}
          words={{ event: "allocator event" }}
          onChange={setAxis}
        />
        <button type="button" onClick={() => setMoment(device.peakMoment)}>
          Peak
        </button>
        {ooms.map((oom, i) => (
          <button type="button" onClick={() => setMoment(oom.moment)}>
            Out of memory {ooms.length > 1 ? i + 1 : ""}
          </button>
        ))}
        <button type="button" onClick={() => setMoment(device.moments - 1)}>
          End
        </button>
      </div>
      <div class="memory">
        <div>
          {device.hasHistory && (
            <BandCanvas
              model={model}
              device={device}
              bands={bands}
              theme={theme}
              axis={axis}
              moment={moment}
              chosen={band}
              colour={(row) => colours.colourOf(colours.nameOf(row))}
              name={(row) => colours.nameOf(row)}
              onChoose={(at, row) => {
                setMoment(at);
                setBand(row);
              }}
            />
          )}
          <p class="faint">
            Each band is an allocation, from when it was made to when it was freed; the solid line is what was
            allocated, the dashed one what was reserved. Click for what was held at that moment. Wheel or W, S: zoom;
            drag or A, D: move.
            {bands.smallCount > 0 && ` The ${count(bands.smallCount)} smallest are one grey band.`}
          </p>
          {band !== null && <AllocationDetails model={model} device={device} row={band} />}
        </div>
        <div>
          <h2 aria-live="polite">
            Held {atPeak ? "at the peak" : `at event ${count(moment)}`}: {bytes(device.allocated[moment])}
            {step && <span class="faint"> in step {step.number}</span>}
          </h2>
          <Held
            model={model}
            device={device}
            moment={moment}
            by="category"
            colour={by === "category" ? colours.colourOf : null}
          />
          <Held
            model={model}
            device={device}
            moment={moment}
            by="line"
            colour={by === "line" ? colours.colourOf : null}
          />
        </div>
      </div>
      {document && document.shown_device === device.number && (
        <>
          <Findings document={document} onMoment={showEvent} />
          {device.hasHistory && <WhatIfs document={document} onMoment={showEvent} />}
        </>
      )}
      <Segments model={model} device={device} theme={theme} />
    </>
  );
}

// Events of the document count entries from 0; a moment is what holds after them.
function Findings({ document, onMoment }: { document: MemoryDocument; onMoment(event: number): void }) {
  return (
    <>
      {document.headline_withheld && <p class="warning">{document.headline_withheld}</p>}
      {document.findings.length > 0 && <h2>What was found</h2>}
      <ol class="findings">
        {document.findings.map((finding, i) => (
          <li>
            <article class={`finding ${finding.severity}`} aria-label={finding.title}>
              <header>
                <span class="number">{i + 1}</span>
                <span class="id">{finding.id}</span>
                <span class="severity">
                  {finding.severity === "information" ? "for information" : finding.severity}
                </span>
                {finding.saving_bytes !== null && <span class="cost">−{bytes(finding.saving_bytes)} at the peak</span>}
              </header>
              <h3>{finding.title}</h3>
              {finding.gain && <p class="gain">{sentence(finding.gain)}</p>}
              <div class="columns">
                <div>
                  <h4>How it shows</h4>
                  <ul>
                    {finding.evidence.map(({ text, event }) => (
                      <li>
                        {text}{" "}
                        {event !== null && (
                          <button type="button" class="link" onClick={() => onMoment(event)}>
                            show that moment
                          </button>
                        )}
                      </li>
                    ))}
                  </ul>
                </div>
                <Advice lines={finding.advice} />
              </div>
            </article>
          </li>
        ))}
      </ol>
      {document.notes.length > 0 && (
        <ul class="notes">
          {document.notes.map((note) => (
            <li>
              {note.kind.replaceAll("_", " ")} ({note.severity}): {note.example}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

// Those that were seen one by one.
function allocationCount(model: MemoryModel, device: MemoryDevice): number {
  const { allocationBegin: begin, allocationEnd: end } = device;
  return end - begin - model.isSum.subarray(begin, end).reduce((sum, is) => sum + is, 0);
}

function sentence(text: string): string {
  return `${text[0].toUpperCase()}${text.slice(1).replace(/\.$/, "")}.`;
}

function Held({
  model,
  device,
  moment,
  by,
  colour,
}: {
  model: MemoryModel;
  device: MemoryDevice;
  moment: number;
  by: ColourBy;
  colour: ((name: string) => string) | null;
}) {
  const groups = useMemo(() => model.live(device, moment, by), [model, device, moment, by]);
  const total = groups.reduce((sum, group) => sum + group.bytes, 0);
  return (
    <table class="plain held">
      <thead>
        <tr>
          <th>{by === "category" && groups.some((group) => group.isInferred) ? "category (inferred)" : by}</th>
          <th class="n">bytes</th>
          <th class="n">share</th>
          <th class="n">tensors</th>
        </tr>
      </thead>
      <tbody>
        {groups.slice(0, 12).map((group) => (
          <tr>
            <td class="name" title={group.name}>
              {colour && <i class="swatch" style={{ "--fill": colour(group.name) }} />}
              {shorten(withoutFolders(group.name), 70)}
            </td>
            <td class="n">{bytes(group.bytes)}</td>
            <td class="n">{percent(total > 0 ? group.bytes / total : 0)}</td>
            <td class="n">{group.count === null ? "–" : count(group.count)}</td>
          </tr>
        ))}
        {groups.length > 12 && (
          <tr>
            <td class="faint">{count(groups.length - 12)} more</td>
            <td class="n">{bytes(groups.slice(12).reduce((sum, group) => sum + group.bytes, 0))}</td>
            <td />
            <td />
          </tr>
        )}
      </tbody>
    </table>
  );
}

// "/long/way/to/train.py:41 forward" -> "train.py:41 forward"; the whole name is the cell's title.
export function withoutFolders(line: string): string {
  return line.replace(/^\S*[\\/](?=[^\\/\s]+:\d+ )/, "");
}

function AllocationDetails({ model, device, row }: { model: MemoryModel; device: MemoryDevice; row: number }) {
  const from = model.allocMoment[row];
  const to = model.freeMoment[row];
  const stack = model.stackOf(row);
  return (
    <section class="panel" aria-live="polite">
      <h3>
        {bytes(model.requested[row])}{" "}
        {model.size[row] > model.requested[row] && <span class="faint">({bytes(model.size[row])} taken)</span>}
        {model.isSum[row] === 1 && <span class="faint">(a sum; of how many allocations is not known)</span>}
      </h3>
      <dl class="facts">
        <dt>for</dt>
        <dd>
          {model.categories[model.category[row]] ?? "unknown"}
          {model.isInferred[row] === 1 && " (inferred)"}
        </dd>
        <dt>made by</dt>
        <dd>{model.text(model.line[row])}</dd>
        <dt>held</dt>
        <dd>
          {from === 0 ? "since before the history" : `from event ${count(from)}`}{" "}
          {to === 0 ? "to the end" : `to event ${count(to)}, ${duration(device.time[to] - device.time[from])}`}
        </dd>
        {stack.length > 0 && (
          <>
            <dt>stack</dt>
            <dd>
              <ol class="stack">
                {stack.slice(0, 40).map((frame) => (
                  <li>{frame}</li>
                ))}
              </ol>
            </dd>
          </>
        )}
      </dl>
    </section>
  );
}
