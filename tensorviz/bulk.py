"""What holds of each of many arrays, the small ones looked at together: one call for a hundred thousand numbers instead of one for each. Imports NumPy only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

SMALL = 64
"""Entries up to which arrays are looked at together; NumPy's price per call is that of as many."""
_F8 = np.dtype(np.float64)


def together(arrays: Sequence[Array]) -> tuple[list[int], npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """The small float64 arrays among these: their positions, their entries one after the other, and where those of each begin."""
    which = [k for k, a in enumerate(arrays) if a.dtype is _F8 and 0 < a.size <= SMALL and a.flags.c_contiguous]
    if not which:
        return [], np.empty(0), np.empty(0, np.int64)
    some: list[Any] = [arrays[k] for k in which]
    ends = np.cumsum([a.size for a in some])
    return which, np.frombuffer(b"".join(some), np.float64), np.concatenate([[0], ends[:-1]])


def _each(arrays: Sequence[Array], dtype: Any, many: Callable[[Array, Array], Array], one: Callable[[Array], Any]) -> Array:
    found = np.empty(len(arrays), dtype)
    which, entries, starts = together(arrays)
    rest = np.ones(len(arrays), bool)
    if which:
        found[which] = many(entries, starts)
        rest[which] = False
    for k in np.flatnonzero(rest).tolist():
        found[k] = one(arrays[k])
    return found


def finite(arrays: Sequence[Array]) -> npt.NDArray[np.bool_]:
    """Whether each holds neither NaN nor an infinity.

    >>> finite([np.array(1.0), np.array([2.0, np.nan]), np.array([3])])
    array([ True, False,  True])
    """

    def one(a: Array) -> bool:
        return a.dtype.kind != "f" or bool(np.isfinite(a).all())

    return _each(arrays, bool, lambda entries, starts: np.logical_and.reduceat(np.isfinite(entries), starts), one)


def some(arrays: Sequence[Array]) -> npt.NDArray[np.bool_]:
    """Whether each holds anything but zeros; NaN counts.

    >>> some([np.array(0.0), np.array([0.0, np.nan]), np.array([3])])
    array([False,  True,  True])
    """
    return _each(arrays, bool, lambda entries, starts: np.logical_or.reduceat(entries != 0, starts), lambda a: bool(np.any(a)))


_PLAIN = (1e-150, 1e150)
"""Norms in between are the root of a sum of squares, none of which that matters has left the range of numbers."""


def norms(arrays: Sequence[Array]) -> npt.NDArray[np.float64]:
    """The 2-norm of each in float64, also at the ends of its range; NaN where an entry is not finite.

    >>> norms([np.array([3.0, 4.0]), np.array(-2, np.float32), np.array([np.inf]), np.array([3e-170, 4e-170])])
    array([5.e+000, 2.e+000,     nan, 5.e-170])
    """

    def many(entries: Array, starts: Array) -> Array:
        found = np.sqrt(np.add.reduceat(entries * entries, starts))
        if not (np.minimum.reduce(found) > _PLAIN[0] and np.maximum.reduce(found) < _PLAIN[1]):
            tops = np.maximum.reduceat(np.abs(entries), starts)
            scaled = entries / np.repeat(tops, np.diff(starts, append=len(entries)))
            scaled = tops * np.sqrt(np.add.reduceat(scaled * scaled, starts))
            found = np.where((found > _PLAIN[0]) & (found < _PLAIN[1]) | (tops == 0), found, scaled)
        return np.where(np.logical_and.reduceat(np.isfinite(entries), starts), found, np.nan)

    with np.errstate(all="ignore"):
        return _each(arrays, float, many, lambda a: many(a.astype(float).ravel(), np.zeros(1, int))[0] if a.size else 0.0)
