import { describe, expect, it } from "vitest";
import { barRanks, type Fleet, type FleetRank, fleetPieces } from "../src/data/fleet";

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
});
