import { describe, expect, it } from "vitest";
import { base64Bytes, Container, DamagedPage, decodeDelta, decodeUint, inflate } from "../src/data/container";
import { container, smallTables, varint } from "./columns";

describe("variable-length integers", () => {
  it("reads what takes one byte, several, and more than 32 bits", () => {
    const values = [0, 1, 127, 128, 300, 2 ** 31, 2 ** 40 + 5, Number.MAX_SAFE_INTEGER];
    const out = new Float64Array(values.length);
    const bytes = Uint8Array.from(values.flatMap(varint));
    expect(decodeUint(bytes, out)).toBe(bytes.length);
    expect([...out]).toEqual(values);
  });
  it("reads differences of both signs", () => {
    const out = new Float64Array(5);
    decodeDelta(Uint8Array.from([10, 3, 0, 1, 0x80, 0x01].concat([])), out);
    expect([...out]).toEqual([5, 3, 3, 2, 66]);
  });
  it("reads as the program writes: zigzag of 0, -1, 1, -2 is 0, 1, 2, 3", () => {
    const out = new Float64Array(4);
    decodeDelta(Uint8Array.from([0, 1, 4, 3]), out);
    expect([...out]).toEqual([0, -1, 1, -1]);
  });
});

describe("container", () => {
  it("gives columns by name, and zeros for those it does not have", () => {
    const c = new Container(container(smallTables()));
    expect([...c.float64("gpu", "start_ns")]).toEqual([10, 70]);
    expect([...c.uint32("gpu", "no_such_column")]).toEqual([0, 0]);
    expect(c.rows("no_such_table")).toBe(0);
    expect(c.texts("strings", "text")[8]).toBe("[[2, 3]]");
  });
  it("keeps texts of several bytes a character", () => {
    const c = new Container(container({ strings: { text: { text: ["", "µs → </script>", "日本"] } } }));
    expect(c.texts("strings", "text")).toEqual(["", "µs → </script>", "日本"]);
  });
  it("refuses what is cut, of another version, or no container, in words", () => {
    const whole = container(smallTables());
    expect(() => new Container(whole.subarray(0, 3))).toThrow(DamagedPage);
    expect(() => new Container(whole.subarray(0, 50))).toThrow(/end too early/);
    const cut = new Container(whole.subarray(0, whole.length - 5));
    expect(() => cut.texts("strings", "text")).toThrow(/end too early/);
    expect(() => new Container(container({}, { version: 99 }))).toThrow(/version 99/);
  });
});

describe("unpacking", () => {
  it("inflates what was deflated", async () => {
    const { deflateSync } = await import("node:zlib");
    const bytes = await inflate(new Uint8Array(deflateSync("one step of many".repeat(100))));
    expect(new TextDecoder().decode(bytes).length).toBe(1600);
  });
  it("says what is wrong with damaged data, and not that a fetch failed", async () => {
    const { deflateSync } = await import("node:zlib");
    const packed = new Uint8Array(deflateSync("one step of many".repeat(100)));
    packed[12] ^= 0xff;
    await expect(inflate(packed)).rejects.toThrow(/damaged/);
    await expect(inflate(packed.subarray(0, 9))).rejects.toThrow(/damaged/);
    expect(() => base64Bytes("no*base64")).toThrow(/damaged/);
  });
});
