// Finding events by name: each distinct text is looked at once, then each event costs a byte.
import type { Model } from "./model";

export interface Found {
  kind: "host" | "gpu";
  row: number;
}
export interface SearchResult {
  matches: Uint8Array; // by string id
  found: Found[]; // in order of time
  names: number;
}

export function search(model: Model, query: string): SearchResult | null {
  const wanted = query.trim().toLowerCase();
  if (wanted === "") return null;
  const matches = new Uint8Array(model.strings.length);
  let names = 0;
  for (let i = 1; i < model.strings.length; i++) {
    if (model.strings[i].toLowerCase().includes(wanted)) {
      matches[i] = 1;
      names++;
    }
  }
  const found: Found[] = [];
  const { host, gpu } = model;
  for (let row = 0; row < host.count; row++) if (matches[host.name[row]]) found.push({ kind: "host", row });
  for (let row = 0; row < gpu.count; row++) if (matches[gpu.name[row]]) found.push({ kind: "gpu", row });
  const time = (f: Found) => (f.kind === "host" ? host.start[f.row] : gpu.start[f.row]);
  found.sort((a, b) => time(a) - time(b));
  return { matches, found, names };
}
