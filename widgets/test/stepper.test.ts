import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Store, type State } from "../src/state";
import { stepper, type Stepper } from "../src/stepper";
import { recording } from "./golden";
import { columns } from "./rows";

let view: Stepper;
let store: Store;

function open(name: "broadcast" | "fork" | "routed", state: Partial<State> = {}) {
  store = new Store(state);
  view = stepper(recording(name), store);
  document.body.replaceChildren(view.element);
}

/** What is drawn is drawn at the next frame. */
const drawn = () => vi.advanceTimersByTime(20);
const press = (key: string, shiftKey = false) => {
  (document.activeElement === document.body ? view.element : document.activeElement)?.dispatchEvent(
    new KeyboardEvent("keydown", { key, shiftKey, bubbles: true, cancelable: true }),
  );
  drawn();
};
const named = (name: string) => view.element.querySelector<HTMLElement>(`[aria-label="${name}"]`);
const status = () => view.element.querySelector('[role="status"]')?.textContent;
const panel = () => view.element.querySelector('[role="tabpanel"]')?.textContent ?? "";
const tab = (name: string) => {
  view.element.querySelector<HTMLElement>(`[role="tab"][aria-label="${name}"]`)?.click();
  drawn();
};

beforeEach(() =>
  vi.useFakeTimers({ toFake: ["requestAnimationFrame", "cancelAnimationFrame", "setTimeout", "clearTimeout"] }),
);
afterEach(() => {
  view.destroy();
  vi.useRealTimers();
});

describe("names", () => {
  it("are those that tests and screen readers use", () => {
    open("broadcast");
    expect(view.element.getAttribute("role")).toBe("region");
    expect(view.element.getAttribute("aria-label")).toBe("Backward pass debugger");
    for (const name of [
      ...[
        "First step",
        "Previous step",
        "Play / Pause",
        "Next step",
        "Last step",
        "Previous breakpoint",
        "Next breakpoint",
      ],
      ...["Step", "Computation graph", "Find node", "Node", "Shares", "Saved values", "Check", "Source", "Findings"],
    ]) {
      expect(named(name), name).not.toBeNull();
    }
    expect(status()).toBe("Step 1 of 11: The pass starts at L, so ∂L = 1.");
  });
});

