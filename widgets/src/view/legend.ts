/** What the colours and lines mean, with the ends of both scales. */
import { tint, type Kind } from "../color";
import { h, s } from "../dom";
import { MINUS, number } from "../format";
import type { Context } from "./context";

function scale(kind: Kind, largest: number): SVGSVGElement {
  const count = 9;
  const cells = Array.from({ length: count }, (_, i) => {
    const at = (2 * i) / (count - 1) - 1;
    const rect = s("rect", { x: i * 12 + 0.5, y: 0.5, width: 12, height: 12 });
    rect.style.fill = tint(kind, (largest * Math.sinh(at * Math.asinh(50))) / 50, largest);
    return rect;
  });
  return s(
    "svg",
    { width: count * 12 + 1, height: 13, "aria-hidden": "true" },
    ...cells,
    s("rect", { class: "tv-outline", x: 0.5, y: 0.5, width: count * 12, height: 12 }),
  );
}

export function legend({ rec }: Context): HTMLElement {
  const { value_max, gradient_max } = rec.header.view;
  const ends = (kind: Kind, word: string, m: number) =>
    h(
      "span",
      { class: kind === "value" ? "tv-v" : "tv-g" },
      `${word} ${MINUS}${number(m)} `,
      scale(kind, m),
      ` ${number(m)}`,
    );
  return h(
    "div",
    { class: "tv-legend" },
    ends("value", "value", value_max),
    ends("gradient", "∂", gradient_max),
    h("span", { class: "tv-wide" }, "solid forward, dashed backward"),
    h("span", { class: "tv-v tv-wide" }, "◆ ", h("span", { class: "tv-dim" }, "saved for backward")),
  );
}
