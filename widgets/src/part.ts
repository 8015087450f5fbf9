/** Part of an array by an index as NumPy has it, of integers and slices. Knows no DOM. */

export interface Part {
  readonly shape: readonly number[];
  /** Flat positions in the whole array. */
  readonly positions: readonly number[];
}

/** The part that an index names; null where it is none of this shape. */
export function partOf(index: string, shape: readonly number[]): Part | null {
  const text = index.trim().replace(/^\[|]$/g, "");
  const words = text.trim() ? text.split(",").map((word) => word.trim()) : [];
  const dots = words.indexOf("...");
  if (dots >= 0) words.splice(dots, 1, ...Array<string>(Math.max(0, shape.length - words.length + 1)).fill(":"));
  if (words.length > shape.length) return null;
  const sizes: number[] = [];
  let positions = [0];
  for (const [axis, n] of shape.entries()) {
    const word = words[axis] ?? ":";
    const at = along(word, n);
    if (!at) return null;
    if (word.includes(":")) sizes.push(at.length);
    positions = positions.flatMap((p) => at.map((k) => p * n + k));
  }
  return { shape: sizes, positions };
}

/** The places along one axis. */
function along(word: string, n: number): number[] | null {
  if (/^[-+]?\d+$/.test(word)) {
    const k = Number(word) + (Number(word) < 0 ? n : 0);
    return k >= 0 && k < n ? [k] : null;
  }
  const [, from, to, by] = /^(-?\d*):(-?\d*)(?::(-?\d*))?$/.exec(word) ?? [];
  const step = Number(by || 1);
  if (from === undefined || !step) return null;
  const [low, high] = step > 0 ? [0, n] : [-1, n - 1];
  const end = (said: string | undefined, none: number) => {
    if (!said) return none;
    const k = Number(said);
    return Math.max(low, Math.min(high, k < 0 ? k + n : k));
  };
  const [first, last] = [end(from, step > 0 ? 0 : n - 1), end(to, step > 0 ? n : -1)];
  return Array.from({ length: Math.max(0, Math.ceil((last - first) / step)) }, (_, i) => first + i * step);
}
