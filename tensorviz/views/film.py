"""A filmstrip: chosen steps side by side, each with its number, the graph's state, the gradient that it is about, and its sentence. Imports trace and other views only."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from tensorviz.arguments import whole
from tensorviz.axes import in_words
from tensorviz.errors import OptionError
from tensorviz.trace import Array, Step, Trace, TraceNode
from tensorviz.views import format as fmt
from tensorviz.views import text
from tensorviz.views.captions import title as title_of
from tensorviz.views.curves import arrow
from tensorviz.views.curves import number as n
from tensorviz.views.drawing_options import DrawingOptions
from tensorviz.views.labels import CELL_HEIGHT, CELL_LEAST, SIZE, Label, label
from tensorviz.views.layout.types import Point
from tensorviz.views.legend import legend as make_legend
from tensorviz.views.legend import plain_notes
from tensorviz.views.marks import Pen
from tensorviz.views.paint import Still
from tensorviz.views.palette import Tokens
from tensorviz.views.paragraph import wrap
from tensorviz.views.parts import Parts, parts
from tensorviz.views.picture import Composer
from tensorviz.views.scale import scale_of
from tensorviz.views.scene import scene
from tensorviz.views.state import focus_at, sender_at
from tensorviz.views.stops import stops

MOST_FRAMES = 60
MOST_NODES = 40
WIDE = 1600.0
"""The width that the frames are laid out for where ``columns`` is not given."""
MOST_COLUMNS = 5
LEAST_WIDTH = 224.0
GAP, PADDING = 28.0, 14.0
"""Between two frames, with a hairline in its middle, and around the whole."""
CAPTION, LINE = 15.0, 21.0
ARROW = 30.0
"""Between the terms of an unbroadcast and their sum."""


@dataclass(slots=True)
class _Frame:
    k: int
    graph: str
    told: list[str]
    what: str
    """The name of the gradient below the graph."""
    arrays: list[tuple[Label, Array]]
    between: str
    """What happens between the two arrays."""

    @property
    def high(self) -> float:
        """Of what stands between graph and sentence."""
        return 24 + sum(found.height for found, _ in self.arrays) + ARROW * (len(self.arrays) - 1) + 12

    @property
    def wide(self) -> float:
        return max((found.width for found, _ in self.arrays), default=0.0)


def check_film(trace: Trace, steps: Any, step: Any, columns: Any) -> list[int]:
    """The steps of a film, or an error that says what is wrong with what was asked for."""
    if step is not None:
        raise OptionError("to_svg: give step= for one picture or steps= for a film, not both")
    if columns is not None:
        whole("to_svg", "columns", columns, least=1)
    chosen = stops(trace, steps, "to_svg")
    if len(chosen) > MOST_FRAMES:
        raise OptionError(f"to_svg: a film has at most {MOST_FRAMES} frames, and {fmt.count(len(chosen))} were asked for; to_animated_svg plays more")
    return chosen


def film(trace: Trace, chosen: list[int], tokens: Tokens, columns: int | None, drawing: DrawingOptions) -> str:
    """The document; see :func:`tensorviz.views.svg.to_svg`."""
    paint = Still(tokens)
    pen = Pen(paint, scale_of(trace))
    told = [trace.data.steps[k].node for k in dict.fromkeys(chosen)]
    drawn = scene(trace, focus=focus_at(trace, chosen[-1]), sender=sender_at(trace, chosen[-1]), also=told, most=min(drawing.max_nodes, MOST_NODES))
    composer = Composer(trace, paint, pen.scale, drawn, [_bare(p) for p in parts(trace, drawn)], drawing.direction)
    composer.place(drawing.engine, drawing.timeout)
    picture_width, picture_height = composer.size
    order = sorted(set(chosen))
    graphs = {k: composer.draw(now).body for k, now in zip(order, composer.states(order), strict=True)}
    shown = {k: _gradients(trace, trace.data.steps[k]) for k in order}
    width = max(LEAST_WIDTH, picture_width, *(found.width for _, arrays, _ in shown.values() for found, _ in arrays))
    if columns is None:
        columns = max(1, min(MOST_COLUMNS, int((WIDE - 2 * PADDING + GAP) // (width + GAP))))
    columns = min(columns, len(chosen))
    frames = [_Frame(k, graphs[k], wrap(trace.steps[k].caption, width, CAPTION, 8), *shown[k]) for k in chosen]
    rows = [frames[i : i + columns] for i in range(0, len(frames), columns)]
    total = len(trace.data.steps)
    wide = 2 * PADDING + columns * width + (columns - 1) * GAP
    out: list[str] = []
    y = PADDING
    if drawing.title:
        out.append(pen.text(PADDING, y + 14, text.cut(drawing.title, 200), "title", 16))
        wide = max(wide, 2 * PADDING + text.heading(text.cut(drawing.title, 200)))
        y += 34
    for row in rows:
        middle = max(frame.high for frame in row)
        high = 34 + picture_height + middle + LINE * max(len(frame.told) for frame in row) + 4
        for i, frame in enumerate(row):
            x = PADDING + i * (width + GAP)
            out.append(_drawn(pen, frame, total, x, y, picture_height, middle))
            if i:
                out.append(pen.path(f"M{n(x - GAP / 2)},{n(y)}V{n(y + high)}", "frame"))
        y += high + (GAP if row is not rows[-1] else 0)
    every = composer.stations.values()
    if drawing.legend:
        lines, added = make_legend(
            pen,
            PADDING,
            y + GAP / 2,
            wide - 2 * PADDING,
            cells=any(found.form == "cells" for _, arrays, _ in shown.values() for found, _ in arrays),
            numbers=False,
            saved=any(s.parts.saved_input or s.parts.saved_output for s in every),
            born=composer.born(),
            tags=composer.tags,
            signs=composer.signs,
            waiting=False,
            notes=composer.notes,
            sideways=drawing.direction == "LR",
        )
    else:
        lines, added = plain_notes(pen, composer.notes, PADDING, y)
    out.append(lines)
    high = y + added + (GAP / 2 if drawing.legend else 0) + PADDING
    roots = ", ".join(trace.nodes[r].title for r in trace.roots)
    name = f"Backward pass of {roots}, {fmt.counted(len(chosen), 'step')} side by side"
    paper = f'<rect width="{n(wide)}" height="{n(high)}" {paint.attributes("paper")}/>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="tv-graph tv-film" viewBox="0 0 {n(wide)} {n(high)}" width="{n(wide * drawing.scale)}" '
        f'height="{n(high * drawing.scale)}" data-step="{chosen[-1]}" data-steps="{" ".join(map(str, chosen))}" role="img" aria-label="{text.xml(name)}">'
        f"<title>{text.xml(name)}</title>{paper}{''.join(out)}</svg>\n"
    )


def _bare(p: Parts) -> Parts:
    """Glyph, name and wires alone: the numbers of the step stand below the graph. Badges on wires become signs."""
    arrivals = [replace(a, share=None, tags=tuple(replace(tag, icon=True) for tag in a.tags)) for a in p.arrivals]
    return replace(p, arrivals=arrivals, value=None, gradient=None, missing="", lines=[])


def _gradients(trace: Trace, step: Step) -> tuple[str, list[tuple[Label, Array]], str]:
    """What a step is about: the name, one array, or the terms and their sum."""
    node, share = trace.nodes[step.node], step.share
    name = f"∂{_short(node)}"
    if share is not None and share.by_hand:
        return f"{name}, set by hand", [_table(share.value if step.kind == "unbroadcast" else share.total)], ""
    if step.kind == "unbroadcast" and share is not None:
        return name, [_table(share.local), _table(share.value)], f"Σ {in_words(share.summed_axes)}"
    if step.kind == "leaf":
        return f"{_short(node)}.grad", [_table(step.after)] if step.after is not None else [], ""
    if step.kind == "accumulate" and share is not None:
        count = len(node.shares)
        which = f", {1 + next((i for i, s in enumerate(node.shares) if s is share), 0)} of {count}" if count > 1 else ""
        return name + which, [_table(share.total)], ""
    array = step.after if step.after is not None else node.cotangent
    return name, [_table(array)] if array is not None else [], ""


def _short(node: TraceNode) -> str:
    name = title_of(node)
    return text.cut(name if name.isidentifier() else f"({name})", 24)


def _table(array: Array) -> tuple[Label, Array]:
    """A single number stands in a cell too."""
    if array.size != 1:
        return label([array], True), array
    wide = max(CELL_LEAST, math.ceil(text.width(fmt.number(array.reshape(-1)[0]), SIZE)) + 11.0)
    return Label("cells", True, 1, 1, wide, wide, CELL_HEIGHT, ""), array


def _drawn(pen: Pen, frame: _Frame, total: int, x: float, y: float, graph: float, middle: float) -> str:
    number = fmt.count(frame.k + 1)
    out = [
        pen.text(x, y + 20, number, "count", 22),
        pen.text(x + text.units(number) * 14.5 + 2, y + 20, f"/{fmt.count(total)}", "small", 13),
        f'<g transform="translate({n(x - 10)},{n(y + 32)})">{frame.graph}</g>',
        pen.text(x, y + 32 + graph + 14, frame.what, "head-gradient", SIZE),
    ]
    at = y + 32 + graph + 24
    for i, (found, array) in enumerate(frame.arrays):
        if i:
            middle_x = x + min(found.width, frame.wide) / 2
            out.append(pen.path(f"M{n(middle_x)},{n(at + 5)}V{n(at + ARROW - 9)}", "sum"))
            out.append(pen.path(arrow(Point(middle_x, at + ARROW - 5), Point(0, 1), 8, 9), "sumhead"))
            out.append(pen.text(middle_x + 12, at + 19, frame.between, "sumtext", 12))
            at += ARROW
        out.append(pen.label(found, array, Point(x + 1, at), "gradient", marked=False))
        at += found.height
    top = y + 32 + graph + middle
    out += [pen.text(x, top + 14 + LINE * i, line, "caption", CAPTION) for i, line in enumerate(frame.told)]
    return f'<g class="tv-frame" data-step="{frame.k}">{"".join(out)}</g>'
