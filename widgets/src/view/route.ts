/** Where a selecting op sent its gradient: the operand's cells, winners ringed with their fraction. */
import { cells, count, fraction, shape } from "../format";
import { chosen, shortTitle } from "../step";
import { shade } from "../tints";
import { h, type Child, type Virtual } from "../virtual";
import type { Recording } from "../wire";
import { fits, grid, picture } from "./cells";
import { position } from "./formula";

export function route(rec: Recording, share: number): Virtual {
  const target = rec.share.target[share] ?? -1;
  const weights = rec.array(rec.share.route[share]);
  const sent = rec.array(rec.share.value[share]);
  const operand = rec.array(rec.header.nodes[target]?.value);
  const name = shortTitle(rec, target, 20);
  if (!weights || !sent || !operand) return h("div");
  const parts = weights.data ? [...weights.data].filter((w) => w > 0 && w < 1) : [];
  const least = Math.min(...parts);
  const tie = parts.length === 1 ? " entry ties, so it gets that part" : " entries tie, so they share it evenly";
  // Of what was broadcast a part is no tie, but how many of an entry's copies were chosen.
  const each = (rec.array(rec.share.local[share] ?? -1)?.size ?? 0) / weights.size;
  const halved = parts.some((w) => Math.abs(w * each - Math.round(w * each)) > 1e-6);
  const copies = `${least < Math.max(...parts) ? " or more" : ""} of an entry's copies were chosen${halved ? ", one that ties counted as its part" : ""}`;
  const head = h(
    "div",
    { class: "tv-title" },
    `${name}, winners ringed`,
    h("span", { class: "tv-dim tv-mono" }, ` ${shape(operand.shape)}`),
  );
  const facts: Child[] = [
    h(
      "li",
      {},
      h("b", {}, chosen(rec, share)),
      `${rec.summed(share).length ? " copies" : ""} selected: each receives its part of the gradient`,
    ),
    parts.length > 0 &&
      h("li", {}, h("b", {}, fraction(least)), rec.summed(share).length > 0 ? copies : ` ${count(parts.length)}${tie}`),
    weights.stats.zeros > 0 &&
      h("li", {}, h("b", {}, "0"), " not selected: receives exactly 0, whatever the gradient is"),
  ];
  const body =
    fits(operand) && weights.data && sent.data
      ? mask(rec, operand.data ?? [], weights.data, sent.data, operand.shape)
      : large(rec, share);
  return h("div", { class: "tv-route" }, head, body, h("ul", {}, ...facts));
}

function mask(
  rec: Recording,
  operand: ArrayLike<number>,
  weights: ArrayLike<number>,
  sent: ArrayLike<number>,
  sizes: readonly number[],
): Virtual {
  const [rows, columns] = grid(sizes);
  const [values, gradients] = [cells(Array.from(operand)), cells(Array.from(sent))];
  const parts = Array.from(weights, (w, i) => (w > 0 ? [fraction(w), `∂${(gradients[i] ?? "").trim()}`] : ["0"]));
  // All columns are as wide as the widest; infinities stand behind a sign.
  const above = (i: number) => (values[i] ?? "").length + (Number.isFinite(operand[i]) ? 0 : 2);
  const widest = Math.max(...parts.map((part, i) => Math.max(part.join(" ").length, above(i))));
  const cell = (i: number) => {
    const [v, w, g] = [operand[i] ?? NaN, weights[i] ?? 0, sent[i] ?? 0];
    const odd = Number.isNaN(v) ? "nan" : Number.isFinite(v) ? null : v > 0 ? "inf" : "ninf";
    const number = h(
      "div",
      {
        class: "tv-above",
        "data-special": odd,
        style: odd ? "" : `background: ${shade(rec, "value", v)}`,
      },
      values[i] ?? "",
    );
    const lit = w > 0 && Number.isFinite(g);
    const below = h(
      "div",
      { class: "tv-below", style: lit ? `background: ${shade(rec, "gradient", g)}` : "" },
      w > 0 && h("b", {}, parts[i]?.[0]),
      h("span", { class: w > 0 ? "tv-g" : "tv-zero" }, parts[i]?.at(-1)),
    );
    return h("td", { "data-won": w > 0 ? "" : null, title: `${position(i, sizes)} weight ${w}` }, number, below);
  };
  return h(
    "table",
    { class: "tv-mask", "aria-label": "routing mask", style: `--tv-letters: ${widest}ch` },
    h(
      "tbody",
      {},
      ...Array.from({ length: rows }, (_, r) =>
        h(
          "tr",
          {},
          rows > 1 && h("th", { scope: "row" }, String(r)),
          ...Array.from({ length: columns }, (_, c) => cell(r * columns + c)),
        ),
      ),
    ),
  );
}

function large(rec: Recording, share: number): Virtual {
  const [weights, sent] = [rec.array(rec.share.route[share]), rec.array(rec.share.value[share])];
  const labelled = (word: string, element: Virtual | null) => h("figure", {}, element, h("figcaption", {}, word));
  return h(
    "div",
    { class: "tv-side" },
    weights && labelled("route: selected entries", picture(weights, "value")),
    sent && labelled("∂ that arrived", picture(sent, "gradient")),
  );
}
