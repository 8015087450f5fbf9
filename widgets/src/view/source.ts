/** The user's lines: the current one lit, the expression that made the node marked, and every expression a way to its nodes. */
import { h as element, text } from "../dom";
import { until } from "../step";
import type { SourceEntry } from "../trace";
import { h, patch, type Child, type Virtual } from "../virtual";
import type { Recording } from "../wire";
import type { Context, Pane } from "./context";

const [LINES, MOST, PART] = [4, 16, 0.25]; // of the strip, where the record knows as many; more where they take no more than this of the panes
const [LINE, HEAD] = [21, 27]; // px of one of them, and of what stands around
const LETTER = 8.43; // px of a letter of 14 px monospace; only decides how far a long line is scrolled
const BEFORE = 2;

/** What the record knows of one file: its lines, and which sources lie on each. */
interface Text {
  readonly lines: Map<number, string>;
  readonly at: Map<number, number[]>;
}

interface Known {
  readonly texts: Map<string, Text>;
  /** By source: the nodes that it made, all of them and by op. */
  readonly made: Map<number, { readonly nodes: number[]; readonly byOp: Map<string, number[]> }>;
  /** The nodes that were made in a function of that name, whoever called it: only that is known. */
  readonly inside: Map<string, number[]>;
}

const kept = new WeakMap<Recording, Known>();

function known(rec: Recording): Known {
  let found = kept.get(rec);
  if (found) return found;
  const made: Known["made"] = new Map();
  const inside: Known["inside"] = new Map();
  rec.header.nodes.forEach(({ source, op }, id) => {
    if (source < 0) return;
    const name = rec.header.sources[source]?.function.split(".").at(-1) ?? "";
    const there = inside.get(name);
    if (there) there.push(id);
    else inside.set(name, [id]);
    const of = made.get(source) ?? { nodes: [], byOp: new Map<string, number[]>() };
    if (!of.nodes.length) made.set(source, of);
    of.nodes.push(id);
    const alike = of.byOp.get(op);
    if (alike) alike.push(id);
    else of.byOp.set(op, [id]);
  });
  found = { texts: new Map(), made, inside };
  kept.set(rec, found);
  return found;
}

function textOf(rec: Recording, file: string): Text {
  const { texts } = known(rec);
  const there = texts.get(file);
  if (there) return there;
  const made: Text = { lines: new Map(), at: new Map() };
  texts.set(file, made);
  rec.header.texts[file]?.split("\n").forEach((line, i) => {
    if (line.trim()) made.lines.set(i + 1, line);
  });
  rec.header.sources.forEach((source, index) => {
    if (source.file !== file) return;
    source.code.split("\n").forEach((line, i) => {
      const k = source.line + i;
      if (line && (made.lines.get(k) ?? "").length <= line.length) made.lines.set(k, line);
      made.at.set(k, [...(made.at.get(k) ?? []), index]);
    });
  });
  return made;
}

/** The lines of one file: all of them where its text has travelled, else those on which some node was made. */
export function linesOf(rec: Recording, file: string): Map<number, string> {
  return textOf(rec, file).lines;
}

/** The nodes that one expression made, oldest first. */
export function madeBy(rec: Recording, source: number): readonly number[] {
  return known(rec).made.get(source)?.nodes ?? [];
}

/** Which execution of its expression made a node, and how many there were; null where there was one. */
export function turn(rec: Recording, id: number): [number, number] | null {
  const node = rec.header.nodes[id];
  if (!node || node.kind !== "op") return null;
  const alike = known(rec).made.get(node.source)?.byOp.get(node.op) ?? [];
  return alike.length > 1 ? [until(alike, (i) => i <= id), alike.length] : null;
}

export function ordinal(n: number): string {
  const last = n % 10;
  const end = n % 100 > 10 && n % 100 < 14 ? "th" : (["th", "st", "nd", "rd"][last] ?? "th");
  return `${n}${end}`;
}

