"""The picture of a trace, composed once for stills and for the stepper: scene, places, wires, marks. Imports trace and other views only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorviz.trace import Trace
from tensorviz.views import curves, state, text
from tensorviz.views.boxes import Badge, Row, Spot, Station, name_size, outline, station
from tensorviz.views.curves import number as n
from tensorviz.views.labels import SIZE
from tensorviz.views.layout import Box, Layout, Link, Point, layout
from tensorviz.views.marks import Pen
from tensorviz.views.paint import Paint
from tensorviz.views.palette import Scale
from tensorviz.views.parts import NAME, parts
from tensorviz.views.scene import MOST_NODES, Item, Scene, Wire, scene

MARGIN = 12.0
HEAD, BACK_HEAD = (8.0, 6.5), (9.0, 10.0)
"""Length and breadth of the arrow heads of forward and backward wires."""
NOW_HEAD = (13.0, 15.0)
CLEAR = 2.0
"""Between a wire and the boxes that it passes."""
HALO = 7.0
"""Of the active node; the active share's head stands before it."""
BESIDE = 5.0
"""Of the backward wire from the forward one."""


@dataclass(slots=True)
class Picture:
    """What the document is made of; coordinates start at (0, 0)."""

    body: str
    width: float
    height: float
    scale: Scale
    step: int
    notes: list[str]
    has_cells: bool
    has_saved: bool
    sideways: bool


def compose(
    trace: Trace,
    paint: Paint,
    scale: Scale,
    *,
    step: int | None,
    direction: str,
    engine: str,
    most: int = MOST_NODES,
    hard: int | None = None,
    timeout: float = 20.0,
) -> Picture:
    """Draw ``trace`` after ``step`` (None: after the whole pass, nothing active)."""
    drawn = scene(trace, focus=state.focus_at(trace, step), most=most, hard=hard)
    now = state.state_at(trace, step, {item.node.id for item in drawn.items if item.node is not None})
    placed = [station(p, direction) for p in parts(trace, drawn)]
    composer = _Composer(trace, paint, scale, now, drawn, placed, direction)
    return composer.compose(engine, timeout)


