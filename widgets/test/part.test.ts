import { describe, expect, it } from "vitest";
import { partOf } from "../src/part";

describe("a part of an array", () => {
  const places = (index: string, ...shape: number[]) => partOf(index, shape)?.positions;

  it("is named as in NumPy, by integers and slices", () => {
    expect(partOf("[1, :2]", [3, 4])).toEqual({ shape: [2], positions: [4, 5] });
    expect(partOf("[-1]", [3, 4])).toEqual({ shape: [4], positions: [8, 9, 10, 11] });
    expect(partOf("[::2, 1:3]", [3, 4])).toEqual({ shape: [2, 2], positions: [1, 2, 9, 10] });
    expect(partOf("[..., 0]", [2, 2, 2])).toEqual({ shape: [2, 2], positions: [0, 2, 4, 6] });
    expect(partOf("", [2, 2])?.shape).toEqual([2, 2]);
  });

  it("takes the bounds and steps of slices as Python does", () => {
    expect(places("::-1", 4)).toEqual([3, 2, 1, 0]);
    expect(places("-2:", 4)).toEqual([2, 3]);
    expect(places("2:99", 4)).toEqual([2, 3]);
    expect(places(":-99:-2", 5)).toEqual([4, 2, 0]);
    expect(places("3:1", 4)).toEqual([]);
  });

  it("is none where the index does not fit, or is something else", () => {
    for (const index of [
      "[4]",
      "[-5]",
      "[0, 0]",
      "[::0]",
      "[a]",
      "[[1, 2]]",
      "[1.5]",
      "[:, :]",
      "[0:1:2:3]",
      "[,]",
      "None",
    ])
      expect(partOf(index, [4]), index).toBeNull();
  });
});
