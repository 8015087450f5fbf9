/** The neighbourhood of the step, drawn beside a picture that shows only the group in which it happens. */
import { checkOf } from "../check";
import { draw } from "../draw/draw";
import type { Tree } from "../draw/tree";
import { focus, h } from "../dom";
import { badges } from "./badges";
import type { Context } from "./context";
import { Picture } from "./picture";
import { sight, sights } from "./sights";
import { Stage, type Sights } from "./stage";

const [SMALL, LARGE] = [18, 40]; // nodes of one that is drawn when it is needed, and of one that is drawn before

/** Some nodes and what is around them, and those of it that stand there with all that they are joined to. */
interface Around {
  readonly drawn: Picture;
  readonly core: ReadonlySet<number>;
  /** Draw the verdicts of the check that are new. */
  readonly judge: () => void;
}

export class Neighbourhood {
  readonly element = h("div", { class: "tv-near", hidden: true });
  /** Its window, once there is something to be seen. */
  stage: Stage | null = null;
  #shown: Around | null = null;
  #next: Around | null = null; // drawn while there was time
  #above: Picture | null = null;

  constructor(
    private readonly context: Context,
    private readonly tree: Tree,
    private readonly pinned = false, // that of the node that is held, whatever the step is
  ) {
    if (pinned) this.element.className = "tv-held";
  }

  /** Drop what was drawn: the picture that it stands beside is another one. */
  forget(): void {
    this.stage = this.#shown = this.#next = null;
    this.element.replaceChildren();
  }

  retint(): void {
    this.#next = null;
    this.stage?.picture.retint();
  }

  /** Take over the size that the page gives; what changes size does not slide. */
  resize(): void {
    const { stage, context } = this;
    if (stage?.resize()) stage.follow(this.#sights(stage.picture, context.store.now.step), false);
  }

  #sights(of: Picture, k: number): Sights {
    return this.pinned ? sight(of, this.#focus(k)) : sights(this.context, of, k);
  }

  /** Show the step where all that it is about has room; `above` is the picture that it stands beside, and `size` how large that is drawn. */
  show(above: Picture, size: number, way: 1 | -1): void {
    const { step, selected, breakpoints } = this.context.store.now;
    const needed = this.#focus(step);
    this.#above = above;
    const slide = holds(this.#shown, needed);
    const focused = this.stage?.picture.focused;
    if (!slide) {
      this.#shown = holds(this.#next, needed) ? this.#next : this.#around(step, SMALL, way);
      this.#next = null;
      const { drawn } = this.#shown;
      if (this.stage) this.stage.exchange(drawn);
      else this.#open(drawn, size);
      this.stage?.centre(drawn.of(needed[0] ?? -1));
    }
    this.#shown?.judge();
    this.stage?.picture.select(selected);
    this.stage?.picture.stops(breakpoints);
    this.stage?.picture.show(step);
    this.stage?.follow(this.#sights(this.stage.picture, step), slide);
    if (focused !== undefined && !slide) this.#focusAgain(focused);
  }

  /** The node that had the focus is drawn anew, or not at all: then the debugger as a whole hears the keys. */
  #focusAgain(id: number): void {
    const { picture } = this.stage ?? {};
    focus(picture?.of(id));
    if (picture?.focused !== id) focus(this.element.closest<HTMLElement>(".tensorviz"));
  }

  #open(drawn: Picture, size: number): void {
    this.stage = new Stage(drawn, `Neighbourhood of the ${this.pinned ? "pinned node" : "step"}`);
    this.stage.smallest = 1; // it is there to be read
    this.stage.grow(size);
    this.element.replaceChildren(this.stage.element);
    this.stage.resize();
  }

  /** Do ahead, in pieces, what will be seen at these steps: of the neighbourhood that is shown, and the one that comes after it as a whole. */
  *prepare(turns: readonly number[], way: 1 | -1): Generator<void, void> {
    const { stage } = this;
    if (!stage) return;
    const here = (k: number) => holds(this.#shown, this.#focus(k));
    yield* stage.prepare(turns.filter(here), (of, k) => this.#sights(of, k));
    const k = turns.find((k) => !here(k));
    if (k === undefined) return;
    if (!holds(this.#next, this.#focus(k))) {
      yield; // so much work is a piece of its own
      this.#next = this.#around(k, LARGE, way);
      yield;
    }
    const { drawn, judge } = this.#next;
    if (stage.awaits(drawn)) return;
    judge();
    drawn.show(k);
    stage.await(drawn, drawn.of(this.#focus(k)[0] ?? -1), this.#sights(drawn, k));
  }

  /** The nodes that a step is shown by. */
  #focus(k: number): readonly number[] {
    return this.pinned ? [this.context.shown()] : this.context.steps.about(k);
  }

  /** The neighbourhood of a step and of as many later ones as have room. */
  #around(step: number, most: number, way: 1 | -1): Around {
    const { rec, steps, store } = this.context;
    const { granularity } = store.now;
    const needed = this.#focus(step);
    const all = new Set(needed);
    for (const k of this.pinned ? [] : steps.coming(step, way, granularity)) {
      if (all.size >= most / 2) break; // the others are their operands and takers
      for (const id of steps.about(k)) all.add(id);
    }
    const scene = this.tree.near([...all], most);
    const made = draw(rec, steps, scene);
    const drawn = new Picture(rec, steps, made.svg, made, true);
    drawn.above = this.#above;
    const there = new Set(scene.items.map((item) => item.node));
    const whole = (id: number) =>
      [...(rec.header.nodes[id]?.inputs ?? []), ...this.tree.takers(id)].every((other) => there.has(other));
    const judge = badges(checkOf(rec), drawn);
    return { drawn, judge, core: new Set([...there].filter((id) => needed.includes(id) || whole(id))) };
  }
}

function holds(around: Around | null, needed: readonly number[]): around is Around {
  return around !== null && needed.every((id) => around.core.has(id));
}
