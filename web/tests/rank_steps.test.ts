import { describe, expect, it } from "vitest";
import { Container } from "../src/data/container";
import type { Fleet } from "../src/data/fleet";
import { type LinePaint, paintLine, partsOf, pixelOf, ranksOfLines, readRankSteps } from "../src/fleet/rank_steps";
import { View } from "../src/timeline/scale";
import { amount, text } from "../src/views/columns";
import { rankOrder } from "../src/views/rank_lanes";
import { sortRows, tableCsv } from "../src/views/tables";
import { container } from "./columns";

// Two ranks, two steps of 100: rank 1 works 90 of it, rank 0 works 60 and waits 30; both transfer 10.
const steps = () =>
  readRankSteps(
    new Container(
      container(
        {
          rank_steps: {
            rank: { delta: [0, 1, 0, 1] },
            step: { delta: [4, 4, 5, 5] },
            start_ns: { delta: [0, 5, 100, 105] },
            duration_ns: { uint: [100, 100, 100, 100] },
            wait_ns: { uint: [30, 0, 30, 0] },
            communication_ns: { uint: [10, 10, 10, 10] },
          },
        },
        { left_out_count: 3 },
      ),
    ),
  );
const paint: LinePaint = { background: 0, edge: 9, parts: { own: 1, communication: 2, wait: 3 } };

describe("steps of ranks", () => {
  it("are read by rank, in order of time", () => {
    const read = steps();
    expect([read.count, read.low, read.high, read.leftOut]).toEqual([4, 0, 205, 3]);
    expect(read.rows.get(1)).toEqual([1, 3]);
    expect(partsOf(read, 0)).toEqual({ own: 60, communication: 10, wait: 30 });
  });
  it("are empty where there are none", () => {
    const read = readRankSteps(new Container(container({})));
    expect([read.count, read.low, read.high]).toEqual([0, 0, 1]);
  });
});

describe("a line of pixels", () => {
  it("has own work, communication and waits, each as long as it is", () => {
    const line = new Uint32Array(100);
    const read = steps();
    paintLine(line, read, read.rows.get(0) ?? [], new View(0, 100, 100, 0, 205), paint);
    const counted = [0, 1, 2, 3, 9].map((colour) => line.filter((pixel) => pixel === colour).length);
    expect(counted).toEqual([0, 59, 10, 30, 1]); // the first is the step's edge
    expect([line[0], line[59], line[60], line[69], line[70], line[99]]).toEqual([9, 1, 2, 2, 3, 3]);
  });
  it("is empty where a rank has no step, and never leaves its ends", () => {
    const line = new Uint32Array(40);
    const read = steps();
    paintLine(line, read, read.rows.get(1) ?? [], new View(-1000, -500, 40, 0, 205), paint);
    expect([...new Set(line)]).toEqual([0]);
    paintLine(line, read, read.rows.get(1) ?? [], new View(50, 60, 40, 0, 205), paint);
    expect([...new Set(line)]).toEqual([1]);
  });
  it("shows of ranks that share it the first in order", () => {
    expect([...ranksOfLines([7, 3, 5, 1], 2, (index) => index / 2)]).toEqual([7, 5]);
    expect([...ranksOfLines([7], 2, (index) => index - 1)]).toEqual([-1, -1]);
  });
  it("has the colours of the page", () => {
    expect(pixelOf("#123456")).toBe(0xff563412);
  });
});

describe("rows of ranks", () => {
  const fleet = { ranks: [{ late_ns: 1 }, { late_ns: 9 }, { late_ns: null }] } as unknown as Fleet;
  it("stand by rank or the latest first, and only those that have steps", () => {
    expect(rankOrder(fleet, steps(), "rank")).toEqual([0, 1]);
    expect(rankOrder(fleet, steps(), "late")).toEqual([1, 0]);
  });
});

describe("columns", () => {
  const column = amount<{ n: number | null }>("n", "n", "", (r) => r.n, String);
  const rows = [{ n: 2 }, { n: null }, { n: -5 }];
  it("leave what is missing empty, and sort it last", () => {
    expect(rows.map((row) => column.show?.(row))).toEqual(["2", "", "-5"]);
    expect(sortRows(rows, column, true).map((r) => r.n)).toEqual([2, -5, null]);
    expect(tableCsv({ columns: [column, text("t", "t", "", () => "x")], rows }, rows)).toBe("n,t\n2,x\n,x\n-5,x\n");
  });
});
