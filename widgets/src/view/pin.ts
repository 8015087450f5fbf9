/** That the panes stay with a node, and the way back to those of the step. */
import { h, text } from "../dom";
import { shortTitle } from "../step";
import type { Context, Pane } from "./context";

export const FOLLOW = "Back to the node of the step (Esc)";

export function pin(context: Context): Pane {
  const name = h("b");
  const back = h(
    "button",
    { class: "tv-quiet", title: FOLLOW, onclick: () => context.select(null) },
    "Follow the step",
  );
  const element = h(
    "div",
    { class: "tv-changed", role: "group", "aria-label": "Pinned", hidden: true },
    "Pinned: ",
    name,
    back,
  );
  return {
    element,
    update() {
      const { selected } = context.store.now;
      element.hidden = selected === null;
      if (selected !== null) text(name, shortTitle(context.rec, selected, 20));
    },
  };
}
