import { describe, expect, it } from "vitest";
import { draw } from "../src/draw/draw";
import { layered } from "../src/draw/layered";
import { LIMIT, Tree } from "../src/draw/tree";
import { Steps } from "../src/step";
import type { NodeEntry, Recording } from "../src/wire";
import { recording } from "./golden";

/** Only what the tree reads: per node its operands and its scope. */
function record(nodes: readonly [number[], string][]): Recording {
  return {
    header: { nodes: nodes.map(([inputs, scope]) => ({ inputs, scope }) as unknown as NodeEntry) },
  } as Recording;
}
const chain = (n: number, scope = () => "") => record(Array.from({ length: n }, (_, i) => [i ? [i - 1] : [], scope()]));

describe("the tree of groups", () => {
  const net = record([
    [[], ""],
    [[0], "a"],
    [[1], "a/b"],
    [[2], "a/b"],
    [[3], ""],
  ]);

  it("has scopes inside scopes, and opens all of them while there is room", () => {
    const tree = new Tree(net);
    expect([...tree.groups.keys()].sort()).toEqual(["scope:a", "scope:a/b"]);
    expect(tree.around(2).map((g) => g.label)).toEqual(["b", "a"]);
    expect([...tree.start()].sort()).toEqual(["scope:a", "scope:a/b"]);
    expect([...tree.start(4)]).toEqual(["scope:a"]);
  });

  it("draws a closed group as one item, with one wire for all uses between two", () => {
    const { items, wires, owner } = new Tree(net).scene(new Set(["scope:a"]));
    expect(items.map((i) => i.group?.key ?? i.node)).toEqual([0, 1, "scope:a/b", 4]);
    expect(wires.map((w) => [w.tail, w.head, w.uses])).toEqual([
      [0, 1, ["1:0"]],
      [1, 2, ["2:0"]],
      [2, 3, ["4:0"]],
    ]);
    expect([...owner]).toEqual([0, 1, 2, 2, 3]);
  });

  it("counts a number of a formula to the scope that uses it, and what two scopes use to neither", () => {
    const numbers = record([
      [[], ""],
      [[], ""],
      [[], ""],
      [[0, 1, 2], "a"],
      [[3, 2], "b"],
    ]);
    const nodes = numbers.header.nodes as unknown as Record<string, unknown>[];
    for (const id of [1, 2]) Object.assign(nodes[id] ?? {}, { kind: "constant", shape: [] });
    Object.assign(nodes[0] ?? {}, { kind: "constant", shape: [3] });
    const { items } = new Tree(numbers).scene(new Set());
    expect(items.map((i) => i.group?.key ?? i.node)).toEqual([0, 2, "scope:a", "scope:b"]);
    expect(items[2]?.group?.members).toEqual([1, 3]);
  });

  it("leaves no node out of a hundred thousand, and opens with few items", () => {
    const tree = new Tree(chain(100_000));
    const { items, owner } = tree.scene(tree.start());
    expect(items.length).toBe(16);
    expect(owner.every((i) => i >= 0)).toBe(true);
    expect(tree.around(77_777).length).toBeGreaterThan(1);
    const open = new Set(tree.around(77_777).map((g) => g.key));
    const inner = tree.scene(open);
    expect(inner.items[inner.owner[77_777] ?? -1]?.node).toBe(77_777);
    expect(inner.items.length).toBeLessThan(LIMIT);
  });

  it("joins twenty thousand uses of one value into a few wires", () => {
    const nodes: [number[], string][] = [[[], ""]];
    for (let i = 1; i <= 20_000; i++) nodes.push([[0], ""]);
    const tree = new Tree(record(nodes));
    const { wires } = tree.scene(tree.start());
    expect(wires.length).toBeLessThan(20);
    expect(wires.reduce((a, w) => a + w.uses.length, 0)).toBeGreaterThan(18_000);
  });

  it("takes six hundred scopes inside each other", () => {
    let name = "";
    const nodes: [number[], string][] = Array.from({ length: 600 }, (_, i) => {
      name = name ? `${name}/s${i}` : "s0";
      return [i ? [i - 1] : [], name];
    });
    const tree = new Tree(record(nodes));
    expect(tree.scene(tree.start()).items.length).toBeLessThanOrEqual(100);
    expect(tree.around(599).length).toBe(600);
  });

  it("knows a neighbourhood, and says by stubs what is not in it", () => {
    const { items, stubs } = new Tree(chain(1000)).near([500], 18);
    const ids = items.map((i) => i.node);
    expect(ids).toContain(500);
    expect(ids).toContain(499);
    expect(ids).toContain(501);
    expect(ids.length).toBe(18);
    expect([...stubs.values()]).toEqual([[[`${ids[0]}:0`]]]);
  });

  it("gives the operands of a long stack few places, and lets the rest share the last", () => {
    const leaves = Array.from({ length: 5000 }, (): [number[], string] => [[], ""]);
    const rec = record([...leaves, [leaves.map((_, i) => i), ""]]);
    const uses = [...new Tree(rec).near([5000], 18).stubs.values()][0]!;
    expect(uses.length).toBe(6);
    expect(uses.flat().length).toBe(5000 - 17);
  });
});

describe("the layout", () => {
  const size = { width: 40, height: 20 };

  it("runs to the right and lets no two boxes of a rank touch", () => {
    const links = [
      { tail: 0, head: 2, port: -5 },
      { tail: 1, head: 2, port: 5 },
      { tail: 2, head: 3, port: 0 },
      { tail: 0, head: 3, port: 8 },
    ];
    const { centres, ways } = layered([size, size, size, size], links);
    const [a, b, c, d] = centres as [number, number][];
    expect(a![0]).toBe(b![0]);
    expect(Math.abs(a![1] - b![1])).toBeGreaterThanOrEqual(36);
    expect([a![0] < c![0], c![0] < d![0]]).toEqual([true, true]);
    expect(ways[0]?.at(-1)).toEqual([c![0] - 20, c![1] - 5]);
    expect(ways[3]?.length).toBe(4); // it passes the rank in between
  });

  it("survives the cycles that groups can make", () => {
    const { centres } = layered(
      [size, size],
      [
        { tail: 0, head: 1, port: 0 },
        { tail: 1, head: 0, port: 0 },
      ],
    );
    expect(centres[0]![0]).not.toBe(centres[1]![0]);
  });
});

it("a drawn picture carries the same marks as one from Python", () => {
  const rec = recording("fork");
  const tree = new Tree(rec);
  const { svg } = draw(rec, new Steps(rec), tree.scene(tree.start()));
  expect([...svg.querySelectorAll("[data-node]")].map((e) => e.getAttribute("data-node"))).toEqual(
    rec.header.nodes.map((_, i) => String(i)),
  );
  expect([...svg.querySelectorAll("[data-edge]")].map((e) => e.getAttribute("data-edge")).sort()).toEqual([
    "1:0",
    "1:1",
  ]);
  expect(svg.querySelector('[data-fork="0"]')?.getAttribute("data-count")).toBe("2");
  expect(svg.querySelector('[data-total="0"] .tv-num')?.textContent).toBe("6");
  for (const node of svg.querySelectorAll("[data-node]"))
    expect([node.getAttribute("role"), node.getAttribute("aria-label") !== ""]).toEqual(["button", true]);
});
