"""A still as PNG or PDF, through a wheel that carries its renderer. Imports the SVG view; the renderer is loaded when asked for."""

from __future__ import annotations

import re
from os import PathLike
from typing import Any

from tensorviz.arguments import whole
from tensorviz.errors import MissingExtraError
from tensorviz.trace import Trace
from tensorviz.views.exported import Document, Image, exported
from tensorviz.views.options import check_values
from tensorviz.views.svg import to_svg

RESOLUTION = 2.0
"""Pixels per unit of the picture: sharp on a projector and on a dense screen."""


def to_png(
    trace: Trace,
    path: str | PathLike[str] | None = None,
    *,
    step: int | None = None,
    scale: float = RESOLUTION,
    width: int | None = None,
    **options: Any,
) -> bytes:
    """The picture as PNG bytes, ``scale`` pixels per unit, or ``width`` pixels wide; other options are those of ``to_svg``."""
    markup = to_svg(trace, step=step, **options)
    if width is not None:
        whole("to_png", "width", width, least=1)
        scale = width / float(re.findall(r' width="([\d.]+)"', markup[: markup.index(">")])[0])
    check_values("to_png", scale)
    return exported("to_png", path, Image(renderer("to_png").svg_to_png(markup, scale=scale)))


def to_pdf(trace: Trace, path: str | PathLike[str] | None = None, *, step: int | None = None, scale: float = 1.0, **options: Any) -> bytes:
    """The picture as PDF bytes (vectors, one page); options are those of ``to_svg``."""
    return exported("to_pdf", path, Document(renderer("to_pdf").svg_to_pdf(to_svg(trace, step=step, scale=scale, **options))))


def renderer(function: str) -> Any:
    """The module that draws SVG, for the function that needs it."""
    try:
        import vl_convert
    except ImportError as error:
        raise MissingExtraError(f"{function} needs a renderer that a plain install leaves out: pip install 'tensorviz-backward[image]'") from error
    return vl_convert
