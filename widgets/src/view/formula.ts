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
      title: id < 0 ? name : wrapped(shortTitle(rec, id, 12)),
      kind: "value",
      array: rec.array(index),
    });
  }
  node.slots.forEach((name, slot) => {
    const id = node.inputs[slot];
    const input = id === undefined ? undefined : rec.header.nodes[id];
    if (input && id !== undefined)
      out.set(name, { title: wrapped(shortTitle(rec, id, 12)), kind: "value", array: rec.array(input.value) });
  });
  const total = node.cotangent >= 0 ? node.cotangent : -1;
  out.set("g", { title: `∂${wrapped(shortTitle(rec, consumer, 12))}`, kind: "gradient", array: rec.array(total) });
  return out;
}

/** Brackets around what is more than one word. */
export function wrapped(title: string): string {
  return /^[\w.[\]]+$|^-?[\d.]+$|^\(.*\)$/.test(title) ? title : `(${title})`;
}

const pretty = (token: string) => (token === "*" ? " · " : token === "-" ? "−" : token === "/" ? " / " : token);

/** Tokens without spaces, those of a bracketed exponent as one list. */
function tokensOf(formula: string): (string | string[])[] {
  const flat = (formula.match(TOKEN) ?? []).filter((t) => t.trim());
  const out: (string | string[])[] = [];
  for (let i = 0; i < flat.length; i++) {
    const token = flat[i] ?? "";
    if (token !== "**") {
      out.push(token);
      continue;
    }
    const exponent: string[] = [];
    let depth = 0;
    do {
      const next = flat[++i] ?? "";
      depth += next === "(" ? 1 : next === ")" ? -1 : 0;
      exponent.push(next);
    } while (depth > 0 && i < flat.length);
    out.push(exponent);
  }
  return out;
}

/** Write tokens, each by `word`; null as soon as one of them has no word. */
function written(tokens: readonly (string | string[])[], word: (token: string, next: string) => Child): Child[] | null {
  const out: Child[] = [];
  for (const [i, token] of tokens.entries()) {
    if (Array.isArray(token)) {
      const inner = written(token[0] === "(" ? token.slice(1, -1) : token, word);
      if (!inner) return null;
      out.push(h("sup", {}, h("span", { class: "tv-hidden" }, "^"), ...inner));
      continue;
    }
    const next = tokens[i + 1];
    const child = word(token, typeof next === "string" ? next : "");
    if (child === null) return null;
    const before = tokens[i - 1];
    // A minus between two things has room on both sides; one in front of a thing has none.
    const binary =
      i > 0 && before !== "(" && before !== "," && !(typeof before === "string" && /^[-+*/@=]$/.test(before));
    out.push(
      /^[-+@]$/.test(token) && binary
        ? ` ${String(child)} `
        : token === ","
          ? ", "
          : token === "="
            ? next === "="
              ? " ="
              : "= "
            : child,
    );
  }
  return out;
}

/** The formula with its names replaced and coloured. */
export function symbols(formula: string, names: Map<string, Meaning>): Child[] {
  const words = written(tokensOf(formula), (token, next) => {
    const meaning = names.get(token);
    if (!meaning || next === "(") return pretty(token);
    return h("span", { class: meaning.kind === "gradient" ? "tv-g" : "tv-v" }, meaning.title);
  });
  return words ?? [formula];
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
  let first = true;
  return written(tokensOf(formula), (token, next) => {
    const alone = first;
    first = false;
    const meaning = names.get(token);
    if (meaning && next !== "(") {
      const at = meaning.array?.data ? aligned(index, local.shape, meaning.array.shape) : -1;
      if (at < 0) return null;
      const value = meaning.array?.data?.[at] ?? NaN;
      const word = number(value);
      return h(
        "span",
        { class: meaning.kind === "gradient" ? "tv-g" : "tv-v" },
        value < 0 && !alone ? `(${word})` : word,
      );
    }
    return /^[A-Za-z_]/.test(token) && !FUNCTIONS.has(token) ? null : pretty(token);
  });
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
