"""Dropout with a seed that the record keeps, so that the same elements fall when it is replayed. Imports the engine's op base only."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorviz.arguments import number, whole
from tensorviz.engine.op import REGISTRY, Op

__all__ = ["dropout"]


def kept(shape: tuple[int, ...], p: float, seed: int) -> Any:
    """Which elements stay: each with probability 1 - p."""
    return np.random.default_rng(seed).random(shape) >= p


def scale(p: float) -> float:
    """By what the elements that stay are multiplied, so that the mean does not change."""
    return 1 / (1 - p) if p < 1 else 0.0


def drawn_seed(seed: Any) -> int:
    """A seed as a plain int: the given one, one drawn from a given generator, or a fresh one. NumPy's global generator is left alone."""
    if seed is None:
        seed = np.random.default_rng()
    if isinstance(seed, np.random.Generator):
        return int(seed.integers(2**32))
    found = whole("dropout", "seed", seed, least=0)
    return found


def check_probability(name: str, p: Any) -> float:
    return number(name, "the probability of dropping an element", p, least=0, most=1)


class _Dropout(Op):
    """Zero for a random part of the elements, the others scaled up to keep the mean."""

    name, word, slots, extras = "dropout", "routes", ("a",), ("keep",)
    vjps = (lambda g, keep, p: np.where(keep, g * scale(p), 0),)
    formulas = ("g / (1 - p) where keep, else 0",)
    routes = (lambda keep: keep,)
    source = "Srivastava and others: Dropout (2014)"
    examples = staticmethod(lambda rng: [((rng.normal(size=s),), {"p": p, "seed": 7}) for s in ((), (4,), (0, 2), (2, 3)) for p in (0.5, 0.25)])

    @staticmethod
    def forward(a: Any, p: float, seed: int) -> Any:
        keep = kept(np.shape(a), p, seed)
        return np.where(keep, a * scale(p), 0), (keep,)


def dropout(x: Any, p: float = 0.5, training: bool = True, seed: Any = None) -> Any:
    """Each element becomes 0 with probability ``p``, the others are divided by ``1 - p`` (Srivastava and others, 2014).

    ``seed`` (an int or a NumPy Generator) decides which; None draws a fresh one. The record keeps it, so that a replay drops the same elements.
    With ``training=False`` or ``p=0`` the result is ``x`` itself. Raises ValueError unless 0 <= p <= 1.

    >>> dropout(np.ones(6), 0.5, seed=0)
    array([2., 0., 0., 0., 2., 2.])
    """
    p = check_probability("dropout", p)
    if not training or p == 0:
        return x
    return REGISTRY["dropout"](x, p=p, seed=drawn_seed(seed))
