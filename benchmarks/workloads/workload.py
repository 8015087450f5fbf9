"""What a workload is: arrays, one forward text that every engine runs, and the gradient by hand. Holds no engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


class Language(Protocol):
    """The words that engines spell differently. Everything else (operators, ``np.exp``, indexing) they share with NumPy."""

    np: Any
    """The engine's own ``exp``, ``log``, ``sqrt``, ``sum``, ``mean``, ``swapaxes``."""
    relu: Callable[[Any], Any]
    peak: Callable[[Any], Any]
    """Largest element along the last axis, kept as an axis of size 1, as a constant: no gradient flows through it."""
    softmax: Callable[[Any], Any]
    """The engine's own softmax along the last axis, in one op."""
    layer_norm: Callable[[Any, Any, Any], Any]
    """The engine's own layer norm ``(x, gain, bias)`` along the last axis, in one op."""


Forward = Callable[[Language, Sequence[Any], Sequence[Any]], Any]
"""``(language, parameters, constants) -> loss``."""


@dataclass(frozen=True)
class Workload:
    """One forward and backward pass."""

    title: str
    parameters: tuple[Array, ...]
    """What the gradient is taken for."""
    constants: tuple[npt.NDArray[Any], ...]
    """Data, targets, indices, masks."""
    forward: Forward
    by_hand: Callable[[Sequence[Array], Sequence[npt.NDArray[Any]]], tuple[float, tuple[Array, ...]]]
    """Loss and gradients as one writes them in plain NumPy, with the closed forms and no engine."""
    fused: Forward | None = None
    """The same forward pass with the engine's own softmax and layer norm, where it has any."""
    scalar: bool = False
    """Made of numbers alone, so that a scalar engine can run it."""
