"""Paths of wires: chains of Bezier segments, their parallel beside them, and their text as SVG. Imports layout types only."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tensorviz.views.layout.types import Point


def line(a: Point, b: Point) -> list[Point]:
    """A straight segment as a Bezier curve, without its first point."""
    return [Point(a.x + (b.x - a.x) / 3, a.y + (b.y - a.y) / 3), Point(a.x + (b.x - a.x) * 2 / 3, a.y + (b.y - a.y) * 2 / 3), b]


def swing(a: Point, b: Point, direction: str) -> list[Point]:
    """An S-curve that leaves and arrives along the flow, without its first point."""
    if direction == "LR":
        half = (b.x - a.x) / 2
        return [Point(a.x + half, a.y), Point(b.x - half, b.y), b]
    half = (b.y - a.y) / 2
    return [Point(a.x, a.y + half), Point(b.x, b.y - half), b]


def beside(path: Sequence[Point], distance: float) -> list[Point]:
    """The parallel of a Bezier chain at ``distance`` to the right of its direction (below it, where it runs to the right).

    Each control polygon is moved leg by leg and joined where its moved legs meet, after Tiller and Hanson (1984).
    """
    out: list[Point] = []
    for i in range(0, len(path) - 1, 3):
        corners = path[i : i + 4]
        legs = [_unit(corners[j], corners[j + 1]) for j in range(3)]
        known = [leg for leg in legs if leg is not None]
        if not known:
            continue
        first = legs[0] or known[0]
        second = legs[1] or first
        third = legs[2] or known[-1]
        moved = [
            _shift(corners[0], first, first, distance),
            _shift(corners[1], first, second, distance),
            _shift(corners[2], second, third, distance),
            _shift(corners[3], third, third, distance),
        ]
        out.extend(moved if not out else moved[1:])
    return out or list(path)


def _unit(a: Point, b: Point) -> Point | None:
    dx, dy = b.x - a.x, b.y - a.y
    size = math.hypot(dx, dy)
    return Point(dx / size, dy / size) if size > 1e-6 else None


def _shift(at: Point, before: Point, after: Point, distance: float) -> Point:
    """A corner moved so that it stays ``distance`` beside both of its legs; sharp corners are not drawn out beyond twice the distance."""
    nx, ny = -(before.y + after.y) / 2, (before.x + after.x) / 2
    square = nx * nx + ny * ny
    reach = distance / max(square, 0.25)
    return Point(at.x + nx * reach, at.y + ny * reach)


def at(path: Sequence[Point], part: float) -> tuple[Point, Point]:
    """The point and the direction at ``part`` (0 to 1) of the segments of a chain."""
    count = (len(path) - 1) // 3
    t = min(max(part, 0.0), 1.0) * count
    i = min(int(t), count - 1)
    t -= i
    a, b, c, d = path[3 * i : 3 * i + 4]
    u = 1 - t
    weights = (u**3, 3 * u * u * t, 3 * u * t * t, t**3)
    point = Point(sum(w * p.x for w, p in zip(weights, (a, b, c, d), strict=True)), sum(w * p.y for w, p in zip(weights, (a, b, c, d), strict=True)))
    slope = [(u * u, a, b), (2 * u * t, b, c), (t * t, c, d)]
    dx, dy = sum(w * (q.x - p.x) for w, p, q in slope), sum(w * (q.y - p.y) for w, p, q in slope)
    size = math.hypot(dx, dy) or 1.0
    return point, Point(dx / size, dy / size)


def number(value: float) -> str:
    """A coordinate with at most one decimal: a tenth of a pixel is not seen."""
    text = f"{value:.1f}"
    text = text.removesuffix(".0")
    return "0" if text == "-0" else text


def path_text(path: Sequence[Point]) -> str:
    """The ``d`` of a path."""
    parts = [f"M{number(path[0].x)},{number(path[0].y)}"]
    before = path[0]
    for i in range(1, len(path), 3):
        b, c, d = path[i : i + 3]
        if abs(b.y - before.y) < 0.05 and abs(c.y - before.y) < 0.05 and abs(d.y - before.y) < 0.05:
            if parts[-1][0] == "H":
                parts.pop()
            parts.append(f"H{number(d.x)}")
        elif abs(b.x - before.x) < 0.05 and abs(c.x - before.x) < 0.05 and abs(d.x - before.x) < 0.05:
            if parts[-1][0] == "V":
                parts.pop()
            parts.append(f"V{number(d.y)}")
        else:
            parts.append(f"C{number(b.x)},{number(b.y)} {number(c.x)},{number(c.y)} {number(d.x)},{number(d.y)}")
        before = d
    return "".join(parts)


def arrow(tip: Point, direction: Point, length: float, breadth: float) -> str:
    """The ``d`` of an arrow head that points along ``direction``."""
    bx, by = tip.x - direction.x * length, tip.y - direction.y * length
    nx, ny = -direction.y * breadth / 2, direction.x * breadth / 2
    return f"M{number(tip.x)},{number(tip.y)}L{number(bx + nx)},{number(by + ny)}L{number(bx - nx)},{number(by - ny)}Z"
