"""A trace as one SVG that plays by itself: CSS keyframes switch what changes between steps. Imports trace and other views only.

Every mark is drawn once per look that it has during the pass. What looks the same all the time stands still; everything else is in a group whose
visibility follows the frames in which it is seen. Without animation (a reader who asked for less motion, a program that knows no CSS, paper) the
state at the end is seen, because it is what the attributes say.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

from tensorviz.arguments import number
from tensorviz.trace import Trace
from tensorviz.views import format as fmt
from tensorviz.views import text
from tensorviz.views.boxes import Station
from tensorviz.views.curves import number as n
from tensorviz.views.drawing_options import DrawingOptions
from tensorviz.views.exported import Markup, exported
from tensorviz.views.legend import legend as make_legend
from tensorviz.views.legend import plain_notes
from tensorviz.views.marks import Pen
from tensorviz.views.options import refuse_unknown
from tensorviz.views.paint import SPECIAL, Still, look
from tensorviz.views.paragraph import wrap
from tensorviz.views.parts import Parts, parts
from tensorviz.views.picture import Composer
from tensorviz.views.scale import scale_of
from tensorviz.views.scene import MOST_NODES, Scene, scene
from tensorviz.views.state import State, check_step
from tensorviz.views.stops import GRANULARITIES, stops
from tensorviz.views.wires import MARGIN

OPTIONS = ("step", "steps", "seconds_per_step", "palette", "direction", "engine", "title", "scale", "legend", "max_nodes", "timeout")
MOST_FRAMES = 240
"""Three and a half minutes at the usual pace; nobody waits longer for a picture to begin again."""
MOST_BYTES = 1_000_000
"""What a page of documentation can carry. Above it fewer steps are shown."""
LEAST_FRAMES, LEAST_NODES = 12, 8
NODE_BYTES, WIRE_BYTES, CELL_BYTES = 1500, 1000, 200
"""Of an item without its tables, of a wire, of an entry in a table."""
PAUSE = 3.0
"""Seconds that the state at the end stays."""
LEAST_WIDTH = 560.0
"""A sentence needs some width, however small the graph."""
CAPTION, LARGEST_CAPTION = 16.0, 40.0
READ_AT = 1100.0
"""A page shows a picture at about this width; in a wider one title, sentences and legend are larger, so that they can be read there."""


def to_animated_svg(
    trace: Trace,
    path: str | PathLike[str] | None = None,
    *,
    step: int | None = None,
    steps: str | Sequence[int] = "micro",
    seconds_per_step: float = 0.9,
    palette: str = "light",
    direction: str = "LR",
    engine: str = "auto",
    title: str | None = None,
    scale: float = 1.0,
    legend: bool = True,
    max_nodes: int = MOST_NODES,
    timeout: float = 20.0,
    **unknown: Any,
) -> str:
    """One SVG that plays the pass over and over, with a pause at its end; also written to ``path`` (UTF-8) if given.

    It needs nothing but itself: no script, no font, no address. Where motion is not wanted (``prefers-reduced-motion``) or not known, and on paper,
    it is the picture of the end. Long passes are shown with fewer steps, and a line below says so.

    Parameters
    ----------
    trace
        What to draw.
    path
        A file to write it to as well.
    step
        Where to end; None plays the whole pass.
    steps
        ``"micro"`` (every step), ``"share"`` (every step on which a sum changes), ``"node"`` (once per node whose rule runs), or step numbers.
    seconds_per_step
        How long each is seen, from 0.05 to 60.
    palette, direction, engine, title, scale, legend, max_nodes, timeout
        As for ``to_svg``.
    **unknown
        Refused, with a list of what there is.

    Raises
    ------
    ValueError, TypeError
        For an option or a value that does not exist, and for a trace without steps.

    """
    refuse_unknown("to_animated_svg", unknown, OPTIONS)
    drawing = DrawingOptions(palette, direction, engine, title, scale, legend, max_nodes, timeout)
    return exported("to_animated_svg", path, Markup(animated("to_animated_svg", trace, step, steps, seconds_per_step, drawing).markup))


def animated(where: str, trace: Trace, step: int | None, steps: str | Sequence[int], seconds_per_step: float, drawing: DrawingOptions) -> Film:
    """The film with its document, for the function ``where``; the arguments are those of :func:`to_animated_svg`."""
    check_step(trace, step, where)
    tokens = drawing.checked(where)
    number(where, "seconds_per_step", seconds_per_step, least=0.05, most=60)
    wanted = sorted({k for k in stops(trace, steps, where) if step is None or k <= step})
    if step is not None and step not in wanted:
        wanted.append(step)
    paint = Styled(tokens)
    drawn, shown = _light(trace, drawing.max_nodes)
    composer = Composer(trace, paint, scale_of(trace), drawn, shown, drawing.direction)
    composer.place(drawing.engine, drawing.timeout)
    wanted = _drawn(trace, composer, wanted)
    for chosen, note in _fewer(trace, composer, wanted, steps, step):
        film = Film(composer, chosen, step, float(seconds_per_step))
        film.markup = film.document(paint, drawing.title, drawing.scale, drawing.legend, note)
        if len(film.markup.encode()) <= MOST_BYTES:
            break
    return film


def _light(trace: Trace, most: int) -> tuple[Scene, list[Parts]]:
    """The scene of about ``most`` nodes, or of fewer where their tables alone would be too much for one file."""
    while True:
        drawn = scene(trace, most=most)
        shown = parts(trace, drawn)
        if most <= LEAST_NODES or sum(map(_weight, shown)) <= MOST_BYTES:
            return drawn, shown
        most = max(LEAST_NODES, min(most, len(drawn.items)) * 2 // 3)


def _weight(p: Parts) -> int:
    """About how many bytes an item takes with all the looks that it has."""
    labels = [p.value, p.gradient, *(row.share for row in p.arrivals), *(content for _, _, content in p.lines)]
    tables = sum(max(1, c.label.rows * c.label.cols) * min(len(c.arrays), MOST_FRAMES) for c in labels if c is not None)
    return NODE_BYTES + WIRE_BYTES * len(p.arrivals) + CELL_BYTES * tables


def _drawn(trace: Trace, composer: Composer, wanted: list[int]) -> list[int]:
    """Without the steps of nodes that are not drawn, and with one of those that look the same because they happen inside one collapsed item."""
    items = {item.key: item for item in composer.scene.items}
    keys = [composer.scene.owner[trace.data.steps[k].node] for k in wanted]
    out = [
        k
        for i, (k, key) in enumerate(zip(wanted, keys, strict=True))
        if key in items and (items[key].node is not None or i + 1 == len(keys) or keys[i + 1] != key)
    ]
    return out or wanted[-1:]


def _fewer(trace: Trace, composer: Composer, wanted: list[int], steps: str | Sequence[int], end: int | None) -> Iterator[tuple[list[int], str]]:
    """What was asked for if it is not too much, then coarser and coarser, each with a sentence that says so."""
    total = fmt.counted(len(trace.data.steps), "step")
    if len(wanted) <= MOST_FRAMES:
        yield wanted, ""
    if isinstance(steps, str):
        for coarser in GRANULARITIES[GRANULARITIES.index(steps) + 1 :]:
            found = _drawn(trace, composer, [k for k in stops(trace, coarser, "to_animated_svg") if end is None or k <= end])
            if len(found) <= MOST_FRAMES and len(found) < len(wanted):
                yield found, f"… {fmt.count(len(found))} of {total}: one for each {coarser}"
    most = min(MOST_FRAMES, len(wanted) - 1)
    while True:
        every = -(-len(wanted) // max(1, most))
        found = sorted({*wanted[::every], wanted[-1]})
        yield found, f"… {fmt.count(len(found))} of {total}"
        if most <= LEAST_FRAMES:
            return
        most //= 2


class Styled(Still):
    """A still's looks behind short class names, because every mark is drawn several times; ``rules`` holds what they mean."""

    def __init__(self, tokens: Any) -> None:
        super().__init__(tokens)
        self.rules: dict[str, str] = {}

    def attributes(self, role: str, state: str = "", kind: str = "", special: str = "") -> str:
        key = (role, state, kind, special)
        if key not in self._known:
            found = look(role, state, kind) | dict(SPECIAL.get(special, {}))
            rule = ";".join(f"{name}:{self.resolve(value)}" for name, value in found.items())
            name = self.rules.setdefault(rule, f"x{len(self.rules)}")
            # The dashes of the active share run to its receiver.
            self._known[key] = f'class="{name}{" f" if (role, state) == ("back", "active") else ""}"'
        return self._known[key]


