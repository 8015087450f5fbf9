"""The options that still pictures, films and animations have in common. Imports argument checks, the palettes and the layout's words."""

from __future__ import annotations

from typing import NamedTuple

from tensorviz.arguments import flag, one_of
from tensorviz.views.layout import DIRECTIONS, ENGINES
from tensorviz.views.options import check_values
from tensorviz.views.palette import Tokens
from tensorviz.views.palette import palette as tokens_of


class DrawingOptions(NamedTuple):
    """What they mean stands at :func:`tensorviz.views.svg.to_svg`."""

    palette: str
    direction: str
    engine: str
    title: str | None
    scale: float
    legend: bool
    max_nodes: int
    timeout: float

    def checked(self, where: str) -> Tokens:
        """The colours; ``ValueError`` or ``TypeError`` in the name of the function ``where`` for a value that does not exist."""
        tokens = tokens_of(self.palette, where)
        one_of(where, "direction", self.direction, DIRECTIONS)
        one_of(where, "engine", self.engine, ENGINES)
        check_values(where, self.scale, self.max_nodes, self.title, self.timeout)
        flag(where, "legend", self.legend)
        return tokens
