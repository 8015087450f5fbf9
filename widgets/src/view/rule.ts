/** The rule of the step: as a formula, and with the numbers of one entry put in. */
import { h, type Child } from "../dom";
import { axes, fraction, number } from "../format";
import { shortTitle } from "../step";
import type { Recording } from "../wire";
import { aligned, meanings, position, put, spelled, symbols, wrapped } from "./formula";

/** For one share. */
export function shareRule(rec: Recording, share: number): HTMLElement {
  const consumer = rec.share.consumer[share] ?? -1;
  const target = rec.share.target[share] ?? -1;
  const slot = rec.share.slot[share] ?? 0;
  const name = wrapped(shortTitle(rec, target, 20));
  const formula = rec.header.nodes[consumer]?.formulas[slot] ?? "";
  const names = meanings(rec, consumer);
  const summed = rec.axes(share);
  const several = (rec.header.nodes[target]?.shares.length ?? 0) > 1;
  const left = h("span", { class: "tv-g" }, `∂${name}`);
  const sum = summed.length
    ? h("span", { class: "tv-ax" }, "Σ", h("sub", {}, `${summed.length === 1 ? "axis" : "axes"} ${summed.join(", ")}`))
    : null;
  const first = h(
    "p",
    { class: "tv-formula" },
    left,
    several ? " ← " : " = ",
    sum,
    sum && " ",
    ...(formula ? symbols(formula, names) : [rec.header.nodes[consumer]?.op ?? ""]),
  );
  return h("div", { class: "tv-rule-box" }, first, numbers(rec, share, formula, names));
}

function numbers(
  rec: Recording,
  share: number,
  formula: string,
  names: ReturnType<typeof meanings>,
): HTMLElement | null {
  const target = rec.share.target[share] ?? -1;
  const local = rec.array(rec.share.local[share] ?? -1);
  const value = rec.array(rec.share.value[share] ?? -1);
  const route = rec.array(rec.share.route[share] ?? -1);
  const name = wrapped(shortTitle(rec, target, 20));
  if (!local?.data || !value?.data || !value.size) return null;
  const line = (index: number, ...content: Child[]) =>
    h(
      "p",
      { class: "tv-formula tv-put" },
      h("span", { class: "tv-g" }, `∂${name}`),
      h("span", { class: "tv-dim" }, position(index, value.shape)),
      " = ",
      ...content,
      " = ",
      h("b", { class: "tv-g" }, number(value.data?.[index] ?? NaN)),
    );
  const summed = rec.axes(share);
  if (summed.length) {
    const terms = [...local.data].flatMap((v, i) => (aligned(i, local.shape, value.shape) === 0 ? [v] : []));
    if (terms.length > 6) return line(0, h("span", { class: "tv-strip-box" }, `Σ of ${terms.length} entries`));
    return line(
      0,
      h(
        "span",
        { class: "tv-strip-box" },
        terms.map((v, i) => (i ? (v < 0 ? " − " : " + ") : v < 0 ? "−" : "") + number(Math.abs(v))).join(""),
      ),
    );
  }
  if (route?.data && route.size === value.size) {
    const tie = route.data.findIndex((w) => w > 0 && w < 1);
    const index = tie >= 0 ? tie : route.data.findIndex((w) => w > 0);
    const weight = route.data[index] ?? 0;
    if (index < 0) return null;
    return line(
      index,
      fraction(weight),
      " · ",
      h("span", { class: "tv-g" }, number((value.data[index] ?? NaN) / weight)),
    );
  }
  const index = spelled(local);
  const filled = put(formula, names, local, index);
  return filled && filled.length > 1 ? line(index, ...filled) : null;
}

/** For a `pull`: what the op sends to each operand. */
export function pullRules(rec: Recording, id: number): HTMLElement | null {
  const node = rec.header.nodes[id];
  if (!node?.formulas.length) return null;
  const names = meanings(rec, id);
  const rows = node.inputs.flatMap((input, slot) => {
    const share = rec.header.nodes[input]?.shares.find(
      (s) => rec.share.consumer[s] === id && rec.share.slot[s] === slot,
    );
    if (share === undefined) return [];
    const summed = rec.axes(share);
    return [
      h(
        "li",
        {},
        h("span", { class: "tv-g" }, `∂${wrapped(shortTitle(rec, input, 20))}`),
        " ← ",
        ...symbols(node.formulas[slot] ?? "", names),
        summed.length > 0 && h("small", {}, ` then summed over axes ${axes(summed)}`),
      ),
    ];
  });
  return rows.length
    ? h(
        "div",
        { class: "tv-rule-box" },
        h(
          "h3",
          {},
          `The rule of ${shortTitle(rec, id, 24)} `,
          h("span", {}, node.word ? `${node.op} ${node.word}` : ""),
        ),
        h("ul", { class: "tv-formula tv-sends" }, ...rows),
      )
    : null;
}
