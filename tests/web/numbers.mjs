// What a page writes as text, back as numbers: to compare with the program's JSON.
import assert from "node:assert/strict";

const kTimes = { ns: 1, "µs": 1e3, ms: 1e6, s: 1e9 };
const kSizes = { bytes: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 };

// "12.4 ms", "1,234 µs", "0"; three digits are shown.
export function number(text) {
  const [value, unit] = text.trim().split(/\s+/);
  return Number(value.replaceAll(",", "").replace("−", "-")) * ({ ...kTimes, ...kSizes, "%": 0.01 }[unit] ?? 1);
}

export function shows(text, value, what = "") {
  const shown = number(text);
  const percent = text.trim().endsWith("%");
  const near = percent ? 0.0051 : Math.abs(value) * 0.0055;
  assert.ok(Math.abs(shown - value) <= near, `${what}: ${text} is ${value}`);
}

// Rows of a copied table. Cells with commas or quotes are quoted.
export function rowsOfCsv(text) {
  const rows = text.trimEnd().split("\n").map((line) => [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain));
  const [titles, ...cells] = rows;
  return cells.map((row) => Object.fromEntries(row.map((cell, i) => [titles[i], cell])));
}
