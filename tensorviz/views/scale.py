"""The heat scale of a trace: the largest finite magnitude of its values and of its gradients. Imports trace and palette."""

from __future__ import annotations

import weakref

import numpy as np

from tensorviz.trace import Array, Trace
from tensorviz.views.palette import Scale

_known: weakref.WeakKeyDictionary[Trace, Scale] = weakref.WeakKeyDictionary()


def scale_of(trace: Trace) -> Scale:
    """Fixed for the whole pass, so that a colour means the same at every step; computed once per trace."""
    found = _known.get(trace)
    if found is None:
        value = gradient = 0.0
        for node in trace.nodes:
            value = max(value, largest(node.value))
            if node.cotangent is not None and not node.shares:
                gradient = max(gradient, largest(node.cotangent))
            for share in node.shares:
                gradient = max(gradient, largest(share.value), largest(share.total))
        found = _known[trace] = Scale(value, gradient)
    return found


def largest(array: Array) -> float:
    """The largest finite magnitude of an array; 0 where there is none.

    >>> largest(np.array([1.0, -3.0, np.inf, np.nan]))
    3.0
    """
    if not array.size or array.dtype.kind not in "fiub":
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