describe("stepping", () => {
  it("goes by buttons, keys and slider, and says each step", () => {
    open("broadcast");
    named("Next step")?.click();
    drawn();
    expect(view.element.dataset["step"]).toBe("1");
    press("ArrowRight");
    press("ArrowRight");
    press("ArrowLeft");
    expect(view.element.dataset["step"]).toBe("2");
    press("End");
    expect(status()).toMatch(/^Step 11 of 11: b\.grad/);
    press("Home");
    expect(view.element.dataset["step"]).toBe("0");
    const slider = named("Step") as HTMLInputElement;
    slider.value = "8";
    slider.dispatchEvent(new Event("input"));
    drawn();
    expect(view.element.dataset["step"]).toBe("7");
    expect(slider.getAttribute("aria-valuetext")).toContain("summed over axis 0");
  });

  it("draws once however often the slider moves between two frames", () => {
    open("broadcast");
    const slider = named("Step") as HTMLInputElement;
    const seen = vi.fn();
    new MutationObserver(seen).observe(view.element, { attributeFilter: ["data-step"] });
    for (let k = 1; k <= 11; k++) {
      slider.value = String(k);
      slider.dispatchEvent(new Event("input"));
    }
    expect(view.element.dataset["step"]).toBe("0");
    drawn();
    expect(view.element.dataset["step"]).toBe("10");
  });

  it("draws what comes first at once, without waiting for the next frame, and what follows before that with it", async () => {
    open("broadcast");
    const slider = named("Step") as HTMLInputElement;
    const to = (value: string) => {
      slider.value = value;
      slider.dispatchEvent(new Event("input"));
      return Promise.resolve();
    };
    await to("4");
    expect(view.element.dataset["step"]).toBe("3");
    await to("5");
    await to("6");
    expect(view.element.dataset["step"]).toBe("3");
    drawn();
    expect(view.element.dataset["step"]).toBe("5");
  });

  it("draws nothing any more once it is taken away", async () => {
    open("broadcast");
    named("Next step")?.click();
    view.destroy();
    await Promise.resolve();
    drawn();
    expect(view.element.dataset["step"]).toBe("0");
  });

  it("jumps between breakpoints", () => {
    open("fork", { breakpoints: ["fork"] });
    press("ArrowRight", true);
    expect(view.element.dataset["step"]).toBe("2");
    press("ArrowRight", true);
    press("ArrowRight", true);
    expect(view.element.dataset["step"]).toBe("3");
    press("ArrowLeft", true);
    expect(view.element.dataset["step"]).toBe("2");
  });

  it("plays at its speed, stops at a breakpoint and at the end", () => {
    open("fork", { breakpoints: ["fork"], speed: 2 });
    press(" ");
    expect(store.now.playing).toBe(true);
    vi.advanceTimersByTime(3 * 460);
    expect([store.now.step, store.now.playing]).toEqual([2, false]);
    store.set({ breakpoints: [], playing: true });
    vi.advanceTimersByTime(10_000);
    expect([store.now.step, store.now.playing]).toEqual([4, false]);
  });

  it("does not play on while nobody sees the page", () => {
    open("fork", { playing: true });
    const hidden = vi.spyOn(document, "hidden", "get").mockReturnValue(true);
    document.dispatchEvent(new Event("visibilitychange"));
    vi.advanceTimersByTime(10_000);
    expect([store.now.step, store.now.playing]).toEqual([0, true]);
    hidden.mockRestore();
    document.dispatchEvent(new Event("visibilitychange"));
    vi.advanceTimersByTime(1_000);
    expect(store.now.step).toBe(1);
  });

  it("leaves keys alone while somebody types", () => {
    open("broadcast");
    press("/");
    expect(document.activeElement).toBe(named("Find node"));
    press("End");
    expect(view.element.dataset["step"]).toBe("0");
    press("Escape");
    expect(document.activeElement).toBe(view.element);
  });

  it("opens and closes its help", () => {
    open("broadcast");
    press("?");
    expect(named("Keys and marks")?.hidden).toBe(false);
    press("Escape");
    expect(named("Keys and marks")?.hidden).toBe(true);
  });
});

describe("the picture", () => {
  it("marks one node and the edge of its share", () => {
    open("broadcast", { step: 7 });
    expect(
      [...view.element.querySelectorAll("[data-node][data-active]")].map((e) => e.getAttribute("data-node")),
    ).toEqual(["1"]);
    expect(
      [...view.element.querySelectorAll("[data-edge][data-active]")].map((e) => e.getAttribute("data-edge")),
    ).toEqual(["2:1"]);
    expect(view.element.querySelector('[data-badge="unbroadcast"]')?.hasAttribute("data-now")).toBe(true);
    store.set({ step: 8 });
    drawn();
    expect(view.element.querySelector('[data-badge="unbroadcast"]')?.hasAttribute("data-past")).toBe(true);
  });

  it("rewrites totals and fork badges for the running sum", () => {
    open("fork", { step: 2 });
    const total = () => view.element.querySelector('[data-total="0"] .tv-num')?.textContent;
    const badge = () => view.element.querySelector('[data-badge="fork"] text')?.textContent;
    expect([total(), badge()]).toEqual(["3", "Σ 1/2"]);
    store.set({ step: 3 });
    drawn();
    expect([total(), badge()]).toEqual(["6", "Σ 2/2"]);
  });

  it("selects a node by click and lets go of it with Esc", () => {
    open("broadcast");
    view.element
      .querySelector<SVGElement>('[data-node="0"]')
      ?.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    drawn();
    expect(store.now.selected).toBe(0);
    expect(panel()).toContain("leaf · (2, 3) · float64");
    press("Escape");
    expect(store.now.selected).toBeNull();
  });
});

