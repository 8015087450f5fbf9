/** The states on the picture: which elements a step touches, and what they then show. Knows nothing of panning. */
import { strength } from "../color";
import { attribute, s, text } from "../dom";
import { cells, number, stats } from "../format";
import { specialOf, type EdgeState, type Span, type Steps } from "../step";
import type { ArrayView, Recording } from "../wire";

/** A jump over more steps than this looks at every element once instead. */
const FAR = 40;

interface Group {
  readonly element: SVGGElement;
  readonly span: Span;
}
interface Edge {
  readonly element: SVGGElement;
  readonly keys: readonly string[];
}
interface Badge {
  readonly element: SVGGElement;
  readonly kind: string;
  readonly words: Element | null;
  when: string;
}
interface Total {
  readonly element: SVGGElement;
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
  let lines = "";
  for (let at = 4; at < w + h; at += 8) {
    const [a, b] = [Math.max(0, at - h), Math.min(w, at)];
    lines += `M${x + a},${y + at - a}L${x + b},${y + at - b}`;
  }
  const up = word.startsWith("+") ? -6 : 6;
  const tip = `M${x + 5},${y + h / 2 - up / 2}l4,${up}l4,${-up}z`;
  rect.after(
    s("g", { class: "tv-odd" }, s("path", { class: "tv-hatch", d: lines }), s("path", { class: "tv-tip", d: tip })),
  );
}

export class Picture {
  readonly svg: SVGSVGElement;
  readonly nodes = new Map<number, SVGGElement>();
  private readonly groups = new Map<number, Group>(); // by member
  private readonly edges = new Map<string, Edge>();
  private readonly forks = new Map<number, Badge>();
  private readonly badges = new Map<string, Badge[]>();
  private readonly shares = new Map<string, SVGGElement>();
  private readonly totals = new Map<number, Total[]>();
  private shown = -1;
  private selected: number | null = null;

  constructor(
    private readonly rec: Recording,
    private readonly steps: Steps,
    source: string,
  ) {
    this.svg = parse(source);
    const all = (selector: string) => this.svg.querySelectorAll<SVGGElement>(selector);
    const put = <K, V>(map: Map<K, V[]>, key: K, value: V) => {
      const list = map.get(key);
      if (list) list.push(value);
      else map.set(key, [value]);
    };
    for (const element of all("[data-node]")) {
      const key = element.dataset["node"] ?? "";
      if (/^\d+$/.test(key)) this.nodes.set(Number(key), element);
    }
    for (const element of all("[data-group]")) {
      const members = ranges(element.dataset["members"] ?? "");
      const group = { element, span: steps.span(members) };
      for (const id of members) this.groups.set(id, group);
    }
    for (const element of all("[data-edge]")) {
      if (element.dataset["state"] === "detached") continue;
      const keys = (element.dataset["uses"] ?? element.dataset["edge"] ?? "").split(/[ ,]+/);
      const edge = { element, keys };
      for (const key of keys) this.edges.set(key, edge);
    }
    for (const element of all("[data-badge]")) {
      const kind = element.dataset["badge"] ?? "";
      const badge = { element, kind, words: element.querySelector("text"), when: "" };
      if (kind === "fork") this.forks.set(Number(element.dataset["fork"]), badge);
      else put(this.badges, element.dataset["on"] ?? "", badge);
    }
    for (const element of all("[data-share]")) this.shares.set(element.dataset["share"] ?? "", element);
    for (const cell of all("[data-value] .tv-cell, [data-share] .tv-cell"))
      overlay(cell, cell.nextElementSibling?.textContent ?? "");
    for (const element of all("[data-total]")) {
      const id = Number(element.dataset["total"]);
      put(this.totals, id, {
        element,
        id,
        form: element.dataset["form"] ?? "number",
        rects: [...element.querySelectorAll<SVGElement>(".tv-cell")],
        words: [...element.querySelectorAll(".tv-num")],
        shown: -2,
      });
    }
  }

  /** The element that stands for a node: its own, or the scope or fold that it is in. */
  of(id: number): SVGGElement | undefined {
    return this.nodes.get(id) ?? this.groups.get(id)?.element;
  }

  select(id: number | null): void {
    if (id === this.selected) return;
    for (const [node, on] of [[this.selected, false] as const, [id, true] as const]) {
      const element = node === null ? undefined : this.nodes.get(node);
      if (!element) continue;
      attribute(element, "data-selected", on ? "" : null);
      attribute(element, "aria-pressed", on ? "true" : null);
    }
    this.selected = id;
  }

