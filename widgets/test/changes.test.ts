import { expect, it } from "vitest";
import { session, type Session } from "../src/bench";
import { Kernel, type Changes } from "../src/kernel";
import { Store } from "../src/state";
import { stepper } from "../src/stepper";
import { byHand } from "../src/view/changes";
import type { Context } from "../src/view/context";
import { make } from "../src/virtual";
import { recording } from "./golden";

/** (X + b) ** 2 summed, where b's share over "2:1" is summed over axis 0: 10.4, 14.8, 19.2. */
const changed = (shares: Changes["shares"]): Session => ({
  ...session(recording("broadcast")),
  changes: { values: [], shares },
});

function panel(shares: Changes["shares"]): string {
  const store = new Store({ step: 8, selected: 1 });
  const view = stepper(recording("broadcast"), store, { session: changed(shares) });
  document.body.replaceChildren(view.element);
  const text = view.element.querySelector('[role="tabpanel"]')?.textContent ?? "";
  view.destroy();
  return text;
}

it("a share that was set by hand is told so, without the terms that no rule computed", () => {
  const text = panel([["2:1", 1, 9.5]]);
  expect(text).toContain("[1] set to 9.5 by hand; the recorded rule gave 14.8");
  expect(text).not.toContain("local share");
  expect(text).not.toContain("summed over axis 0: (2, 3)");
});

it("another share than the one that was set keeps its rule and its terms", () => {
  const text = panel([["2:0", 1, 9.5]]);
  expect(text).not.toContain("by hand");
  expect(text).toContain("local share");
});

it("an entry tells what was set for it, or for all of the share, and nothing of its neighbours", () => {
  const rec = recording("broadcast");
  const share = rec.header.nodes[1]?.shares[0] ?? -1;
  const said = (shares: Changes["shares"], at?: number) => {
    const found = byHand({ rec, session: changed(shares) } as Context, share, at);
    return found && make(found).textContent;
  };
  expect(said([["2:1", 1, 9.5]], 1)).toBe("[1] set to 9.5 by hand; the recorded rule gave 14.8");
  expect(said([["2:1", 1, 9.5]], 0)).toBeNull();
  expect(said([["2:1", null, 0]], 2)).toBe("[2] set to 0 by hand; the recorded rule gave 19.2");
  expect(said([["2:1", null, 0]])).toBe("all of it set to 0 by hand");
});

it("a record in which a share was set by hand says so wherever it is opened", () => {
  const rec = recording("broadcast");
  (rec.header.shares.by_hand as number[]).push(rec.header.nodes[1]?.shares[0] ?? -1);
  const view = stepper(rec, new Store({ step: 8, selected: 1 }));
  document.body.replaceChildren(view.element);
  const text = view.element.querySelector('[role="tabpanel"]')?.textContent ?? "";
  view.destroy();
  expect(text).toContain("set by hand: no rule computed it");
  expect(text).not.toContain("summed over axis 0");
});

it("the field to change an entry opens in the stepper that was asked, where two show the same", () => {
  const views = [0, 1].map(() => {
    const kernel = new Kernel(() => {});
    kernel.set(true);
    const made = session(recording("broadcast"), kernel);
    made.memory.pick = { node: 1, what: "value", position: 2 };
    return stepper(recording("broadcast"), new Store({ step: 10, selected: 1 }), { session: made });
  });
  document.body.replaceChildren(...views.map((view) => view.element));
  const asked = views.map(({ element }) =>
    [...element.querySelectorAll("button")].find((b) => b.textContent === "Change…"),
  );
  asked[1]?.click();
  const open = () => views.map(({ element }) => element.querySelectorAll("input.tv-edit").length);
  expect(open()).toEqual([0, 1]);
  for (const view of views) view.destroy();
});
