import { describe, expect, it } from "vitest";
import { brief } from "../src/view/cells";
import type { ArrayView } from "../src/wire";
import { said } from "./said";

describe("an array in a cell of the ledger", () => {
  const vector = (...data: number[]) =>
    ({
      shape: [data.length],
      size: data.length,
      data: Float64Array.from(data),
      stats: { norm: Math.hypot(...data), nan: 0, posinf: 0, neginf: 0 },
    }) as unknown as ArrayView;
  const lines = (...data: number[]) => brief(vector(...data)).map((line) => said([line]).trim());

  it("is a row where there is room", () => {
    expect(lines(1, 1, 1, 1)).toEqual(["1  1  1  1"]);
  });
  it("stands upright where its row has no room: norms of shares do not add", () => {
    expect(lines(0.352, 0.629, 1.055, -0.586)).toEqual(["0.352", "0.629", "1.055", "−0.586"]);
  });
  it("is told by its norm where it is long", () => {
    expect(lines(0.352, 0.629, 1.055, -0.586, 0.5)[0]).toContain("‖·‖");
  });
});
