import { describe, expect, it } from "vitest";
import { aligned, meanings, position, put, symbols } from "../src/view/formula";
import type { Child } from "../src/dom";
import { recording } from "./golden";

const said = (children: readonly Child[] | null) =>
  (children ?? []).map((c) => (c instanceof Node ? c.textContent : c)).join("");

describe("the rule of x * x", () => {
  const rec = recording("fork");
  const names = meanings(rec, 1);
  const local = rec.array(rec.share.local[0] ?? -1);

  it("is written in the user's names", () => expect(said(symbols("g * b", names))).toBe("∂y · x"));
  it("is written with the numbers", () => expect(local && said(put("g * b", names, local, 0))).toBe("1 · 3"));
  it("sets exponents high", () => {
    const [, , , exponent] = symbols("g * b ** (2 - 1)", names);
    expect((exponent as Element).tagName).toBe("SUP");
    expect(said(symbols("g * b ** (2 - 1)", names))).toBe("∂y · x^2 − 1");
  });
  it("is not filled with numbers where it is not entry by entry", () => {
    expect(local && put("g @ b.T", names, local, 0)).toBeNull();
    expect(local && put("where(b > 0, g, 0)", names, local, 0)).toBeNull();
    expect(local && put("unknown(g)", names, local, 0)).toBeNull();
  });
});

it("a position in the result finds its place in a broadcast operand", () => {
  expect([0, 1, 2, 3, 4, 5].map((i) => aligned(i, [2, 3], [3]))).toEqual([0, 1, 2, 0, 1, 2]);
  expect([0, 1, 2, 3, 4, 5].map((i) => aligned(i, [2, 3], [2, 1]))).toEqual([0, 0, 0, 1, 1, 1]);
  expect(aligned(5, [2, 3], [])).toBe(0);
  expect(aligned(0, [2, 3], [4])).toBe(-1);
  expect(aligned(0, [3], [1, 3])).toBe(-1);
});

it("a flat position is written as an index", () => {
  expect([position(4, [2, 3]), position(2, [3]), position(0, [])]).toEqual(["[1, 1]", "[2]", ""]);
});
