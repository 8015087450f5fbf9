/** What finite differences say of a node, in a chip and as a table. */
import { h, type Child } from "../dom";
import { count, number } from "../format";
import type { Recording } from "../wire";
import type { Context } from "./context";
import { icon, type Icon } from "./icons";

export interface Row {
  readonly node: number;
  readonly scope: string;
  readonly operand: string;
  readonly index: string;
  readonly analytic: number;
  readonly numeric: number;
  readonly error: number;
  readonly verdict: string;
  readonly reason: string;
}

const WORST = ["mismatch", "undefined", "nondeterministic", "input", "nonsmooth", "noise", "skipped", "ok"];
const BAD = new Set(["mismatch", "undefined", "nondeterministic", "input"]);
const MOST_ROWS = 60;

const kept = new WeakMap<Recording, Map<number, Row[]>>();

/** The rows of a node. */
export function rowsOf(rec: Recording, node: number): Row[] {
  let all = kept.get(rec);
  if (!all) {
    all = new Map();
    const v = rec.header.view.verdicts;
    const [nodes, analytic, numeric, error] = [
      rec.column(v.node),
      rec.column(v.analytic),
      rec.column(v.numeric),
      rec.column(v.error),
    ];
    for (let i = 0; i < nodes.length; i++) {
      const id = nodes[i] ?? -1;
      const row: Row = {
        node: id,
        scope: v.scope[i] ?? "",
        operand: v.operand[i] ?? "",
        index: v.index[i] ?? "",
        analytic: analytic[i] ?? NaN,
        numeric: numeric[i] ?? NaN,
        error: error[i] ?? NaN,
        verdict: v.verdict[i] ?? "",
        reason: v.reason[i] ?? "",
      };
      const list = all.get(id);
      if (list) list.push(row);
      else all.set(id, [row]);
    }
    kept.set(rec, all);
  }
  return all.get(node) ?? [];
}

const at = (row: Row) => (row.index && row.index !== "()" ? ` at ${row.index}` : "");

/** One chip for a node at a step. */
export function chip({ rec, steps, store }: Context, id: number): HTMLElement | null {
  const rows = rowsOf(rec, id);
  const node = rec.header.nodes[id];
  const total = steps.total(id, store.now.step);
  const waiting = (node?.shares.length ?? 0) - (total?.shares ?? 0);
  const make = (kind: string, picture: Icon, ...words: Child[]) =>
    h("span", { class: `tv-chip tv-${kind}` }, icon(picture), ...words);
  if (!rows.length) return null;
  if (waiting > 0) return make("wait", "wait", `waits for ${waiting} share${waiting === 1 ? "" : "s"}`);
  const ok = rows.filter((r) => r.verdict === "ok");
  const worst = [...rows].sort((a, b) => WORST.indexOf(a.verdict) - WORST.indexOf(b.verdict) || b.error - a.error)[0];
  if (!worst) return null;
  if (BAD.has(worst.verdict)) return make("err", "cross", `${worst.verdict} · ${number(worst.error, 2)}${at(worst)}`);
  if (ok.length === rows.length) {
    const error = Math.max(...ok.map((r) => (Number.isFinite(r.error) ? r.error : 0)));
    return make("ok", "tick", `finite differences agree · ${number(error, 2)}`);
  }
  if (ok.length)
    return make(
      "wait",
      "ask",
      `${count(ok.length)} of ${count(rows.length)} agree · ${count(rows.length - ok.length)} cannot be judged`,
    );
  return make("wait", "ask", `cannot judge: ${worst.reason || worst.verdict}`);
}

/** A sign for the tab: all well, something wrong, or undecided. */
export function sign(rec: Recording): string {
  const { check_kind } = rec.header.view;
  return check_kind === "" ? "" : check_kind === "ok" ? "✓" : BAD.has(check_kind) ? "✕" : "?";
}

export function checkPane({ rec }: Context, id: number): HTMLElement {
  const { check_kind, check_note } = rec.header.view;
  const rows = rowsOf(rec, id);
  if (!check_kind) return h("div", {}, h("p", { class: "tv-dim" }, check_note || "No check was run."));
  if (!rows.length)
    return h("div", {}, h("p", { class: "tv-dim" }, "This node receives no gradient, so there is nothing to check."));
  const order = [...rows].sort((a, b) => WORST.indexOf(a.verdict) - WORST.indexOf(b.verdict) || 0);
  const scopes = [...new Set(order.map((r) => r.scope))];
  const words: Record<string, string> = {
    local: "Local: this op's rule against differences of this op alone",
    global: "Global: the gradient against differences of the whole pass",
  };
  return h(
    "div",
    {},
    ...scopes.map((scope) => {
      const own = order.filter((r) => r.scope === scope);
      return h(
        "section",
        {},
        h("h3", {}, words[scope] ?? "Against finite differences"),
        h(
          "table",
          { class: "tv-check", "aria-label": `check ${scope}`.trim() },
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              ...["", "analytic", "numeric", "error", "verdict"].map((w) =>
                h("th", { scope: "col", class: w === "verdict" || !w ? null : "tv-n" }, w),
              ),
            ),
          ),
          h(
            "tbody",
            {},
            ...own
              .slice(0, MOST_ROWS)
              .map((r) =>
                h(
                  "tr",
                  { "data-bad": BAD.has(r.verdict) ? "" : null },
                  h(
                    "th",
                    { scope: "row", class: "tv-mono" },
                    [r.operand, r.index === "()" ? "" : r.index].filter(Boolean).join(" "),
                  ),
                  h("td", { class: "tv-n tv-g" }, number(r.analytic)),
                  h("td", { class: "tv-n" }, number(r.numeric)),
                  h("td", { class: "tv-n" }, number(r.error, 2)),
                  h("td", {}, r.verdict, r.reason && r.verdict !== "ok" && h("small", {}, r.reason)),
                ),
              ),
          ),
        ),
        own.length > MOST_ROWS &&
          h("p", { class: "tv-dim" }, `… ${count(own.length - MOST_ROWS)} more rows; trace.check() lists all.`),
      );
    }),
  );
}
