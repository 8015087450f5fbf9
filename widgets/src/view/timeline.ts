/** The slider over all steps, with what is worth stopping at above it and the rules below. */
import { attribute, h, s } from "../dom";
import { until, type Mark } from "../step";
import type { Context, Pane } from "./context";
import { told } from "../told";
import { glyph } from "./icons";

const EDGE = 10; // px from the pane's side to the first step: half of the slider's thumb, so that both agree
const TRACK = 31;
const PILL = 18;
const MOST = 400; // marks drawn: more would touch on any screen
const DOTS = 120; // more steps than this have no dot each
const MOST_SPELLED = 0.8; // where fewer rules than this have room for their name, scopes stand in their place
const LETTER = 7.3; // px of a 12-px monospaced one, and a little air
const CHAR = 6.6; // px of a 12-px bold character

interface Stretch {
  readonly first: number;
  readonly last: number;
  /** Whose rule runs; -1 where it is that of no one. */
  readonly node: number;
  readonly label: string;
}

export function timeline(context: Context): Pane {
  const { rec, steps, store } = context;
  const n = Math.max(1, rec.length);
  const slider = h("input", {
    type: "range",
    class: "tv-slider",
    "aria-label": "Step",
    min: 1,
    max: n,
    step: 1,
    value: 1,
  });
  const svg = s("svg", { class: "tv-track", "aria-hidden": "true", height: 62 });
  const element = h("div", { class: "tv-timeline" }, slider, svg);
  const done = s("path", { class: "tv-done" });
  const handle = s("circle", { class: "tv-handle", r: 8, cy: TRACK });
  let [width, shown, points] = [0, -1, ""];
  let dots: SVGCircleElement[] = [];
  let brackets: { group: { first: number; last: number }; line: SVGElement; label: SVGElement | null }[] = [];
  let pills: { mark: Mark; element: SVGGElement }[] = [];
  let version = steps.version;
  const x = (k: number) => (n === 1 ? width / 2 : EDGE + ((width - 2 * EDGE) * k) / (n - 1));

  slider.addEventListener("input", () => store.set({ step: Number(slider.value) - 1, playing: false }));

  /** The name under the track: a press makes a rule's node a breakpoint, or no longer one, and leads to the beginning of a scope. */
  const hit = (from: number, to: number, { node, label, first }: Stretch) => {
    const area = s(
      "rect",
      { class: "tv-hit", x: from.toFixed(1), y: TRACK + 15, width: (to - from).toFixed(1), height: 16 },
      s("title", {}, node < 0 ? `To the first step of ${label}` : `Stop at ${label}, or no longer`),
    );
    area.addEventListener("click", () => (node < 0 ? context.go(first) : context.stopAt(node)));
    return area;
  };

  /** Everything that does not change with the step. */
  const draw = () => {
    const parts: SVGElement[] = [s("path", { class: "tv-rail", d: `M${x(0)},${TRACK}H${x(n - 1)}` }), done];
    const gap = n > 1 ? x(1) - x(0) : width;
    brackets = [];
    const ends = ({ first, last }: Stretch) => [
      Math.max(x(first) - gap * 0.36, EDGE - 6),
      Math.min(x(last) + gap * 0.36, width - EDGE + 6),
    ];
    const spelled = steps.groups.filter((group) => {
      const [from = 0, to = 0] = ends(group);
      return group.label.length * LETTER < to - from;
    });
    const scopes =
      spelled.length < steps.groups.length * MOST_SPELLED
        ? bands(steps.groups, (id) => rec.header.nodes[id]?.scope ?? "")
        : [];
    const stretches = scopes.length ? scopes : steps.groups;
    for (const group of stretches) {
      const [from = 0, to = 0] = ends(group);
      if (to - from < 5) continue;
      const line = s("path", { class: "tv-bracket", d: `M${from.toFixed(1)},${TRACK + 13}H${to.toFixed(1)}` });
      const room = Math.floor((to - from + 4) / LETTER);
      const words = scopes.length ? (group.label.split("/").at(-1) ?? "") : group.label;
      const short = words.length <= room ? words : words === "write .grad" && room >= 5 ? ".grad" : "";
      const label = short
        ? s("text", { class: "tv-rule", x: (from + to) / 2, y: TRACK + 27, "text-anchor": "middle" }, short)
        : null;
      parts.push(line);
      if (label) parts.push(label);
      if (group.node >= 0 || scopes.length) parts.push(hit(from, to, group));
      brackets.push({ group, line, label });
    }
    dots =
      n <= DOTS
        ? Array.from({ length: n }, (_, k) =>
            s("circle", { class: "tv-dot", cx: x(k).toFixed(1), cy: TRACK, r: n <= 32 ? 3.6 : 2.6 }),
          )
        : [];
    parts.push(...dots);
    for (const [a, b] of steps.alive)
      parts.push(
        s("path", { class: "tv-alive", d: `M${(x(a) - 3).toFixed(1)},${TRACK - 8}H${(x(b) + 3).toFixed(1)}` }),
      );
    pills = placed(steps.marks, x, width).map(({ mark, text, from, to }) => {
      const element = pill(mark, (from + to) / 2, text);
      element.addEventListener("click", (event) =>
        event.shiftKey ? context.stopAt(mark.kind) : context.go(mark.step),
      );
      return { mark, element };
    });
    parts.push(...pills.map((p) => p.element));
    for (const k of points ? steps.breaks(store.now.breakpoints).slice(0, 400) : []) {
      parts.push(s("path", { class: "tv-point", d: `M${x(k).toFixed(1)},${TRACK + 7}l5,5l-5,5l-5,-5z` }));
    }
    svg.replaceChildren(...parts, handle);
    shown = -1;
  };

  return {
    element,
    resize() {
      const now = element.clientWidth || 800;
      if (now !== width) {
        width = now;
        svg.setAttribute("width", String(width));
        draw();
        this.update();
      }
    },
    update() {
      const { step, breakpoints } = store.now;
      if (JSON.stringify(breakpoints) !== points && width) {
        points = breakpoints.length ? JSON.stringify(breakpoints) : "";
        if (points || svg.querySelector(".tv-point")) draw();
      }
      if (steps.version !== version && width) {
        version = steps.version;
        draw();
      }
      if (step === shown) return;
      if (slider.value !== String(step + 1)) slider.value = String(step + 1);
      attribute(slider, "aria-valuetext", `Step ${step + 1} of ${rec.length}: ${told(rec, step) ?? ""}`);
      if (!width) return; // not on a page yet
      const [low, high] = shown < 0 ? [0, n] : [Math.min(shown, step), Math.max(shown, step)];
      done.setAttribute("d", `M${x(0)},${TRACK}H${x(step).toFixed(1)}`);
      handle.style.transform = `translateX(${x(step).toFixed(1)}px)`;
      for (let k = low; k <= high && k < dots.length; k++) {
        const dot = dots[k];
        if (dot) attribute(dot, "data-done", k <= step ? "" : null);
      }
      for (const { group, line, label } of brackets) {
        if (group.last < low || group.first > high) continue;
        const now = group.first <= step && step <= group.last ? "" : null;
        attribute(line, "data-now", now);
        if (label) attribute(label, "data-now", now);
      }
      for (const { mark, element: e } of pills) {
        if (mark.step < low || mark.step > high) continue;
        attribute(e, "data-when", mark.step === step ? "now" : mark.step < step ? "past" : "future");
      }
      shown = step;
    },
  };
}

