/** The shares of a node in order of arrival, with the running sum. */
import { axes } from "../format";
import { shortTitle } from "../step";
import { h, s, type Child, Virtual } from "../virtual";
import type { Context } from "./context";
import { brief } from "./cells";
import { shareButton } from "./changes";
import { edit, entries, keyOf } from "./entries";
import { look } from "./entry";
import { ruleOf, wrapped } from "./formula";

const WIDTH = 64;
const ALONE = 24; // letters of a row of numbers where no running sum stands beside it
const STAIRS = 24; // shares up to which the running sum is also drawn: of more, none would be seen
const SHORT = 26; // letters of a rule and of where it is from that stand beside a share and a running sum, 8 fewer beside the drawing
const FEW = 6; // rows beside other things: of a node that is used more often, those around the step are shown

/** At most `most` rows, those around the step. */
export function ledger(context: Context, id: number, most = FEW): Virtual {
  const { rec, steps, store } = context;
  const { step } = store.now;
  const node = rec.header.nodes[id];
  const list = node?.shares ?? [];
  const name = wrapped(shortTitle(rec, id, 20));
  const seeded = rec.header.roots.includes(id);
  const title = h(
    "h3",
    {},
    `Ledger of ∂${name} `,
    h(
      "span",
      {},
      list.length > 1
        ? `used ${list.length} times, so ${list.length} shares add up, in order of arrival`
        : "shares in order of arrival",
    ),
  );
  if (!list.length) {
    return h(
      "section",
      { class: "tv-ledger-box" },
      title,
      h(
        "p",
        { class: "tv-dim" },
        seeded
          ? "The pass starts here: the seed is its whole gradient."
          : "No share arrives: nothing that carries a gradient uses it.",
      ),
    );
  }
  const scalar = (node?.shape.length ?? 1) === 0 || rec.array(node?.value)?.size === 1;
  const few = scalar && list.length > 1 && list.length <= STAIRS ? list : [];
  const totals = few.map((share) => rec.array(rec.share.total[share])?.data?.[0] ?? NaN);
  const drawn = few.length > 0 && totals.every(Number.isFinite);
  const low = Math.min(0, ...totals);
  const high = Math.max(0, ...totals);
  const x = (v: number) => 6 + ((v - low) / (high - low || 1)) * (WIDTH - 12);
  const arrived = steps.total(id, step)?.shares ?? 0;
  const from = list.length <= most ? 0 : Math.max(0, Math.min(list.length - most, arrived - Math.ceil(most / 2)));
  const to = Math.min(list.length, from + most);
  const summing = list.length > 1; // one share is its own sum
  const wide = Math.min(
    16,
    list.slice(from, to).reduce((most, share) => Math.max(most, sender(rec, share).length), 0),
  );
  const short = SHORT - (drawn ? 8 : 0) - wide;
  const columns = 4 + Number(summing) + Number(drawn);
  const more = (count: number, where: string) =>
    count > 0 && h("tr", {}, h("td", { colspan: columns, class: "tv-dim" }, `… ${count} ${where}`));
  const rows = list.slice(from, to).flatMap((share, at) => {
    const i = from + at;
    const consumer = rec.share.consumer[share] ?? -1;
    const slot = rec.share.slot[share] ?? 0;
    const edge = steps.edges.get(`${consumer}:${slot}`);
    const now = steps.shareAt(step) === share;
    const past = edge !== undefined && edge.accumulate <= step;
    const when = now ? "now" : past ? "past" : "future";
    const gate = rec.header.nodes[consumer];
    const summed = rec.summed(share);
    const value = rec.array(rec.share.value[share]);
    const reached = past
      ? brief(rec.array(rec.share.total[share]))
      : [now ? h("span", { class: "tv-soon" }, "next step") : "…"];
    const rule = ruleOf(rec, share);
    // A long rule has a line of its own: beside the numbers it would stand in a narrow column.
    const offered = most > FEW || now ? buttons(context, id, share) : [];
    const long = letters(rule) > (summing ? short : short + SHORT) || (summing && offered.length > 0);
    const row = h(
      "tr",
      { "data-when": when, "aria-current": now ? "step" : null, class: long ? "tv-open" : null },
      h("td", {}, String(i + 1)),
      h("td", { class: "tv-from" }, h("code", {}, ...broken(sender(rec, share))), h("small", {}, `slot ${slot}`)),
      h(
        "td",
        {},
        gate?.word ? `${gate.op} ${gate.word}` : (gate?.op ?? ""),
        ...notes(long ? [] : rule, summed, now || past),
        ...(long ? [] : offered),
      ),
      h(
        "td",
        { class: summing ? "tv-n tv-g tv-tight" : "tv-n tv-g" },
        ...(now || past ? brief(value, summing ? undefined : ALONE) : [h("span", { class: "tv-soon" }, "to come")]),
      ),
      summing && h("td", { class: "tv-n tv-tight" }, ...reached),
      drawn && h("td", { class: "tv-fall" }, past ? fall(i === 0 ? 0 : (totals[i - 1] ?? 0), totals[i] ?? 0, x) : null),
    );
    if (!long) return [row];
    const below = h("div", { class: "tv-offers" }, h("small", { class: "tv-mono" }, ...rule), ...offered);
    const rest = h("td", { colspan: columns - 1 }, below);
    return [row, h("tr", { "data-when": when }, h("td", {}), rest)];
  });
  // Names have their room, of 8 px a letter and the gap, before the others have more than they must.
  const head = ["#", "from", "rule"].map((w, i) =>
    h("th", { scope: "col", style: i === 1 && `width:${8 * wide + 8}px` }, w),
  );
  const table = h(
    "table",
    { class: "tv-ledger", "aria-label": `Ledger of ∂${name}` },
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        ...head,
        h("th", { scope: "col", class: "tv-n" }, "share"),
        summing && h("th", { scope: "col", class: "tv-n" }, "running sum"),
        drawn && h("th", { "aria-hidden": "true" }),
      ),
    ),
    h("tbody", {}, more(from, "earlier"), ...rows, more(list.length - to, "later")),
  );
  const so = steps.total(id, step);
  const whole = so !== null && so.shares === list.length;
  const sum =
    scalar && so?.array && list.length > 1
      ? h(
          "p",
          { class: "tv-so-far" },
          h("b", { class: "tv-g" }, `∂${name} = `, ...brief(so.array)),
          h("span", {}, whole ? "all shares are in" : `so far; ${list.length - so.shares} to come`),
        )
      : null;
  return h(
    "section",
    { class: "tv-ledger-box" },
    title,
    h("div", { class: "tv-scroll" }, table),
    sum,
    entriesOf(context, id, list),
  );
}

