import { describe, expect, it } from "vitest";
import { cameFrom, indexOf, sourcesOf, wentTo } from "../src/links";
import { recording } from "./golden";

describe("an entry", () => {
  const rec = recording("broadcast"); // X (2, 3) + b (3,), squared and summed
  const add = rec.header.nodes.findIndex((n) => n.inputs.length === 2);
  it("of a sum came from the entries that broadcasting put beside each other", () => {
    expect(cameFrom(rec, add, 4)).toEqual([
      { node: 0, positions: [4] },
      { node: 1, positions: [1] },
    ]);
  });
  it("of what was broadcast went into each of its copies", () => {
    expect(wentTo(rec, 1, 1)).toEqual([{ node: add, positions: [1, 4] }]);
  });
  it("of a reduced axis came from all of it", () => {
    const root = rec.header.roots[0] ?? -1;
    Object.assign(rec.header.view, { origins: { [`${root}:0`]: { axes: [-1, -1], width: 0, sources: null } } });
    expect(sourcesOf(rec, root, 0, 0)).toEqual([0, 1, 2, 3, 4, 5]);
  });
  it("of an op whose links are not known says so", () => {
    const other = recording("broadcast");
    Object.assign(other.header.view, { origins: { [`${add}:0`]: { axes: null, width: 0, sources: null } } });
    expect(cameFrom(other, add, 0)[0]?.positions).toBeNull();
    expect(wentTo(other, 0, 0)[0]?.positions).toBeNull();
    Object.assign(other.header.view, { origins: null });
    expect(cameFrom(other, add, 0)[1]?.positions).toBeNull();
  });
});

it("positions are written as NumPy would index them", () => {
  expect(indexOf([1, 4], [2, 3])).toBe("[:, 1]");
  expect(indexOf([3, 4, 5], [2, 3])).toBe("[1, :]");
  expect(indexOf([4, 5], [2, 3])).toBe("[1, 1:]");
  expect(indexOf([0, 1], [4])).toBe("[:2]");
  expect(indexOf([0, 4], [2, 3])).toBe(" [0, 0] [1, 1]");
  expect(indexOf([0, 5, 10, 15], [4, 4])).toBe(" [0, 0] [1, 1] [2, 2] … (4)");
  expect(indexOf([0], [])).toBe("");
});
