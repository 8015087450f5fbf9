/** What a teacher or an engineer would point at, root cause first. */
import { h } from "../dom";
import type { FindingEntry } from "../trace";
import type { Context } from "./context";

const SEVERE = new Set(["nan", "inf", "changed-outside"]);

function one({ select }: Context, finding: FindingEntry): HTMLElement {
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
          { type: "button", class: "tv-quiet tv-mono", onclick: () => select(finding.node) },
          finding.op || `node ${finding.node}`,
        ),
      h("p", {}, finding.why),
      finding.remedy && h("p", {}, h("b", {}, "Do: "), finding.remedy),
      finding.source && h("p", { class: "tv-dim tv-mono tv-small" }, finding.source),
    ),
  );
}

export function findingsOf(context: Context, node: number | null): FindingEntry[] {
  return context.rec.header.view.findings.filter((f) => node === null || f.node === node);
}

export function findingsPane(context: Context, node: number | null): HTMLElement {
  const found = findingsOf(context, node);
  if (!found.length)
    return h(
      "p",
      { class: "tv-dim" },
      "Nothing to point at: no NaN, no stale gradient, no dead or saturated units were found.",
    );
  return h("ul", { class: "tv-findings" }, ...found.map((f) => one(context, f)));
}
