import { describe, expect, it } from "vitest";
import { explaining, isDifference, partRows, pieces, type RankDifference, rowLabel } from "../src/data/difference";
import { readDocument } from "../src/data/report";
import { signed } from "../src/views/difference";

const part = (before: number, after: number, told = true) => ({
  before_ns: before,
  after_ns: after,
  difference_ns: after - before,
  noise_ns: told ? 1 : null,
  is_told: told,
});
const work = (operator: string, kernel: string, before: number, after: number, match = "same") => ({
  ...part(before, after),
  match,
  class: "matmul",
  before: before ? { operator, shapes: null, kernel, place: null } : null,
  after: after ? { operator, shapes: null, kernel, place: null } : null,
  before_call_count: 1,
  after_call_count: 1,
  by_calls_ns: 0,
  by_time_ns: after - before,
});
const rank = {
  rank: 1,
  mean_step: part(100, 160),
  busy_by_class: { matmul: part(60, 70), copy: part(10, 10) },
  idle_by_cause: { data_loader: part(30, 80) },
  work: [work("aten::mm", "a", 40, 60), work("aten::addmm", "b", 20, 0, "gone"), work("aten::bmm", "c", 0, 10, "new")],
} as unknown as RankDifference;
const document = { typical_rank: rank, explaining_rank: null, ranks: [], shown: 0 };

describe("difference", () => {
  it("is known by its document", () => {
    expect(isDifference(document)).toBe(true);
    expect(readDocument(document).difference).toBe(document);
    expect(readDocument({ ranks: [] }).difference).toBeNull();
    expect(explaining(document as never)).toBe(rank);
  });
  it("lists its parts, the largest change first", () => {
    expect(partRows(rank).map((p) => p.key)).toEqual(["data_loader", "matmul", "copy"]);
  });
  it("draws both sides in one order, without gaps", () => {
    const [before, after] = [pieces(rank, "before"), pieces(rank, "after")];
    expect(before.map((p) => p.key)).toEqual(["matmul", "copy", "data_loader"]);
    expect(after.map((p) => p.key)).toEqual(before.map((p) => p.key));
    for (const [side, whole] of [
      [before, 100],
      [after, 160],
    ] as const) {
      let at = 0;
      for (const piece of side) {
        expect(piece.start).toBe(at);
        at += piece.length;
        expect(piece.rows.reduce((sum, row) => sum + row.length, 0)).toBe(piece.key === "matmul" ? piece.length : 0);
      }
      expect(at).toBe(whole);
    }
  });
  it("names a row that is gone by what it was", () => {
    expect(rowLabel(rank.work[1])).toBe("aten::addmm");
  });
  it("signs changes", () => {
    expect([signed(1_500_000), signed(-1_500_000), signed(0)]).toEqual(["+1.50 ms", "−1.50 ms", "0"]);
  });
});
