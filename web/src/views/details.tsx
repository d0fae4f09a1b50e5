// What is known of one event: operator, shapes, stack, launch and its latency, and the ways to its relatives.
import type { ComponentChildren } from "preact";
import { kAsyncSpan, kFrame, kHostKindNames, kOperator, type Model } from "../data/model";
import { bytes, causeWords, count, duration, shorten, words } from "../format";
import type { Selection } from "../timeline/controller";

interface Props {
  model: Model;
  selection: Selection;
  onChoose(selection: Selection): void;
}

export function Details({ model, selection, onChoose }: Props) {
  if (selection.kind === "gpu") return <GpuDetails model={model} row={selection.row} onChoose={onChoose} />;
  if (selection.kind === "host") return <HostDetails model={model} row={selection.row} onChoose={onChoose} />;
  if (selection.kind === "gap") return <GapDetails model={model} row={selection.row} onChoose={onChoose} />;
  if (selection.kind === "wait") return <WaitDetails model={model} row={selection.row} onChoose={onChoose} />;
  if (selection.kind === "gpu-span") {
    const { gpuSpans } = model;
    const { row } = selection;
    return (
      <Facts title={model.text(gpuSpans.name[row])} kind={words(model.text(gpuSpans.category[row]))}>
        <Times model={model} start={gpuSpans.start[row]} end={gpuSpans.end[row]} />
      </Facts>
    );
  }
  return <StepDetails model={model} row={selection.row} />;
}