@dataclass(slots=True)
class Mark:
    """One piece of markup and the frames in which it is seen, as the bits of a number."""

    markup: str
    frames: int = 0


@dataclass(slots=True)
class Layer:
    """The marks of one wire or item, from back to front."""

    marks: list[Mark] = field(default_factory=list)

    def add(self, pieces: Sequence[str]) -> list[Mark]:
        """The marks for pieces that are seen together; new ones are put where the order from back to front is kept."""
        out: list[Mark] = []
        at = 0
        for piece in pieces:
            found = next((i for i in range(at, len(self.marks)) if self.marks[i].markup == piece), None)
            if found is None:
                self.marks.insert(at, Mark(piece))
                found = at
            out.append(self.marks[found])
            at = found + 1
        return out


class Film:
    """The frames of one animation: the chosen steps, then the state at the end."""

    def __init__(self, composer: Composer, chosen: list[int], end: int | None, seconds: float) -> None:
        self.composer, self.trace, self.chosen, self.seconds = composer, composer.trace, chosen, seconds
        self.layers: dict[str, Layer] = {}
        self._drawn: dict[tuple[str, Hashable], list[Mark]] = {}
        self.clock = _Clock(self)
        self.markup = ""
        self.all = (1 << (len(chosen) + 1)) - 1
        for frame, now in enumerate(composer.states([*chosen, end])):
            self._see(frame, now)

    @property
    def duration(self) -> float:
        return len(self.chosen) * self.seconds + PAUSE

    # ---- what is seen when -----------------------------------------------------------------------------------

    def _see(self, frame: int, now: State) -> None:
        c = self.composer
        c.look_at(now)
        bit = 1 << frame
        for name, signature, draw in self._elements(now):
            key = (name, signature)
            if key not in self._drawn:
                layer = self.layers.setdefault(name, Layer())
                self._drawn[key] = layer.add(split(draw()))
            for mark in self._drawn[key]:
                mark.frames |= bit

    def _elements(self, now: State) -> Iterator[tuple[str, Hashable, Any]]:
        """Name, everything that the look depends on, and how to draw it; the layers come in the order of the names' first appearance."""
        c = self.composer
        if not self.layers:
            self.layers = {f"{kind}{i}": Layer() for kind in ("wire", "front") for i in range(len(c.rows))}
        for i, wire in enumerate(c.scene.wires):
            how = tuple(now.edges.get(use, "idle") for use in wire.uses)
            kind = "front" if "active" in how else "wire"
            halo = [now.active in c.stations[key].parts.item.members for key in (wire.tail, wire.head)]
            yield f"{kind}{i}", (how, *halo), lambda i=i: c.edge(i)[1]
        every = list(c.stations.values())
        if any(row.arrival.stub for s in every for row in s.rows):
            uses = tuple(
                (now.edges.get(row.arrival.use, "idle"), now.active in s.parts.item.members) for s in every for row in s.rows if row.arrival.stub
            )
            yield "stubs", uses, lambda: "".join(stub for s in c.stations.values() for stub in c.stubs(s))
        for s in every:
            yield (
                f"item {s.key}",
                (c.item_state(s.parts.item), *(id(now.totals.get(i)) for i in _shown(s))),
                lambda s=s: c.station(s) + "".join(c.labels(s)),
            )
        for s in every:
            arrived = now.arrived.get(s.parts.item.members[0], 0) if s.fork is not None else 0
            here = now.kind if now.active in s.parts.item.members else None
            rows = tuple((now.edges.get(row.arrival.use, "idle"), now.kind if row.arrival.use == now.active_edge else "") for row in s.rows)
            born = tuple(c.seen(mark) for mark, _ in s.born)
            yield f"badges {s.key}", (rows, arrived, here, born), lambda s=s: "".join(c.badges(s))

    def still(self, frame: int) -> str:
        """The document with nothing in it that moves, as it looks in one frame, for programs that know no animation; the last is the state at the end."""
        groups = {name: "<g>" if frames >> frame & 1 else '<g visibility="hidden">' for frames, name in self.clock.kept.items()}
        markup = _GROUP.sub(lambda match: groups[match[1]], self.markup)
        part = min(1.0, (frame + 1) / len(self.chosen))
        return _MOTION.sub("", markup).replace('class="t ', f'transform="scale({part:.4g},1)" class="')

    # ---- the document ----------------------------------------------------------------------------------------

    def document(self, paint: Styled, title: str | None, scale: float, legend: bool, note: str) -> str:
        c = self.composer
        pen = Pen(paint, c.pen.scale)
        picture_width, picture_height = c.size
        width = max(picture_width, LEAST_WIDTH)
        large = min(LARGEST_CAPTION / CAPTION, max(1.0, width / READ_AT))
        clock = self.clock = _Clock(self)
        out, top = [], 0.0
        if title:
            top = 34.0 * large
            out.append(pen.text(MARGIN, 25 * large, text.cut(title, 200), "title", round(16 * large, 1)))
            width = max(width, 2 * MARGIN + text.heading(text.cut(title, 200)) * large)
        body = "".join(clock.group(layer.marks) for layer in self.layers.values())
        out.append(f'<g transform="translate({n((width - picture_width) / 2)},{n(top)})">{body}</g>')
        height = top + picture_height + 6
        told, high = self._captions(pen, clock, height, width, round(CAPTION * large, 1))
        out.append(told)
        height += high
        notes = [*c.notes, *([note] if note else [])]
        if legend:
            every = c.stations.values()
            cells = any(x is not None and x.label.form == "cells" for s in every for x in (s.parts.value, s.parts.gradient))
            saved = any(s.parts.saved_input or s.parts.saved_output for s in every)
            lines, high = make_legend(
                pen,
                0.0,
                0.0,
                (width - 2 * MARGIN) / large,
                cells=cells,
                saved=saved,
                born=c.born(),
                tags=c.tags,
                signs=c.signs,
                waiting=False,
                notes=notes,
                sideways=c.direction == "LR",
            )
        else:
            lines, high = plain_notes(pen, notes, 0.0, 0.0)
        zoom = f" scale({large:.4g})" if large > 1 else ""
        lines = f'<g transform="translate({n(MARGIN)},{n(height)}){zoom}">{lines}</g>' if lines else ""
        height += high * large + MARGIN / 2
        paper = f'<rect width="{n(width)}" height="{n(height)}" {paint.attributes("paper")}/>'
        inside = f"{paper}{''.join(out)}{lines}"
        # Class names are those of this picture alone, so that two of them can stand on one page.
        digest = "tv" + hashlib.sha256(f"{inside}{clock.text}{self.duration}{paint.rules}".encode()).hexdigest()[:10]
        style = clock.style(digest, paint)
        roots = ", ".join(self.trace.nodes[r].title for r in self.trace.roots)
        name = f"Backward pass of {roots}, played in {fmt.counted(len(self.chosen), 'step')}"
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="tv-graph {digest}" viewBox="0 0 {n(width)} {n(height)}" width="{n(width * scale)}" '
            f'height="{n(height * scale)}" data-step="{self.chosen[-1]}" data-frames="{len(self.chosen)}" role="img" aria-label="{text.xml(name)}">'
            f"<title>{text.xml(name)}</title><style>{style}</style>{inside}</svg>\n"
        )

    def _captions(self, pen: Pen, clock: _Clock, top: float, width: float, size: float) -> tuple[str, float]:
        """The number and the sentence of the step, under a bar that fills, in as many lines as the longest needs."""
        total, steps = len(self.trace.data.steps), self.trace.steps
        line, first, bar = 1.45 * size, 4 + 1.45 * size, round(size / 4, 1)
        numbers = [f"Step {fmt.count(k + 1)} of {fmt.count(total)}" for k in self.chosen]
        indent = max(text.units(words) for words in numbers) * 0.6 * size + 14
        room = width - 2 * MARGIN - indent
        told = [wrap(steps[k].caption, room, size, 4) for k in self.chosen]
        done = self.chosen[-1] == total - 1
        told.append(wrap(_ended(self.trace), room, size, 4) if done else told[-1])
        numbers.append("Done" if done else numbers[-1])
        wide = width - 2 * MARGIN
        out = [
            pen.rect(MARGIN, top, wide, bar, bar / 2, pen.paint.attributes("track")),
            f'<g transform="translate({n(MARGIN)},{n(top)})">{pen.rect(0, 0, wide, bar, bar / 2, clock.bar(pen.paint))}</g>',
        ]
        marks = []
        for frame, (count, lines) in enumerate(zip(numbers, told, strict=True)):
            words = [pen.text(MARGIN, top + first, count, "count", size)]
            words += [pen.text(MARGIN + indent, top + first + line * i, said, "caption", size) for i, said in enumerate(lines)]
            marks.append(Mark("".join(words), 1 << frame))
        out.append(clock.group(marks))
        return "".join(out), first + line * max(map(len, told)) - 0.4 * size


