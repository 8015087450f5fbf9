import { describe, expect, it } from "vitest";
import { part } from "../src/view/formula";
import { worked } from "../src/worked";
import { recording } from "./golden";
import { said } from "./said";

describe("a rule with the numbers of one entry", () => {
  it("reads as Python writes it", () => {
    let compared = 0;
    for (const name of ["fork", "broadcast", "routed"] as const) {
      const rec = recording(name);
      for (let share = 0; share < rec.share.consumer.length; share++) {
        const python = part(rec, share, "worked");
        const sizes = rec.array(rec.share.value[share] ?? -1)?.shape ?? [];
        const index = (said(part(rec, share, "entry")).match(/\d+/g) ?? []).map(Number);
        if (!python) continue;
        const position = sizes.reduce((flat, n, i) => flat * n + (index[i] ?? 0), 0);
        const found = worked(rec, share, position);
        expect(found?.pieces.map((p) => p.slice(1)).join(""), `${name} ${share}`).toBe(said(python));
        expect(found?.result).toBe(said(part(rec, share, "result")));
        compared++;
      }
    }
    expect(compared).toBeGreaterThan(3);
  });
  it("can be of any entry", () => {
    const rec = recording("broadcast");
    const share = rec.header.nodes[1]?.shares[0] ?? -1;
    expect(
      [0, 1, 2].map((k) =>
        worked(rec, share, k)
          ?.pieces.map((p) => p.slice(1))
          .join(""),
      ),
    ).toEqual(["2.2 + 8.2", "4.4 + 10.4", "6.6 + 12.6"]);
  });
});
