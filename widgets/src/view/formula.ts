/** The rule of a share, as Python wrote it: in the user's names, and with the numbers of one entry. */
import { h, Virtual, type Child } from "../virtual";
import type { Recording } from "../wire";

type Part = "left" | "rule" | "entry" | "worked" | "result";

const CLASS: Record<string, string> = { v: "tv-v", g: "tv-g" };

/** Pieces as elements: the first character of each says what it is (t text, v value, g gradient), a capital one stands in an exponent. */
export function runs(pieces: readonly string[]): Child[] {
  const out: Child[] = [];
  let raised: Virtual | null = null;
  for (const piece of pieces) {
    const [kind = "t", text] = [piece[0], piece.slice(1)];
    const name = CLASS[kind.toLowerCase()];
    if (kind === kind.toLowerCase()) {
      // What closes behind a power stays with it when the line breaks.
      const closing = raised && !name ? (/^\S+/.exec(text)?.[0] ?? "") : "";
      if (closing) (out.at(-1) as Virtual).children.push(closing);
      raised = null;
      out.push(name ? h("span", { class: name }, text) : text.slice(closing.length));
      continue;
    }
    raised ??= powered(out);
    raised.children.push(term(name, text));
  }
  return out;
}

/** A piece inside a power; an exponent is set close: `2−1`. */
const term = (name: string | undefined, text: string) =>
  h("span", { class: name }, text.replace(/ ?([−+·/]) ?/g, "$1"));

/** Set what stands last as the base of a power; gives the place of its exponent. */
function powered(out: Child[]): Virtual {
  const last = out.pop() ?? "";
  let base: Virtual;
  if (last instanceof Virtual) base = term(String(last.attributes["class"]), last.children.join(""));
  else {
    const text = String(last);
    const name = /[\w.\]…]*$|\)$/.exec(text)?.[0] || text.slice(-1);
    out.push(text.slice(0, text.length - name.length));
    base = term(undefined, name);
  }
  const exponent = h("sup");
  out.push(h("span", { class: "tv-whole" }, base, exponent));
  return exponent;
}

const kept = new WeakMap<Recording, Record<Part, ArrayLike<number>>>();

/** One part of a share's formula as it travelled. */
export function pieces(rec: Recording, share: number, name: Part): readonly string[] | undefined {
  const { formulas } = rec.header.view;
  let columns = kept.get(rec);
  if (!columns) {
    const { left, rule, entry, worked, result } = formulas;
    columns = {
      left: rec.column(left),
      rule: rec.column(rule),
      entry: rec.column(entry),
      worked: rec.column(worked),
      result: rec.column(result),
    };
    kept.set(rec, columns);
  }
  return formulas.lines[columns[name][share] ?? -1];
}

/** One part of a share's formula; null where there is none. */
export function part(rec: Recording, share: number, name: Part): Child[] | null {
  const found = pieces(rec, share, name);
  return found ? runs(found) : null;
}

/** The rule in names; of a trace with very many shares only the op's own words have travelled, in which g is the gradient of its result. */
export function ruleOf(rec: Recording, share: number): Child[] {
  const found = part(rec, share, "rule");
  if (found) return found;
  const consumer = rec.header.nodes[rec.share.consumer[share] ?? -1];
  const own = consumer?.formulas[rec.share.slot[share] ?? 0];
  return [own || (consumer?.op ?? "")];
}

/** Brackets around what is more than one word. */
export function wrapped(title: string): string {
  return /^[\w.[\]…]+$|^[-−]?[\d.]+$|^\(.*\)$/.test(title) ? title : `(${title})`;
}

/** `[0, 2]` for a flat position; nothing for one number. */
export function position(index: number, sizes: readonly number[]): string {
  if (!sizes.length) return "";
  const at: number[] = [];
  let rest = index;
  for (const size of [...sizes].reverse()) {
    at.unshift(rest % size);
    rest = Math.floor(rest / size);
  }
  return `[${at.join(", ")}]`;
}
