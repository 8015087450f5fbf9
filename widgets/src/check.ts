/** Verdicts of finite differences: those that a record came with, and those that arrive while the kernel checks. Knows no DOM. */
import type { Recording } from "./wire";

export interface Row {
  readonly node: number;
  readonly slot: number;
  readonly scope: string;
  readonly index: string;
  readonly analytic: number;
  readonly numeric: number;
  readonly error: number;
  readonly verdict: string;
  readonly reason: string;
}

/** What the kernel says of its check. */
export interface CheckMessage {
  readonly state: "none" | "running" | "done" | "cancelled" | "failed";
  readonly done: number;
  readonly total: number;
  readonly kind?: string;
  readonly blame?: number;
  readonly note?: string;
  /** These rows take the place of all before. */
  readonly whole?: boolean;
  /** Column by column: what JSON has no number for is a word, and where a row has a word there is its place in the list of them. */
  readonly rows?: { readonly [name in keyof Row]: readonly (number | string)[] } & {
    readonly words: readonly string[];
  };
}

export const WORST = ["mismatch", "undefined", "nondeterministic", "input", "nonsmooth", "noise", "skipped", "ok"];
export const BAD = new Set(["mismatch", "undefined", "nondeterministic", "input"]);

export class Check {
  /** Rows that judge whole gradients, by node. */
  readonly gradients = new Map<number, Row[]>();
  /** Rows that judge rules, by edge. */
  readonly rules = new Map<string, Row[]>();
  /** The worst verdict of a node: of its gradient and of what its rule sends. */
  readonly worst = new Map<number, string>();
  /** Rows that differ: what is looked for again and again, and seldom there. */
  wrong: Row[] = [];
  /** Grows with every change. */
  version = 0;
  /** The worst verdict of all; empty where nothing was checked. */
  kind: string;
  note: string;
  /** Whether the kernel's check has not come to every node, or not yet. */
  partial = false;
  /** Where the kernel's check stands; null where no kernel has said anything. */
  progress: CheckMessage | null = null;
  /** The node whose rule is wrong; -1 for none. */
  blame: number;
  readonly #listeners = new Set<() => void>();

  constructor(rec: Recording) {
    const { verdicts: v, check_kind, check_note } = rec.header.view;
    this.kind = check_kind;
    this.note = check_note;
    const numbers = [v.node, v.slot, v.analytic, v.numeric, v.error].map((entry) => rec.column(entry));
    const [nodes = [], slots = [], analytic = [], numeric = [], error = []] = numbers;
    for (let i = 0; i < nodes.length; i++) {
      this.#put({
        node: nodes[i] ?? -1,
        slot: slots[i] ?? -1,
        scope: v.scope[i] ?? "",
        index: v.index[i] ?? "",
        analytic: analytic[i] ?? NaN,
        numeric: numeric[i] ?? NaN,
        error: error[i] ?? NaN,
        verdict: v.verdict[i] ?? "",
        reason: v.reason[i] ?? "",
      });
    }
    this.blame = this.#culprit();
  }

  #put(row: Row): void {
    const add = <K>(map: Map<K, Row[]>, key: K) => {
      const list = map.get(key);
      if (list) list.push(row);
      else map.set(key, [row]);
    };
    if (row.verdict === "mismatch") this.wrong.push(row);
    if (row.scope === "local") add(this.rules, `${row.node}:${row.slot}`);
    else add(this.gradients, row.node);
    const before = this.worst.get(row.node);
    if (before === undefined || WORST.indexOf(row.verdict) < WORST.indexOf(before))
      this.worst.set(row.node, row.verdict);
  }

  /** All well, something wrong, undecided, or not all there; empty where nothing was checked. */
  get sign(): string {
    return this.kind && (BAD.has(this.kind) ? "✕" : this.partial ? "…" : this.kind === "ok" ? "✓" : "?");
  }

  /** As the report has it: of the nodes whose own rule or sum is wrong, the one nearest the root. */
  #culprit(): number {
    return this.wrong.reduce((found, r) => (r.scope === "global" ? found : Math.max(found, r.node)), -1);
  }

  /** Take over what the kernel says; null: it is gone. */
  hear(message: CheckMessage | null): void {
    this.progress = message;
    if (message) {
      this.partial = !["none", "done"].includes(message.state);
      this.#take(message);
    }
    this.version++;
    for (const listener of [...this.#listeners]) listener();
  }

  #take(message: CheckMessage): void {
    if (message.whole) {
      for (const map of [this.gradients, this.rules, this.worst]) map.clear();
      this.wrong = [];
    }
    const { rows } = message;
    for (let i = 0; i < (rows?.node.length ?? 0); i++) {
      const number = (name: keyof Row) => Number(rows?.[name][i]);
      const text = (name: keyof Row) => rows?.words[number(name)] ?? "";
      this.#put({
        node: number("node"),
        slot: number("slot"),
        scope: text("scope"),
        index: text("index"),
        analytic: number("analytic"),
        numeric: number("numeric"),
        error: number("error"),
        verdict: text("verdict"),
        reason: text("reason"),
      });
    }
    if (this.worst.size && message.kind) this.kind = message.kind;
    if (message.note !== undefined) this.note = message.note;
    this.blame = message.blame ?? this.#culprit();
  }

  on(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

const kept = new WeakMap<Recording, Check>();

/** The verdicts of a record; one for all its panes. */
export function checkOf(rec: Recording): Check {
  let found = kept.get(rec);
  if (!found) kept.set(rec, (found = new Check(rec)));
  return found;
}
