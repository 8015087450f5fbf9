/** Numbers as the whole of tensorviz prints them; the twin of `views/format.py`, held to it by golden files. */
import type { ArrayView, Numbers } from "./wire";

/** Truth values, by which a reader of an array knows them. */
export class Bools extends Uint8Array {}
export const TRUTH = "|b1";

/** What stands before the statistics of an array: truth values have no norm. */
export const lead = (array: ArrayView, mark = "·") => (array.dtype === TRUTH ? "" : `‖${mark}‖ `);

export const MINUS = "\u2212";

/** One number with at most `digits` significant digits, trailing zeros off. */
export function number(value: number, digits = 4): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "+∞" : `${MINUS}∞`;
  if (value === 0) return "0";
  const size = Math.abs(value);
  const sign = value < 0 ? MINUS : "";
  // The exponent after rounding: 99999.9 has five digits before the point only until it is rounded to four.
  const [mantissa = "", exponent = ""] = size.toExponential(digits - 1).split("e");
  const power = Number(exponent);
  if (power >= 5 || power < -4) return `${sign}${trimmed(mantissa)}e${String(power).replace("-", MINUS)}`;
  return sign + trimmed(size.toFixed(Math.max(0, digits - 1 - power)));
}

function trimmed(text: string): string {
  return text.includes(".") ? text.replace(/0+$/, "").replace(/\.$/, "") : text;
}

/** One entry of an array. */
export function one(data: Numbers | null | undefined, at = 0, digits?: number): string {
  const value = Number(data?.[at] ?? NaN);
  return data instanceof Bools ? (value ? "True" : "False") : number(value, digits);
}

/** The entries of one array with one count of decimals, so that right-aligned points stand in line. */
export function cells(values: Numbers | readonly number[]): string[] {
  const flat = Array.from(values);
  if (values instanceof Bools) return flat.map((v) => (v ? "T" : "F"));
  const alone = flat.map((v) => number(v));
  const ordinary = flat.map((v, i) => [v, alone[i] ?? ""] as const).filter(([v]) => Number.isFinite(v) && v !== 0);
  if (ordinary.some(([, t]) => t.includes("e"))) return alone;
  const needed = Math.max(0, ...ordinary.map(([, t]) => t.split(".")[1]?.length ?? 0));
  const power = (v: number) => Number(Math.abs(v).toExponential(3).split("e")[1]);
  const whole = ordinary.length ? Math.max(...ordinary.map(([v]) => power(v) + 1)) : 1;
  // Four digits for the largest, and up to six where a smaller one would keep fewer than two, or its only one not: 100.500 beside 0.033, 1000.0 beside 0.5.
  const last = Math.min(needed, Math.max(0, 6 - whole));
  for (let decimals = Math.min(needed, Math.max(0, 4 - whole)); decimals <= last; decimals++) {
    if (!ordinary.some(([v, t]) => starved(t, padded(v, decimals)))) return flat.map((v) => padded(v, decimals));
  }
  return alone;
}

function padded(value: number, decimals: number): string {
  if (!Number.isFinite(value)) return number(value);
  if (value === 0) return "0" + "\u00a0".repeat(decimals ? decimals + 1 : 0);
  return (value < 0 ? MINUS : "") + Math.abs(value).toFixed(decimals);
}

/** Whether the shared count of decimals leaves fewer than two significant digits of a number that has more, or another number: 1 for 0.5. */
function starved(alone: string, shared: string): boolean {
  const digits = (t: string) => t.replace(/[−.]/g, "").replace(/^0+/, "").length;
  return digits(alone) < 2 ? shared.length < alone.length : digits(shared) < 2;
}

/** What stands for an array that is too large to be spelled out: its norm, and its NaN and infinities in words. */
export function stats(array: ArrayView): string {
  if (!array.size) return "empty";
  const { norm, nan, posinf, neginf, zeros } = array.stats;
  if (array.dtype === TRUTH) return `${count(array.size - zeros)} of ${count(array.size)} true`;
  const strange = [
    [nan, "NaN"],
    [posinf, "+∞"],
    [neginf, `${MINUS}∞`],
  ] as const;
  const said = strange.filter(([n]) => n).map(([n, word]) => `${count(n)} ${word}`);
  const finite = nan + posinf + neginf < array.size;
  return [...(finite ? [number(norm)] : []), ...said].join(" · ");
}

/** A shape as Python writes it: `(2, 3)`, `(3,)`, `()`. */
export function shape(sizes: readonly number[]): string {
  return sizes.length === 1 ? `(${sizes[0]},)` : `(${sizes.join(", ")})`;
}

/** A count with thousands commas. */
export function count(value: number): string {
  return value.toLocaleString("en-US");
}

/** Axes in words: `axis 0`, `axes 0, 2`. */
export function axes(list: readonly number[]): string {
  return `${list.length === 1 ? "axis" : "axes"} ${list.join(", ")}`;
}

const FRACTIONS: Record<string, string> = { "2": "½", "3": "⅓", "4": "¼", "5": "⅕", "6": "⅙", "8": "⅛" };

/** A routing weight: `1`, `½`, `⅓`, `1/7`. */
export function fraction(weight: number): string {
  if (weight === 0 || weight === 1) return String(weight);
  const parts = Math.round(1 / weight);
  if (Math.abs(weight * parts - 1) < 1e-6) return FRACTIONS[parts] ?? `1/${parts}`;
  return number(weight);
}
