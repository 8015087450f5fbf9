/** A window onto a picture: panned, zoomed, fitted, and moved so that what happens is in sight. Knows nothing of steps. */
import { attribute, h, s } from "../dom";
import { icon } from "./icons";
import { join, type Box, type Picture } from "./picture";
import type { Area } from "./tiles";

const [MARGIN, TOP, BOTTOM] = [20, 31, 12]; // px around what is to be in sight; at the top there are buttons
const BESIDE = 12; // px around the window that are drawn too: halos reach out of their boxes
const UNREADABLE = 0.45; // scale below which numbers are not drawn
export const WHOLE = 0.77; // scale down to which a picture is drawn smaller to be seen as a whole, or a step with its numbers: of their 14 px these are 11
const READABLE = 0.62; // and down to which it is where the nodes of a step have no room else
const OWN = 0.68; // and for the numbers of the node in which it happens: these are 9.5 px
export const BAR = 28; // px of the buttons at the top
const EDGE = 10; // px of a picture at the top in which nothing is drawn
const LOW = 180; // px of a window in which a node and its numbers have no room at their own size
const SAME = 0.001; // of two scales
const [MAP_WIDTH, MAP_HEIGHT] = [132, 36];

/** What is to be in sight, the most important first. */
export interface Sights {
  readonly needed: readonly Box[];
  /** Where it has room beside that. */
  readonly wanted: readonly Box[];
}

interface Window {
  x: number;
  y: number;
  scale: number;
}

function transform({ x, y, scale }: Window): string {
  return `translate(${x.toFixed(1)}px,${y.toFixed(1)}px) scale(${scale})`;
}

export class Stage {
  readonly element: HTMLElement;
  /** The whole picture in small, with the window as a frame. */
  readonly map: HTMLElement;
  readonly #small = s("svg");
  readonly #away = h("div", { hidden: true });
  #window: Window = { x: 0, y: 0, scale: 1 };
  #size = 1; // its scale, but for steps that need a smaller one
  #width = 0;
  #height = 0;
  #least = READABLE; // scale down to which it is drawn smaller
  #own = false; // the user has zoomed: the scale is theirs
  #dragged = false;
  #lit: Element | undefined;
  #frame: SVGRectElement | undefined;
  /** In the page, but out of sight. */
  #awaited: Picture | null = null;
  #past: Picture | null = null;
  #dot: SVGRectElement | undefined;

  /** How large a picture is drawn that has no room as a whole. */
  least = 1;
  /** The part of that down to which it is drawn smaller to be seen as a whole. */
  smallest = WHOLE;
  /** px at the top that something else covers. */
  head = 0;
  /** Whether buttons stand there that are about a node. */
  barred = false;
  /** What is to be in sight in turn: decides how large a picture is drawn that has no room as a whole. */
  turns: () => Iterable<Sights> = () => [];

  constructor(
    public picture: Picture,
    private readonly name: string,
  ) {
    const buttons = (
      [
        ["Zoom in", "plus", "Zoom in", () => this.zoom(1.25)],
        ["Zoom out", "minus", "Zoom out", () => this.zoom(0.8)],
        ["Fit graph", "fit", "The whole graph, and back (f)", () => this.fit()],
      ] as const
    ).map(([name, sign, title, act]) =>
      h("button", { class: "tv-button", "aria-label": name, title, onclick: act }, icon(sign)),
    );
    this.element = h(
      "div",
      { class: "tv-stage" },
      picture.svg as unknown as Node,
      this.#away,
      h("div", { class: "tv-zoom" }, ...buttons),
    );
    this.#away.append(picture.parked);
    this.#turn(picture, true);
    this.map = h("div", { class: "tv-mini", "aria-hidden": "true" }, this.#small as unknown as Node);
    this.#listen();
  }

  /** Whether the last press moved the picture, and so was no click. */
  get wasDragged(): boolean {
    return this.#dragged;
  }

  /** Have another picture of the same trace; `follow` then shows it. */
  exchange(picture: Picture): void {
    const awaited = picture === this.#awaited;
    if (!awaited) this.#add(picture);
    this.#turn(picture, true);
    this.#turn(this.picture, false);
    this.#remove(this.#past);
    this.#past = this.picture;
    if (awaited) this.#awaited = null;
    else this.#tidy();
    this.picture = picture;
    this.#small.textContent = "";
    this.#settle();
  }

  /** Lay a picture out unseen, as it will be seen when it is exchanged for the present one, centred, and has to show this: the exchange then costs little. */
  await(picture: Picture, centre: SVGGElement | undefined, sights: Sights): void {
    this.#remove(this.#awaited);
    this.#awaited = picture;
    this.#turn(picture, false);
    this.#add(picture);
    const at = this.#centred(centre, picture);
    const next = this.#within(this.#aim(sights, at, at.scale) ?? at, picture);
    picture.svg.style.transform = transform(next);
    picture.see(this.#part(next, picture), false, [...sights.needed, ...sights.wanted]);
    void this.element.offsetHeight; // now, and not at the exchange
  }

  awaits(picture: Picture): boolean {
    return picture === this.#awaited;
  }

  /** Let go of the picture that was exchanged, which costs as much as having another one. */
  #tidy(): void {
    this.#remove(this.#past);
    this.#past = null;
  }

  #add(picture: Picture): void {
    this.picture.svg.after(picture.svg);
    this.#away.append(picture.parked);
  }

