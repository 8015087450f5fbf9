import { describe, expect, it } from "vitest";
import { Steps } from "../src/step";
import { parse, Picture } from "../src/view/picture";
import { recording } from "./golden";

const rec = recording("fork");
const node = (id: number) =>
  `<g data-node="${id}" class="tv-node" transform="translate(${id * 100},50)"><rect class="tv-halo" width="66" height="56"/></g>`;
const tile = (layer: number, box: string, inside: string) =>
  `<g class="tv-tile" data-layer="${layer}" data-box="${box}">${inside}</g>`;

/** Nodes in a row, so many to a tile; only those of the record have states. */
function wide(count = 10, each = 10): Picture {
  const tiles = Array.from({ length: count }, (_, t) =>
    tile(1, `${t * 1000} 0 ${t * 1000 + 900} 100`, Array.from({ length: each }, (_, i) => node(t * each + i)).join("")),
  );
  const total = tile(2, "0 0 900 100", '<g data-total="0" data-form="number"><text class="tv-num">?</text></g>');
  return new Picture(
    rec,
    new Steps(rec),
    parse(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10000 100">${tiles.join("")}${total}</svg>`),
  );
}
const drawn = (picture: Picture) =>
  [...picture.svg.querySelectorAll("[data-node]")].map((e) => Number(e.getAttribute("data-node")));

describe("a large picture", () => {
  it("holds what is in sight and parks the rest", () => {
    const picture = wide();
    expect(drawn(picture)).toEqual([]);
    picture.see([950, 0, 1500, 100]);
    expect(drawn(picture)).toEqual([10, 11, 12, 13, 14, 15, 16, 17, 18, 19]);
    expect(picture.parked.querySelectorAll("[data-node]").length).toBe(90);
  });

  it("keeps what was in sight a moment ago, but never much more than what is", () => {
    const picture = wide(150, 1);
    picture.see([0, 0, 900, 100]);
    picture.see([50_000, 0, 50_900, 100]);
    expect(drawn(picture)).toContain(0);
    for (let at = 0; at < 150_000; at += 1000) picture.see([at, 0, at + 900, 100]);
    expect(drawn(picture)).not.toContain(0);
    expect(drawn(picture)).toContain(149);
    expect(drawn(picture).length).toBeLessThan(100);
  });

  it("draws a node at once, and leaves numbers that stand elsewhere for later", () => {
    const picture = wide();
    const there = (id: number) => [picture.box(picture.nodes.get(id) as SVGGElement)];
    picture.see([0, 0, 900, 100], false, there(35));
    expect(drawn(picture)).toContain(3);
    expect(picture.svg.querySelector(".tv-num")).toBeNull();
    while (picture.prepare([0, 0, 900, 100]));
    expect(picture.svg.querySelector(".tv-num")).not.toBeNull();
    const other = wide();
    other.see([0, 0, 900, 100], false, [other.box(other.nodes.get(3) as SVGGElement)]);
    expect(other.svg.querySelector(".tv-num")).not.toBeNull();
  });

  it("draws what will be seen tile by tile, and at the present step", () => {
    const picture = wide();
    picture.show(3);
    picture.see([5000, 0, 5900, 100]);
    const one = () => picture.prepare([0, 0, 1900, 100]);
    expect(one()).toBe(true);
    expect(drawn(picture).length).toBe(20);
    expect([one(), one(), one()]).toEqual([true, true, false]);
    expect(drawn(picture).length).toBe(30);
    expect(picture.nodes.get(0)?.getAttribute("data-state")).toBe("active");
    expect(picture.svg.querySelector(".tv-num")?.textContent).toBe("6");
  });

  it("brings what comes into sight to the present step", () => {
    const picture = wide(150, 1);
    picture.show(3);
    expect(picture.nodes.get(0)?.hasAttribute("data-state")).toBe(false);
    picture.see([0, 0, 100, 100]);
    expect(picture.nodes.get(0)?.getAttribute("data-state")).toBe("active");
    expect(picture.svg.querySelector(".tv-num")?.textContent).toBe("6");
    picture.see([0, 0, 150_000, 100]);
    picture.see([149_000, 0, 150_000, 100]);
    expect(drawn(picture)).not.toContain(0);
    picture.show(2);
    picture.see([0, 0, 100, 100]);
    expect(picture.svg.querySelector(".tv-num")?.textContent).toBe("3");
  });

  it("brings what stayed drawn out of sight to the present step when it is seen again, however the pass came there", () => {
    const picture = wide(2, 100);
    const far = [1000, 0, 1900, 100] as const;
    picture.see([0, 0, 900, 100]);
    picture.show(2);
    picture.see(far);
    // Further away than what is looked at step by step: as a jump.
    picture.show(-100);
    picture.show(3);
    picture.show(2);
    picture.see([0, 0, 900, 100]);
    expect(picture.svg.querySelector(".tv-num")?.textContent).toBe("3");
    expect(picture.nodes.get(0)?.getAttribute("data-state")).toBe("active");
  });

  it("puts away what was not in sight for long when there is time", () => {
    const picture = wide(90, 1);
    picture.see([0, 0, 90_000, 100]);
    picture.see([0, 0, 900, 100]);
    expect(drawn(picture).length).toBe(90);
    picture.tidy();
    expect(drawn(picture).length).toBeLessThan(70);
    expect(drawn(picture)).toContain(0);
  });

  it("leaves numbers out where they could not be read", () => {
    const picture = wide();
    picture.see([0, 0, 900, 100], true);
    expect(drawn(picture).length).toBe(10);
    expect(picture.svg.querySelector(".tv-num")).toBeNull();
  });

  it("knows where a node stands without measuring", () => {
    const picture = wide();
    expect(picture.box(picture.nodes.get(3) as SVGGElement)).toEqual({ x: 274, y: 29, w: 52, h: 42 });
  });
});
