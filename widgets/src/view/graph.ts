/** The picture: drawn once in Python; here only states, numbers and the window onto it change. */
import { strength } from "../color";
import { attribute, h, replace, s, text } from "../dom";
import { cells, number, stats } from "../format";
import { specialOf } from "../step";
import type { ArrayView } from "../wire";
import type { Context, Pane } from "./context";
import { icon } from "./icons";
import { legend } from "./legend";

const LEAST = 1; // the picture is panned before its text shrinks below 12 px
const MARGIN = 28;

interface Window {
  x: number;
  y: number;
  scale: number;
}

export interface GraphPane extends Pane {
  /** Of the whole picture at its own scale. */
  readonly height: number;
  /** Bring a node into view and give it the focus. */
  focusNode(id: number): void;
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

export function graph(context: Context): GraphPane {
  const { rec, steps, store } = context;
  const svg = parse(rec.header.view.skeleton);
  const [, , naturalWidth = 800, naturalHeight = 300] = (svg.getAttribute("viewBox") ?? "0 0 800 300")
    .split(/[ ,]+/)
    .map(Number);
  const [left = 0, top = 0] = (svg.getAttribute("viewBox") ?? "0 0").split(/[ ,]+/).map(Number);
  attribute(svg, "role", "graphics-document group");
  attribute(svg, "aria-label", "Computation graph");

  const nodes = new Map<number, SVGGElement>();
  const groups: { element: SVGGElement; members: number[] }[] = [];
  for (const element of svg.querySelectorAll<SVGGElement>("[data-node]")) {
    const key = element.getAttribute("data-node") ?? "";
    if (/^\d+$/.test(key)) nodes.set(Number(key), element);
  }
  for (const element of svg.querySelectorAll<SVGGElement>("[data-group]")) {
    groups.push({ element, members: ranges(element.getAttribute("data-members") ?? "") });
  }
  const owner = new Map(groups.flatMap((g) => g.members.map((id) => [id, g.element] as const)));
  const edges = [...svg.querySelectorAll<SVGGElement>("[data-edge]")].map((element) => ({
    element,
    keys: (element.getAttribute("data-uses") ?? element.getAttribute("data-edge") ?? "").split(/[ ,]+/),
  }));
  const badges = [...svg.querySelectorAll<SVGGElement>("[data-badge]")].map((element) => ({
    element,
    kind: element.getAttribute("data-badge") ?? "",
    fork: Number(element.getAttribute("data-fork") ?? -1),
    edge: element.getAttribute("data-on") ?? "",
    text: element.querySelector("text"),
  }));
  const shares = [...svg.querySelectorAll<SVGGElement>("[data-share]")].map((element) => ({
    element,
    edge: element.getAttribute("data-share") ?? "",
  }));
  const totals = [...svg.querySelectorAll<SVGGElement>("[data-total]")].map((element) => ({
    element,
    id: Number(element.getAttribute("data-total")),
    form: element.getAttribute("data-form") ?? "number",
    rects: [...element.querySelectorAll<SVGElement>(".tv-cell")],
    words: [...element.querySelectorAll(".tv-num")],
    shown: -2,
  }));

  const stage = h("div", { class: "tv-stage" }, svg as unknown as Node);
  const mini = s("svg", { class: "tv-mini", "aria-hidden": "true" });
  const zoom = h(
    "div",
    { class: "tv-zoom" },
    ...(
      [
        ["Zoom in", "plus", () => zoomBy(1.25)],
        ["Zoom out", "minus", () => zoomBy(0.8)],
        ["Fit graph", "fit", () => fit()],
      ] as const
    ).map(([name, picture, act]) =>
      h("button", { type: "button", class: "tv-button", "aria-label": name, title: name, onclick: act }, icon(picture)),
    ),
  );
  stage.append(mini, zoom);
  const element = h("div", { class: "tv-graph-pane" }, stage, legend(context));

  let window: Window = { x: 0, y: 0, scale: 1 };
  let [width, height] = [0, 0];
  let drawnScale = 0;
  let own = false; // the user has zoomed: the scale is theirs
  let shown = -1;
  let roving = -1;

  const place = (next: Window, slide = true) => {
    const w = naturalWidth * next.scale;
    const hh = naturalHeight * next.scale;
    // Smaller than the pane: centred. Larger: no empty border is pulled into view.
    const x = w <= width ? (width - w) / 2 : Math.min(0, Math.max(width - w, next.x));
    const y = hh <= height ? (height - hh) / 2 : Math.min(0, Math.max(height - hh, next.y));
    window = { x, y, scale: next.scale };
    // Moving is a transform of the whole element, which the browser does without drawing anything anew; only a zoom draws.
    svg.classList.toggle("tv-slide", slide);
    svg.style.transform = `translate(${x.toFixed(1)}px,${y.toFixed(1)}px)`;
    if (next.scale !== drawnScale) {
      drawnScale = next.scale;
      attribute(svg, "width", w.toFixed(1));
      attribute(svg, "height", hh.toFixed(1));
    }
    attribute(
      stage,
      "data-cut",
      [x < -1 && "left", x + w > width + 1 && "right", y < -1 && "top", y + hh > height + 1 && "bottom"]
        .filter(Boolean)
        .join(" ") || null,
    );
    drawMini();
  };
  const zoomBy = (factor: number) => {
    own = true;
    const scale = Math.max(0.05, Math.min(3, window.scale * factor));
    const ratio = scale / window.scale;
    place({ scale, x: width / 2 - (width / 2 - window.x) * ratio, y: height / 2 - (height / 2 - window.y) * ratio });
  };
  const fit = () => {
    own = true;
    place({ x: 0, y: 0, scale: Math.min(1.5, width / naturalWidth, height / naturalHeight) });
  };

  const boxes = new Map<Element, { x: number; y: number; w: number; h: number }>();
  const boxOf = (target: SVGGElement) => {
    const known = boxes.get(target);
    if (known) return known;
    // The picture writes a node as a moved group around its centre.
    const [x = 0, y = 0] = (/translate\(([^)]*)\)/.exec(target.getAttribute("transform") ?? "")?.[1] ?? "")
      .split(/[ ,]+/)
      .map(Number);
    const outline = target.querySelector<SVGGraphicsElement>(".tv-shape");
    let half = { x: 26, y: 21, width: 52, height: 42 };
    try {
      const found = outline?.getBBox();
      if (found?.width) half = { x: -found.x, y: -found.y, width: found.width, height: found.height };
    } catch {
      // not on a page yet, or no layout at all (happy-dom): the usual size
    }
    const box = { x: x - half.x - left, y: y - half.y - top, w: half.width, h: half.height };
    if (width) boxes.set(target, box);
    return box;
  };

