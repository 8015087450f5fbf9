/** The stepper that is shown: of the recorded run, or of one with something changed. What a person has set outlives the change. */
import { checkOf, type CheckMessage } from "./check";
import { focus } from "./dom";
import { Kernel, NOTHING, type Changes, type Reply } from "./kernel";
import type { Store } from "./state";
import { stepper, type Options, type Stepper } from "./stepper";
import { decode, gunzip, type Recording } from "./wire";

/** An entry that somebody looks at. */
export interface Pick {
  readonly node: number;
  /** A number: one share of the gradient, by its place in the record. */
  readonly what: "value" | "gradient" | number;
  readonly position: number;
}

/** What stays when one run takes another's place. */
export interface Memory {
  tab: string;
  /** The findings were looked at. */
  warned: boolean;
  pick: Pick | null;
  /** Tints by powers of ten. */
  log: boolean;
  /** What entries of leaves held before somebody changed them, by node and position. */
  readonly was: Map<string, number>;
  /** Parts of large arrays that were asked for, by the array's name, and what the kernel sent of them. */
  readonly parts: Map<string, { readonly index: string; readonly reply?: Reply }>;
}

export interface Session {
  readonly kernel: Kernel;
  readonly memory: Memory;
  readonly changes: Changes;
  /** The run that was recorded, whatever is shown. */
  readonly recorded: Recording;
  /** Run again with these changes in place of those before; why it could not be done, or nothing. */
  change(changes: Changes): Promise<string>;
  reset(): void;
  /** Say something to the person, under the tabs; the inspector takes this over. */
  tell(words: string): void;
  /** Draw anew what another choice changes; the stepper takes this over. */
  again(): void;
}

export function session(recorded: Recording, kernel = new Kernel()): Session {
  const memory: Memory = { tab: "Node", warned: false, pick: null, log: false, was: new Map(), parts: new Map() };
  return {
    kernel,
    memory,
    recorded,
    changes: NOTHING,
    change: () => Promise.resolve(""),
    reset: () => {},
    tell: () => {},
    again: () => {},
  };
}

export interface Bench extends Omit<Stepper, "element"> {
  readonly kernel: Kernel;
}

/** `mount` is given the element to show, at once and whenever there is another. */
export function bench(
  recorded: Recording,
  store: Store,
  options: Options & { wish?: (wish: object) => void },
  mount: (element: HTMLElement) => void,
): Bench {
  const kernel = new Kernel(options.wish ?? null);
  const base = session(recorded, kernel);
  let changes = NOTHING;
  let view: Stepper;
  let dark: boolean | null = null;
  let wanted = 0;
  const open = (rec: Recording, made: Changes) => {
    changes = made;
    const step = store.now.step;
    const inside = view?.element.contains(document.activeElement);
    view?.destroy();
    kernel.forget();
    view = stepper(rec, store, { ...options, session: now });
    if (dark !== null) view.recolour(dark);
    mount(view.element);
    if (store.now.step !== step) store.set({ step });
    const { pick } = base.memory;
    const cell = pick && `[data-cell="${pick.node}:${pick.what}:${pick.position}"]`;
    if (inside) focus(view.element.querySelector<HTMLElement>(cell ?? "none") ?? view.element);
  };
  /** What was asked for of large arrays, of another run. */
  const reload = (made: Changes) => {
    const { parts } = base.memory;
    return Promise.all(
      [...parts].map(async ([name, { index, reply }]) => {
        if (reply) parts.set(name, { index, reply: await kernel.ask({ kind: "slice", name, index, changes: made }) });
      }),
    );
  };
  const now: Session = {
    ...base,
    get changes() {
      return changes;
    },
    async change(made) {
      if (!made.values.length && !made.shares.length) {
        this.reset();
        return "";
      }
      const turn = ++wanted;
      const reply = await kernel.ask({ kind: "run", changes: made });
      if (turn === wanted && !reply.error) await reload(made); // first: the entry that was changed keeps the focus
      if (turn !== wanted) return ""; // somebody has changed something else meanwhile
      if (reply.error || !reply.bytes) return reply.error ?? "The kernel sent nothing.";
      open(decode(await gunzip(reply.bytes)), made);
      return "";
    },
    reset() {
      wanted++;
      if (changes === NOTHING) return;
      open(recorded, NOTHING);
      void reload(NOTHING).then(() => this.again());
    },
  };
  open(recorded, NOTHING);
  return {
    kernel,
    hear(message: CheckMessage | null) {
      // The kernel checks the recorded run, whichever is shown.
      if (changes === NOTHING) view.hear(message);
      else checkOf(recorded).hear(message);
    },
    recolour(is) {
      dark = is;
      view.recolour(is);
    },
    destroy: () => view.destroy(),
  };
}
