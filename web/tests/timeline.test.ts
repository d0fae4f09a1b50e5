import { describe, expect, it } from "vitest";
import { textOn } from "../src/colours";
import { Container } from "../src/data/container";
import { Model } from "../src/data/model";
import * as format from "../src/format";
import { endOfPixel } from "../src/timeline/draw";
import { gallop, hostLanes, LevelIndex, lowerBound, range, rowAt } from "../src/timeline/lanes";
import { byteTicks, countTicks, tickStep, ticks, View } from "../src/timeline/scale";
import { TrackSource } from "../src/timeline/tracks";
import { stepBars } from "../src/views/steps";
import { container, smallTables } from "./columns";

const model = () => new Model(new Container(container(smallTables())));

describe("view", () => {
  it("maps times to pixels and back", () => {
    const view = new View(100, 300, 200, 0, 1000);
    expect(view.x(150)).toBe(50);
    expect(view.time(50)).toBe(150);
  });
  it("zooms around the pointer", () => {
    const view = new View(0, 100_000, 1000, 0, 100_000);
    const before = view.time(300);
    view.zoom(0.5, 300);
    expect(view.time(300)).toBeCloseTo(before);
    expect(view.end - view.start).toBe(50_000);
  });
  it("never loses the recording, and never zooms to nothing", () => {
    const view = new View(0, 1000, 100, 0, 1000);
    view.pan(1e9);
    expect(view.start).toBeLessThan(1000);
    view.zoom(1e-12, 50);
    expect(view.end - view.start).toBeGreaterThanOrEqual(99);
    view.zoom(1e12, 50);
    expect(view.end - view.start).toBeLessThanOrEqual(1040);
  });
  it("marks round times", () => {
    expect(tickStep(130)).toBe(200);
    expect(tickStep(0.2)).toBe(1);
    expect(ticks(0, 3e6, 1e6).map((t) => t.text)).toEqual(["0 ms", "1 ms", "2 ms", "3 ms"]);
    expect(ticks(-5e5, 1, 1e6)[0].text).toBe("0 ms");
    expect(ticks(1_034_400_000, 1_035_600_000, 5e5).map((t) => t.text)).toEqual([
      "1,034.5 ms",
      "1,035.0 ms",
      "1,035.5 ms",
    ]);
    expect(ticks(0, 900, 300)[1].text).toBe("500 ns");
  });
  it("marks round sizes and whole counts", () => {
    const marks = (most: number) => byteTicks(most).map((t) => t.text);
    expect(marks(13.8 * 2 ** 30)).toEqual(["0", "2 GiB", "4 GiB", "6 GiB", "8 GiB", "10 GiB", "12 GiB"]);
    expect(marks(2 ** 30)).toEqual(["0", "0.2 GiB", "0.4 GiB", "0.6 GiB", "0.8 GiB", "1.0 GiB"]);
    expect(marks(900 * 2 ** 20)[1]).toBe("200 MiB");
    expect(marks(3)).toEqual(["0", "1 bytes", "2 bytes", "3 bytes"]);
    for (const most of [1, 17, 1023, 1025, 123456789, 10 ** 11, 10 ** 13, 10 ** 16]) {
      expect(marks(most).length).toBeGreaterThan(1);
      expect(marks(most).length).toBeLessThan(10);
    }
    expect(countTicks(0, 2500, 900).map((t) => t.text)).toEqual(["0", "1,000", "2,000"]);
    expect(countTicks(7, 9, 0.1).map((t) => t.at)).toEqual([7, 8, 9]);
  });
});

