"""Initial values of parameters, and what the sizes of a layer may be. Imports nothing of ours but errors and argument checks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorviz.arguments import dtype_of, shown, whole
from tensorviz.errors import DTypeError, OptionError, OptionTypeError

Rng = np.random.Generator | int | None
"""Where random numbers come from: a Generator (share one between layers), a seed, or None for fresh ones."""


def uniform(rng: Rng, shape: tuple[int, ...], fan_in: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Uniform in ±1 / √fan_in, PyTorch's default for linear and convolution layers (He and others, 2015, with its slope √5)."""
    return between(rng, shape, 1 / math.sqrt(fan_in), dtype)


def between(rng: Rng, shape: tuple[int, ...], bound: float, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Uniform in ±bound."""
    return generator("uniform", rng).uniform(-bound, bound, shape).astype(dtype)


def generator(layer: str, rng: Rng) -> np.random.Generator:
    """A random generator from a seed, itself, or None."""
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise OptionTypeError(f"{layer}: rng must be a numpy Generator, a seed (a whole number of at least 0) or None, got {shown(rng)}") from None


def floats(layer: str, dtype: npt.DTypeLike) -> np.dtype[Any]:
    """The dtype of a layer's parameters."""
    found = dtype_of(layer, dtype)
    if found.kind != "f":
        raise DTypeError(f"{layer}: dtype must be one of floats, such as float or np.float32, got {found}")
    return found


def size(layer: str, what: str, value: Any) -> int:
    """A whole number of at least 1. Raises an error that names the layer and the argument."""
    return whole(layer, what, value, least=1)


def pair(layer: str, what: str, value: Any, n: int = 2) -> tuple[int, ...]:
    """One size per axis, from one for all or a tuple."""
    given = tuple(value) if isinstance(value, (tuple, list)) else (value,) * n
    if len(given) != n:
        raise OptionError(f"{layer}: {what} is a whole number or {n} of them, got {value!r}")
    return tuple(size(layer, what, v) for v in given)
