/** Part of an array that is too large to be shown as a whole, by a NumPy index: of what has travelled, else asked of the kernel. */
import type { Kind } from "../color";
import { Bools, shape as written, TRUTH } from "../format";
import type { Reply } from "../kernel";
import { partOf, type Part } from "../part";
import { h, type Virtual } from "../virtual";
import { counted, type ArrayView, type Recording } from "../wire";
import { array, type Dress } from "./cells";
import type { Context } from "./context";

const [ROWS, COLUMNS] = [6, 8]; // of the first part that is offered
const MOST = 400; // entries of a part that are shown as numbers

const names = new WeakMap<Recording, Map<number, string>>();

/** The name by which the kernel knows an array of the table. */
export function nameOf(rec: Recording, index: number): string | undefined {
  let known = names.get(rec);
  if (!known) {
    const made = new Map<number, string>();
    const add = (at: number | undefined, name: string) => {
      if (at !== undefined && at >= 0 && !made.has(at)) made.set(at, name);
    };
    rec.header.nodes.forEach((node, id) => {
      add(node.value, `value:${id}`);
      add(node.cotangent, `cotangent:${id}`);
      for (const [name, at] of Object.entries(node.saved)) add(at, `saved:${id}:${name}`);
      node.shares.forEach((share, k) => {
        add(rec.share.value[share], `share:${id}:${k}`);
        for (const part of ["local", "total", "route"] as const) add(rec.share[part][share], `${part}:${id}:${k}`);
      });
    });
    for (let k = 0; k < rec.length; k++) {
      add(rec.stepBefore[k], `before:${k}`);
      add(rec.stepAfter[k], `after:${k}`);
    }
    names.set(rec, (known = made));
  }
  return known.get(index);
}

/** The part that is offered first: the beginning of the last two axes, and of the others the first. */
export function firstPart(shape: readonly number[]): string {
  const last = shape.length - 1;
  const parts = shape.map((n, i) => {
    if (i < last - 1) return "0";
    const most = i === last ? COLUMNS : ROWS;
    return n > most ? `:${most}` : ":";
  });
  return `[${parts.join(", ")}]`;
}

const arrived = new WeakMap<Reply, ArrayView>();

/** The part that the kernel sent. */
function sent(reply: Reply): ArrayView | null {
  const { bytes, shape, dtype } = reply;
  if (reply.error || !bytes || !shape) return null;
  const known = arrived.get(reply);
  if (known) return known;
  const made = seen(shape, new Float64Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 8), dtype === "bool");
  arrived.set(reply, made);
  return made;
}

const seen = (shape: readonly number[], data: Float64Array, truth: boolean): ArrayView => ({
  index: -1,
  dtype: truth ? TRUTH : "<f8",
  shape,
  size: data.length,
  data: truth ? Bools.from(data) : data,
  picture: null,
  stats: counted(data),
});

/** The part of an array that was asked for, or is offered first: its index, where it stands, and its numbers as far as they are here. */
export function asked({ rec, session }: Context, view: ArrayView) {
  const { index = firstPart(view.shape), reply } = session.memory.parts.get(nameOf(rec, view.index) ?? "") ?? {};
  const { data } = view;
  const came = reply && sent(reply);
  const part = data || came ? partOf(index, view.shape) : null;
  const taken = () => Float64Array.from(part?.positions ?? [], (i) => Number(data?.[i]));
  const numbers = data ? part && seen(part.shape, taken(), view.dtype === TRUTH) : came;
  return { index, reply, part, numbers };
}

/** A field for the index, and below it the part. `dress`: its entries can be looked at one by one. */
export function slice(
  context: Context,
  kind: Kind,
  view: ArrayView,
  label: string,
  dress?: (part: Part, numbers: ArrayView) => Dress,
): Virtual | null {
  const { rec, session } = context;
  const name = nameOf(rec, view.index);
  if (!name || !view.size || !(view.data || session.kernel.possible)) return null;
  const { parts } = session.memory; // what was asked for stays, however often the pane is drawn
  const { index, reply, part, numbers } = asked(context, view);
  const show = async (at: Element) => {
    const index = at.closest(".tv-slice")?.querySelector("input")?.value ?? "";
    const wish = { kind: "slice", name, index, changes: session.changes } as const;
    parts.set(name, view.data ? { index } : { index, reply: await session.kernel.ask(wish) });
    session.again();
  };
  const said = view.data ? `${index} is no index of shape ${written(view.shape)}` : reply?.error;
  return h(
    "div",
    { class: "tv-slice", key: name },
    h("span", { class: "tv-dim" }, "part "),
    h("input", {
      class: "tv-index",
      type: "text",
      spellcheck: "false",
      value: index,
      "aria-label": `Part of ${label} ${written(view.shape)}`,
      onkeydown(event: KeyboardEvent) {
        event.stopPropagation();
        const field = event.currentTarget as HTMLElement;
        if (event.key === "Enter") void show(field);
        if (event.key === "Escape") field.blur();
      },
    }),
    h("button", { class: "tv-quiet", onclick: (event: Event) => void show(event.currentTarget as Element) }, "Show"),
    h(
      "div",
      { "aria-live": "polite" },
      numbers
        ? array(rec, kind, numbers, `${label}${index}`, part ? dress?.(part, numbers) : undefined, numbers.size <= MOST)
        : (view.data || reply) && h("p", { class: "tv-message" }, said ?? "The kernel sent nothing."),
    ),
  );
}
