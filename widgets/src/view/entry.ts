/** One entry of an array: its number in full, and where it came from and goes to. */
import type { Pick } from "../bench";
import { h, replace } from "../dom";
import { changeable } from "./changes";
import type { Context } from "./context";
import { edit, entryName, keyOf, numbersOf, type Look } from "./entries";

/** A box below the arrays, and the function that fills it. */
export function entryBox(context: Context, id: number): { element: HTMLElement; look: Look } {
  const element = h("div", { class: "tv-entry" });
  const look: Look = (pick) => {
    if (!pick || pick.node !== id) replace(element);
    else replace(element, ...about(context, pick));
  };
  look(context.session.memory.pick);
  return { element, look };
}

function about(context: Context, pick: Pick): HTMLElement[] {
  const { rec } = context;
  const value = numbersOf(rec, context, pick)?.data?.[pick.position];
  if (value === undefined) return [];
  const refused = changeable(context, pick);
  const change = () => {
    const cell = document.querySelector<HTMLElement>(`[data-cell="${keyOf(pick)}"]`);
    cell?.focus();
    edit(context, cell, pick);
  };
  return [
    h(
      "p",
      {},
      h("b", { class: `tv-mono ${pick.what === "value" ? "tv-v" : "tv-g"}` }, entryName(rec, pick)),
      h("span", { class: "tv-mono" }, ` = ${String(value).replace("-", "−")}`),
      " ",
      refused
        ? h("small", { class: "tv-dim" }, refused)
        : h("button", { type: "button", class: "tv-quiet", onclick: change }, "Change…"),
    ),
  ];
}
