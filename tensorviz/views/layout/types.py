"""What goes into a layout and what comes out of it. Imports errors, nothing else of ours."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import NamedTuple


class Point(NamedTuple):
    """Pixels; y grows downwards."""

    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle to be placed."""

    id: Hashable
    width: float
    height: float


class Link(NamedTuple):
    """An edge from the middle of the tail's far side to the head's near side, ``port`` pixels from its middle."""

    tail: Hashable
    head: Hashable
    port: float = 0.0


@dataclass(frozen=True, slots=True)
class Layout:
    """Centres of the boxes, and per edge (in the order given) the control points of a Bezier chain: 1 + 3 n points."""

    positions: dict[Hashable, Point]
    splines: list[list[Point]]
    width: float
    height: float
    engine: str
    note: str | None = None
    turns: frozenset[int] = frozenset()
    """The edges that go from one row of a folded layout to another."""
