/** How long the pass needs each saved value, and how many bytes it holds at every step. Knows no DOM. */
import type { Recording } from "./wire";

/** A saved value: who reads it, and when for the last time. */
export interface Life {
  readonly bytes: number;
  /** The ops whose rules read it, with the step in which each rule runs; -1 for a rule that never does. */
  readonly readers: readonly { readonly node: number; readonly step: number }[];
  /** The last step that needs it; -1 where none does. */
  readonly last: number;
}

export interface Held {
  /** By position in the table of arrays: a value that several rules saved is one. */
  readonly lives: ReadonlyMap<number, Life>;
  /** Bytes of saved values that this step or a later one still needs. */
  readonly saved: Float64Array;
  /** Bytes of gradients that have arrived and whose rule has not run, or that stay in `.grad`. */
  readonly gradients: Float64Array;
  readonly peak: number;
  /** The first step at which as many are held. */
  readonly peakStep: number;
}

/** Bytes of one entry: of `<f8` or `float64`. */
export function itemsize(dtype: string): number {
  const bits = /(\d+)$/.exec(dtype)?.[1];
  if (bits === undefined) return 1; // bool
  return /^[<>|=]/.test(dtype) ? Number(bits) : Number(bits) / 8;
}

const kept = new WeakMap<Recording, Held>();

export function heldBy(rec: Recording): Held {
  const known = kept.get(rec);
  if (known) return known;
  const nodes = rec.header.nodes;
  const n = rec.length;
  const pulled = new Map<number, number>();
  const arrived = new Map<number, number>();
  for (let k = 0; k < n; k++) {
    const node = rec.stepNode[k] ?? -1;
    if (rec.kinds[k] === "pull") pulled.set(node, k);
    else if (!arrived.has(node)) arrived.set(node, k);
  }
  const readers = new Map<number, { node: number; step: number }[]>();
  nodes.forEach((node, id) => {
    for (const index of new Set(Object.values(node.saved))) {
      const list = readers.get(index) ?? [];
      readers.set(index, list);
      list.push({ node: id, step: pulled.get(id) ?? -1 });
    }
  });
  const lives = new Map<number, Life>();
  const saved = new Float64Array(n + 1);
  const gradients = new Float64Array(n + 1);
  // Differences first: what comes at a step and what has gone after it.
  for (const [index, list] of readers) {
    const array = rec.array(index);
    const bytes = array ? array.size * itemsize(array.dtype) : 0;
    list.sort((a, b) => a.step - b.step);
    const last = list.at(-1)?.step ?? -1;
    lives.set(index, { bytes, readers: list, last });
    if (last < 0) continue;
    saved[0] = (saved[0] ?? 0) + bytes;
    saved[last + 1] = (saved[last + 1] ?? 0) - bytes;
  }
  for (const [id, k] of arrived) {
    const node = nodes[id];
    if (!node) continue;
    const bytes = node.shape.reduce((a, b) => a * b, 1) * itemsize(node.dtype);
    gradients[k] = (gradients[k] ?? 0) + bytes;
    const gone = (pulled.get(id) ?? n - 1) + 1;
    gradients[gone] = (gradients[gone] ?? 0) - bytes;
  }
  let [peak, peakStep] = [0, 0];
  for (let k = 0; k < n; k++) {
    if (k) {
      saved[k] = (saved[k] ?? 0) + (saved[k - 1] ?? 0);
      gradients[k] = (gradients[k] ?? 0) + (gradients[k - 1] ?? 0);
    }
    const both = (saved[k] ?? 0) + (gradients[k] ?? 0);
    if (both > peak) [peak, peakStep] = [both, k];
  }
  const found = { lives, saved: saved.subarray(0, n), gradients: gradients.subarray(0, n), peak, peakStep };
  kept.set(rec, found);
  return found;
}

/** Bytes in words: `24 B`, `1.5 kB`, `3.2 MB`. */
export function bytesOf(count: number): string {
  const unit = count < 1000 ? 0 : count < 1e6 ? 1 : count < 1e9 ? 2 : 3;
  return `${+(count / 1000 ** unit).toPrecision(3)} ${["B", "kB", "MB", "GB"][unit]}`;
}
