/** The states on the picture: which elements a step touches, and what they then show; what is out of sight is not drawn. */
import type { Kind } from "../color";
import { ADVANCE, type Drawing } from "../draw/draw";
import { hatch } from "../draw/hatch";
import { attribute, s, text } from "../dom";
import { cells, number, stats } from "../format";
import { specialOf, type Span, type Steps } from "../step";
import { depth } from "../tints";
import type { ArrayView, Recording } from "../wire";
import { Tiles, type Area, type Tile } from "./tiles";

/** A jump over more steps than this looks at every element once instead. */
const FAR = 40;

const FEW = 80; // nodes up to which everything stays drawn

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

/** What holds both. */
export function join(a: Box, b: Box): Box {
  const [x, y] = [Math.min(a.x, b.x), Math.min(a.y, b.y)];
  return { x, y, w: Math.max(a.x + a.w, b.x + b.w) - x, h: Math.max(a.y + a.h, b.y + b.h) - y };
}

interface Group {
  readonly element: SVGGElement;
  readonly span: Span;
  readonly tile: Tile;
}
interface Edge {
  readonly element: SVGGElement;
  readonly keys: readonly string[];
  /** When the first of its uses has passed. */
  readonly first: number;
  readonly tile: Tile;
}
interface Badge {
  readonly element: SVGGElement;
  readonly tile: Tile;
  readonly kind: string;
  readonly words: Element | null;
  when: string;
}
interface Total {
  readonly element: SVGGElement;
  readonly tile: Tile;
  readonly id: number;
  readonly form: string;
  readonly rects: SVGElement[];
  readonly words: Element[];
  shown: number;
}

/** The skeleton as nodes of this document; it came escaped, and scripts in an imported SVG do not run, but none is let through anyway. */
export function parse(source: string): SVGSVGElement {
  const parsed = new DOMParser().parseFromString(source, "image/svg+xml");
  const root = parsed.documentElement;
  if (root.localName !== "svg" || parsed.querySelector("parsererror"))
    throw new Error("the picture of this trace could not be read");
  for (const element of [...root.querySelectorAll("script, foreignObject")]) element.remove();
  return document.importNode(root, true) as unknown as SVGSVGElement;
}

/** How wide a wire is drawn, in px: by the logarithm of what it sends, between the least and the most of the pass. */
function weight(norm: number, ends: Steps["norms"]): string {
  if (!ends || !(norm > 0)) return "1";
  const part = Number.isFinite(norm) ? Math.log(norm / ends[0]) / Math.log(ends[1] / ends[0]) : 1;
  return (1.4 + 2.8 * Math.max(0, Math.min(1, part))).toFixed(1);
}

/** Ids as the picture lists them: `3-17 20`. */
export function ranges(list: string): number[] {
  return list
    .split(" ")
    .filter(Boolean)
    .flatMap((part) => {
      const [from = 0, to = from] = part.split("-").map(Number);
      return Array.from({ length: to - from + 1 }, (_, i) => from + i);
    });
}

/** Where a group was moved to. */
function moved(element: Element | undefined): [x: number, y: number] {
  const [x = 0, y = 0] = (/translate\(([^)]*)\)/.exec(element?.getAttribute("transform") ?? "")?.[1] ?? "")
    .split(/[ ,]+/)
    .map(Number);
  return [x, y];
}

/** What lies over a cell that holds no number: NaN is crossed out, infinities are hatched and point up or down, as in a still. */
function overlay(rect: SVGElement, word: string): void {
  const next = rect.nextElementSibling;
  if (next?.classList.contains("tv-odd")) next.remove();
  if (!/NaN|∞/.test(word)) return;
  const [x, y, w, h] = ["x", "y", "width", "height"].map((name) => Number(rect.getAttribute(name))) as [
    number,
    number,
    number,
    number,
  ];
  if (word.includes("NaN")) {
    rect.after(s("path", { class: "tv-odd tv-cross", d: `M${x},${y}l${w},${h}M${x},${y + h}l${w},${-h}` }));
    return;
  }
  const up = word.startsWith("+") ? -6 : 6;
  const tip = `M${x + w - 37},${y + h / 2 - up / 2}l4,${up}l4,${-up}z`;
  rect.after(
    s(
      "g",
      { class: "tv-odd" },
      s("path", { class: "tv-hatch", d: hatch(x, y, w, h, 8, 4) }),
      s("path", { class: "tv-tip", d: tip }),
    ),
  );
}

