/** What the colours and lines mean, with the ends of both scales. */
import { DECADES } from "../color";
import { number } from "../format";
import type { MarkKind } from "../step";
import { isLog } from "../tints";
import { h, s, type Child, type Virtual } from "../virtual";
import type { Context } from "./context";
import { glyph } from "./icons";
import { ramp } from "./scale";

const SAID: Partial<Record<MarkKind, string>> = {
  fork: "fork adds",
  unbroadcast: "unbroadcast",
  route: "route",
};

/** A badge small enough for a line of text. */
function badge(kind: MarkKind): Virtual {
  const inside =
    kind === "fork"
      ? s("text", { x: 12, y: 13.2, "text-anchor": "middle" }, "Σ")
      : glyph(kind === "route" ? "route" : "unbroadcast", 12, 9);
  return s(
    "svg",
    { class: "tv-sign", width: 24, height: 18, "aria-hidden": "true" },
    s("rect", { x: 1, y: 0.75, width: 22, height: 16.5, rx: 8.25 }),
    inside,
  );
}

export function legend({ rec, steps, store }: Context): Child[] {
  const there = new Set(steps.marks.map((m) => m.kind));
  const marks = (Object.keys(SAID) as MarkKind[]).filter((kind) => there.has(kind));
  return [
    ramp(rec, "value"),
    ramp(rec, "gradient"),
    isLog(rec) && h("span", {}, `${DECADES} powers of ten`),
    ...marks.map((kind) => h("span", {}, badge(kind), ` ${SAID[kind]}`)),
    (there.has("nan") || there.has("inf")) &&
      h("span", { class: "tv-bad" }, h("i", { class: "tv-dashes" }), " NaN or inf on its way"),
    store.now.breakpoints.length > 0 && h("span", {}, "◆ your breakpoint"),
    h("span", { class: "tv-v" }, "◆ ", h("span", { class: "tv-dim" }, "saved for backward")),
    steps.norms &&
      h(
        "span",
        { title: "How wide backward wires are" },
        `‖∂‖ ${number(steps.norms[0])} `,
        s(
          "svg",
          { width: 44, height: 12, "aria-hidden": "true" },
          s("path", { class: "tv-wedge", d: "M0,5.5v1L44,9V3z" }),
        ),
        ` ${number(steps.norms[1])} log`,
      ),
    h("span", {}, "dashed backward"),
  ];
}
