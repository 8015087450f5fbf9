import { describe, expect, it } from "vitest";
import { checkOf } from "../src/check";
import { Steps } from "../src/step";
import { bands, placed } from "../src/view/timeline";
import type { Recording } from "../src/wire";
import { recording, shared } from "./golden";
import { columns } from "./rows";

const states = (steps: Steps, k: number) => steps.rec.header.nodes.map((_, id) => steps.node(id, k)).join(" ");

describe("the states of (X + b) ** 2 summed", () => {
  const steps = new Steps(recording("broadcast"));

  it("follow the pass: exactly one node is active", () => {
    expect(states(steps, 0)).toBe("idle idle idle idle active");
    expect(states(steps, 2)).toBe("idle idle idle active done");
    expect(states(steps, 5)).toBe("idle idle active done done");
    expect(states(steps, 7)).toBe("done active done done done");
    expect(states(steps, 10)).toBe("done active done done done");
  });

  it("light the edge on both steps of its share, and leave it passed", () => {
    expect([6, 7, 8, 9].map((k) => steps.edge("2:1", k))).toEqual(["idle", "active", "active", "passed"]);
    expect(steps.activeEdge(5)).toBeNull();
  });

  it("add the share only when it is accumulated", () => {
    expect(steps.total(1, 7)).toBeNull();
    expect([...(steps.total(1, 8)?.array?.data ?? [])]).toEqual([
      2 * 1.1 + 2 * 4.1,
      2 * 2.2 + 2 * 5.2,
      2 * 3.3 + 2 * 6.3,
    ]);
    expect([...(steps.total(4, 0)?.array?.data ?? [])]).toEqual([1]);
  });

  it("are grouped by the op whose rule runs", () => {
    expect(steps.groups.map((g) => [g.first, g.last, g.label])).toEqual([
      [0, 0, "seed"],
      [1, 2, "L"],
      [3, 4, "(X + b) ** 2"],
      [5, 8, "X + b"],
      [9, 10, "write .grad"],
    ]);
  });

  it("stop where the granularity says", () => {
    expect(steps.move(0, 1, "micro")).toBe(1);
    expect(steps.move(0, 1, "share")).toBe(2);
    expect(steps.move(2, 1, "node")).toBe(4);
    expect(steps.move(8, -1, "node")).toBe(4);
    expect([steps.move(10, 1, "share"), steps.move(0, -1, "node")]).toEqual([10, 0]);
  });

  it("stop at marks: the given kinds, a node, or every mark", () => {
    expect(steps.breaks(["unbroadcast"])).toEqual([7]);
    expect(steps.breaks(["fork"])).toEqual([]);
    expect(steps.breaks([1])).toEqual([7, 8, 10]);
    expect(steps.breaks([])).toEqual([7]);
  });
});

describe("a fork", () => {
  const steps = new Steps(recording("fork"));

  it("gives two shares and their running sum", () => {
    expect([1, 2, 3].map((k) => [steps.total(0, k)?.shares ?? 0, steps.total(0, k)?.array?.data?.[0] ?? 0])).toEqual([
      [0, 0],
      [1, 3],
      [2, 6],
    ]);
    expect(steps.marks.map((m) => [m.step, m.kind, m.label])).toEqual([
      [2, "fork", "Σ x 1/2"],
      [3, "fork", "Σ x 2/2"],
    ]);
  });

  it("leaves a leaf reached until all are in", () => {
    expect([2, 3, 4].map((k) => steps.node(1, k))).toEqual(["done", "done", "done"]);
  });
});

describe("a backward pass that is a graph itself", () => {
  const rec = recording("broadcast");
  const scopes = ["", "∂matmul C", "∂matmul C", "train/∂layer1/relu h"];
  const nodes = rec.header.nodes.map((node, i) => ({ ...node, shares: [], scope: scopes[i] ?? "" }));
  const computed = Object.create(rec, {
    array: { value: () => null },
    length: { value: scopes.length },
    kinds: { value: scopes.map(() => "seed") },
    stepNode: { value: Int32Array.from(scopes, (_, i) => i) },
    stepShare: { value: Int32Array.from(scopes, () => -1) },
    header: { value: { ...rec.header, nodes } },
  }) as Recording;

  it("has one group for each rule, and stops there", () => {
    const steps = new Steps(computed);
    expect(steps.computes).toBe(true);
    expect(steps.groups.map((g) => [g.first, g.last, g.label])).toEqual([
      [0, 0, "seed"],
      [1, 2, "∂matmul C"],
      [3, 3, "∂relu h"],
    ]);
    expect(steps.move(0, 1, "node")).toBe(2);
  });

  it("is not any pass", () => {
    expect(new Steps(rec).computes).toBe(false);
  });
});

