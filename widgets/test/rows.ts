/** Rows of a check as the kernel sends them. */
import type { CheckMessage, Row } from "../src/check";

const ROW: Row = {
  node: 0,
  slot: 0,
  scope: "local",
  index: "[0]",
  analytic: 2,
  numeric: NaN,
  error: 0.5,
  verdict: "ok",
  reason: "",
};

export function columns(...rows: readonly Partial<Row>[]): NonNullable<CheckMessage["rows"]> {
  const words = [...new Set(rows.flatMap((r) => Object.values({ ...ROW, ...r }).filter((x) => typeof x === "string")))];
  const sent = (x: number | string) => (typeof x === "string" ? words.indexOf(x) : Number.isNaN(x) ? "NaN" : x);
  const column = (name: keyof Row) => [name, rows.map((r) => sent({ ...ROW, ...r }[name]))] as const;
  const names = Object.keys(ROW) as (keyof Row)[];
  return { ...(Object.fromEntries(names.map(column)) as Record<keyof Row, (number | string)[]>), words };
}
