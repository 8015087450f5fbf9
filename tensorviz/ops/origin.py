"""The direction of a point, which the origin has not. Imports the engine's Tensor only."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorviz.engine.tensor import Tensor
from tensorviz.ops.operands import values_of


def unit(a: Any, length: Any) -> Any:
    """``a / length``; 0 where the length is 0, which is a convention, with a slope that is none: infinite, as that of a direction is beside the origin."""
    zero = length == 0
    found = a / np.where(zero, 1, length)  # by 1, only to keep 0 / 0 from happening
    if not isinstance(a, Tensor):
        return found
    origin = values_of(zero)
    # the cube root is 0 at 0, too, and its slope is infinite there; without it that of a / 1 would pass for the slope
    return np.where(origin, np.cbrt(np.where(origin, a, 1)), found) if origin.any() else found