it("a scope is reached with the first share and done with the last rule inside", () => {
  const steps = new Steps(recording("broadcast"));
  const span = steps.span([2, 3]);
  expect(span).toEqual({ first: 2, done: 5 });
  expect([1, 2, 4, 5].map((k) => steps.within(span, k))).toEqual(["idle", "reached", "reached", "done"]);
  expect(steps.within(steps.span([]), 10)).toBe("idle");
});

it("a NaN that comes in with the seed is not born later, but it is alive", () => {
  const steps = new Steps(recording("routed"));
  expect(steps.marks.map((m) => m.kind)).toEqual(["route"]);
  expect(steps.alive).toEqual([[2, 2]]);
});

interface GoldenPass {
  name: string;
  roots: number[];
  nodes: { leaf: boolean; shares: number }[];
  steps: { kind: string; node: number; edge: string | null; shareZero: boolean | null; totalZero: boolean | null }[];
  states: {
    step: number | null;
    nodes: string[];
    edges: Record<string, string>;
    active: number | null;
    activeEdge: string | null;
    arrived: number[];
  }[];
}

/** A record with no more in it than what decides states: array 0 is not zero, array 1 is. */
function bare(pass: GoldenPass): Recording {
  const edges = [...new Set(pass.steps.flatMap((s) => s.edge ?? []))];
  const last = (edge: string) => pass.steps.findLast((s) => s.edge === edge && s.kind === "accumulate");
  const shares = edges.map((edge) => {
    const [consumer = 0, slot = 0] = edge.split(":").map(Number);
    const at = last(edge);
    const [value, total] = [Number(at?.shareZero ?? false), Number(at?.totalZero ?? false)];
    return { consumer, slot, target: at?.node ?? 0, value, total };
  });
  const column = (name: keyof (typeof shares)[number]) => Int32Array.from(shares, (s) => s[name]);
  const none = Int32Array.from(shares, () => -1);
  const array = (index: number) =>
    index < 0
      ? null
      : { index, dtype: "<f8", shape: [], size: 1, data: null, stats: { zeros: index, nan: 0, posinf: 0, neginf: 0 } };
  return {
    length: pass.steps.length,
    kinds: pass.steps.map((s) => s.kind),
    stepNode: Int32Array.from(pass.steps, (s) => s.node),
    stepShare: Int32Array.from(pass.steps, (s) => (s.edge ? edges.indexOf(s.edge) : -1)),
    stepAfter: Int32Array.from(pass.steps, (s) => (s.kind === "seed" ? Number(s.totalZero) : -1)),
    share: {
      consumer: column("consumer"),
      slot: column("slot"),
      target: column("target"),
      local: none,
      value: column("value"),
      total: column("total"),
      route: none,
    },
    axes: () => [],
    array,
    column: () => new Int32Array(),
    single: () => null,
    header: {
      roots: pass.roots,
      nodes: pass.nodes.map((n) => ({
        kind: n.leaf ? "leaf" : "op",
        op: "op",
        name: null,
        source: -1,
        cotangent: -1,
        value: -1,
        shares: Array(n.shares).fill(0),
      })),
      sources: [],
      view: { verdicts: { node: null, verdict: [] }, findings: [] },
    },
  } as unknown as Recording;
}

describe("the states that Python draws", () => {
  for (const pass of shared<GoldenPass[]>("states.json")) {
    it(`are the stepper's in ${pass.name}`, () => {
      const rec = bare(pass);
      const steps = new Steps(rec);
      for (const state of pass.states) {
        const { step } = state;
        if (step === null || step < 0) continue;
        expect(
          pass.nodes.map((_, id) => steps.node(id, step)),
          `nodes after step ${step}`,
        ).toEqual(state.nodes);
        expect(steps.activeEdge(step)).toBe(state.activeEdge);
        expect(pass.nodes.map((_, id) => steps.total(id, step)?.shares ?? 0)).toEqual(state.arrived);
        for (const edge of steps.edges.keys())
          expect(steps.edge(edge, step), `${edge} after step ${step}`).toBe(state.edges[edge] ?? "idle");
      }
    });
  }
});

it("a mark at an end of the timeline stays inside", () => {
  const marks = [0, 1].map((step) => ({ step, kind: "finding", node: 0, label: "stale-grad" }) as const);
  const drawn = placed(marks, (k) => 10 + k * 480, 500);
  expect(drawn.map(({ text }) => text)).toEqual(["stale-grad", "stale-grad"]);
  expect(drawn[0]?.from).toBe(0);
  expect(drawn[1]?.to).toBe(500);
});

