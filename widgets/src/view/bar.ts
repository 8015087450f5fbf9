/** The row of controls. */
import { attribute, h, text } from "../dom";
import { count, shape } from "../format";
import type { Granularity, Theme } from "../state";
import { beside, expressionOf, shortTitle } from "../step";
import { h as v, patch } from "../virtual";
import { checker } from "./checker";
import type { Context, Pane } from "./context";
import { icon, type Icon } from "./icons";

const MOST = 12; // nodes that the search lists
const SPEEDS = [0.25, 0.5, 1, 2, 4, 8];
const THEMES: Theme[] = ["auto", "light", "dark", "cs231n"];
const STOPS: [string, string][] = [
  ["fork", "a fork adds a share"],
  ["unbroadcast", "axes are summed"],
  ["route", "a gradient is routed"],
  ["nan", "a NaN is born"],
  ["inf", "an infinity is born"],
  ["check", "a check fails"],
];
const GRANULARITIES: [Granularity, string][] = [
  ["node", "one rule with all it sends at a time"],
  ["share", "one share at a time"],
  ["micro", "every step"],
];

export interface BarActions {
  first(): void;
  previous(): void;
  play(): void;
  next(): void;
  last(): void;
  breakBack(): void;
  breakOn(): void;
  help(): void;
  present(): void;
  /** A node was found and chosen. */
  found(id: number): void;
}

export interface Bar extends Pane {
  focusSearch(): void;
  /** Closes what is open; false where nothing was. */
  escape(): boolean;
}

export function bar(context: Context, actions: BarActions): Bar {
  const { store, steps } = context;
  const button = (name: string, key: string, picture: Icon, act: () => void, more = "") =>
    h(
      "button",
      { class: `tv-button ${more}`, "aria-label": name, title: `${name} (${key})`, onclick: act },
      icon(picture),
    );
  const first = button("First step", "Home", "first", actions.first);
  const previous = button("Previous step", "←", "previous", actions.previous);
  const play = button("Play / Pause", "Space", "play", actions.play, "tv-main");
  const next = button("Next step", "→", "next", actions.next);
  const last = button("Last step", "End", "last", actions.last);
  const breakBack = button("Previous breakpoint", "Shift + ←", "breakBack", actions.breakBack);
  const breakOn = button("Next breakpoint", "Shift + →", "breakOn", actions.breakOn);

  // A button that is off stays focusable, so that the keyboard does not fall out of the bar at the end of the pass.
  const off = (element: Element, is: boolean) => attribute(element, "aria-disabled", is ? "true" : null);

  const chosen = h("span", { class: "tv-chosen" });
  const boxes = STOPS.map(([kind, what]) => {
    const box = h("input", { type: "checkbox", value: kind, onchange: () => context.stopAt(kind) });
    return { kind, box, label: h("label", {}, box, h("b", {}, kind), ` ${what}`) };
  });
  const nodeBreak = h("button", { class: "tv-quiet", onclick: () => context.stopAt(context.shown()) });
  const stopMenu = h(
    "div",
    { class: "tv-menu", role: "group", "aria-label": "Stop at", hidden: true },
    ...boxes.map((b) => b.label),
    nodeBreak,
  );
  const stopButton = h(
    "button",
    {
      class: "tv-select",
      "aria-expanded": "false",
      "aria-haspopup": "true",
      onclick: () => open(stopMenu.hidden),
    },
    "Stop at",
    chosen,
    icon("down"),
  );
  const stop = h("div", { class: "tv-anchor" }, stopButton, stopMenu);
  const open = (show: boolean) => {
    stopMenu.hidden = !show;
    stopButton.setAttribute("aria-expanded", String(show));
    if (show) boxes[0]?.box.focus();
  };

  const segments = GRANULARITIES.map(([value, what]) =>
    h("button", { title: what, onclick: () => store.set({ granularity: value }) }, value),
  );
  const speed = h(
    "select",
    { class: "tv-select", "aria-label": "Speed", onchange: () => store.set({ speed: Number(speed.value) }) },
    ...SPEEDS.map((v) => h("option", { value: v }, `${v} ×`)),
  );
  const find = search(context, actions.found);
  const check = checker(context);
  const theme = button("Theme", "", "theme", () => {
    const at = THEMES.indexOf(store.now.theme);
    store.set({ theme: THEMES[(at + 1) % THEMES.length] ?? "auto" });
  });
  const present = button("Presentation", "p", "present", actions.present);
  const help = h(
    "button",
    {
      class: "tv-button",
      "aria-label": "Help: keys and marks",
      title: "Help: keys and marks (?)",
      onclick: actions.help,
    },
    h("b", {}, "?"),
  );

  const element = h(
    "div",
    { class: "tv-bar", role: "toolbar", "aria-label": "Stepping" },
    ...[
      first,
      previous,
      play,
      next,
      last,
      h("span", { class: "tv-gap" }),
      breakBack,
      breakOn,
      stop,
      h("span", { class: "tv-gap tv-turn" }),
    ],
    h("div", { class: "tv-segments", role: "group", "aria-label": "Granularity" }, ...segments),
    ...[
      h("span", { class: "tv-gap" }),
      speed,
      h("span", { class: "tv-space" }),
      check.element,
      find.element,
      theme,
      present,
      help,
    ],
  );
  element.addEventListener("focusout", (event) => {
    if (!stop.contains(event.relatedTarget as Node | null)) open(false);
  });

  let wasPlaying: boolean | null = null;
  return {
    element,
    focusSearch: find.focus,
    escape() {
      if (!stopMenu.hidden) {
        open(false);
        stopButton.focus();
        return true;
      }
      return find.escape();
    },
    update() {
      const state = store.now;
      off(first, state.step <= 0);
      off(previous, state.step <= 0);
      off(next, state.step >= steps.length - 1);
      off(last, state.step >= steps.length - 1);
      const breaks = steps.breaks(state.breakpoints);
      off(breakBack, beside(breaks, state.step, -1) === undefined);
      off(breakOn, beside(breaks, state.step, 1) === undefined);
      if (wasPlaying !== state.playing) {
        wasPlaying = state.playing;
        patch(play, [icon(state.playing ? "pause" : "play")]);
        play.setAttribute("aria-pressed", String(state.playing));
      }
      for (const segment of segments)
        attribute(segment, "aria-pressed", String(segment.textContent === state.granularity));
      if (!SPEEDS.includes(state.speed) && !speed.querySelector("[data-own]")) {
        speed.prepend(h("option", { value: state.speed, "data-own": true }, `${state.speed} ×`));
      }
      if (speed.value !== String(state.speed)) speed.value = String(state.speed);
      for (const { kind, box } of boxes) box.checked = state.breakpoints.includes(kind);
      const words = state.breakpoints.map((p) => (typeof p === "number" ? shortTitle(context.rec, p) : p));
      text(chosen, words.length > 2 ? `◆ ${words.length}` : words.map((w) => `◆ ${w}`).join(" "));
      const shown = context.shown();
      nodeBreak.hidden = shown < 0;
      text(
        nodeBreak,
        `${state.breakpoints.includes(shown) ? "Do not stop" : "Stop"} at node ${shortTitle(context.rec, shown)}`,
      );
      check.update();
      attribute(present, "aria-pressed", String(state.presentation));
      attribute(theme, "title", `Theme: ${state.theme} (click for the next)`);
    },
  };
}

