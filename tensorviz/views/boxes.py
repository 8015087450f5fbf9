"""The geometry of one item: where its glyph, labels, badges and wire ends stand, and how large its box is. Imports other views only.

Everything is relative to the glyph's centre, y downwards. Wires arrive at the middle of the box's near side (shifted by the row's ``port``) and leave
from the middle of its far side, so a box is as large on one side of the centre as on the other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from tensorviz.views import text
from tensorviz.views.labels import LINE, MARK, SIZE
from tensorviz.views.layout.types import Point
from tensorviz.views.parts import NAME, PILL, Arrival, Content, Mark, Parts, Tag

VALUE_GAP, GRADIENT_GAP = 10.0, 15.0
"""From the wire up to a value and down to a gradient, which leaves room for the backward wire."""
SPREAD = 28.0
"""Between two wires that arrive at one glyph."""
HALF = 15.0
"""How far from the middle a wire meets the glyph where there are more than two."""
SWING = 24.0
"""Along the flow, in which wires in wide rows converge to the glyph."""
DIAMOND = 7.0
"""Kept free before the glyph for the mark of a saved input."""
STEM = 20.0
"""The least that sticks out of a glyph, so that the backward wire's head has a straight piece to stand on."""
MARGIN = 8.0
LEAST_STEM = 10.0


@dataclass(slots=True)
class Badge:
    """A badge and its centre."""

    tag: Tag
    at: Point


@dataclass(slots=True)
class Spot:
    """A label and its place: the top left corner of its table, or of the line of its text."""

    content: Content
    at: Point


@dataclass(slots=True)
class Row:
    """One arriving wire inside the box: it enters at ``port``, runs straight until ``turn``, and ends at ``meet``."""

    arrival: Arrival
    port: float
    turn: float
    meet: Point
    badges: list[Badge] = field(default_factory=list)
    share: Spot | None = None


@dataclass(slots=True)
class Station:
    """Parts with their places."""

    parts: Parts
    rows: list[Row]
    leave: Point
    """Where the stem ends, at the box's far side."""
    name_at: Point
    name_anchor: str
    value: Spot | None = None
    gradient: Spot | None = None
    missing_at: Point | None = None
    fork: Badge | None = None
    born: list[tuple[Mark, Point]] = field(default_factory=list)
    lines: list[tuple[int, str, Spot]] = field(default_factory=list)
    left: float = 0.0
    right: float = 0.0
    top: float = 0.0
    bottom: float = 0.0

    @property
    def key(self) -> str:
        return self.parts.item.key


def station(parts: Parts, direction: str) -> Station:
    """Arrange the parts of an item for a picture that runs to the right (``LR``) or downwards (``TB``)."""
    return _sideways(parts) if direction == "LR" else _downwards(parts)


def _meets(count: int) -> list[float]:
    step = SPREAD if count == 2 else min(SPREAD, 2 * HALF / max(1, count - 1))
    return [(i - (count - 1) / 2) * step for i in range(count)]


def outline(parts: Parts, off: float, side: str) -> float:
    """The distance from the centre to the glyph's outline, ``off`` pixels beside the middle, horizontally (``x``) or vertically (``y``)."""
    w, h = parts.glyph
    if parts.shape == "op":
        r = h / 2
        if side == "x":
            return w / 2 - r + math.sqrt(max(0.0, r * r - off * off))
        flat = max(0.0, abs(off) - (w / 2 - r))
        return math.sqrt(max(0.0, r * r - flat * flat))
    return (w if side == "x" else h) / 2


def _gap(parts: Parts) -> float:
    """Kept free before the glyph for the mark of a saved input."""
    return DIAMOND if parts.saved_input else 0.0


def _name_is_wide(parts: Parts) -> bool:
    return _name_width(parts) / 2 > parts.glyph[0] / 2 + 12


def name_size(parts: Parts) -> float:
    """A root's name is a little larger: it is what the picture is about."""
    return NAME + 2 if parts.root else NAME


def _name_width(parts: Parts) -> float:
    return text.width(parts.name, name_size(parts))


def ellipsis_width(arrival: Arrival) -> float:
    """Room for what stands at the beginning of a wire whose operand is not drawn."""
    return 14.0 if len(arrival.stub) == 1 else 6.0 + text.width(arrival.stub, SIZE)


