import { describe, expect, it } from "vitest";
import { bytesOf, heldBy, itemsize } from "../src/held";
import { recording } from "./golden";

describe("what a pass holds", () => {
  // y = x * x: both operands are one saved value, read when y's rule runs at step 2; x is one number of 8 bytes.
  const held = heldBy(recording("fork"));
  it("counts a value that is saved twice once, until the last rule that reads it", () => {
    expect([...held.lives.values()]).toEqual([{ bytes: 8, readers: [{ node: 1, step: 1 }], last: 1 }]);
    expect([...held.saved]).toEqual([8, 8, 0, 0, 0]);
  });
  it("counts a gradient from its first share until its rule has run; that of a leaf stays", () => {
    expect([...held.gradients]).toEqual([8, 8, 8, 8, 8]);
    expect([held.peak, held.peakStep]).toEqual([16, 0]);
  });
  it("sees at which step most is held", () => {
    const broadcast = heldBy(recording("broadcast"));
    const both = broadcast.saved.map((v, k) => v + (broadcast.gradients[k] ?? 0));
    expect(broadcast.peak).toBe(Math.max(...both));
    expect(broadcast.peakStep).toBe(both.indexOf(broadcast.peak));
  });
});

it("bytes are read off a dtype and written in words", () => {
  expect(["<f8", "<f4", "|b1", "float64", "float16", "bool", "int8"].map(itemsize)).toEqual([8, 4, 1, 8, 2, 1, 1]);
  expect([24, 999, 1500, 3_250_000].map(bytesOf)).toEqual(["24 B", "999 B", "1.5 kB", "3.25 MB"]);
});
