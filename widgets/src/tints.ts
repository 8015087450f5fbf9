/** How the cells of a record are tinted, in every pane: on the scale of the pass, linear at zero or by powers of ten. Knows no DOM. */
import { logStrength, strength, tint, type Kind } from "./color";
import type { Recording } from "./wire";

/** The records whose cells are on the log scale. */
const logged = new WeakSet<Recording>();

export function scaleBy(rec: Recording, log: boolean): void {
  if (log) logged.add(rec);
  else logged.delete(rec);
}

export const isLog = (rec: Recording) => logged.has(rec);

export const largest = (rec: Recording, kind: Kind) =>
  kind === "value" ? rec.header.view.value_max : rec.header.view.gradient_max;

/** How strong the tint of a number is, in per cent. */
export const depth = (rec: Recording, kind: Kind, value: number) =>
  (isLog(rec) ? logStrength : strength)(value, largest(rec, kind));

/** The colour of its cell. */
export const shade = (rec: Recording, kind: Kind, value: number) => tint(kind, value, depth(rec, kind, value));
