"""The picture of a trace, composed once for stills and for the stepper: scene, places, wires, marks. Imports trace and other views only."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tensorviz.trace import Trace
from tensorviz.views import state, text
from tensorviz.views.boxes import Badge, Row, Spot, Station, name_size, station
from tensorviz.views.curves import number as n
from tensorviz.views.labels import SIZE
from tensorviz.views.layout import Box, Layout, Link, Point, layout
from tensorviz.views.layout.folding import fold
from tensorviz.views.marks import Pen
from tensorviz.views.paint import Paint
from tensorviz.views.palette import Scale
from tensorviz.views.parts import NAME, PILL, Mark, Parts, Tag, parts
from tensorviz.views.scene import MOST_NODES, Item, Scene, Wire, scene
from tensorviz.views.wires import MARGIN, Obstacles, Wiring, flag

BETWEEN = 1.0
"""Badges nearer than this touch."""
TILE_WIDTH, TILE_HEIGHT = 360.0, 220.0
"""Of the pieces in which the stepper shows a picture: about a third of its pane each way, so that what is out of sight is dropped soon."""

Extent = tuple[float, float, float, float]
"""Left, top, right, bottom."""


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
    born: Tag | None
    """One of the badges of NaN and infinities."""
    tags: list[Tag]
    """The first badge of each kind."""
    signs: set[str]
    """What else stands at wires and glyphs, by the names of ``legend.SIGNS``."""
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
    drawn = scene(trace, focus=state.focus_at(trace, step), sender=state.sender_at(trace, step), most=most, hard=hard)
    composer = Composer(trace, paint, scale, drawn, parts(trace, drawn), direction)
    composer.place(engine, timeout)
    return composer.draw(next(composer.states([step])))


class Composer:
    """A scene whose items get their places once, and that is then drawn in any state."""

    def __init__(self, trace: Trace, paint: Paint, scale: Scale, drawn: Scene, shown: list[Parts], direction: str) -> None:
        self.trace, self.paint, self.scene, self.direction = trace, paint, drawn, direction
        self.pen = Pen(paint, scale)
        self.stations = {s.key: s for s in (station(p, direction) for p in shown)}
        # In a forward-only record nothing can be reached; grey would say that something is wrong.
        self.waiting = not trace.data.steps
        labels = (c.label for p in shown for c in (p.value, p.gradient) if c is not None)
        self.signs = {"norm"} if any(label.form == "stats" for label in labels) else set()
        """What the legend has to explain of the states that were looked at."""

    def states(self, steps: Iterable[int | None]) -> Iterator[state.State]:
        """The states after the given steps, in ascending order; None is the end."""
        return state.walk(self.trace, steps, {item.node.id for item in self.scene.items if item.node is not None})

    # ---- places ----------------------------------------------------------------------------------------------

    def place(self, engine: str, timeout: float) -> None:
        """Give every item its place; to be called once."""
        boxes = [Box(s.key, s.left + s.right, s.top + s.bottom) for s in self.stations.values()]
        self.rows = [self._row(wire) for wire in self.scene.wires]
        links = [Link(wire.tail, wire.head, row.port) for wire, row in zip(self.scene.wires, self.rows, strict=True)]
        self.placed = layout(boxes, links, engine=engine, direction=self.direction, timeout=timeout)
        if self.direction == "LR" and not self.paint.live:
            self.placed = fold(self.placed, boxes, links)
        self.centre = {s.key: self._centre(s, self.placed) for s in self.stations.values()}
        self.obstacles = Obstacles(boxes, self.placed)
        if not self.paint.live:
            self._shorten()

    def _shorten(self) -> None:
        """Where spelled badges would touch, all of their kind become signs."""
        badges = [(badge, self.centre[s.key]) for s in self.stations.values() for badge in _badges_of(s)]
        kinds = touching([(badge.tag, _moved(badge, at)) for badge, at in badges])
        for badge, _ in badges:
            if badge.tag.kind in kinds:
                badge.tag = replace(badge.tag, icon=True)

    @property
    def size(self) -> tuple[float, float]:
        return self.placed.width + 2 * MARGIN, self.placed.height + 2 * MARGIN

    @property
    def notes(self) -> list[str]:
        return [note for note in (self.scene.note, self.placed.note) if note]

    @property
    def tags(self) -> list[Tag]:
        """The first badge of each kind, by kind."""
        found = {badge.tag.kind: badge.tag for s in reversed(self.stations.values()) for badge in reversed(_badges_of(s))}
        return [found[kind] for kind in sorted(found)]

    def born(self, *, shown: bool = False) -> Tag | None:
        """What stands in the legend for the badges of NaN and infinities: the first, NaN before infinities; ``shown``: of those seen in this state."""
        tags = [mark.tag for s in self.stations.values() for mark, _ in s.born if not shown or self.seen(mark)]
        return min(tags, key=lambda tag: tag.kind != "nan", default=None)

    def look_at(self, now: state.State) -> None:
        """Draw this state from here on."""
        self.now = now
        self.wiring = Wiring(self.pen, now, self.stations, self.centre, self.obstacles, self.direction, self.waiting)
        found = {self.wiring.state(wire) for wire in self.scene.wires}
        self.signs |= {sign for sign, how in (("cut", "detached"), ("block", "blocked")) if how in found}
        if any(self.item_state(s.parts.item) == "zero" for s in self.stations.values()):
            self.signs.add("zero")

    def draw(self, now: state.State) -> Picture:
        """The whole picture in one state."""
        self.look_at(now)
        edges = [self.edge(i) for i in range(len(self.rows))]
        if not self.paint.live:
            edges.sort(key=lambda pair: pair[0])  # the active one on top; the sort is stable
        every = self.stations.values()
        if self.paint.live:
            body = tiled(
                [(self._between(i), markup) for i, (_, markup) in enumerate(edges)],
                [(self._around(s), "".join([*self.stubs(s), self.station(s)])) for s in every],
                [(self._around(s), "".join([*self.labels(s), *self.badges(s)])) for s in every],
            )
        else:
            stubs, labelled = (stub for s in every for stub in self.stubs(s)), (self.station(s) + "".join(self.labels(s)) for s in every)
            body = "".join([*(markup for _, markup in edges), *stubs, *labelled, *(mark for s in every for mark in self.badges(s))])
        width, height = self.size
        return Picture(
            body,
            width,
            height,
            self.pen.scale,
            max(now.step, 0),
            self.notes,
            any(c is not None and c.label.form == "cells" for s in every for c in (s.parts.value, s.parts.gradient)),
            any(s.parts.saved_input or s.parts.saved_output for s in every),
            self.born(shown=True),
            self.tags,
            self.signs,
            self.direction == "LR",
        )

    def edge(self, i: int) -> tuple[int, str]:
        """The wire ``i`` of the scene, and 1 where it is the active one."""
        return self.wiring.edge(self.scene.wires[i], self.rows[i], self.placed.splines[i], i in self.placed.turns)

    def stubs(self, s: Station) -> list[str]:
        return [self.wiring.stub(s, row) for row in s.rows if row.arrival.stub]

    def _around(self, *stations: Station) -> Extent:
        """What stations cover together."""
        at = [self.centre[s.key] for s in stations]
        return (
            min(p.x - s.left for p, s in zip(at, stations, strict=True)),
            min(p.y - s.top for p, s in zip(at, stations, strict=True)),
            max(p.x + s.right for p, s in zip(at, stations, strict=True)),
            max(p.y + s.bottom for p, s in zip(at, stations, strict=True)),
        )

    def _between(self, i: int) -> Extent:
        """What the wire ``i`` may cover: both its ends, and the way between them."""
        wire, way = self.scene.wires[i], self.placed.splines[i]
        left, top, right, bottom = self._around(self.stations[wire.tail], self.stations[wire.head])
        x, y = [p.x + MARGIN for p in way], [p.y + MARGIN for p in way]
        return min(left, *x), min(top, *y), max(right, *x), max(bottom, *y)

    def _row(self, wire: Wire) -> Row:
        use = wire.uses[0] if wire.uses else f"{self.stations[wire.head].parts.item.members[0]}:cut"
        return next(row for row in self.stations[wire.head].rows if row.arrival.use == use)

    def _centre(self, s: Station, placed: Layout) -> Point:
        middle = placed.positions[s.key]
        return Point(
            middle.x + MARGIN - (s.left + s.right) / 2 + s.left,
            middle.y + MARGIN - (s.top + s.bottom) / 2 + s.top,
        )

    # ---- stations --------------------------------------------------------------------------------------------

    def station(self, s: Station) -> str:
        """Glyph, words, value and gradient of an item."""
        at, p = self.centre[s.key], s.parts
        how = self.item_state(p.item)
        node, pen = p.item.node, self.pen
        glyph = [pen.glyph(p.shape, *p.glyph, p.root, how), pen.ground(p.word, p.size, how)]
        drawn = pen.letters if self.paint.live and not _said(p.word, p.aria) else pen.text
        glyph.append(drawn(0, 6.2 if p.size > 16 else 5, p.word, "label", p.size, "middle", how, p.shape))
        if p.name:
            if self.paint.live:
                glyph.append(" ")  # or a reader would run the two together
            glyph.append(pen.text(s.name_at.x, s.name_at.y, p.name, "name", name_size(p), s.name_anchor, how, "root" if p.root else ""))
        if p.saved_input:
            glyph.append(pen.saved(-p.glyph[0] / 2 - 1, 0) if self.direction == "LR" else pen.saved(0, -p.glyph[1] / 2 - 1))
        if p.saved_output:
            glyph.append(pen.saved(p.glyph[0] / 2 + 1, 0) if self.direction == "LR" else pen.saved(0, p.glyph[1] / 2 + 1))
        seed = self.wiring.seed(s, how) if p.root and not any(w.tail == s.key for w in self.scene.wires) else ""
        who = f'data-node="{node.id}"' if node is not None else f'data-group="{text.xml(p.item.key)}" data-members="{_ranges(p.item.members)}"'
        live = f' tabindex="-1" role="button" aria-label="{text.xml(p.aria)}"' if self.paint.live else ""
        head = f'<g {who} class="tv-node tv-kind-{p.shape}{" tv-root" if p.root else ""}" data-state="{how}"{flag(how)}{live} transform="translate({n(at.x)},{n(at.y)})">'
        return f"{head}<title>{text.xml_lines(p.title)}</title>{seed}{''.join(glyph)}</g>"

    def labels(self, s: Station) -> list[str]:
        """What stands above and below an item's wire."""
        at, node, how = self.centre[s.key], s.parts.item.node, self.item_state(s.parts.item)
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
        return out

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

    def item_state(self, item: Item) -> str:
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

    def badges(self, s: Station) -> list[str]:
        """Badges and shares on the wires that arrive at an item, and the badge of its fork."""
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
        if not self.paint.live:
            out += [self.pen.born(mark.tag, Point(at.x + place.x, at.y + place.y)) for mark, place in s.born if self.seen(mark)]
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

    def seen(self, mark: Mark) -> bool:
        """Whether what the mark tells of has happened: forward values are there from the start."""
        return not mark.edges or any(self.now.edges.get(edge, "idle") != "idle" for edge in mark.edges)

    def _when(self, use: str, kind: str) -> str:
        how = self.now.edges.get(use, "idle")
        if how == "active" and (self.now.kind == "unbroadcast" if kind == "unbroadcast" else self.now.kind == "accumulate"):
            return "now"
        return "future" if how == "idle" or (how == "active" and kind == "route") else "past"


