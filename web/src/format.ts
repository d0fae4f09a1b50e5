// Numbers as the terminal report writes them: a unit always, three digits that mean something, thousands parted.

const kUnits: [number, string][] = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
  [1, "ns"],
];

function threeDigits(value: number): string {
  const size = Math.abs(value);
  if (size >= 1000) return count(Math.round(value));
  return value.toFixed(size >= 99.95 || value === 0 ? 0 : size >= 9.995 ? 1 : 2);
}

export function duration(ns: number | null | undefined): string {
  if (ns === null || ns === undefined || !Number.isFinite(ns)) return "unknown";
  for (const [size, unit] of kUnits) {
    if (Math.abs(ns) >= size * 0.9995) return `${size === 1 ? count(Math.round(ns)) : threeDigits(ns / size)} ${unit}`;
  }
  return ns === 0 ? "0" : `${ns.toFixed(1)} ns`;
}

// All in one unit, so that they compare: "98.5 to 101 ms".
export function durationRange(low: number, high: number): string {
  const [size, unit] = kUnits.find(([s]) => Math.abs(high) >= s) ?? [1, "ns"];
  const spread = Math.abs(high - low) / size;
  const decimals = Math.min(3, Math.max(0, spread > 0 ? Math.ceil(-Math.log10(spread)) + 1 : 1));
  const [from, to] = [(low / size).toFixed(decimals), (high / size).toFixed(decimals)];
  return from === to ? `${to} ${unit}` : `${from} to ${to} ${unit}`;
}

export function count(value: number): string {
  const text = Math.abs(value).toFixed(0);
  return (value < 0 ? "−" : "") + text.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

export function bytes(value: number | null | undefined): string {
  if (value === null || value === undefined || value < 0) return "unknown";
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  let size = value;
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024;
    unit++;
  }
  return `${unit === 0 ? count(size) : threeDigits(size)} ${units[unit]}`;
}

export function percent(ratio: number | null | undefined): string {
  if (ratio === null || ratio === undefined || !Number.isFinite(ratio)) return "unknown";
  const value = ratio * 100;
  if (value !== 0 && Math.abs(value) < 0.1) return "<0.1 %";
  return `${value.toFixed(Math.abs(value) >= 9.95 || value === 0 ? 0 : 1)} %`;
}

export function quantity(value: number): string {
  const units = ["", " K", " M", " G", " T", " P", " E"];
  let unit = 0;
  let size = value;
  while (size >= 1000 && unit < units.length - 1) {
    size /= 1000;
    unit++;
  }
  return `${threeDigits(size)}${units[unit]}`;
}

// The first letter of a sentence.
export function capital(text: string): string {
  return text ? text[0].toUpperCase() + text.slice(1) : text;
}

// "data_loader" -> "data loader"
export function words(key: string): string {
  return key.replaceAll("_", " ");
}

// The words of idle causes, as in the terminal and in docs/glossary.md; the keys are the data's.
const kCauseWords: Record<string, string> = {
  operator: "operators",
  python: "Python",
  launch: "launch calls",
  other_api: "other calls",
  no_event: "unnamed host work",
  unlinked: "launch not known",
};
export function causeWords(key: string): string {
  return kCauseWords[key] ?? words(key);
}

// Names shown on one line: the middle goes, since kernels differ at both ends.
export function shorten(text: string, length: number): string {
  if (text.length <= length) return text;
  const front = Math.ceil((length - 1) * 0.65);
  return `${text.slice(0, front)}…${text.slice(text.length - (length - 1 - front))}`;
}

// A cell of a CSV file (RFC 4180). A leading =, +, - or @ of a text would be run as a formula by spreadsheets.
export function csvCell(value: string | number): string {
  if (typeof value === "number") return String(value);
  const safe = /^[=+\-@\t]/.test(value) ? `'${value}` : value;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
