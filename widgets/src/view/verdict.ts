/** What finite differences say of a node, in a chip and as a table. */
import { h, type Child } from "../dom";
import { count, number } from "../format";
import { shortTitle, specialOf } from "../step";
import type { Recording } from "../wire";
import type { Context } from "./context";
import { icon, type Icon } from "./icons";

export interface Row {
  readonly node: number;
  readonly slot: number;
  readonly scope: string;
  readonly title: string;
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

const kept = new WeakMap<Recording, { gradients: Map<number, Row[]>; rules: Map<string, Row[]> }>();

function table(rec: Recording): { gradients: Map<number, Row[]>; rules: Map<string, Row[]> } {
  let found = kept.get(rec);
  if (found) return found;
  found = { gradients: new Map(), rules: new Map() };
  const v = rec.header.view.verdicts;
  const [nodes, slots, error] = [rec.column(v.node), rec.column(v.slot), rec.column(v.error)];
  const [analytic, numeric] = [rec.column(v.analytic), rec.column(v.numeric)];
  const put = <K>(map: Map<K, Row[]>, key: K, row: Row) => {
    const list = map.get(key);
    if (list) list.push(row);
    else map.set(key, [row]);
  };
  for (let i = 0; i < nodes.length; i++) {
    const row: Row = {
      node: nodes[i] ?? -1,
      slot: slots[i] ?? -1,
      scope: v.scope[i] ?? "",
      title: v.title[i] ?? "",
      index: v.index[i] ?? "",
      analytic: analytic[i] ?? NaN,
      numeric: numeric[i] ?? NaN,
      error: error[i] ?? NaN,
      verdict: v.verdict[i] ?? "",
      reason: v.reason[i] ?? "",
    };
    if (row.scope === "local") put(found.rules, `${row.node}:${row.slot}`, row);
    else put(found.gradients, row.node, row);
  }
  kept.set(rec, found);
  return found;
}

/** The rows that judge a node's whole gradient. */
export function gradientRows(rec: Recording, node: number): Row[] {
  return table(rec).gradients.get(node) ?? [];
}

/** The rows that judge one op's rule for one operand. */
export function ruleRows(rec: Recording, edge: string): Row[] {
  return table(rec).rules.get(edge) ?? [];
}

const at = (row: Row) => (row.index ? ` at ${row.index}` : "");

/** One chip for a node at a step: of its whole gradient once all shares are in, of the share of the step before. */
export function chip({ rec, steps, store }: Context, id: number): HTMLElement | null {
  const { step, selected } = store.now;
  const node = rec.header.nodes[id];
  const total = steps.total(id, step);
  const share = selected === null || selected === steps.activeNode(step) ? steps.shareAt(step) : -1;
  const coming = rec.kinds[step] === "unbroadcast" && share >= 0 ? 1 : 0;
  const waiting = (node?.shares.length ?? 0) - (total?.shares ?? 0) - coming;
  const whole = waiting <= 0;
  const rows = whole ? gradientRows(rec, id) : share >= 0 ? ruleRows(rec, steps.activeEdge(step) ?? "") : [];
  const make = (kind: string, picture: Icon, ...words: Child[]) =>
    h("span", { class: `tv-chip tv-${kind}` }, icon(picture), ...words);
  const place = node && share >= 0 ? node.shares.indexOf(share) + 1 : 0;
  const strange = share >= 0 ? rec.array(rec.share.value[share] ?? -1) : (total?.array ?? null);
  if (specialOf(strange)) {
    // A NaN says more than any comparison could: where it came from is the question.
    const born = steps.marks.some((m) => m.step === step && (m.kind === "nan" || m.kind === "inf"));
    const { nan = 0, posinf = 0, neginf = 0 } = strange?.stats ?? {};
    const what = nan ? `${count(nan)} NaN` : `${count(posinf + neginf)} ∞`;
    return make(
      "err",
      "cross",
      share < 0 ? `${what} in ∂` : `${what}, ${born ? "born" : "inherited"} in share ${place}`,
    );
  }
  if (!rows.length) {
    const judged = gradientRows(rec, id).length > 0;
    return !whole && judged ? make("wait", "wait", `waits for ${waiting} share${waiting === 1 ? "" : "s"}`) : null;
  }
  const ok = rows.filter((r) => r.verdict === "ok");
  const worst = [...rows].sort((a, b) => WORST.indexOf(a.verdict) - WORST.indexOf(b.verdict) || b.error - a.error)[0];
  if (!worst) return null;
  if (BAD.has(worst.verdict)) return make("err", "cross", `${worst.verdict} · ${number(worst.error, 2)}${at(worst)}`);
  if (ok.length === rows.length) {
    const error = number(Math.max(...ok.map((r) => (Number.isFinite(r.error) ? r.error : 0))), 2);
    return make("ok", "tick", whole ? `finite differences agree · ${error}` : `share ${place} agrees · ${error}`);
  }
  if (!ok.length) return make("wait", "ask", `cannot judge: ${worst.reason || worst.verdict}`);
  const open = rows.length - ok.length;
  return make("wait", "ask", `${count(ok.length)} of ${count(rows.length)} agree · ${count(open)} cannot be judged`);
}

/** A sign for the tab: all well, something wrong, or undecided. */
export function sign(rec: Recording): string {
  const { check_kind } = rec.header.view;
  return check_kind === "" ? "" : check_kind === "ok" ? "✓" : BAD.has(check_kind) ? "✕" : "?";
}

function rowsTable(label: string, rows: Row[]): HTMLElement {
  const order = [...rows].sort((a, b) => WORST.indexOf(a.verdict) - WORST.indexOf(b.verdict));
  const head = ["at", "analytic", "numeric", "error", "verdict"];
  const line = (r: Row) =>
    h(
      "tr",
      { "data-bad": BAD.has(r.verdict) ? "" : null },
      h("th", { scope: "row", class: "tv-mono" }, r.index || "·"),
      h("td", { class: "tv-n tv-g" }, number(r.analytic)),
      h("td", { class: "tv-n" }, number(r.numeric)),
      h("td", { class: "tv-n" }, number(r.error, 2)),
      h("td", {}, r.verdict, r.reason && r.verdict !== "ok" && h("small", {}, r.reason)),
    );
  const numeric = (w: string) => (w === "verdict" || w === "at" ? null : "tv-n");
  return h(
    "div",
    {},
    h(
      "table",
      { class: "tv-check", "aria-label": label },
      h("thead", {}, h("tr", {}, ...head.map((w) => h("th", { scope: "col", class: numeric(w) }, w)))),
      h("tbody", {}, ...order.slice(0, MOST_ROWS).map(line)),
    ),
    rows.length > MOST_ROWS &&
      h("p", { class: "tv-dim" }, `… ${count(rows.length - MOST_ROWS)} more rows; trace.check() lists all.`),
  );
}

/** Every row that has to do with a node. */
export function checkPane({ rec }: Context, id: number): HTMLElement {
  const { check_kind, check_note } = rec.header.view;
  if (!check_kind) return h("div", {}, h("p", { class: "tv-dim" }, check_note || "No check was run."));
  const node = rec.header.nodes[id];
  const parts: [string, string, Row[]][] = [];
  const name = shortTitle(rec, id, 24);
  const whole = gradientRows(rec, id);
  const add = (title: string, note: string, rows: Row[]) => {
    if (rows.length) parts.push([title, note, rows]);
  };
  add(
    `∂${name} `,
    "global: against differences of the whole pass",
    whole.filter((r) => r.scope !== "sum"),
  );
  add(
    `∂${name} `,
    "against the sum of its shares",
    whole.filter((r) => r.scope === "sum"),
  );
  for (const share of node?.shares ?? []) {
    const edge = `${rec.share.consumer[share]}:${rec.share.slot[share]}`;
    const from = shortTitle(rec, rec.share.consumer[share] ?? -1, 24);
    add(`share from ${from} `, "local: its rule alone, against differences of that op", ruleRows(rec, edge));
  }
  if (!parts.length) {
    return h("div", {}, h("p", { class: "tv-dim" }, "This node receives no gradient, so there is nothing to check."));
  }
  return h(
    "div",
    {},
    ...parts.map(([title, note, rows]) =>
      h("section", {}, h("h3", {}, title, h("span", {}, note)), rowsTable(title + note, rows)),
    ),
  );
}
