/** The rule of a share with the numbers of one entry put in: the twin of the second half of `views/formulas.py`. Knows no DOM. */
import { MINUS, count, fraction, number } from "./format";
import { unravel } from "./links";
import type { ArrayView, Recording } from "./wire";

const PIECE = /[A-Za-z_]\w*|\d+(?:\.\d+)?|\*\*|\/\/|[-+*/(),@]|\s+|./gy;
const ENTRYWISE = /^[\w\s.+\-*/(),]+$/;
const PRODUCT = /^(\w+)(\.T)? @ (\w+)(\.T)?$/;
const FUNCTIONS = new Set(
  "abs arccos arccosh arcsin arcsinh arctan arctan2 arctanh cbrt cos cosh exp exp2 expm1 log log1p log2 log10 max min sigmoid sign sin sinh sqrt tan tanh".split(
    " ",
  ),
);
const SIGNS: Record<string, string> = { "*": "·", "-": MINUS };
const MOST = 4; // terms of a sum that is written out; of a longer one the first two

interface Word {
  readonly kind: "v" | "g" | "t";
  at(index: readonly number[]): number | undefined;
  readonly array?: ArrayView;
}

/** Pieces as `runs` reads them, and the result; null where the rule is no formula of single entries. */
export interface Worked {
  readonly pieces: readonly string[];
  readonly result: string;
}

export function worked(rec: Recording, share: number, position: number): Worked | null {
  const value = rec.array(rec.share.value[share]);
  const local = rec.array(rec.share.local[share]);
  const consumer = rec.header.nodes[rec.share.consumer[share] ?? -1];
  if (!value?.data || !local || !consumer) return null;
  const result = number(value.data[position] ?? NaN);
  const summed = rec.axes(share);
  const at = unravel(position, value.shape);
  if (summed.length) {
    const terms = local.data && along(local, summed, at, value.shape);
    return terms && { pieces: sum(terms.map((x) => [put(x, "g")])), result };
  }
  const route = rec.array(rec.share.route[share]);
  if (route?.data && route.size === value.size) {
    const weight = route.data[position] ?? 0;
    const pieces = weight ? [`t${fraction(weight)} · `, put((value.data[position] ?? NaN) / weight, "g")] : ["t0"];
    return { pieces, result };
  }
  const words = wordsOf(rec, share, local);
  const rule = consumer.formulas[rec.share.slot[share] ?? 0] ?? "";
  if (!words) return null;
  const pieces =
    product(rule, words, local, at) ?? substituted(rule.includes("(") ? rule : (rule.split(", ")[0] ?? ""), words, at);
  return pieces && { pieces, result };
}

/** The entries of the local share that add up to one entry. */
function along(local: ArrayView, summed: readonly number[], at: readonly number[], shape: readonly number[]): number[] {
  const lost = local.shape.length - shape.length;
  const out: number[] = [];
  local.data?.forEach((x: number, i: number) => {
    const place = unravel(i, local.shape);
    if (place.every((k, axis) => summed.includes(axis) || k === at[axis - lost])) out.push(x);
  });
  return out;
}

/** What each word of a rule stands for. */
function wordsOf(rec: Recording, share: number, local: ArrayView): Map<string, Word> | null {
  const consumer = rec.header.nodes[rec.share.consumer[share] ?? -1];
  const cotangent = rec.array(consumer?.cotangent);
  if (!consumer || !cotangent?.data) return null;
  const rank = local.shape.length;
  const axis = consumer.params["axis"];
  /** An array beside the local share: axes that a reduction lost are put back, others aligned from the right. */
  const beside = (array: ArrayView | null, kind: Word["kind"], own: boolean): Word => ({
    kind,
    ...(array ? { array } : {}),
    at(index) {
      if (!array?.data) return undefined;
      if (array.size === 1) return array.data[0];
      const gone = own && array.shape.length < rank ? axesOf(axis, rank) : [];
      const kept = index.filter((_, i) => !gone.includes(i)).slice(-array.shape.length);
      if (kept.length < array.shape.length) return undefined;
      return array.data[array.shape.reduce((flat, n, i) => flat * n + (n === 1 ? 0 : (kept[i] ?? 0)), 0)];
    },
  });
  const valueOf = (slot: number) =>
    rec.array(
      rec.header.nodes[slot < 0 ? (rec.share.consumer[share] ?? -1) : (consumer.inputs[slot] ?? -1)]?.value ?? -1,
    );
  const words = new Map<string, Word>();
  const plain = (x: number, kind: Word["kind"]): Word => ({ kind, at: () => x });
  for (const [name, x] of Object.entries(consumer.params)) if (typeof x === "number") words.set(name, plain(x, "v"));
  for (const [name, index] of Object.entries(consumer.saved)) words.set(name, beside(rec.array(index), "v", false));
  consumer.slots.forEach((name, slot) => {
    if (slot < consumer.inputs.length) words.set(name, beside(valueOf(slot), "v", false));
  });
  for (const [name, slot] of Object.entries(consumer.saved_from)) words.set(name, beside(valueOf(slot), "v", slot < 0));
  words.set("out", beside(valueOf(-1), "v", true));
  if ("axis" in consumer.params && cotangent.size) words.set("n", plain(local.size / cotangent.size, "t"));
  words.set("g", beside(cotangent, "g", true));
  return words;
}

