// Operators, kernels, shapes and modules: sorted by any column, filtered by name, copied as CSV.
import { useMemo, useState } from "preact/hooks";
import type { KernelSum, Model, SumRow } from "../data/model";
import { isLoaded, type Recordings, useModel } from "../data/recordings";
import { notRecorded, type Report, stepRange } from "../data/report";
import { kModule } from "../flame/tree";
import { bytes, count, csvCell, percent, quantity, words } from "../format";
import { amount, number, text, time } from "./columns";
import { FilterBox } from "./filter_box";
import { Waiting } from "./waiting";

export interface TableColumn<Row> {
  key: string;
  title: string;
  help: string;
  value(row: Row): number | string;
  show?(row: Row): string;
  total?: number; // of the column: shares are drawn
}
export interface TableKind<Row> {
  columns: TableColumn<Row>[];
  rows: Row[];
}

const kNames = ["operators", "kernels", "shapes", "modules"] as const;
type TableName = (typeof kNames)[number];
// biome-ignore lint/suspicious/noExplicitAny: the four tables have rows of their own
type AnyTable = TableKind<any>;

function sum<Row>(rows: Row[], of: (row: Row) => number): number {
  return rows.reduce((total, row) => total + of(row), 0);
}

export function makeTable(model: Model, name: TableName): AnyTable {
  return name === "kernels" ? kernelTable(model) : sumTable(model.sums(name), name);
}

function kernelTable(model: Model): TableKind<KernelSum> {
  const rows = model.kernels();
  return {
    rows,
    columns: [
      text("name", "kernel", "name of the kernel, copy or set", (r) => r.name),
      { ...time("total_ns", "GPU time", "sum of durations", (r) => r.total), total: sum(rows, (r) => r.total) },
      number("count", "count", "times run", (r) => r.count),
      time("mean_ns", "mean", "GPU time / count", (r) => r.total / r.count),
      text("kind", "kind", "what it does, from its name", (r) => words(model.directory.kinds[r.kind])),
      text(
        "tensor_cores",
        "tensor cores",
        "whether it uses them; empty where it has no use for them",
        (r) => r.tensorCores,
      ),
    ],
  };
}

const kWithInner = "with the operators inside it";

function sumTable(rows: SumRow[], name: Exclude<TableName, "kernels">): TableKind<SumRow> {
  const isModules = name === "modules";
  const columns: (TableColumn<SumRow> | false)[] = [
    text("name", isModules ? "module" : "operator", "as recorded", (r) => r.name),
    name === "shapes" && text("input_shapes", "input shapes", "of the operator's inputs", (r) => r.inputShapes),
    isModules && {
      ...time<SumRow>("device_ns", "GPU time", "with nested modules, forward and backward", (r) => r.device),
      total: Math.max(...rows.map((r) => r.device), 1),
    },
    !isModules && {
      ...time<SumRow>("self_device_ns", "GPU time", "of the kernels it launched itself", (r) => r.selfDevice),
      total: sum(rows, (r) => r.selfDevice),
    },
    isModules && time("forward_device_ns", "forward", "GPU time of the forward pass", (r) => r.forwardDevice),
    isModules && time("backward_device_ns", "backward", "GPU time of the backward pass", (r) => r.backwardDevice),
    {
      ...time<SumRow>("self_cpu_ns", "CPU time", "without the operators inside it", (r) => r.selfCpu),
      total: sum(rows, (r) => r.selfCpu),
    },
    time("cpu_ns", "CPU total", kWithInner, (r) => r.cpu),
    !isModules && time("device_ns", "GPU total", kWithInner, (r) => r.device),
    number("count", "count", "calls", (r) => r.count),
    rows.some((r) => r.flops > 0) &&
      amount(
        "flops",
        "FLOPs",
        "by PyTorch's formulas",
        (r) => r.flops,
        (flops) => (flops > 0 ? quantity(flops) : ""),
      ),
    rows.some((r) => r.deviceMemory !== 0) &&
      amount(
        "device_memory_bytes",
        "GPU memory",
        "allocated less freed, by itself",
        (r) => r.deviceMemory,
        signedBytes,
      ),
  ];
  return { rows, columns: columns.filter((column) => column !== false) };
}

function signedBytes(value: number): string {
  return value < 0 ? `−${bytes(-value)}` : value > 0 ? bytes(value) : "";
}

export function sortRows<Row>(rows: Row[], column: TableColumn<Row>, descending: boolean): Row[] {
  const sign = descending ? -1 : 1;
  return [...rows].sort((a, b) => {
    const [x, y] = [column.value(a), column.value(b)];
    return sign * (typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y)));
  });
}

export function tableCsv<Row>(table: TableKind<Row>, rows: Row[]): string {
  const lines = [table.columns.map((c) => c.key).join(",")];
  const cell = (value: number | string) => (value === Number.NEGATIVE_INFINITY ? "" : csvCell(value)); // missing
  for (const row of rows) lines.push(table.columns.map((c) => cell(c.value(row))).join(","));
  return `${lines.join("\n")}\n`;
}

const kMostRows = 500; // rows of the DOM; the rest on request

export function TablesView({
  index,
  report,
  recordings,
}: {
  index: number;
  report: Report | undefined;
  recordings: Recordings;
}) {
  const loaded = useModel(recordings, index);
  const [name, setName] = useState<TableName>("operators");
  if (!isLoaded(loaded)) return <Waiting of={loaded} what="recording" />;
  return (
    <>
      <div class="choices" role="tablist" aria-label="Tables">
        {kNames.map((n) => (
          <button type="button" role="tab" aria-selected={n === name} onClick={() => setName(n)}>
            {n[0].toUpperCase() + n.slice(1)}
          </button>
        ))}
        <span class="faint">
          of the work that {report && report.steps.count > 0 ? stepRange(report.steps) : "the recording"} launched
        </span>
      </div>
      <SortedTable key={name} model={loaded.model} name={name} howTo={report?.source.record_with} />
    </>
  );
}

