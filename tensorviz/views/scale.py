"""The heat scale of a trace: the largest finite magnitude of its values and of its gradients. Imports trace and palette."""

from __future__ import annotations

import weakref
from collections.abc import Sequence

import numpy as np

from tensorviz.bulk import together
from tensorviz.trace import Array, Trace
from tensorviz.views.palette import Scale

_known: weakref.WeakKeyDictionary[Trace, tuple[Scale, bool]] = weakref.WeakKeyDictionary()


_SMALL = 1000
"""Entries up to which arrays are looked at together: one call for thousands of them instead of two calls for each."""


def scale_of(trace: Trace) -> Scale:
    """Fixed for the whole pass, so that a colour means the same at every step; computed once per trace."""
    return _seen(trace)[0]


def is_finite(trace: Trace) -> bool:
    """Whether no value, gradient or share of the pass holds NaN or an infinity."""
    return _seen(trace)[1]


def _seen(trace: Trace) -> tuple[Scale, bool]:
    found = _known.get(trace)
    if found is None:
        gradients = [node.cotangent for node in trace.nodes if node.cotangent is not None]
        for node in trace.nodes:
            for share in node.shares:
                gradients.append(share.value)
                if len(node.shares) > 1:
                    gradients.append(share.total)
        (value, whole), (gradient, sound) = _look([node.value for node in trace.nodes]), _look(gradients)
        found = _known[trace] = (Scale(value, gradient), whole and sound)
    return found


def largest_of(arrays: Sequence[Array]) -> float:
    """The largest finite magnitude in any of ``arrays``; 0 where there is none.

    >>> largest_of([np.array([1.0, -3.0, np.inf, np.nan]), np.array(2)])
    3.0
    """
    return _look(arrays)[0]


def _look(arrays: Sequence[Array]) -> tuple[float, bool]:
    """The largest finite magnitude, and whether everything is finite."""
    which, entries, _ = together(arrays)
    looked = set(which)
    rest = [a for k, a in enumerate(arrays) if k not in looked and a.dtype.kind in "fiub"] if len(which) < len(arrays) else []
    small = [array.ravel() for array in rest if array.size <= _SMALL]
    found = [_largest(entries)]
    found += [_largest(np.concatenate(small))] if small else []
    found += [_largest(array) for array in rest if array.size > _SMALL]
    return max((most for most, _ in found), default=0.0), all(whole for _, whole in found)


def _largest(array: Array) -> tuple[float, bool]:
    if not array.size:
        return 0.0, True
    if array.dtype.kind == "b":
        return float(array.any()), True
    with np.errstate(invalid="ignore"):
        low, high = float(array.min()), float(array.max())
    whole = bool(np.isfinite(low) and np.isfinite(high))
    if not whole:
        finite = array[np.isfinite(array)]
        if not finite.size:
            return 0.0, False
        low, high = float(finite.min()), float(finite.max())
    return max(abs(low), abs(high)), whole