def tiled(*layers: Sequence[tuple[Extent, str]]) -> str:
    """Layers of marks, each cut into tiles by the middle of what a mark covers; a tile says what its marks cover, so that it can be hidden as a whole.

    >>> tiled([((0, 0, 10, 10), "a"), ((5, -5, 20, 10), "b"), ((900, 0, 910, 10), "c")])
    '<g class="tv-tile" data-layer="0" data-box="0 -5 20 10">ab</g><g class="tv-tile" data-layer="0" data-box="900 0 910 10">c</g>'
    """
    out = []
    for depth, layer in enumerate(layers):
        tiles: dict[tuple[int, int], list[tuple[Extent, str]]] = {}
        for box, markup in layer:
            if markup:
                tiles.setdefault((int((box[0] + box[2]) / 2 // TILE_WIDTH), int((box[1] + box[3]) / 2 // TILE_HEIGHT)), []).append((box, markup))
        for marks in tiles.values():
            low = (min(box[i] for box, _ in marks) for i in (0, 1))
            high = (max(box[i] for box, _ in marks) for i in (2, 3))
            words = " ".join(f"{v:.0f}" for v in (*low, *high))
            out.append(f'<g class="tv-tile" data-layer="{depth}" data-box="{words}">{"".join(markup for _, markup in marks)}</g>')
    return "".join(out)


def _badges_of(s: Station) -> list[Badge]:
    return [*(badge for row in s.rows for badge in row.badges), *([s.fork] if s.fork is not None else [])]


def touching(badges: Sequence[tuple[Tag, Point]]) -> set[str]:
    """The kinds of the badges, given with their centres, that touch another one and have words that could be left out.

    >>> route, fork = Tag("route", "4 of 12"), Tag("fork", "Σ 2/2")
    >>> sorted(touching([(route, Point(0, 0)), (fork, Point(50, 0))])), touching([(route, Point(0, 0)), (fork, Point(50, 30))])
    (['fork', 'route'], set())
    """
    kinds: set[str] = set()
    before: list[tuple[Tag, Point]] = []
    for tag, at in sorted(badges, key=lambda pair: pair[1].x - pair[0].width / 2):
        before = [(t, p) for t, p in before if p.x + t.width / 2 + BETWEEN > at.x - tag.width / 2]
        for other, place in before:
            if abs(place.y - at.y) < PILL + BETWEEN:
                kinds |= {tag.kind, other.kind}
        before.append((tag, at))
    return kinds


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


def _said(word: str, name: str) -> bool:
    """Whether the words of a label are among those of the accessible name: ``σ`` is not in ``sigmoid gate (3,)``."""
    return set(re.findall(r"\w+", word)) <= set(re.findall(r"\w+", name))