function Facts({ title, kind, children }: { title: string; kind: string; children: ComponentChildren }) {
  return (
    <>
      <h3 class="event">{title || "(no name)"}</h3>
      <p class="faint">{kind}</p>
      <dl class="facts">{children}</dl>
    </>
  );
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

function Times({ model, start, end }: { model: Model; start: number; end: number }) {
  const step = model.stepAt(start);
  return (
    <>
      <Fact name="length">{duration(end - start)}</Fact>
      <Fact name="start">
        {duration(start)}
        {step && `; ${duration(start - step.start)} into step ${step.number}`}
      </Fact>
    </>
  );
}

function HostLink({ model, row, onChoose }: { model: Model; row: number; onChoose(selection: Selection): void }) {
  return (
    <button type="button" class="link" onClick={() => onChoose({ kind: "host", row })}>
      {shorten(model.text(model.host.name[row]), 90)}
    </button>
  );
}
function GpuLink({ model, row, onChoose }: { model: Model; row: number; onChoose(selection: Selection): void }) {
  return (
    <button type="button" class="link" onClick={() => onChoose({ kind: "gpu", row })}>
      {shorten(model.text(model.gpu.name[row]), 90)}
    </button>
  );
}

// Operators and spans around a host row, and the Python frames, each from outside in.
function Place({ model, row, onChoose }: { model: Model; row: number; onChoose(selection: Selection): void }) {
  const { host } = model;
  const path = model.path(row);
  const others = path.slice(0, -1).filter((r) => host.kind[r] !== kFrame);
  let frames = path.filter((r) => host.kind[r] === kFrame && r !== row);
  // A backward operator's stack is that of its forward operator.
  const origin = path.find((r) => host.forward[r] > 0);
  const forward = origin === undefined ? -1 : host.forward[origin] - 1;
  if (frames.length === 0 && forward >= 0) frames = model.path(forward).filter((r) => host.kind[r] === kFrame);
  const text = model.text(host.callStack[row]);
  return (
    <>
      {others.length > 0 && (
        <Fact name="inside">
          {others.map((r, i) => (
            <>
              {i > 0 && " › "}
              <HostLink model={model} row={r} onChoose={onChoose} />
            </>
          ))}
        </Fact>
      )}
      {forward >= 0 && (
        <Fact name="backward of">
          <HostLink model={model} row={forward} onChoose={onChoose} />
        </Fact>
      )}
      {(frames.length > 0 || text) && (
        <Fact name="Python stack">
          <ol class="stack">
            {frames.length > 0
              ? [...frames].reverse().map((r) => (
                  <li>
                    <HostLink model={model} row={r} onChoose={onChoose} />
                  </li>
                ))
              : text.split(";").map((line) => <li>{line}</li>)}
          </ol>
        </Fact>
      )}
    </>
  );
}

function Shapes({ model, row }: { model: Model; row: number }) {
  const shapes = model.text(model.host.shapes[row]);
  const types = model.text(model.host.types[row]);
  if (!shapes) return null;
  return (
    <Fact name="input shapes">
      <code>{shapes}</code>
      {types && <code class="faint"> {types}</code>}
    </Fact>
  );
}

function GpuDetails({ model, row, onChoose }: { model: Model; row: number; onChoose(selection: Selection): void }) {
  const { gpu, host, container } = model;
  const launch = gpu.launch[row] - 1;
  const operator = gpu.operator[row] - 1;
  const cell = (column: string) => container.uint32("configs", column)[gpu.config[row]] ?? 0;
  const [grid, block] = ["grid", "block"].map((what) => [cell(`${what}_x`), cell(`${what}_y`), cell(`${what}_z`)]);
  const collective = gpu.collective[row] - 1;
  const size = gpu.bytes[row] - 1;
  const length = gpu.end[row] - gpu.start[row];
  const stream = model.streams[gpu.stream[row]];
  const kind = words(model.directory.kinds[gpu.kind[row]]);
  return (
    <Facts title={model.text(gpu.name[row])} kind={`${kind} on ${model.devices[stream.device].label}, ${stream.label}`}>
      <Times model={model} start={gpu.start[row]} end={gpu.end[row]} />
      {launch >= 0 ? (
        <Fact name="launched by">
          <HostLink model={model} row={launch} onChoose={onChoose} />, {duration(gpu.start[row] - host.start[launch])}{" "}
          earlier (launch latency)
        </Fact>
      ) : (
        <Fact name="launched by">not known</Fact>
      )}
      {operator >= 0 && (
        <Fact name="operator">
          <HostLink model={model} row={operator} onChoose={onChoose} />
        </Fact>
      )}
      {operator < 0 && gpu.operatorName[row] > 0 && (
        <Fact name="operator">{model.text(gpu.operatorName[row])} (when its graph was captured)</Fact>
      )}
      {operator >= 0 && <Shapes model={model} row={operator} />}
      {grid[0] > 0 && (
        <Fact name="launch">
          grid {grid.join(" × ")}, block {block.join(" × ")}, {count(cell("registers_count"))} registers,{" "}
          {bytes(cell("shared_bytes"))} shared
          {cell("occupancy_percent") > 1 && `, occupancy about ${cell("occupancy_percent") - 1} %`}
        </Fact>
      )}
      {size >= 0 && (
        <Fact name="bytes">
          {bytes(size)}
          {length > 0 && size > 0 && `, ${(size / length).toFixed(1)} GB/s`}
        </Fact>
      )}
      {collective >= 0 && (
        <Fact name="collective">
          {model.text(container.uint32("collectives", "name")[collective])},{" "}
          {count(container.float64("collectives", "element_count")[collective])} ×{" "}
          {model.text(container.uint32("collectives", "dtype")[collective])},{" "}
          {container.uint32("collectives", "group_size")[collective]} ranks
        </Fact>
      )}
      {(launch >= 0 || operator >= 0) && (
        <Place model={model} row={operator >= 0 ? operator : launch} onChoose={onChoose} />
      )}
    </Facts>
  );
}

function HostDetails({ model, row, onChoose }: { model: Model; row: number; onChoose(selection: Selection): void }) {
  const { host, gpu } = model;
  const thread = model.threads[host.thread[row]];
  const launched = model.gpuRowsOf(row);
  let children = 0;
  let reached = host.start[row];
  for (let i = row + 1; i < thread.end && host.start[i] < host.end[row]; i++) {
    if (host.kind[i] === kAsyncSpan || host.start[i] < reached) continue;
    children += Math.min(host.end[i], host.end[row]) - host.start[i];
    reached = host.end[i];
  }
  return (
    <Facts title={model.text(host.name[row])} kind={`${kHostKindNames[host.kind[row]]} on ${thread.label}`}>
      <Times model={model} start={host.start[row]} end={host.end[row]} />
      {children > 0 && <Fact name="self time">{duration(host.end[row] - host.start[row] - children)}</Fact>}
      {host.kind[row] === kOperator && <Shapes model={model} row={row} />}
      {launched.length > 0 && (
        <Fact name="launched">
          {launched.slice(0, 8).map((r, i) => (
            <>
              {i > 0 && ", "}
              <GpuLink model={model} row={r} onChoose={onChoose} />
            </>
          ))}
          {launched.length > 8 && ` and ${count(launched.length - 8)} more`},{" "}
          {duration(gpu.start[launched[0]] - host.start[row])} later (launch latency)
        </Fact>
      )}
      <Place model={model} row={row} onChoose={onChoose} />
    </Facts>
  );
}

function GapDetails({ model, row, onChoose }: { model: Model; row: number; onChoose(selection: Selection): void }) {
  const { gaps } = model;
  const parts: number[] = [];
  for (let p = gaps.partBegin[row]; p < gaps.partBegin[row + 1]; p++) parts.push(p);
  const next = gaps.endedBy[row] - 1;
  const launch = next >= 0 ? model.gpu.launch[next] - 1 : -1;
  return (
    <Facts title="GPU idle" kind={model.devices[gaps.device[row]]?.label ?? ""}>
      <Times model={model} start={gaps.start[row]} end={gaps.end[row]} />
      <Fact name="because">
        <ul>
          {parts.map((p) => (
            <li>
              {causeWords(model.directory.causes[gaps.partCause[p]])} {duration(gaps.partLength[p])}
            </li>
          ))}
        </ul>
      </Fact>
      {gaps.detail[row] > 0 && <Fact name="longest in">{model.text(gaps.detail[row])}</Fact>}
      {next >= 0 && (
        <Fact name="ended by">
          <GpuLink model={model} row={next} onChoose={onChoose} />
        </Fact>
      )}
      {launch >= 0 && (
        <Fact name="launched by">
          <HostLink model={model} row={launch} onChoose={onChoose} />,{" "}
          {duration(model.gpu.start[next] - model.host.start[launch])} earlier
        </Fact>
      )}
    </Facts>
  );
}

function WaitDetails({ model, row, onChoose }: { model: Model; row: number; onChoose(selection: Selection): void }) {
  const { waits } = model;
  const call = waits.call[row] - 1;
  const condition = waits.condition[row] - 1;
  const kind = model.directory.wait_kinds[waits.kind[row]];
  return (
    <Facts
      title={`The host waits for the GPU (${kind})`}
      kind={
        waits.hidden[row]
          ? "hidden: in mid-step, so the queue behind it runs dry"
          : waits.blocked[row]
            ? "the work was not done yet"
            : "the work was done already"
      }
    >
      <Times model={model} start={waits.start[row]} end={waits.end[row]} />
      {condition >= 0 && (
        <Fact name="waits for">
          <GpuLink model={model} row={condition} onChoose={onChoose} />
        </Fact>
      )}
      {call >= 0 && (
        <>
          <Fact name="call">
            <HostLink model={model} row={call} onChoose={onChoose} />
          </Fact>
          <Place model={model} row={call} onChoose={onChoose} />
        </>
      )}
    </Facts>
  );
}

function StepDetails({ model, row }: { model: Model; row: number }) {
  const step = model.steps[row];
  if (!step) return null;
  const causes = step.idleByCause
    ? Array.from(step.idleByCause, (ns, i) => ({ cause: model.directory.causes[i], ns }))
    : [];
  return (
    <Facts title={`Step ${step.number}`} kind="on the GPU's clock: from where the GPU is free of earlier work">
      <Times model={model} start={step.start} end={step.end} />
      <Fact name="host's span">
        {duration(step.hostEnd - step.hostStart)}, from {duration(step.hostStart)}
      </Fact>
      {step.busy !== null && <Fact name="GPU busy">{duration(step.busy)}</Fact>}
      <Fact name="GPU events">{count(step.gpuEvents)}</Fact>
      {causes.some((c) => c.ns > 0) && (
        <Fact name="idle">
          <ul>
            {causes
              .filter((c) => c.ns > 0)
              .sort((a, b) => b.ns - a.ns)
              .map((c) => (
                <li>
                  {causeWords(c.cause)} {duration(c.ns)}
                </li>
              ))}
          </ul>
        </Fact>
      )}
    </Facts>
  );
}