describe("the inspector", () => {
  it("draws the unbroadcast before and after", () => {
    open("broadcast", { step: 7 });
    expect(panel()).toContain("summed over axis 0: (2, 3) becomes (3,)");
    expect(panel()).toContain("∂b[0] = 2.2 + 8.2 = 10.4");
    expect(panel()).toContain("axis 0 is dropped");
  });

  it("still says so when the node is looked at later", () => {
    open("broadcast", { step: 10, selected: 1 });
    expect(panel()).toContain("summed over axis 0");
  });

  it("keeps the ledger of a fork: two shares and their running sum", () => {
    open("fork", { step: 3 });
    tab("Shares");
    const rows = [...view.element.querySelectorAll(".tv-ledger tbody tr")].map((row) =>
      [...row.querySelectorAll("td")].map((td) => td.textContent),
    );
    expect(rows.map((r) => [r[0], r[3], r[4]])).toEqual([
      ["1", "3", "3"],
      ["2", "3", "6"],
    ]);
    expect(panel()).toContain("used 2 times");
  });

  it("rings the winners of a route with their fractions", () => {
    open("routed", { step: 2 });
    const cells = [...view.element.querySelectorAll(".tv-mask td")];
    expect(cells.map((c) => c.hasAttribute("data-won"))).toEqual([false, true, true, false, false, true]);
    expect(cells[1]?.textContent).toBe("1.5½∂0.5");
    expect(panel()).toContain("3 of 6 selected");
  });

  it("shows saved values, the source and why there is no check", () => {
    open("broadcast", { step: 4 });
    tab("Saved values");
    expect(panel()).toContain("Saved by (X + b) ** 2 for its backward rule");
    tab("Source");
    expect(panel()).toContain("lesson.py, line 3");
    expect(view.element.querySelector(".tv-panel mark")?.textContent).toBe("(X + b) ** 2");
    tab("Check");
    expect(panel()).toContain("Not run here.");
    tab("Findings");
    expect(panel()).toContain("Nothing to point at");
  });
});

