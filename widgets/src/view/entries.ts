/** An array whose entries can be looked at one by one and, where a kernel is there, changed. */
import { h as element } from "../dom";
import { MINUS, one } from "../format";
import { shortTitle } from "../step";
import { h } from "../virtual";
import type { Recording, ArrayView } from "../wire";
import type { Pick } from "../bench";
import { array, fits, grid, type Dress } from "./cells";
import { change, changeable } from "./changes";
import type { Context } from "./context";
import { position, wrapped } from "./formula";
import { asked, slice } from "./slice";
import type { Part } from "../part";

/** What the rest of the inspector does with an entry that is looked at (null: with none), in an element of the table. */
export type Look = (at: Element, pick: Pick | null) => void;

/** The number of an entry, where it has travelled or was sent. */
export function numberOf(context: Context, { node, what, position }: Pick): number | undefined {
  const { rec, steps, store } = context;
  const view =
    what === "gradient"
      ? steps.total(node, store.now.step)?.array
      : rec.array((what === "value" ? rec.header.nodes[node]?.value : rec.share.value[what]) ?? -1);
  if (!view || view.data) return view?.data?.[position];
  const { part, numbers } = asked(context, view);
  return numbers?.data?.[part?.positions.indexOf(position) ?? -1];
}

export const keyOf = (pick: Pick) => `${pick.node}:${pick.what}:${pick.position}`;

/** The name of an entry: `W[0, 1]`, `∂W[0, 1]`. */
export function entryName(rec: Recording, { node, what, position: at }: Pick): string {
  const entry = rec.header.nodes[node];
  return `${entryTitle(rec, node, what)}${position(at, entry?.shape ?? [])}`;
}

function entryTitle(rec: Recording, id: number, what: Pick["what"]): string {
  const title = wrapped(shortTitle(rec, id, 20));
  if (what === "value") return title;
  if (what === "gradient") return `∂${title}`;
  return `share from ${shortTitle(rec, rec.share.consumer[what] ?? -1, 16)} to ∂${title}`;
}

/** The array of one node, in full where it can be read, else a part of it; every entry can be focused, and says what it is. */
export function entries(context: Context, id: number, what: Pick["what"], view: ArrayView, label: string, look: Look) {
  const { rec } = context;
  const kind = what === "value" ? "value" : "gradient";
  if (fits(view)) return array(rec, kind, view, label, dress(context, id, what, view, look));
  const one = (part: Part, numbers: ArrayView) => dress(context, id, what, view, look, part, numbers);
  return h("div", {}, array(rec, kind, view, label), slice(context, kind, view, entryTitle(rec, id, what), one));
}

