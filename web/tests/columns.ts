// Writes containers as the program does, for tests: what is written here is what docs/formats/page.md says.
import type { Column } from "../src/data/container";

export type TestColumn = { uint: number[] } | { delta: number[] } | { text: string[] };
export type TestTables = Record<string, Record<string, TestColumn>>;

export function varint(value: number): number[] {
  const out: number[] = [];
  let rest = value;
  while (rest >= 128) {
    out.push((rest % 128) + 128);
    rest = Math.floor(rest / 128);
  }
  out.push(rest);
  return out;
}

function columnBytes(column: TestColumn): [string, number[], number] {
  if ("uint" in column) return ["uint", column.uint.flatMap(varint), column.uint.length];
  if ("text" in column) {
    const texts = column.text.map((text) => [...new TextEncoder().encode(text)]);
    return ["text", [...texts.flatMap((t) => varint(t.length)), ...texts.flat()], texts.length];
  }
  let before = 0;
  const bytes = column.delta.flatMap((value) => {
    const difference = value - before;
    before = value;
    return varint(difference >= 0 ? difference * 2 : -difference * 2 - 1);
  });
  return ["delta", bytes, column.delta.length];
}

export function container(tables: TestTables, head: Record<string, unknown> = {}): Uint8Array {
  const body: number[] = [];
  const directory: Record<string, { rows: number; columns: Record<string, Column> }> = {};
  for (const [name, columns] of Object.entries(tables)) {
    directory[name] = { rows: 0, columns: {} };
    for (const [key, column] of Object.entries(columns)) {
      const [encoding, bytes, rows] = columnBytes(column);
      directory[name].columns[key] = [encoding, body.length, bytes.length];
      directory[name].rows = rows;
      body.push(...bytes);
    }
  }
  const text = new TextEncoder().encode(
    JSON.stringify({
      format: "stepscope-page",
      version: 1,
      origin_ns: "1000",
      base_ns: "0",
      shortest_host_ns: 0,
      shortest_gpu_ns: 0,
      kinds: ["matmul", "copy"],
      causes: ["data_loader", "kernel_gap"],
      wait_kinds: ["stream"],
      window: [0, 100],
      main_device: 0,
      ...head,
      tables: directory,
    }),
  );
  const out = new Uint8Array(4 + text.length + body.length);
  new DataView(out.buffer).setUint32(0, text.length, true);
  out.set(text, 4);
  out.set(body, 4 + text.length);
  return out;
}

// A step of 100 ns: an operator with its call and two kernels, between which the GPU waits 30 ns for data; the second
// kernel has no known launch. Strings: 1 aten::mm, 2 cudaLaunchKernel, 3 gemm, 4 copy, 5 forward, 6 7, 7 loader.
export const kStrings = ["", "aten::mm", "cudaLaunchKernel", "gemm", "copy", "forward", "7", "loader", "[[2, 3]]"];
export function smallTables(): TestTables {
  return {
    threads: {
      key: { uint: [6] },
      name: { uint: [0] },
      process: { uint: [6] },
      host_count: { uint: [3] },
      left_out_count: { uint: [0] },
      is_main: { uint: [1] },
    },
    devices: { number: { delta: [0] }, name: { uint: [0] } },
    streams: { device: { uint: [0] }, key: { uint: [6] }, gpu_count: { uint: [2] }, left_out_count: { uint: [0] } },
    host: {
      start_ns: { delta: [0, 2, 4] },
      duration_ns: { uint: [90, 20, 5] },
      kind: { uint: [0, 1, 2] },
      name: { uint: [5, 1, 2] },
      shapes: { uint: [0, 8, 0] },
      types: { uint: [0, 0, 0] },
      call_stack: { uint: [0, 0, 0] },
      forward: { delta: [0, 0, 0] },
    },
    gpu: {
      start_ns: { delta: [10, 70] },
      duration_ns: { uint: [30, 20] },
      kind: { uint: [0, 1] },
      name: { uint: [3, 4] },
      launch: { delta: [3, 0] },
      operator: { delta: [2, 0] },
      operator_name: { uint: [0, 0] },
      bytes: { uint: [0, 1001] },
      config: { uint: [0, 0] },
      collective: { uint: [0, 0] },
    },
    steps: {
      number: { delta: [4] },
      host_start_ns: { delta: [0] },
      host_end_ns: { delta: [90] },
      start_ns: { delta: [0] },
      end_ns: { delta: [100] },
      gpu_event_count: { uint: [2] },
      gpu_busy_ns: { uint: [50] },
    },
    step_idle: { length_ns: { uint: [40, 10] } },
    gaps: {
      device: { uint: [0, 0] },
      start_ns: { delta: [40, 90] },
      duration_ns: { uint: [30, 10] },
      ended_by: { delta: [2, 0] },
      detail: { uint: [7, 0] },
      part_count: { uint: [2, 1] },
    },
    gap_parts: { cause: { uint: [0, 1, 1] }, length_ns: { uint: [24, 6, 10] } },
    waits: {
      thread: { uint: [0] },
      start_ns: { delta: [60] },
      duration_ns: { uint: [25] },
      call: { delta: [3] },
      kind: { uint: [0] },
      condition: { delta: [2] },
      blocked: { uint: [1] },
      hidden: { uint: [1] },
    },
    memory: {
      device_number: { delta: [0, 0] },
      time_ns: { delta: [5, 50] },
      allocated_bytes: { delta: [100, 50] },
      reserved_bytes: { delta: [200, -1] },
    },
    queue: { time_ns: { delta: [4, 40] }, depth_count: { delta: [1, 0] } },
    operators: {
      name: { text: ["aten::mm", "=cmd()"] },
      input_shapes: { text: ["", ""] },
      count: { uint: [3, 1] },
      self_device_ns: { delta: [30, 0] },
      device_ns: { delta: [30, 0] },
      self_cpu_ns: { delta: [15, 7] },
      cpu_ns: { delta: [20, 7] },
    },
    kernels: {
      name: { text: ["gemm", "copy"] },
      kind: { uint: [0, 1] },
      tensor_cores: { uint: [0, 2] },
      count: { uint: [1, 1] },
      total_ns: { delta: [30, 20] },
    },
    stacks_gpu: { stack: { text: ["a.py(1):_f;b", "a.py(1):_f;c"] }, value_us: { uint: [3, 1] } },
    strings: { text: { text: kStrings } },
  };
}