describe("the check beside the pass", () => {
  const blamed = (state: "running" | "done", done: number) => ({
    state,
    done,
    total: 4,
    kind: "mismatch",
    blame: 3,
    rows: columns({ node: 3, slot: 0, scope: "local", verdict: "mismatch" }),
  });
  const group = () => named("Check")?.closest('[role="group"]') ?? view.element.querySelector(".tv-checker");

  it("offers nothing where no kernel has spoken, then a button, then how far it is", () => {
    open("broadcast");
    const button = view.element.querySelector<HTMLButtonElement>(".tv-checker button");
    const bar = view.element.querySelector<HTMLProgressElement>(".tv-checker progress");
    expect(button?.hidden).toBe(true);
    view.hear({ state: "none", done: 0, total: 0 });
    drawn();
    expect(button?.hidden).toBe(false);
    expect(button?.getAttribute("aria-label")).toBe("Check the gradients");
    view.hear({
      state: "running",
      done: 1,
      total: 4,
      kind: "ok",
      blame: -1,
      rows: columns({ node: 3, slot: 0, scope: "local", verdict: "ok" }),
    });
    drawn();
    expect(button?.getAttribute("aria-label")).toBe("Cancel the check");
    expect([bar?.hidden, bar?.value, group()?.textContent]).toEqual([false, 0.25, "1 / 4"]);
    expect(button?.title).toBe("1 of 4 nodes are checked. Click to stop; what was found stays");
    view.hear({ state: "cancelled", done: 1, total: 4, kind: "ok", blame: -1 });
    drawn();
    expect([bar?.hidden, group()?.textContent]).toEqual([true, "… Check"]); // no tick for what was not looked at
    expect(button?.title).toBe("1 of 4 nodes are checked. Compare every gradient with finite differences");
    view.hear(null); // the kernel is gone, and the rest was not looked at
    drawn();
    expect(view.element.querySelector('[role="tab"][aria-label="Check"]')?.textContent).toBe("Check …");
    view.hear({ state: "done", done: 4, total: 4, kind: "skipped", blame: -1, note: "2 of 4 are skipped: too much." });
    drawn();
    expect([group()?.textContent, button?.title]).toEqual([
      "? Check",
      "Compare every gradient with finite differences. 2 of 4 are skipped: too much.",
    ]);
    view.hear({ state: "done", done: 4, total: 4, kind: "ok", blame: -1 });
    drawn();
    expect([group()?.textContent, button?.title]).toEqual([
      "✓ Check",
      "Compare every gradient with finite differences",
    ]);
    view.hear(null);
    drawn();
    expect([button?.hidden, bar?.hidden]).toEqual([true, true]);
  });

  it("does nothing for a stepper that was taken away", () => {
    open("broadcast");
    view.destroy();
    vi.advanceTimersByTime(5_000); // what was begun ends
    view.hear({ state: "running", done: 0, total: 5 });
    document.dispatchEvent(new Event("visibilitychange"));
    expect(vi.getTimerCount()).toBe(0);
  });

  it("puts verdicts on the picture, into the timeline and into the inspector as they arrive", () => {
    open("broadcast", { step: 3 });
    view.hear(blamed("running", 1));
    drawn();
    expect(view.element.querySelector('[data-node="3"] .tv-verdict')?.getAttribute("data-sign")).toBe("bad");
    expect(view.element.querySelector('[data-node="2"] .tv-verdict')).toBeNull();
    view.hear({
      state: "done",
      done: 4,
      total: 4,
      kind: "mismatch",
      blame: 3,
      rows: columns({ node: 2, slot: -1, scope: "global", verdict: "ok" }),
    });
    drawn();
    expect(view.element.querySelector('[data-node="2"] .tv-verdict')?.getAttribute("data-sign")).toBe("ok");
    named("Go to the blamed node, (X + b) ** 2")?.click();
    drawn();
    expect([store.now.step, store.now.selected]).toEqual([3, null]);
    expect(panel()).toContain("its own rule: mismatch");
    tab("Check");
    expect(panel()).toContain("its own rule, for ");
    tab("Findings");
    expect(panel()).toContain("The check failed at (X + b) ** 2: see Check.");
    expect(panel()).not.toContain("Nothing to point at");
  });

  it("gives the worst entry in the chip, as the report does, not the first that is wrong", () => {
    open("broadcast", { step: 3 });
    const wrong = (index: string, analytic: number, numeric: number, error: number) =>
      ({ node: 3, verdict: "mismatch", index, analytic, numeric, error }) as const;
    const rows = columns(wrong("[0]", 1, 1.4, 0.29), wrong("[4]", 1, 2.2, 0.54), wrong("[5]", 2, 2.1, 0.05));
    view.hear({ state: "done", done: 4, total: 4, kind: "mismatch", blame: 3, rows });
    drawn();
    expect(view.element.querySelector(".tv-chip")?.textContent).toBe("its own rule: mismatch · 0.54 at [4]");
    tab("Check");
    const first = view.element.querySelector(".tv-check tbody th")?.textContent;
    expect(first).toBe("[4]");
  });

  it("lets the inspector follow whoever steps on from the blamed node", () => {
    open("broadcast", { selected: 0 });
    view.hear(blamed("done", 4));
    drawn();
    named("Go to the blamed node, (X + b) ** 2")?.click();
    drawn();
    expect(panel()).toContain("its own rule: mismatch");
    named("Next step")?.click();
    drawn();
    expect(panel()).not.toContain("its own rule: mismatch");
  });

  it("goes to the blamed node by itself only where nobody has stepped yet", () => {
    const blamed = {
      state: "done",
      done: 4,
      total: 4,
      kind: "mismatch",
      blame: 3,
      rows: columns({ node: 3, slot: 0, scope: "local", verdict: "mismatch" }),
    } as const;
    open("broadcast", { step: 1 });
    view.hear(blamed);
    expect(store.now.step).toBe(1);
    view.destroy();
    open("broadcast");
    view.hear(blamed);
    expect([store.now.step, store.now.selected]).toEqual([3, null]);
  });
});

