"""Ops that pass over NaN or put a number in its place: fmax, fmin, nan_to_num. Imports the engine's op base only."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorviz.arguments import number
from tensorviz.engine.op import REGISTRY, Op, expose, frame
from tensorviz.engine.tensor import Tensor
from tensorviz.errors import DTypeError
from tensorviz.ops.operands import as_array
from tensorviz.ops.samples import Examples, distinct

__all__ = ["fmax", "fmin", "nan_to_num"]

# A NaN loses against any number; of two NaN both are chosen: `b != b` holds for NaN alone, and comparisons with NaN are false.


def _fmax_share(g: Any, a: Any, b: Any) -> Any:
    """``g`` where ``a`` is chosen from the two, half of it where both are."""
    ours, theirs = (a >= b) | (b != b), (b >= a) | (a != a)
    return np.where(ours, np.where(theirs, g / 2, g), 0)


def _fmin_share(g: Any, a: Any, b: Any) -> Any:
    ours, theirs = (a <= b) | (b != b), (b <= a) | (a != a)
    return np.where(ours, np.where(theirs, g / 2, g), 0)


def _apart(rng: np.random.Generator) -> Examples:
    """Two operands that are nowhere near a tie, in shapes that broadcast."""
    shapes = [((), ()), ((3,), ()), ((2, 3), (2, 3)), ((2, 1), (1, 3)), ((0, 2), (2,))]
    return [((distinct(rng, a), distinct(rng, b) + 0.1), {}) for a, b in shapes]


class _Fmax(Op):
    """The greater of two, element by element; a number before NaN. Equal elements share the gradient."""

    name, label, word = "fmax", "max", "routes"
    slots, broadcasts, forward, ufuncs = ("a", "b"), True, np.fmax, (np.fmax,)
    vjps = (_fmax_share, lambda g, a, b: _fmax_share(g, b, a))
    formulas = ("where(a > b, g, where(a == b, g / 2, 0))", "where(b > a, g, where(a == b, g / 2, 0))")
    routes = (lambda a, b: _fmax_share(1.0, a, b), lambda a, b: _fmax_share(1.0, b, a))
    examples = staticmethod(_apart)


class _Fmin(Op):
    """The smaller of two, element by element; a number before NaN. Equal elements share the gradient."""

    name, label, word = "fmin", "min", "routes"
    slots, broadcasts, forward, ufuncs = ("a", "b"), True, np.fmin, (np.fmin,)
    vjps = (_fmin_share, lambda g, a, b: _fmin_share(g, b, a))
    formulas = ("where(a < b, g, where(a == b, g / 2, 0))", "where(b < a, g, where(a == b, g / 2, 0))")
    routes = (lambda a, b: _fmin_share(1.0, a, b), lambda a, b: _fmin_share(1.0, b, a))
    examples = staticmethod(_apart)


class _NanToNum(Op):
    """Numbers in place of NaN and of infinities, which get no gradient."""

    name, word, slots = "nan_to_num", "selects", ("a",)
    vjps = (lambda g, a: np.where(np.isfinite(a), g, 0),)
    formulas = ("where(isfinite(a), g, 0)",)
    routes = (lambda a: np.isfinite(a),)

    @staticmethod
    def forward(a: Any, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Any:
        return np.nan_to_num(a, nan=nan, posinf=posinf, neginf=neginf)

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        return [((rng.normal(size=s),), params) for s in ((), (4,), (0, 2), (2, 1, 3)) for params in ({}, {"nan": 2.0, "posinf": 5.0})]


def fmax(a: Any, b: Any) -> Any:
    """The greater of two, element by element, passing over NaN; shapes broadcast. Equal elements get half of the gradient each.

    >>> fmax(np.array([1.0, np.nan]), 2.0)
    array([2., 2.])
    """
    return REGISTRY["fmax"].call.run(frame(1), a, b)


def fmin(a: Any, b: Any) -> Any:
    """The smaller of two, element by element, passing over NaN; shapes broadcast. Equal elements get half of the gradient each.

    >>> fmin(np.array([1.0, np.nan]), 2.0)
    array([1., 2.])
    """
    return REGISTRY["fmin"].call.run(frame(1), a, b)


@expose(numpy=[np.nan_to_num])
def nan_to_num(x: Any, copy: bool = True, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Any:
    """``x`` with ``nan`` in place of NaN, and ``posinf`` and ``neginf`` (the dtype's ends if None) in place of infinities.

    What was replaced gets no gradient; what it was replaced by gets it, if that is a Tensor.

    >>> nan_to_num(np.array([1.0, np.nan, np.inf]), posinf=9.0)
    array([1., 0., 9.])
    """
    if not copy and not isinstance(x, Tensor):
        raise DTypeError("nan_to_num with copy=False would change an array outside the graph; use the result")
    given = {"nan": nan, "posinf": posinf, "neginf": neginf}
    moving = [k for k, v in given.items() if getattr(v, "requires_grad", False)]
    if moving:
        x = as_array(x)
        kept = nan_to_num(x, **{k: v for k, v in given.items() if k not in moving})
        for k in moving:
            kept = np.where(np.isnan(x) if k == "nan" else x == (np.inf if k == "posinf" else -np.inf), given[k], kept)
        return kept if copy else x.copy_(kept)
    params = {k: number("nan_to_num", k, v) for k, v in given.items() if v is not None and (k != "nan" or v != 0)}
    return REGISTRY["nan_to_num"](x, **params) if copy else x._replace(REGISTRY["nan_to_num"], (), params)