/** Columns that an expression takes of one line; null where they are not known. */
function span(source: SourceEntry, k: number, line: string): [number, number] | null {
  if (source.column < 0) return null;
  const last = source.line + source.code.split("\n").length - 1;
  return [k === source.line ? source.column : line.search(/\S/), k === last ? source.end_column : [...line].length];
}

/** A line in pieces: each belongs to the smallest expression around it, and what is current is marked. */
function pieces(context: Context, k: number, line: string, file: string, current: number): Child[] {
  const { rec } = context;
  const points = [...line];
  const spans = (textOf(rec, file).at.get(k) ?? []).flatMap((index) => {
    const source = rec.header.sources[index];
    const at = source && span(source, k, line);
    return at ? [{ index, from: at[0], to: at[1] }] : [];
  });
  const lit = spans.find((x) => x.index === current);
  const cuts = [...new Set([0, points.length, ...spans.flatMap((x) => [x.from, x.to])])].sort((a, b) => a - b);
  const seen = new Set<number>();
  const mark = h("mark");
  const out: Child[] = [];
  cuts.slice(0, -1).forEach((from, i) => {
    const to = cuts[i + 1] ?? from;
    const words = points.slice(from, to).join("");
    const over = spans.filter((x) => x.from <= from && x.to >= to).sort((a, b) => a.to - a.from - (b.to - b.from))[0];
    const found = over ? [expression(context, over.index, words, !seen.has(over.index))] : calls(context, words);
    if (over) seen.add(over.index);
    if (!lit || lit.from > from || lit.to < to) out.push(...found);
    else {
      if (!mark.children.length) out.push(mark);
      mark.children.push(...found);
    }
  });
  return out;
}

/** Code that made no node, where a call leads to what was made in its function. */
function calls(context: Context, words: string): Child[] {
  return words.split(/(\w+)(?=\()/).map((name, i) => {
    const nodes = i % 2 ? known(context.rec).inside.get(name) : undefined;
    return nodes ? way(context, nodes, name, `what ${name} made`, true) : name;
  });
}

/** A part of the code that leads to the nodes it made, one after the other. */
function expression(context: Context, index: number, words: string, first: boolean): Child {
  const nodes = madeBy(context.rec, index);
  if (!nodes.length || !words.trim()) return words;
  const ops = [...(known(context.rec).made.get(index)?.byOp.keys() ?? [])].join(", ");
  return way(context, nodes, words, `${ops}: ${words.trim()}`, first);
}

function way({ store, select }: Context, nodes: readonly number[], words: string, what: string, first: boolean): Child {
  const go = () => {
    const at = nodes.indexOf(store.now.selected ?? -1);
    select(nodes[(at + 1) % nodes.length] ?? null);
  };
  const said = `Select ${what}${nodes.length > 1 ? `, ${nodes.length} nodes` : ""}`;
  return h(
    "span",
    {
      class: "tv-expression",
      role: "button",
      tabindex: first ? "0" : "-1",
      "aria-label": said,
      title: said,
      onclick: go,
      onkeydown: (event: KeyboardEvent) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        go();
      },
    },
    words,
  );
}

export function fileName(file: string): string {
  const cell = /ipykernel_\d+[\\/]|^<(?:ipython-input|stdin|string)/.test(file);
  return cell ? "cell" : (file.split(/[\\/]/).at(-1) ?? file);
}

export function where(source: SourceEntry): string {
  const inside =
    source.function && source.function !== "<module>" && !source.function.startsWith("<cell")
      ? `, in ${source.function}`
      : "";
  return `${fileName(source.file)}, line ${source.line}${inside}`;
}

/** Where a node was made, and in which turn of a loop. */
export function place(rec: Recording, id: number): string {
  const source = rec.header.sources[rec.header.nodes[id]?.source ?? -1];
  if (!source) return "";
  const nth = turn(rec, id);
  return where(source) + (nth ? ` · ${ordinal(nth[0])} of ${nth[1]} times` : "");
}

