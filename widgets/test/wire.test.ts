import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { decode, fromBase64, gunzip, ownBytes } from "../src/wire";
import { told } from "../src/told";
import { bytes, recording } from "./golden";

describe("a container from Python", () => {
  it("gives nodes, steps and exact arrays", () => {
    const rec = recording("broadcast");
    expect(rec.header.nodes.map((n) => n.name)).toEqual(["X", "b", null, null, "L"]);
    expect(rec.kinds).toEqual(
      "seed pull accumulate pull accumulate pull accumulate unbroadcast accumulate leaf leaf".split(" "),
    );
    expect(told(rec, 7)).toContain("summed over axis 0");
    const a = rec.array(rec.header.nodes[2]?.value ?? -1);
    expect(a?.shape).toEqual([2, 3]);
    expect([...(a?.data ?? [])]).toEqual([1 + 0.1, 2 + 0.2, 3 + 0.3, 4 + 0.1, 5 + 0.2, 6 + 0.3]);
    expect(rec.array(-1)).toBeNull();
  });

  it("reads the number of an array that is one, and of no other", () => {
    const rec = recording("fork");
    const [x, y] = rec.header.nodes.map((n) => n.value);
    expect([rec.single(x ?? -1), rec.single(y ?? -1)]).toEqual([
      rec.array(x ?? -1)?.data?.[0],
      rec.array(y ?? -1)?.data?.[0],
    ]);
    expect(rec.single(-1)).toBeNull();
    const large = recording("broadcast");
    expect(large.single(large.header.nodes[0]?.value ?? -1)).toBeNull();
  });

  it("shows the marks that reorder text as what they are, and an escape that somebody wrote as they wrote it", () => {
    const content = new Uint8Array(bytes("broadcast"));
    const length = new DataView(content.buffer).getBigUint64(16, true);
    const end = 32 + Number(length);
    const text = new TextDecoder().decode(content.subarray(32, end));
    const title = String.raw`"eval\u202etxt\u2069 \\u202e \u05d0"`; // as Python writes JSON
    const json = text.replace('"titles":["X"', `"titles":[${title}`);
    const other = new TextEncoder().encode(json.padEnd(Math.ceil(json.length / 8) * 8));
    const made = new Uint8Array(32 + other.length + content.length - end);
    made.set(content.subarray(0, 32));
    made.set(other, 32);
    made.set(content.subarray(end), 32 + other.length);
    new DataView(made.buffer).setBigUint64(16, BigInt(other.length), true);
    expect(decode(made.buffer).header.view.titles[0]).toBe("eval\ufffdtxt\ufffd \\u202e \u05d0");
  });

  it("finds the shares that a node sends, by slot", () => {
    for (const name of ["broadcast", "fork", "routed"] as const) {
      const rec = recording(name);
      rec.header.nodes.forEach((node, id) => {
        const sent = rec.sent(id);
        expect(sent.map((share) => rec.share.consumer[share])).toEqual(sent.map(() => id));
        expect(sent.map((share) => node.inputs[rec.share.slot[share] ?? -1])).toEqual(
          sent.map((share) => rec.share.target[share]),
        );
        const slots = sent.map((share) => rec.share.slot[share] ?? -1);
        expect(slots).toEqual([...slots].sort((a, b) => a - b));
      });
      const all = rec.header.nodes.flatMap((_, id) => rec.sent(id));
      expect(all.sort((a, b) => a - b)).toEqual([...rec.share.consumer.keys()]);
    }
  });

  it("keeps shares with their axes", () => {
    const rec = recording("broadcast");
    const share = rec.header.nodes[1]?.shares[0] ?? -1;
    expect(rec.axes(share)).toEqual([0]);
    expect([rec.share.consumer[share], rec.share.slot[share], rec.share.target[share]]).toEqual([2, 1, 1]);
    expect(rec.axes(rec.header.nodes[0]?.shares[0] ?? -1)).toEqual([]);
  });

  it("brings NaN and infinities through, and counts them", () => {
    const rec = recording("routed");
    const a = rec.array(rec.header.nodes[0]?.value ?? -1);
    expect(a?.data?.[3]).toBe(-Infinity);
    expect(a?.stats).toMatchObject({ neginf: 1, posinf: 0, nan: 0, zeros: 0, min: 0.2, max: 2.1 });
    expect(rec.array(rec.header.nodes[0]?.cotangent ?? -1)?.stats.nan).toBe(1);
  });
});

describe("what is no container", () => {
  it("is refused in words", () => {
    expect(() => decode(new ArrayBuffer(64))).toThrow("not a tensorviz trace");
    expect(() => decode(bytes("fork").slice(0, -8))).toThrow("cut off");
    const newer = bytes("fork").slice(0);
    new DataView(newer).setUint32(8, 99, true);
    expect(() => decode(newer)).toThrow("format 99");
  });
});

describe("bytes", () => {
  it("come out of a view at any offset", () => {
    const whole = new Uint8Array([9, 9, 1, 2, 3, 9]);
    expect([...ownBytes(new DataView(whole.buffer, 2, 3))]).toEqual([1, 2, 3]);
  });

  it("come out of gzip and base64", async () => {
    const packed = gzipSync("text").toString("base64");
    expect(new TextDecoder().decode(await gunzip(fromBase64(packed)))).toBe("text");
  });
});
