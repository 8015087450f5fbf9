import { describe, expect, it } from "vitest";
import { strength } from "../src/color";
import { axes, Bools, cells, count, fraction, number, one, shape, stats, TRUTH } from "../src/format";
import { counted, type ArrayView } from "../src/wire";
import { shared } from "./golden";

describe("a number", () => {
  it.each([
    [0, "0"],
    [-0, "0"],
    [0.1 + 0.2, "0.3"],
    [-2, "−2"],
    [100.48, "100.5"],
    [12345, "12345"],
    [123456, "1.235e5"],
    [99999.9, "1e5"],
    [0.0001, "0.0001"],
    [0.00001, "1e−5"],
    [6.554e-5, "6.554e−5"],
    [NaN, "NaN"],
    [Infinity, "+∞"],
    [-Infinity, "−∞"],
  ])("%d is written %s", (value, words) => expect(number(value)).toBe(words));

  it("has two digits where it is an error", () => expect(number(1.6432e-10, 2)).toBe("1.6e−10"));
});

describe("the entries of an array", () => {
  it("share one count of decimals; zero is padded so that points line up", () => {
    expect(cells([1, 2.5, 0])).toEqual(["1.0", "2.5", "0\u00a0\u00a0"]);
    expect(cells([0, 0])).toEqual(["0", "0"]);
    expect(cells([1.5, NaN, -Infinity])).toEqual(["1.5", "NaN", "−∞"]);
  });

  it("stand alone where one needs an exponent or would lose its digits", () => {
    expect(cells([1e-7, 1])).toEqual(["1e−7", "1"]);
    expect(cells([12345, 0.00123])).toEqual(["12345", "0.00123"]);
  });

  it("are letters where they are truth values, a word where there is one, and counted where there are many", () => {
    const data = new Bools([1, 0, 1]);
    expect(cells(data)).toEqual(["T", "F", "T"]);
    expect([one(data), one(data, 1), one(new Float64Array([2.5]))]).toEqual(["True", "False", "2.5"]);
    expect(stats({ dtype: TRUTH, size: 3, data, stats: counted(data) } as ArrayView)).toBe("2 of 3 true");
  });
});

it("shapes, axes and fractions are written as Python and people do", () => {
  expect([shape([]), shape([3]), shape([2, 3])]).toEqual(["()", "(3,)", "(2, 3)"]);
  expect([axes([0]), axes([0, 2])]).toEqual(["axis 0", "axes 0, 2"]);
  expect([0, 1, 0.5, 1 / 3, 1 / 7].map(fraction)).toEqual(["0", "1", "½", "⅓", "1/7"]);
});

it("the tint rises fast near zero, ends at 50 per cent, and knows no infinity", () => {
  expect([strength(0, 10), strength(10, 10), strength(-1, 10), strength(99, 10)]).toEqual([0, 50, 25, 50]);
  expect([strength(NaN, 10), strength(Infinity, 10), strength(1, 0)]).toEqual([0, 0, 0]);
});

interface GoldenFormat {
  number: { x: string; text: string }[];
  error: { x: string; text: string }[];
  cells: { values: string[]; texts: string[] }[];
  stats: { values: string[]; text: string }[];
  count: { n: number; text: string }[];
  shape: { dims: number[]; text: string }[];
}

describe("what Python prints", () => {
  const golden = shared<GoldenFormat>("format.json");

  it("is what the browser prints: numbers", () => {
    for (const { x, text } of golden.number) expect(number(Number(x)), x).toBe(text);
    for (const { x, text } of golden.error) expect(number(Number(x), 2), x).toBe(text);
  });

  it("is what the browser prints: arrays", () => {
    for (const { values, texts } of golden.cells) expect(cells(values.map(Number)), values.join()).toEqual(texts);
    for (const { n, text } of golden.count) expect(count(n)).toBe(text);
    for (const { dims, text } of golden.shape) expect(shape(dims)).toBe(text);
  });

  it("is what the browser prints: statistics", () => {
    for (const { values, text } of golden.stats) {
      const data = Float64Array.from(values, Number);
      expect(stats({ size: data.length, stats: counted(data) } as unknown as ArrayView)).toBe(text);
    }
  });

  it("is what the browser tints", () => {
    const { tint } = shared<{ tint: { x: string; most: number; tint: number }[] }>("color.json");
    for (const { x, most, tint: part } of tint)
      expect(strength(Number(x), most), `${x} of ${most}`).toBe(Math.round(100 * part));
  });
});
