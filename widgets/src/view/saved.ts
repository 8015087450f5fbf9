/** The values a rule kept from the forward pass. */
import { h } from "../dom";
import { shortTitle } from "../step";
import type { Context } from "./context";
import { array } from "./cells";

/** The nodes whose saved values matter at a step: the inspected one, and the op whose rule made the share. */
export function savers({ rec, steps, store, shown }: Context): number[] {
  const share = store.now.selected === null ? steps.shareAt(store.now.step) : -1;
  return [...new Set([shown(), share >= 0 ? (rec.share.consumer[share] ?? -1) : -1])].filter((id) => id >= 0);
}

export function savedCount(context: Context): number {
  return savers(context).reduce((sum, id) => sum + Object.keys(context.rec.header.nodes[id]?.saved ?? {}).length, 0);
}

export function savedPane(context: Context): HTMLElement {
  const { rec } = context;
  return h(
    "div",
    {},
    ...savers(context).map((id) => {
      const node = rec.header.nodes[id];
      const entries = Object.entries(node?.saved ?? {});
      const from = (name: string) => {
        const slot = node?.saved_from[name];
        if (slot === undefined) return "made by the rule for itself";
        return slot === -1 ? "its own result" : `operand ${shortTitle(rec, node?.inputs[slot] ?? -1, 20)}`;
      };
      return h(
        "section",
        {},
        h(
          "h3",
          {},
          `Saved by ${shortTitle(rec, id, 24)} `,
          h("span", {}, entries.length ? "for its backward rule" : "nothing: its rule needs no value"),
        ),
        ...entries.map(([name, index]) =>
          h("div", {}, array(rec, "value", rec.array(index), name), h("p", { class: "tv-dim tv-small" }, from(name))),
        ),
      );
    }),
  );
}
