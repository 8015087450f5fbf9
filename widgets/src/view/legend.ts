/** What the colours and lines mean, with the ends of both scales. */
import { DECADES } from "../color";
import { number } from "../format";
import { isLog } from "../tints";
import { h, s, type Child, type Virtual } from "../virtual";
import type { Context } from "./context";
import { icon } from "./icons";
import { ramp } from "./scale";

const SAID = { fork: "fork adds", unbroadcast: "unbroadcast", route: "route" } as const;
type Said = keyof typeof SAID;

/** A badge small enough for a line of text, as those of the picture: spelled where Python has drawn it. */
function badge(kind: Said, label: string, spelled: boolean): Virtual {
  const inside = kind === "fork" ? "Σ" : spelled ? label.replace("route ", "") : icon(kind);
  return h("span", { class: "tv-tag" }, inside);
}

/** A piece of a wire with a mark on it, or a node that is hatched. */
function piece(width: number, faint: string, marks: string): Virtual {
  const paths = [s("path", { class: "tv-faint", d: faint }), s("path", { d: marks })];
  return s("svg", { class: "tv-piece", width, height: 16, "aria-hidden": "true" }, ...paths);
}

export function legend({ rec, steps, store }: Context): Child[] {
  const there = new Map(steps.marks.map((m) => [m.kind, m.label]));
  const marks = (Object.keys(SAID) as Said[]).filter((kind) => there.has(kind));
  const { nodes, view } = rec.header;
  const [thin, wide, least] = steps.norms ?? [0, 0, 0];
  return [
    ramp(rec, "value"),
    ramp(rec, "gradient"),
    isLog(rec) && h("span", {}, `${DECADES} powers of ten`),
    ...marks.map((kind) => h("span", {}, badge(kind, there.get(kind) ?? "", view.skeleton !== ""), ` ${SAID[kind]}`)),
    nodes.some((node) => node.kind === "detached") &&
      h("span", {}, piece(24, "M0,8H7M17,8H24", "M6,14l4,-12M13,14l4,-12"), " detached"),
    steps.zeros &&
      h(
        "span",
        {},
        piece(54, "M0,8H24M31,9l8,-8M33,15l14,-14M41,15l12,-12M49,15l4,-4", "M12,2V14M31,1H53V15H31z"),
        " zeros",
      ),
    (there.has("nan") || there.has("inf")) &&
      h("span", { class: "tv-bad" }, h("i", { class: "tv-dashes" }), " NaN or inf on its way"),
    store.now.breakpoints.length > 0 && h("span", {}, "◆ your breakpoint"),
    h("span", { class: "tv-v" }, "◆ ", h("span", { class: "tv-dim" }, "saved for backward")),
    wide > 0 &&
      h(
        "span",
        { title: `How wide backward wires are; the least ‖∂‖ is ${number(least)}` },
        `width ‖∂‖ ${least < thin ? "≤ " : ""}${number(thin)} `,
        s(
          "svg",
          { width: 44, height: 12, "aria-hidden": "true" },
          s("path", { class: "tv-wedge", d: "M0,5.5v1L44,9V3z" }),
        ),
        ` ${number(wide)} log`,
      ),
    h("span", {}, h("i", { class: "tv-dashes tv-g" }), " gradient, backward"),
  ];
}
