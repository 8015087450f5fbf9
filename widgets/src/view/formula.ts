/** The rule of a share, as Python wrote it: in the user's names, and with the numbers of one entry. */
import { h, Virtual, type Child } from "../virtual";
import { unravel } from "../links";
import type { Recording } from "../wire";
import { spelled } from "../worked";

type Part = "left" | "rule" | "entry" | "worked" | "result";

const LONGEST = 24; // characters of a name inside a formula
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

/** The rule in names. */
export function ruleOf(rec: Recording, share: number): Child[] {
  return part(rec, share, "rule") ?? (rec.byHand(share) ? ["set by hand"] : runs(named(rec, share)));
}

/** The same for a trace of which no lines have travelled, having too many shares: the op's own rule with the names put in, as `views/formulas.py` does it. */
function named(rec: Recording, share: number): string[] {
  const id = rec.share.consumer[share] ?? -1;
  const consumer = rec.header.nodes[id];
  if (!consumer) return [];
  const { formulas, inputs, op, saved_from, slots } = consumer;
  const rule = formulas[rec.share.slot[share] ?? 0];
  const gradient = `g∂${symbol(rec, id)}`;
  if (!rule) return [`t${op}'s rule of `, gradient];
  const found = spelled(rule, (token) => {
    if (token === "g") return gradient;
    const slot = saved_from[token] ?? slots.indexOf(token);
    const node = slot >= 0 ? inputs[slot] : token === "out" || token in saved_from ? id : undefined;
    return node === undefined ? undefined : `v${symbol(rec, node)}`;
  });
  return found ?? [];
}

/** A node as a factor: in brackets where it is an expression. */
export function symbol(rec: Recording, id: number): string {
  const words = rec.header.view.titles[rec.called[id] ?? -1] ?? "?";
  const name = words.length > LONGEST ? `${words.slice(0, LONGEST / 2 - 1)}…${words.slice(-LONGEST / 2)}` : words;
  return /^[\p{L}\p{N}_.[\]…]+$/u.test(name) ? name : `(${name})`;
}

/** Brackets around what is more than one word. */
export function wrapped(title: string): string {
  return /^[\w.[\]…]+$|^[-−]?[\d.]+$|^\([^()]*\)$/.test(title) ? title : `(${title})`;
}

/** `[0, 2]` for a flat position; nothing for one number. */
export function position(index: number, sizes: readonly number[]): string {
  return sizes.length ? `[${unravel(index, sizes).join(", ")}]` : "";
}