  /** Show the state after a step; only what the steps in between touch is looked at. */
  show(step: number): void {
    const before = this.shown;
    if (step === before) return;
    this.shown = step;
    attribute(this.svg, "data-step", String(step));
    if (before < 0 || Math.abs(step - before) > FAR) {
      const groups = new Set(this.groups.values());
      for (const id of this.nodes.keys()) this.node(id, step);
      for (const group of groups) this.group(group, step);
      for (const edge of new Set(this.edges.values())) this.edge(edge, step);
      for (const id of this.forks.keys()) this.fork(id, step);
      for (const id of this.totals.keys()) this.total(id, step);
      for (const key of new Set([...this.badges.keys(), ...this.shares.keys()])) this.share(key, step);
      return;
    }
    const ids = new Set<number>();
    const keys = new Set<string>();
    for (let k = Math.min(before, step); k <= Math.max(before, step); k++) {
      ids.add(this.steps.activeNode(k));
      const key = this.steps.activeEdge(k);
      if (key !== null) keys.add(key);
    }
    for (const id of ids) {
      this.node(id, step);
      const group = this.groups.get(id);
      if (group) this.group(group, step);
      this.fork(id, step);
      this.total(id, step);
    }
    for (const key of keys) {
      const edge = this.edges.get(key);
      if (edge) this.edge(edge, step);
      this.share(key, step);
    }
  }

  private node(id: number, step: number): void {
    const element = this.nodes.get(id);
    if (!element) return;
    attribute(element, "data-state", this.steps.node(id, step));
    attribute(element, "data-active", this.steps.activeNode(step) === id ? "" : null);
  }

  private group({ element, span }: Group, step: number): void {
    const active = this.groups.get(this.steps.activeNode(step))?.element === element;
    attribute(element, "data-state", active ? "active" : this.steps.within(span, step));
    attribute(element, "data-active", active ? "" : null);
  }

  private edge({ element, keys }: Edge, step: number): void {
    const states = keys.map((key) => this.steps.edge(key, step));
    const order: EdgeState[] = ["active", "passed", "blocked"];
    const active = this.steps.activeEdge(step);
    attribute(element, "data-state", order.find((state) => states.includes(state)) ?? "idle");
    attribute(element, "data-active", active !== null && keys.includes(active) ? "" : null);
  }

  private fork(id: number, step: number): void {
    const badge = this.forks.get(id);
    if (!badge) return;
    const arrived = this.steps.total(id, step)?.shares ?? 0;
    if (badge.words) text(badge.words, `Σ ${arrived}/${Number(badge.element.dataset["count"] ?? 0)}`);
    const now = this.steps.activeNode(step) === id && this.rec.kinds[step] === "accumulate";
    this.time(badge, now ? "now" : arrived > 0 ? "past" : "future");
  }

  private share(key: string, step: number): void {
    const at = this.steps.edges.get(key);
    const active = this.steps.activeEdge(step) === key;
    for (const badge of this.badges.get(key) ?? []) {
      const from = at ? (badge.kind === "unbroadcast" ? at.unbroadcast : at.accumulate) : -1;
      this.time(badge, active && from === step ? "now" : from >= 0 && from <= step ? "past" : "future");
    }
    const label = this.shares.get(key);
    if (label) attribute(label, "data-state", active ? "active" : at && at.accumulate <= step ? "passed" : "idle");
  }

  private time(badge: Badge, when: string): void {
    if (badge.when === when) return;
    badge.when = when;
    for (const name of ["past", "now", "future"]) attribute(badge.element, `data-${name}`, name === when ? "" : null);
  }

  private total(id: number, step: number): void {
    const list = this.totals.get(id);
    if (!list) return;
    const now = this.steps.total(id, step);
    for (const total of list) {
      attribute(total.element, "data-state", now ? "done" : "idle");
      const index = now?.array?.index ?? -1;
      if (!now?.array || index === total.shown) continue;
      total.shown = index;
      this.rewrite(total, now.array);
    }
  }

  private rewrite(total: Total, array: ArrayView): void {
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
      rect.style.setProperty("--tv-tint", `${strength(value, this.rec.header.view.gradient_max)}%`);
    });
  }
}
