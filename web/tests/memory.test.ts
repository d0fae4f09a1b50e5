import { describe, expect, it } from "vitest";
import { Container } from "../src/data/container";
import { bandAt, layoutBands, offsetAt } from "../src/memory/bands";
import { BandPicture, kFloor, kTop } from "../src/memory/draw";
import { MemoryModel } from "../src/memory/model";
import { View } from "../src/timeline/scale";
import { withoutFolders } from "../src/views/memory";
import { container, type TestTables } from "./columns";

// Five entries: a (100) and b (50) are made, a is freed, c (30) is made, b is freed; d (10) is older than the history.
function tables(): TestTables {
  const one = (value: number) => ({ uint: [value] });
  return {
    devices: {
      number: { delta: [0] },
      moment_count: one(6),
      allocation_count: one(4),
      segment_count: one(1),
      has_history: one(1),
      allocated_peak_bytes: { delta: [160] },
      allocated_peak_moment: one(2),
      reserved_peak_bytes: { delta: [200] },
    },
    moments: {
      time_us: { delta: [0, 0, 1, 2, 3, 4] },
      allocated_bytes: { delta: [10, 110, 160, 60, 90, 40] },
      reserved_bytes: { delta: [200, 200, 200, 200, 200, 200] },
    },
    allocations: {
      alloc_moment: { delta: [0, 1, 2, 4] },
      free_moment: { delta: [0, 3, 5, 0] },
      requested_bytes: { uint: [9, 100, 50, 30] },
      size_bytes: { uint: [10, 100, 50, 30] },
      category: { uint: [0, 1, 1, 1] },
      line: { uint: [1, 2, 3, 2] },
      stack: { uint: [0, 1, 0, 1] },
    },
    stacks: { frame_count: { uint: [2] } },
    stack_frames: { text: { uint: [2, 4] } },
    segments: {
      device: one(0),
      address: { delta: [4096] },
      total_bytes: one(200),
      is_small: one(0),
      is_expandable: one(0),
      stream: one(0),
      block_count: one(2),
    },
    blocks: { size_bytes: { uint: [40, 160] }, state: { uint: [1, 0] }, line: { uint: [2, 0] } },
    strings: { text: { text: ["", "older than the history", "train.py:4 step", "train.py:9 loss", "main.py:1"] } },
  };
}
const model = () => new MemoryModel(new Container(container(tables(), { categories: ["parameter", "activation"] })));

describe("memory model", () => {
  it("knows what is held at each moment", () => {
    const m = model();
    const [device] = m.devices;
    expect(m.live(device, 2, "line").map((g) => [g.name, g.bytes])).toEqual([
      ["train.py:4 step", 100],
      ["train.py:9 loss", 50],
      ["older than the history", 9],
    ]);
    expect(m.live(device, 5, "category").map((g) => [g.name, g.bytes, g.count])).toEqual([
      ["activation", 30, 1],
      ["parameter", 9, 1],
    ]);
    expect(m.live(device, 5, "category").some((g) => g.isInferred)).toBe(false);
    expect(m.stackOf(1)).toEqual(["train.py:4 step", "main.py:1"]);
    expect(m.stackOf(0)).toEqual([]);
  });
});

describe("what the recording does not tell", () => {
  const made = tables();
  made.allocations.is_inferred = { uint: [0, 1, 0, 0] };
  made.allocations.is_sum = { uint: [1, 0, 0, 0] };
  const m = new MemoryModel(new Container(container(made, { categories: ["parameter", "activation"] })));

  it("is how many allocations a sum stands for", () => {
    const held = m.live(m.devices[0], 2, "line");
    expect(held.map((g) => [g.name, g.count])).toEqual([
      ["train.py:4 step", 1],
      ["train.py:9 loss", 1],
      ["older than the history", null],
    ]);
    const all = m.live(m.devices[0], 2, "category");
    expect(all.map((g) => [g.name, g.bytes, g.count, g.isInferred])).toEqual([
      ["activation", 150, 2, true],
      ["parameter", 9, null, false],
    ]);
  });
  it("is said of categories that are held, not of those that are gone", () => {
    expect(m.live(m.devices[0], 5, "category").some((g) => g.isInferred)).toBe(false);
  });
});

