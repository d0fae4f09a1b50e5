// What the allocator would have reserved under other settings, best first: the table of `stepscope memory --what-if`.
import type { MemoryDocument, MemoryWhatIf } from "../data/report";
import { bytes, count } from "../format";
import { number, size, text } from "./columns";
import { DataTable, type TableColumn } from "./tables";

export function WhatIfs({ document, onMoment }: { document: MemoryDocument; onMoment(event: number): void }) {
  const rows = document.what_if;
  const [first] = rows;
  const failed = rows.filter((row) => row.oom !== null);
  return (
    <section aria-labelledby="h-what-if">
      <h2 id="h-what-if">Under other allocator settings</h2>
      {!first && (
        <p class="faint">
          Not simulated, as the history is long. Type: stepscope memory {document.source.path} --what-if
        </p>
      )}
      {first?.withheld && <p class="warning">Withheld: {first.withheld}.</p>}
      {first && !first.withheld && (
        <>
          <p>
            {capacityWords(first)} Settings are those of PYTORCH_CUDA_ALLOC_CONF; recorded: {document.settings}.
          </p>
          <DataTable
            table={{
              columns: columnsOf(rows, document.settings),
              rows: rows.map((row, i) => ({ ...row, place: i + 1 })),
            }}
            startKey="place"
            ascending
            unfiltered
          />
          {failed.length > 0 && <Failures rows={failed} onMoment={onMoment} />}
        </>
      )}
      {first && first.replay_total > 0 && (
        <p class="faint">
          Proof: the recorded requests, replayed under the recorded settings, got {count(first.replay_matched)} of{" "}
          {count(first.replay_total)} addresses as recorded, and {count(first.replay_device_calls_matched)} of{" "}
          {count(first.replay_device_calls_total)} calls of the device.
        </p>
      )}
    </section>
  );
}

const kMostFailures = 6;
function Failures({ rows, onMoment }: { rows: MemoryWhatIf[]; onMoment(event: number): void }) {
  return (
    <p class="faint">
      Where the first fail:{" "}
      {rows.slice(0, kMostFailures).map(({ settings, oom }, i) => {
        const event = oom?.entry ?? null;
        return (
          <>
            {i > 0 && ", "}
            {settings}
            {event !== null && (
              <>
                {" "}
                <button type="button" class="link" onClick={() => onMoment(event)}>
                  at event {count(event)}
                </button>
              </>
            )}
          </>
        );
      })}
      .
    </p>
  );
}

function capacityWords(row: MemoryWhatIf): string {
  return row.capacity_bytes === null
    ? "The recorded requests, played again without a limit."
    : `The recorded requests, played again with ${bytes(row.capacity_bytes)}, all that there was when one failed.`;
}

interface Row extends MemoryWhatIf {
  place: number;
}

export function outcome(row: MemoryWhatIf): string {
  if (row.oom === null) return "all served";
  return row.oom.entry === null ? "one fails" : `fails at event ${count(row.oom.entry)}`;
}

function columnsOf(rows: MemoryWhatIf[], recorded: string): TableColumn<Row>[] {
  const hasLeast = rows.some((row) => row.least_capacity_bytes !== null);
  const named = (r: Row) => (r.settings === recorded ? `${r.settings} (recorded)` : r.settings);
  return [
    text("settings", "settings", "of PYTORCH_CUDA_ALLOC_CONF", named),
    number("place", "place", "best first", (r) => r.place),
    size(
      "reserved",
      "reserved peak",
      "taken from the device; up to the failure, if one fails",
      (r) => r.reserved_peak_bytes,
    ),
    text("outcome", "the requests", "whether all are served", outcome),
    ...(hasLeast
      ? [
          size<Row>(
            "least",
            "needs",
            "the least memory under which all requests are served",
            (r) => r.least_capacity_bytes,
          ),
        ]
      : []),
    number("retries", "retries", "times that the device refused and the cache was released", (r) => r.retries),
    number("calls", "device calls", "each waits for the GPU", (r) => r.cuda_malloc_count),
  ];
}
