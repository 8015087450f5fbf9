/** What has happened after step k: the twin of `views/state.py`, precomputed so that a look-up costs nothing. Knows no DOM. */
import { checkOf, type Row } from "./check";
import { axes, Bools, count, number, one } from "./format";
import type { Granularity } from "./state";
import type { ArrayView, NodeEntry, Recording } from "./wire";

export type NodeState = "idle" | "reached" | "active" | "done" | "zero";
export type EdgeState = "idle" | "passed" | "active" | "blocked";
export type MarkKind = "fork" | "unbroadcast" | "route" | "nan" | "inf" | "check" | "finding";

const SPOKEN: Record<string, string> = { nan: "NaN", inf: "∞" };

/** Something worth stopping at, found in the record. */
export interface Mark {
  readonly step: number;
  readonly kind: MarkKind;
  readonly node: number;
  readonly label: string;
  /** What the pointer is told where the label is a sign. */
  readonly said?: string;
}

/** The steps of one rule: `pull` and what it sends. */
export interface Group {
  readonly first: number;
  readonly last: number;
  /** The node whose rule runs; -1 for seeding, for writing `.grad`, and for a rule that is a graph itself. */
  readonly node: number;
  readonly label: string;
}

/** The steps between which something is going on in a collapsed scope or a folded chain. */
export interface Span {
  readonly first: number;
  readonly done: number;
}

export interface EdgeSteps {
  readonly share: number;
  unbroadcast: number;
  accumulate: number;
}

const NEVER = 0x7fffffff;
const SPREAD = 10; // ratio of norms from which widths say something

/** The rule in which a value of a backward pass was computed that is a graph itself: its scopes from the one that begins with ∂ on; else empty. */
function ruleScope(scope: string): string {
  const parts = scope.split("/");
  const at = parts.findIndex((part) => part.startsWith("∂"));
  return at < 0 ? "" : parts.slice(at).join("/");
}

export class Steps {
  readonly groups: Group[] = [];
  readonly marks: Mark[] = [];
  /** Steps during which a NaN or an infinity is on its way. */
  readonly alive: [number, number][] = [];
  readonly edges = new Map<string, EdgeSteps>();
  readonly #arrival: Int32Array;
  readonly #pulled: Int32Array;
  readonly #zero: Uint8Array;
  readonly #totals: { step: number; array: number; shares: number }[][];
  readonly #stops: Record<Granularity, readonly number[]>;
  readonly #points = new Map<string, readonly number[]>();
  readonly #groupOf: Int32Array;
  /** Grows when the marks change. */
  version = 0;
  #wrong: readonly Row[] | null = null;
  #marked = 0;
  /** The record of a backward pass that is a graph itself: every step computes one value. */
  readonly computes: boolean;