export class Picture {
  readonly nodes = new Map<number, SVGGElement>();
  readonly size: { readonly left: number; readonly top: number; readonly width: number; readonly height: number };
  readonly #groups = new Map<number, Group>(); // by member
  private readonly edges = new Map<string, Edge>();
  readonly #into = new Map<number, SVGGElement[]>(); // by receiver: edges whose heads its halo would cover
  readonly #forks = new Map<number, Badge>();
  readonly #badges = new Map<string, Badge[]>();
  readonly #shares = new Map<string, { element: SVGGElement; tile: Tile }>();
  readonly #totals = new Map<number, Total[]>();
  readonly #tiles: Tiles;
  readonly #known = new Map<Element, Box>();
  readonly #values = new Map<number, SVGGElement>();
  readonly #reached = new Map<string, Box>();
  readonly #tiled: boolean;
  /** The picture that this one shows a part of: what is active is marked there if it can be. */
  above: Picture | null = null;
  #shown = -1;
  #selected: number | null = null;
  #stopping = "";
  #stopSigns: SVGElement[] = [];
  #seen = true;
  /** What is marked as that in which something happens. */
  readonly #lit = new Set<Element>();

  constructor(
    private readonly rec: Recording,
    private readonly steps: Steps,
    readonly svg: SVGSVGElement,
    drawn?: Pick<Drawing, "uses">,
    tiled = false,
  ) {
    const [left = 0, top = 0, width = 800, height = 300] = (svg.getAttribute("viewBox") ?? "0 0 800 300")
      .split(/[ ,]+/)
      .map(Number);
    this.size = { left, top, width, height };
    const all = (selector: string) => this.svg.querySelectorAll<SVGGElement>(selector);
    const put = <K, V>(map: Map<K, V[]>, key: K, value: V) => {
      const list = map.get(key);
      if (list) list.push(value);
      else map.set(key, [value]);
    };
    this.#tiles = new Tiles(all(".tv-tile"));
    const tileOf = (element: Element, mark: () => void): Tile => {
      const tile = this.#tiles.of(element);
      tile.marks.push(mark);
      return tile;
    };
    for (const element of all("[data-node]")) {
      const key = element.dataset["node"] ?? "";
      if (!/^\d+$/.test(key)) continue;
      const id = Number(key);
      this.nodes.set(id, element);
      tileOf(element, () => this.#node(id));
    }
    for (const element of all("[data-group]")) {
      const members = ranges(element.dataset["members"] ?? "");
      const group: Group = { element, span: steps.span(members), tile: tileOf(element, () => this.#group(group)) };
      for (const id of members) this.#groups.set(id, group);
    }
    for (const element of all("[data-edge]")) {
      if (element.dataset["state"] === "detached") continue;
      const keys =
        drawn?.uses.get(element) ?? (element.dataset["uses"] ?? element.dataset["edge"] ?? "").split(/[ ,]+/);
      const first = keys.reduce((a, key) => Math.min(a, steps.edges.get(key)?.accumulate ?? Infinity), Infinity);
      const edge: Edge = { element, keys, first, tile: tileOf(element, () => this.#edge(edge)) };
      for (const key of keys) this.edges.set(key, edge);
      const source = this.#source(keys[0] ?? "");
      // Where a value is saved the head stands further off already.
      if (!Object.values(rec.header.nodes[source]?.saved_from ?? {}).some((slot) => slot < 0))
        put(this.#into, source, element);
      const norm = this.#norm(keys);
      if (norm !== null) element.style.setProperty("--tv-weight", weight(norm, steps.norms));
    }
    for (const element of all("[data-badge]")) {
      const kind = element.dataset["badge"] ?? "";
      const fork = Number(element.dataset["fork"]);
      const on = element.dataset["on"] ?? "";
      const tile = tileOf(element, kind === "fork" ? () => this.#fork(fork) : () => this.#share(on));
      const badge = { element, kind, words: element.querySelector("text"), when: "", tile };
      if (kind === "fork") this.#forks.set(fork, badge);
      else put(this.#badges, on, badge);
    }
    for (const element of all("[data-share]")) {
      const key = element.dataset["share"] ?? "";
      this.#shares.set(key, { element, tile: tileOf(element, () => this.#share(key)) });
    }
    for (const cell of all("[data-value] .tv-cell, [data-share] .tv-cell"))
      overlay(cell, cell.nextElementSibling?.textContent ?? "");
    for (const element of all("[data-value]")) this.#values.set(Number(element.dataset["value"]), element);
    for (const element of all("[data-total]")) {
      const id = Number(element.dataset["total"]);
      put(this.#totals, id, {
        element,
        tile: tileOf(element, () => this.#total(id)),
        id,
        form: element.dataset["form"] ?? "number",
        rects: [...element.querySelectorAll<SVGElement>(".tv-cell")],
        words: [...element.querySelectorAll(".tv-num")],
        shown: -2,
      });
    }
    this.#tiled = tiled || this.nodes.size > FEW;
    if (this.#tiled) this.#tiles.park();
  }

  /** Holds what is out of sight. */
  get parked(): SVGSVGElement {
    return this.#tiles.parked;
  }

  /** The operand that a use takes. */
  #source(key: string): number {
    const [consumer = -1, slot = -1] = key.split(":").map(Number);
    return this.rec.header.nodes[consumer]?.inputs[slot] ?? -1;
  }

  /** The largest norm that one of these uses sends back. */
  #norm(keys: readonly string[]): number | null {
    if (!this.steps.norms) return null;
    let most = 0;
    for (const key of keys.slice(0, 50)) {
      const share = this.steps.edges.get(key)?.share;
      if (share !== undefined) most = Math.max(most, this.rec.array(this.rec.share.value[share])?.stats.norm ?? 0);
    }
    return most;
  }

  /** Do one piece of what makes later steps cheaper: draw what lies in this part of the picture, before it is seen; false where all of it is drawn. */
  prepare(area: Area): boolean {
    return this.#tiled && this.#tiles.prepare(area);
  }

  /** Put away what has not been in sight for long. */
  tidy(): void {
    if (this.#tiled) this.#tiles.tidy();
  }

  /**
   * Draw what lies in this part of the picture; `small` leaves out what could not be read at the present scale. With `first` given, numbers that stand
   * elsewhere, which are most of the work, wait for `prepare`.
   */
  see(area: Area, small = false, first?: readonly Box[]): void {
    if (!this.#tiled) return;
    const { left: x, top: y } = this.size;
    const near = first?.map((b): Area => [x + b.x, y + b.y, x + b.x + b.w, y + b.y + b.h]);
    this.#tiles.see(area, small, (tile) => tile.layer === 2 && near?.every((b) => !tile.covers(b)) === true);
  }

  /** Where a node or a group stands, from what is written: nothing is measured. */
  box(element: Element): Box {
    let box = this.#known.get(element);
    if (!box) {
      // The picture writes a node as a moved group around its centre, and its halo is 7 px larger than its outline.
      const [x, y] = moved(element);
      const halo = element.querySelector(".tv-halo");
      const w = Number(halo?.getAttribute("width") ?? 66) - 14;
      const h = Number(halo?.getAttribute("height") ?? 56) - 14;
      box = { x: x - w / 2 - this.size.left, y: y - h / 2 - this.size.top, w, h };
      this.#known.set(element, box);
    }
    return box;
  }

  /** All that is drawn of a node: its glyph, its numbers and what its fork adds; of one in a group, the group. */
  reach(id: number): Box | undefined {
    return this.#extent(String(id), [
      this.of(id),
      this.#values.get(id),
      this.#forks.get(id)?.element,
      ...(this.#totals.get(id) ?? []).map((total) => total.element),
    ]);
  }

  /** What stands on a use's wire: its badges and its share. */
  signs(key: string): Box | undefined {
    return this.#extent(key, [this.#shares.get(key)?.element, ...(this.#badges.get(key) ?? []).map((b) => b.element)]);
  }

  /** From what is written, too: the rectangles and words of these marks. */
  #extent(key: string, marks: readonly (SVGGElement | undefined)[]): Box | undefined {
    let box = this.#reached.get(key);
    for (const mark of box ? [] : marks) {
      const [dx, dy] = moved(mark);
      for (const part of mark?.querySelectorAll("rect, text") ?? []) {
        const read = (name: string) => Number(part.getAttribute(name) ?? NaN);
        const size = read("font-size");
        const w = size ? (part.textContent?.length ?? 0) * ADVANCE * size : read("width");
        const h = size || read("height");
        const x = read("x") - w * ({ middle: 0.5, end: 1 }[part.getAttribute("text-anchor") ?? ""] ?? 0);
        const one = { x: x + dx - this.size.left, y: read("y") + dy - this.size.top - (size && h * 0.8), w, h };
        if (one.x + one.y + w + h) box = box ? join(box, one) : one;
      }
    }
    if (box) this.#reached.set(key, box);
    return box;
  }

  /** Every node and every group. */
  *items(): Generator<SVGGElement> {
    yield* this.nodes.values();
    for (const { element } of new Set(this.#groups.values())) yield element;
  }

  /** The element that stands for a node: its own, or the scope or fold that it is in. */
  of(id: number): SVGGElement | undefined {
    return this.nodes.get(id) ?? this.#groups.get(id)?.element;
  }

  /** The node that has the focus. */
  get focused(): number | undefined {
    const id = this.svg.querySelector<SVGElement>(":focus")?.dataset["node"];
    return id === undefined ? undefined : Number(id);
  }

  select(id: number | null): void {
    if (id === this.#selected) return;
    this.#kin(id);
    for (const [node, on] of [[this.#selected, false] as const, [id, true] as const]) {
      const element = node === null ? undefined : this.nodes.get(node);
      if (!element) continue;
      attribute(element, "data-selected", on ? "" : null);
      attribute(element, "aria-pressed", on ? "true" : null);
    }
    this.#selected = id;
  }

  /** Set off what a node was made from and what was made from it; everything else steps back. */
  #kin(id: number | null): void {
    const kin = id === null ? null : this.steps.kin(id);
    attribute(this.svg, "data-kin", kin ? "" : null);
    const of = (ids: readonly number[]) => {
      if (!kin || ids.includes(id ?? -1)) return null;
      return ids.some((i) => kin[i] === 1) ? "before" : ids.some((i) => kin[i] === 2) ? "after" : "none";
    };
    for (const [node, element] of this.nodes) attribute(element, "data-kin", of([node]));
    for (const element of new Set([...this.#groups.values()].map((g) => g.element)))
      attribute(element, "data-kin", of(ranges(element.dataset["members"] ?? "")));
    for (const { element, keys } of new Set(this.edges.values())) {
      const joins = keys.slice(0, 50).some((key) => {
        const consumer = parseInt(key);
        const source = this.#source(key);
        return kin && (kin[source] === 1 || source === id) && (kin[consumer] === 1 || consumer === id)
          ? true
          : kin && (kin[source] === 2 || source === id) && kin[consumer] === 2;
      });
      attribute(element, "data-kin", kin && !joins ? "none" : null);
    }
  }

  /** Mark the nodes that are breakpoints. */
  stops(points: readonly (string | number)[]): void {
    const name = points.filter((p) => typeof p === "number").join(" ");
    if (name === this.#stopping) return;
    this.#stopping = name;
    for (const sign of this.#stopSigns) sign.remove();
    this.#stopSigns = points
      .map((p) => (typeof p === "number" ? this.nodes.get(p) : undefined))
      .filter((node) => node !== undefined)
      .map((node) => {
        const { w, h } = this.box(node);
        const sign = s("path", { class: "tv-stop", d: `M${-w / 2},${-h / 2 - 8}l8,8l-8,8l-8,-8z` });
        node.append(sign);
        return sign;
      });
  }

  /** Show the state after a step; only what the steps in between touch is looked at. */
  show(step: number): void {
    const before = this.#shown;
    if (step === before) return;
    this.#shown = step;
    this.#dim();
    attribute(this.svg, "data-step", String(step));
    const far = before < 0 || Math.abs(step - before) > FAR;
    if (far) {
      this.#tiles.renew(step, !this.#tiled);
      return;
    }
    this.#tiles.stamp(step);
    const ids = new Set<number>();
    const keys = new Set<string>();
    for (let k = Math.min(before, step); k <= Math.max(before, step); k++) {
      ids.add(this.steps.activeNode(k));
      const key = this.steps.activeEdge(k);
      if (key !== null) keys.add(key);
    }
    for (const id of ids) {
      this.#node(id);
      const group = this.#groups.get(id);
      if (group) this.#group(group);
      this.#fork(id);
      this.#total(id);
    }
    for (const key of keys) {
      const edge = this.edges.get(key);
      if (edge) this.#edge(edge);
      this.#share(key);
    }
  }

  /** In sight, or laid out before it is: what happens is marked in what is in sight alone. `see` does so then. */
  turn(seen: boolean): void {
    this.#seen = seen;
    this.#dim(true);
  }

  #light(element: Element, on: boolean): void {
    attribute(element, "data-active", on && this.#seen ? "" : null);
    if (on) this.#lit.add(element);
  }

  /** Also where no step looks: in what is out of sight, which is brought up to date when it is seen again. */
  #dim(again = false): void {
    for (const element of this.#lit) {
      attribute(element, "data-active", null);
      const tile = this.#tiles.of(element);
      if (again || tile.off) tile.stamp = -1;
    }
    this.#lit.clear();
  }

  #node(id: number): void {
    const element = this.nodes.get(id);
    if (!element || this.#hidden(element)) return;
    attribute(element, "data-state", this.steps.node(id, this.#shown));
    const active = this.steps.activeNode(this.#shown) === id && !this.above?.nodes.has(id);
    this.#light(element, active);
    for (const edge of this.#into.get(id) ?? []) attribute(edge, "data-clear", active ? "" : null);
  }

  #hidden(element: Element): boolean {
    return this.#tiles.of(element).off;
  }

  #group({ element, span, tile }: Group): void {
    if (tile.off) return;
    const active = this.#groups.get(this.steps.activeNode(this.#shown))?.element === element;
    // Not marked as the active one itself: that stands in the neighbourhood.
    attribute(element, "data-state", active ? "active" : this.steps.within(span, this.#shown));
  }

  #edge({ element, keys, first, tile }: Edge): void {
    if (tile.off) return;
    const active = this.steps.activeEdge(this.#shown);
    const now = active !== null && this.edges.get(active)?.element === element;
    const one =
      keys.length === 1 ? this.steps.edge(keys[0] ?? "", this.#shown) : first <= this.#shown ? "passed" : "idle";
    attribute(element, "data-state", now ? "active" : one);
    const mine = now && keys.length === 1 && this.above?.edges.get(active)?.keys.length !== 1;
    this.#light(element, mine);
  }

  #fork(id: number): void {
    const badge = this.#forks.get(id);
    if (!badge || badge.tile.off) return;
    const arrived = this.steps.total(id, this.#shown)?.shares ?? 0;
    if (badge.words) text(badge.words, `Σ ${arrived}/${Number(badge.element.dataset["count"] ?? 0)}`);
    const now = this.steps.activeNode(this.#shown) === id && this.rec.kinds[this.#shown] === "accumulate";
    this.#time(badge, now ? "now" : arrived > 0 ? "past" : "future");
  }

  #share(key: string): void {
    const step = this.#shown;
    const at = this.steps.edges.get(key);
    const active = this.steps.activeEdge(step) === key;
    for (const badge of this.#badges.get(key) ?? []) {
      if (badge.tile.off) continue;
      const from = at ? (badge.kind === "unbroadcast" ? at.unbroadcast : at.accumulate) : -1;
      this.#time(badge, active && from === step ? "now" : from >= 0 && from <= step ? "past" : "future");
    }
    const label = this.#shares.get(key);
    if (label && !label.tile.off)
      attribute(label.element, "data-state", active ? "active" : at && at.accumulate <= step ? "passed" : "idle");
  }

  #time(badge: Badge, when: string): void {
    if (badge.when === when) return;
    badge.when = when;
    for (const name of ["past", "now", "future"]) attribute(badge.element, `data-${name}`, name === when ? "" : null);
  }

  #total(id: number): void {
    const list = this.#totals.get(id);
    if (!list) return;
    const now = this.steps.total(id, this.#shown);
    for (const total of list) {
      if (total.tile.off) continue;
      attribute(total.element, "data-state", now ? "done" : "idle");
      const index = now?.array?.index ?? -1;
      if (!now?.array || index === total.shown) continue;
      total.shown = index;
      this.#rewrite(total, now.array);
    }
  }

  #rewrite(total: Total, array: ArrayView): void {
    if (total.form !== "cells" || !array.data) {
      const label = total.words[0];
      if (!label) return;
      text(label, total.form === "number" && array.data ? number(array.data[0] ?? NaN) : stats(array));
      label.classList.toggle("tv-nan", specialOf(array) !== "");
      return;
    }
    const words = cells(array.data);
    total.words.forEach((node, i) => {
      const value = array.data?.[i] ?? NaN;
      text(node, words[i] ?? "");
      node.classList.toggle("tv-zero", value === 0);
      node.classList.toggle("tv-nan", Number.isNaN(value));
      node.classList.toggle("tv-inf", Math.abs(value) === Infinity);
      const rect = total.rects[i];
      if (!rect) return;
      overlay(rect, words[i] ?? "");
      attribute(rect, "class", `tv-cell ${Number.isNaN(value) ? "tv-nan" : value >= 0 ? "tv-gpos" : "tv-gneg"}`);
      rect.style.setProperty("--tv-tint", `${depth(this.rec, "gradient", value)}%`);
    });
  }

  /** Tint every cell anew: the scale is another one. */
  retint(): void {
    const { rec, steps } = this;
    const paint = (group: Element, kind: Kind, array: ArrayView | null) =>
      group.querySelectorAll<SVGElement>(".tv-cell").forEach((rect, i) => {
        rect.style.setProperty("--tv-tint", `${depth(rec, kind, array?.data?.[i] ?? NaN)}%`);
      });
    for (const root of [this.svg, this.parked]) {
      for (const group of root.querySelectorAll<SVGElement>("[data-value]"))
        paint(group, "value", rec.array(rec.header.nodes[Number(group.dataset["value"])]?.value));
    }
    for (const [key, { element }] of this.#shares)
      paint(element, "gradient", rec.array(rec.share.value[steps.edges.get(key)?.share ?? -1]));
    for (const total of [...this.#totals.values()].flat()) paint(total.element, "gradient", rec.array(total.shown));
  }
}
