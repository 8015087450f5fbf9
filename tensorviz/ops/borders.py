"""Borders of numbers that are computed, not copied: means and extremes, ramps, odd reflections, and what a function of the user's writes. Must not import the trace or the views."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorviz.engine.tensor import Tensor
from tensorviz.errors import OptionError, ShapeError
from tensorviz.ops.joining import concatenate
from tensorviz.ops.operands import as_array, index, of_dtype

Widths = tuple[tuple[int, int], ...]

STATISTICS: dict[str, Callable[..., Any]] = {"maximum": np.max, "mean": np.mean, "median": np.median, "minimum": np.min}


def bordered(a: Any, widths: Widths, mode: str, option: Any) -> Any:
    """``a`` with a border, one axis after the other, so that corners come from the borders of the axes before, as in NumPy."""
    for axis, (n, width) in enumerate(zip(a.shape, widths, strict=True)):
        if not n and any(width):
            raise ShapeError(
                f"pad: axis {axis} of shape {a.shape} is empty, and mode {mode!r} makes a border of elements that are there; use mode 'constant'"
            )
    if not a.size:
        return np.pad(a, widths)
    each: Any = None if option is None else np.broadcast_to(as_array(option), (a.ndim, 2))
    for axis, width in enumerate(widths):
        if not any(width):
            continue
        if mode in STATISTICS:
            sides = _statistics(a, axis, STATISTICS[mode], [None, None] if each is None else [_length(x) for x in each[axis]])
        elif mode == "linear_ramp":
            sides = _ramps(a, axis, width, (0, 0) if each is None else each[axis])
        else:
            a = _reflected(a, axis, width, edge=mode == "symmetric")
            continue
        shapes = [(*a.shape[:axis], w, *a.shape[axis + 1 :]) for w in width]
        low, high = (of_dtype(np.broadcast_to(side, shape), a.dtype) for side, shape in zip(sides, shapes, strict=True))
        a = concatenate([part for part in (low, a, high) if part.shape[axis]], axis)
    return a


def _at(axis: int, *where: Any) -> tuple[Any, ...]:
    """The index of a slice along an axis."""
    return (slice(None),) * axis + (slice(*where),)


def _length(given: Any) -> int:
    found = index("stat_length", given)
    if found <= 0:
        raise OptionError(f"pad: stat_length says of how many elements a border is made, and must be positive, got {found}")
    return found


def _statistics(a: Any, axis: int, of: Callable[..., Any], lengths: Any) -> tuple[Any, Any]:
    """One number for each side, of the elements next to it."""
    n = a.shape[axis]
    before, after = (n if length is None else min(length, n) for length in lengths)
    low = of(a[_at(axis, before)], axis=axis, keepdims=True)
    return low, low if before == after == n else of(a[_at(axis, n - after, n)], axis=axis, keepdims=True)


def _ramps(a: Any, axis: int, width: tuple[int, int], ends: Any) -> tuple[Any, Any]:
    """Equal steps from the number at the far end to the element at the edge."""
    found = []
    for edge, n, end, way in ((a[_at(axis, 1)], width[0], ends[0], 1), (a[_at(axis, -1, None)], width[1], ends[1], -1)):
        steps = np.arange(n, dtype=a.dtype)[::way].reshape([-1 if i == axis else 1 for i in range(a.ndim)])
        found.append(steps * ((edge - end) / max(n, 1)) + end)
    return found[0], found[1]


_WHOLE_PERIODS = np.pad(np.arange(3), (1, 5), "reflect").tolist() == [1, 0, 1, 2, 1, 0, 1, 2, 1]
"""Whether NumPy reflects whole periods of the operand where the border is longer than that: not before NumPy 2."""


def _reflected(a: Any, axis: int, width: tuple[int, int], *, edge: bool) -> Any:
    """A border of points reflected at the end: 2 end - x. Longer ones are reflections of what is there already. ``edge``: the end itself comes first."""
    (left, right), n = width, a.shape[axis]
    if n == 1:
        return concatenate([np.repeat(a, left, axis), a, np.repeat(a, right, axis)], axis)
    period = n if edge else n - 1
    while left or right:
        most = a.shape[axis] - (not edge)
        if _WHOLE_PERIODS:
            most = most // period * period
        size, first = a.shape[axis], int(not edge)
        low = min(most, left)
        high = min(most, right)
        parts = [
            2 * a[_at(axis, 1)] - np.flip(a[_at(axis, first, first + low)], axis),
            a,
            2 * a[_at(axis, size - 1, size)] - np.flip(a[_at(axis, size - first - high, size - first)], axis),
        ]
        a, left, right = concatenate([part for part in parts if part.shape[axis]], axis), left - low, right - high
    return a


def written(a: Any, widths: Widths, function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Zeros around ``a``, into which a function of the user's writes: it gets every vector along every axis, the widths there, the axis, and the options."""
    made = np.pad(a, widths)
    for axis in range(made.ndim):
        view = np.moveaxis(made, axis, -1)
        for at in np.ndindex(view.shape[:-1]):
            function(view[(*at, ...)], widths[axis], axis, options)
    return made


def on_values(a: Any, function: Callable[[Any], Any]) -> Any:
    """Of whole numbers, which have no gradient, what NumPy makes of them, rounding included."""
    found = function(a.numpy() if isinstance(a, Tensor) else a)
    return np.full_like(a, found, shape=found.shape) if isinstance(a, Tensor) else found
