/** A share's rule as a formula, in the names of the user, and with numbers put in. */
import { h, type Child } from "../dom";
import { number } from "../format";
import { shortTitle } from "../step";
import type { ArrayView, Recording } from "../wire";

const TOKEN = /[A-Za-z_]\w*|\*\*|[\d.]+(?:e-?\d+)?|\S|\s+/g;

/** What the formulas may hold for it to be true entry by entry, so that one entry's numbers can be put in. */
const ENTRYWISE = /^[\w\s.+\-*/(),]*$/;
const FUNCTIONS = new Set([
  "exp",
  "expm1",
  "exp2",
  "log",
  "log1p",
  "sqrt",
  "sin",
  "cos",
  "tan",
  "sinh",
  "cosh",
  "tanh",
  "abs",
  "sign",
  "sigmoid",
  "arctan",
  "square",
]);

interface Meaning {
  readonly title: string;
  readonly kind: "value" | "gradient";
  readonly array: ArrayView | null;
}

/** What each name in a rule's formula stands for. */
export function meanings(rec: Recording, consumer: number): Map<string, Meaning> {
  const node = rec.header.nodes[consumer];
  const out = new Map<string, Meaning>();
  if (!node) return out;
  for (const [name, index] of Object.entries(node.saved)) {
    const from = node.saved_from[name];
    const id = from === undefined ? -1 : from === -1 ? consumer : (node.inputs[from] ?? -1);
    out.set(name, {
      title: id < 0 || from === -1 ? name : wrapped(shortTitle(rec, id, 20)),
      kind: "value",
      array: rec.array(index),
    });
  }
  node.slots.forEach((name, slot) => {
    const id = node.inputs[slot];
    const input = id === undefined ? undefined : rec.header.nodes[id];
    if (input && id !== undefined)
      out.set(name, { title: wrapped(shortTitle(rec, id, 20)), kind: "value", array: rec.array(input.value) });
  });
  const total = node.cotangent >= 0 ? node.cotangent : -1;
  out.set("g", { title: `∂${wrapped(shortTitle(rec, consumer, 20))}`, kind: "gradient", array: rec.array(total) });
  return out;
}

/** Brackets around what is more than one word. */
export function wrapped(title: string): string {
  return /^[\w.[\]]+$|^-?[\d.]+$|^\(.*\)$/.test(title) ? title : `(${title})`;
}

const pretty = (token: string) => (token === "*" ? " · " : token === "-" ? "−" : token === "**" ? "^" : token);

/** The formula with its names replaced and coloured. */
export function symbols(formula: string, names: Map<string, Meaning>): Child[] {
  const tokens = formula.match(TOKEN) ?? [];
  return tokens.map((token, i) => {
    const meaning = names.get(token);
    if (meaning && tokens[i + 1] !== "(")
      return h("span", { class: meaning.kind === "gradient" ? "tv-g" : "tv-v" }, meaning.title);
    if (token === "*" || token === "**") return pretty(token);
    return /^\s+$/.test(token) ? (tokens[i - 1] === "*" || tokens[i + 1] === "*" ? "" : " ") : pretty(token);
  });
}

/** The position in an operand that belongs to a position in the (broadcast) result; -1 where the shapes do not fit. */
export function aligned(index: number, from: readonly number[], to: readonly number[]): number {
  let [rest, at, stride] = [index, 0, 1];
  if (to.length > from.length) return -1;
  for (let axis = 1; axis <= from.length; axis++) {
    const size = from[from.length - axis] ?? 1;
    const here = rest % size;
    rest = Math.floor(rest / size);
    if (axis > to.length) continue;
    const own = to[to.length - axis] ?? 1;
    if (own !== 1 && own !== size) return -1;
    at += (own === 1 ? 0 : here) * stride;
    stride *= own;
  }
  return at;
}

/** The position that is spelled out: the first whose share is neither 0 nor special, else the first. */
export function spelled(local: ArrayView): number {
  const found = local.data ? [...local.data].findIndex((v) => v !== 0 && Number.isFinite(v)) : 0;
  return found < 0 ? 0 : found;
}

/** Numbers in place of names for one entry of the local share; null where the rule is not entry by entry or an array has not travelled. */
export function put(formula: string, names: Map<string, Meaning>, local: ArrayView, index: number): Child[] | null {
  if (!local.data || !ENTRYWISE.test(formula) || formula.includes(",")) return null;
  const out: Child[] = [];
  const tokens = formula.match(TOKEN) ?? [];
  for (const [i, token] of tokens.entries()) {
    const meaning = names.get(token);
    if (meaning && tokens[i + 1] !== "(") {
      const at = meaning.array?.data ? aligned(index, local.shape, meaning.array.shape) : -1;
      if (at < 0) return null;
      const value = meaning.array?.data?.[at] ?? NaN;
      const word = number(value);
      out.push(
        h("span", { class: meaning.kind === "gradient" ? "tv-g" : "tv-v" }, value < 0 && i > 0 ? `(${word})` : word),
      );
    } else if (/^[A-Za-z_]/.test(token)) {
      if (!FUNCTIONS.has(token)) return null;
      out.push(token);
    } else if (/^\s+$/.test(token)) out.push(tokens[i - 1] === "*" || tokens[i + 1] === "*" ? "" : " ");
    else out.push(pretty(token));
  }
  return out;
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