/** `count` known lines around a source, two before it where there are as many. */
export function listing(context: Context, index: number, count: number, ahead = BEFORE): Virtual[] {
  const source = context.rec.header.sources[index];
  if (!source) return [];
  const { lines } = textOf(context.rec, source.file);
  const own = source.code.split("\n").length;
  const numbers = [...lines.keys()].sort((a, b) => a - b);
  const at = numbers.findIndex((k) => k >= source.line);
  const first = Math.max(0, Math.min(at - Math.max(0, Math.min(ahead, count - own - 1)), numbers.length - count));
  return numbers.slice(first, first + count).map((k) => {
    const now = k >= source.line && k < source.line + own;
    return h(
      "div",
      { class: now ? "tv-line tv-now" : "tv-line" },
      h("i", {}, String(k)),
      h("code", {}, ...pieces(context, k, lines.get(k) ?? "", source.file, now ? index : -1)),
    );
  });
}

/** The node whose line is shown: the op whose rule runs, or the selected one. */
export function sourceNode({ rec, steps, store }: Context): number {
  const { step, selected } = store.now;
  if (selected !== null) return selected;
  const share = steps.shareAt(step);
  return share >= 0 ? (rec.share.consumer[share] ?? -1) : steps.activeNode(step);
}

export function source(context: Context): Pane {
  const { rec } = context;
  const head = element("div", { class: "tv-source-head" });
  const body = element("div", { class: "tv-lines", tabindex: "-1" });
  const strip = element(
    "div",
    { class: "tv-source", role: "group", "aria-label": "Source lines" },
    h("div", { class: "tv-island" }, head, body),
  );
  // As many lines as the longest text of this record has, and as there is room for: the height never changes while stepping.
  const files = [...new Set(rec.header.sources.map((s) => s.file))];
  const longest = Math.max(1, ...files.map((file) => linesOf(rec, file).size));
  let rows = 0;
  const size = (room: number) => {
    const now = Math.min(longest, MOST, Math.max(LINES, Math.floor((room - HEAD) / LINE)));
    if (now === rows) return;
    rows = now;
    shown = -2;
    strip.style.setProperty("--tv-strip", `${rows * LINE + HEAD}px`);
  };
  let shown = -2;
  let width = 0;
  let moved = false;
  size(0);
  /** Scroll a long line to its expression; a line that fits is left alone, since scrolling makes the browser lay out at once. */
  const reveal = () => {
    const found = rec.header.sources[shown];
    const room = Math.floor((width - 70) / LETTER);
    // Not for what already begins well inside: the beginning of a line says where it stands.
    const hidden = found && width > 0 && found.end_column > room && found.column > room / 2;
    const from = hidden ? Math.min(found.column - 6, found.end_column - room) : 0;
    if (from > 0 || moved) body.scrollLeft = Math.max(0, from) * LETTER;
    moved = from > 0;
  };
  return {
    element: strip,
    update() {
      const id = sourceNode(context);
      const index = rec.header.nodes[id]?.source ?? -1;
      const words = index >= 0 ? `Source · ${place(rec, id)}` : "Source · not known for this node";
      text(head, words);
      if (index === shown) return;
      shown = index;
      // The focus stays in the code while somebody walks through it by keyboard.
      const focused = body.contains(document.activeElement) ? document.activeElement?.getAttribute("aria-label") : null;
      patch(body, listing(context, index, rows));
      if (focused)
        [...body.querySelectorAll<HTMLElement>("[tabindex='0']")].find((e) => e.ariaLabel === focused)?.focus();
      reveal();
    },
    resize() {
      const panes = strip.closest(".tv-panes")?.clientHeight ?? 0;
      const own = strip.clientHeight;
      width = body.clientWidth;
      // Beside the inspector it is as high as that.
      size(getComputedStyle(strip).alignSelf === "stretch" ? own : panes * PART);
      this.update();
      reveal();
    },
  };
}