  const drawMini = () => {
    const cut = naturalWidth * window.scale > width + 1 || naturalHeight * window.scale > height + 1;
    mini.toggleAttribute("data-shown", cut);
    if (!cut || !width) return;
    mini.setAttribute("viewBox", `0 0 ${naturalWidth} ${naturalHeight}`);
    const unit = Math.max(naturalWidth / 132, naturalHeight / 50);
    if (!mini.firstChild) {
      for (const [id, node] of nodes) {
        const b = boxOf(node);
        mini.append(
          s("rect", {
            "data-id": id,
            x: b.x,
            y: b.y,
            width: Math.max(b.w, unit * 4),
            height: Math.max(b.h, unit * 4),
            rx: unit,
          }),
        );
      }
      mini.append(s("rect", { class: "tv-window" }));
    }
    mini
      .querySelectorAll("rect[data-id]")
      .forEach((r) =>
        attribute(r, "data-now", Number(r.getAttribute("data-id")) === steps.activeNode(store.now.step) ? "" : null),
      );
    const frame = mini.lastElementChild;
    if (!frame) return;
    const view = {
      x: -window.x / window.scale,
      y: -window.y / window.scale,
      width: width / window.scale,
      height: height / window.scale,
    };
    for (const [name, value] of Object.entries(view)) frame.setAttribute(name, value.toFixed(1));
    frame.setAttribute("stroke-width", (unit * 1.5).toFixed(2));
  };

