import { expect, it } from "vitest";
import { route } from "../src/view/route";
import { recording } from "./golden";
import { said } from "./said";

const rec = recording("routed");
const share = rec.share.route.findIndex((part) => part >= 0);
const LOCAL = 1e6; // a position at which no record has an array
/** The same share with other weights; `axes` are those along which its operand was broadcast, into four copies of each entry. */
const told = (weights: number[], axes: number[] = []) => {
  const data = Float64Array.from({ length: 12 }, (_, i) => weights[i] ?? 0);
  const zeros = data.filter((w) => w === 0).length;
  const part = { data, size: 12, shape: [3, 4], stats: { zeros } };
  const other = Object.assign(Object.create(rec), {
    share: { ...rec.share, local: { [share]: LOCAL } },
    summed: () => axes,
    array: (i: number) => (i === LOCAL ? { size: 48 } : i === rec.share.route[share] ? part : rec.array(i)),
  });
  return said([route(other, share)]);
};

it("a part below one is a tie", () => {
  expect(told([0.5, 0.5, 1])).toContain("½ 2 entries tie, so they share it evenly");
  expect(told([0.5, 1])).toContain("½ 1 entry ties, so it gets that part");
  expect(told([1, 1])).not.toContain("tie");
});

it("of what was broadcast it is how many of an entry's copies were chosen", () => {
  expect(told([0.5, 1], [0])).toContain("½ of an entry's copies were chosen");
  expect(told([0.5, 0.75, 1], [0])).toContain("½ or more of an entry's copies were chosen");
  expect(told([0.5, 1], [0])).not.toContain("tie");
  expect(told([0.125, 1], [0])).toContain("⅛ of an entry's copies were chosen, one that ties counted as its part");
});