  #remove(picture: Picture | null): void {
    picture?.svg.remove();
    picture?.parked.remove();
  }

  /** In sight or out of it; it stays in the page. */
  #turn(picture: Picture, on: boolean): void {
    const { svg } = picture;
    picture.turn(on);
    svg.classList.toggle("tv-unseen", !on);
    attribute(svg, "aria-hidden", on ? null : "true");
    attribute(svg, "role", on ? "graphics-document group" : null);
    attribute(svg, "aria-label", on ? this.name : null);
  }

  #settle(): void {
    if (!this.#own) this.#size = this.#window.scale = this.#natural();
  }

  /** The scale at which all of it is seen. */
  #whole(picture: Picture): number {
    const { width, height } = picture.size;
    return Math.min(this.#width / width, (this.#height - this.head) / height);
  }

  /** As a whole where it can then be read, else so large that it never has to be drawn smaller for a step; in a lecture hall a small one grows. */
  #natural(picture = this.picture): number {
    const { least } = this;
    const whole = this.#whole(picture);
    const readable = Math.max(this.smallest, this.#least);
    if (whole >= readable) return Math.min(least > 1 ? 2 : 1, whole);
    if (this.smallest === 1) return this.#height < LOW ? WHOLE * least : least;
    let scale = least;
    if (this.#height) for (const sights of this.turns()) scale = Math.min(scale, this.#room(sights)?.[1] ?? scale);
    return Math.max(scale, Math.min(least, readable));
  }

  /** As much of this as has room where it can still be read, and the scale at which it has. */
  #room({ needed, wanted }: Sights, from = this.least): [Box, scale: number] | undefined {
    const [w, h] = [this.#width - 2 * MARGIN, this.#height - TOP * this.least - BOTTOM];
    const scale = (box: Box) => Math.min(w / box.w, h / box.h);
    let all = needed[0];
    const take = (boxes: readonly Box[], least: number) => {
      for (const box of boxes) {
        const both: Box = join(all ?? box, box);
        if (scale(both) >= least) all = both;
      }
    };
    take(needed, Math.min(from, this.#least));
    const kept = this.#own || this.smallest === 1 || this.least > 1; // a size that somebody chose, or that is there to be read
    if (all) {
      if (!kept) take(wanted.slice(0, 1), Math.min(from, OWN));
      take(wanted, Math.min(from, scale(all), kept ? Infinity : WHOLE));
    }
    return all && [all, scale(all)];
  }

  #listen(): void {
    const { element } = this;
    element.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || (event.target as Element).closest("button")) return;
      const start = { x: event.clientX, y: event.clientY, wx: this.#window.x, wy: this.#window.y };
      this.#dragged = false;
      const move = (e: PointerEvent) => {
        const [dx, dy] = [e.clientX - start.x, e.clientY - start.y];
        if (Math.abs(dx) + Math.abs(dy) > 4) this.#dragged = true;
        if (this.#dragged) this.#place({ scale: this.#window.scale, x: start.wx + dx, y: start.wy + dy }, false);
      };
      const up = () => {
        element.removeEventListener("pointermove", move);
        for (const name of ["pointerup", "pointercancel"]) element.removeEventListener(name, up);
      };
      element.addEventListener("pointermove", move);
      for (const name of ["pointerup", "pointercancel"]) element.addEventListener(name, up);
    });
    element.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return; // a plain wheel scrolls the notebook
      event.preventDefault();
      this.zoom(event.deltaY < 0 ? 1.1 : 0.9);
    });
  }

  zoom(factor: number): void {
    this.#own = true;
    const { x, y, scale: old } = this.#window;
    const scale = (this.#size = Math.max(0.05, Math.min(3, old * factor)));
    const [cx, cy] = [this.#width / 2, this.#height / 2];
    this.#place({ scale, x: cx - ((cx - x) * scale) / old, y: cy - ((cy - y) * scale) / old });
    this.resize(); // with the map or without it
  }

  /** Show the whole picture, or be back at the scale from before. */
  fit(): void {
    const scale = Math.min(1.5, this.#whole(this.picture));
    this.#own = !(this.#own && Math.abs(scale - this.#window.scale) < SAME);
    this.#size = this.#own ? scale : this.#natural();
    this.#place({ x: 0, y: 0, scale: this.#size });
    this.resize();
  }

  /** Smaller than the pane: centred. Larger: no empty border is pulled into view. */
  #within({ x, y, scale }: Window, picture = this.picture): Window {
    const [width, height] = [this.#width, this.#height];
    const [w, hh] = [picture.size.width * scale, picture.size.height * scale];
    const top = this.head || BAR * this.least; // where nothing stands under a button
    const room = height - this.head;
    // Of a whole picture that is as high as the window something may stand under the buttons, which are there for the pointer only.
    const whole = w <= width && hh <= room && !this.barred;
    return {
      x: w <= width ? (width - w) / 2 : Math.min(0, Math.max(width - w, x)),
      y:
        hh <= height - top
          ? Math.max(top, this.head + (room - hh) / 2)
          : whole
            ? height - hh
            : Math.min(top, Math.max(hh <= room && this.barred ? top - EDGE : height - hh, y)),
      scale,
    };
  }

  /** What is to be drawn of the picture where the window is there. */
  #part({ x, y, scale }: Window, picture = this.picture): Area {
    const { left, top } = picture.size;
    return [
      left - (x + BESIDE) / scale,
      top - (y + BESIDE) / scale,
      left + (this.#width - x + BESIDE) / scale,
      top + (this.#height - y + BESIDE) / scale,
    ];
  }

  #place(wanted: Window, slide = true, first?: Sights): void {
    const { picture } = this;
    const [width, height] = [this.#width, this.#height];
    const next = this.#within(wanted);
    const { x, y } = next;
    const [w, hh] = [picture.size.width * next.scale, picture.size.height * next.scale];
    this.#window = next;
    const { svg } = picture;
    svg.classList.toggle("tv-slide", slide);
    // Not by its width and height: the browser would lay out all words of another size anew.
    svg.style.transform = transform(next);
    this.#mapped();
    if (width) picture.see(this.#part(next), next.scale < UNREADABLE, first && [...first.needed, ...first.wanted]);
    const cut = [x < -1 && "left", x + w > width + 1 && "right", y < -1 && "top", y + hh > height + 1 && "bottom"];
    attribute(this.element, "data-cut", cut.filter(Boolean).join(" ") || null);
    this.#drawMap();
  }

  #mapped(): void {
    const { width, height } = this.picture.size;
    const { scale } = this.#window;
    this.map.toggleAttribute("data-shown", width * scale > this.#width + 1 || height * scale > this.#height + 1);
  }

  /** The node or group that is lit on the map. */
  light(element: Element | undefined): void {
    this.#lit = element;
    this.#drawMap();
  }

  #drawMap(): void {
    if (!this.#width || !this.map.hasAttribute("data-shown")) return;
    const { width, height } = this.picture.size;
    const unit = Math.max(width / MAP_WIDTH, height / MAP_HEIGHT);
    const least = (b: Box) => ({ w: Math.max(b.w, unit * 4), h: Math.max(b.h, unit * 4) });
    if (!this.#small.firstChild) {
      this.#small.setAttribute("viewBox", `0 0 ${width} ${height}`);
      // One path for all of them: a map of thousands of elements would cost as much as the picture.
      let d = "";
      for (const item of this.picture.items()) {
        const b = this.picture.box(item);
        const { w, h: hh } = least(b);
        d += `M${Math.round(b.x)},${Math.round(b.y)}h${Math.round(w)}v${Math.round(hh)}h${-Math.round(w)}z`;
      }
      this.#dot = s("rect", { "data-now": "" });
      this.#frame = s("rect", { class: "tv-window" });
      this.#small.append(s("path", { d }), this.#dot, this.#frame);
    }
    const set = (rect: SVGRectElement | undefined, x: number, y: number, w: number, hh: number) => {
      if (rect)
        for (const [name, value] of Object.entries({ x, y, width: w, height: hh }))
          attribute(rect, name, value.toFixed(1));
    };
    const b = this.#lit && this.picture.box(this.#lit);
    if (b) set(this.#dot, b.x, b.y, least(b).w, least(b).h);
    const { x, y, scale } = this.#window;
    set(this.#frame, -x / scale, -y / scale, this.#width / scale, this.#height / scale);
    if (this.#frame) attribute(this.#frame, "stroke-width", (unit * 1.5).toFixed(2));
  }

  /** Have the middle of a node in the middle of the window, a little to the left: its numbers stand to its right. */
  centre(element: SVGGElement | undefined): void {
    this.#window = this.#centred(element, this.picture);
  }

  #centred(element: SVGGElement | undefined, picture: Picture): Window {
    const scale = this.#own ? this.#size : this.#natural(picture);
    if (!element) return { ...this.#window, scale };
    const b = picture.box(element);
    const x = this.#width * 0.4 - (b.x + b.w / 2) * scale;
    return { scale, x, y: this.#height / 2 - (b.y + b.h / 2) * scale };
  }

  /** Move the window as little as needed so that the first of these is in sight, and the others too where there is room; numbers of others are left to `prepare`. */
  follow(sights: Sights, slide: boolean): void {
    const next = this.#aim(sights, this.#window) ?? this.#window;
    this.#place(next, slide && next.scale === this.#window.scale, sights);
  }

  /** Draw what is still missing, and what will be seen when the window follows what is to be in sight at each of these turns. */
  *prepare(turns: readonly number[], inSight: (of: Picture, turn: number) => Sights): Generator<void, void> {
    this.#tidy();
    let at = this.#window;
    if (at.scale < UNREADABLE) return;
    for (const turn of turns) {
      at = this.#within(this.#aim(inSight(this.picture, turn), at) ?? at);
      while (this.picture.prepare(this.#part(at))) {
        void this.element.offsetHeight; // now, and not at the next step
        yield;
      }
    }
    this.picture.tidy();
  }

  #aim(sights: Sights, from: Window, size = this.#size): Window | undefined {
    const found = this.#width ? this.#room(sights, size) : undefined;
    if (!found) return undefined;
    const [all, room] = found;
    const scale = Math.min(size, Math.max(room, this.#least));
    const moved = (at: number, low: number, high: number, from: number, to: number) =>
      Math.max(low - from * scale, Math.min(at, high - to * scale));
    // Drawn smaller, or as before, around the middle; then moved by as little as needed.
    const zoomed = (at: number, size: number) => size / 2 - ((size / 2 - at) * scale) / from.scale;
    const x = moved(zoomed(from.x, this.#width), MARGIN, this.#width - MARGIN, all.x, all.x + all.w);
    const y = moved(zoomed(from.y, this.#height), TOP * this.least, this.#height - BOTTOM, all.y, all.y + all.h);
    return { scale, x, y };
  }

  /** Draw at another size from now on. */
  grow(least: number): void {
    this.least = least;
    this.#least = READABLE * least ** 1.4; // of a lecture hall's 1.5 this makes 13 px of the smallest words, of 12
    this.#own = false;
    this.#measured = [0, 0];
  }

  /** Take over the size that the page gives; true where it is another one. */
  resize(): boolean {
    const w = this.element.clientWidth;
    // Whether the map is shown decides how high the stage is, so it is settled first.
    this.#width = w;
    this.#mapped();
    const hh = this.element.clientHeight;
    if (w === this.#measured[0] && hh === this.#measured[1]) return false;
    this.#measured = [w, hh];
    this.#height = hh;
    if (!w || !hh) return false;
    this.#settle();
    this.#small.textContent = "";
    this.#place(this.#window, false);
    return true;
  }
  #measured = [0, 0];
}
