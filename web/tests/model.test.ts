import { describe, expect, it } from "vitest";
import { Container } from "../src/data/container";
import { Model } from "../src/data/model";
import { search } from "../src/data/search";
import { rangeTotals } from "../src/data/totals";
import { cpuTree, gpuTree, layoutFlame, treeOfStacks, unfolded } from "../src/flame/tree";
import { flameTree, heaviest } from "../src/views/flame";
import { makeTable, sortRows, tableCsv } from "../src/views/tables";
import { container, smallTables } from "./columns";

const model = () => new Model(new Container(container(smallTables())));

describe("model", () => {
  it("knows ends, threads, streams and bounds", () => {
    const m = model();
    expect([...m.host.end]).toEqual([90, 22, 9]);
    expect([...m.gpu.end]).toEqual([40, 90]);
    expect([m.start, m.end]).toEqual([0, 90]);
    expect(m.threads[0].label).toBe("thread 7");
    expect(m.fromFileClock(1040)).toBe(40);
  });
  it("walks from a call out to its operator and span", () => {
    expect(model().path(2)).toEqual([0, 1, 2]);
  });
  it("finds what a call launched", () => {
    expect(model().gpuRowsOf(2)).toEqual([0]);
    expect(model().gpuRowsOf(1)).toEqual([]);
  });
  it("leaves out samples that were not recorded", () => {
    const [memory] = model().memory();
    expect([...memory.allocated.value]).toEqual([100, 50]);
    expect([...memory.reserved.value]).toEqual([200]);
  });
});

describe("totals of a range", () => {
  it("are exact for the whole step: parts add up to its length", () => {
    const totals = rangeTotals(model(), 0, 100);
    const [device] = totals.devices;
    expect(device.busy).toBe(50);
    expect(device.byKind).toEqual([
      ["matmul", 30],
      ["copy", 20],
    ]);
    expect(device.idleByCause).toEqual([
      ["data_loader", 24],
      ["kernel_gap", 16],
    ]);
    expect(totals.waits).toBe(1);
    expect(totals.waited).toBe(25);
  });
  it("cut what lies across the edges", () => {
    const [device] = rangeTotals(model(), 20, 55).devices;
    expect(device.busy).toBe(20);
    expect(device.idleByCause).toEqual([
      ["data_loader", 12],
      ["kernel_gap", 3],
    ]);
  });
  it("count streams side by side once", () => {
    const tables = smallTables();
    tables.gpu.start_ns = { delta: [10, 20] };
    const [device] = rangeTotals(new Model(new Container(container(tables))), 0, 100).devices;
    expect(device.busy).toBe(30);
  });
});

describe("search", () => {
  it("finds events by part of a name in order of time", () => {
    const found = search(model(), "GEM");
    expect(found?.found).toEqual([{ kind: "gpu", row: 0 }]);
    expect(search(model(), "o")?.found.map((f) => f.kind)).toEqual(["host", "gpu"]);
    expect(search(model(), "  ")).toBeNull();
  });
});

describe("tables", () => {
  it("sort by number and by name", () => {
    const table = makeTable(model(), "kernels");
    const total = table.columns.find((c) => c.key === "total_ns");
    if (!total) throw new Error("no column");
    expect(sortRows(table.rows, total, false).map((r) => r.name)).toEqual(["copy", "gemm"]);
    expect(sortRows(table.rows, table.columns[0], true).map((r) => r.name)).toEqual(["gemm", "copy"]);
  });
  it("write CSV in which no name becomes a formula", () => {
    const table = makeTable(model(), "operators");
    const csv = tableCsv(table, table.rows);
    expect(csv).toContain("aten::mm,30,15,20,30,3");
    expect(csv).toContain("'=cmd()");
  });
});

describe("flame graphs", () => {
  it("add stacks up", () => {
    const tree = treeOfStacks(model().foldedStacks("stacks_gpu"));
    expect(tree.value).toBe(4000);
    expect(tree.children[0].name).toBe("a.py(1): f");
    expect(tree.children[0].children.map((c) => [c.name, c.value])).toEqual([
      ["b", 3000],
      ["c", 1000],
    ]);
    expect(unfolded("<built-in_method_to_of_Tensor_object_at_0x7>")).toBe(
      "<built-in method to of Tensor object at 0x7>",
    );
  });
  it("put GPU time under the operators that launched it, kernels as leaves", () => {
    const tree = gpuTree(model(), "operators");
    expect(tree.value).toBe(50);
    expect(heaviest(tree).find((r) => r.name === "gemm")?.self).toBe(30);
    expect(tree.children.map((c) => c.name)).toEqual(["forward", "(outside operators)"]);
  });
  it("give host time once: what a row's children leave", () => {
    const tree = cpuTree(model(), "operators");
    expect(tree.value).toBe(90);
    expect(heaviest(tree).map((r) => [r.name, r.self])).toEqual([
      ["forward", 70],
      ["aten::mm", 15],
      ["cudaLaunchKernel", 5],
    ]);
  });
  it("fill the width", () => {
    const boxes = layoutFlame(flameTree(model(), "GPU time", "Python stack"), 0);
    expect(boxes.filter((b) => b.depth === 2).map((b) => [b.from, b.to])).toEqual([
      [0, 0.75],
      [0.75, 1],
    ]);
  });
});
