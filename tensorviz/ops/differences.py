"""Differences of neighbours: diff and NumPy's gradient, put together from slices. Must not import the trace or the views."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorviz.engine.op import expose
from tensorviz.errors import AxisError, DTypeError, ShapeError
from tensorviz.ops.axes import count, each, plain
from tensorviz.ops.expansion import broadcast_to
from tensorviz.ops.joining import concatenate
from tensorviz.ops.operands import as_array, floating, index

__all__ = ["diff"]


def _part(a: Any, axis: int, start: int | None, stop: int | None) -> Any:
    return a[(slice(None),) * axis + (slice(start, stop),)]


@expose(numpy=[np.diff])
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """Each element less the one before it along ``axis``, ``n`` times over; ``prepend`` and ``append`` are joined to ``a`` first.

    >>> diff(np.array([1.0, 3.0, 6.0])).tolist()
    [2.0, 3.0]
    """
    a = as_array(a)
    n, axis = index("n", n), index("axis", axis)
    if n < 0:
        raise ShapeError(f"diff: n counts how often differences are taken, and must not be negative; got {n}")
    if not -a.ndim <= axis < a.ndim:
        raise AxisError(f"diff: axis {axis} is not there in shape {a.shape}")
    axis %= a.ndim
    ends = [prepend, a, append]
    for i in (0, 2):
        if ends[i] is not None and np.ndim(ends[i]) == 0:
            ends[i] = broadcast_to(ends[i], (*a.shape[:axis], 1, *a.shape[axis + 1 :]))
    found = [e for e in ends if e is not None]
    a = concatenate(found, axis) if len(found) > 1 else a
    for _ in range(n):
        later, earlier = _part(a, axis, 1, None), _part(a, axis, None, -1)
        a = later != earlier if a.dtype == bool else later - earlier
    return a


@expose(numpy=[np.gradient])
def _gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """NumPy's slopes on a grid: central differences inside, one-sided ones at the ends. For all axes or each: a distance, or the coordinates."""
    f = floating(as_array(f))
    count(f.shape, plain(axis))  # raises for an axis that is not there
    axes = each(plain(axis), f.ndim)
    distances = list(varargs) or [1.0]
    if len(distances) == 1 and np.ndim(distances[0]) == 0:
        distances *= len(axes)
    if len(distances) != len(axes):
        raise DTypeError(f"np.gradient: {len(distances)} distances for {len(axes)} axes; give one number, or one (or the coordinates) per axis")
    if edge_order not in (1, 2):
        raise DTypeError(f"np.gradient: edge_order is 1 or 2, got {edge_order!r}")
    found = [_slope(f, i, h, edge_order) for i, h in zip(axes, distances, strict=True)]
    return found[0] if len(axes) == 1 else tuple(found)


def _slope(f: Any, axis: int, h: Any, edge_order: int) -> Any:
    if f.shape[axis] < edge_order + 1:
        raise ShapeError(f"np.gradient with edge_order={edge_order} needs at least {edge_order + 1} elements along axis {axis}, got shape {f.shape}")

    def at(i: int) -> Any:
        return _part(f, axis, i, i + 1 or None)

    if np.ndim(h):
        found = _uneven(f, axis, as_array(h), edge_order)
        return found.astype(f.dtype) if f.dtype.kind == "f" and found.dtype != f.dtype else found  # as NumPy does
    inside = (_part(f, axis, 2, None) - _part(f, axis, None, -2)) / (2 * h)
    if edge_order == 1:
        first, last = (at(1) - at(0)) / h, (at(-1) - at(-2)) / h
    else:
        first, last = (4 * at(1) - 3 * at(0) - at(2)) / (2 * h), (3 * at(-1) - 4 * at(-2) + at(-3)) / (2 * h)
    return concatenate([first, inside, last], axis)


def _uneven(f: Any, axis: int, places: Any, edge_order: int) -> Any:
    """The slopes of parabolas through three points each (of lines at the ends with ``edge_order=1``), differentiable in the coordinates, too."""
    n = f.shape[axis]
    if places.shape != (n,):
        raise ShapeError(f"np.gradient: the coordinates along axis {axis} must have shape {(n,)}, got {places.shape}")
    if places.dtype.kind != "f":
        places = places.astype(float)
    steps = np.reshape(diff(places), (-1,) + (1,) * (f.ndim - 1 - axis))

    def at(i: int) -> Any:
        return _part(f, axis, i, i + 1 or None)

    lead = (slice(None),) * axis
    before, after = steps[:-1], steps[1:]
    both = before + after
    low, middle, high = (f[(*lead, part)] for part in (slice(None, -2), slice(1, -1), slice(2, None)))
    inside = -after / (before * both) * low + (after - before) / (before * after) * middle + before / (after * both) * high
    if edge_order == 1:
        first, last = (at(1) - at(0)) / steps[:1], (at(-1) - at(-2)) / steps[-1:]
    else:
        h, k = steps[:1], steps[1:2]
        first = -(2 * h + k) / (h * (h + k)) * at(0) + (h + k) / (h * k) * at(1) - h / (k * (h + k)) * at(2)
        h, k = steps[-2:-1], steps[-1:]
        last = k / (h * (h + k)) * at(-3) - (k + h) / (h * k) * at(-2) + (2 * k + h) / (k * (h + k)) * at(-1)
    return concatenate([first, inside, last], axis)