/** The search box and what it found. */
function search(
  context: Context,
  found: (id: number) => void,
): { element: HTMLElement; focus(): void; escape(): boolean } {
  const { rec } = context;
  const input = h("input", {
    type: "search",
    "aria-label": "Find node",
    placeholder: "Find node",
    role: "searchbox",
    autocomplete: "off",
    spellcheck: "false",
  });
  const list = h("div", { class: "tv-menu tv-found", role: "listbox", "aria-label": "Nodes found", hidden: true });
  let hits: number[] = [];
  let at = 0;
  const choose = (id: number | undefined) => {
    if (id === undefined) return;
    context.select(id);
    input.value = "";
    show();
    found(id);
  };
  const show = () => {
    const wanted = input.value.trim().toLowerCase();
    const has = (words: string) => words.toLowerCase().includes(wanted);
    hits = [];
    let more = 0;
    const coded: number[] = []; // in whose code it stands: after those that are called so
    if (wanted) {
      for (let id = 0; id < rec.header.nodes.length; id++) {
        const n = rec.header.nodes[id];
        if (!n) continue;
        if (has(`${n.name ?? ""} ${n.op} ${n.label} ${n.scope} #${id} ${shape(n.shape)}`)) {
          if (hits.length < MOST) hits.push(id);
          else more++;
          // Most lines do not have it, and are not taken apart.
        } else if (has(rec.header.sources[n.source]?.code ?? "") && has(expressionOf(rec, n))) {
          coded.push(id);
        }
      }
      more += hits.length + coded.length;
      hits = [...hits, ...coded].slice(0, MOST);
      more -= hits.length;
    }
    at = Math.min(at, Math.max(0, hits.length - 1));
    list.hidden = !wanted;
    patch(list, [
      ...hits.map((id, i) => {
        const n = rec.header.nodes[id];
        return v(
          "div",
          {
            role: "option",
            "aria-selected": String(i === at),
            onmousedown: (e: Event) => (e.preventDefault(), choose(id)),
          },
          v("code", {}, shortTitle(rec, id, 24)),
          ` ${n?.op ?? ""} ${shape(n?.shape ?? [])}`,
        );
      }),
      more > 0 && v("div", { class: "tv-none" }, `and ${count(more)} more: write more of the name`),
      !hits.length && v("div", { class: "tv-none" }, "No node has that in its name, op, shape or code."),
    ]);
  };
  input.addEventListener("input", () => ((at = 0), show()));
  input.addEventListener("blur", () => (list.hidden = true));
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") choose(hits[at]);
    else if (event.key === "ArrowDown") at = Math.min(hits.length - 1, at + 1);
    else if (event.key === "ArrowUp") at = Math.max(0, at - 1);
    else return;
    event.preventDefault();
    show();
  });
  return {
    element: h(
      "div",
      { class: "tv-anchor tv-find" },
      icon("find"),
      input,
      h("kbd", { "aria-hidden": "true" }, "/"),
      list,
    ),
    focus: () => input.focus(),
    escape() {
      if (document.activeElement !== input && !input.value) return false;
      input.value = "";
      show();
      input.blur();
      return true;
    },
  };
}