def _sideways(parts: Parts) -> Station:
    w, h = parts.glyph
    gap = _gap(parts)
    rows = [
        Row(arrival, 0.0, 0.0, Point(-outline(parts, off, "x") - (gap if abs(off) < 9 else 0.0), off))
        for arrival, off in zip(parts.arrivals, _meets(len(parts.arrivals)), strict=True)
    ]
    # Rows as far apart as what stands on them needs: badge and share label belong to the wire above them.
    below = [max(PILL / 2 if row.arrival.tags else 0.0, GRADIENT_GAP + row.arrival.share.label.height if row.arrival.share else 0.0) for row in rows]
    at = 0.0
    for i, row in enumerate(rows):
        row.port = at
        at += max(
            SPREAD if len(rows) <= 12 else 16.0,
            below[i] + (PILL / 2 if i + 1 < len(rows) and rows[i + 1].arrival.tags else 7.0) + (3 if below[i] else 0),
        )
    middle = (rows[0].port + rows[-1].port) / 2 if rows else 0.0
    left = w / 2 + gap + (LEAST_STEM if rows else MARGIN)
    for row in rows:
        row.port -= middle
        straight = abs(row.port - row.meet.y) < 0.5
        row.turn = row.meet.x if straight else -w / 2 - gap - SWING
        x = row.turn - (4 if straight and row.arrival.tags else 2) - (9 if straight else 0)
        for tag in reversed(row.arrival.tags):
            row.badges.append(Badge(tag, Point(x - tag.width / 2, row.port)))
            x -= tag.width + 4
        if row.arrival.share is not None:
            content = row.arrival.share
            x -= content.label.width
            row.share = Spot(content, Point(x, row.port + GRADIENT_GAP))
            x -= MARK if content.label.form == "cells" else 2
        if row.arrival.cut:
            x -= 36
        if row.arrival.stub:
            x -= 16 + ellipsis_width(row.arrival)
        left = max(left, -x + 4)
    right, start = w / 2, w / 2 + 10 + (6 if parts.saved_output else 0)
    top, bottom = h / 2 + 4, h / 2 + 4
    out = Station(parts, rows, Point(0, 0), Point(0, 0), "middle")
    mark = MARK if parts.gradient is not None and parts.gradient.label.form == "cells" else 0.0
    if parts.value is not None:
        label = parts.value.label
        out.value = Spot(parts.value, Point(start + mark, -VALUE_GAP - label.height))
        top, right = max(top, VALUE_GAP + label.height), max(right, start + mark + label.width)
    if parts.gradient is not None:
        label = parts.gradient.label
        out.gradient = Spot(parts.gradient, Point(start + mark, GRADIENT_GAP))
        bottom, right = max(bottom, GRADIENT_GAP + label.height), max(right, start + mark + label.width)
    elif parts.missing:
        out.missing_at = Point(start, GRADIENT_GAP)
        bottom, right = max(bottom, GRADIENT_GAP + 18), max(right, start + text.width(parts.missing, 14))
    if parts.fork is not None and parts.leaves:
        start_of_fork = max(right + 8, w / 2 + STEM + 10)
        out.fork = Badge(parts.fork, Point(start_of_fork + parts.fork.width / 2, 0))
        right = start_of_fork + parts.fork.width
    elif parts.leaves:
        right = max(right + 6, w / 2 + STEM + (4 if parts.shape == "scope" else 0) + (6 if parts.saved_output else 0))
    if parts.root:
        right += 12
    out.leave = Point(right, 0)
    if rows:
        top = max(top, -rows[0].port + (PILL / 2 if rows[0].arrival.tags else 6))
        bottom = max(bottom, rows[-1].port + max(below[-1], 6))
    if parts.born:
        y = h / 2 + 9 + (18 if parts.root and parts.name and not _name_is_wide(parts) else 0) + PILL / 2
        for birth in reversed(parts.born):
            out.born.append((birth, Point(0, -y)))
            left, right, top = max(left, birth.tag.width / 2 + 4), max(right, birth.tag.width / 2 + 4), max(top, y + PILL / 2 + 2)
            y += PILL + 3
    top, bottom, left, right = _place_name(out, left, right, top, bottom)
    for i, (node, name, content) in enumerate(parts.lines):
        y = bottom + 4 + i * LINE
        out.lines.append((node, name, Spot(content, Point(-w / 2 + 24 + text.width(name, NAME), y))))
        right = max(right, -w / 2 + 24 + text.width(name, NAME) + content.label.width)
    bottom += len(parts.lines) * LINE + (4 if parts.lines else 0)
    half = max(top, bottom) + 2
    out.left, out.right, out.top, out.bottom = left, right, half, half
    out.leave = Point(right, 0)
    return out


def _place_name(out: Station, left: float, right: float, top: float, bottom: float) -> tuple[float, float, float, float]:
    """Below the glyph, for a root above it; where it is so wide that it would meet the labels, below or above those too."""
    parts = out.parts
    if not parts.name:
        return top, bottom, left, right
    half, h = _name_width(parts) / 2, parts.glyph[1]
    wide = _name_is_wide(parts)
    if parts.root:
        y = -(top + 6) if wide else -h / 2 - 12
        top = max(top, -y + 13)
    else:
        y = bottom + 15 if wide else h / 2 + 19
        bottom = max(bottom, y + 5)
    out.name_at = Point(0, y)
    return top, bottom, max(left, half + 4), max(right, half + 4)


