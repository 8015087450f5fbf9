/** What of a record is drawn at once: scopes and stretches of nodes that can be opened and closed. Knows no DOM. */
import { count } from "../format";
import type { Recording } from "../wire";

export const MOST = 100; // items that a picture opens with: about what fits on one screen at a readable size
export const LIMIT = 400; // items above which opening one group closes the one that was opened first
const CROWD = 60; // parts of one group above which they are cut into stretches
const STRETCHES = 16; // and into how many
const STUBS = 6; // wires of one node that come from what is not drawn: the rest share the last place
const FOLLOWED = 4; // a value with more uses than this is no way from one place to another

/** A scope, or a stretch of consecutive nodes where there are too many to be drawn. */
export interface Group {
  readonly key: string;
  readonly kind: "scope" | "fold";
  readonly label: string;
  readonly parent: Group | null;
  parts: (number | Group)[];
  /** Every node inside, ascending. */
  members: number[];
}

export interface Item {
  /** A node's id, or -1. */
  readonly node: number;
  readonly group: Group | null;
}

/** One use of an operand; where an end is a group, all uses between the two. */
export interface Wire {
  readonly tail: number;
  readonly head: number;
  readonly uses: string[];
}

export interface Scene {
  readonly items: Item[];
  readonly wires: Wire[];
  /** Uses whose operand is not drawn, by the position of the item that takes it; each by itself while they are few. */
  readonly stubs: Map<number, string[][]>;
  /** Per node the position of the item that shows it; -1 where it is not drawn. */
  readonly owner: Int32Array;
}

export class Tree {
  readonly root: Group = { key: "", kind: "scope", label: "", parent: null, parts: [], members: [] };
  readonly groups = new Map<string, Group>();
  readonly #homes: Group[];
  readonly #uses: { start: Int32Array; consumer: Int32Array };

  constructor(private readonly rec: Recording) {
    const { nodes } = rec.header;
    const scopes = new Map<string, Group>([["", this.root]]);
    const find = (name: string): Group => {
      const known = scopes.get(name);
      if (known) return known;
      const slash = name.lastIndexOf("/");
      const parent = find(slash < 0 ? "" : name.slice(0, slash));
      const made: Group = {
        key: `scope:${name}`,
        kind: "scope",
        label: name.slice(slash + 1),
        parent,
        parts: [],
        members: [],
      };
      scopes.set(name, made);
      parent.parts.push(made);
      return made;
    };
    const homes = used(nodes);
    nodes.forEach((n, id) => find(homes.get(id) ?? n.scope).parts.push(id));
    this.#homes = new Array<Group>(nodes.length);
    // Children were made after their parents, so going backwards finds their members complete.
    for (const group of [...scopes.values()].reverse()) {
      const last = (part: number | Group) => (typeof part === "number" ? part : (part.members.at(-1) ?? -1));
      group.members = group.parts
        .flatMap((part) => (typeof part === "number" ? part : part.members))
        .sort((a, b) => a - b);
      group.parts.sort((a, b) => last(a) - last(b));
      this.#cut(group);
      if (group !== this.root) this.groups.set(group.key, group);
    }
    const start = new Int32Array(nodes.length + 1);
    for (const n of nodes) for (const i of n.inputs) start[i + 1] = (start[i + 1] ?? 0) + 1;
    for (let i = 1; i <= nodes.length; i++) start[i] = (start[i] ?? 0) + (start[i - 1] ?? 0);
    const at = start.slice();
    const consumer = new Int32Array(start[nodes.length] ?? 0);
    nodes.forEach((n, id) => {
      for (const i of n.inputs) consumer[at[i]!++] = id;
    });
    this.#uses = { start, consumer };
  }