type HowTo = Report["source"]["record_with"] | undefined;

function whyNone(name: TableName, howTo: HowTo): string {
  if (name === "modules" || name === "shapes") return notRecorded(name, howTo?.[name]);
  return "Nothing of this kind was recorded.";
}

// Without record_shapes torch writes "[]", or nothing.
function hasShapes(rows: SumRow[]): boolean {
  return rows.some((row) => row.inputShapes !== "" && row.inputShapes !== "[]");
}

function SortedTable({ model, name, howTo }: { model: Model; name: TableName; howTo: HowTo }) {
  const table = useMemo(() => makeTable(model, name), [model, name]);
  if (table.rows.length === 0 || (name === "shapes" && !hasShapes(table.rows)))
    return <p class="faint">{whyNone(name, howTo)}</p>;
  const first = table.columns.find((c) => c.total !== undefined && table.rows.some((r) => Number(c.value(r)) > 0));
  const isOperators = name === "modules" && !table.rows.some((row: SumRow) => row.name.startsWith(kModule));
  return (
    <>
      {isOperators && (
        <p class="faint">
          No modules were recorded; these are the outermost operators.
          {howTo?.modules && ` Recorded with ${howTo.modules}, each module has a row.`}
        </p>
      )}
      <DataTable table={table} startKey={first?.key ?? table.columns[0].key} />
    </>
  );
}

// What the first cell of a row leads to, where it does.
export interface RowOpener<Row> {
  title: string;
  can(row: Row): boolean;
  open(row: Row, from: HTMLElement): void;
}

// Any table: sorted by the column that is chosen, filtered by the texts of its rows, copied as CSV.
export function DataTable<Row>({
  table,
  startKey,
  unfiltered = false,
  ascending = false,
  opens,
}: {
  table: TableKind<Row>;
  startKey?: string;
  unfiltered?: boolean; // short ones need no filter
  ascending?: boolean; // begins with the smallest
  opens?: RowOpener<Row> | undefined;
}) {
  const [sort, setSort] = useState({ key: startKey ?? table.columns[0].key, descending: !ascending });
  const [filter, setFilter] = useState("");
  const [all, setAll] = useState(false);
  const [said, setSaid] = useState("");
  const column = table.columns.find((c) => c.key === sort.key) ?? table.columns[0];
  const rows = useMemo(() => {
    const wanted = filter.trim().toLowerCase();
    const kept =
      wanted === ""
        ? table.rows
        : table.rows.filter((row) =>
            table.columns.some(
              (c) => typeof c.value(row) === "string" && String(c.value(row)).toLowerCase().includes(wanted),
            ),
          );
    return sortRows(kept, column, sort.descending);
  }, [table, filter, column, sort.descending]);
  const shown = all ? rows : rows.slice(0, kMostRows);
  // What no row has is not shown; the first column names the row.
  const columns = useMemo(
    () => table.columns.filter((c, i) => i === 0 || table.rows.some((row) => (c.show?.(row) ?? c.value(row)) !== "")),
    [table],
  );
  const copy = async () => {
    const done = await copyText(tableCsv(table, rows));
    setSaid(done ? `${count(rows.length)} rows copied as CSV` : "The browser did not allow copying");
  };
  return (
    <>
      {!unfiltered && (
        <div class="tools">
          <FilterBox label="filter" value={filter} onInput={setFilter} />
          <button type="button" onClick={copy}>
            Copy as CSV
          </button>
          <span role="status">{said || `${count(rows.length)} rows`}</span>
        </div>
      )}
      <div class="scroll">
        <table class="sortable">
          <thead>
            <tr>
              {columns.map((c) => (
                <th
                  class={c.show ? "n" : ""}
                  aria-sort={c.key === sort.key ? (sort.descending ? "descending" : "ascending") : "none"}
                  title={c.help}
                >
                  <button
                    type="button"
                    onClick={() =>
                      setSort({ key: c.key, descending: c.key === sort.key ? !sort.descending : c.show !== undefined })
                    }
                  >
                    {c.title} {c.key === sort.key ? (sort.descending ? "▼" : "▲") : ""}
                  </button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((row) => (
              <tr>
                {columns.map((c, i) => (
                  <td
                    class={c.show ? "n" : isShort(c.value(row)) ? "name short" : "name"}
                    title={c.show ? "" : String(c.value(row))}
                  >
                    {i === 0 && opens?.can(row) ? (
                      <button
                        type="button"
                        class="link"
                        title={opens.title}
                        onClick={(e) => opens.open(row, e.currentTarget)}
                      >
                        {c.show ? c.show(row) : c.value(row)}
                      </button>
                    ) : (
                      (c.show?.(row) ?? <div class="clamp">{c.value(row)}</div>)
                    )}
                    {c.total !== undefined && c.total > 0 && <Share ratio={Number(c.value(row)) / c.total} />}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > shown.length && (
        <button type="button" class="link" onClick={() => setAll(true)}>
          show all {count(rows.length)} rows
        </button>
      )}
    </>
  );
}

// One word, or few: not parted.
function isShort(value: number | string): boolean {
  return String(value).length <= 20;
}

function Share({ ratio }: { ratio: number }) {
  return (
    <span class="share">
      {percent(ratio)}
      <i style={{ width: `${Math.max(0, Math.min(1, ratio)) * 100}%` }} />
    </span>
  );
}

// The clipboard is not there for every file that a browser opens; a text area works in those.
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}
