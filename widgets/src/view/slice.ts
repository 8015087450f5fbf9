/** Part of an array that is too large to travel, asked of the kernel by a NumPy index. */
import type { Kind } from "../color";
import { shape as written } from "../format";
import type { Reply } from "../kernel";
import { h, type Virtual } from "../virtual";
import { counted, type ArrayView, type Recording } from "../wire";
import { array } from "./cells";
import type { Context } from "./context";

const [ROWS, COLUMNS] = [6, 8]; // of the first part that is offered

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
  const data = new Float64Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 8);
  const stats = counted(data);
  const made: ArrayView = { index: -1, dtype: "<f8", shape, size: data.length, data, picture: null, stats };
  arrived.set(reply, made);
  return made;
}

/** A field for the index, and below it what came. */
export function slice(context: Context, kind: Kind, view: ArrayView, label: string): Virtual | null {
  const { rec, session } = context;
  const name = nameOf(rec, view.index);
  if (!name || !view.size || !session.kernel.possible) return null;
  const { parts } = session.memory;
  const { index, reply } = parts.get(name) ?? {}; // what was loaded stays, however often the pane is drawn
  const show = async (at: Element) => {
    const index = at.closest(".tv-slice")?.querySelector("input")?.value ?? "";
    const reply = await session.kernel.ask({ kind: "slice", name, index, changes: session.changes });
    parts.set(name, { index, reply });
    session.again();
  };
  const part = reply && sent(reply);
  return h(
    "div",
    { class: "tv-slice", key: name },
    h("span", { class: "tv-dim" }, "part "),
    h("input", {
      class: "tv-index",
      type: "text",
      spellcheck: "false",
      value: index ?? firstPart(view.shape),
      "aria-label": `Part of ${label} ${written(view.shape)}`,
      onkeydown(event: KeyboardEvent) {
        event.stopPropagation();
        const field = event.currentTarget as HTMLElement;
        if (event.key === "Enter") void show(field);
        if (event.key === "Escape") field.blur();
      },
    }),
    h(
      "button",
      { type: "button", class: "tv-quiet", onclick: (event: Event) => void show(event.currentTarget as Element) },
      "Show",
    ),
    h(
      "div",
      { "aria-live": "polite" },
      part
        ? array(rec, kind, part, `${label}${index}`)
        : reply && h("p", { class: "tv-message" }, reply.error ?? "The kernel sent nothing."),
    ),
  );
}
