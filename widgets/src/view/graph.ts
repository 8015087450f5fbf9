/** The picture with what belongs to it: scopes that open and close, the neighbourhood of the step where it is out of sight, and what a node can be asked for. */
import { checkOf } from "../check";
import { draw } from "../draw/draw";
import { LIMIT, Tree, type Group } from "../draw/tree";
import { leisure } from "../leisure";
import { attribute, focus, h } from "../dom";
import { shortTitle } from "../step";
import { isLog } from "../tints";
import { h as v, patch } from "../virtual";
import { badges } from "./badges";
import type { Context, Pane } from "./context";
import { point, ring } from "./entry";
import { hint } from "./help";
import { legend } from "./legend";
import { Neighbourhood } from "./neighbourhood";
import { parse, Picture } from "./picture";
import { FOLLOW } from "./pin";
import { sight, sights } from "./sights";
import { BAR, Stage, WHOLE } from "./stage";

const LARGE = 80; // visible nodes from which nothing slides
const AHEAD = 6; // steps that are prepared while nothing else is to do
const SAMPLE = 200; // steps by which the size of the picture is chosen, of a longer pass
/** With Alt the arrows go along the wires. */
const TURNED: Record<string, string> = { ArrowLeft: "[", ArrowRight: "]", ArrowUp: ",", ArrowDown: "." };
const BESIDE = 260; // px that a neighbourhood takes: a node, an operand and a taker above one another, with their numbers
const STRIP = 240; // px of the window where it has the whole width
const AROUND = 84; // px of a whole picture's pane that are not its own: buttons above, the legend below, and some air
const SPARE = 16; // px that a picture of closed groups has around it: the neighbourhood gets the rest

export interface GraphPane extends Pane {
  /** That all of it would take: the whole picture at its own scale, and the neighbourhood beside it. */
  readonly height: number;
  /** The height that it takes where it can be read as a whole only if it has all of this width, and not the part of it; else 0. */
  low(all: number, part: number): number;
  /** Bring a node into view and give it the focus. */
  focusNode(id: number): void;
  /** Go on (or back) to the next step outside of the group in which the present one is. */
  over(direction: 1 | -1): number;
  /** Draw larger, for a lecture hall; 1 is the usual size. */
  grow(scale: number): void;
  /** Keys that are about nodes and groups; false where the key is none of them. */
  key(event: KeyboardEvent): boolean;
}

