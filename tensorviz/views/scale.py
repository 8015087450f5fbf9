"""The heat scale of a trace: the largest finite magnitude of its values and of its gradients. Imports trace and palette."""

from __future__ import annotations

import weakref
from collections.abc import Sequence

import numpy as np

from tensorviz.trace import Array, Trace
from tensorviz.views.palette import Scale

_known: weakref.WeakKeyDictionary[Trace, Scale] = weakref.WeakKeyDictionary()


_SMALL = 1000
"""Entries up to which arrays are looked at together: one call for thousands of them instead of two calls for each."""


def scale_of(trace: Trace) -> Scale:
    """Fixed for the whole pass, so that a colour means the same at every step; computed once per trace."""
    found = _known.get(trace)
    if found is None:
        gradients = [node.cotangent for node in trace.nodes if node.cotangent is not None]
        for node in trace.nodes:
            for share in node.shares:
                gradients.append(share.value)
                if len(node.shares) > 1:
                    gradients.append(share.total)
        found = _known[trace] = Scale(largest_of([node.value for node in trace.nodes]), largest_of(gradients))
    return found


def largest_of(arrays: Sequence[Array]) -> float:
    """The largest finite magnitude in any of ``arrays``; 0 where there is none.

    >>> largest_of([np.array([1.0, -3.0, np.inf, np.nan]), np.array(2)])
    3.0
    """
    usable = [array for array in arrays if array.dtype.kind in "fiub"]
    small = [array.ravel() for array in usable if array.size <= _SMALL]
    most = _largest(np.concatenate(small)) if small else 0.0
    return max([most, *(_largest(array) for array in usable if array.size > _SMALL)])


def _largest(array: Array) -> float:
    if not array.size:
        return 0.0
    if array.dtype.kind == "b":
        return float(array.any())
    with np.errstate(invalid="ignore"):
        low, high = float(array.min()), float(array.max())
    if not (np.isfinite(low) and np.isfinite(high)):
        finite = array[np.isfinite(array)]
        if not finite.size:
            return 0.0
        low, high = float(finite.min()), float(finite.max())
    return max(abs(low), abs(high))