  /** Move the window as little as needed so that the active edge and both its ends are inside. */
  const follow = (target: number, slide: boolean) => {
    if (!width) return;
    const key = steps.activeEdge(store.now.step);
    const consumer = target === steps.activeNode(store.now.step) && key ? Number(key.split(":")[0]) : -1;
    const found = [target, consumer]
      .map((id) => at(id))
      .filter((e): e is SVGGElement => e !== undefined)
      .map(boxOf)
      .filter((b) => b.w > 0);
    if (!found.length) return;
    const reach = (b: (typeof found)[number]) => ({
      l: b.x * window.scale,
      r: (b.x + b.w) * window.scale,
      t: b.y * window.scale,
      b: (b.y + b.h) * window.scale,
    });
    const first = found[0] && reach(found[0]);
    if (!first) return;
    const all = found.map(reach).reduce((a, b) => ({
      l: Math.min(a.l, b.l),
      r: Math.max(a.r, b.r),
      t: Math.min(a.t, b.t),
      b: Math.max(a.b, b.b),
    }));
    const wide = all.r - all.l > width - 2 * MARGIN ? first : all;
    const tall = all.b - all.t > height - 2 * MARGIN ? first : all;
    // A node's value and gradient stand to its right: they belong to what must be seen.
    const moved = (from: number, to: number, size: number, now: number, more: number) =>
      from + now < MARGIN
        ? MARGIN - from
        : to + more + now > size - MARGIN
          ? Math.max(MARGIN - from, size - MARGIN - to - more)
          : now;
    place(
      {
        scale: window.scale,
        x: moved(wide.l, wide.r, width, window.x, 90),
        y: moved(tall.t, tall.b, height, window.y, 40),
      },
      slide,
    );
  };
  const at = (id: number): SVGGElement | undefined => nodes.get(id) ?? owner.get(id);

  const rove = (id: number, focus: boolean) => {
    const old = nodes.get(roving);
    if (old) attribute(old, "tabindex", "-1");
    const node = nodes.get(id);
    if (!node) return;
    roving = id;
    attribute(node, "tabindex", "0");
    if (focus) {
      node.focus({ preventScroll: true });
      follow(id, true);
    }
  };

