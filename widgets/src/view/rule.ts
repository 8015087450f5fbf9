/** The rule of the step: as a formula, and with the numbers of one entry put in. */
import { axes } from "../format";
import { shortTitle } from "../step";
import { h, type Virtual } from "../virtual";
import type { Recording } from "../wire";
import { part, ruleOf, symbol } from "./formula";

function left(rec: Recording, share: number) {
  return part(rec, share, "left") ?? [h("span", { class: "tv-g" }, `∂${symbol(rec, rec.share.target[share] ?? -1)}`)];
}

/** For one share. */
export function shareRule(rec: Recording, share: number): Virtual {
  const summed = rec.summed(share);
  const several = (rec.header.nodes[rec.share.target[share] ?? -1]?.shares.length ?? 0) > 1;
  const sum = summed.length ? h("span", { class: "tv-ax" }, "Σ", h("sub", {}, axes(summed))) : null;
  const sign = several ? " ← " : " = ";
  const first = h("p", { class: "tv-formula" }, ...left(rec, share), sign, sum, sum && " ", ...ruleOf(rec, share));
  const worked = part(rec, share, "worked");
  if (!worked) return h("div", { class: "tv-rule-box" }, first);
  const second = h(
    "p",
    { class: "tv-formula tv-put" },
    ...left(rec, share),
    h("span", { class: "tv-dim" }, ...(part(rec, share, "entry") ?? [])),
    sign,
    h("span", { class: summed.length ? "tv-strip-box" : null }, ...worked),
    " = ",
    h("b", { class: summed.length ? "tv-g tv-strip-box" : "tv-g" }, ...(part(rec, share, "result") ?? [])),
  );
  return h("div", { class: "tv-rule-box" }, first, second);
}

/** For a `pull`: what the op sends to each operand. */
export function pullRules(rec: Recording, id: number): Virtual | null {
  const node = rec.header.nodes[id];
  if (!node?.formulas.length) return null;
  const rows = rec.sent(id).map((share) => {
    const summed = rec.summed(share);
    return h(
      "li",
      {},
      ...left(rec, share),
      " ← ",
      ...ruleOf(rec, share),
      summed.length > 0 && h("small", {}, ` then summed over ${axes(summed)}`),
    );
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
