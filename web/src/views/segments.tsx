// The segments of a snapshot: what the allocator held from the device, and how it lay in it.
import { useMemo } from "preact/hooks";
import type { Theme } from "../colours";
import { bytes, count } from "../format";
import { colouring } from "../memory/colouring";
import type { MemoryDevice, MemoryModel } from "../memory/model";

const kMostSegments = 120;

// What the allocator held from the device when the snapshot was written: a row a segment, free pieces hatched.
export function Segments({ model, device, theme }: { model: MemoryModel; device: MemoryDevice; theme: Theme }) {
  const rows = useMemo(() => {
    const all = Array.from({ length: device.segmentEnd - device.segmentBegin }, (_, i) => device.segmentBegin + i);
    return all.sort((a, b) => model.segmentBytes[b] - model.segmentBytes[a]);
  }, [model, device]);
  if (rows.length === 0) return null;
  const colours = colouring(model, device, "line", theme);
  const largest = model.segmentBytes[rows[0]];
  return (
    <section>
      <h2>Segments at the end</h2>
      <p>
        {count(rows.length)} segments; {bytes(device.freeBytes)} of them are free in {count(device.freePieces)} pieces,
        the largest {bytes(device.largestFree)}.
        {device.freeBytes > 0 &&
          ` A request larger than that needs new memory from the device although ${bytes(device.freeBytes)} are free.`}
      </p>
      <div class="segments">
        {rows.slice(0, kMostSegments).map((segment) => {
          const total = model.segmentBytes[segment];
          const blocks = Array.from(
            { length: model.blockBegin[segment + 1] - model.blockBegin[segment] },
            (_, i) => model.blockBegin[segment] + i,
          );
          return (
            <div class="segment-row">
              <span class="n">{bytes(total)}</span>
              <span class="faint">
                {model.segmentExpandable[segment] ? "expandable" : model.segmentSmall[segment] ? "small" : "large"}
              </span>
              <div class="bar small" style={{ width: `${Math.max(3, (total / largest) * 100)}%` }}>
                {mergeBlocks(model, blocks, total).map(({ size, block }) => (
                  <div
                    class={model.blockState[block] === 0 ? "segment free" : "segment"}
                    style={{
                      width: `${(size / total) * 100}%`,
                      "--fill":
                        model.blockState[block] === 0
                          ? "transparent"
                          : colours.colourOf(model.text(model.blockLine[block])),
                    }}
                    title={`${bytes(size)} ${model.blockState[block] === 0 ? "free" : model.text(model.blockLine[block])}`}
                  />
                ))}
              </div>
            </div>
          );
        })}
      </div>
      {rows.length > kMostSegments && (
        <p class="faint">{count(rows.length - kMostSegments)} smaller ones are not drawn.</p>
      )}
    </section>
  );
}

// Neighbours of one line and state as one piece: a segment of small blocks has thousands.
function mergeBlocks(model: MemoryModel, blocks: number[], total: number): { size: number; block: number }[] {
  const out: { size: number; block: number }[] = [];
  for (const block of blocks) {
    const last = out[out.length - 1];
    const same =
      last &&
      model.blockState[last.block] === model.blockState[block] &&
      model.blockLine[last.block] === model.blockLine[block];
    const tiny = last && model.blockBytes[block] < total / 800;
    if (same || tiny) last.size += model.blockBytes[block];
    else out.push({ size: model.blockBytes[block], block });
  }
  return out;
}
