"""What is not finite in an array, and was not in what it was made of. Imports NumPy only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Flags = npt.NDArray[np.bool_]


def born(made: Array, infinities: Sequence[Array], nans: Sequence[Array], elementwise: bool) -> list[tuple[Literal["nan", "inf"], Flags]]:
    """Which entries of ``made`` are NaN or infinite by themselves: a NaN may come from one in ``nans``, an infinity from either.

    ``elementwise``: each entry has its own past, so that a mask of -inf at one place explains no overflow at another. Else anything may have come from anywhere.
    """
    if elementwise:
        try:
            had_nan = _anywhere([np.isnan(v) for v in nans if v.dtype.kind == "f"], made.shape)
            had_inf = had_nan | _anywhere([~np.isfinite(v) for v in infinities if v.dtype.kind == "f"], made.shape)
        except ValueError:
            pass  # a saved value of a shape of its own
        else:
            found: list[tuple[Literal["nan", "inf"], Flags]] = [("nan", np.isnan(made) & ~had_nan), ("inf", np.isinf(made) & ~had_inf)]
            return [(kind, flags) for kind, flags in found if flags.any()]
    spoilt = any(np.isnan(v).any() for v in nans if v.dtype.kind == "f")
    if np.isnan(made).any():
        return [] if spoilt else [("nan", np.isnan(made))]
    return (
        [("inf", np.isinf(made))]
        if not spoilt and np.isinf(made).any() and all(np.isfinite(v).all() for v in infinities if v.dtype.kind == "f")
        else []
    )


def _anywhere(flags: Sequence[Flags], shape: tuple[int, ...]) -> Flags:
    found = np.zeros(shape, bool)
    for f in flags:
        found |= np.broadcast_to(f, shape)
    return found