  constructor(readonly rec: Recording) {
    const nodes = rec.header.nodes;
    const n = rec.length;
    this.#arrival = new Int32Array(nodes.length).fill(NEVER);
    this.#pulled = new Int32Array(nodes.length).fill(NEVER);
    this.#zero = new Uint8Array(nodes.length);
    this.#totals = nodes.map(() => []);
    this.#groupOf = new Int32Array(n);
    const count = new Int32Array(nodes.length);
    this.computes = n > 1 && rec.kinds.every((kind) => kind === "seed");
    let group: { first: number; last: number; node: number; label: string; kind: string } | null = null;
    let within = "";
    let bad: [number, number] | null = null;
    for (let k = 0; k < n; k++) {
      const kind = rec.kinds[k];
      const node = rec.stepNode[k] ?? 0;
      const share = rec.stepShare[k] ?? -1;
      const after = rec.stepAfter[k] ?? -1;
      const rule = kind === "seed" ? ruleScope(nodes[node]?.scope ?? "") : "";
      if (
        group === null ||
        kind === "pull" ||
        ((kind === "seed" || kind === "leaf") && (group.kind !== kind || rule !== within))
      ) {
        const seeded = rule ? `∂${rule.split("/").at(-1)?.replace("∂", "")}` : "seed";
        const label: string = kind === "seed" ? seeded : kind === "leaf" ? "write .grad" : shortTitle(rec, node);
        within = rule;
        group = { first: k, last: k, node: kind === "pull" ? node : -1, label, kind: kind ?? "" };
        this.groups.push(group);
      }
      group.last = k;
      this.#groupOf[k] = this.groups.length - 1;
      if (kind === "seed") {
        this.#arrival[node] = Math.min(this.#arrival[node] ?? NEVER, k);
        const seed = after >= 0 ? after : nodes[node]?.shares.length ? -1 : (nodes[node]?.cotangent ?? -1);
        this.#totals[node]?.push({ step: k, array: seed, shares: count[node] ?? 0 });
      } else if (kind === "pull") this.#pulled[node] = k;
      else if (share >= 0 && (kind === "unbroadcast" || kind === "accumulate")) {
        const key = `${rec.share.consumer[share]}:${rec.share.slot[share]}`;
        const edge = this.edges.get(key) ?? { share, unbroadcast: -1, accumulate: NEVER };
        this.edges.set(key, edge);
        edge[kind] = k;
        if (kind === "accumulate") {
          this.#arrival[node] = Math.min(this.#arrival[node] ?? NEVER, k);
          count[node] = (count[node] ?? 0) + 1;
          this.#totals[node]?.push({ step: k, array: rec.share.total[share] ?? -1, shares: count[node] ?? 0 });
        }
        this.#mark(k, kind, share, node, count[node] ?? 0);
      }
      const worst =
        share >= 0 && kind !== "pull" ? special(rec, share, kind === "unbroadcast" ? "local" : "value") : "";
      if (worst) {
        if (bad && bad[1] >= k - 3) bad[1] = k;
        else this.alive.push((bad = [k, k]));
      }
    }
    nodes.forEach((entry, id) => {
      const total = this.#totals[id]?.at(-1);
      if (entry.kind !== "op" && total) {
        const all = this.#totals[id]?.findLast((t) => t.shares >= entry.shares.length);
        this.#pulled[id] = all?.step ?? NEVER;
      }
      this.#zero[id] = total && zeroAt(rec, total.array) ? 1 : 0;
    });
    this.#markFindings();
    this.markChecks();
    const shares = [...Array(n).keys()].filter((k) => rec.kinds[k] !== "pull" && rec.kinds[k] !== "unbroadcast");
    this.#stops = { micro: [...Array(n).keys()], share: shares, node: this.groups.map((g) => g.last) };
  }

