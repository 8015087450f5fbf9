"""Unbroadcast: a gradient summed over the axes that an operand grew in forward. Knows no op."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np


@lru_cache(maxsize=4096)
def grown_axes(result_shape: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    """The axes over which a gradient of ``result_shape`` is summed for an operand of ``shape``. Memoised: a network asks for the same few pairs at every step."""
    from tensorviz.axes import sum_axes

    return sum_axes(result_shape, shape)


@lru_cache(maxsize=4096)
def growth(to: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """The axes that ``shape`` grows when it is broadcast to ``to``; None where it cannot be."""
    return grown_axes(to, shape) if can_grow(shape, to) else None


def can_grow(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    """Whether broadcasting turns ``shape`` into ``to``."""
    if len(shape) > len(to):
        return False
    return all(s == t or s == 1 for s, t in zip(reversed(shape), reversed(to), strict=False))


def unbroadcast(g: Any, shape: tuple[int, ...]) -> Any:
    """``g`` summed over the axes that ``shape`` was broadcast along, then reshaped to ``shape``. Works on arrays and on Tensors.

    >>> unbroadcast(np.ones((5, 3, 4, 1)), (3, 1, 1)).ravel().tolist()
    [20.0, 20.0, 20.0]
    """
    axes = grown_axes(g.shape, shape)
    summed = np.add.reduce(g, axis=axes) if axes else g
    return summed if summed.shape == shape else summed.reshape(shape)
