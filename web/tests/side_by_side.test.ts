import { describe, expect, it } from "vitest";
import { Container } from "../src/data/container";
import type { DifferenceDocument, PartRow, WorkRow } from "../src/data/difference";
import { Model, type Step } from "../src/data/model";
import { canFind, isName, medianStep, occurrences, stepsOf, type Wanted, wantedName } from "../src/data/occurrences";
import { type PageDocument, readDocument, sidesOf } from "../src/data/report";
import type { TimelineController } from "../src/timeline/controller";
import { TimelinePair } from "../src/timeline/pair";
import { View } from "../src/timeline/scale";
import { container, smallTables } from "./columns";

const model = () => new Model(new Container(container(smallTables())));
const identity = (operator: string | null, kernel: string, shapes: string | null = null) => ({
  operator,
  kernel,
  shapes,
  place: null,
});
const work = (before: object | null, after: object | null): Wanted => ({
  kind: "work",
  row: { match: "same", before, after } as WorkRow,
});
const steps = (lengths: number[]) => lengths.map((length) => ({ start: 10, end: 10 + length }) as Step);

describe("occurrences", () => {
  const m = model();
  const [step] = stepsOf(m);
  it("finds GPU work by kernel, operator and shapes", () => {
    const found = (one: object) =>
      occurrences(m, step, work(one, null), "before").map(({ kind, row }) => `${kind} ${row}`);
    expect(found(identity("aten::mm", "gemm", "[[2, 3]]"))).toEqual(["gpu 0"]);
    expect(found(identity("aten::mm", "gemm"))).toEqual(["gpu 0"]);
    expect(found(identity("aten::mm", "gemm", "[[9, 9]]"))).toEqual(["gpu 0"]); // of other shapes where there is no better
    expect(found(identity("aten::mm", "copy"))).toEqual([]);
    expect(found(identity(null, "copy"))).toEqual(["gpu 1"]);
  });
  it("finds nothing on the side that has no such work", () => {
    expect(occurrences(m, step, work(identity("aten::mm", "gemm"), null), "after")).toEqual([]);
  });
  it("finds nothing outside the step", () => {
    const early = { ...step, start: 0, end: 9, hostStart: 0, hostEnd: 1 };
    expect(occurrences(m, early, work(identity("aten::mm", "gemm"), null), "before")).toEqual([]);
    expect(occurrences(m, early, { kind: "operator", row: { name: "aten::mm" } as never }, "before")).toEqual([]);
  });
  it("finds operators and calls of the host, but no spans", () => {
    const find = (name: string) => occurrences(m, step, { kind: "operator", row: { name } as never }, "after");
    expect(find("aten::mm")).toEqual([{ kind: "host", row: 1 }]);
    expect(find("cudaLaunchKernel")).toEqual([{ kind: "host", row: 2 }]);
    expect(find("forward")).toEqual([]);
  });
  it("finds a class of work, and idle time by its cause", () => {
    const part = (key: string, kind: "busy" | "idle"): Wanted => ({ kind: "part", row: { key, kind } as PartRow });
    expect(occurrences(m, step, part("copy", "busy"), "after")).toEqual([{ kind: "gpu", row: 1 }]);
    const gaps = occurrences(m, step, part("data_loader", "idle"), "after");
    expect(gaps.map((gap) => gap.kind)).toEqual(["gap"]);
  });
  it("knows names that a summary cut", () => {
    expect(isName("void gemm<float, 3>", "void gemm<… ebe17aed429ad43d")).toBe(true);
    expect(isName("void other", "void gemm<… ebe17aed429ad43d")).toBe(false);
    expect(isName("anything", null)).toBe(true);
  });
  it("names both sides where they differ, and leaves out what stands for many", () => {
    expect(wantedName(work(identity("a", "k"), identity("b", "k")))).toBe("a → b");
    expect(wantedName(work(identity("a", "k"), identity("a", "l")))).toBe("a");
    expect(canFind(work(identity(null, "k"), null))).toBe(true);
    expect(canFind({ kind: "operator", row: { name: null } as never })).toBe(false);
  });
});

describe("steps to choose", () => {
  it("begin with the median one; of two with the shorter", () => {
    expect(medianStep(steps([5, 9, 7]))).toBe(2);
    expect(medianStep(steps([9, 5]))).toBe(1);
    expect(medianStep(steps([4]))).toBe(0);
  });
  it("are the whole recording where none is known", () => {
    const tables = smallTables();
    delete tables.steps;
    const [only] = stepsOf(new Model(new Container(container(tables))));
    expect([only.number, only.start, only.end]).toEqual([-1, 0, 90]);
  });
});

describe("a pair of timelines", () => {
  // What the pair asks of a timeline: its piece of time, and to follow without telling anybody.
  class Fake {
    readonly view: View;
    constructor(readonly model: { start: number; end: number }) {
      this.view = new View(model.start, model.end, 1000, model.start, model.end);
    }
    setBounds(low: number, high: number) {
      [this.view.low, this.view.high] = [low, high];
    }
    follow(start: number, end: number) {
      [this.view.start, this.view.end] = [start, end];
    }
    redraw() {}
  }
  const make = () => {
    const [a, b] = [new Fake({ start: 0, end: 10_000 }), new Fake({ start: 500, end: 90_500 })];
    return { a, b, pair: new TimelinePair(a as unknown as TimelineController, b as unknown as TimelineController) };
  };
  it("keeps two moments at one place while either is moved", () => {
    const { a, b, pair } = make();
    pair.align(2_000, 7_000);
    pair.show(2_000, 6_000, 0);
    expect(a.view.x(2_000)).toBeCloseTo(b.view.x(7_000));
    b.view.zoom(0.5, 300);
    pair.moved(b as unknown as TimelineController);
    expect(a.view.x(2_000)).toBeCloseTo(b.view.x(7_000));
    expect(a.view.perPixel).toBeCloseTo(b.view.perPixel);
  });
  it("goes as far as the longer one reaches", () => {
    const { a, b, pair } = make();
    pair.align(0, 500);
    expect([a.view.low, a.view.high]).toEqual([0, 90_000]);
    expect([b.view.low, b.view.high]).toEqual([500, 90_500]);
    expect(pair.toFirst(pair.toSecond(42))).toBe(42);
  });
});

describe("the recordings of both sides", () => {
  const side = (path: string) => ({ sources: [path] });
  const difference = {
    typical_rank: { before: side("b.json"), after: side("a.json") },
    explaining_rank: null,
  } as unknown as DifferenceDocument;
  const report = (path: string) => ({ source: { path } });
  it("are the page's two where it holds nothing else", () => {
    const page = { ...readDocument(difference), difference } as PageDocument;
    expect(sidesOf(page, () => true)).toEqual([0, 1]);
    expect(sidesOf(page, (index) => index === 0)).toBeNull();
  });
  it("are found by path among reports, which stand worst first", () => {
    const page = readDocument({ ranks: [report("a.json"), report("b.json")] }, difference);
    expect(sidesOf(page, () => true)).toEqual([1, 0]);
    expect(sidesOf(readDocument({ ranks: [report("a.json"), report("c.json")] }, difference), () => true)).toBeNull();
    expect(sidesOf(readDocument({ ranks: [] }), () => true)).toBeNull();
  });
  it("may be one file, given twice", () => {
    const same = {
      typical_rank: { before: side("a.json"), after: side("a.json") },
      explaining_rank: null,
    } as unknown as DifferenceDocument;
    expect(sidesOf(readDocument({ ranks: [report("a.json"), report("a.json")] }, same), () => true)).toEqual([0, 1]);
  });
});
