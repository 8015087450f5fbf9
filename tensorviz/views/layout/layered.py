"""Our own layered layout, for where Graphviz is missing or the graph too large. Imports no other part of ours.

The classic four stages: ranks by longest path, chains of bends through the ranks that an edge crosses, an order in each rank by barycentres, and
coordinates pulled towards the neighbours. Nothing recurses, and cycles (which collapsed groups can make) are cut at the edge that closes them.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import pairwise

from tensorviz.views.layout.types import Box, Layout, Link, Point

GAP = 20.0
RANK_GAP = 40.0
BEND = 8.0
"""Height that a passing edge keeps free in a rank."""
ORDER_SWEEPS = 8
PLACE_SWEEPS = 10


def place(boxes: Sequence[Box], links: Sequence[Link], direction: str, note: str | None = None) -> Layout:
    """Lay out; never fails and needs nothing."""
    if not boxes:
        return Layout({}, [], 0.0, 0.0, "layered", note)
    graph = _Graph(boxes, links, direction)
    graph.rank_boxes()
    graph.bend_edges()
    graph.order_ranks()
    return graph.result(note)


def bends(boxes: Sequence[Box], links: Sequence[Link]) -> int:
    """How many ranks all edges cross together: what makes a graph slow to lay out, more than its boxes do."""
    graph = _Graph(boxes, links, "LR")
    graph.rank_boxes()
    return sum(max(0, abs(graph.rank[head] - graph.rank[tail]) - 1) for tail, head, _ in graph.links)


class _Graph:
    """Numbers instead of ids: boxes first, then one number per bend. ``depth`` is the extent along the flow, ``breadth`` across it."""

    def __init__(self, boxes: Sequence[Box], links: Sequence[Link], direction: str) -> None:
        self.ids: list[Hashable] = [box.id for box in boxes]
        self.sideways = direction == "LR"
        self.depth = [box.width if self.sideways else box.height for box in boxes]
        self.breadth = [box.height if self.sideways else box.width for box in boxes]
        number = {box.id: i for i, box in enumerate(boxes)}
        self.links = [(number[link.tail], number[link.head], link.port) for link in links]
        self.boxes = len(boxes)

    def rank_boxes(self) -> None:
        ahead: list[list[int]] = [[] for _ in range(self.boxes)]
        for tail, head, _ in self.links:
            ahead[tail].append(head)
        order, closing = _walk(ahead)
        waiting: list[list[int]] = [[] for _ in range(self.boxes)]
        self.rank = [0] * self.boxes
        for tail in order:
            for head in ahead[tail]:
                if (tail, head) not in closing:
                    self.rank[head] = max(self.rank[head], self.rank[tail] + 1)
                    waiting[head].append(tail)
        for tail in reversed(order):  # a source stands next to its first user, not at the far left
            users = [self.rank[head] for head in ahead[tail] if (tail, head) not in closing]
            if users and not waiting[tail]:
                self.rank[tail] = min(users) - 1
        lowest = min(self.rank)
        self.rank = [r - lowest for r in self.rank]

    def bend_edges(self) -> None:
        total = self.boxes
        self.before: list[list[tuple[int, float]]] = [[] for _ in range(total)]
        self.after: list[list[tuple[int, float]]] = [[] for _ in range(total)]
        self.chains: list[list[int]] = []
        for tail, head, port in self.links:
            step = 1 if self.rank[head] >= self.rank[tail] else -1
            chain = [tail]
            for rank in range(self.rank[tail] + step, self.rank[head], step):
                self.rank.append(rank)
                self.depth.append(0.0)
                self.breadth.append(BEND)
                self.before.append([])
                self.after.append([])
                self._join(chain[-1], len(self.rank) - 1, 0.0, step)
                chain.append(len(self.rank) - 1)
            self._join(chain[-1], head, port, step)
            chain.append(head)
            self.chains.append(chain)

    def _join(self, tail: int, head: int, port: float, step: int) -> None:
        first, second, shift = (tail, head, port) if step > 0 else (head, tail, -port)
        self.after[first].append((second, shift))
        self.before[second].append((first, -shift))

    def order_ranks(self) -> None:
        ranks: list[list[int]] = [[] for _ in range(max(self.rank) + 1)]
        seen = [False] * len(self.rank)
        for start in range(len(self.rank) - 1, -1, -1):  # depth first from the results, so that subtrees stay together
            stack = [] if seen[start] or self.after[start] else [start]
            while stack:
                x = stack.pop()
                if seen[x]:
                    continue
                seen[x] = True
                ranks[self.rank[x]].append(x)
                stack.extend(y for y, _ in sorted(self.before[x], key=lambda pair: pair[1], reverse=False) if not seen[y])
        for x, done in enumerate(seen):
            if not done:
                ranks[self.rank[x]].append(x)
        slot = [0.0] * len(self.rank)
        for members in ranks:
            for i, x in enumerate(members):
                slot[x] = float(i)
        best, fewest = [list(members) for members in ranks], self._crossings(ranks, slot)
        for sweep in range(ORDER_SWEEPS):
            beside = self.before if sweep % 2 == 0 else self.after
            for members in ranks if sweep % 2 == 0 else reversed(ranks):
                # A port shifts its edge by less than a neighbour's width, hence the small factor.
                weight = {x: sum(slot[y] - 0.001 * s for y, s in beside[x]) / len(beside[x]) if beside[x] else slot[x] for x in members}
                members.sort(key=weight.__getitem__)
                for i, x in enumerate(members):
                    slot[x] = float(i)
            crossings = self._crossings(ranks, slot)
            if crossings < fewest:
                best, fewest = [list(members) for members in ranks], crossings
        self.ranks = best

    def _crossings(self, ranks: list[list[int]], slot: list[float]) -> int:
        """How many pairs of edges between neighbouring ranks cross: inversions, counted with a binary indexed tree."""
        total = 0
        for members in ranks:
            ends = [slot[y] for x in members for y, _ in sorted(self.after[x], key=lambda pair: (slot[pair[0]], pair[1]))]
            size = int(max(ends, default=0)) + 2
            tree = [0] * (size + 1)
            for seen, end in enumerate(ends):
                i, below = int(end) + 1, 0
                while i > 0:
                    below += tree[i]
                    i -= i & -i
                total += seen - below
                i = int(end) + 1
                while i <= size:
                    tree[i] += 1
                    i += i & -i
        return total

    def _across(self) -> list[float]:
        """Coordinates across the flow: each pulled to the mean of its neighbours, order and distances kept."""
        at = [0.0] * len(self.rank)
        for members in self.ranks:
            cursor = 0.0
            for x in members:
                at[x] = cursor + self.breadth[x] / 2
                cursor += self.breadth[x] + GAP
        for sweep in range(PLACE_SWEEPS):
            beside = self.before if sweep % 2 == 0 else self.after
            for members in self.ranks if sweep % 2 == 0 else reversed(self.ranks):
                want = [sum(at[y] - s for y, s in beside[x]) / len(beside[x]) if beside[x] else at[x] for x in members]
                low, high = list(want), list(want)
                need = [(self.breadth[a] + self.breadth[b]) / 2 + GAP for a, b in pairwise(members)]
                for i in range(1, len(members)):
                    low[i] = max(low[i], low[i - 1] + need[i - 1])
                for i in range(len(members) - 2, -1, -1):
                    high[i] = min(high[i], high[i + 1] - need[i])
                for i, x in enumerate(members):
                    at[x] = (low[i] + high[i]) / 2
                for i in range(1, len(members)):
                    at[members[i]] = max(at[members[i]], at[members[i - 1]] + need[i - 1])
        least = min(a - b / 2 for a, b in zip(at, self.breadth, strict=True))
        return [a - least for a in at]

    def result(self, note: str | None) -> Layout:
        across = self._across()
        starts, middles, ends = [], [], []
        cursor = 0.0
        for members in self.ranks:
            deep = max((self.depth[x] for x in members), default=0.0)
            starts.append(cursor)
            middles.append(cursor + deep / 2)
            ends.append(cursor + deep)
            cursor += deep + RANK_GAP

        def point(along: float, over: float) -> Point:
            return Point(along, over) if self.sideways else Point(over, along)

        # Boxes of one rank are flush at the end that their edges leave from: stems then end in one line.
        centre = [ends[self.rank[x]] - self.depth[x] / 2 for x in range(self.boxes)]
        positions = {self.ids[x]: point(centre[x], across[x]) for x in range(self.boxes)}
        splines = []
        for (_, _, port), chain in zip(self.links, self.chains, strict=True):
            tail, head = chain[0], chain[-1]
            knots = [(ends[self.rank[tail]], across[tail])]
            for x in chain[1:-1]:
                knots += [(starts[self.rank[x]], across[x]), (ends[self.rank[x]], across[x])]
            into = starts[self.rank[head]]
            knots.append((into, across[head] + port))
            if centre[head] - self.depth[head] / 2 > into:
                knots.append((centre[head] - self.depth[head] / 2, across[head] + port))
            curve = [point(*knots[0])]
            for (x0, y0), (x1, y1) in pairwise(knots):
                half = (x1 - x0) / 2
                curve += [point(x0 + half, y0), point(x1 - half, y1), point(x1, y1)]
            splines.append(curve)
        width, height = cursor - RANK_GAP, max(a + b / 2 for a, b in zip(across, self.breadth, strict=True))
        return Layout(positions, splines, *((width, height) if self.sideways else (height, width)), "layered", note)


def _walk(ahead: list[list[int]]) -> tuple[list[int], set[tuple[int, int]]]:
    """A topological order of all numbers, and the edges that close a cycle (depth first, without recursion)."""
    fresh, open_, done = 0, 1, 2
    state = [fresh] * len(ahead)
    post: list[int] = []
    closing: set[tuple[int, int]] = set()
    for start in range(len(ahead)):
        if state[start] != fresh:
            continue
        stack = [(start, 0)]
        state[start] = open_
        while stack:
            x, i = stack.pop()
            if i == len(ahead[x]):
                state[x] = done
                post.append(x)
                continue
            stack.append((x, i + 1))
            y = ahead[x][i]
            if state[y] == open_:
                closing.add((x, y))
            elif state[y] == fresh:
                state[y] = open_
                stack.append((y, 0))
    return post[::-1], closing
