"""The axes of a reduction: brought to one form, counted, and put back into a gradient. Imports the engine's graph only."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from tensorviz.errors import AxisError
from tensorviz.ops.operands import asked, refusing

Axis = int | tuple[int, ...] | None


def plain(axis: Any) -> Axis:
    """An axis argument as None, an int or a tuple of ints, so that a record can hold it."""
    if axis is None or type(axis) is int:
        return axis
    found: Axis = refusing(_plain, "an axis must be an int, a tuple of ints or None", axis)
    return found


def _plain(axis: Any) -> Axis:
    if isinstance(axis, Sequence):
        return tuple([operator.index(i) for i in axis])
    return operator.index(axis)


def over(a: Any, axis: Any) -> Axis:
    """The axis argument of a reduction of ``a``. As in NumPy, a number may be added up, or chosen from, over an axis 0 or -1, which means nothing."""
    found = axis if axis is None or type(axis) is int else plain(axis)
    return None if type(found) is int and -1 <= found <= 0 and getattr(a, "ndim", 1) == 0 else found


def count(shape: tuple[int, ...], axis: Axis) -> int:
    """How many elements go into one element of the result.

    >>> count((2, 3, 4), (0, -1))
    8
    """
    if axis is None:
        return math.prod(shape)
    total = 1
    for i in (axis,) if type(axis) is int else axis:  # type: ignore[union-attr]
        if not -len(shape) <= i < len(shape):
            raise AxisError(f"{asked()}: axis {i} is not there in shape {shape}")
        total *= shape[i]
    return total


def each(axis: Axis, ndim: int) -> tuple[int, ...]:
    """The axes one by one, none negative.

    >>> each(None, 2), each(-1, 3), each((0, -1), 3)
    ((0, 1), (2,), (0, 2))
    """
    if axis is None or not ndim:
        return tuple(range(ndim))
    return tuple([i % ndim for i in ((axis,) if type(axis) is int else axis)])  # type: ignore[union-attr]


def restored(g: Any, axis: Axis, keepdims: bool) -> Any:
    """``g`` with the reduced axes back at size 1, so that it broadcasts against the operand."""
    return g if keepdims or axis is None else np.expand_dims(g, axis)


_FLOAT16_ENDS = 65504
"""The greatest number of float16: (2 - 2 ** -10) * 2 ** 15."""


def divided(g: Any, n: Any) -> Any:
    """``g / n`` in g's dtype, for one count or an array of them. A count beyond the end of float16 would be infinite there, and the quotient 0."""
    if type(n) is int and n <= _FLOAT16_ENDS:  # as nearly always; to ask for more than that takes longer than the quotient
        return g / n
    if g.dtype == np.float16 and (np.ndim(n) or n > _FLOAT16_ENDS):
        return (g.astype(np.float32) / n).astype(np.float16)
    return g / (n if isinstance(n, int) else n.astype(g.dtype))  # beside one number a count that is NumPy's would make float64 of float32


def averaged(values: Any, n: Any) -> Any:
    """The sum of all values over ``n``, NaN where that is 0; those of float16 are added in float32, whose end their sum does not reach."""
    if values.dtype == np.float16:
        return np.float16(averaged(values.astype(np.float32), n))
    total = np.add.reduce(values, axis=None)
    return total / total.dtype.type(n) if n else total * np.nan


_SMALL = 1024
"""Elements up to which filling an array is quicker than making a view of it; a view keeps the memory of large gradients down."""


@lru_cache(maxsize=1024)
def _kept(shape: tuple[int, ...], axis: Axis) -> tuple[int, ...]:
    """The shape with the reduced axes at size 1."""
    gone = each(axis, len(shape))
    return tuple([1 if i in gone else s for i, s in enumerate(shape)])


@lru_cache(maxsize=1024)
def _still(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a view that stays where it is along axes of size 1."""
    return tuple([0 if n == 1 else step for n, step in zip(shape, strides, strict=True)])


def spread(g: Any, a_shape: tuple[int, ...], axis: Axis, keepdims: bool) -> Any:
    """``g`` repeated along the reduced axes, in the operand's shape."""
    if type(g) is np.float64 and math.prod(a_shape) <= _SMALL:
        filled = np.empty(a_shape)
        filled.fill(g)
        return filled
    if axis is not None and not keepdims:
        g = g.reshape(_kept(a_shape, axis))
    if not isinstance(g, (np.ndarray, np.generic)):
        return np.broadcast_to(g, a_shape)
    if math.prod(a_shape) <= _SMALL:
        filled = np.empty(a_shape, g.dtype)
        filled[...] = g
        return filled
    # the views that np.broadcast_to makes, at a tenth of its cost
    if g.ndim == 0:
        view: Any = np.ndarray(a_shape, g.dtype, g, 0, (0,) * len(a_shape))
    elif type(g) is np.ndarray and g.ndim == len(a_shape) and g.flags.c_contiguous:
        view = np.ndarray(a_shape, g.dtype, g, 0, _still(g.shape, g.strides))
    else:
        return np.broadcast_to(g, a_shape)
    view.setflags(False)
    return view


def of_ufunc(name: str, reduce: Callable[..., Any]) -> Callable[..., Any]:
    """What ``np.add.reduce`` means in terms of ``sum``: over the first axis where none is named."""

    def reduced(array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True) -> Any:
        given = {"dtype": dtype, "out": out, "initial": initial}
        further = {key: value for key, value in given.items() if value is not None} | ({} if where is True else {"where": where})
        return reduce(array, axis, keepdims=keepdims, **further)

    reduced.__name__ = reduced.__qualname__ = f"np.{name}.reduce on a Tensor:"
    return reduced