def _downwards(parts: Parts) -> Station:
    w, h = parts.glyph
    gap = _gap(parts)
    rows = [
        Row(arrival, 0.0, 0.0, Point(off, -outline(parts, off, "y") - (gap if abs(off) < 9 else 0.0)))
        for arrival, off in zip(parts.arrivals, _meets(len(parts.arrivals)), strict=True)
    ]
    at = 0.0
    for i, row in enumerate(rows):
        if i:
            before = rows[i - 1].arrival
            beside = GRADIENT_GAP + MARK + before.share.label.width if before.share else 0.0
            pills = (max((t.width for t in before.tags), default=0.0) + max((t.width for t in row.arrival.tags), default=0.0)) / 2
            at += max(
                SPREAD if len(rows) <= 12 else 16.0,
                beside + 16 + max((t.width for t in row.arrival.tags), default=0.0) / 2,
                pills + 6 if pills else 0.0,
                ellipsis_width(before) if before.stub else 0.0,
            )
        row.port = at
    middle = (rows[0].port + rows[-1].port) / 2 if rows else 0.0
    top = h / 2 + gap + (LEAST_STEM if rows else MARGIN)
    left, right = w / 2 + 4, w / 2 + 4
    for row in rows:
        row.port -= middle
        straight = abs(row.port - row.meet.x) < 0.5
        row.turn = row.meet.y if straight else -h / 2 - gap - SWING
        y = row.turn - (12 if straight else 2)
        for tag in reversed(row.arrival.tags):
            row.badges.append(Badge(tag, Point(row.port, y - PILL / 2)))
            left, right = max(left, tag.width / 2 - row.port), max(right, row.port + tag.width / 2)
            y -= PILL + 4
        if row.arrival.share is not None:
            content = row.arrival.share
            y -= content.label.height
            row.share = Spot(content, Point(row.port + GRADIENT_GAP + (MARK if content.label.form == "cells" else 0), y))
            right = max(right, row.share.at.x + content.label.width)
            y -= 2
        if row.arrival.cut or row.arrival.stub:
            y -= 32
            right = max(right, row.port + ellipsis_width(row.arrival))
        left, right = max(left, -row.port + 6), max(right, row.port + 6)
        top = max(top, -y + 4)
    out = Station(parts, rows, Point(0, 0), Point(0, 0), "start")
    below = h / 2
    start = h / 2 + 12 + (6 if parts.saved_output else 0)
    if parts.name:
        out.name_at = Point(w / 2 + 13, 4)
        right = max(right, w / 2 + 13 + _name_width(parts))
    for i, birth in enumerate(parts.born):
        out.born.append((birth, Point(-w / 2 - 10 - birth.tag.width / 2, (i - (len(parts.born) - 1) / 2) * (PILL + 3))))
        left = max(left, w / 2 + 12 + birth.tag.width)
    if parts.value is not None:
        label = parts.value.label
        out.value = Spot(parts.value, Point(-VALUE_GAP - label.width, start))
        left, below = max(left, VALUE_GAP + label.width), max(below, start + label.height)
    if parts.gradient is not None:
        label = parts.gradient.label
        mark = MARK if label.form == "cells" else 0.0
        out.gradient = Spot(parts.gradient, Point(GRADIENT_GAP + mark, start))
        right, below = max(right, GRADIENT_GAP + mark + label.width), max(below, start + label.height)
    elif parts.missing:
        out.missing_at = Point(GRADIENT_GAP, start)
        right, below = max(right, GRADIENT_GAP + text.width(parts.missing, 14)), max(below, start + 18)
    for i, (node, name, content) in enumerate(parts.lines):
        y = start + i * LINE
        out.lines.append((node, name, Spot(content, Point(GRADIENT_GAP + 24 + text.width(name, NAME), y))))
        right, below = max(right, GRADIENT_GAP + 24 + text.width(name, NAME) + content.label.width), max(below, y + LINE)
    if parts.fork is not None and parts.leaves:
        start_of_fork = max(below + 6, h / 2 + STEM + 10)
        out.fork = Badge(parts.fork, Point(0, start_of_fork + PILL / 2))
        below = start_of_fork + PILL
    elif parts.leaves:
        below = max(below + 6, h / 2 + STEM + (6 if parts.saved_output else 0))
    if parts.root:
        below += 12
    out.leave = Point(0, below)
    half = max(left, right) + 2
    out.left, out.right, out.top, out.bottom = half, half, top, below
    return out
