import { make, Virtual, type Child } from "../src/virtual";

/** Descriptions as what they become. */
export const real = (children: readonly Child[] | null) =>
  (children ?? []).map((c) => (c instanceof Virtual ? make(c) : c));

/** What is read. */
export const said = (children: readonly Child[] | null) =>
  real(children)
    .map((c) => (c instanceof Node ? c.textContent : c))
    .join("");
