/** The overlay with keys and marks. */
import { h } from "../dom";

const KEYS: [string, string][] = [
  ["← →", "previous and next step"],
  ["Shift + ← →", "previous and next breakpoint"],
  ["Home, End", "first and last step"],
  ["Space", "play and pause"],
  ["↑ ↓", "from node to node, while one has the focus"],
  ["Enter, click", "pin the panes to a node, open a scope or a fold"],
  ["[ ] or Alt + ← →", "to an operand of the node, to an op that takes it"],
  [", . or Alt + ↑ ↓", "to the operand or the op beside that one, in order"],
  ["+ −", "open and close the scope around the node"],
  ["o, Shift + O", "step over the scope, on and back"],
  ["u, Shift + U", "on and back to a step of the node"],
  ["b, Shift + click", "stop at the node"],
  ["f", "the whole graph, and back"],
  ["/", "find a node"],
  ["Esc", "close, or let go of a pinned node"],
  ["p", "presentation: large type, one pane"],
  ["?", "this page"],
];
const MARKS: [string, string][] = [
  ["Σ 2/3", "a fork adds: the second of three shares has arrived"],
  ["Σ axis 0", "an operand was broadcast, so its share is summed over that axis"],
  ["4 of 12", "a gradient is routed to the entries that were selected"],
  ["NaN, ∞", "born at this step; the dashes last while one is on its way"],
  ["≠, !", "the check fails, or there is a finding: see the tabs"],
  ["✓ ✕ ? at a node", "finite differences agree, differ, cannot judge"],
  ["◆", "above: saved for backward. Under the track: your breakpoint"],
  ["yellow", "what happens now, in every pane"],
  ["above the wire", "a value"],
  ["∂, below the wire", "its gradient so far"],
];

/** Seen while the pointer is over a stepper that has no focus, as in a notebook, whose own keys work until somebody clicks. */
export function hint(): HTMLElement {
  return h("div", { class: "tv-chip-button tv-hint", "aria-hidden": "true" }, "Click, then step with ← →");
}

export function help(close: () => void): HTMLElement {
  const table = (rows: [string, string][]) =>
    h("dl", {}, ...rows.flatMap(([a, b]) => [h("dt", {}, a), h("dd", {}, b)]));
  return h(
    "div",
    { class: "tv-help", role: "dialog", "aria-label": "Keys and marks", hidden: true },
    h(
      "div",
      { class: "tv-sheet" },
      h("h2", {}, "Keys"),
      table(KEYS),
      h("h2", {}, "Marks"),
      table(MARKS),
      h("button", { class: "tv-select", onclick: close }, "Close"),
    ),
  );
}
