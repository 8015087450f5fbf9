import { describe, expect, it } from "vitest";
import { Store } from "../src/state";
import { Steps } from "../src/step";
import type { Context } from "../src/view/context";
import { listing, ordinal, place, turn } from "../src/view/source";
import { make } from "../src/virtual";
import { recording } from "./golden";

/** The rows as elements. */
const rowsOf = (...given: Parameters<typeof listing>) => listing(...given).map(make) as HTMLElement[];

/** The fork, as if its two ops had been made by one expression that ran twice. */
function twice(): Context {
  const rec = recording("fork");
  const line = "    y = step(x * x)";
  Object.assign(rec.header, {
    sources: [
      { file: "cell [1]", line: 2, function: "step", code: line, end_line: 2, column: 8, end_column: 19 },
      { file: "cell [1]", line: 2, function: "step", code: line, end_line: 2, column: 13, end_column: 18 },
    ],
    texts: { "cell [1]": `def f(x):\n${line}\n\n    return y\n` },
  });
  const [x, y] = rec.header.nodes;
  Object.assign(x ?? {}, { source: 0 });
  Object.assign(y ?? {}, { source: 1 });
  rec.header.nodes.push({ ...y, source: 1 } as (typeof rec.header.nodes)[number]);
  const store = new Store();
  return {
    rec,
    steps: new Steps(recording("fork")),
    store,
    shown: () => 0,
    select: (id: number | null) => store.set({ selected: id }),
    go: () => {},
  } as unknown as Context;
}

describe("the code", () => {
  it("is no empty line where the text of the file is not known", () => {
    const context = twice();
    Object.assign(context.rec.header, { texts: {} });
    context.rec.header.sources.forEach((source) => Object.assign(source, { code: "" }));
    expect(rowsOf(context, 1, 4)).toEqual([]);
  });

  it("is shown around the line, without its empty lines, as many as fit", () => {
    const rows = rowsOf(twice(), 1, 4).map((row) => row.textContent);
    expect(rows).toEqual(["1def f(x):", "2    y = step(x * x)", "4    return y"]);
  });
  it("marks what made the node, with the smaller expressions inside it", () => {
    const rows = rowsOf(twice(), 0, 4);
    expect(rows[1]?.className).toBe("tv-line tv-now");
    expect(rows[1]?.querySelector("mark")?.textContent).toBe("step(x * x)");
    expect(rows[1]?.querySelectorAll("mark")).toHaveLength(1);
    expect(rows[1]?.querySelectorAll("mark > .tv-expression")).toHaveLength(3);
  });
  it("selects what an expression made, one node after the other", () => {
    const context = twice();
    const inner = rowsOf(context, 0, 4)[1]?.querySelector<HTMLElement>(
      '[aria-label="Select multiply: x * x, 2 nodes"]',
    );
    inner?.click();
    expect(context.store.now.selected).toBe(1);
    inner?.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
    expect(context.store.now.selected).toBe(2);
    inner?.click();
    expect(context.store.now.selected).toBe(1);
  });
  it("can be walked through with Tab, each expression once", () => {
    const row = rowsOf(twice(), 0, 4)[1];
    expect(row?.querySelectorAll('[tabindex="0"]')).toHaveLength(2);
  });
});

it("a line that ran several times says which time it was", () => {
  const { rec } = twice();
  expect([turn(rec, 1), turn(rec, 2), turn(rec, 0)]).toEqual([[1, 2], [2, 2], null]);
  expect(place(rec, 2)).toBe("cell [1], line 2, in step · 2nd of 2 times");
  expect([1, 2, 3, 4, 11, 12, 13, 21, 102, 113].map(ordinal).join(" ")).toBe(
    "1st 2nd 3rd 4th 11th 12th 13th 21st 102nd 113th",
  );
});