def _ended(trace: Trace) -> str:
    written = [trace.nodes[step.node].title for step in trace.data.steps if step.kind == "leaf"]
    if not written:
        return "The pass is complete."
    names = [f"{name}.grad" for name in dict.fromkeys(written)]
    if len(names) > 4:
        names = [*names[:3], f"{fmt.count(len(names) - 3)} more"]
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    return f"The pass is complete: {listed} {'is' if len(names) == 1 else 'are'} written."


def _shown(s: Station) -> list[int]:
    """The nodes whose gradients stand at an item."""
    return [*([s.parts.item.node.id] if s.parts.item.node is not None else []), *(i for i, _, _ in s.lines)]


class _Clock:
    """Turns frames into keyframes: the visibility of a group follows the bits of its number."""

    def __init__(self, film: Film) -> None:
        self.film = film
        self.kept: dict[int, str] = {}

    @property
    def text(self) -> str:
        return repr(self.kept)

    def group(self, marks: Sequence[Mark]) -> str:
        """The marks, neighbours with the same frames in one group; what is always seen in none."""
        out: list[str] = []
        i = 0
        while i < len(marks):
            frames, j = marks[i].frames, i
            while j < len(marks) and marks[j].frames == frames:
                j += 1
            inside = _joined([mark.markup for mark in marks[i:j]])
            i = j
            if frames == self.film.all:
                out.append(inside)
            elif frames:
                name = self.kept.setdefault(frames, f"k{len(self.kept)}")
                hidden = "" if frames >> len(self.film.chosen) & 1 else ' visibility="hidden"'
                out.append(f'<g class="v {name}"{hidden}>{inside}</g>')
        return "".join(out)

    def bar(self, paint: Styled | Any) -> str:
        return str(paint.attributes("bar")).replace('class="', 'class="t ')

    def style(self, scope: str, paint: Styled) -> str:
        film = self.film
        count = len(film.chosen)
        rules = [f".{scope} .{name}{{{rule}}}" for rule, name in paint.rules.items()]
        rules.append(f".{scope} .v{{animation:{film.duration:.6g}s step-end infinite}}")
        for frames, name in self.kept.items():
            rules.append(f".{scope} .{name}{{animation-name:{scope}{name}}}@keyframes {scope}{name}{{{self._frames(frames)}}}")
        # The bar is full from the last step on; before, it grows by one step at a time.
        full = self._percent(count - 1)
        if count > 1:
            rules.append(
                f".{scope} .t{{animation:{scope}t {film.duration:.6g}s steps({count - 1},end) infinite}}"
                f"@keyframes {scope}t{{0%{{transform:scaleX({1 / count:.4g})}}{full},100%{{transform:none}}}}"
            )
        rules.append(f".{scope} .f{{animation:{scope}f .7s linear infinite}}@keyframes {scope}f{{to{{stroke-dashoffset:14}}}}")
        rules.append(f"@media print,(prefers-reduced-motion:reduce){{.{scope} .v,.{scope} .t,.{scope} .f{{animation:none}}}}")
        return "".join(rules)

    def _frames(self, frames: int) -> str:
        out = []
        before = None
        for i in range(len(self.film.chosen) + 1):
            seen = frames >> i & 1
            if seen != before:
                out.append(f"{self._percent(i)}{{visibility:{'visible' if seen else 'hidden'}}}")
            before = seen
        return "".join(out)

    def _percent(self, frame: int) -> str:
        return f"{100 * frame * self.film.seconds / self.film.duration:.7g}%"


