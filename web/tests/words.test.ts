import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import {
  disturbedWords,
  missingWords,
  noStepsWords,
  notRecorded,
  type Report,
  stepRange,
  stepSpread,
} from "../src/data/report";
import { causeWords } from "../src/format";
import { stepBars, stepGaps } from "../src/views/steps";

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
  it("of steps that the recording skips are the terminal's", () => {
    const [five, more] = [
      { first: 5, last: 5 },
      { first: 8, last: 13 },
    ];
    expect(missingWords([])).toBe("");
    expect(missingWords([five])).toBe("step #5 is missing in the recording: the time of its gap is left out");
    expect(missingWords([more])).toBe(
      "steps #8 to #13 are missing in the recording: the time of their gap is left out",
    );
    expect(missingWords([five, more, five, more, five])).toBe(
      "steps #5, #8 to #13, #5, #8 to #13, … are missing in the recording: the time of their gaps is left out",
    );
    const range = (missing: (typeof five)[]) => stepRange({ first: 3, last: 20, missing } as never);
    expect(range([])).toBe("steps 3 to 20");
    expect(range([more])).toBe("steps 3 to 20 without #8 to #13");
    expect(range([five, more])).toBe("steps 3 to 20, not all");
  });
  it("of a recording without steps say why where that is known", () => {
    const said = (source_detail: string) => noStepsWords({ source_detail } as Report["steps"]);
    expect(said("")).toContain("name their span with --steps");
    expect(said("only one step's end was recorded")).toBe(
      "No steps are known in this recording: only one step's end was recorded. Record two steps or more.",
    );
    expect(said("no span is named `a`")).toBe("No steps are known in this recording: no span is named `a`.");
  });
  it("of what was not recorded advise only what the tool has", () => {
    expect(notRecorded("shapes", "stepscope run --shapes")).toBe(
      "No shapes were recorded: record with stepscope run --shapes.",
    );
    expect(notRecorded("modules", null)).toBe("No modules were recorded.");
  });
});

describe("bars of steps", () => {
  const steps = (...numbers: number[]) => numbers.map((number, i) => ({ number, start: i, end: i + 1 })) as never;
  it("leave room where numbers are skipped, and tell missing ones from others", () => {
    const gaps = (missing: { first: number; last: number }[]) => stepGaps(stepBars(steps(3, 4, 6, 7, 12)), missing);
    expect(gaps([])).toEqual([
      { before: 2, first: 5, last: 5, isMissing: false },
      { before: 4, first: 8, last: 11, isMissing: false },
    ]);
    expect(gaps([{ first: 5, last: 5 }]).map((gap) => gap.isMissing)).toEqual([true, false]);
    expect(stepGaps(stepBars(steps(3, 4, 5)), [])).toEqual([]);
  });
});
