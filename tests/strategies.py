"""Hypothesis strategies that the tests of ops share: shapes, shapes that broadcast, axes, arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

SIDE = 3
"""The longest axis: two elements show an order, three show a middle; more only costs time."""


def shapes(min_dims: int = 0, max_dims: int = 3, *, min_side: int = 0) -> st.SearchStrategy[tuple[int, ...]]:
    """Shapes with axes of size 0 and 1 among them."""
    return st.lists(st.integers(min_side, SIDE), min_size=min_dims, max_size=max_dims).map(tuple)


@st.composite
def broadcastable(draw: st.DrawFn, count: int = 2, *, min_side: int = 0) -> list[tuple[int, ...]]:
    """Shapes that broadcast against each other: one result, from which every operand drops leading axes and shrinks others to 1."""
    result = draw(shapes(min_side=min_side))
    found = []
    for _ in range(count):
        kept = draw(st.integers(0, len(result)))
        shrunk = draw(st.lists(st.booleans(), min_size=kept, max_size=kept))
        found.append(tuple(1 if small else side for small, side in zip(shrunk, result[len(result) - kept :], strict=True)))
    return found


def axes(ndim: int) -> st.SearchStrategy[Any]:
    """None, an int, a negative one, or a tuple without repeats."""
    if ndim == 0:
        return st.none()
    one = st.integers(-ndim, ndim - 1)
    several = st.lists(st.integers(0, ndim - 1), max_size=ndim, unique=True).flatmap(
        lambda found: st.lists(st.booleans(), min_size=len(found), max_size=len(found)).map(
            lambda negative: tuple(i - ndim if back else i for i, back in zip(found, negative, strict=True))
        )
    )
    return st.one_of(st.none(), one, several)


@st.composite
def arrays(draw: st.DrawFn, shape: tuple[int, ...], interval: tuple[float, float] = (-2.0, 2.0)) -> Any:
    """Floats of a shape within an interval, from a drawn seed: what shrinks is the shape, not every number."""
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    return rng.uniform(*interval, shape)
