/** What a teacher or an engineer would point at, root cause first. */
import { BAD, checkOf } from "../check";
import type { FindingEntry } from "../trace";
import { shortTitle } from "../step";
import { h, type Virtual } from "../virtual";
import type { Context } from "./context";
import { icon } from "./icons";

const SEVERE = new Set(["nan", "inf", "changed-outside"]);

function one({ select }: Context, finding: FindingEntry): Virtual {
  const severe = SEVERE.has(finding.kind);
  return h(
    "li",
    { class: severe ? "tv-severe" : null },
    h("span", { class: "tv-badge-icon", "aria-hidden": "true" }, severe ? "✕" : "!"),
    h(
      "div",
      {},
      h("b", {}, finding.kind),
      h("span", { class: "tv-dim" }, ` · ${finding.phase}`),
      finding.node >= 0 &&
        h(
          "button",
          { class: "tv-quiet tv-mono", onclick: () => select(finding.node) },
          finding.op || `node ${finding.node}`,
        ),
      h("p", {}, finding.why),
      finding.remedy && h("p", {}, h("b", {}, "Do: "), finding.remedy),
      finding.source && h("p", { class: "tv-dim tv-mono tv-small" }, finding.source),
    ),
  );
}

/** How much attention the findings want: none, some, or at once. */
export function severity(rec: Context["rec"]): "warn" | "err" | null {
  const { findings } = rec.header.view;
  return findings.some((f) => SEVERE.has(f.kind)) ? "err" : findings.length ? "warn" : null;
}

/** One line about the worst finding, from where it can be looked at. */
export function alarm(context: Context, open: () => void): Virtual | null {
  const worst = context.rec.header.view.findings.find((f) => SEVERE.has(f.kind));
  if (!worst) return null;
  const what = { nan: "NaN", inf: "An infinity" }[worst.kind];
  const name = worst.node >= 0 ? shortTitle(context.rec, worst.node, 24) : "";
  return h(
    "div",
    { class: "tv-alarm", role: "note" },
    icon("cross"),
    h("span", {}, what ? `${what} is born ${worst.phase}${name ? " in " : ""}` : `${worst.kind}${name ? ": " : ""}`),
    name && h("button", { class: "tv-quiet tv-mono", onclick: () => context.select(worst.node) }, name),
    h("button", { class: "tv-quiet", onclick: open }, "Why?"),
  );
}

export function findingsOf(context: Context, node: number | null): FindingEntry[] {
  return context.rec.header.view.findings.filter((f) => node === null || f.node === node);
}

export function findingsPane(context: Context, node: number | null): Virtual {
  const found = findingsOf(context, node);
  if (!found.length) {
    const { kind, blame } = checkOf(context.rec);
    const at = blame < 0 ? "" : ` at ${shortTitle(context.rec, blame, 24)}`;
    return h(
      "p",
      { class: "tv-dim" },
      BAD.has(kind)
        ? `The check failed${at}: see Check.`
        : "Nothing to point at: no NaN, no stale gradient, no dead units.",
    );
  }
  return h("ul", { class: "tv-findings" }, ...found.map((f) => one(context, f)));
}