export function graph(context: Context): GraphPane {
  const { rec, steps, store } = context;
  const tree = new Tree(rec);
  const still = rec.header.view.skeleton;
  const everything = new Set(tree.groups.keys());
  let open = still ? everything : tree.start();

  const make = (): Picture => {
    if (still && open.size === everything.size) {
      const whole = new Picture(rec, steps, parse(still));
      if (isLog(rec)) whole.retint();
      return whole;
    }
    const made = draw(rec, steps, tree.scene(open));
    return new Picture(rec, steps, made.svg, made);
  };
  let picture = make();
  const stage = new Stage(picture, "Computation graph");
  stage.element.append(hint());
  const crumbs = h("div", { class: "tv-crumbs", role: "group", "aria-label": "Groups and node" });
  const [near, kept] = [new Neighbourhood(context, tree), new Neighbourhood(context, tree, true)];
  const nears = h("div", { class: "tv-nears" }, near.element, kept.element);
  const meaning = h("div", { class: "tv-legend", role: "group", "aria-label": "Legend" });
  const foot = h("div", { class: "tv-foot" }, meaning, stage.map);
  const element = h("div", { class: "tv-graph-pane" }, crumbs, stage.element, nears, foot);
  let [shown, roving, listed, explained] = [-1, -1, "", ""];
  let pointed = -1; // the node, or the first one of the group, that has the focus
  let held: number | null = null; // the selection that was last brought into sight
  let way: 1 | -1 = 1; // in which somebody steps

  // ---- groups ----

  /** Open or close one group, and draw the picture anew. */
  const turn = (group: Group, on: boolean) => {
    const next = new Set(open);
    if (on) {
      next.add(group.key);
      const kept = new Set([group.key]);
      for (let g = group.parent; g; g = g.parent) kept.add(g.key);
      // Too much to be drawn at once: what was opened first is closed again.
      for (const key of next) {
        if (tree.scene(next).items.length <= LIMIT) break;
        if (!kept.has(key)) next.delete(key);
      }
    } else for (const key of open) if (key === group.key || inside(tree.groups.get(key), group)) next.delete(key);
    open = next;
    picture = make();
    judged = badges(checkOf(rec), picture);
    stage.exchange(picture);
    [shown, listed] = [-1, ""];
    roving = -1;
    near.forget();
    kept.forget();
    settle();
    update();
    // What was asked for keeps the focus: the node that is looked at if it is inside, else the first one.
    const { selected } = store.now;
    const known = new Set(group.members);
    const to = [selected ?? -1, steps.activeNode(store.now.step)].find((id) => known.has(id)) ?? group.members[0] ?? -1;
    rove(to, true);
  };
  const inside = (group: Group | undefined, outer: Group): boolean => {
    for (let g = group?.parent; g; g = g.parent) if (g === outer) return true;
    return false;
  };
  /** The outermost closed group in which a node is. */
  const closedAround = (id: number) => tree.around(id).findLast((g) => !open.has(g.key));
  /** The innermost open one. */
  const openAround = (id: number) => tree.around(id).find((g) => open.has(g.key) && !closedAround(id));

  /** Have the height that belongs to the groups that are open; the neighbourhood has the rest. */
  const settle = () => {
    const hides = open.size < everything.size;
    nears.hidden = near.element.hidden = !hides;
    stage.head = tree.size ? BAR * stage.least : 0;
    stage.element.style.maxHeight = hides ? `${(picture.size.height + BAR + SPARE) * stage.least}px` : "";
    stage.resize();
  };

  // ---- the row above: where the node is, and what it can be asked for ----

  const action = (name: string, act: () => void, title: string) =>
    v("button", { class: "tv-chip-button", onclick: act, title }, name);
  /** The node by which the step is told to be in a group: where its own is in none, as weights that many groups use, the one that sends. */
  const placed = () => {
    const about = steps.about(store.now.step);
    return about.find((id) => tree.around(id).length) ?? about[0] ?? -1;
  };
  const list = () => {
    const { selected, breakpoints } = store.now;
    const id = pointed >= 0 ? pointed : (selected ?? placed());
    const groups = tree.around(id).reverse();
    const hidden = closedAround(id);
    const stops = selected !== null && breakpoints.includes(selected);
    const key = `${id}|${selected}|${stops}|${hidden?.key}|${groups.length}`;
    if (key === listed) return;
    listed = key;
    crumbs.hidden = !groups.length && selected === null;
    const title = shortTitle(rec, selected ?? id, 20);
    patch(crumbs, [
      ...groups
        .slice(0, hidden ? groups.indexOf(hidden) : undefined)
        .slice(-4)
        .map((g) => action(`− ${g.label}`, () => turn(g, false), `Close ${g.label} (−)`)),
      hidden && action(`+ ${hidden.label}`, () => turn(hidden, true), `Open ${hidden.label} (+)`),
      hidden && action("step over", () => context.go(over(1)), "To the first step outside of it (o)"),
      selected !== null && action(`✕ pinned: ${title}`, () => context.select(null), FOLLOW),
      selected !== null && action("◂ until", () => until(-1), `Back to the previous step of ${title} (Shift + U)`),
      selected !== null && action("until ▸", () => until(1), `On to the next step of ${title} (u)`),
      selected !== null &&
        action(stops ? "◆ stops here" : "◇ stop here", () => context.stopAt(selected), `Breakpoint at ${title} (b)`),
    ]);
  };
  /** The legend below, which says only what is there: with another line of it the picture has less room. */
  const explain = () => {
    const key = `${isLog(rec)}|${store.now.breakpoints.length > 0}`;
    if (key === explained) return;
    explained = key;
    patch(meaning, legend(context));
    resize();
  };
  const until = (direction: 1 | -1) => {
    const found = steps.touching(context.shown(), store.now.step, direction);
    if (found !== undefined) store.set({ step: found, playing: false });
  };
  const over = (direction: 1 | -1): number => {
    const id = placed();
    const group = closedAround(id) ?? openAround(id);
    return group
      ? steps.over(new Set(group.members), store.now.step, direction)
      : steps.clamp(store.now.step + direction);
  };

  // ---- the window ----

  stage.turns = function* () {
    for (let k = 0; k < steps.length; k += Math.ceil(steps.length / SAMPLE)) yield sights(context, picture, k, null);
  };
  const inSight = (of: Picture, k: number) => sights(context, of, k);
  const later = leisure();
  function* ready() {
    const turns = [store.now.step];
    for (const k of steps.coming(store.now.step, way, store.now.granularity)) if (turns.push(k) > AHEAD) break;
    yield* stage.prepare(turns, inSight);
    if (!near.element.hidden) yield* near.prepare(turns, way);
  }
  const follow = (slide: boolean) => {
    stage.follow(inSight(picture, store.now.step), slide);
    later(ready());
  };

  const rove = (id: number, on: boolean) => {
    const old = picture.of(roving);
    if (old) attribute(old, "tabindex", "-1");
    const node = picture.of(id);
    if (!node) return;
    roving = id;
    attribute(node, "tabindex", "0");
    if (on) {
      stage.follow(sight(picture, [id]), true); // first: what is out of sight cannot take the focus
      focus(node);
    }
  };
  const idOf = (target: EventTarget | null): number => {
    const node = (target as Element).closest?.("[data-node], [data-group]");
    const key = node?.getAttribute("data-node") ?? "";
    if (/^\d+$/.test(key)) return Number(key);
    const group = tree.groups.get(node?.getAttribute("data-group") ?? "");
    return group?.members[0] ?? -1;
  };
  const groupOf = (target: EventTarget | null) =>
    tree.groups.get((target as Element).closest?.("[data-group]")?.getAttribute("data-group") ?? "");

  element.addEventListener("click", (event) => {
    const target = event.target as Element;
    if (stage.wasDragged && stage.element.contains(target)) return;
    const group = groupOf(target);
    if (group) turn(group, true);
    const id = group || target.closest("button") ? -1 : idOf(target);
    if (id < 0) return;
    if (stage.element.contains(target)) rove(id, false);
    if (event.shiftKey) context.stopAt(id);
    else context.select(store.now.selected === id ? null : id);
  });

  // One listener for all cells, which are thousands.
  element.addEventListener("mouseover", ({ target }) => {
    const entry = (target as Element).closest?.(".tv-cell, .tv-num");
    const group = entry?.closest<SVGElement>("[data-value], [data-total]");
    const alike = entry?.matches(".tv-cell") ? ".tv-cell" : ".tv-in";
    const position = group ? [...group.querySelectorAll(alike)].indexOf(entry as Element) : -1;
    const { value, total } = group?.dataset ?? {};
    const what = value === undefined ? "gradient" : "value";
    point(context, element, position < 0 ? null : { node: Number(value ?? total), what, position });
  });

  element.addEventListener("mouseleave", () => point(context, element, null));

  element.addEventListener("focusin", (event) => {
    if (crumbs.contains(event.target as Node)) return; // it is about what had the focus before
    pointed = idOf(event.target);
    list();
  });
  element.addEventListener("focusout", (event) => {
    if (element.contains(event.relatedTarget as Node | null)) return;
    pointed = -1;
    queueMicrotask(list); // not at once: the focus also goes when the row is being drawn anew, and a button of it is taken away
  });

  let family: number[] = []; // the operands or the takers among which somebody walks
  const operands = (id = -1) => [...new Set(rec.header.nodes[id]?.inputs)];
  /** To the first operand of a node, or to the first node that takes it. */
  const neighbour = (id: number, back: boolean) => {
    const found = back ? operands(id) : [...new Set(tree.takers(id, Infinity))];
    if (found[0] === undefined) return;
    family = found;
    rove(found[0], true);
  };
  /** To the operand, or the taker, beside this one, and round. */
  const sibling = (id: number, by: 1 | -1) => {
    if (!family.includes(id)) family = operands(tree.takers(id, Infinity)[0]);
    const to = family.at((family.indexOf(id) + by) % family.length);
    if (to !== undefined) rove(to, true);
  };
  const key = (event: KeyboardEvent): boolean => {
    const at = element.contains(event.target as Node) ? idOf(event.target) : -1;
    const group = groupOf(event.target);
    const id = at >= 0 && !group ? at : context.shown();
    const pressed = event.altKey ? TURNED[event.key] : event.key;
    switch (pressed) {
      case "ArrowDown":
      case "ArrowUp": {
        if (at < 0) return false;
        const all = [...picture.items()].map(idOf).sort((a, b) => a - b);
        rove(
          all[Math.max(0, Math.min(all.length - 1, all.indexOf(at) + (pressed === "ArrowDown" ? 1 : -1)))] ?? -1,
          true,
        );
        return true;
      }
      case "Enter":
      case " ":
        if (at < 0) return false;
        if (group) turn(group, true);
        else context.select(at);
        return true;
      case "[":
      case "]":
      case ",":
      case ".": {
        // In a closed group the node that somebody went to, not the first one.
        const here = document.activeElement === picture.of(roving) ? roving : at < 0 ? id : at;
        if ("[]".includes(pressed)) neighbour(here, pressed === "[");
        else sibling(here, pressed === "." ? 1 : -1);
        return true;
      }
      case "+":
      case "-": {
        const found = pressed === "+" ? (group ?? closedAround(id)) : openAround(id);
        if (found) turn(found, pressed === "+");
        return true;
      }
      case "o":
      case "O":
        store.set({ step: over(pressed === "o" ? 1 : -1), selected: null, playing: false });
        return true;
      case "u":
      case "U":
        until(pressed === "u" ? 1 : -1);
        return true;
      case "b":
        context.stopAt(id);
        return true;
      case "f":
        stage.fit();
        follow(false);
        return true;
      default:
        return false;
    }
  };

  let judged = badges(checkOf(rec), picture);
  const update = () => {
    const { step, selected, breakpoints } = store.now;
    const active = steps.activeNode(step);
    judged();
    const pins = stage.barred;
    stage.barred = selected !== null;
    picture.select(selected);
    picture.stops(breakpoints);
    if (step !== shown) {
      const first = shown < 0;
      way = step < shown && step > shown - AHEAD ? -1 : 1; // after a jump, on
      shown = step;
      picture.show(step);
      const focused = picture.of(roving);
      if (roving < 0 || document.activeElement !== focused)
        rove(picture.of(active) ? active : roving >= 0 ? roving : (picture.nodes.keys().next().value ?? -1), false);
      follow(!first);
      stage.light(picture.of(active));
    } else if (selected !== null && selected !== held) stage.follow(sight(picture, [selected]), true);
    else if (pins !== stage.barred) follow(true);
    held = selected;
    list();
    explain();
    element.closest(".tensorviz")?.toggleAttribute("data-large", picture.nodes.size > LARGE);
    if (!near.element.hidden) {
      // The step stays in sight beside a node that is held.
      const turned = kept.element.hidden !== (selected === null);
      kept.element.hidden = selected === null;
      if (turned) near.resize();
      if (selected !== null) kept.show(picture, stage.least, way);
      near.show(picture, stage.least, way);
    }
    ring(context, element);
    later(ready());
  };

  const resize = () => {
    if (stage.resize()) follow(false);
    // A keyboard scrolls only what it can reach; without a number the legend would lose the focus that it has.
    attribute(meaning, "tabindex", meaning.scrollHeight > meaning.clientHeight ? "0" : "-1");
    near.resize();
    kept.resize();
  };

  settle();
  return {
    element,
    height: picture.size.height + (near.element.hidden ? 0 : BESIDE),
    low(all, part) {
      const { width, height } = picture.size;
      const scale = Math.min(1, all / width, STRIP / height);
      return near.element.hidden && part < WHOLE * width && WHOLE <= scale ? height * scale + AROUND : 0;
    },
    update,
    over,
    key,
    grow(scale) {
      for (const each of [stage, near.stage, kept.stage]) each?.grow(scale);
      settle();
    },
    focusNode: (id) => rove(id, true),
    again() {
      const before = explained;
      explain();
      if (before === explained) return;
      picture.retint();
      near.retint();
      kept.retint();
    },
    resize,
  };
}
