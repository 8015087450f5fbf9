/** The picture: drawn once in Python; here only states, numbers and the window onto it change. */
import { attribute, h, replace, s } from "../dom";
import type { Context, Pane } from "./context";
import { icon } from "./icons";
import { legend } from "./legend";
import { Picture } from "./picture";

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
  /** How many nodes are drawn. */
  readonly size: number;
  /** Bring a node into view and give it the focus. */
  focusNode(id: number): void;
}

export function graph(context: Context): GraphPane {
  const { rec, steps, store } = context;
  const picture = new Picture(rec, steps, rec.header.view.skeleton);
  const { svg, nodes } = picture;
  const [, , naturalWidth = 800, naturalHeight = 300] = (svg.getAttribute("viewBox") ?? "0 0 800 300")
    .split(/[ ,]+/)
    .map(Number);
  const [left = 0, top = 0] = (svg.getAttribute("viewBox") ?? "0 0").split(/[ ,]+/).map(Number);
  attribute(svg, "role", "graphics-document group");
  attribute(svg, "aria-label", "Computation graph");

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
  stage.append(zoom);
  const foot = h("div", { class: "tv-foot" }, legend(context), mini as unknown as Node);
  const element = h("div", { class: "tv-graph-pane" }, stage, foot);

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
    svg.classList.toggle("tv-slide", slide);
    svg.style.transform = `translate(${x.toFixed(1)}px,${y.toFixed(1)}px)`;
    if (next.scale !== drawnScale) {
      drawnScale = next.scale;
      mini.toggleAttribute("data-shown", mapped(width, height));
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

  // A press on the small map brings that place to the middle.
  mini.addEventListener("pointerdown", (event) => {
    const frame = mini.getBoundingClientRect();
    const unit = Math.max(naturalWidth / frame.width, naturalHeight / frame.height);
    const x = naturalWidth / 2 + (event.clientX - frame.x - frame.width / 2) * unit;
    const y = naturalHeight / 2 + (event.clientY - frame.y - frame.height / 2) * unit;
    place({ scale: window.scale, x: width / 2 - x * window.scale, y: height / 2 - y * window.scale });
  });

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

  const mapped = (w: number, hh: number) =>
    naturalWidth * window.scale > w + 1 || naturalHeight * window.scale > hh + 1;
  const dots = new Map<Element | undefined, SVGRectElement>();
  let lit: SVGRectElement | undefined;
  const drawMini = () => {
    if (!width || !mini.hasAttribute("data-shown")) return;
    mini.setAttribute("viewBox", `0 0 ${naturalWidth} ${naturalHeight}`);
    const unit = Math.max(naturalWidth / 132, naturalHeight / 36);
    if (!mini.firstChild) {
      dots.clear();
      for (const node of svg.querySelectorAll<SVGGElement>("[data-node], [data-group]")) {
        const b = boxOf(node);
        const [w, hh] = [Math.max(b.w, unit * 4), Math.max(b.h, unit * 4)];
        const dot = s("rect", { x: b.x, y: b.y, width: w, height: hh, rx: unit });
        dots.set(node, dot);
        mini.append(dot);
      }
      mini.append(s("rect", { class: "tv-window" }));
    }
    const active = dots.get(picture.of(steps.activeNode(store.now.step)));
    if (active !== lit) {
      lit?.removeAttribute("data-now");
      active?.setAttribute("data-now", "");
      lit = active;
    }
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
      .map((id) => picture.of(id))
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

  const update = () => {
    const { step, selected } = store.now;
    picture.select(selected);
    if (step !== shown) {
      const first = shown < 0;
      shown = step;
      picture.show(step);
      const active = steps.activeNode(step);
      if (roving < 0 || document.activeElement !== nodes.get(roving))
        rove(nodes.has(active) ? active : roving >= 0 ? roving : (nodes.keys().next().value ?? -1), false);
      follow(selected ?? active, !first);
    } else if (selected !== null) follow(selected, true);
  };

  return {
    element,
    height: naturalHeight,
    size: nodes.size,
    update,
    focusNode: (id) => rove(id, true),
    resize() {
      const w = stage.clientWidth;
      // Whether the map is shown decides how high the stage is, so it is settled first.
      mini.toggleAttribute("data-shown", mapped(w, stage.clientHeight));
      const hh = stage.clientHeight;
      if (w === width && hh === height) return;
      [width, height] = [w, hh];
      if (!width || !height) return;
      // All outlines are measured now, while nothing has changed: a step must never make the browser lay the page out at once.
      for (const node of svg.querySelectorAll<SVGGElement>("[data-node], [data-group]")) boxOf(node);
      if (!own) window.scale = Math.max(LEAST, Math.min(1, width / naturalWidth, height / naturalHeight));
      replace(mini);
      place(window, false);
      follow(store.now.selected ?? steps.activeNode(store.now.step), false);
    },
  };
}
