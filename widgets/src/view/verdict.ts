/** What finite differences say of a node, in a chip and as a table. */
import { BAD, checkOf, WORST, type Row } from "../check";
import { count, number } from "../format";
import { shortTitle, specialOf } from "../step";
import { h, type Child, type Virtual } from "../virtual";
import type { Recording } from "../wire";
import type { Context } from "./context";
import { icon, type Icon } from "./icons";

const MOST_ROWS = 60;

/** The rows that judge a node's whole gradient. */
export function gradientRows(rec: Recording, node: number): Row[] {
  return checkOf(rec).gradients.get(node) ?? [];
}

/** The rows that judge one op's rule for one operand. */
export function ruleRows(rec: Recording, edge: string): Row[] {
  return checkOf(rec).rules.get(edge) ?? [];
}

/** The rows that judge a node's own rule, operand by operand. */
function ownRule(rec: Recording, id: number): { slot: number; rows: Row[] }[] {
  return (rec.header.nodes[id]?.inputs ?? [])
    .map((_, slot) => ({ slot, rows: ruleRows(rec, `${id}:${slot}`) }))
    .filter(({ rows }) => rows.length > 0);
}

/** How far off a row is, in tolerances of the check, whose absolute one is a hundredth of the relative; as the report, nothing where it is not finite. */
const far = ({ analytic: a, numeric: n }: Row) => Math.abs(a - n) / (0.01 + Math.max(Math.abs(a), Math.abs(n))) || 0;

/** The row that the report quotes comes first; what is well stays in order. */
const worstFirst = (rows: readonly Row[]) =>
  [...rows].sort(
    (a, b) => WORST.indexOf(a.verdict) - WORST.indexOf(b.verdict) || (BAD.has(a.verdict) ? far(b) - far(a) : 0),
  );

const at = (row: Row) => (row.index ? ` at ${row.index}` : "");

/** A chip for a node in whose value NaN or an infinity first appears; null for others, and where a share has more to say. */
export function born({ rec, steps, store }: Context, id: number): Virtual | null {
  const node = rec.header.nodes[id];
  const value = rec.array(node?.value);
  const here = specialOf(value);
  if (!node || !value || !here || (store.now.selected === null && steps.shareAt(store.now.step) >= 0)) return null;
  if (here === "inf" && node.kind === "constant") return null; // a mask
  const given = node.inputs.map((i) => specialOf(rec.array(rec.header.nodes[i]?.value)));
  if (given.includes("nan") || given.includes(here)) return null;
  const { nan, posinf, neginf } = value.stats;
  const what = nan ? `${count(nan)} NaN` : `${count(posinf + neginf)} ∞`;
  return h("span", { class: "tv-chip tv-err" }, icon("cross"), `${what} born here`);
}

/** One chip for a node at a step: of its whole gradient once all shares are in, of the share of the step before. */
export function chip({ rec, steps, store }: Context, id: number): Virtual | null {
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
  const strange = share >= 0 ? rec.array(rec.share.value[share]) : (total?.array ?? null);
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
  const [wrong] = whole ? worstFirst(ownRule(rec, id).flatMap((r) => r.rows)) : [];
  if (wrong && BAD.has(wrong.verdict))
    return make("err", "cross", `its own rule: ${wrong.verdict} · ${number(wrong.error, 2)}${at(wrong)}`);
  if (!rows.length) {
    const judged = gradientRows(rec, id).length > 0;
    return !whole && judged ? make("wait", "wait", `waits for ${waiting} share${waiting === 1 ? "" : "s"}`) : null;
  }
  const ok = rows.filter((r) => r.verdict === "ok");
  const [worst] = worstFirst(rows);
  if (!worst) return null;
  if (BAD.has(worst.verdict)) return make("err", "cross", `${worst.verdict} · ${number(worst.error, 2)}${at(worst)}`);
  if (ok.length === rows.length) {
    const error = number(Math.max(...ok.map((r) => (Number.isFinite(r.error) ? r.error : 0))), 2);
    const much = error === "0" ? " exactly" : ` · ${error}`;
    return make("ok", "tick", (whole ? "finite differences agree" : `share ${place} agrees`) + much);
  }
  if (!ok.length) return make("wait", "ask", `cannot judge: ${worst.reason || worst.verdict}`);
  const open = rows.length - ok.length;
  return make("wait", "ask", `${count(ok.length)} of ${count(rows.length)} agree · ${count(open)} cannot be judged`);
}

function rowsTable(label: string, rows: Row[]): Virtual {
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
      h("tbody", {}, ...worstFirst(rows).slice(0, MOST_ROWS).map(line)),
    ),
    rows.length > MOST_ROWS &&
      h("p", { class: "tv-dim" }, `… ${count(rows.length - MOST_ROWS)} more rows; trace.check() lists all.`),
  );
}

/** Every row that has to do with a node. */
export function checkPane({ rec }: Context, id: number): Virtual {
  const { kind, note, progress } = checkOf(rec);
  const running = progress?.state === "running";
  if (!kind)
    return h("div", {}, h("p", { class: "tv-dim" }, running ? "The check is running." : note || "No check was run."));
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
  for (const { slot, rows } of ownRule(rec, id)) {
    const to = shortTitle(rec, node?.inputs[slot] ?? -1, 24);
    add(`its own rule, for ${to} `, "local: the share that it sends there", rows);
  }
  if (!parts.length) {
    const why = !node?.shares.length
      ? "This node receives no gradient, so there is nothing to check."
      : running
        ? "The check has not come to this node yet."
        : note || "This node was not among those that were checked.";
    return h("div", {}, h("p", { class: "tv-dim" }, why));
  }
  return h(
    "div",
    {},
    note && h("p", { class: "tv-dim" }, note),
    ...parts.map(([title, note, rows]) =>
      h("section", {}, h("h3", {}, title, h("span", {}, note)), rowsTable(title + note, rows)),
    ),
  );
}
