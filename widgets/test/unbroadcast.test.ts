import { describe, expect, it } from "vitest";
import { unbroadcast } from "../src/view/unbroadcast";
import { make } from "../src/virtual";
import { recording } from "./golden";

/** What is said of b's share, (2, 3) for b of shape (3,), if these axes were summed. */
function said(axes?: number[]): string {
  const rec = recording("broadcast");
  const share = rec.header.nodes[1]?.shares[0] ?? -1;
  expect(rec.axes(share)).toEqual([0]);
  if (axes) rec.share.summed_axes[share] = rec.header.shares.axes.push(axes) - 1;
  return make(unbroadcast(rec, share)).textContent ?? "";
}

describe("a share that is summed", () => {
  it("says why an axis is summed and dropped", () => {
    expect(said()).toContain("b has no axis 0: forward repeats it, backward adds the repeats and drops the axis.");
    expect(said()).not.toContain("must not be summed");
  });

  it("says of an axis of the operand's own size that it must not be summed", () => {
    const text = said([0, 1]);
    expect(text).toContain("b has its own size 3 along axis 1, which must not be summed.");
    expect(text).toContain("b has no axis 0");
    expect(text).toContain("axis 0 is dropped");
    expect(text).not.toContain("size 1 along");
    expect(text).not.toContain("axes 0, 1 are dropped");
  });
});
