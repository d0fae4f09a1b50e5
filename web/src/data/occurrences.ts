// Where a row of the table of differences lies in a recording: the events of one step, in order of time.
import type { Selection } from "../timeline/controller";
import type { Identity, OperatorChange, PartRow, WorkRow } from "./difference";
import { kCall, kOperator, type Model, type Step } from "./model";

export type Wanted =
  | { kind: "work"; row: WorkRow }
  | { kind: "operator"; row: OperatorChange }
  | { kind: "part"; row: PartRow };

export function wantedName(wanted: Wanted): string {
  if (wanted.kind === "operator") return wanted.row.name ?? "";
  if (wanted.kind === "part") return wanted.row.key;
  const names = [wanted.row.before, wanted.row.after].map((side) => side?.operator ?? side?.kernel ?? "");
  return [...new Set(names)].filter((name) => name !== "").join(" → ");
}

// What stands for many small rows has no place of its own.
export function canFind(wanted: Wanted): boolean {
  return (
    wanted.kind === "part" || (wantedName(wanted) !== "" && !(wanted.kind === "work" && wanted.row.match === "rest"))
  );
}

// A recording without steps is looked at as one.
export function stepsOf(model: Model): Step[] {
  if (model.steps.length > 0) return model.steps;
  const { start, end } = model;
  return [
    {
      number: -1,
      hostStart: start,
      hostEnd: end,
      start,
      end,
      gpuEvents: model.gpu.count,
      busy: null,
      idleByCause: null,
    },
  ];
}

// The middle one by length; of an even number the shorter of the two, which is a step that there was.
export function medianStep(steps: Step[]): number {
  const order = steps.map((_, i) => i).sort((a, b) => steps[a].end - steps[a].start - (steps[b].end - steps[b].start));
  return order[(order.length - 1) >> 1];
}

export function occurrences(model: Model, step: Step, wanted: Wanted, side: "before" | "after"): Selection[] {
  if (wanted.kind === "operator") return hostEvents(model, step, wanted.row.name ?? "");
  if (wanted.kind === "part") return partEvents(model, step, wanted.row);
  const identity = wanted.row[side];
  return identity ? workEvents(model, step, identity) : [];
}

function inOrder(rows: Selection[], start: Float64Array): Selection[] {
  return rows.sort((a, b) => start[a.row] - start[b.row]);
}

function hostEvents(model: Model, step: Step, name: string): Selection[] {
  const { host } = model;
  const out: Selection[] = [];
  for (let row = 0; row < host.count; row++) {
    if (host.start[row] < step.hostStart || host.start[row] >= step.hostEnd) continue;
    if (host.kind[row] !== kOperator && host.kind[row] !== kCall) continue;
    if (isName(model.text(host.name[row]), name)) out.push({ kind: "host", row });
  }
  return inOrder(out, host.start);
}

function gpuRows(model: Model, step: Step): number[] {
  const out: number[] = [];
  const { gpu } = model;
  for (let row = 0; row < gpu.count; row++)
    if (gpu.start[row] >= step.start && gpu.start[row] < step.end) out.push(row);
  return out;
}

function partEvents(model: Model, step: Step, part: PartRow): Selection[] {
  const { gaps, gpu, directory } = model;
  if (part.kind === "busy") {
    const rows = gpuRows(model, step).filter((row) => directory.kinds[gpu.kind[row]] === part.key);
    return inOrder(
      rows.map((row): Selection => ({ kind: "gpu", row })),
      gpu.start,
    );
  }
  const out: Selection[] = [];
  for (let row = 0; row < gaps.count; row++) {
    const isMain = model.directory.main_device === null || gaps.device[row] === model.directory.main_device;
    if (!isMain || gaps.start[row] < step.start || gaps.start[row] >= step.end) continue;
    if (directory.causes[gaps.partCause[gaps.partBegin[row]]] === part.key) out.push({ kind: "gap", row });
  }
  // The longest first: of idle time that is the one to look at.
  return out.sort((a, b) => gaps.end[b.row] - gaps.start[b.row] - (gaps.end[a.row] - gaps.start[a.row]));
}

// Summaries cut a long name and put a hash of the whole behind it (docs/formats/summary.md).
export function isName(text: string, wanted: string | null): boolean {
  if (!wanted || text === wanted) return true;
  const cut = /^([\s\S]*)… [0-9a-f]{16}$/.exec(wanted);
  return cut !== null && text.startsWith(cut[1]);
}

// By kernel, operator and shapes; without the shapes where none fits, as a recording may have none.
function workEvents(model: Model, step: Step, identity: Identity): Selection[] {
  const { gpu, host } = model;
  const rows = gpuRows(model, step);
  const operator = (row: number) => {
    const at = gpu.operator[row] - 1;
    return at >= 0 ? model.text(host.name[at]) : model.text(gpu.operatorName[row]);
  };
  const hasKernel = (row: number) => isName(model.text(gpu.name[row]), identity.kernel);
  const hasOperator = (row: number) => isName(operator(row), identity.operator);
  const hasShapes = (row: number) => {
    const at = gpu.operator[row] - 1;
    return isName(at >= 0 ? model.text(host.shapes[at]) : "", identity.shapes);
  };
  const tries: ((row: number) => boolean)[] = [
    (row) => hasKernel(row) && hasOperator(row) && hasShapes(row),
    (row) => hasKernel(row) && hasOperator(row),
  ];
  for (const fits of tries) {
    const found = rows.filter(fits);
    if (found.length > 0)
      return inOrder(
        found.map((row): Selection => ({ kind: "gpu", row })),
        gpu.start,
      );
  }
  return [];
}