it("finds nodes by name, op, shape and the code that made them", () => {
  open("broadcast");
  const box = named("Find node") as HTMLInputElement;
  const found = (words: string) => {
    box.value = words;
    box.dispatchEvent(new Event("input"));
    return [...view.element.querySelectorAll('[role="option"]')].map((o) => o.textContent);
  };
  expect(found("pow")).toEqual(["(X + b) ** 2 pow (2, 3)"]);
  expect(found("(3")).toEqual(["b leaf (3,)"]);
  expect(found("x + B")).toEqual(["X + b add (2, 3)", "(X + b) ** 2 pow (2, 3)", "L sum ()"]);
  expect(found("nothing")).toEqual([]);
  found("pow");
  box.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
  expect(store.now.selected).toBe(3);
});

it("names and captions stay text, whatever is in them", () => {
  store = new Store({ step: 2 });
  const rec = recording("fork");
  const evil = "<img src=x onerror=alert(1)>";
  Object.assign(rec.header.nodes[1] ?? {}, { name: evil });
  rec.header.steps.captions[rec.captions[2] ?? -1] = evil;
  view = stepper(rec, store);
  document.body.replaceChildren(view.element);
  expect(view.element.querySelector("img")).toBeNull();
  expect(status()).toBe(`Step 3 of 5: ${evil}`);
  expect(panel()).toContain(evil);
});

describe("tabs", () => {
  it("open when they are pressed, wherever they are when the button is let go", () => {
    open("broadcast");
    drawn();
    const check = view.element.querySelector('[role="tab"][aria-label="Check"]');
    check?.dispatchEvent(new MouseEvent("mousedown", { button: 2, bubbles: true }));
    expect(check?.getAttribute("aria-selected")).toBe("false");
    check?.dispatchEvent(new MouseEvent("mousedown", { button: 0, bubbles: true }));
    expect(check?.getAttribute("aria-selected")).toBe("true");
  });
});

describe("what is shown depends on the state, not on the way to it", () => {
  const legend = () => named("Legend")?.textContent;
  const cell = (name: string) => view.element.querySelector<HTMLElement>(`[role="gridcell"][aria-label^="${name} is"]`);
  const ringed = () => view.element.querySelectorAll(".tv-linked").length;

  it("explains a breakpoint while there is one", () => {
    open("broadcast");
    expect(legend()).not.toContain("your breakpoint");
    store.set({ breakpoints: ["fork"] });
    drawn();
    expect(legend()).toContain("your breakpoint");
    store.set({ breakpoints: [] });
    drawn();
    expect(legend()).not.toContain("your breakpoint");
  });

  it("shows the source of the active node once that is pinned, and again that of the rule which sends to it", () => {
    open("broadcast", { step: 8 });
    tab("Source");
    const [rule, own] = [panel(), () => view.element.querySelector(".tv-panel mark")?.textContent];
    expect(own()).toBe("X + b");
    store.set({ selected: 1 });
    drawn();
    expect(own()).not.toBe("X + b");
    store.set({ selected: null });
    drawn();
    expect(panel()).toBe(rule);
  });

  it("has one entry selected, of whatever array", () => {
    open("broadcast", { step: 10 });
    for (const name of ["b[0]", "∂b[1]", "b[2]"]) {
      cell(name)?.focus();
      expect([...view.element.querySelectorAll('.tv-panel [aria-selected="true"]')]).toEqual([cell(name)]);
    }
  });

  it("rings an entry while its node is inspected", () => {
    open("broadcast", { step: 9, selected: 1 });
    cell("∂b[0]")?.focus();
    const all = ringed();
    expect(all).toBeGreaterThan(1);
    store.set({ selected: 0 });
    drawn();
    expect(ringed()).toBe(0);
    store.set({ selected: 1 });
    drawn();
    expect(ringed()).toBe(all);
  });

  it("keeps what an entry was refused for until somebody goes on", () => {
    open("broadcast", { step: 10 });
    cell("b[0]")?.dispatchEvent(new MouseEvent("dblclick", { bubbles: true }));
    const said = () => view.element.querySelector(".tv-message")?.textContent;
    expect(said()).toContain("in a notebook");
    tab("Shares");
    expect(said()).toContain("in a notebook");
    press("Home");
    expect(said()).toBe("");
  });
});