_GROUP = re.compile(r'<g class="v (k\d+)"(?: visibility="hidden")?>')
_MOTION = re.compile(r"\.tv\w+ \.(?:v|k\d+|t|f)\{[^}]*\}|@keyframes \w+\{(?:[^{}]*\{[^}]*\})*\}|@media [^{]*\{(?:[^{}]*\{[^}]*\})*\}")
"""What a style sheet of ours says of motion."""
_TOKEN = re.compile(r"<title>.*?</title>|<text[^>]*>.*?</text>|<g[^>]*>|</g>|<[a-z]+[^>]*/>", re.DOTALL)
_PLACE = re.compile(r'transform="[^"]*"')


def split(markup: str) -> list[str]:
    """The drawn elements of a picture's groups one by one, each with the place of its group; titles and groups themselves are left out.

    >>> split('<g data-node="1" transform="translate(3,4)"><title>x</title><path d="M0,0"/></g><text x="1" y="2">a</text>')
    ['<g transform="translate(3,4)"><path d="M0,0"/></g>', '<text x="1" y="2">a</text>']
    """
    out: list[str] = []
    places: list[str] = []
    for token in _TOKEN.findall(markup):
        if token.startswith("<g"):
            place = _PLACE.search(token)
            places.append(place[0] if place else "")
        elif token.startswith("</"):
            places.pop()
        elif not token.startswith("<title"):
            moved = [place for place in places if place]
            out.append("".join(f"<g {place}>" for place in moved) + token + "</g>" * len(moved))
    return out


def _joined(pieces: Sequence[str]) -> str:
    """Pieces one after the other, those at the same place in one group. All moved pieces of a layer stand at one place."""
    together = "".join(pieces)
    for place in dict.fromkeys(re.findall(r'<g transform="[^"]*">', together)):
        together = together.replace(f"</g>{place}", "")
    return together