describe("lanes", () => {
  const start = Float64Array.from([0, 10, 20, 30]);
  const end = Float64Array.from([5, 15, 25, 35]);
  it("find rows by time", () => {
    const order = range(0, 4);
    expect(lowerBound(order, start, 10)).toBe(1);
    expect(gallop(order, start, 21, 0)).toBe(3);
    expect(gallop(order, start, 99, 1)).toBe(4);
    expect(rowAt(order, start, end, 12, 0)).toBe(1);
    expect(rowAt(order, start, end, 17, 0)).toBe(-1);
    expect(rowAt(order, start, end, 17, 2.5)).toBe(1);
  });
  it("show a long row that begins in the pixel of a short one", () => {
    const from = Float64Array.from([0, 2, 500]);
    const to = Float64Array.from([1, 400, 501]);
    expect(endOfPixel(range(0, 3), from, to, 10, 0)).toBe(1);
    expect(endOfPixel(range(0, 3), from, Float64Array.from([1, 3, 501]), 10, 0)).toBe(2);
  });
  it("put spans above operators, and calls inside their operator", () => {
    const m = model();
    const { lanes, depth } = hostLanes(m.host, m.threads[0], true);
    expect([...depth]).toEqual([0, 1, 2]);
    expect(lanes.map((l) => [...l])).toEqual([[0], [1], [2]]);
  });
  it("do not push the next span deeper when spans begin inside what ends before them", () => {
    // frame 0-12, span 10-30 (begins inside the frame), frame 28-42, span 40-60: as profiler.step() writes them
    const tables = smallTables();
    tables.threads.host_count = { uint: [4] };
    tables.host = {
      start_ns: { delta: [0, 10, 28, 40] },
      duration_ns: { uint: [12, 20, 14, 20] },
      kind: { uint: [3, 0, 3, 0] },
      name: { uint: [1, 5, 1, 5] },
    };
    const m = new Model(new Container(container(tables)));
    expect([...hostLanes(m.host, m.threads[0], true).depth]).toEqual([1, 0, 1, 0]);
  });
  it("know the highest level of a pixel of any width", () => {
    const value = Float64Array.from({ length: 1000 }, (_, i) => (i === 700 ? 99 : i % 7));
    const level = new LevelIndex(Float64Array.from(value.keys()), value);
    expect(level.most).toBe(99);
    expect(level.highest(0, 700)).toBe(6);
    expect(level.highest(10, 1000)).toBe(99);
    expect(level.highest(5, 5)).toBe(4); // no sample: what held before
  });
});

describe("tracks", () => {
  it("stand in order: steps, threads, waits, idle, streams, levels", () => {
    const source = new TrackSource(model());
    const layout = source.layout({ frames: true, collapsed: new Set() });
    expect(layout.tracks.map((t) => t.id)).toEqual([
      "steps",
      "thread0",
      "waits",
      "idle0",
      "stream0",
      "memory of GPU 0",
      "queue depth",
    ]);
    expect(layout.yOfHost(2)).toBeGreaterThan(layout.yOfHost(1));
    expect(layout.yOfGpu(0)).toBeGreaterThan(layout.yOfHost(2));
  });
  it("fold threads away", () => {
    const source = new TrackSource(model());
    const open = source.layout({ frames: true, collapsed: new Set() });
    const closed = source.layout({ frames: true, collapsed: new Set(["thread0"]) });
    expect(closed.height).toBeLessThan(open.height);
    expect(closed.yOfHost(2)).toBe(closed.yOfHost(0));
  });
});

describe("words and numbers", () => {
  it("carry units and three digits", () => {
    expect(format.duration(99_000_000)).toBe("99.0 ms");
    expect(format.duration(0)).toBe("0");
    expect(format.duration(22_660_000)).toBe("22.7 ms");
    expect(format.duration(null)).toBe("unknown");
    expect(format.durationRange(98_500_000, 100_700_000)).toBe("98.5 to 100.7 ms");
    expect(format.bytes(1536)).toBe("1.50 KiB");
    expect(format.percent(0.0004)).toBe("<0.1 %");
    expect(format.percent(0.43)).toBe("43 %");
    expect(format.count(1234567)).toBe("1,234,567");
    expect(format.quantity(23.9e12)).toBe("23.9 T");
    expect(format.shorten("void cutlass::kernel<128>", 12)).toBe("void cut…28>");
  });
  it("keep text readable on its fill", () => {
    expect(textOn("#ffffff")).toBe("#14181d");
    expect(textOn("#222255")).toBe("#ffffff");
  });
  it("draw the longest step of each bin", () => {
    const steps = Array.from({ length: 1000 }, (_, i) => ({
      number: i,
      start: 0,
      end: i === 501 ? 90 : 10,
      hostStart: 0,
      hostEnd: 0,
      gpuEvents: 0,
      busy: null,
      idleByCause: null,
    }));
    const bars = stepBars(steps);
    expect(bars.length).toBeLessThanOrEqual(400);
    expect(bars.some((b) => b.step.number === 501)).toBe(true);
  });
});
