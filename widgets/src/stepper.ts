/** The stepper: panes around one store. Knows nothing of kernels or frames. */
import { session, type Session } from "./bench";
import { checkOf, type CheckMessage } from "./check";
import { focus, h } from "./dom";
import type { Store } from "./state";
import { beside, Steps } from "./step";
import { apply, watch } from "./theme";
import { scaleBy } from "./tints";
import { bar } from "./view/bar";
import { blame } from "./view/checker";
import { caption } from "./view/caption";
import type { Context, Pane } from "./view/context";
import { graph } from "./view/graph";
import { help } from "./view/help";
import { inspector } from "./view/inspector";
import { source } from "./view/source";
import { timeline } from "./view/timeline";
import type { Recording } from "./wire";

const BEAT = 900; // ms a step at speed 1: long enough to read a short sentence

const [SHORTEST, TALLEST] = [424, 500]; // px of the panes: the whole widget stays on one laptop screen
const LECTURE = 1.5; // how much larger the picture is drawn in a lecture hall
const [HALL, FOOT] = [560, 100]; // px of the pane there at most, and of the legend with some air around the picture

const [ONE, TWO] = [760, 880]; // px of the width down to which panes stand beside each other, and up to which two of them do below the picture
const INSPECTOR = 452; // px beside the picture

const BELOW = 150; // px that legend and source take below the picture

export interface Stepper {
  readonly element: HTMLElement;
  /** The page around has other colours now; `dark` is what a frame was told. */
  recolour(dark: boolean | null): void;
  /** What the kernel says of its check; null: there is no kernel any more. */
  hear(message: CheckMessage | null): void;
  destroy(): void;
}

export interface Options {
  /** Esc with nothing left to close: give the focus back to the page around. */
  leave?(): void;
  /** Ask the kernel for something of its check. */
  ask?(action: "start" | "cancel"): void;
  /** What outlives this stepper; made anew where nothing does. */
  session?: Session;
}