/** To zero and back, and a way to the entries of a share. */
function buttons(context: Context, id: number, share: number): Child[] {
  const { rec, session } = context;
  const name = sender(rec, share);
  const open = (event: Event) => {
    const root = (event.currentTarget as Element).closest(".tensorviz");
    const pick = { node: id, what: share, position: 0 };
    session.memory.pick = pick;
    session.again();
    const cell = root?.querySelector<HTMLElement>(`[role=tabpanel] [data-cell="${keyOf(pick)}"]`);
    cell?.focus();
    if (cell && rec.array(rec.share.value[share])?.size === 1) edit(context, cell, pick);
  };
  const given = {
    class: "tv-quiet tv-small",
    "aria-label": `change: share from ${name}`,
    onclick: open,
  };
  const zero = shareButton(context, share, name);
  return zero ? [h("span", { class: "tv-offers" }, zero, h("button", given, "change…"))] : [];
}

/** The share that is looked at, entry by entry. */
function entriesOf(context: Context, id: number, list: readonly number[]): Virtual | null {
  const { rec, session } = context;
  const { node, what } = session.memory.pick ?? {};
  if (node !== id || typeof what !== "number" || !list.includes(what)) return null;
  const view = rec.array(rec.share.value[what]);
  const label = `share from ${shortTitle(rec, rec.share.consumer[what] ?? -1, 16)}`;
  return view && h("section", { key: `share ${what}` }, entries(context, id, what, view, label, look(context, id)));
}

const sender = (rec: Context["rec"], share: number) => shortTitle(rec, rec.share.consumer[share] ?? -1, 12);

/** A name, or a piece of code, that breaks where one would break it. */
const broken = (name: string): Child[] => name.split(/(?<=[._/(,[])/).flatMap((piece) => [piece, h("wbr")]);

/** How long a text is. */
function letters(words: readonly Child[]): number {
  return words.reduce(
    (sum: number, word) => sum + (word instanceof Virtual ? letters(word.children) : String(word ?? "").length),
    0,
  );
}

function notes(formula: Child[], summed: readonly number[], arrived: boolean): Child[] {
  return [
    formula.length > 0 && h("small", { class: "tv-mono" }, ...formula),
    summed.length > 0 &&
      h("small", {}, `${arrived ? "" : "to be "}summed over `, h("span", { class: "tv-keep" }, axes(summed))),
  ];
}

function fall(from: number, to: number, x: (v: number) => number): Virtual {
  const [a, b] = [x(Math.min(from, to)), x(Math.max(from, to))];
  return s(
    "svg",
    { width: WIDTH, height: 30, "aria-hidden": "true" },
    s("path", { class: "tv-base", d: `M${x(0).toFixed(1)},0V30` }),
    s("rect", {
      class: to >= from ? "tv-up" : "tv-down",
      x: a.toFixed(1),
      y: 9,
      width: Math.max(2, b - a).toFixed(1),
      height: 12,
    }),
    s("path", { class: "tv-from", d: `M${x(from).toFixed(1)},2V28` }),
    s("path", { class: "tv-to", d: `M${x(to).toFixed(1)},4V26` }),
  );
}
