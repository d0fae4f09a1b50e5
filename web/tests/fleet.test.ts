import { describe, expect, it } from "vitest";
import {
  barRanks,
  type Fleet,
  type FleetRank,
  type FleetStops,
  fleetPieces,
  missingStepsOf,
  stopWords,
} from "../src/data/fleet";

const rank = (number: number, late: number | null) =>
  ({
    label: `rank ${number}`,
    rank: number,
    step_ns: 100,
    late_ns: late,
    wait_ns: 20,
    parts: { idle_ns: { python: 10 }, work_ns: { matmul: 60, attention: 15, communication: -5 } },
  }) as unknown as FleetRank;
const fleet = (ranks: FleetRank[]) => ({ ranks }) as unknown as Fleet;

describe("fleet", () => {
  it("draws work first, the longest leading, idle after it and the wait last", () => {
    expect(fleetPieces(rank(0, 0)).map((piece) => piece.kind)).toEqual(["matmul", "attention", "python", "wait"]);
    expect(fleetPieces({ ...rank(0, 0), parts: null })).toEqual([]);
  });
  it("shows all of few ranks and of many the latest, the typical one and the earliest", () => {
    expect(barRanks(fleet([rank(0, 1), rank(1, 5)])).map((r) => r.rank)).toEqual([1, 0]);
    const many = Array.from({ length: 101 }, (_, i) => rank(i, i));
    const shown = barRanks(fleet(many), 5).map((r) => r.rank);
    expect(shown).toEqual([100, 99, 98, 50, 0]);
  });
  it("leaves out ranks whose step is not known", () => {
    expect(barRanks(fleet([{ ...rank(0, null), step_ns: null }, rank(1, 2)]))).toHaveLength(1);
  });
  it("says what Stepscope itself stopped, in the terminal's words", () => {
    const words = (stops: Partial<FleetStops>, groups: unknown[] = [{}]) =>
      stopWords({
        stops: { ranks: [], steps_left_out: [], in_every_step: false, ...stops },
        groups,
      } as unknown as Fleet);
    const first = { rank: "rank 0", count: 1, total_ns: 10e6 };
    const second = { rank: "rank 3", count: 2, total_ns: 5e6 };
    expect(words({})).toBe("");
    expect(words({ ranks: [first], steps_left_out: [7] })).toBe(
      "Stepscope itself stopped rank 0 for 10.0 ms, and others waited for it: step 7 is counted on no rank",
    );
    expect(words({ ranks: [first, second], steps_left_out: [7, 9] }, [])).toBe(
      "Stepscope itself stopped 2 ranks for 15.0 ms together: 2 steps are counted on no rank",
    );
    expect(words({ ranks: [first], in_every_step: true })).toContain("no rank is called late for it");
  });
  it("says which ranks skip which steps, in the terminal's words", () => {
    const skips = (...lists: number[][]) =>
      missingStepsOf(
        fleet(lists.map((list, i) => ({ ...rank(i, 0), missing_steps: list.map((n) => ({ first: n, last: n })) }))),
      );
    const words = (n: number) => `step #${n} is missing in the recording: the time of its gap is left out`;
    expect(skips([], [])).toBe("");
    expect(skips([4], [])).toBe(`rank 0: ${words(4)}`);
    expect(skips([4], [4])).toBe(`all: ${words(4)}`);
    expect(skips([4], [], [4])).toBe(`rank 0 and rank 2: ${words(4)}`);
    expect(skips([4], [4], [4], [])).toBe(`rank 0 and 2 others: ${words(4)}`);
    expect(skips([1], [2], [3], [4], [5], [])).toContain("; 2 more skip other steps");
  });
});
