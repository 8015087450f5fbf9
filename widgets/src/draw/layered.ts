/** A layered layout for what is drawn in the browser; the twin of `views/layout/layered.py`. Knows no trace and no DOM. */
export interface Size {
  readonly width: number;
  readonly height: number;
}
export interface Link {
  readonly tail: number;
  readonly head: number;
  /** Where it arrives, from the middle of the head's side. */
  readonly port: number;
}
export type Point = readonly [number, number];
export interface Layout {
  readonly centres: Point[];
  /** Per link its knots: the ends of the boxes, and where it passes the ranks in between. */
  readonly ways: Point[][];
  readonly width: number;
  readonly height: number;
}

const GAP = 16;
const RANK_GAP = 34;
const BEND = 8; // px that a passing link keeps free
const SWEEPS = 8;
const PATIENCE = 300; // ms after which the order found so far is good enough

interface Beside {
  readonly at: number;
  readonly shift: number;
}

export function layered(boxes: readonly Size[], links: readonly Link[]): Layout {
  const stop = performance.now() + PATIENCE;
  const rank = ranked(boxes.length, links);
  const depth = boxes.map((b) => b.width);
  const breadth = boxes.map((b) => b.height);
  const before: Beside[][] = boxes.map(() => []);
  const after: Beside[][] = boxes.map(() => []);
  const join = (a: number, b: number, port: number, forward: boolean) => {
    const [first, second, shift] = forward ? [a, b, port] : [b, a, -port];
    after[first]?.push({ at: second, shift });
    before[second]?.push({ at: first, shift: -shift });
  };
  const chains = links.map(({ tail, head, port }) => {
    const [from, to] = [rank[tail] ?? 0, rank[head] ?? 0];
    const way = to >= from ? 1 : -1;
    const chain = [tail];
    for (let r = from + way; way * r < way * to; r += way) {
      rank.push(r);
      depth.push(0);
      breadth.push(BEND);
      before.push([]);
      after.push([]);
      join(chain.at(-1) ?? 0, rank.length - 1, 0, way > 0);
      chain.push(rank.length - 1);
    }
    join(chain.at(-1) ?? 0, head, port, way > 0);
    chain.push(head);
    return chain;
  });

  // The order in each rank: depth first from the results, then by barycentres, the best of some sweeps.
  const count = rank.reduce((a, b) => Math.max(a, b), 0) + 1;
  let ranks: number[][] = Array.from({ length: count }, () => []);
  const seen = new Uint8Array(rank.length);
  for (let start = rank.length - 1; start >= 0; start--) {
    const stack = seen[start] || after[start]?.length ? [] : [start];
    for (let x = stack.pop(); x !== undefined; x = stack.pop()) {
      if (seen[x]) continue;
      seen[x] = 1;
      ranks[rank[x] ?? 0]?.push(x);
      for (const b of [...(before[x] ?? [])].sort((p, q) => p.shift - q.shift)) if (!seen[b.at]) stack.push(b.at);
    }
  }
  seen.forEach((done, x) => done || ranks[rank[x] ?? 0]?.push(x));
  const slot = new Float64Array(rank.length);
  const number = () => ranks.forEach((members) => members.forEach((x, i) => (slot[x] = i)));
  number();
  let [best, fewest] = [ranks.map((m) => [...m]), crossings(ranks, slot, after)];
  for (let sweep = 0; sweep < SWEEPS && fewest > 0 && performance.now() < stop; sweep++) {
    const side = sweep % 2 ? after : before;
    for (const members of sweep % 2 ? [...ranks].reverse() : ranks) {
      const weight = new Map(
        members.map((x) => {
          const list = side[x] ?? [];
          const sum = list.reduce((a, b) => a + (slot[b.at] ?? 0) - 0.001 * b.shift, 0);
          return [x, list.length ? sum / list.length : (slot[x] ?? 0)];
        }),
      );
      members.sort((a, b) => (weight.get(a) ?? 0) - (weight.get(b) ?? 0));
      members.forEach((x, i) => (slot[x] = i));
    }
    const found = crossings(ranks, slot, after);
    if (found < fewest) [best, fewest] = [ranks.map((m) => [...m]), found];
  }
  ranks = best;

  // Across the flow each is pulled to the mean of its neighbours; order and distances are kept.
  const at = new Float64Array(rank.length);
  const half = (x: number | undefined) => (breadth[x ?? -1] ?? 0) / 2;
  for (const members of ranks) {
    let cursor = 0;
    for (const x of members) {
      at[x] = cursor + half(x);
      cursor += 2 * half(x) + GAP;
    }
  }
  for (let sweep = 0; sweep < SWEEPS + 2; sweep++) {
    const side = sweep % 2 ? after : before;
    for (const members of sweep % 2 ? [...ranks].reverse() : ranks) {
      const low = members.map((x) => {
        const list = side[x] ?? [];
        return list.length ? list.reduce((a, b) => a + (at[b.at] ?? 0) - b.shift, 0) / list.length : (at[x] ?? 0);
      });
      const high = [...low];
      const need = (i: number) => half(members[i - 1]) + half(members[i]) + GAP;
      for (let i = 1; i < members.length; i++) low[i] = Math.max(low[i] ?? 0, (low[i - 1] ?? 0) + need(i));
      for (let i = members.length - 1; i > 0; i--) high[i - 1] = Math.min(high[i - 1] ?? 0, (high[i] ?? 0) - need(i));
      members.forEach((x, i) => (at[x] = ((low[i] ?? 0) + (high[i] ?? 0)) / 2));
      for (let i = 1; i < members.length; i++) {
        const [x = 0, y = 0] = [members[i], members[i - 1]];
        at[x] = Math.max(at[x] ?? 0, (at[y] ?? 0) + need(i));
      }
    }
  }
  let [top, bottom] = [Infinity, -Infinity];
  at.forEach((y, x) => ([top, bottom] = [Math.min(top, y - half(x)), Math.max(bottom, y + half(x))]));

  let cursor = 0;
  const spans = ranks.map((members) => {
    const start = cursor;
    const deep = members.reduce((a, x) => Math.max(a, depth[x] ?? 0), 0);
    cursor += deep + RANK_GAP;
    return [start, start + deep] as const;
  });
  const end = (x: number) => spans[rank[x] ?? 0]?.[1] ?? 0;
  const y = (x: number) => (at[x] ?? 0) - top;
  // Boxes of one rank are flush where their links leave.
  const centres = boxes.map((b, x): Point => [end(x) - b.width / 2, y(x)]);
  const ways = links.map(({ port }, i) => {
    const chain = chains[i] ?? [];
    const [tail = 0, head = 0] = [chain[0], chain.at(-1)];
    const knots: Point[] = [[end(tail), y(tail)]];
    for (const x of chain.slice(1, -1)) knots.push([spans[rank[x] ?? 0]?.[0] ?? 0, y(x)], [end(x), y(x)]);
    knots.push([end(head) - (depth[head] ?? 0), y(head) + port]);
    return knots;
  });
  return { centres, ways, width: cursor - RANK_GAP, height: bottom - top };
}

