import { describe, expect, it } from "vitest";
import { part, position, ruleOf, runs, wrapped } from "../src/view/formula";
import { pullRules, shareRule } from "../src/view/rule";
import { make } from "../src/virtual";
import { recording } from "./golden";
import { real, said } from "./said";

describe("pieces", () => {
  it("keep every space and sign", () => {
    expect(said(runs(["g∂m", "t / ties where ", "vA", "t = ", "vm", "t, else 0"]))).toBe(
      "∂m / ties where A = m, else 0",
    );
    expect(said(runs(["g∂h", "t where ", "vadd", "t > 0, else 0"]))).toBe("∂h where add > 0, else 0");
  });
  it("are coloured by what they stand for", () => {
    const [gradient, , value] = real(runs(["g∂y", "t · ", "vx"])) as Element[];
    expect([gradient?.className, value?.className]).toEqual(["tv-g", "tv-v"]);
  });
  it("set an exponent high, as one", () => {
    const [power, after] = real(runs(["vb", "V2", "T − 1", "t · c"]));
    const [base, exponent] = (power as Element).children;
    expect([base?.textContent, exponent?.localName, exponent?.textContent]).toEqual(["b", "sup", "2−1"]);
    expect(after).toBe(" · c");
  });
  it("raise the last word of a text, or its bracket, and no more", () => {
    expect(said(runs(["t2 · x", "T3"]).slice(0, 1))).toBe("2 · ");
    const [before, power] = real(runs(["t(a + b)", "T2"]));
    expect([before, (power as Element).textContent]).toEqual(["(a + b", ")2"]);
  });
  it("stay text, whatever is in them", () => {
    const [evil] = real(runs(["v<img src=x onerror=alert(1)>"])) as Element[];
    expect(evil?.children.length).toBe(0);
  });
});

describe("a share's formula", () => {
  const fork = recording("fork");
  it("is what Python wrote", () => {
    expect(said(part(fork, 0, "left"))).toBe("∂x");
    expect(said(ruleOf(fork, 0))).toBe("∂y · x");
    expect(said(part(fork, 0, "worked"))).toBe("1 · 3");
    expect(make(shareRule(fork, 0)).textContent).toBe("∂x ← ∂y · x∂x ← 1 · 3 = 3");
  });
  it("spells an unbroadcast out for its first entry", () => {
    const broadcast = recording("broadcast");
    const share = broadcast.header.nodes[1]?.shares[0] ?? -1;
    expect(make(shareRule(broadcast, share)).textContent).toBe("∂b = Σaxis 0 ∂(X + b)∂b[0] = 2.2 + 8.2 = 10.4");
  });
  it("tells of the NaN among the entries of a route", () => {
    const routed = recording("routed");
    expect([said(part(routed, 0, "entry")), said(part(routed, 0, "worked"))]).toEqual(["[1, 2]", "1 · NaN"]);
  });
  it("is the op's own rule with the names put in where no formula has travelled", () => {
    expect([part(fork, 99, "rule"), said(ruleOf(fork, 99))]).toEqual([null, ""]);
    for (const name of ["fork", "broadcast", "routed"] as const) {
      const [whole, bare] = [recording(name), recording(name)];
      Object.assign(bare.header.view.formulas, { lines: [] });
      for (let share = 0; share < whole.share.consumer.length; share++) {
        expect(said(ruleOf(bare, share))).toBe(said(ruleOf(whole, share)));
        const sender = whole.share.consumer[share] ?? -1;
        expect(said([pullRules(bare, sender)])).toBe(said([pullRules(whole, sender)]));
      }
    }
  });
  it("stands in the list of what a pull sends", () => {
    expect(said([pullRules(fork, 1)])).toBe("The rule of y multiply swaps∂x ← ∂y · x∂x ← ∂y · x");
  });
});

it("a name of several words is put in brackets", () => {
  expect(["x", "X + b", "h.weight[0]", "−2", "(a)"].map(wrapped)).toEqual(["x", "(X + b)", "h.weight[0]", "−2", "(a)"]);
});

it("a flat position is written as an index", () => {
  expect([position(4, [2, 3]), position(2, [3]), position(0, [])]).toEqual(["[1, 1]", "[2]", ""]);
});
