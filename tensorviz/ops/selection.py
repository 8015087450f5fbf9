"""Ops that select elements and route the gradient to the chosen ones: where, maximum, minimum, clip. Imports the engine's op base only.

Rules select with ``np.where`` and never multiply by a mask: a NaN or infinite gradient must not reach what was not chosen.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from tensorviz.arguments import shown
from tensorviz.engine.op import REGISTRY, Op, expose, frame
from tensorviz.errors import OptionError, ShapeError
from tensorviz.ops import options
from tensorviz.ops.samples import Examples, distinct, off_zero

__all__ = ["clip", "maximum", "minimum", "where"]


def _where_examples(rng: np.random.Generator) -> Examples:
    shapes = [((), (), ()), ((3,), (), ()), ((2, 3), (3,), (2, 1)), ((3,), (2, 3), (2, 3)), ((1,), (4,), (1,)), ((0, 2), (2,), ())]
    return [((rng.random(c) > 0.5, rng.normal(size=a), rng.normal(size=b)), {}) for c, a, b in shapes]


class _Where(Op):
    """``a`` where the condition holds, ``b`` elsewhere."""

    name, word = "where", "routes"
    slots, broadcasts, forward = ("condition", "a", "b"), True, np.where
    vjps = (None, lambda g, condition: np.where(condition, g, 0), lambda g, condition: np.where(condition, 0, g))
    formulas = ("", "g where condition, else 0", "g where not condition, else 0")
    routes = (None, lambda condition: np.not_equal(condition, 0), lambda condition: np.equal(condition, 0))
    examples = staticmethod(_where_examples)


# A NaN operand makes the result NaN, so it counts as chosen: `a != a` holds for NaN alone, and comparisons with NaN are false.


def _maximum_share(g: Any, a: Any, b: Any) -> Any:
    """``g`` where ``a`` is chosen from the two, half of it where both are equally large."""
    ours, theirs = (a >= b) | (a != a), (b >= a) | (b != b)
    return np.where(ours, np.where(theirs, g / 2, g), 0)


def _minimum_share(g: Any, a: Any, b: Any) -> Any:
    ours, theirs = (a <= b) | (a != a), (b <= a) | (b != b)
    return np.where(ours, np.where(theirs, g / 2, g), 0)


def _apart(rng: np.random.Generator) -> Examples:
    """Two operands that are nowhere near a tie, in shapes that broadcast."""
    shapes = [((), ()), ((3,), ()), ((2, 3), (2, 3)), ((2, 1), (1, 3)), ((0, 2), (2,))]
    examples: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
    for a, b in shapes:
        values = distinct(rng, (int(np.prod(a)) + int(np.prod(b)),))
        examples.append(((values[: int(np.prod(a))].reshape(a), values[int(np.prod(a)) :].reshape(b)), {}))
    return examples


class _Maximum(Op):
    """The greater of two, element by element. Equal elements share the gradient; NaN is chosen before any number."""

    name, label, word, methods = "maximum", "max", "routes", ("maximum",)
    slots, broadcasts, forward, ufuncs = ("a", "b"), True, np.maximum, (np.maximum,)
    vjps = (_maximum_share, lambda g, a, b: _maximum_share(g, b, a))
    formulas = ("g where a > b, g / 2 where a = b, else 0", "g where b > a, g / 2 where a = b, else 0")
    routes = (lambda a, b: _maximum_share(1.0, a, b), lambda a, b: _maximum_share(1.0, b, a))
    examples = staticmethod(_apart)


class _Minimum(Op):
    """The smaller of two, element by element. Equal elements share the gradient; NaN is chosen before any number."""

    name, label, word, methods = "minimum", "min", "routes", ("minimum",)
    slots, broadcasts, forward, ufuncs = ("a", "b"), True, np.minimum, (np.minimum,)
    vjps = (_minimum_share, lambda g, a, b: _minimum_share(g, b, a))
    formulas = ("g where a < b, g / 2 where a = b, else 0", "g where b < a, g / 2 where a = b, else 0")
    routes = (lambda a, b: _minimum_share(1.0, a, b), lambda a, b: _minimum_share(1.0, b, a))
    examples = staticmethod(_apart)


def _clip_examples(rng: np.random.Generator) -> Examples:
    return [
        ((off_zero(rng, (4,)) * 2, -1.7, 1.9), {}),
        ((np.array([-3.0, -0.5, 0.5, 3.0]), np.array(-1.0), np.array(1.0)), {}),
        ((np.array([[-3.0, 0.5, 3.0]]), np.array([[-1.0], [0.0]]), np.array([1.0, 2.0, 2.5])), {}),
        ((np.zeros((0, 2)), -1.0, np.ones(2)), {}),
        ((np.array(0.5), -np.inf, 1.0), {}),
    ]


# What np.clip computes is min(max(a, low), high): the upper bound wins where the two are crossed.


class _Clip(Op):
    """``a`` kept between two bounds. At a bound the gradient passes; outside, it goes to the bound."""

    name, word, broadcasts = "clip", "routes", True
    slots = ("a", "low", "high")
    vjps = (
        lambda g, a, low, high: np.where((a < low) | (a > high), 0, g),
        lambda g, a, low, high: np.where((a < low) & (low <= high), g, 0),
        lambda g, a, low, high: np.where((a > high) | (low > high), g, 0),
    )
    formulas = ("g where low ≤ a ≤ high, else 0", "g where a < low, else 0", "g where a > high, else 0")
    routes = (
        lambda a, low, high: ~(np.less(a, low) | np.greater(a, high)),
        lambda a, low, high: np.less(a, low) & np.less_equal(low, high),
        lambda a, low, high: np.greater(a, high) | np.greater(low, high),
    )
    examples = staticmethod(_clip_examples)

    @staticmethod
    def forward(a: Any, low: Any, high: Any) -> Any:
        return np.clip(a, low, high)


_LEFT_OUT: Any = object()


@expose(numpy=[np.where])
def where(condition: Any, a: Any = _LEFT_OUT, b: Any = _LEFT_OUT) -> Any:
    """``a`` where the condition holds, ``b`` elsewhere; all three broadcast. The gradient goes to the chosen side only.

    With the condition alone: the positions where it holds, as ``np.nonzero`` gives them. Raises ValueError where only one of the others is given.

    >>> where(np.array([True, False]), np.array([1.0, 2.0]), 0.0)
    array([1., 0.])
    """
    if a is _LEFT_OUT or b is _LEFT_OUT:
        if a is not b:
            raise OptionError("where: give both a and b, to choose from, or neither, for the positions where the condition holds")
        if not np.shape(condition):
            raise ShapeError(
                f"where: a condition alone gives the positions at which it holds, so it needs an axis, got {shown(condition)}; or give a and b, too"
            )
        return np.nonzero(condition)
    return REGISTRY["where"](condition, a, b)


def maximum(a: Any, b: Any) -> Any:
    """The greater of two, element by element; shapes broadcast. Equal elements get half of the gradient each.

    >>> maximum(np.array([1.0, 5.0]), 2.0)
    array([2., 5.])
    """
    return REGISTRY["maximum"].call.run(frame(1), a, b)


def minimum(a: Any, b: Any) -> Any:
    """The smaller of two, element by element; shapes broadcast. Equal elements get half of the gradient each.

    >>> minimum(np.array([1.0, 5.0]), 2.0)
    array([1., 2.])
    """
    return REGISTRY["minimum"].call.run(frame(1), a, b)


_UMATH = sys.modules.get("numpy._core.umath") or sys.modules["numpy.core.umath"]
"""Where the ufunc is that the method of an array calls, ``array.clip(0, x)``; NumPy has no public name for it."""


@expose(numpy=[np.clip, _UMATH.clip], method=["clip"])
def clip(a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, *, min: Any = None, max: Any = None) -> Any:
    """``a`` kept between ``a_min`` and ``a_max`` (also ``min`` and ``max``; None is no bound); all broadcast.

    The gradient passes where ``a`` lies between the bounds or on one of them; elsewhere it goes to the bound.
    Raises ValueError when a bound is given twice.

    >>> clip(np.array([-2.0, 0.5, 3.0]), -1.0, 1.0)
    array([-1. ,  0.5,  1. ])
    """
    options.settled(None, out, None)
    if (a_min is not None and min is not None) or (a_max is not None and max is not None):
        raise OptionError("clip: a bound was given twice; a_min and min mean the same, and so do a_max and max")
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    return REGISTRY["clip"](a, _bound(a, low, -1), _bound(a, high, 1))


def _bound(a: Any, bound: Any, side: int) -> Any:
    """A bound, or the last value of a's dtype where there is none."""
    if bound is not None:
        return bound
    kind = getattr(a, "dtype", None) or np.asarray(a).dtype
    if kind.kind == "b":
        return side > 0
    if kind.kind not in "iu":
        return side * np.inf
    ends = np.iinfo(kind)
    return int(ends.min if side < 0 else ends.max)
