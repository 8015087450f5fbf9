/** One entry of an array: its number in full, how it was computed, and where it came from and goes to. */
import type { Pick } from "../bench";
import { cameFrom, indexOf, wentTo, type Linked } from "../links";
import { attribute } from "../dom";
import { shortTitle } from "../step";
import { h, patch, type Child, type Virtual } from "../virtual";
import { worked } from "../worked";
import { byHand, changeable } from "./changes";
import type { Context } from "./context";
import { edit, entryName, keyOf, numberOf, type Look } from "./entries";
import { runs, wrapped } from "./formula";

const FEW = 3; // shares whose sums are written out

/** The box below the arrays. */
export function entryBox(context: Context, id: number): Virtual {
  const { pick } = context.session.memory;
  return h("div", { class: "tv-entry" }, ...(pick?.node === id ? about(context, pick) : []));
}

/** Fill the box with an entry of this node, and mark the linked entries in the picture. */
export function look(context: Context, id: number): Look {
  return (at, pick) => {
    const mine = pick?.node === id ? pick : null;
    const box = at.closest(".tensorviz")?.querySelector("[role=tabpanel] .tv-entry");
    if (box) {
      patch(box, mine ? about(context, mine) : []);
      const { pick: kept } = context.session.memory;
      attribute(box, "data-passing", mine && !(kept && keyOf(kept) === keyOf(mine)) ? "" : null);
      uncover(at, box);
    }
    mark(context, at, mine);
  };
}

/** Scroll the entry that has the focus out from under the box. */
function uncover(at: Element, box: Element): void {
  const under = at.getBoundingClientRect().bottom - box.getBoundingClientRect().top;
  if (at === document.activeElement && under > 0) box.parentElement?.scrollBy(0, under);
}

let pointed = false;

/** The pointer is over an entry in the picture, or over none. */
export function point(context: Context, at: Element, pick: Pick | null): void {
  if (!pick && !pointed) return;
  pointed = pick !== null;
  const id = context.shown();
  // The box is about the node that is inspected; of others it is seen in the picture what belongs together.
  if (!pick || pick.node === id) look(context, id)(at, pick ?? context.session.memory.pick);
  else mark(context, at, pick);
}

/** What an entry came from. A gradient comes the other way: from the results that its value went into. */
function before({ rec }: Context, { node, what, position }: Pick): Linked[] {
  if (what === "value") return cameFrom(rec, node, position);
  const found = carrying(rec, wentTo(rec, node, position));
  return what === "gradient" ? found : found.filter((link) => link.node === rec.share.consumer[what]);
}

function after({ rec }: Context, { node, what, position }: Pick): Linked[] {
  if (what === "value") return wentTo(rec, node, position);
  return what === "gradient" ? carrying(rec, cameFrom(rec, node, position)) : [];
}

const carrying = (rec: Context["rec"], links: Linked[]) =>
  links.filter((link) => (rec.header.nodes[link.node]?.cotangent ?? -1) >= 0);

/** Ring the entry that is looked at where a step or a picture is another one, if it is still the node's that is inspected. */
export function ring(context: Context, at: Element): void {
  const { pick } = context.session.memory;
  if (pick) mark(context, at, pick.node === context.shown() ? pick : null);
}

/** Ring the linked entries where the picture shows them one by one, also out of sight. */
function mark(context: Context, element: Element, pick: Pick | null): void {
  const root = element.closest(".tensorviz");
  for (const old of root?.querySelectorAll(".tv-linked") ?? []) old.classList.remove("tv-linked");
  if (!root || !pick) return;
  const links = [...before(context, pick), ...after(context, pick)];
  const group = pick.what === "value" ? "data-value" : "data-total";
  for (const { node, positions } of [...links, { node: pick.node, positions: [pick.position] }])
    for (const array of root.querySelectorAll(`.tv-stage [${group}="${node}"]`)) {
      const cells = array.querySelectorAll(".tv-cell");
      for (const position of positions ?? []) cells[position]?.classList.add("tv-linked");
    }
}

function about(context: Context, pick: Pick): Virtual[] {
  const { rec } = context;
  const value = numberOf(context, pick);
  if (value === undefined) return [];
  const refused = changeable(context, pick);
  const change = ({ target }: Event) => {
    const panel = (target as Element).closest("[role=tabpanel]"); // a page may have another stepper with such a cell
    const cell = panel?.querySelector<HTMLElement>(`[data-cell="${keyOf(pick)}"]`) ?? null;
    cell?.focus();
    edit(context, cell, pick);
  };
  const row = (word: string, links: Linked[]) => {
    const some = links.filter(({ positions }) => positions?.length !== 0);
    return (
      some.length > 0 && [h("dt", {}, word), h("dd", {}, ...some.flatMap((link) => [linkTo(context, link, pick), " "]))]
    );
  };
  return [
    h(
      "p",
      {},
      h("b", { class: `tv-mono ${pick.what === "value" ? "tv-v" : "tv-g"}` }, entryName(rec, pick)),
      h("span", { class: "tv-mono" }, ` = ${String(value).replace("-", "−")}`),
      " ",
      refused
        ? context.session.kernel.live && h("small", { class: "tv-dim" }, refused)
        : h("button", { class: "tv-quiet", onclick: change }, "Change…"),
    ),
    ...sums(context, pick),
    h(
      "dl",
      { class: "tv-rows" },
      ...[row("comes from", before(context, pick)), row("goes into", after(context, pick))].flatMap((r) => r || []),
    ),
  ];
}

function linkTo({ rec, select }: Context, { node, positions }: Linked, pick: Pick): Child {
  const name = `${pick.what === "value" ? "" : "∂"}${wrapped(shortTitle(rec, node, 16))}`;
  const where = positions === null ? " (where is not known)" : indexOf(positions, rec.header.nodes[node]?.shape ?? []);
  return h("button", { class: "tv-quiet tv-mono", onclick: () => select(node) }, name + where);
}

/** Of a gradient: each share that has arrived, with the numbers of this entry put in. */
function sums(context: Context, { node, what, position }: Pick): Virtual[] {
  const { rec, steps, store } = context;
  if (what === "value") return [];
  const arrived = steps.total(node, store.now.step)?.shares ?? 0;
  const shares = what === "gradient" ? (rec.header.nodes[node]?.shares ?? []).slice(0, arrived) : [what];
  const more = shares.length - FEW;
  const written = shares.slice(0, FEW).flatMap((share) => {
    const hand = byHand(context, share, position);
    if (hand) return [hand];
    const found = worked(rec, share, position);
    if (!found) return [];
    const from = shortTitle(rec, rec.share.consumer[share] ?? -1, 14);
    const result = h("b", { class: "tv-g" }, found.result);
    const many = shares.length > 1;
    return [
      h(
        "p",
        { class: "tv-formula tv-put" },
        many && h("small", {}, `from ${from}: `),
        ...runs(found.pieces),
        " = ",
        result,
      ),
    ];
  });
  return more > 0 ? [...written, h("p", { class: "tv-dim" }, `and ${more} more: see Shares`)] : written;
}