  #mark(k: number, kind: "unbroadcast" | "accumulate", share: number, node: number, arrived: number): void {
    const { rec } = this;
    const add = (mark: MarkKind, label: string) => this.marks.push({ step: k, kind: mark, node, label });
    const entry = rec.header.nodes[node];
    if (kind === "unbroadcast") {
      add("unbroadcast", `Σ ${axes(rec.axes(share))}`);
    } else {
      if (entry && entry.shares.length > 1) add("fork", `Σ ${shortTitle(rec, node)} ${arrived}/${entry.shares.length}`);
      const route = rec.array(rec.share.route[share]);
      if (route) add("route", `route ${chosen(rec, share)}`);
    }
    const sent = special(rec, share, kind === "unbroadcast" ? "local" : "value");
    if (!sent) return;
    const held = specialOf(rec.array(rec.header.nodes[rec.share.consumer[share] ?? 0]?.cotangent));
    const again = kind === "accumulate" && rec.axes(share).length > 0 && special(rec, share, "local") === sent;
    if (sent === "nan" && held !== "nan" && !again) add("nan", "NaN");
    else if (sent === "inf" && !held && !again) add("inf", "∞");
  }

  /** The marks of the check, again where more is wrong; of very much, while more arrives, now and then. */
  markChecks(): void {
    const { wrong, progress } = checkOf(this.rec);
    const more = wrong.length - this.#marked;
    if (wrong === this.#wrong && (!more || (progress?.state === "running" && more < this.#marked / 2))) return;
    [this.#wrong, this.#marked] = [wrong, wrong.length];
    this.version++;
    const others = this.marks.filter((m) => m.kind !== "check");
    const found = new Map<string, Mark>(); // one for a rule, however many operands it fails
    for (const { node, scope } of wrong) {
      if (node < 0) continue;
      // A wrong rule is marked where it runs, a wrong gradient where it is complete.
      const step = scope === "local" ? this.ruled(node) : this.#totals[node]?.at(-1)?.step;
      const said = `${scope === "local" ? "the rule of " : "∂"}${shortTitle(this.rec, node)}: mismatch`;
      if (step !== undefined) found.set(said + node, { step, kind: "check", node, label: "≠", said });
    }
    // One by one: a long pass has more marks than a call takes arguments.
    this.marks.length = 0;
    for (const mark of [...others, ...found.values()].sort((a, b) => a.step - b.step)) this.marks.push(mark);
  }

  /** One mark for each finding: where `.grad` is written for one about what it held, else where the rule of its node runs. */
  #markFindings(): void {
    for (const { kind, node, phase } of this.rec.header.view.findings) {
      if (node < 0 || !this.length) continue;
      const written =
        kind === "stale-grad" ? this.rec.kinds.findIndex((k, i) => k === "leaf" && this.rec.stepNode[i] === node) : -1;
      const step = written >= 0 ? written : this.ruled(node);
      // Where the trouble is born backward there is a mark already, at the rule or at what it sends.
      const sent = (m: Mark) => phase === "backward" && this.#sender(m.step) === node;
      if (this.marks.some((m) => m.kind === kind && (m.step === step || sent(m)))) continue;
      const said = SPOKEN[kind];
      // The sign alone would be taken for what the gradient brings.
      this.marks.push({
        step,
        kind: "finding",
        node,
        label: said ? said + (phase === "forward" ? " forward" : "") : kind,
      });
    }
  }

  /** Whose rule sent what arrives at a step. */
  #sender(k: number): number | undefined {
    return this.rec.share.consumer[this.shareAt(k)];
  }

  /** The step at which a node's rule runs or its last share arrives; where it gets none, the rule that used it, else the first step. */
  ruled(id: number): number {
    const own = this.#pulled[id] ?? NEVER;
    if (own !== NEVER) return own;
    const last = this.#totals[id]?.at(-1);
    if (last) return last.step;
    const user = this.rec.header.nodes.findIndex(
      (n, i) => n.inputs.includes(id) && (this.#pulled[i] ?? NEVER) !== NEVER,
    );
    return user < 0 ? 0 : (this.#pulled[user] ?? 0);
  }

  get length(): number {
    return this.rec.length;
  }

  clamp(k: number): number {
    return Math.max(0, Math.min(this.length - 1, k));
  }

  group(k: number): Group | undefined {
    return this.groups[this.#groupOf[k] ?? -1];
  }

  activeNode(k: number): number {
    return this.rec.stepNode[k] ?? -1;
  }

  activeEdge(k: number): string | null {
    const share = this.shareAt(k);
    return share < 0 ? null : `${this.rec.share.consumer[share]}:${this.rec.share.slot[share]}`;
  }

  /** The share that a step is about; -1 on other steps. */
  shareAt(k: number): number {
    const kind = this.rec.kinds[k];
    return kind === "unbroadcast" || kind === "accumulate" ? (this.rec.stepShare[k] ?? -1) : -1;
  }

  node(id: number, k: number): NodeState {
    if (this.activeNode(k) === id) return "active";
    if ((this.#arrival[id] ?? NEVER) > k) return "idle";
    if ((this.#pulled[id] ?? NEVER) > k) return "reached";
    return this.#zero[id] ? "zero" : "done";
  }

  /** When the first share reaches one of these nodes, and when the rules of all that receive any have run. */
  span(ids: readonly number[]): Span {
    const inside = ids.filter((id) => (this.#totals[id]?.length ?? 0) > 0);
    const last = (list: number[]) => list.reduce((a, b) => Math.max(a, b), -1);
    return {
      first: inside.reduce((a, id) => Math.min(a, this.#arrival[id] ?? NEVER), NEVER),
      done: inside.length
        ? last(inside.map((id) => Math.max(this.#arrival[id] ?? NEVER, this.#pulled[id] ?? NEVER)))
        : NEVER,
    };
  }

  /** The state of a collapsed scope or a folded chain in which nothing happens just now. */
  within({ first, done }: Span, k: number): NodeState {
    return done <= k ? "done" : first <= k ? "reached" : "idle";
  }

  edge(key: string, k: number): EdgeState {
    const at = this.edges.get(key);
    if (!at) return "idle";
    if (this.activeEdge(k) === key) return "active";
    if (at.accumulate > k) return "idle";
    return zeroAt(this.rec, this.rec.share.value[at.share] ?? -1) ? "blocked" : "passed";
  }

  /** The running sum at a node after step k, and how many shares are in it; null before the first. */
  total(id: number, k: number): { array: ArrayView | null; shares: number } | null {
    const list = this.#totals[id] ?? [];
    const found = list[until(list, (t) => t.step <= k) - 1];
    return found ? { array: this.rec.array(found.array), shares: found.shares } : null;
  }

  /** The next (or previous) stop of a granularity; stays where there is none. */
  move(k: number, direction: 1 | -1, granularity: Granularity): number {
    return beside(this.#stops[granularity], k, direction) ?? (direction > 0 ? this.length - 1 : 0);
  }

  /** The stops that follow. */
  *coming(k: number, direction: 1 | -1, granularity: Granularity): Generator<number, void> {
    for (let next; (next = this.move(k, direction, granularity)) !== k; ) yield (k = next);
  }

  /** Whether a share, or a whole gradient, is nothing but zeros. */
  get zeros(): boolean {
    return this.#zero.includes(1) || this.rec.share.value.some((index) => zeroAt(this.rec, index));
  }

  #ends: readonly [number, number, number] | null | undefined;

  /** The norms of shares that the thinnest and the widest wire stand for, where they are far enough apart to be told by width; and the least. */
  get norms(): readonly [number, number, number] | null {
    if (this.#ends !== undefined) return this.#ends;
    let [low, high] = [Infinity, 0];
    for (const index of this.rec.share.value) {
      const norm = Math.abs(this.rec.single(index) ?? this.rec.array(index)?.stats.norm ?? 0);
      if (!(norm > 0) || !Number.isFinite(norm)) continue;
      [low, high] = [Math.min(low, norm), Math.max(high, norm)];
    }
    // Below the hundred-millionth of the largest a wire can be no thinner.
    return (this.#ends = high > SPREAD * low ? [Math.max(low, high * 1e-8), high, low] : null);
  }

  /** Per node 1 where it is an ancestor of this one, 2 where it is a descendant. */
  kin(id: number): Uint8Array {
    const { nodes } = this.rec.header;
    const found = new Uint8Array(nodes.length);
    // Inputs come before what takes them, so that one pass each way is enough.
    found[id] = 1;
    for (let i = id; i >= 0; i--) if (found[i]) for (const j of nodes[i]?.inputs ?? []) found[j] = 1;
    found[id] = 2;
    for (let i = id + 1; i < nodes.length; i++) if (nodes[i]?.inputs.some((j) => found[j] === 2)) found[i] = 2;
    found[id] = 0;
    return found;
  }

  /** The next (or previous) step that a node takes part in: its rule, a share that it gets or sends. */
  touching(id: number, k: number, direction: 1 | -1): number | undefined {
    for (let i = k + direction; i >= 0 && i < this.length; i += direction) if (this.#touches(id, i)) return i;
    return undefined;
  }

  #touches(id: number, k: number): boolean {
    const share = this.shareAt(k);
    return this.activeNode(k) === id || (share >= 0 && this.rec.share.consumer[share] === id);
  }

  /** The first step from k on (or back) with which some nodes have nothing to do, neither as receiver nor as sender; the last (or first) of all where there is none. */
  over(inside: ReadonlySet<number>, k: number, direction: 1 | -1): number {
    let i = k;
    do i += direction;
    while (i > 0 && i < this.length - 1 && this.about(i).some((id) => inside.has(id)));
    return this.clamp(i);
  }

  /** What a step is about: its node, and the one that sends it something. */
  about(k: number): number[] {
    const share = this.shareAt(k);
    return [this.activeNode(k), share < 0 ? -1 : (this.rec.share.consumer[share] ?? -1)].filter((id) => id >= 0);
  }

  /** Steps at which the given breakpoints stop, ascending; with none given, every mark is one. */
  breaks(points: readonly (string | number)[]): readonly number[] {
    const name = JSON.stringify(points);
    const known = this.#points.get(name);
    if (known) return known;
    const kinds = new Set(points);
    const steps = this.marks.filter((m) => points.length === 0 || kinds.has(m.kind)).map((m) => m.step);
    if (points.some((p) => typeof p === "number")) {
      for (let k = 0; k < this.length; k++)
        if (kinds.has(this.activeNode(k)) && this.rec.kinds[k] !== "pull") steps.push(k);
    }
    const found = [...new Set(steps)].sort((a, b) => a - b);
    if (this.#points.size > 8) this.#points.clear(); // breakpoints are set by hand: a few sets are enough
    this.#points.set(name, found);
    return found;
  }
}

/** How many entries at the beginning of a sorted list satisfy a condition, by halving. */
export function until<T>(list: readonly T[], holds: (item: T) => boolean): number {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(list[middle] as T)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The entry of an ascending list that follows (or comes before) a number. */
export function beside(list: readonly number[], k: number, direction: 1 | -1): number | undefined {
  return direction > 0 ? list[until(list, (s) => s <= k)] : list[until(list, (s) => s < k) - 1];
}

function special(rec: Recording, share: number, which: "local" | "value"): "" | "nan" | "inf" {
  const index = rec.share[which][share] ?? -1;
  const alone = rec.single(index);
  if (alone === null) return specialOf(rec.array(index));
  return Number.isNaN(alone) ? "nan" : Number.isFinite(alone) ? "" : "inf";
}

/** Whether the array at a position holds nothing but zeros. */
function zeroAt(rec: Recording, index: number): boolean {
  const alone = rec.single(index);
  return alone === null ? isZero(rec.array(index)) : alone === 0;
}

export function specialOf(array: ArrayView | null): "" | "nan" | "inf" {
  if (!array || !array.dtype.includes("f")) return "";
  const { nan, posinf, neginf } = array.stats;
  return nan ? "nan" : posinf + neginf ? "inf" : "";
}

export function isZero(array: ArrayView | null): boolean {
  return array !== null && array.size > 0 && array.stats.zeros === array.size;
}

/** The name where there is one, else the expression if it is short, else the op. */
export function shortTitle(rec: Recording, id: number, longest = 14): string {
  const entry = rec.header.nodes[id];
  if (!entry) return "?";
  if (entry.name) return entry.name;
  const value = entry.kind === "constant" ? rec.array(entry.value) : null;
  if (value?.data instanceof Bools) return one(value.data);
  if (value?.data && value.size === 1) return String(+(value.data[0] ?? NaN).toPrecision(4)).replace("-", "\u2212");
  const expression = entry.kind === "op" ? expressionOf(rec, entry) : "";
  return expression && expression.length <= longest ? expression : entry.op;
}

/** How many entries a route chose; of what was broadcast, how many copies of them. The twin of `views/selected.py`. */
export function chosen(rec: Recording, share: number): string {
  const route = rec.array(rec.share.route[share]);
  if (!route) return "";
  const places = rec.summed(share).length ? (rec.array(rec.share.local[share])?.size ?? 0) : 0;
  const won = places > route.size ? +(route.stats.mean * places).toFixed(6) : route.size - route.stats.zeros;
  return `${won % 1 ? number(won) : count(won)} of ${count(Math.max(places, route.size))}`;
}

/** The part of the source line that made a node; empty where the columns are not known. */
export function expressionOf(rec: Recording, entry: NodeEntry): string {
  const source = rec.header.sources[entry.source];
  if (!source || source.column < 0 || source.code.includes("\n")) return "";
  return [...source.code].slice(source.column, source.end_column).join("");
}
