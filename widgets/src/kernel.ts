/** What can be asked of the kernel while there is one. Knows no DOM and no host. */

/** What differs from the recorded run: entries of leaves, and shares (a position of null: all of it). Positions are flat. */
export interface Changes {
  readonly values: readonly (readonly [node: number, position: number, number: number])[];
  readonly shares: readonly (readonly [edge: string, position: number | null, number: number])[];
}

export const NOTHING: Changes = { values: [], shares: [] };

export interface Reply {
  readonly kind?: string;
  readonly serial?: number;
  /** Why it could not be done. */
  readonly error?: string;
  readonly shape?: readonly number[];
  readonly dtype?: string;
  readonly bytes?: Uint8Array<ArrayBuffer>;
}

export type Wish =
  | { readonly kind: "run"; readonly changes: Changes }
  | { readonly kind: "slice"; readonly name: string; readonly index: string; readonly changes: Changes };

const GONE = "No kernel holds this trace: run the cell again.";

export class Kernel {
  live = false;
  #serial = Math.floor(Math.random() * 2 ** 40); // frames of one display hear each other's answers
  readonly #waiting = new Map<number, (reply: Reply) => void>();
  readonly #listeners = new Set<() => void>();

  constructor(private readonly say: ((wish: object) => void) | null = null) {}

  /** Whether there is anybody to ask: on a page of its own there never is. */
  get possible(): boolean {
    return this.say !== null;
  }

  /** A promise that is always kept: with an answer, or with why there is none. */
  ask(wish: Wish): Promise<Reply> {
    if (!this.live || !this.say) return Promise.resolve({ error: GONE });
    const serial = ++this.#serial;
    const { values, shares } = wish.changes;
    // As words: JSON has none for NaN and infinities.
    const words = (list: readonly (readonly [unknown, unknown, number])[]) =>
      list.map(([a, b, number]) => [a, b, String(number)]);
    const answer = new Promise<Reply>((resolve) => this.#waiting.set(serial, resolve));
    this.say({ ...wish, serial, changes: { values: words(values), shares: words(shares) } });
    return answer;
  }

  hear(reply: Reply): void {
    this.#waiting.get(reply.serial ?? -1)?.(reply);
    this.#waiting.delete(reply.serial ?? -1);
  }

  set(live: boolean): void {
    if (live === this.live) return;
    this.live = live;
    if (!live) {
      for (const resolve of this.#waiting.values()) resolve({ error: GONE });
      this.#waiting.clear();
    }
    for (const listener of this.#listeners) listener();
  }

  /** Call back when the kernel comes or goes. */
  on(listener: () => void): void {
    this.#listeners.add(listener);
  }

  /** The panes that listened are gone. */
  forget(): void {
    this.#listeners.clear();
  }
}
