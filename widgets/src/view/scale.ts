/** The scale of the cells: what its colours and glyphs mean, and the choice between two. */
import { DECADES, STRONGEST, tint, type Kind } from "../color";
import { MINUS, number } from "../format";
import { largest, scaleBy } from "../tints";
import { h, type Virtual } from "../virtual";
import type { Recording } from "../wire";
import type { Context } from "./context";

const STEPS = 9;

/** The scale of one kind: its ends as numbers, and the colours between them, which are the same whether they stand for differences or for powers of ten. */
export function ramp(rec: Recording, kind: Kind): Virtual {
  const top = largest(rec, kind);
  const cells = Array.from({ length: STEPS }, (_, i) => {
    const place = (2 * i) / (STEPS - 1) - 1;
    return h("i", { style: `background: ${tint(kind, place, Math.round(Math.abs(place) * STRONGEST))}` });
  });
  return h(
    "span",
    { class: kind === "value" ? "tv-v" : "tv-g" },
    `${kind === "value" ? "value" : "∂"} ${MINUS}${number(top)} `,
    h("span", { class: "tv-ramp", "aria-hidden": "true" }, ...cells),
    ` ${number(top)}`,
  );
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
  const turn = () => {
    memory.log = !memory.log;
    scaleBy(rec, memory.log);
    session.again();
  };
  return h(
    "div",
    { class: "tv-scale" },
    ramp(rec, "value"),
    ramp(rec, "gradient"),
    h("button", { class: "tv-quiet tv-small", "aria-pressed": String(memory.log), onclick: turn }, "log scale"),
    memory.log && h("span", {}, `${DECADES} powers of ten · ◥ smaller still`),
    h("span", {}, "▲ +∞ ▼ −∞ · NaN in red"),
  );
}