/** Ranks by longest path; links that close a cycle are passed over, and a source stands next to its first user. */
function ranked(boxes: number, links: readonly Link[]): number[] {
  const ahead: number[][] = Array.from({ length: boxes }, () => []);
  for (const link of links) ahead[link.tail]?.push(link.head);
  const state = new Uint8Array(boxes); // 1 open, 2 done
  const closing = new Set<number>();
  const post: number[] = [];
  for (let start = 0; start < boxes; start++) {
    if (state[start]) continue;
    const stack: [number, number][] = [[start, 0]];
    state[start] = 1;
    for (let top = stack.at(-1); top; top = stack.at(-1)) {
      const [x, i] = top;
      const next = ahead[x]?.[i];
      if (next === undefined) {
        state[x] = 2;
        post.push(x);
        stack.pop();
        continue;
      }
      top[1]++;
      if (state[next] === 1) closing.add(x * boxes + next);
      else if (!state[next]) {
        state[next] = 1;
        stack.push([next, 0]);
      }
    }
  }
  const rank = new Array<number>(boxes).fill(0);
  const waits = new Uint8Array(boxes);
  const order = post.reverse();
  const forward = (x: number) => (ahead[x] ?? []).filter((y) => !closing.has(x * boxes + y));
  for (const x of order)
    for (const y of forward(x)) {
      rank[y] = Math.max(rank[y] ?? 0, (rank[x] ?? 0) + 1);
      waits[y] = 1;
    }
  for (const x of [...order].reverse()) {
    const users = forward(x).map((y) => rank[y] ?? 0);
    if (users.length && !waits[x]) rank[x] = users.reduce((a, b) => Math.min(a, b)) - 1;
  }
  const lowest = rank.reduce((a, b) => Math.min(a, b), Infinity);
  return rank.map((r) => r - lowest);
}

/** How many pairs of links between neighbouring ranks cross: inversions, counted with a binary indexed tree. */
function crossings(ranks: readonly number[][], slot: Float64Array, after: readonly Beside[][]): number {
  let total = 0;
  for (const members of ranks) {
    const ends = members.flatMap((x) => (after[x] ?? []).map((b) => slot[b.at] ?? 0).sort((a, b) => a - b));
    const size = ends.reduce((a, b) => Math.max(a, b), 0) + 2;
    const tree = new Int32Array(size + 1);
    ends.forEach((e, seen) => {
      let below = 0;
      for (let i = e + 1; i > 0; i -= i & -i) below += tree[i] ?? 0;
      total += seen - below;
      for (let i = e + 1; i <= size; i += i & -i) tree[i] = (tree[i] ?? 0) + 1;
    });
  }
  return total;
}