  /** Cut the parts of a crowded group into stretches, and those again. */
  #cut(group: Group): void {
    if (group.parts.length > CROWD) {
      const size = Math.max(4, Math.ceil(group.parts.length / STRETCHES));
      const parts: Group[] = [];
      for (let i = 0; i < group.parts.length; i += size) {
        const some = group.parts.slice(i, i + size);
        const members = some.flatMap((part) => (typeof part === "number" ? part : part.members)).sort((a, b) => a - b);
        const key = `fold:${members[0]}-${members.at(-1)}`;
        const label = `« ${count(members.length)} nodes »`;
        const made: Group = { key, kind: "fold", label, parent: group, parts: some, members };
        for (const part of some) if (typeof part !== "number") Object.assign(part, { parent: made });
        this.#cut(made);
        this.groups.set(key, made);
        parts.push(made);
      }
      group.parts = parts;
      return;
    }
    for (const part of group.parts) if (typeof part === "number") this.#homes[part] = group;
  }

  get size(): number {
    return this.groups.size;
  }

  /** The groups around a node, from the innermost outwards. */
  around(id: number): Group[] {
    const found: Group[] = [];
    for (let g: Group | null = this.#homes[id] ?? null; g && g !== this.root; g = g.parent) found.push(g);
    return found;
  }

  /** The keys of the groups that are open at first: all of a level, while there is room for it. */
  start(most = MOST): Set<string> {
    const open = new Set<string>();
    for (let level = this.root.parts; ; ) {
      const closed = level.filter((part): part is Group => typeof part !== "number");
      const next = level.flatMap((part) => (typeof part === "number" ? [part] : part.parts));
      if (!closed.length || next.length > most) return open;
      for (const g of closed) open.add(g.key);
      level = next;
    }
  }

  /** What is drawn while these groups are open. */
  scene(open: ReadonlySet<string>): Scene {
    const items: Item[] = [];
    const owner = new Int32Array(this.rec.header.nodes.length).fill(-1);
    const last: number[] = [];
    const stack: (number | Group)[] = [...this.root.parts].reverse();
    for (let part = stack.pop(); part !== undefined; part = stack.pop()) {
      if (typeof part === "number") items.push({ node: part, group: null });
      else if (!open.has(part.key)) items.push({ node: -1, group: part });
      else stack.push(...[...part.parts].reverse());
    }
    const end = (item: Item) => (item.group ? (item.group.members.at(-1) ?? -1) : item.node);
    items.sort((a, b) => end(a) - end(b));
    items.forEach((item, i) => {
      last.push(end(item));
      if (item.group) for (const id of item.group.members) owner[id] = i;
      else owner[item.node] = i;
    });
    return { items, ...this.#wires(items, owner), owner };
  }

  /** Up to so many nodes near some: their operands first, then those that take them. */
  near(focus: readonly number[], most: number): Scene {
    const { nodes } = this.rec.header;
    const kept = new Set(focus.filter((id) => nodes[id]));
    const queue = [...kept];
    for (let i = 0; i < queue.length && kept.size < most; i++) {
      for (const id of [...(nodes[queue[i] ?? -1]?.inputs ?? []), ...this.takers(queue[i] ?? -1)]) {
        if (kept.has(id) || kept.size >= most) continue;
        kept.add(id);
        queue.push(id);
      }
    }
    const items = [...kept].sort((a, b) => a - b).map((node) => ({ node, group: null }));
    const owner = new Int32Array(nodes.length).fill(-1);
    items.forEach((item, i) => (owner[item.node] = i));
    return { items, ...this.#wires(items, owner), owner };
  }

  /** The nodes that take this one, unless it is used all over, which is more than `most` times. */
  takers(id: number, most = FOLLOWED): number[] {
    const [from, to] = [this.#uses.start[id] ?? 0, this.#uses.start[id + 1] ?? 0];
    return to - from <= most ? [...this.#uses.consumer.subarray(from, to)] : [];
  }

  #wires(items: Item[], owner: Int32Array): Pick<Scene, "wires" | "stubs"> {
    const wires: Wire[] = [];
    const stubs: Scene["stubs"] = new Map();
    const joint = new Map<number, Wire>();
    items.forEach((item, head) => {
      for (const id of item.group ? item.group.members : [item.node]) {
        this.rec.header.nodes[id]?.inputs.forEach((source, slot) => {
          const tail = owner[source] ?? -1;
          const use = `${id}:${slot}`;
          if (tail === head) return;
          if (tail < 0) {
            if (item.group) return;
            const there = stubs.get(head) ?? [];
            stubs.set(head, there);
            if (there.length < STUBS) there.push([use]);
            else there.at(-1)?.push(use);
            return;
          }
          if (!items[tail]?.group && !item.group) {
            wires.push({ tail, head, uses: [use] });
            return;
          }
          const pair = tail * items.length + head;
          const known = joint.get(pair);
          if (known) known.uses.push(use);
          else {
            const wire = { tail, head, uses: [use] };
            joint.set(pair, wire);
            wires.push(wire);
          }
        });
      }
    });
    return { wires, stubs };
  }
}

/** The scopes of numbers that stand in a formula (`0.5 * h`), where all of their uses are in one: recorded outside of all scopes, they would crowd around each closed one. */
function used(nodes: Recording["header"]["nodes"]): Map<number, string> {
  const found = new Map<number, string>();
  for (const { scope, inputs } of nodes)
    for (const i of inputs) {
      const n = nodes[i];
      if (n?.kind === "constant" && !n.scope && !n.shape.length)
        found.set(i, (found.get(i) ?? scope) === scope ? scope : "");
    }
  return found;
}
