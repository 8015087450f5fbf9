"""A long layout in rows, as a text is broken into lines, so that a slide shows it. Imports no other part of ours."""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Hashable, Sequence
from dataclasses import replace
from itertools import pairwise

from tensorviz.views.layout.types import Box, Layout, Link, Point

WIDE = 1800.0
"""Pixels from which a layout is broken: at half its size numbers of 14 px are 7."""
SLIDE = 16 / 9
"""Width by height that rows are chosen for."""
GAP = 18.0
"""Pixels in which no box stands where a row ends: room for wires to leave and enter straight."""
MOST = 3
"""Wires that may go from one row to another at a place: more would be a knot at its end."""
PAD, LANE = 22.0, 14.0
"""Pixels between a row and the wires below it, and between two of these, with their gradients beside them."""


def fold(placed: Layout, boxes: Sequence[Box], links: Sequence[Link]) -> Layout:
    """``placed``, which runs to the right, in as many rows below each other as suit a slide; as it is where few rows or no good places are found.

    A wire to another row goes around the end of its own, back below it, and into the other from the left.
    """
    cuts = _cuts(placed, boxes, links)
    if not cuts:
        return placed
    row: dict[Hashable, int] = {box.id: bisect(cuts, placed.positions[box.id].x) for box in boxes}
    starts, ends = [0.0, *cuts], [*cuts, placed.width]
    parts: list[tuple[list[Point], list[Point]]] = []
    below: list[list[int]] = [[] for _ in starts]
    for k, (link, way) in enumerate(zip(links, placed.splines, strict=True)):
        tail, head = row[link.tail], row[link.head]
        if tail == head:
            parts.append((way, []))
        else:
            parts.append((_split(way, cuts[tail])[0], _split(way, cuts[head - 1])[1]))
            below[tail].append(k)
    lanes = max(map(len, below))
    past = [k for turned in below for k in turned if row[links[k].head] > row[links[k].tail] + 1]  # by other rows, each in a lane of its own
    if len(past) > MOST:
        return placed
    side = PAD + (lanes + len(past)) * LANE
    width = max(end - start for start, end in zip(starts, ends, strict=True))
    highest, lowest = [math.inf] * len(starts), [-math.inf] * len(starts)

    def seen(r: int, top: float, bottom: float) -> None:
        highest[r], lowest[r] = min(highest[r], top), max(lowest[r], bottom)

    for box in boxes:
        y = placed.positions[box.id].y
        seen(row[box.id], y - box.height / 2, y + box.height / 2)
    for link, (first, last) in zip(links, parts, strict=True):
        for p in first:
            seen(row[link.tail], p.y, p.y)
        for p in last:
            seen(row[link.head], p.y, p.y)
    down, top = [], 0.0
    for r, turned in enumerate(below):
        down.append(top - highest[r])
        top += lowest[r] - highest[r] + (2 * PAD + len(turned) * LANE if r < len(cuts) else 0)

    def moved(p: Point, r: int) -> Point:
        return Point(p.x - starts[r] + side, p.y + down[r])

    splines = []
    for k, (link, (first, last)) in enumerate(zip(links, parts, strict=True)):
        tail, head = row[link.tail], row[link.head]
        way = [moved(p, tail) for p in first]
        if last:
            # The lowest turns first, inside of the others.
            i = sorted(below[tail], key=lambda other: -parts[other][0][-1].y).index(k)
            onward = [moved(p, head) for p in last]
            back = lowest[tail] + down[tail] + PAD + i * LANE
            right, left = side + width + PAD / 2 + i * LANE, side - PAD / 2 - (lanes + past.index(k) if k in past else i) * LANE
            _line(way, Point(right, way[-1].y))
            _turn(way, back, 1.0)
            _line(way, Point(left, back))
            _turn(way, onward[0].y, -1.0)
            _line(way, onward[0])
            way += onward[1:]
        splines.append(way)
    positions = {box.id: moved(placed.positions[box.id], row[box.id]) for box in boxes}
    return replace(
        placed, positions=positions, splines=splines, width=width + 2 * side, height=top, turns=frozenset(k for turned in below for k in turned)
    )


def _cuts(placed: Layout, boxes: Sequence[Box], links: Sequence[Link]) -> list[float]:
    """Where rows end: between boxes, near equal parts, where fewest wires pass."""
    count = round(math.sqrt(placed.width / SLIDE / (placed.height + 2 * PAD)))
    if placed.width < WIDE or count < 2:
        return []
    spans = {box.id: (placed.positions[box.id].x - box.width / 2, placed.positions[box.id].x + box.width / 2) for box in boxes}
    free, reach = [], 0.0
    for start, end in sorted(spans.values()):
        if reach and start - reach >= GAP:
            free.append((start + reach) / 2)
        reach = max(reach, end)
    left, entered = sorted(spans[link.tail][1] for link in links), sorted(spans[link.head][0] for link in links)
    cuts = []
    for r in range(1, count):
        wanted = placed.width * r / count
        near = [x for x in free if abs(x - wanted) < placed.width / count / 3]
        passing = {x: bisect(left, x) - bisect(entered, x) for x in near}
        best = min(near, key=lambda x: (passing[x], abs(x - wanted)), default=None)
        if best is None or passing[best] > MOST:
            return []
        cuts.append(best)
    return cuts


def _split(way: Sequence[Point], x: float) -> tuple[list[Point], list[Point]]:
    """A chain of Bezier segments before and after the place where it first reaches ``x``."""
    for at in range(0, len(way) - 1, 3):
        if way[at + 3].x < x and at + 4 < len(way):
            continue
        low, high = 0.0, 1.0
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (middle, high) if _halves(way[at : at + 4], middle)[0][-1].x < x else (low, middle)
        first, second = _halves(way[at : at + 4], low)
        return [*way[:at], *first], [*second, *way[at + 4 :]]
    return list(way), [way[-1]]


def _halves(points: Sequence[Point], t: float) -> tuple[list[Point], list[Point]]:
    """De Casteljau: a segment before and after ``t``."""
    first, second = [points[0]], [points[-1]]
    while len(points) > 1:
        points = [Point(a.x + (b.x - a.x) * t, a.y + (b.y - a.y) * t) for a, b in pairwise(points)]
        first.append(points[0])
        second.insert(0, points[-1])
    return first, second


def _line(way: list[Point], end: Point) -> None:
    a = way[-1]
    way += [Point(a.x + (end.x - a.x) / 3, a.y + (end.y - a.y) / 3), Point(a.x + (end.x - a.x) * 2 / 3, a.y + (end.y - a.y) * 2 / 3), end]


def _turn(way: list[Point], y: float, side: float) -> None:
    """Half around, to the height ``y``."""
    a = way[-1]
    out = side * min(PAD, 0.66 * abs(y - a.y))
    way += [Point(a.x + out, a.y), Point(a.x + out, y), Point(a.x, y)]
