/** The picture: drawn once in Python; here only states, numbers and the window onto it change. */
import { checkOf } from "../check";
import { attribute, h } from "../dom";
import { badges } from "./badges";
import type { Context, Pane } from "./context";
import { legend } from "./legend";
import { parse, Picture } from "./picture";
import { Stage } from "./stage";

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
  const picture = new Picture(rec, steps, parse(rec.header.view.skeleton));
  const { svg, nodes } = picture;
  attribute(svg, "role", "graphics-document group");
  attribute(svg, "aria-label", "Computation graph");
  const stage = new Stage(picture);
  const foot = h("div", { class: "tv-foot" }, legend(context), stage.map as unknown as Node);
  const element = h("div", { class: "tv-graph-pane" }, stage.element, foot);
  let shown = -1;
  let roving = -1;

  /** The active edge and both its ends, or the node that was asked for. */
  const follow = (target: number, slide: boolean) => {
    const key = steps.activeEdge(store.now.step);
    const consumer = target === steps.activeNode(store.now.step) && key ? Number(key.split(":")[0]) : -1;
    const found = [target, consumer].map((id) => picture.of(id));
    stage.follow(
      found.filter((e): e is SVGGElement => e !== undefined),
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
      follow(id, true); // first: what is out of sight cannot take the focus
      node.focus({ preventScroll: true });
    }
  };

  svg.addEventListener("click", (event) => {
    if (stage.wasDragged) return;
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

  const judged = badges(checkOf(rec), picture);
  const update = () => {
    const { step, selected } = store.now;
    judged();
    picture.select(selected);
    if (step !== shown) {
      const first = shown < 0;
      shown = step;
      picture.show(step);
      const active = steps.activeNode(step);
      if (roving < 0 || document.activeElement !== nodes.get(roving))
        rove(nodes.has(active) ? active : roving >= 0 ? roving : (nodes.keys().next().value ?? -1), false);
      follow(selected ?? active, !first);
      stage.light(picture.of(active));
    } else if (selected !== null) follow(selected, true);
  };

  return {
    element,
    height: picture.size.height,
    size: nodes.size,
    update,
    focusNode: (id) => rove(id, true),
    resize() {
      if (stage.resize()) follow(store.now.selected ?? steps.activeNode(store.now.step), false);
    },
  };
}
