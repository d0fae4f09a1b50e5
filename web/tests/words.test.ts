import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { disturbedWords, stepSpread } from "../src/data/report";
import { causeWords } from "../src/format";

describe("words", () => {
  it("of idle causes are the glossary's", () => {
    const glossary = readFileSync("../docs/glossary.md", "utf8");
    const rows = glossary.split("\n").filter((row) => /^\| .*\(`[a-z_]+`\)/.test(row));
    const said = rows.flatMap((row) => [...row.split("|")[1].matchAll(/([A-Za-z ]+) \(`([a-z_]+)`\)/g)]);
    const words = new Map(said.map((each) => [each[2], each[1].trim()]));
    for (const key of ["operator", "python", "launch", "other_api", "no_event", "unlinked"])
      expect(causeWords(key)).toBe(words.get(key));
    expect(causeWords("kernel_gap")).toBe("kernel gap");
  });
  it("of the step's range are the terminal's: all of a few steps, percentiles of ten", () => {
    const steps = (count: number) => ({ count, p10_ns: 11, p90_ns: 19 }) as never;
    expect(stepSpread(steps(3), [10, 30, 20])).toEqual({ low: 10, high: 30, isAll: true });
    expect(stepSpread(steps(10), [10, 30])).toEqual({ low: 11, high: 19, isAll: false });
    expect(stepSpread(steps(1), [10])).toBeNull();
    expect(stepSpread(steps(3), [])).toBeNull();
  });
  it("of steps that Stepscope stopped are the terminal's", () => {
    const steps = (numbers: number[], cause: string) => numbers.map((step) => ({ step, cause }));
    expect(disturbedWords([])).toEqual([]);
    expect(disturbedWords([...steps([7], "A"), ...steps([1, 2, 3, 4, 5, 6, 8, 9, 10], "B")])).toEqual([
      "1 step left out: A in it (#7)",
      "9 steps left out: B in them (#1, #2, #3, #4, #5, #6, #8, #9, …)",
    ]);
  });
});
