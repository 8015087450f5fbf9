/** The scale of the cells: what its colours and glyphs mean, and the choice between two. */
import { DECADES, tint, type Kind } from "../color";
import { MINUS, number } from "../format";
import { h, type Child, type Virtual } from "../virtual";
import { largest } from "./cells";
import type { Context } from "./context";

const STEPS = 9;

function ramp(kind: Kind, top: number, log: boolean): Child[] {
  return Array.from({ length: STEPS }, (_, i) => {
    const at = (2 * i) / (STEPS - 1) - 1;
    const value = log
      ? Math.sign(at) * top * 10 ** (-DECADES * (1 - Math.abs(at)))
      : (top * Math.sinh(at * Math.asinh(50))) / 50;
    return h("i", { "aria-hidden": "true", style: `background: ${tint(kind, value, top, log)}` });
  });
}

/** The element of the scale that was drawn last, which most steps do not change. */
const kept = new WeakMap<Context, { log: boolean; element: Virtual }>();

export function scaleChoice(context: Context): Virtual {
  const known = kept.get(context);
  const { log } = context.session.memory;
  if (known?.log === log) return known.element;
  const element = drawn(context);
  kept.set(context, { log, element });
  return element;
}

function drawn({ rec, session }: Context): Virtual {
  const { memory } = session;
  const one = (kind: Kind, word: string) => {
    const top = largest(rec, kind);
    return h(
      "span",
      { class: kind === "value" ? "tv-v" : "tv-g" },
      `${word} ${MINUS}${number(top)} `,
      ...ramp(kind, top, memory.log),
      ` ${number(top)}`,
    );
  };
  const turn = () => {
    memory.log = !memory.log;
    session.again();
  };
  return h(
    "div",
    { class: "tv-scale" },
    one("value", "value"),
    one("gradient", "∂"),
    h(
      "button",
      { type: "button", class: "tv-quiet tv-small", "aria-pressed": String(memory.log), onclick: turn },
      "log scale",
    ),
    memory.log && h("span", {}, `${DECADES} powers of ten · ◥ smaller still`),
    h("span", {}, "▲ +∞ ▼ −∞ · NaN in red"),
  );
}