export function stepper(rec: Recording, store: Store, options: Options = {}): Stepper {
  const steps = new Steps(rec);
  if (store.now.step > steps.length - 1) store.set({ step: Math.max(0, steps.length - 1) });
  let frameDark: boolean | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let frame = 0;

  const context: Context = {
    rec,
    steps,
    store,
    shown: () => store.now.selected ?? steps.activeNode(store.now.step),
    select: (id) => store.set({ selected: id }),
    go: (step) => store.set({ step: steps.clamp(step), selected: null }),
    stopAt: (point) => {
      const now = store.now.breakpoints;
      store.set({ breakpoints: now.includes(point) ? now.filter((p) => p !== point) : [...now, point] });
    },
    ask: (action) => options.ask?.(action),
    session: options.session ?? session(rec),
  };
  const move = (step: number) => {
    store.set({ playing: false, step: steps.clamp(step) });
  };
  const jump = (direction: 1 | -1) => {
    const found = beside(steps.breaks(store.now.breakpoints), store.now.step, direction);
    if (found !== undefined) move(found);
  };
  const actions = {
    first: () => move(0),
    previous: () => move(steps.move(store.now.step, -1, store.now.granularity)),
    next: () => move(steps.move(store.now.step, 1, store.now.granularity)),
    last: () => move(steps.length - 1),
    breakBack: () => jump(-1),
    breakOn: () => jump(1),
    help: () => toggleHelp(),
    present: () => store.set({ presentation: !store.now.presentation }),
    found: (id: number) => picture.focusNode(id),
    play: () => {
      const ended = store.now.step >= steps.length - 1;
      store.set(store.now.playing ? { playing: false } : { playing: true, ...(ended ? { step: 0 } : {}) });
    },
  };

  scaleBy(rec, context.session.memory.log);
  const controls = bar(context, actions);
  const picture = graph(context);
  const [time, said, code, facts] = [timeline(context), caption(context), source(context), inspector(context)] as const;
  const panes: Pane[] = [controls, time, said, code, facts, picture]; // the picture last: it takes what the others leave
  /** Have every pane do this; where what had the focus is then gone, the debugger as a whole hears the keys. */
  const all = (what: "update" | "again" | "resize") => {
    const inside = element.contains(document.activeElement);
    for (const pane of panes) pane[what]?.();
    if (inside && !element.contains(document.activeElement)) focus(element);
  };
  context.session.again = () => all("again");
  // A tall picture gets a taller widget, once: it never changes while stepping.
  const tall = Math.min(TALLEST, Math.max(SHORTEST, picture.height + BELOW));
  const overlay = help(() => toggleHelp());
  const element = h(
    "section",
    {
      class: "tensorviz",
      role: "region",
      "aria-label": "Backward pass debugger",
      tabindex: "0",
    },
    controls.element,
    time.element,
    said.element,
    h("div", { class: "tv-panes" }, h("div", { class: "tv-left" }, picture.element, code.element), facts.element),
    overlay,
  );
  // As a plain widget in JupyterLab: its shortcuts are looked up from the focused element outwards, so that one has to carry the mark.
  element.addEventListener("focusin", (event) => {
    if (event.target instanceof Element) event.target.setAttribute("data-lm-suppress-shortcuts", "true");
  });
  // And where it is hidden, which a browser finds out by itself.
  element.addEventListener("focusout", ({ target, relatedTarget }) => {
    if (!relatedTarget && (target as Element).checkVisibility?.() === false) focus(element);
  });
  const size = (name: string, px: number) => element.style.setProperty(`--tv-${name}`, `${Math.ceil(px)}px`);
  size("panes", tall);
  // In a lecture hall the widget is no higher than a low picture asks for: all of it is on the screen.
  size("hall", Math.min(HALL, picture.height * LECTURE + FOOT));
  const toggleHelp = () => {
    overlay.hidden = !overlay.hidden;
    (overlay.hidden ? element : overlay.querySelector("button"))?.focus();
  };

  let due = true;
  const render = () => {
    if (!due) return;
    due = false;
    element.dataset["step"] = String(store.now.step);
    all("update");
  };
  /** What comes first between two frames is drawn and laid out at once, while the browser waits for the next one; all that follows is drawn once, with that. */
  const schedule = () => {
    due = true;
    if (frame) return;
    frame = requestAnimationFrame(() => {
      frame = 0;
      render();
    });
    queueMicrotask(() => {
      render();
      void element.offsetHeight;
    });
  };

  const tick = () => {
    clearTimeout(timer);
    if (!store.now.playing || document.hidden) return; // nobody looks: it plays on when somebody does
    if (store.now.step >= steps.length - 1) {
      store.set({ playing: false });
      return;
    }
    timer = setTimeout(() => {
      const { step, granularity, breakpoints } = store.now;
      const next = steps.move(step, 1, granularity);
      // Playing stops at the breakpoints that were chosen, also at one between two stops of the granularity.
      const stop = breakpoints.length ? beside(steps.breaks(breakpoints), step, 1) : undefined;
      store.set(stop === undefined || stop > next ? { step: next } : { step: stop, playing: false });
    }, BEAT / store.now.speed);
  };

  element.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey) return;
    const target = event.target as HTMLElement;
    const typing = target instanceof HTMLInputElement && target.type === "search";
    const choosing = target instanceof HTMLSelectElement;
    if (!typing && !choosing && event.key !== "Escape" && !target.closest(".tv-menu") && picture.key(event)) {
      event.preventDefault();
      return;
    }
    if (event.altKey) return;
    if (event.key === "Escape") {
      if (!overlay.hidden) toggleHelp();
      else if (!controls.escape()) {
        if (store.now.selected !== null) store.set({ selected: null });
        else options.leave?.();
      }
      focus(element);
    } else if (typing || choosing) return;
    else if (event.key === "ArrowLeft") (event.shiftKey ? actions.breakBack : actions.previous)();
    else if (event.key === "ArrowRight") (event.shiftKey ? actions.breakOn : actions.next)();
    else if (event.key === "Home") actions.first();
    else if (event.key === "End") actions.last();
    else if (event.key === " " && !target.closest("button, input[type=checkbox], [role=button]")) actions.play();
    else if (event.key === "/") controls.focusSearch();
    else if (event.key === "?") toggleHelp();
    else if (event.key === "p") actions.present();
    else return;
    event.preventDefault();
  });

  const recolour = () => apply(element, store.now.theme, frameDark);
  const resize = () => {
    const width = element.clientWidth;
    // One of a pair keeps the height that its frame was made for.
    const low = element.closest(".tv-pair") ? 0 : picture.low(width, width - INSPECTOR);
    element.toggleAttribute("data-stacked", width > ONE && (width <= TWO || low > 0));
    size("low", low || HALL);
    all("resize");
  };
  const present = () => {
    const on = store.now.presentation;
    element.toggleAttribute("data-present", on);
    picture.grow(on ? LECTURE : 1);
    resize();
  };
  const off = store.on((_, changed) => {
    if ("theme" in changed) recolour();
    if ("presentation" in changed) present();
    if ("playing" in changed || "speed" in changed || "step" in changed) tick();
    schedule();
  });
  const unwatch = watch(recolour);
  document.addEventListener("visibilitychange", tick);
  const check = checkOf(rec);
  // Nobody has stepped yet: begin where the trouble is.
  const point = () => {
    const { step, selected, playing } = store.now;
    if (step === 0 && selected === null && !playing) blame(context);
  };
  const deaf = check.on(() => {
    steps.markChecks();
    schedule();
  });
  const sizes = new ResizeObserver(() => resize());
  sizes.observe(element);
  recolour();
  if (store.now.presentation) present();
  render();
  tick();

  return {
    hear(message) {
      const before = check.blame;
      check.hear(message);
      if (before < 0) point();
    },
    element,
    recolour(dark) {
      frameDark = dark;
      recolour();
    },
    destroy() {
      clearTimeout(timer);
      cancelAnimationFrame(frame);
      due = false;
      off();
      deaf();
      unwatch();
      document.removeEventListener("visibilitychange", tick);
      sizes.disconnect();
      element.remove();
    },
  };
}
