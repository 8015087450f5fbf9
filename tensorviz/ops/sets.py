"""NumPy's functions of sets: the different elements of arrays, in order. Which they are is read off the values; a gradient goes to the first of equal ones. Must not import the trace or the views."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorviz.engine.op import FUNCTIONS, expose
from tensorviz.ops.joining import concatenate
from tensorviz.ops.operands import as_array, values_of

__all__: list[str] = []


_different: Any = np.unique
"""NumPy's own, whose many signatures say nothing of options that are handed on."""


def _needs_gradient(*arrays: Any) -> bool:
    return any(getattr(a, "requires_grad", False) for a in arrays)


@expose(numpy=[np.unique])
def _unique(ar: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False, axis: Any = None, **options: Any) -> Any:
    """The different elements (or slices along an axis), ascending."""
    ar = as_array(ar)
    if not _needs_gradient(ar):
        return _different(values_of(ar), return_index, return_inverse, return_counts, axis, **options)
    _, first, *rest = _different(values_of(ar), True, return_inverse, return_counts, axis, **options)
    found = np.ravel(ar)[first] if axis is None else np.take(ar, first, axis=axis)
    more = ([first] if return_index else []) + rest
    return (found, *more) if more else found


for _name in ("unique_all", "unique_counts", "unique_inverse", "unique_values"):  # NumPy writes them with np.unique
    if hasattr(np, _name):
        FUNCTIONS[getattr(np, _name)] = getattr(np, _name)._implementation


@expose(numpy=[np.union1d])
def _union1d(ar1: Any, ar2: Any) -> Any:
    return np.unique(concatenate([as_array(ar1), as_array(ar2)], None))


@expose(numpy=[np.intersect1d])
def _intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """The elements of the first that are in the second, too, ascending."""
    ar1, ar2 = as_array(ar1), as_array(ar2)
    found, i, j = np.intersect1d(values_of(ar1), values_of(ar2), assume_unique, return_indices=True)
    if _needs_gradient(ar1, ar2):
        found = np.ravel(ar1)[i]
    return (found, i, j) if return_indices else found


@expose(numpy=[np.setdiff1d])
def _setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    """The different elements of the first that are not in the second, ascending; with ``assume_unique`` in their order."""
    ar1 = np.ravel(as_array(ar1)) if assume_unique else np.unique(ar1)
    return ar1[~np.isin(values_of(ar1), values_of(ar2))]


@expose(numpy=[np.setxor1d])
def _setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    """The elements of one of the two only, ascending."""
    if not assume_unique:
        ar1, ar2 = np.unique(ar1), np.unique(ar2)
    both = concatenate([as_array(ar1), as_array(ar2)], None)
    found, counts = np.unique(both, return_counts=True)
    return found[counts == 1]
