/** The user's lines, the current one lit, the expression that made the node marked. */
import { h, replace, type Child } from "../dom";
import type { SourceEntry } from "../trace";
import type { Recording } from "../wire";
import type { Context, Pane } from "./context";

const [BEFORE, AFTER] = [2, 1]; // lines of context: four lines fit

const kept = new WeakMap<Recording, Map<string, Map<number, string>>>();

/** The lines of one file: all of them where its text has travelled, else those on which some node was made. */
export function linesOf(rec: Recording, file: string): Map<number, string> {
  const files = kept.get(rec) ?? new Map<string, Map<number, string>>();
  kept.set(rec, files);
  const known = files.get(file);
  if (known) return known;
  const lines = new Map<number, string>();
  files.set(file, lines);
  const text = rec.header.texts[file];
  text?.split("\n").forEach((line, i) => {
    if (line.trim()) lines.set(i + 1, line);
  });
  for (const source of rec.header.sources) {
    if (source.file !== file) continue;
    source.code.split("\n").forEach((line, i) => {
      if ((lines.get(source.line + i) ?? "").length <= line.length) lines.set(source.line + i, line);
    });
  }
  return lines;
}

/** A line with the part between two columns marked. */
function lit(line: string, from: number, to: number): Child[] {
  const points = [...line];
  const [a, b, c] = [points.slice(0, from), points.slice(from, to), points.slice(to)].map((p) => p.join(""));
  return b ? [a, h("mark", {}, b), c] : [line];
}

/** Where the marked part of the i-th line of a source starts and ends. */
function span(source: SourceEntry, i: number, last: number, length: number): [number, number] {
  if (source.column < 0) return [0, 0];
  return [i === 0 ? source.column : 0, i === last ? source.end_column : length];
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

/** The lines of a source with some known lines before and after. */
export function listing(rec: Recording, source: SourceEntry, ahead: number, behind: number): HTMLElement[] {
  const known = linesOf(rec, source.file);
  const own = source.code.split("\n");
  const last = source.line + own.length - 1;
  const numbers = [...known.keys()].sort((a, b) => a - b);
  const before = numbers.filter((k) => k < source.line).slice(-ahead);
  const after = numbers.filter((k) => k > last).slice(0, behind);
  const row = (k: number, content: Child[], now: boolean) =>
    h("div", { class: now ? "tv-line tv-now" : "tv-line" }, h("i", {}, String(k)), h("code", {}, ...content));
  return [
    ...before.map((k) => row(k, [known.get(k) ?? ""], false)),
    ...own.map((line, i) => row(source.line + i, lit(line, ...span(source, i, own.length - 1, line.length)), true)),
    ...after.map((k) => row(k, [known.get(k) ?? ""], false)),
  ];
}

/** How many lines a source has beyond its first. */
function extra(source: SourceEntry): number {
  return source.code.split("\n").length - 1;
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
  const head = h("div", { class: "tv-source-head" });
  const body = h("div", { class: "tv-lines" });
  const element = h("div", { class: "tv-source", role: "group", "aria-label": "Source lines" }, head, body);
  let shown = -2;
  return {
    element,
    update() {
      const node = rec.header.nodes[sourceNode(context)];
      const index = node?.source ?? -1;
      if (index === shown) return;
      shown = index;
      const found = rec.header.sources[index];
      head.textContent = found ? `Source · ${where(found)}` : "Source · not known for this node";
      replace(body, ...(found ? listing(rec, found, Math.max(0, BEFORE - extra(found)), AFTER) : []));
    },
  };
}
