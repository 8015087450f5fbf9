"""Reductions along a last axis of many short rows, each of which NumPy's own start anew. Imports nothing of ours."""

from __future__ import annotations

from typing import Any

import numpy as np

_SHORT = 1024
"""Elements of a row up to which NumPy finds where the maximum is before it has found the maximum: at 32, in 10 ns against 45."""
_MANY = 32
"""Rows that are needed for it, since an element has then to be fetched for each of them."""


def largest(a: Any, axis: Any) -> Any:
    """The greatest element along one axis or several, which are kept at size 1; NaN where there is one. Raises ValueError where there is none.

    >>> largest(np.array([[1.0, 3.0], [5.0, 4.0]]), -1).tolist()
    [[3.0], [5.0]]
    """
    if not (_are_rows(a, axis) and a.flags.c_contiguous and 0 < (n := a.shape[-1]) <= _SHORT and a.size >= _MANY * n):
        return np.maximum.reduce(a, axis=axis, keepdims=True)
    at = a.argmax(-1, keepdims=True)
    at += np.arange(0, a.size, n).reshape(at.shape)
    return a.take(at)


_LARGE = 4096
"""Elements up to which a sum is NumPy's to the last bit, as that of somebody who writes the formula down. Of more, the array of all products takes as long as they do."""


def dotted(a: Any, b: Any, axis: Any) -> Any:
    """``sum(a * b)`` along one axis or several, which are kept at size 1; of many rows without an array of all products.

    Of long rows it is with one: BLAS has some 30 running sums, and NumPy, which adds up in pairs, rounds less often.

    >>> dotted(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 1.0], [1.0, 10.0]]), -1).tolist()
    [[3.0], [43.0]]
    """
    if not (_are_rows(a, axis) and type(b) is np.ndarray and b.dtype is a.dtype and b.shape == a.shape and a.size > _LARGE and a.shape[-1] <= _SHORT):
        return np.add.reduce(a * b, axis=axis, keepdims=True)
    return np.matmul(a[..., None, :], b[..., :, None])[..., 0]


def _are_rows(a: Any, axis: Any) -> bool:
    """Whether the axis is the last one of an array of single or double floats; for others there is neither a fast loop nor BLAS."""
    return type(a) is np.ndarray and a.dtype.char in "fd" and a.ndim > 0 and axis in (-1, a.ndim - 1, (a.ndim - 1,))