it("what happens at one step is marked side by side, or as much of it as has room", () => {
  const fork = { step: 0, kind: "fork", node: 0, label: "Σ y 1/2" } as const;
  const marks = [{ ...fork, kind: "route", label: "route 2 of 4" } as const, fork];
  const drawn = placed(marks, () => 250, 500);
  expect(drawn.map(({ text }) => text)).toEqual(["Σ y 1/2", "route 2 of 4"]);
  expect(drawn[0]?.to).toBe(drawn[1]?.from);
  const crowded = placed([...marks, { ...fork, step: 1 }], (k) => 250 + k * 30, 500);
  expect(crowded.map(({ mark, text }) => `${mark.step} ${mark.kind} ${text}`)).toEqual(["0 fork ", "1 fork "]);
});

describe("a pass of very many marks", () => {
  const steps = new Steps(recording("broadcast"));
  const many = Array.from(
    { length: 300_000 },
    (_, k) => ({ step: k, kind: "fork", node: 0, label: "Σ a 1/2" }) as const,
  );

  it("takes verdicts like any other", () => {
    for (const mark of many) steps.marks.push(mark);
    const rows = columns({ node: 3, verdict: "mismatch" });
    checkOf(steps.rec).hear({ state: "done", done: 1, total: 1, kind: "mismatch", rows });
    steps.markChecks();
    expect(steps.marks.length).toBeGreaterThan(300_000);
    expect(steps.marks.every((m, i) => !i || m.step >= (steps.marks[i - 1]?.step ?? 0))).toBe(true);
  });

  it("draws those that have room, from left to right, none on another", () => {
    const drawn = placed(many, (k) => 10 + (k * 900) / many.length, 920);
    const at = drawn.map(({ mark }) => mark.step);
    expect(drawn.length).toBeGreaterThan(30);
    expect(at).toEqual([...at].sort((a, b) => a - b));
    at.forEach((k, i) => i && expect(((k - (at[i - 1] ?? 0)) * 900) / many.length).toBeGreaterThan(22));
  });
});

describe("the brackets under the track", () => {
  const groups = [
    { first: 0, last: 0, node: -1, label: "seed" },
    { first: 1, last: 3, node: 4, label: "x * x" },
    { first: 4, last: 6, node: 2, label: "h + 1" },
    { first: 7, last: 7, node: -1, label: "write .grad" },
  ];
  it("are those of scopes where there are some", () => {
    expect(bands(groups, (id) => (id === 4 ? "b" : "a")).map((band) => band.label)).toEqual([
      "seed",
      "b",
      "a",
      "write .grad",
    ]);
  });
  it("stay those of the rules where there is none", () => {
    expect(bands(groups, () => "")).toEqual([]);
  });
});

describe("the marks of a failed check", () => {
  const wrong = (rows: { node: number; scope: string }[]) =>
    columns(...rows.map((r) => ({ ...r, verdict: "mismatch" })));
  const found = (steps: Steps) => steps.marks.filter((m) => m.kind === "check").map((m) => [m.step, m.label, m.said]);
  const marked = (rows: { node: number; scope: string }[]) => {
    const rec = recording("broadcast");
    const steps = new Steps(rec);
    checkOf(rec).hear({ state: "done", done: 1, total: 1, kind: "mismatch", rows: wrong(rows) });
    steps.markChecks();
    return found(steps);
  };

  it("stand where the rule that is wrong runs, once a rule, and say which it is", () => {
    const rec = recording("broadcast");
    const pull = rec.kinds.findIndex((kind, k) => kind === "pull" && rec.stepNode[k] === 3);
    const twice = [0, 1].map(() => ({ node: 3, scope: "local" }));
    expect(marked(twice)).toEqual([[pull, "≠", "the rule of (X + b) ** 2: mismatch"]]);
  });

  it("stand where a wrong gradient is complete, which is not where its rule runs", () => {
    expect(marked([{ node: 1, scope: "global" }])).toEqual([[8, "≠", "∂b: mismatch"]]);
  });

  it("are made anew where something else is wrong, of much only now and then while more arrives, and at the end", () => {
    const rec = recording("broadcast");
    const [check, steps] = [checkOf(rec), new Steps(rec)];
    const hear = (state: "running" | "done", rows: { node: number; scope: string }[], whole = false) => {
      const before = steps.version;
      check.hear({ state, done: 1, total: 9, kind: "mismatch", whole, rows: wrong(rows) });
      steps.markChecks();
      return steps.version > before;
    };
    const rule = { node: 3, scope: "local" };
    const five = Array.from({ length: 5 }, () => rule);
    expect([hear("running", five), hear("running", []), hear("running", [{ node: 1, scope: "global" }])]).toEqual([
      true,
      false,
      false,
    ]);
    expect(found(steps)).toHaveLength(1);
    expect([hear("done", []), hear("done", [])]).toEqual([true, false]);
    expect(found(steps)).toHaveLength(2);
    expect([hear("done", five, true), found(steps).length]).toEqual([true, 1]);
  });
});