function axesOf(axis: unknown, rank: number): number[] {
  // A tuple travels as an object that names it.
  const list =
    typeof axis === "number" ? [axis] : Array.isArray(axis) ? axis : ((Object.values(axis ?? {})[0] ?? []) as number[]);
  return (Array.isArray(list) ? list : []).map((a) => (Number(a) + rank) % rank);
}

/** The rule with one entry of each value put in. */
function substituted(rule: string, words: ReadonlyMap<string, Word>, at: readonly number[]): string[] | null {
  if (!ENTRYWISE.test(rule)) return null;
  return spelled(rule, (token) => {
    const word = words.get(token);
    if (!word) return /^[A-Za-z_]/.test(token) && !FUNCTIONS.has(token) ? null : undefined;
    const x = word.at(at);
    return x === undefined ? null : put(x, word.kind);
  });
}

/** A rule as pieces: of each token the one that is given, or the token itself. Null where for some token there can be none. */
export function spelled(rule: string, pieceOf: (token: string) => string | null | undefined): string[] | null {
  const out: string[] = [];
  let power = 0; // 0: none; 1: the next token is raised; deeper: inside its bracket
  for (const token of rule.replace(/ ?\*\* ?/g, "**").match(PIECE) ?? []) {
    if (token === "**") {
      power = 1;
      continue;
    }
    if (power && token === "(" && power++ === 1) continue;
    if (power && token === ")" && --power === 1) {
      power = 0;
      continue;
    }
    const piece = pieceOf(token);
    if (piece === null) return null;
    const words = piece ?? `t${SIGNS[token] ?? token}`;
    out.push(power ? words.charAt(0).toUpperCase() + words.slice(1) : words);
    if (power === 1) power = 0;
  }
  return joined(out);
}

/** `g @ b.T` for one entry: a row of the one times a column of the other. */
function product(
  rule: string,
  words: ReadonlyMap<string, Word>,
  local: ArrayView,
  at: readonly number[],
): string[] | null {
  const found = PRODUCT.exec(rule);
  const [left, right] = [words.get(found?.[1] ?? ""), words.get(found?.[3] ?? "")];
  const [a, b] = [left?.array, right?.array];
  if (!found || !left || !right || !a?.data || !b?.data) return null;
  if (a.shape.length !== 2 || b.shape.length !== 2 || local.shape.length !== 2) return null;
  const read = (array: ArrayView, turned: boolean, r: number, c: number) =>
    array.data?.[turned ? c * (array.shape[1] ?? 1) + r : r * (array.shape[1] ?? 1) + c] ?? NaN;
  const inner = a.shape[found[2] ? 0 : 1] ?? 0;
  const [row = 0, column = 0] = at;
  return sum(
    [...Array(inner).keys()].map((k) => [
      put(read(a, !!found[2], row, k), left.kind),
      "t · ",
      put(read(b, !!found[4], k, column), right.kind),
    ]),
  );
}

function put(x: number, kind: string): string {
  const word = number(x);
  return kind + (word.startsWith(MINUS) ? `(${word})` : word);
}

function sum(terms: string[][]): string[] {
  const shown = terms.length <= MOST ? terms : terms.slice(0, 2);
  const out = shown.flatMap((term, i) => {
    const [first = "", ...rest] = term;
    const negative = /^(.)\(−(.*)\)$/.exec(first);
    const alone = negative && !rest.length;
    if (!i) return [alone || negative ? `${negative[1]}${MINUS}${negative[2]}` : first, ...rest];
    return alone ? [`t ${MINUS} `, `${negative[1]}${negative[2]}`] : ["t + ", first, ...rest];
  });
  return terms.length > shown.length ? [...out, `t + … (${count(terms.length)} terms)`] : out;
}

/** Neighbours of one kind as one piece. */
function joined(pieces: string[]): string[] {
  const out: string[] = [];
  for (const piece of pieces) {
    const last = out.at(-1);
    if (last !== undefined && last[0] === piece[0] && /^[tT]/.test(piece)) out[out.length - 1] = last + piece.slice(1);
    else out.push(piece);
  }
  return out;
}
