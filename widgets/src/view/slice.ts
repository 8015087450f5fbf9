/** Part of an array that is too large to travel, asked of the kernel by a NumPy index. */
import type { Kind } from "../color";
import { h, replace } from "../dom";
import { shape as written } from "../format";
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

/** A field for the index, and below it what came. */
export function slice(context: Context, kind: Kind, view: ArrayView, label: string): HTMLElement | null {
  const { rec, session } = context;
  const name = nameOf(rec, view.index);
  if (!name || !view.size) return null;
  const came = h("div", { "aria-live": "polite" });
  const { parts } = session.memory;
  const field = h("input", {
    class: "tv-index",
    type: "text",
    spellcheck: "false",
    value: parts.get(name)?.index ?? firstPart(view.shape),
    "aria-label": `Part of ${label} ${written(view.shape)}`,
  });
  const show = async () => {
    const index = field.value;
    const reply = await session.kernel.ask({ kind: "slice", name, index, changes: session.changes });
    parts.set(name, { index, reply });
    put();
  };
  const put = () => {
    const { index, reply } = parts.get(name) ?? {};
    if (!reply) return;
    if (reply.error || !reply.bytes || !reply.shape) {
      replace(came, h("p", { class: "tv-message" }, reply.error ?? "The kernel sent nothing."));
      return;
    }
    const data = new Float64Array(reply.bytes.buffer, reply.bytes.byteOffset, reply.bytes.byteLength / 8);
    const part: ArrayView = {
      index: -1,
      dtype: "<f8",
      shape: reply.shape,
      size: data.length,
      data,
      picture: null,
      stats: counted(data),
    };
    replace(came, array(rec, kind, part, `${label}${index}`));
  };
  put(); // what was loaded stays, however often the pane is drawn
  field.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Enter") void show();
    if (event.key === "Escape") field.blur();
  });
  const button = h("button", { type: "button", class: "tv-quiet", onclick: () => void show() }, "Show");
  return h("div", { class: "tv-slice" }, h("span", { class: "tv-dim" }, "part "), field, button, came);
}
