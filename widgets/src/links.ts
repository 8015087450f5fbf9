/** Which entries of its operands an entry was computed from, and which of its results it went into. Knows no DOM. */
import type { Recording } from "./wire";

/** Positions in the array of one node. */
export interface Linked {
  readonly node: number;
  /** Flat positions; null where the links are not known. */
  readonly positions: readonly number[] | null;
}

const LARGEST = 4096; // entries of a result that are searched through

const size = (shape: readonly number[]) => shape.reduce((a, b) => a * b, 1);

/** The positions in an operand that one entry of a result was computed from; null where that is not known. */
export function sourcesOf(rec: Recording, consumer: number, slot: number, position: number): number[] | null {
  const result = rec.header.nodes[consumer];
  const operand = rec.header.nodes[result?.inputs[slot] ?? -1];
  const { origins } = rec.header.view;
  if (!result || !operand || !origins) return null;
  const known = origins[`${consumer}:${slot}`];
  if (known?.sources) {
    const { width } = known;
    return [...rec.column(known.sources).subarray(position * width, (position + 1) * width)].filter((i) => i >= 0);
  }
  if (known && !known.axes) return null;
  const offset = result.shape.length - operand.shape.length;
  // Without an entry of its own an op works entry by entry: axes are aligned from the right, those of size 1 are repeated.
  const axes =
    known?.axes ?? operand.shape.map((n, i) => (n === 1 && result.shape[i + offset] !== 1 ? -2 : i + offset));
  const at = unravel(position, result.shape);
  let found = [0];
  operand.shape.forEach((n, i) => {
    const axis = axes[i] ?? -1;
    const steps = axis === -1 ? [...Array(n).keys()] : [axis === -2 ? 0 : (at[axis] ?? 0)];
    found = found.flatMap((base) => steps.map((k) => base * n + k));
  });
  return found;
}

/** What an entry of a node came from, operand by operand; one that is used twice is named once a use. */
export function cameFrom(rec: Recording, node: number, position: number): Linked[] {
  const entry = rec.header.nodes[node];
  return (entry?.inputs ?? []).map((input, slot) => ({
    node: input,
    positions: sourcesOf(rec, node, slot, position),
  }));
}

const consumers = new WeakMap<Recording, Map<number, [consumer: number, slot: number][]>>();

/** Where an entry of a node went: into which entries of each result that uses it. */
export function wentTo(rec: Recording, node: number, position: number): Linked[] {
  let all = consumers.get(rec);
  if (!all) {
    consumers.set(rec, (all = new Map()));
    for (const [consumer, { inputs }] of rec.header.nodes.entries())
      for (const [slot, input] of inputs.entries()) {
        const uses = all.get(input);
        if (uses) uses.push([consumer, slot]);
        else all.set(input, [[consumer, slot]]);
      }
  }
  return (all.get(node) ?? []).map(([consumer, slot]) => {
    const count = size(rec.header.nodes[consumer]?.shape ?? []);
    if (count > LARGEST || sourcesOf(rec, consumer, slot, 0) === null) return { node: consumer, positions: null };
    const positions = [...Array(count).keys()].filter((r) => sourcesOf(rec, consumer, slot, r)?.includes(position));
    return { node: consumer, positions };
  });
}

export function unravel(position: number, shape: readonly number[]): number[] {
  const at: number[] = [];
  let rest = position;
  for (const n of [...shape].reverse()) {
    at.unshift(rest % n);
    rest = Math.floor(rest / n);
  }
  return at;
}

const FEW = 3;

/** Positions as a NumPy index where they are one (`[0, :]`, `[1:3, 2]`), else the first and how many. */
export function indexOf(positions: readonly number[], shape: readonly number[]): string {
  if (!shape.length) return "";
  const all = positions.map((p) => unravel(p, shape));
  const spans = shape.map((n, i) => {
    const there = [...new Set(all.map((at) => at[i] ?? 0))].sort((a, b) => a - b);
    const [first = 0, last = 0] = [there[0], there.at(-1)];
    const dense = last - first + 1 === there.length;
    const word =
      there.length === n && n > 1
        ? ":"
        : there.length === 1
          ? String(first)
          : dense
            ? `${first || ""}:${last + 1 === n ? "" : last + 1}`
            : there.join("|");
    return { count: there.length, word, dense };
  });
  const whole = spans.reduce((a, s) => a * s.count, 1) === new Set(positions).size && spans.every((s) => s.dense);
  if (whole) return `[${spans.map((s) => s.word).join(", ")}]`;
  const named = all.slice(0, FEW).map((at) => `[${at.join(", ")}]`);
  return ` ${named.join(" ")}${all.length > FEW ? ` … (${all.length})` : ""}`;
}
