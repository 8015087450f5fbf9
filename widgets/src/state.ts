/** The stepper's state and who hears of it. Knows no DOM and no host. */
export type Granularity = "node" | "share" | "micro";
export type Theme = "auto" | "light" | "dark" | "cs231n";

export interface State {
  step: number;
  playing: boolean;
  speed: number;
  granularity: Granularity;
  selected: number | null;
  breakpoints: (string | number)[];
  theme: Theme;
  /** For a lecture hall. */
  presentation: boolean;
}

export const DEFAULTS: State = {
  step: 0,
  playing: false,
  speed: 1,
  granularity: "micro",
  selected: null,
  breakpoints: [],
  theme: "auto",
  presentation: false,
};

export const KEYS = Object.keys(DEFAULTS) as (keyof State)[];

type Listener = (state: Readonly<State>, changed: Partial<State>, mine: boolean) => void;

export class Store {
  readonly #listeners = new Set<Listener>();
  #state: State;

  constructor(start: Partial<State> = {}) {
    this.#state = { ...DEFAULTS, ...start };
  }

  get now(): Readonly<State> {
    return this.#state;
  }

  /** Take over a change; `mine` is false for what came from Python or from another view, and is not sent back. */
  set(patch: Partial<State>, mine = true): void {
    const changed: Partial<State> = {};
    for (const key of KEYS) {
      if (!(key in patch) || patch[key] === undefined) continue;
      if (JSON.stringify(patch[key]) !== JSON.stringify(this.#state[key]))
        Object.assign(changed, { [key]: patch[key] });
    }
    if (Object.keys(changed).length === 0) return;
    this.#state = { ...this.#state, ...changed };
    for (const listener of [...this.#listeners]) listener(this.#state, changed, mine);
  }

  on(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