class _Composer:
    def __init__(self, trace: Trace, paint: Paint, scale: Scale, now: state.State, drawn: Scene, placed: list[Station], direction: str) -> None:
        self.trace, self.paint, self.now, self.scene, self.direction = trace, paint, now, drawn, direction
        self.pen = Pen(paint, scale)
        self.stations = {s.key: s for s in placed}
        self.sign = 1.0 if direction == "LR" else -1.0
        self.flow = Point(1, 0) if direction == "LR" else Point(0, 1)
        # In a forward-only record nothing can be reached; grey would say that something is wrong.
        self.waiting = not trace.steps

    # ---- places ----------------------------------------------------------------------------------------------

    def compose(self, engine: str, timeout: float) -> Picture:
        boxes = [Box(s.key, s.left + s.right, s.top + s.bottom) for s in self.stations.values()]
        rows = [self._row(wire) for wire in self.scene.wires]
        links = [Link(wire.tail, wire.head, row.port) for wire, row in zip(self.scene.wires, rows, strict=True)]
        placed = layout(boxes, links, engine=engine, direction=self.direction, timeout=timeout)
        self.centre = {s.key: self._centre(s, placed) for s in self.stations.values()}
        self.obstacles = Obstacles(boxes, placed)
        edges = [self._edge(wire, row, curve) for wire, row, curve in zip(self.scene.wires, rows, placed.splines, strict=True)]
        if not self.paint.live:
            edges.sort(key=lambda pair: pair[0])  # the active one on top; the sort is stable
        marks = [self._station(s) for s in self.stations.values()]
        stubs = [self._stub(s, row) for s in self.stations.values() for row in s.rows if row.arrival.stub]
        badges = [mark for s in self.stations.values() for mark in self._badges(s)]
        notes = [note for note in (self.scene.note, placed.note) if note]
        return Picture(
            "".join([*(markup for _, markup in edges), *stubs, *marks, *badges]),
            placed.width + 2 * MARGIN,
            placed.height + 2 * MARGIN,
            self.pen.scale,
            max(self.now.step, 0),
            notes,
            any(c is not None and c.label.form == "cells" for s in self.stations.values() for c in (s.parts.value, s.parts.gradient)),
            any(s.parts.saved_input or s.parts.saved_output for s in self.stations.values()),
            self.direction == "LR",
        )

    def _row(self, wire: Wire) -> Row:
        use = wire.uses[0] if wire.uses else f"{self.stations[wire.head].parts.item.members[0]}:cut"
        return next(row for row in self.stations[wire.head].rows if row.arrival.use == use)

    def _centre(self, s: Station, placed: Layout) -> Point:
        middle = placed.positions[s.key]
        return Point(
            middle.x + MARGIN - (s.left + s.right) / 2 + s.left,
            middle.y + MARGIN - (s.top + s.bottom) / 2 + s.top,
        )

    # ---- wires -----------------------------------------------------------------------------------------------

    def _path(self, wire: Wire, row: Row, curve: list[Point]) -> list[Point]:
        """From the tail's glyph along its stem, through the layout's curve, along the row, into the head's glyph."""
        tail, head = self.stations[wire.tail], self.stations[wire.head]
        at, to = self.centre[wire.tail], self.centre[wire.head]
        sideways = self.direction == "LR"
        out = outline(tail.parts, 0.0, "x" if sideways else "y")
        start = Point(at.x + out, at.y) if sideways else Point(at.x, at.y + out)
        leave = Point(at.x + tail.leave.x, at.y + tail.leave.y)
        enter = Point(to.x - head.left, to.y + row.port) if sideways else Point(to.x + row.port, to.y - head.top)
        turn = Point(to.x + row.turn, enter.y) if sideways else Point(enter.x, to.y + row.turn)
        meet = Point(to.x + row.meet.x, to.y + row.meet.y)
        path = [start, *curves.line(start, leave)]
        path += self._between(wire, leave, enter, curve)
        path += curves.line(enter, turn)
        if abs(turn.x - meet.x) > 0.5 or abs(turn.y - meet.y) > 0.5:
            path += curves.swing(turn, meet, self.direction)
        return path

    def _between(self, wire: Wire, leave: Point, enter: Point, curve: list[Point]) -> list[Point]:
        """One S-curve where no box is in its way, otherwise the layout's curve, which goes around them."""
        ahead = enter.x - leave.x if self.direction == "LR" else enter.y - leave.y
        if ahead > 8:
            simple = [leave, *curves.swing(leave, enter, self.direction)]
            if not self.obstacles.meet(simple, wire.tail, wire.head):
                return simple[1:]
        moved = [Point(p.x + MARGIN, p.y + MARGIN) for p in curve[1:-1]]
        return [*moved, enter]

    def _edge(self, wire: Wire, row: Row, curve: list[Point]) -> tuple[int, str]:
        path = self._path(wire, row, curve)
        how = "detached" if wire.cut else self._wire_state(wire)
        active = how == "active"
        tail, live = self.stations[wire.tail], self.paint.live
        end = path[-1]
        forward = path[:-1] + [Point(end.x - 5 * self.flow.x, end.y - 5 * self.flow.y)]
        out = []
        back = self._back(path, tail, HALO if active and not live else 0.0)
        if active or live:
            out.append(self.pen.path(curves.path_text(back), "band"))
        out.append(self.pen.path(curves.path_text(forward), "wire"))
        out.append(self.pen.path(curves.arrow(end, self.flow, *HEAD), "head"))
        if how in ("passed", "active", "blocked") or live:
            out.append(self.pen.path(curves.path_text(back), "back", how))
            out.append(self._backhead(back, active))
        if how == "blocked" or live:
            middle, slope = curves.at(path, 0.5)
            nx, ny = -slope.y * 9, slope.x * 9
            out.append(self.pen.path(f"M{n(middle.x - nx)},{n(middle.y - ny)}L{n(middle.x + nx)},{n(middle.y + ny)}", "block"))
        if wire.cut:
            out.append(self._cut(row, wire.head))
        name = f' data-edge="{wire.uses[0]}"' if wire.uses else f' data-cut="{self.stations[wire.head].parts.item.members[0]}"'
        if len(wire.uses) > 1:
            name += f' data-uses="{" ".join(wire.uses)}"'
        mark = ' data-active=""' if active else ""
        return int(active), f'<g class="tv-edge"{name} data-state="{how}"{mark}>{"".join(out)}</g>'

    def _back(self, path: list[Point], tail: Station, clear: float = 0.0) -> list[Point]:
        """The backward wire: beside the forward one, from the receiver (so that dashes on a shared stem fall together) to the sender."""
        shift = BACK_HEAD[0] - 1 + max(7.0 if tail.parts.saved_output else 0.0, clear)
        start = Point(path[0].x + shift * self.flow.x, path[0].y + shift * self.flow.y)
        # The first piece of every path is the straight stem, so it can be begun later without bending it.
        return curves.beside([start, *curves.line(start, path[3]), *path[4:]], BESIDE * self.sign)

    def _backhead(self, back: list[Point], active: bool) -> str:
        length, breadth = NOW_HEAD if active and not self.paint.live else BACK_HEAD
        # The wire begins behind the head's tip, so that its first dash does not stick out of it.
        tip = Point(back[0].x - (BACK_HEAD[0] - 1) * self.flow.x, back[0].y - (BACK_HEAD[0] - 1) * self.flow.y)
        return self.pen.path(curves.arrow(tip, Point(-self.flow.x, -self.flow.y), length, breadth), "backhead")

    def _cut(self, row: Row, head: str) -> str:
        """Two slashes across a gap in the wire."""
        to, s = self.centre[head], self.stations[head]
        if self.direction == "LR":
            x, y = to.x - s.left + 20, to.y + row.port
            gap, slashes = f"M{n(x - 5)},{n(y)}H{n(x + 5)}", f"M{n(x - 9)},{n(y + 8)}l6,-16M{n(x + 3)},{n(y + 8)}l6,-16"
        else:
            x, y = to.x + row.port, to.y - s.top + 18
            gap, slashes = f"M{n(x)},{n(y - 5)}V{n(y + 5)}", f"M{n(x - 8)},{n(y - 3)}l16,-6M{n(x - 8)},{n(y + 9)}l16,-6"
        return self.pen.path(gap, "cutgap") + self.pen.path(slashes, "cutmark")

    def _wire_state(self, wire: Wire) -> str:
        found = [self.now.edges.get(use, "idle") for use in wire.uses]
        for how in ("active", "passed", "blocked"):
            if how in found:
                return how
        return "idle"

    def _stub(self, s: Station, row: Row) -> str:
        """A wire whose operand is not drawn: its last piece, after an ellipsis."""
        to = self.centre[s.key]
        use = row.arrival.use
        how = self.now.edges.get(use, "idle")
        if self.direction == "LR":
            start, word = Point(to.x - s.left + 16, to.y + row.port), Point(to.x - s.left + 2, to.y + row.port + 4)
            turn = Point(to.x + row.turn, start.y)
        else:
            start, word = Point(to.x + row.port, to.y - s.top + 16), Point(to.x + row.port - 5, to.y - s.top + 10)
            turn = Point(start.x, to.y + row.turn)
        meet = Point(to.x + row.meet.x, to.y + row.meet.y)
        path = [start, *curves.line(start, turn)]
        if abs(turn.x - meet.x) > 0.5 or abs(turn.y - meet.y) > 0.5:
            path += curves.swing(turn, meet, self.direction)
        out = [
            self.pen.text(word.x, word.y, "…", "dims", SIZE),
            self.pen.path(curves.path_text(path), "wire"),
            self.pen.path(curves.arrow(meet, self.flow, *HEAD), "head"),
        ]
        if how != "idle" or self.paint.live:
            out.append(self.pen.path(curves.path_text(curves.beside(path, BESIDE * self.sign)), "back", how))
        return f'<g class="tv-edge tv-stub" data-edge="{use}" data-state="{how}"{self._flag(how)}>{"".join(out)}</g>'

    @staticmethod
    def _flag(how: str) -> str:
        return ' data-active=""' if how == "active" else ""

    # ---- stations --------------------------------------------------------------------------------------------

    def _station(self, s: Station) -> str:
        at, p = self.centre[s.key], s.parts
        how = self._item_state(p.item)
        node, pen = p.item.node, self.pen
        glyph = [pen.glyph(p.shape, *p.glyph, p.root, how), pen.ground(p.word, p.size, how)]
        glyph.append(pen.text(0, 6.2 if p.size > 16 else 5, p.word, "label", p.size, "middle", how, p.shape))
        if p.name:
            glyph.append(pen.text(s.name_at.x, s.name_at.y, p.name, "name", name_size(p), s.name_anchor, how, "root" if p.root else ""))
        if p.saved_input:
            glyph.append(pen.saved(-p.glyph[0] / 2 - 1, 0) if self.direction == "LR" else pen.saved(0, -p.glyph[1] / 2 - 1))
        if p.saved_output:
            glyph.append(pen.saved(p.glyph[0] / 2 + 1, 0) if self.direction == "LR" else pen.saved(0, p.glyph[1] / 2 + 1))
        seed = self._seed(s, how) if p.root and not any(w.tail == s.key for w in self.scene.wires) else ""
        who = f'data-node="{node.id}"' if node is not None else f'data-group="{text.xml(p.item.key)}" data-members="{_ranges(p.item.members)}"'
        live = f' tabindex="-1" role="button" aria-label="{text.xml(p.aria)}"' if self.paint.live else ""
        head = f'<g {who} class="tv-node tv-kind-{p.shape}{" tv-root" if p.root else ""}" data-state="{how}"{self._flag(how)}{live} transform="translate({n(at.x)},{n(at.y)})">'
        return f"{head}<title>{text.xml(p.title)}</title>{seed}{''.join(glyph)}</g>{self._labels(s, how)}"

    def _seed(self, s: Station, how: str) -> str:
        """The wire that leaves a root, on which its seed comes in."""
        out = outline(s.parts, 0.0, "x" if self.direction == "LR" else "y")
        start, end = (Point(out, 0), s.leave) if self.direction == "LR" else (Point(0, out), s.leave)
        path = [start, *curves.line(start, end)]
        marks = [self.pen.path(curves.path_text(path), "wire")]
        if how != "idle" or self.paint.live:
            if not self.waiting:
                back = self._back(path, s)
                marks += [self.pen.path(curves.path_text(back), "back"), self._backhead(back, False)]
        return f'<g class="tv-seed" data-seed="">{"".join(marks)}</g>'

    def _labels(self, s: Station, how: str) -> str:
        at, node = self.centre[s.key], s.parts.item.node
        out = []
        if node is not None:
            if s.value is not None:
                out.append(f'<g data-value="{node.id}">{self._spot(s.value, s.value.content.arrays[-1], at, "value")}</g>')
            if s.gradient is not None:
                out.append(self._total(node.id, s.gradient, at, how))
            if s.missing_at is not None:
                out.append(self.pen.text(at.x + s.missing_at.x, at.y + s.missing_at.y + 14, s.parts.missing, "none", SIZE))
        for i, name, spot in s.lines:
            x, y = at.x + spot.at.x, at.y + spot.at.y
            wide = text.width(name, NAME)
            out.append(self.pen.path(f"M{n(x - wide - 24)},{n(y + 8)}l4,-5h7l4,5l-4,5h-7z", "card"))
            out.append(self.pen.text(x - wide - 5, y + 12, name, "name", NAME))
            out.append(self._total(i, Spot(spot.content, Point(spot.at.x + 5, spot.at.y - 2)), at, "idle" if i not in self.now.totals else "done"))
        return "".join(out)

    def _total(self, node: int, spot: Spot, at: Point, how: str) -> str:
        """The gradient below the wire: the running sum of the step; in a skeleton the final one."""
        array = self.now.totals.get(node)
        if array is None:
            if not self.paint.live:
                return ""
            array = spot.content.arrays[-1]
        label = spot.content.label
        inner = self._spot(spot, array, at, "gradient")
        return f'<g data-total="{node}" data-form="{label.form}" data-rows="{label.rows}" data-cols="{label.cols}" data-state="{how}">{inner}</g>'

    def _spot(self, spot: Spot, array: Any, at: Point, kind: Any) -> str:
        return self.pen.label(spot.content.label, array, Point(at.x + spot.at.x, at.y + spot.at.y), kind)

    def _item_state(self, item: Item) -> str:
        if self.waiting:
            return "reached" if item.node is None or item.node.requires_grad else "idle"
        if item.node is not None:
            return self.now.nodes[item.node.id]
        found = {self.now.nodes[i] for i in item.members}
        if "active" in found:
            return "active"
        inside = [self.now.nodes[i] for i in item.members if self.trace.nodes[i].shares or i in self.trace.roots]
        if inside and all(how in ("done", "zero") for how in inside):
            return "done"
        return "reached" if found - {"idle"} else "idle"

    # ---- badges ----------------------------------------------------------------------------------------------

    def _badges(self, s: Station) -> list[str]:
        at, out = self.centre[s.key], []
        for row in s.rows:
            use = row.arrival.use
            if row.share is not None:
                how = self.now.edges.get(use, "idle")
                if self.paint.live or how in ("passed", "active", "blocked"):
                    label = row.share.content.label
                    inner = self._spot(row.share, row.share.content.arrays[-1], at, "gradient")
                    out.append(f'<g data-share="{use}" data-form="{label.form}" data-state="{how}">{inner}</g>')
            for badge in row.badges:
                out.append(self.pen.pill(badge.tag, _moved(badge, at), self._when(use, badge.tag.kind), f' data-on="{use}"'))
        if s.fork is not None:
            node = s.parts.item.node
            assert node is not None
            count = len(node.shares)
            done = self.now.arrived.get(node.id, 0)
            adds = self.now.kind == "accumulate" and self.now.active == node.id
            when = "now" if adds else "past" if done else "future"
            words = f"Σ {done}/{count}" if not self.waiting else s.fork.tag.text
            out.append(self.pen.pill(s.fork.tag, _moved(s.fork, at), when, f' data-fork="{node.id}" data-count="{count}"', words))
        return out

    def _when(self, use: str, kind: str) -> str:
        how = self.now.edges.get(use, "idle")
        if how == "active" and (self.now.kind == "unbroadcast" if kind == "unbroadcast" else self.now.kind == "accumulate"):
            return "now"
        return "future" if how == "idle" or (how == "active" and kind == "route") else "past"


