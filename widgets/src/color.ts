/** The heat scale: asinh, centred on zero, fixed for the whole pass; the twin of `views/palette.py`. */
export type Kind = "value" | "gradient";

const SHARP = 50;
export const STRONGEST = 50; // per cent: text keeps its contrast on every tint

/** How strong the tint of a number is, in whole per cent of the scale's end colour. */
export function strength(value: number, largest: number, sharp = SHARP): number {
  if (!Number.isFinite(value) || value === 0 || largest <= 0) return 0;
  const t = Math.asinh(sharp * Math.min(1, Math.abs(value) / largest)) / Math.asinh(sharp);
  return Math.round(t * STRONGEST);
}

export const DECADES = 6; // of the log scale: what is a millionth of the largest has no tint left

/** The same on a log scale: each power of ten is one step. */
export function logStrength(value: number, largest: number): number {
  if (!Number.isFinite(value) || value === 0 || largest <= 0) return 0;
  const t = 1 + Math.log10(Math.min(1, Math.abs(value) / largest)) / DECADES;
  return Math.round(Math.max(0, t) * STRONGEST);
}

/** The CSS colour of a cell, in tokens, so that it follows the theme: the end of the side that a number is on, `strong` per cent of it. */
export function tint(kind: Kind, value: number, strong: number): string {
  const hue = `--tv-${kind === "value" ? "v" : "g"}${value >= 0 ? "pos" : "neg"}`;
  return `color-mix(in srgb, var(${hue}) ${strong}%, var(--tv-cell0))`;
}
