// Reads what the page carries: base64 of deflated bytes, in them a directory and columns (docs/formats/page.md).
//
// Browsers inflate with DecompressionStream. Read through a Response, a damaged stream shows as "Failed to fetch",
// which sends people looking for a network problem; so the stream is read piece by piece and the message is ours.

export class DamagedPage extends Error {}

export function base64Bytes(text: string): Uint8Array<ArrayBuffer> {
  let binary: string;
  try {
    binary = atob(text.trim());
  } catch {
    throw new DamagedPage("The data in this page are damaged: they are no base64. Was the file edited or cut?");
  }
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

export async function inflate(packed: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  if (typeof DecompressionStream === "undefined") {
    throw new DamagedPage(
      "This browser is too old for this page: it has no DecompressionStream (browsers of 2023 do).",
    );
  }
  const reader = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate")).getReader();
  const pieces: Uint8Array[] = [];
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      pieces.push(value);
      size += value.length;
    }
  } catch {
    throw new DamagedPage("The data in this page are damaged: they cannot be unpacked. Was the file edited or cut?");
  }
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

// The text of a data element; empty when the page has none of that id.
export async function unpack(id: string): Promise<Container> {
  return new Container(await inflate(base64Bytes(elementText(id))));
}

export function elementText(id: string): string {
  return document.getElementById(id)?.textContent ?? "";
}

export type Column = [encoding: string, offset: number, bytes: number];
export interface Directory {
  format: string;
  version: number;
  origin_ns: string;
  base_ns: string;
  shortest_host_ns: number;
  shortest_gpu_ns: number;
  kinds: string[];
  causes: string[];
  wait_kinds: string[];
  window: [number, number];
  main_device: number | null;
  tables: Record<string, { rows: number; columns: Record<string, Column> }>;
}

const kVersion = 1;

export class Container {
  readonly directory: Directory;
  private readonly body: Uint8Array;

  constructor(bytes: Uint8Array) {
    const length = bytes.length < 4 ? -1 : new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
    if (length < 0 || 4 + length > bytes.length) throw new DamagedPage("The data in this page end too early.");
    try {
      this.directory = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
    } catch {
      throw new DamagedPage("The data in this page are damaged: their directory cannot be read.");
    }
    if (this.directory.format !== "stepscope-page" || this.directory.version !== kVersion) {
      throw new DamagedPage(`The data in this page have version ${this.directory.version}; it reads ${kVersion}.`);
    }
    this.body = bytes.subarray(4 + length);
  }

  rows(table: string): number {
    return this.directory.tables[table]?.rows ?? 0;
  }

  // A column of numbers; zeros where the page has none of that name.
  float64(table: string, column: string): Float64Array {
    return this.numbers(table, column, new Float64Array(this.rows(table)));
  }
  uint32(table: string, column: string): Uint32Array {
    return this.numbers(table, column, new Uint32Array(this.rows(table)));
  }
  uint8(table: string, column: string): Uint8Array {
    return this.numbers(table, column, new Uint8Array(this.rows(table)));
  }

  texts(table: string, column: string): string[] {
    const found = this.find(table, column, "text");
    const rows = this.rows(table);
    if (!found) return new Array<string>(rows).fill("");
    const lengths = new Float64Array(rows);
    let at = decodeUint(found, lengths);
    const decoder = new TextDecoder();
    const out = new Array<string>(rows);
    for (let i = 0; i < rows; i++) {
      out[i] = lengths[i] === 0 ? "" : decoder.decode(found.subarray(at, at + lengths[i]));
      at += lengths[i];
    }
    return out;
  }

  private numbers<T extends Float64Array | Uint32Array | Uint8Array>(table: string, column: string, out: T): T {
    const entry = this.directory.tables[table]?.columns[column];
    if (!entry) return out;
    const bytes = this.slice(entry);
    if (entry[0] === "delta") decodeDelta(bytes, out);
    else decodeUint(bytes, out);
    return out;
  }

  private find(table: string, column: string, encoding: string): Uint8Array | null {
    const entry = this.directory.tables[table]?.columns[column];
    return entry && entry[0] === encoding ? this.slice(entry) : null;
  }

  private slice([, offset, bytes]: Column): Uint8Array {
    if (offset + bytes > this.body.length) throw new DamagedPage("The data in this page end too early.");
    return this.body.subarray(offset, offset + bytes);
  }
}

type Numbers = Float64Array | Uint32Array | Uint8Array;

// Variable-length integers, seven bits a byte, low ones first. Beyond 28 bits shifts of 32-bit integers would lose
// bits, so the rest is added as a number; past 2^53 the last digits go, which only damaged times reach. Returns where
// the numbers end.
export function decodeUint(bytes: Uint8Array, out: Numbers): number {
  let at = 0;
  for (let i = 0; i < out.length; i++) {
    let byte = bytes[at++];
    if (byte < 128) {
      out[i] = byte;
      continue;
    }
    let value = byte & 127;
    let scale = 128;
    do {
      byte = bytes[at++];
      value += (byte & 127) * scale;
      scale *= 128;
    } while (byte >= 128);
    out[i] = value;
  }
  return at;
}

// Differences from the row before, zigzag: 0, -1, 1, -2, ... are 0, 1, 2, 3.
export function decodeDelta(bytes: Uint8Array, out: Numbers): void {
  let at = 0;
  let now = 0;
  for (let i = 0; i < out.length; i++) {
    let byte = bytes[at++];
    let value = byte & 127;
    let scale = 128;
    while (byte >= 128) {
      byte = bytes[at++];
      value += (byte & 127) * scale;
      scale *= 128;
    }
    now += value % 2 === 0 ? value / 2 : -(value + 1) / 2;
    out[i] = now;
  }
}
