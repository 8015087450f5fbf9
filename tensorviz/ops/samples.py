"""Random operands that keep clear of kinks and ties, for the examples of ops. Imports nothing of ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Examples = Sequence[tuple[tuple[Any, ...], dict[str, Any]]]
"""Operands and parameters of a few calls of an op."""

GAP = 0.1
"""Distance to the next kink or tie: a hundred thousand steps of a central difference."""

SHAPES: tuple[tuple[int, ...], ...] = ((), (1,), (4,), (2, 3), (0, 3), (2, 1, 3))


def off_zero(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Numbers of both signs, none of them within GAP of zero."""
    return rng.choice([-1.0, 1.0], shape) * rng.uniform(GAP, 2.0, shape)


def distinct(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Numbers of both signs, no two of them within GAP of each other."""
    count = int(np.prod(shape))
    steps = rng.permutation(count) - count / 2 + 0.3
    return (steps * 2 * GAP + rng.uniform(0.0, GAP / 2, count)).reshape(shape)


def positive(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Numbers between 0.5 and 2."""
    return rng.uniform(0.5, 2.0, shape)


def pairs(first: Any, second: Any, rng: np.random.Generator) -> Examples:
    """Two operands of shapes that broadcast against each other in every way: neither, one, both, with empty and 0-d ones."""
    shapes = [((), ()), ((3,), ()), ((1,), (4,)), ((2, 3), (2, 3)), ((2, 1), (1, 3)), ((5, 1, 2, 1), (3, 1, 1)), ((0, 2), (2,)), ((4, 0), (4, 1))]
    return [((first(rng, a), second(rng, b)), {}) for a, b in shapes]
