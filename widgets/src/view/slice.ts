/** Part of an array that is too large to be shown as a whole, by a NumPy index: of what has travelled, else asked of the kernel. */
import type { Kind } from "../color";
import { shape as written } from "../format";
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
  const { bytes, shape } = reply;
  if (reply.error || !bytes || !shape) return null;
  const known = arrived.get(reply);
  if (known) return known;
  const made = seen(shape, new Float64Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 8));
  arrived.set(reply, made);
  return made;
}

const seen = (shape: readonly number[], data: Float64Array): ArrayView => ({
  index: -1,
  dtype: "<f8",
  shape,
  size: data.length,
  data,
  picture: null,
  stats: counted(data),
});

/** A field for the index, and below it the part. `dress` is for parts that are here: its entries can be looked at one by one. */
export function slice(
  context: Context,
  kind: Kind,
  view: ArrayView,
  label: string,
  dress?: (part: Part) => Dress,
): Virtual | null {
  const { rec, session } = context;
  const name = nameOf(rec, view.index);
  if (!name || !view.size || !(view.data || session.kernel.possible)) return null;
  const { parts } = session.memory;
  const { index, reply } = parts.get(name) ?? {}; // what was asked for stays, however often the pane is drawn
  const now = index ?? firstPart(view.shape);
  const { data } = view;
  const here = data && partOf(now, view.shape);
  const show = async (at: Element) => {
    const index = at.closest(".tv-slice")?.querySelector("input")?.value ?? "";
    const reply = data ? {} : await session.kernel.ask({ kind: "slice", name, index, changes: session.changes });
    parts.set(name, { index, reply });
    session.again();
  };
  const part = here
    ? seen(
        here.shape,
        Float64Array.from(here.positions, (i) => Number(data[i])),
      )
    : reply && !data && sent(reply);
  const said = data ? `${now} is no index of shape ${written(view.shape)}` : reply?.error;
  return h(
    "div",
    { class: "tv-slice", key: name },
    h("span", { class: "tv-dim" }, "part "),
    h("input", {
      class: "tv-index",
      type: "text",
      spellcheck: "false",
      value: now,
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
      part
        ? array(rec, kind, part, `${label}${now}`, here ? dress?.(here) : undefined, part.size <= MOST)
        : reply && h("p", { class: "tv-message" }, said ?? "The kernel sent nothing."),
    ),
  );
}
