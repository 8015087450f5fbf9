"""The wires of a picture: paths from glyph to glyph, their backward halves, cuts, stubs and the wire of the seed. Imports other views only."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tensorviz.views import curves, state
from tensorviz.views.boxes import Row, Station, ellipsis_width, outline
from tensorviz.views.curves import number as n
from tensorviz.views.labels import SIZE
from tensorviz.views.layout import Box, Layout, Point
from tensorviz.views.marks import Pen
from tensorviz.views.scene import Wire

MARGIN = 12.0
"""Around the whole picture."""
HEAD, BACK_HEAD = (8.0, 6.5), (9.0, 10.0)
"""Length and breadth of the arrow heads of forward and backward wires."""
NOW_HEAD = (13.0, 15.0)
CLEAR = 2.0
"""Between a wire and the boxes that it passes."""
HALO = 7.0
"""Of the active node; the active share's head stands before it."""
CARD = 4.0
"""How far the second card of a scope looks out on the right."""
SHORT = 160.0
BESIDE = 5.0
"""Of the backward wire from the forward one."""


class Wiring:
    """Draws wires between stations that have their places."""

    def __init__(
        self, pen: Pen, now: state.State, stations: dict[str, Station], centre: dict[str, Point], obstacles: Obstacles, direction: str, waiting: bool
    ) -> None:
        self.pen, self.paint, self.now, self.stations, self.centre, self.obstacles = pen, pen.paint, now, stations, centre, obstacles
        self.direction, self.waiting = direction, waiting
        self.sign = 1.0 if direction == "LR" else -1.0
        self.flow = Point(1, 0) if direction == "LR" else Point(0, 1)

    def _path(self, wire: Wire, row: Row, curve: list[Point], turns: bool) -> list[Point]:
        """From the tail's glyph along its stem, through the layout's curve, along the row, into the head's glyph."""
        tail, head = self.stations[wire.tail], self.stations[wire.head]
        at, to = self.centre[wire.tail], self.centre[wire.head]
        sideways = self.direction == "LR"
        out = outline(tail.parts, 0.0, "x" if sideways else "y")
        if tail.parts.shape == "scope" and sideways:
            out += CARD
        start = Point(at.x + out, at.y) if sideways else Point(at.x, at.y + out)
        leave = Point(at.x + tail.leave.x, at.y + tail.leave.y)
        enter = Point(to.x - head.left, to.y + row.port) if sideways else Point(to.x + row.port, to.y - head.top)
        turn = Point(to.x + row.turn, enter.y) if sideways else Point(enter.x, to.y + row.turn)
        meet = Point(to.x + row.meet.x, to.y + row.meet.y)
        path = [start, *curves.line(start, leave)]
        path += self._between(wire, leave, enter, curve, turns)
        path += curves.line(enter, turn)
        if abs(turn.x - meet.x) > 0.5 or abs(turn.y - meet.y) > 0.5:
            path += curves.swing(turn, meet, self.direction)
        return path

    def _between(self, wire: Wire, leave: Point, enter: Point, curve: list[Point], turns: bool) -> list[Point]:
        """One S-curve where no box is in its way and it stays in its row, otherwise the layout's curve, which goes around."""
        ahead = enter.x - leave.x if self.direction == "LR" else enter.y - leave.y
        if ahead > 8 and not turns:
            simple = [leave, *curves.swing(leave, enter, self.direction)]
            if not self.obstacles.meet(simple, wire.tail, wire.head):
                return simple[1:]
        moved = [Point(p.x + MARGIN, p.y + MARGIN) for p in curve[1:-1]]
        return [*moved, enter]

    def edge(self, wire: Wire, row: Row, curve: list[Point], turns: bool) -> tuple[int, str]:
        path = self._path(wire, row, curve, turns)
        how = self.state(wire)
        active = how == "active"
        tail, live = self.stations[wire.tail], self.paint.live
        forward, end = self._forward(path, self.stations[wire.head], row)
        out = []
        back = self._back(path, tail, 0.0 if live else self.clearance(tail))
        if active or live:
            out.append(self.pen.path(curves.path_text(back), "band"))
        out.append(self.pen.path(curves.path_text(forward), "wire"))
        out.append(self.pen.path(curves.arrow(end, self.flow, *HEAD), "head"))
        if how in ("passed", "active", "blocked") or live:
            out.append(self.pen.path(curves.path_text(back), "back", how))
            out.append(self._backhead(back, active))
        if how == "blocked" or live:
            # On short wires the bar stands near the consumer, where wires from one fork are apart.
            short = not row.badges and abs(path[-1].x - path[0].x) + abs(path[-1].y - path[0].y) < SHORT
            middle, slope = curves.at(path, 0.8 if short else 0.5)
            nx, ny = -slope.y * 9, slope.x * 9
            out.append(self.pen.path(f"M{n(middle.x - nx)},{n(middle.y - ny)}L{n(middle.x + nx)},{n(middle.y + ny)}", "block"))
        if wire.cut:
            out.append(self._cut(row, wire.head))
        name = f' data-edge="{wire.uses[0]}"' if wire.uses else f' data-cut="{self.stations[wire.head].parts.item.members[0]}"'
        if len(wire.uses) > 1:
            name += f' data-uses="{" ".join(wire.uses)}"'
        mark = ' data-active=""' if active else ""
        return int(active), f'<g class="tv-edge"{name} data-state="{how}"{mark}>{"".join(out)}</g>'

    def _forward(self, path: list[Point], head: Station, row: Row) -> tuple[list[Point], Point]:
        """The forward wire and the tip of its head, which stands before the halo of an active receiver, too."""
        clear = 0.0 if self.paint.live else self._ring(head, row)
        sideways = self.direction == "LR"

        def back(p: Point, by: float) -> Point:
            return Point(p.x - by * self.flow.x, p.y - by * self.flow.y)

        end, turn = back(path[-1], clear), path[-4]
        if clear and abs(turn.y - end.y if sideways else turn.x - end.x) > 0.5:
            # The last bend moves as a whole, as far as the straight piece before it lets it.
            enter = path[-7]
            turn = back(turn, min(clear, turn.x - enter.x if sideways else turn.y - enter.y))
            path = [*path[:-6], *curves.line(enter, turn), *curves.swing(turn, end, self.direction)]
        return [*path[:-1], back(end, 5)], end

    def _ring(self, head: Station, row: Row) -> float:
        """How far the halo of what is active reaches out over the place where a wire meets the glyph."""
        if not self.clearance(head):
            return 0.0
        w, h = head.parts.glyph
        across, along, side = (row.meet.y, row.meet.x, "x") if self.direction == "LR" else (row.meet.x, row.meet.y, "y")
        return max(0.0, outline(replace(head.parts, glyph=(w + 2 * HALO, h + 2 * HALO)), across, side) + along)

    def clearance(self, receiver: Station) -> float:
        """Room for the receiver's halo, in which a head would not be seen."""
        return HALO if self.now.active in receiver.parts.item.members else 0.0

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
            return self.pen.cut(to.x - s.left + 20, to.y + row.port)
        x, y = to.x + row.port, to.y - s.top + 18
        gap, slashes = f"M{n(x)},{n(y - 5)}V{n(y + 5)}", f"M{n(x - 8)},{n(y - 3)}l16,-6M{n(x - 8)},{n(y + 9)}l16,-6"
        return self.pen.path(gap, "cutgap") + self.pen.path(slashes, "cutmark")

    def state(self, wire: Wire) -> str:
        """``detached idle passed active blocked``"""
        if wire.cut:
            return "detached"
        found = [self.now.edges.get(use, "idle") for use in wire.uses]
        for how in ("active", "passed", "blocked"):
            if how in found:
                return how
        return "idle"

    def stub(self, s: Station, row: Row) -> str:
        """A wire whose operand is not drawn: its last piece, after an ellipsis."""
        to = self.centre[s.key]
        use = row.arrival.use
        how = self.now.edges.get(use, "idle")
        if self.direction == "LR":
            word = Point(to.x - s.left + 2, to.y + row.port + 4)
            start = Point(word.x + ellipsis_width(row.arrival), to.y + row.port)
            turn = Point(to.x + row.turn, start.y)
        else:
            start, word = Point(to.x + row.port, to.y - s.top + 16), Point(to.x + row.port - 5, to.y - s.top + 10)
            turn = Point(start.x, to.y + row.turn)
        meet = Point(to.x + row.meet.x, to.y + row.meet.y)
        path = [start, *curves.line(start, turn)]
        if abs(turn.x - meet.x) > 0.5 or abs(turn.y - meet.y) > 0.5:
            path += curves.swing(turn, meet, self.direction)
        forward, end = self._forward(path, s, row)
        out = [
            self.pen.text(word.x, word.y, row.arrival.stub, "dims", SIZE),
            self.pen.path(curves.path_text(forward), "wire"),
            self.pen.path(curves.arrow(end, self.flow, *HEAD), "head"),
        ]
        if how != "idle" or self.paint.live:
            out.append(self.pen.path(curves.path_text(curves.beside(path, BESIDE * self.sign)), "back", how))
        return f'<g class="tv-edge tv-stub" data-edge="{use}" data-state="{how}"{flag(how)}>{"".join(out)}</g>'

    def seed(self, s: Station, how: str) -> str:
        """The wire that leaves a root, on which its seed comes in."""
        out = outline(s.parts, 0.0, "x" if self.direction == "LR" else "y")
        start, end = (Point(out, 0), s.leave) if self.direction == "LR" else (Point(0, out), s.leave)
        path = [start, *curves.line(start, end)]
        marks = [self.pen.path(curves.path_text(path), "wire")]
        if how != "idle" or self.paint.live:
            if not self.waiting:
                back = self._back(path, s, HALO if how == "active" and not self.paint.live else 0.0)
                marks += [self.pen.path(curves.path_text(back), "back"), self._backhead(back, False)]
        return f'<g class="tv-seed" data-seed="">{"".join(marks)}</g>'


def flag(how: str) -> str:
    """The attribute of what is active."""
    return ' data-active=""' if how == "active" else ""


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