/** Stretches of a pass by the outermost scopes that tell them apart, as far as scopes know; none where there is no scope. */
export function bands(groups: readonly Stretch[], scopeOf: (node: number) => string): Stretch[] {
  if (!groups.some((g) => g.node >= 0 && scopeOf(g.node))) return [];
  const depth = Math.max(0, ...groups.map((g) => (g.node < 0 ? 0 : scopeOf(g.node).split("/").length)));
  for (let deep = 1; deep <= depth; deep++) {
    const found: Stretch[] = [];
    for (const group of groups) {
      const label = group.node < 0 ? group.label : scopeOf(group.node).split("/").slice(0, deep).join("/");
      const before = found.at(-1);
      if (before?.label === label && before.last === group.first - 1)
        found[found.length - 1] = { ...before, last: group.last };
      else found.push({ first: group.first, last: group.last, node: -1, label });
    }
    const scopes = found.filter((band) => band.label);
    if (new Set(scopes.map((band) => band.label)).size > 3 || deep === depth) return scopes;
  }
  return [];
}

interface Placed {
  readonly mark: Mark;
  readonly text: string;
  readonly from: number;
  readonly to: number;
}

/** Which marks are drawn, and with which words: spelled out where all of a kind have room, else as icons; no two on one spot. */
export function placed(marks: readonly Mark[], x: (k: number) => number, width: number): Placed[] {
  const rank = { nan: 0, check: 1, inf: 2, finding: 3, fork: 4, unbroadcast: 5, route: 6 };
  const steps = new Map<number, Mark[]>();
  for (const mark of [...marks].sort((a, b) => rank[a.kind] - rank[b.kind] || a.step - b.step))
    steps.set(mark.step, [...(steps.get(mark.step) ?? []), mark]);
  const layout = (spelled: ReadonlySet<string>) => {
    const kept: Placed[] = []; // from left to right, none on another
    const crowded = new Set<string>();
    const put = (marks: readonly Mark[]) => {
      const sized = marks.map((mark) => {
        const text = spelled.has(mark.kind) ? mark.label : "";
        return { mark, text, wide: widthOf(text) + 2 };
      });
      const half = sized.reduce((sum, pill) => sum + pill.wide, 0) / 2;
      let from = Math.max(half, Math.min(width - half, x(marks[0]?.step ?? 0))) - half;
      const place = until(kept, (k) => k.to <= from);
      const other = kept[place];
      if (other && other.from < from + 2 * half) {
        for (const mark of [...marks, other.mark]) crowded.add(mark.kind);
        return false;
      }
      kept.splice(place, 0, ...sized.map(({ wide, ...pill }) => ({ ...pill, from, to: (from += wide) })));
      return true;
    };
    for (const [first] of steps.values()) if (first && kept.length < MOST) put([first]);
    // Then the others of a step beside its first, where there is room.
    for (const pill of [...kept]) {
      const all = steps.get(pill.mark.step) ?? [];
      if (all.length < 2) continue;
      const at = kept.indexOf(pill);
      kept.splice(at, 1);
      if (!put(all)) kept.splice(at, 0, pill);
    }
    return { kept, crowded };
  };
  const words = new Set(Object.keys(rank));
  let found = layout(words);
  for (const kind of found.crowded) if (kind !== "nan" && kind !== "inf" && kind !== "check") words.delete(kind);
  if (found.crowded.size) found = layout(words);
  return found.kept;
}

/** How wide a pill is; one without words is round. */
const widthOf = (text: string) => Math.max(22, 14 + CHAR * text.length);

function pill(mark: Mark, cx: number, text: string): SVGGElement {
  const w = widthOf(text);
  const shape = s("rect", {
    x: (cx - w / 2).toFixed(1),
    y: 11 - PILL / 2,
    width: w.toFixed(1),
    height: PILL,
    rx: PILL / 2,
  });
  const inside =
    text || mark.kind === "fork" || mark.kind === "finding"
      ? s("text", { x: cx.toFixed(1), y: 15.5, "text-anchor": "middle" }, text || (mark.kind === "fork" ? "Σ" : "!"))
      : glyph(mark.kind === "route" ? "route" : "unbroadcast", cx, 11);
  return s("g", { class: "tv-flag", "data-kind": mark.kind }, shape, inside, s("title", {}, mark.said ?? mark.label));
}
