"""Positions and edge curves for boxes of fixed size. Knows no trace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorviz.arguments import one_of
from tensorviz.errors import LayoutError, OptionError
from tensorviz.views.layout.types import Box, Layout, Link, Point

__all__ = ["ENGINES", "Box", "Layout", "LayoutError", "Link", "Point", "layout"]

ENGINES = ("auto", "graphviz", "layered", "dot")
DIRECTIONS = ("LR", "TB")
GRAPHVIZ_LIMIT = 1500
"""Boxes and bends of edges above which "auto" does not try Graphviz. Measured: 0.1 s at 450, 2.7 s at 2,100, over a minute at 6,000, where ours takes
one second. A count rather than a time limit decides, so that a busy machine draws the same picture; the time limit stays as a safeguard."""


def layout(
    boxes: Sequence[Box], edges: Sequence[Link | tuple[Any, Any]], *, engine: str = "auto", direction: str = "LR", timeout: float = 20.0
) -> Layout:
    """Place ``boxes`` so that edges run forward, and give every edge a chain of Bezier segments from box to box.

    ``edges`` are ``(tail, head)`` or ``Link(tail, head, port)``, where ``port`` is the distance of the arrival from the middle of the head's side.
    The same input gives the same output to the last bit. ``engine="auto"`` uses the embedded Graphviz; our own layered layout takes over above a size,
    and where Graphviz is missing, crashes or takes too long (``Layout.note`` then says so). A named engine raises :class:`LayoutError` where it cannot
    do it.
    """
    one_of("layout", "engine", engine, ENGINES)
    one_of("layout", "direction", direction, DIRECTIONS)
    links = [edge if isinstance(edge, Link) else Link(*edge) for edge in edges]
    known = {box.id for box in boxes}
    if len(known) != len(boxes):
        raise OptionError("two boxes share an id")
    lost = {end for link in links for end in (link.tail, link.head)} - known
    if lost:
        raise OptionError(f"an edge names {min(map(repr, lost))}, which is no box")
    from tensorviz.views.layout import layered

    if engine == "layered" or not boxes:
        return layered.place(boxes, links, direction)
    if engine == "auto" and len(boxes) + layered.bends(boxes, links) > GRAPHVIZ_LIMIT:
        return layered.place(boxes, links, direction)
    from tensorviz.views.layout import graphviz

    try:
        return graphviz.place(boxes, links, direction, timeout=timeout, program=engine == "dot")
    except LayoutError as error:
        if engine != "auto":
            raise
        return layered.place(boxes, links, direction, note=str(error))
