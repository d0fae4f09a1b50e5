// Operators, kernels, shapes and modules: sorted by any column, filtered by name, copied as CSV.
import { useMemo, useState } from "preact/hooks";
import type { Model } from "../data/model";
import { type Recordings, useModel } from "../data/recordings";
import type { Report } from "../data/report";
import { bytes, count, csvCell, duration, percent, quantity, words } from "../format";

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
  if (name === "kernels") {
    const rows = model.kernels();
    return {
      rows,
      columns: [
        { key: "name", title: "kernel", help: "name of the kernel, copy or set", value: (r) => r.name },
        {
          key: "total_ns",
          title: "GPU time",
          help: "sum of durations",
          value: (r) => r.total,
          show: (r) => duration(r.total),
          total: sum(rows, (r) => r.total),
        },
        { key: "count", title: "count", help: "times run", value: (r) => r.count, show: (r) => count(r.count) },
        {
          key: "mean_ns",
          title: "mean",
          help: "GPU time / count",
          value: (r) => r.total / r.count,
          show: (r) => duration(r.total / r.count),
        },
        {
          key: "kind",
          title: "kind",
          help: "what it does, from its name",
          value: (r) => words(model.directory.kinds[r.kind]),
        },
        {
          key: "tensor_cores",
          title: "tensor cores",
          help: "whether it uses them; empty where it has no use for them",
          value: (r) => r.tensorCores,
        },
      ],
    };
  }
  const rows = model.sums(name);
  const all: (TableColumn<(typeof rows)[number]> | null)[] = [
    { key: "name", title: name === "modules" ? "module" : "operator", help: "as recorded", value: (r) => r.name },
    name === "shapes"
      ? { key: "input_shapes", title: "input shapes", help: "of the operator's inputs", value: (r) => r.inputShapes }
      : null,
    name === "modules"
      ? {
          key: "device_ns",
          title: "GPU time",
          help: "with nested modules, forward and backward",
          value: (r) => r.device,
          show: (r) => duration(r.device),
          total: Math.max(...rows.map((r) => r.device), 1),
        }
      : {
          key: "self_device_ns",
          title: "GPU time",
          help: "of the kernels it launched itself",
          value: (r) => r.selfDevice,
          show: (r) => duration(r.selfDevice),
          total: sum(rows, (r) => r.selfDevice),
        },
    name === "modules"
      ? {
          key: "forward_device_ns",
          title: "forward",
          help: "GPU time of the forward pass",
          value: (r) => r.forwardDevice,
          show: (r) => duration(r.forwardDevice),
        }
      : null,
    name === "modules"
      ? {
          key: "backward_device_ns",
          title: "backward",
          help: "GPU time of the backward pass",
          value: (r) => r.backwardDevice,
          show: (r) => duration(r.backwardDevice),
        }
      : null,
    {
      key: "self_cpu_ns",
      title: "CPU time",
      help: "without the operators inside it",
      value: (r) => r.selfCpu,
      show: (r) => duration(r.selfCpu),
      total: sum(rows, (r) => r.selfCpu),
    },
    {
      key: "cpu_ns",
      title: "CPU total",
      help: "with the operators inside it",
      value: (r) => r.cpu,
      show: (r) => duration(r.cpu),
    },
    name === "modules"
      ? null
      : {
          key: "device_ns",
          title: "GPU total",
          help: "with the operators inside it",
          value: (r) => r.device,
          show: (r) => duration(r.device),
        },
    { key: "count", title: "count", help: "calls", value: (r) => r.count, show: (r) => count(r.count) },
    rows.some((r) => r.flops > 0)
      ? {
          key: "flops",
          title: "FLOPs",
          help: "by PyTorch's formulas",
          value: (r) => r.flops,
          show: (r) => (r.flops > 0 ? quantity(r.flops) : ""),
        }
      : null,
    rows.some((r) => r.deviceMemory !== 0)
      ? {
          key: "device_memory_bytes",
          title: "GPU memory",
          help: "allocated less freed, by itself",
          value: (r) => r.deviceMemory,
          show: (r) =>
            r.deviceMemory < 0 ? `−${bytes(-r.deviceMemory)}` : r.deviceMemory > 0 ? bytes(r.deviceMemory) : "",
        }
      : null,
  ];
  return { rows, columns: all.filter((column) => column !== null) };
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
  for (const row of rows) lines.push(table.columns.map((c) => csvCell(c.value(row))).join(","));
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
  if (!loaded) return <p class="faint">Unpacking the recording…</p>;
  if ("failed" in loaded) return <p role="alert">{loaded.failed}</p>;
  return (
    <>
      <div class="choices" role="tablist" aria-label="Tables">
        {kNames.map((n) => (
          <button type="button" role="tab" aria-selected={n === name} onClick={() => setName(n)}>
            {n[0].toUpperCase() + n.slice(1)}
          </button>
        ))}
        <span class="faint">
          of the work that{" "}
          {report && report.steps.count > 0 ? `steps ${report.steps.first} to ${report.steps.last}` : "the recording"}{" "}
          launched
        </span>
      </div>
      <SortedTable key={name} model={loaded.model} name={name} />
    </>
  );
}

function SortedTable({ model, name }: { model: Model; name: TableName }) {
  const table = useMemo(() => makeTable(model, name), [model, name]);
  if (table.rows.length === 0) {
    const why =
      name === "modules"
        ? "No modules: record with with_stack=True or with_modules=True."
        : "Nothing of this kind was recorded.";
    return <p class="faint">{why}</p>;
  }
  const first = table.columns.find((c) => c.total !== undefined && table.rows.some((r) => Number(c.value(r)) > 0));
  return <DataTable table={table} startKey={first?.key ?? table.columns[0].key} />;
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
  opens,
}: {
  table: TableKind<Row>;
  startKey?: string;
  unfiltered?: boolean; // short ones need no filter
  opens?: RowOpener<Row> | undefined;
}) {
  const [sort, setSort] = useState({ key: startKey ?? table.columns[0].key, descending: true });
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
  const copy = async () => {
    const done = await copyText(tableCsv(table, rows));
    setSaid(done ? `${count(rows.length)} rows copied as CSV` : "The browser did not allow copying");
  };
  return (
    <>
      {!unfiltered && (
        <div class="tools">
          <label>
            filter{" "}
            <input
              type="search"
              value={filter}
              onInput={(e) => setFilter(e.currentTarget.value)}
              placeholder="part of a name"
            />
          </label>
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
              {table.columns.map((c) => (
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
                {table.columns.map((c, i) => (
                  <td class={c.show ? "n" : "name"} title={c.show ? "" : String(c.value(row))}>
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
