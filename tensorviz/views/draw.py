"""What ``tv.draw`` returns: a still picture that shows itself. Imports trace and other views only."""

from __future__ import annotations

from os import PathLike
from typing import Any

from tensorviz.errors import OptionError
from tensorviz.trace import Trace
from tensorviz.views.animation import OPTIONS as ANIMATED
from tensorviz.views.animation import to_animated_svg
from tensorviz.views.options import refuse_unknown
from tensorviz.views.svg import OPTIONS, to_svg


class Drawing:
    """A still picture of a trace; the last value of a cell shows it, ``display(drawing)`` shows it anywhere else.

    ``options`` are those of ``to_svg`` and become the defaults of every export.
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
        return {"image/svg+xml": self._repr_svg_(), "text/plain": repr(self)}


def draw(trace: Trace, **options: Any) -> Drawing:
    """The still picture of a trace; see :class:`Drawing`."""
    return Drawing(trace, **options)