  svg.addEventListener("click", (event) => {
    if (dragged) return;
    const id = (event.target as Element).closest("[data-node]")?.getAttribute("data-node") ?? "";
    if (/^\d+$/.test(id)) {
      rove(Number(id), false);
      context.select(store.now.selected === Number(id) ? null : Number(id));
    }
  });
  svg.addEventListener("keydown", (event) => {
    const id = (event.target as Element).closest("[data-node]")?.getAttribute("data-node") ?? "";
    if (!/^\d+$/.test(id)) return;
    const order = [...nodes.keys()].sort((a, b) => a - b);
    const here = order.indexOf(Number(id));
    if (event.key === "ArrowDown") rove(order[Math.min(order.length - 1, here + 1)] ?? -1, true);
    else if (event.key === "ArrowUp") rove(order[Math.max(0, here - 1)] ?? -1, true);
    else if (event.key === "Enter" || event.key === " ") context.select(Number(id));
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  let dragged = false;
  stage.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || (event.target as Element).closest("button")) return;
    const start = { x: event.clientX, y: event.clientY, wx: window.x, wy: window.y };
    dragged = false;
    const move = (e: PointerEvent) => {
      if (Math.abs(e.clientX - start.x) + Math.abs(e.clientY - start.y) > 4) dragged = true;
      if (dragged)
        place({ scale: window.scale, x: start.wx + e.clientX - start.x, y: start.wy + e.clientY - start.y }, false);
    };
    const up = () => {
      stage.removeEventListener("pointermove", move);
      stage.removeEventListener("pointerup", up);
      stage.removeEventListener("pointercancel", up);
    };
    stage.addEventListener("pointermove", move);
    stage.addEventListener("pointerup", up);
    stage.addEventListener("pointercancel", up);
  });
  stage.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return; // a plain wheel scrolls the notebook
    event.preventDefault();
    zoomBy(event.deltaY < 0 ? 1.1 : 0.9);
  });

  const rewrite = (total: (typeof totals)[number], array: ArrayView | null) => {
    if (!array) return;
    if (total.form === "cells" && array.data) {
      const words = cells(array.data);
      total.words.forEach((node, i) => {
        const value = array.data?.[i] ?? NaN;
        text(node, words[i] ?? "");
        node.classList.toggle("tv-zero", value === 0);
        node.classList.toggle("tv-nan", Number.isNaN(value));
        node.classList.toggle("tv-inf", Math.abs(value) === Infinity);
        const rect = total.rects[i];
        if (!rect) return;
        attribute(rect, "class", `tv-cell ${Number.isNaN(value) ? "tv-nan" : value >= 0 ? "tv-gpos" : "tv-gneg"}`);
        rect.style.setProperty("--tv-tint", `${strength(value, rec.header.view.gradient_max)}%`);
      });
      return;
    }
    const label = total.words[0];
    if (!label) return;
    text(label, total.form === "number" && array.data ? number(array.data[0] ?? NaN) : stats(array));
    label.classList.toggle("tv-nan", specialOf(array) !== "");
  };

  const update = () => {
    const { step, selected } = store.now;
    for (const [id, node] of nodes) {
      attribute(node, "data-selected", id === selected ? "" : null);
      attribute(node, "aria-pressed", id === selected ? "true" : null);
    }
    if (step === shown) {
      if (selected !== null) follow(selected, true);
      return;
    }
    const first = shown < 0;
    shown = step;
    attribute(svg, "data-step", String(step));
    const [activeNode, activeEdge] = [steps.activeNode(step), steps.activeEdge(step)];
    for (const [id, node] of nodes) {
      attribute(node, "data-state", steps.node(id, step));
      attribute(node, "data-active", id === activeNode ? "" : null);
    }
    for (const { element: e, members } of groups) {
      const state = steps.members(members, step);
      attribute(e, "data-state", state);
      attribute(e, "data-active", state === "active" ? "" : null);
    }
    for (const { element: e, keys } of edges) {
      if (e.getAttribute("data-state") === "detached") continue;
      const states = keys.map((key) => steps.edge(key, step));
      const state = states.includes("active")
        ? "active"
        : states.includes("passed")
          ? "passed"
          : states.includes("blocked")
            ? "blocked"
            : "idle";
      attribute(e, "data-state", state);
      attribute(e, "data-active", activeEdge !== null && keys.includes(activeEdge) ? "" : null);
    }
    for (const badge of badges) {
      let when: string;
      if (badge.kind === "fork") {
        const arrived = steps.total(badge.fork, step)?.shares ?? 0;
        const of = Number(badge.element.getAttribute("data-count") ?? 0);
        if (badge.text) text(badge.text, `Σ ${arrived}/${of}`);
        when = activeNode === badge.fork && rec.kinds[step] === "accumulate" ? "now" : arrived > 0 ? "past" : "future";
      } else {
        const e = steps.edges.get(badge.edge);
        const from = e ? (badge.kind === "unbroadcast" ? e.unbroadcast : e.accumulate) : -1;
        when = activeEdge === badge.edge && from === step ? "now" : e && from >= 0 && from <= step ? "past" : "future";
      }
      for (const name of ["past", "now", "future"]) attribute(badge.element, `data-${name}`, name === when ? "" : null);
    }
    for (const share of shares) {
      const e = steps.edges.get(share.edge);
      attribute(
        share.element,
        "data-state",
        activeEdge === share.edge ? "active" : e && e.accumulate <= step ? "passed" : "idle",
      );
    }
    for (const total of totals) {
      const now = steps.total(total.id, step);
      attribute(total.element, "data-state", now ? "done" : "idle");
      const index = now?.array?.index ?? -1;
      if (now && index !== total.shown) {
        total.shown = index;
        rewrite(total, now.array);
      }
    }
    if (roving < 0 || document.activeElement !== nodes.get(roving))
      rove(nodes.has(activeNode) ? activeNode : ([...nodes.keys()][0] ?? -1), false);
    follow(selected ?? activeNode, !first);
  };

  return {
    element,
    height: naturalHeight,
    update,
    focusNode: (id) => rove(id, true),
    resize() {
      const [w, hh] = [stage.clientWidth, stage.clientHeight];
      if (w === width && hh === height) return;
      [width, height] = [w, hh];
      if (!width || !height) return;
      if (!own) window.scale = Math.max(LEAST, Math.min(1, width / naturalWidth, height / naturalHeight));
      replace(mini);
      place(window, false);
      follow(store.now.selected ?? steps.activeNode(store.now.step), false);
    },
  };
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
