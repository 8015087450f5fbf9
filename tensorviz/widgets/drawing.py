"""What ``tv.draw`` returns: a still picture that shows itself, in the colours of the page around. Must not import engine or ops."""

from __future__ import annotations

import base64
import gzip
import re
from os import PathLike
from typing import Any

from tensorviz.errors import OptionError
from tensorviz.trace import Trace
from tensorviz.views.animation import OPTIONS as ANIMATED
from tensorviz.views.animation import to_animated_svg
from tensorviz.views.options import refuse_unknown
from tensorviz.views.svg import OPTIONS, to_svg
from tensorviz.widgets import assets

LEAST = 0.6
"""Of its natural width, to which a picture shrinks where a cell is narrower; from there on it scrolls, for its words have 7 pixels then."""


class Drawing:
    """A still picture of a trace; the last value of a cell shows it, ``display(drawing)`` shows it anywhere else.

    ``options`` are those of ``to_svg`` and become the defaults of every export. Without a ``palette`` it is shown light or dark as the page is.
    """

    def __init__(self, trace: Trace, **options: Any) -> None:
        refuse_unknown("draw", {name: value for name, value in options.items() if name not in OPTIONS}, OPTIONS)
        self.trace = trace
        self._options = options

    def __repr__(self) -> str:
        return f"Drawing of {self.trace!r}"

    def to_svg(self, path: str | PathLike[str] | None = None, **options: Any) -> str:
        """The picture as SVG text."""
        return to_svg(self.trace, path, **{**self._options, **options})

    def to_animated_svg(self, path: str | PathLike[str] | None = None, **options: Any) -> str:
        """The pass as one SVG that plays by itself; there must be steps to play."""
        return to_animated_svg(self.trace, path, **{**{k: v for k, v in self._options.items() if k in ANIMATED}, **options})

    def to_gif(self, path: str | PathLike[str] | None = None, **options: Any) -> bytes:
        """The pass as the bytes of a GIF that plays (needs the extra ``image``); there must be steps to play."""
        from tensorviz.views.gif import to_gif

        return to_gif(self.trace, path, **{**{k: v for k, v in self._options.items() if k in ANIMATED}, **options})

    def to_dot(self, path: str | PathLike[str] | None = None, **options: Any) -> str:
        """The picture as DOT text."""
        from tensorviz.views import dot

        return dot.to_dot(self.trace, path, **{**{k: v for k, v in self._options.items() if k in dot.OPTIONS}, **options})

    def to_png(self, path: str | PathLike[str] | None = None, **options: Any) -> bytes:
        """The picture as PNG bytes (needs the extra ``image``)."""
        from tensorviz.views.image import to_png

        return to_png(self.trace, path, **{**self._options, **options})

    def to_pdf(self, path: str | PathLike[str] | None = None, **options: Any) -> bytes:
        """The picture as PDF bytes (needs the extra ``image``)."""
        from tensorviz.views.image import to_pdf

        return to_pdf(self.trace, path, **{**self._options, **options})

    def to_html(self, path: str | PathLike[str] | None = None, **options: Any) -> str:
        """One self-contained page with the stepper; there must be steps to step through."""
        if not self.trace.steps:
            raise OptionError("to_html steps through a backward pass, and backward has not been called; to_svg draws the graph as it is")
        return self.trace.to_html(path, **options)

    def summary(self, *, values: bool = True) -> str:
        """The graph and its steps as text."""
        return self.trace.summary(values=values)

    def _repr_svg_(self) -> str:
        return self.to_svg()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return self.bundle(repr(self))

    def bundle(self, plain: str) -> dict[str, Any]:
        """What a front end shows: as HTML it fits the cell and follows the page's theme, and the SVG and the words are for what takes no HTML."""
        svg = self.to_svg()
        dark = None if "palette" in self._options else self.to_svg(palette="dark")
        return {"text/html": fitted(svg, dark), "image/svg+xml": svg, "text/plain": plain}


def fitted(svg: str, dark: str | None) -> str:
    """A picture as an image no wider than its cell; with a ``dark`` one a script shows the one that the page asks for. Without scripts it is the light one."""
    head = svg[: svg.index(">")]
    width, name = float(re.findall(r' width="([\d.]+)"', head)[0]), re.findall(r' aria-label="([^"]*)"', head)[0]
    source = base64.b64encode(svg.encode()).decode("ascii")
    other = "" if dark is None else f' data-tensorviz-dark="{base64.b64encode(gzip.compress(dark.encode(), 9, mtime=0)).decode("ascii")}"'
    style = f"display:block;width:{width:g}px;max-width:100%;min-width:{LEAST * width:.0f}px;height:auto"
    return (
        f'<div class="tensorviz-drawing" style="overflow-x:auto" tabindex="0" role="group" aria-label="{name}">'
        f'<img alt="{name}" style="{style}"{other} src="data:image/svg+xml;base64,{source}"></div>'
        + ("" if dark is None else f"<script>{assets.text('drawing.js')}</script>")
    )


def draw(trace: Trace, **options: Any) -> Drawing:
    """The still picture of a trace; see :class:`Drawing`."""
    return Drawing(trace, **options)