function dress(
  context: Context,
  id: number,
  what: Pick["what"],
  view: ArrayView,
  look: Look,
  part?: Part,
  numbers = view,
): Dress {
  const { rec } = context;
  const { memory } = context.session;
  const placeOf = (cell: number) => part?.positions[cell] ?? cell;
  const cellOf = (place: number) => (part ? part.positions.indexOf(place) : place);
  const mine = memory.pick?.node === id && memory.pick.what === what ? cellOf(memory.pick.position) : -1;
  const pickOf = (td: Element | null): Pick | null => {
    const at = td?.closest("[data-cell]")?.getAttribute("data-cell")?.split(":")[2];
    return at === undefined ? null : { node: id, what, position: Number(at) };
  };
  const title = entryTitle(rec, id, what);
  const each = (at: number, word: string) => {
    // What is read aloud begins with what is seen, and adds the rest of the digits where the table leaves some out.
    const seen = word.trim();
    const place = placeOf(at);
    const x = numbers.data?.[at] ?? NaN;
    const exact = one(numbers.data, at, 17);
    const whole = seen === exact || Number(seen.replace(MINUS, "-")) === x;
    const said = whole ? seen : exact[0] === seen ? exact : seen ? `${seen}, exactly ${exact}` : exact;
    return {
      "data-cell": `${id}:${what}:${place}`,
      title: null, // the box below says more
      role: "gridcell",
      "aria-label": `${title}${position(place, view.shape)} is ${said}`,
      tabindex: at === Math.max(mine, 0) ? 0 : -1,
      "aria-selected": at === mine ? "true" : null,
    };
  };
  const [rows, columns] = grid((part ?? view).shape);
  const focus = (table: Element, to: number) => {
    const cells = [...table.querySelectorAll<HTMLElement>("[data-cell]")];
    for (const [i, cell] of cells.entries()) cell.tabIndex = i === to ? 0 : -1;
    cells[to]?.focus();
  };
  const parts = (event: Event) => ({
    table: event.currentTarget as Element,
    td: event.target as HTMLElement,
    pick: pickOf(event.target as Element),
  });
  const whole = {
    role: "grid",
    onfocusin(event: Event) {
      const { td, pick } = parts(event);
      if (!pick || td.tagName === "INPUT") return;
      td.closest("[role=tabpanel]")?.querySelector("[aria-selected]")?.removeAttribute("aria-selected"); // of another array, too
      td.setAttribute("aria-selected", "true");
      memory.pick = pick;
      look(td, pick);
    },
    onmouseover(event: Event) {
      const { td, pick } = parts(event);
      look(td, pick ?? memory.pick);
    },
    onmouseleave: (event: Event) => look(parts(event).table, memory.pick),
    onclick(event: Event) {
      const { table, pick } = parts(event);
      focus(table, cellOf(pick?.position ?? placeOf(0)));
    },
    ondblclick(event: Event) {
      const { td, pick } = parts(event);
      edit(context, td, pick);
    },
    onkeydown(event: KeyboardEvent) {
      const { table, td, pick } = parts(event);
      if (!pick || event.shiftKey || event.ctrlKey || event.metaKey || event.altKey) return;
      const at = cellOf(pick.position);
      const [r, c] = [Math.floor(at / columns), at % columns];
      const to = {
        ArrowRight: c + 1 < columns ? at + 1 : at,
        ArrowLeft: c > 0 ? at - 1 : at,
        ArrowDown: r + 1 < rows ? at + columns : at,
        ArrowUp: r > 0 ? at - columns : at,
        Home: r * columns,
        End: r * columns + columns - 1,
      }[event.key];
      if (to !== undefined) focus(table, to);
      else if (event.key === "Enter" || event.key === "F2") edit(context, td, pick);
      else return;
      event.preventDefault();
    },
  };
  return { whole, each };
}

/** A field in place of a number; Enter takes it over, Escape leaves it. */
export function edit(context: Context, td: HTMLElement | null, pick: Pick | null): void {
  if (!td || !pick || td.querySelector("input")) return;
  const refused = changeable(context, pick);
  if (refused) {
    say(context, refused);
    return;
  }
  const before = numberOf(context, pick) ?? NaN;
  const field = element("input", {
    class: "tv-edit",
    type: "text",
    inputmode: "decimal",
    value: String(before),
    "aria-label": `New value of ${entryName(context.rec, pick)}`,
  });
  const old = [...td.childNodes];
  let open = true;
  const close = (focus: boolean) => {
    if (!open) return;
    open = false;
    td.replaceChildren(...old);
    if (focus) td.focus();
  };
  field.addEventListener("keydown", (event) => {
    event.stopPropagation(); // no key steps while a number is written
    if (event.key !== "Enter" && event.key !== "Escape") return;
    event.preventDefault();
    const wanted = read(field.value);
    if (event.key === "Enter" && wanted === null) {
      field.setAttribute("aria-invalid", "true");
      say(context, `${field.value || "Nothing"} is no number.`);
      return;
    }
    close(true);
    if (event.key === "Enter") say(context, "");
    if (event.key === "Enter" && wanted !== null && !Object.is(wanted, before)) {
      td.setAttribute("aria-busy", "true");
      void change(context, pick, before, wanted).then((error) => {
        td.removeAttribute("aria-busy");
        say(context, error);
      });
    }
  });
  field.addEventListener("blur", () => close(false));
  td.replaceChildren(field);
  field.focus();
  field.select();
}

/** A number as people and Python write one; null for anything else. */
export function read(text: string): number | null {
  const plain = text
    .trim()
    .replace("\u2212", "-")
    .replace(/^([-+]?)(?:inf(?:inity)?|∞)$/i, "$1Infinity");
  if (/^[-+]?nan$/i.test(plain)) return NaN;
  return plain === "" || Number.isNaN(Number(plain)) ? null : Number(plain);
}

/** Tell the person something, in the pane's live line. */
export function say(context: Context, words: string): void {
  context.session.tell(words);
}