class Obstacles:
    """All boxes at once, so that asking what a curve runs into is one comparison of arrays."""

    def __init__(self, boxes: list[Box], placed: Layout) -> None:
        self.number = {box.id: i for i, box in enumerate(boxes)}
        x = np.array([placed.positions[box.id].x + MARGIN for box in boxes])
        y = np.array([placed.positions[box.id].y + MARGIN for box in boxes])
        half_w, half_h = np.array([box.width / 2 for box in boxes]) + CLEAR, np.array([box.height / 2 for box in boxes]) + CLEAR
        self.left, self.right, self.top, self.bottom = x - half_w, x + half_w, y - half_h, y + half_h

    def meet(self, curve: list[Point], *apart: str) -> bool:
        """Whether one Bezier segment passes through a box other than those named; looked at every 24th of the way."""
        points = _WEIGHTS @ np.array(curve)
        x, y = points[:, :1], points[:, 1:]
        hit = ((x > self.left) & (x < self.right) & (y > self.top) & (y < self.bottom)).any(axis=0)
        hit[[self.number[key] for key in apart]] = False
        return bool(hit.any())


_T = np.linspace(0, 1, 25)[1:-1, None]
_WEIGHTS = np.hstack([(1 - _T) ** 3, 3 * (1 - _T) ** 2 * _T, 3 * (1 - _T) * _T**2, _T**3])


def _moved(badge: Badge, at: Point) -> Point:
    return Point(at.x + badge.at.x, at.y + badge.at.y)


def _ranges(members: tuple[int, ...]) -> str:
    """Ids as ``3-17 20``.

    >>> _ranges((1, 2, 3, 7))
    '1-3 7'
    """
    out: list[tuple[int, int]] = []
    for i in members:
        if out and out[-1][1] == i - 1:
            out[-1] = (out[-1][0], i)
        else:
            out.append((i, i))
    return " ".join(str(a) if a == b else f"{a}-{b}" for a, b in out)