describe("names", () => {
  it("lose their folders, and nothing else", () => {
    expect(withoutFolders("/work/lab/train.py:41 forward")).toBe("train.py:41 forward");
    expect(withoutFolders("older than the history")).toBe("older than the history");
    expect(withoutFolders("a/b.py without a line")).toBe("a/b.py without a line");
  });
});

// A canvas that remembers its paths.
function paper() {
  const paths: [number, number][][] = [];
  const kept: Record<string, unknown> = {
    beginPath: () => paths.push([]),
    lineTo: (x: number, y: number) => paths[paths.length - 1].push([x, y]),
    measureText: () => ({ width: 10 }),
  };
  const context = new Proxy(kept, { get: (target, key: string) => target[key] ?? (() => undefined) });
  return { paths, context: context as unknown as CanvasRenderingContext2D };
}

describe("picture", () => {
  const levels = (axis: "event" | "time", view: View) => {
    const m = model();
    const picture = new BandPicture(m, m.devices[0], layoutBands(m, m.devices[0]));
    const { paths, context } = paper();
    picture.draw(context, view, { theme: "light", axis, moment: 0, chosen: null, colour: () => "red" });
    // The last two paths are what was allocated and what was reserved.
    const bytes = (y: number) => Math.round(((kFloor - y) / (kFloor - kTop)) * picture.most);
    return paths.slice(-2).map((path) => path.map(([x, y]) => [Math.round(x), bytes(y)]));
  };
  it("has a level of each moment, and falls straight", () => {
    const [allocated, reserved] = levels("event", new View(0, 6, 600, 0, 6));
    const corners = [0, 10, 110, 160, 60, 90, 40].flatMap((level, i) => (i === 0 ? [] : [[100 * (i - 1), level]]));
    const walk = corners.flatMap(([x, level], i) => [
      [x, i === 0 ? level : corners[i - 1][1]],
      [x, level],
    ]);
    expect(allocated).toEqual([...walk, [600, 40]]);
    expect(new Set(reserved.map(([, level]) => level))).toEqual(new Set([200]));
  });
  it("has the highest of the moments inside one pixel", () => {
    const [allocated] = levels("event", new View(0, 600, 100, 0, 600));
    expect(allocated).toContainEqual([0, 160]);
  });
  it("begins and ends where it is looked at", () => {
    const [allocated] = levels("time", new View(1500, 2500, 100, 0, 4000));
    expect(allocated.map(([, level]) => level)).toEqual([160, 160, 160, 60, 60]);
    expect(allocated[allocated.length - 1][0]).toBe(100);
  });
});

describe("bands", () => {
  it("lie on each other and sink when one below goes", () => {
    const m = model();
    const { bands } = layoutBands(m, m.devices[0]);
    const of = (row: number) => {
      const band = bands.find((b) => b.row === row);
      if (!band) throw new Error(`no band ${row}`);
      return band;
    };
    expect(offsetAt(of(1), 2)).toBe(10);
    expect(offsetAt(of(2), 2)).toBe(110);
    expect(offsetAt(of(2), 3)).toBe(10);
    expect(offsetAt(of(3), 4)).toBe(60);
    expect(offsetAt(of(3), 5)).toBe(10);
    expect(of(0).end).toBe(6);
  });
  it("add up to the level at every moment, however many are drawn by themselves", () => {
    const m = model();
    const [device] = m.devices;
    m.size.fill(30); // equal ones: so many as have a place
    device.allocated.set([30, 60, 90, 60, 90, 60]);
    for (const most of [0, 1, 2, 100]) {
      const { all, bands, smallCount } = layoutBands(m, device, most);
      expect([...all]).toEqual([...device.allocated]);
      expect(bands.length + smallCount).toBe(device.allocationEnd - device.allocationBegin);
      expect(bands.length).toBe(Math.min(most, device.allocationEnd - device.allocationBegin));
    }
  });
  it("are found under the pointer", () => {
    const m = model();
    const { bands } = layoutBands(m, m.devices[0]);
    expect(bandAt(bands, 2, 120)?.row).toBe(2);
    expect(bandAt(bands, 3, 12)?.row).toBe(2);
    expect(bandAt(bands, 3, 120)).toBeNull();
  });
});
