"""Reductions that select: max, min and where they are. Imports the engine's op base only."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorviz.engine.op import REDUCTIONS, REGISTRY, Call, Op, expose, frame
from tensorviz.errors import ShapeError
from tensorviz.ops import options
from tensorviz.ops.axes import Axis, count, divided, of_ufunc, over, plain, restored
from tensorviz.ops.reduction import CALLS
from tensorviz.ops.samples import Examples, distinct

__all__ = ["all", "any", "argmax", "argmin", "max", "min"]


def _chosen(a: Any, out: Any, axis: Axis, keepdims: bool) -> Any:
    """The elements that are the result; if that is NaN, the NaN ones (``a != a`` holds for NaN alone)."""
    return (a == restored(out, axis, keepdims)) | (a != a)


def _rule(g: Any, a: Any, out: Any, axis: Axis, keepdims: bool) -> Any:
    chosen = _chosen(a, out, axis, keepdims)
    ties = np.add.reduce(chosen, axis=axis, keepdims=True)
    return np.where(chosen, divided(restored(g, axis, keepdims), np.where(ties == 0, 1, ties)), 0)


def _route(a: Any, out: Any, axis: Axis, keepdims: bool) -> Any:
    chosen = _chosen(np.asarray(a), np.asarray(out), axis, keepdims)
    return chosen / np.maximum(np.sum(chosen, axis=axis, keepdims=True), 1)


def _refuse_empty(name: str, a: Any, axis: Axis) -> None:
    if count(np.shape(a), axis) == 0:
        over = "all axes" if axis is None else f"axis {axis}"
        raise ShapeError(f"{name} over {over} of shape {np.shape(a)}: there is no element to choose from; it needs at least one")


def _examples(rng: np.random.Generator) -> Examples:
    calls = (*CALLS, ((0, 3), 1, False), ((3, 0), 0, True))
    return [((distinct(rng, s),), {"axis": axis, "keepdims": keep}) for s, axis, keep in calls]


class _Max(Op):
    """The greatest element over some or all axes. Ties share the gradient evenly; NaN is chosen before any number."""

    name, word, slots = "max", "routes", ("a",)
    vjps, routes = (_rule,), (_route,)
    formulas = ("g / ties where a = out, else 0",)
    examples = staticmethod(_examples)

    @staticmethod
    def forward(a: Any, axis: Axis = None, keepdims: Any = False) -> Any:
        _refuse_empty("max", a, axis)
        return np.maximum.reduce(a, axis=axis, keepdims=keepdims)


class _Min(Op):
    """The smallest element over some or all axes. Ties share the gradient evenly; NaN is chosen before any number."""

    name, word, slots = "min", "routes", ("a",)
    vjps, routes = (_rule,), (_route,)
    formulas = ("g / ties where a = out, else 0",)
    examples = staticmethod(_examples)

    @staticmethod
    def forward(a: Any, axis: Axis = None, keepdims: Any = False) -> Any:
        _refuse_empty("min", a, axis)
        return np.minimum.reduce(a, axis=axis, keepdims=keepdims)


class _ArgMax(Op):
    """The position of the greatest element."""

    name, slots, differentiable = "argmax", ("a",), False

    @staticmethod
    def forward(a: Any, axis: int | None = None, keepdims: bool = False) -> Any:
        return np.argmax(a, axis=axis, keepdims=keepdims)


class _ArgMin(Op):
    """The position of the smallest element."""

    name, slots, differentiable = "argmin", ("a",), False

    @staticmethod
    def forward(a: Any, axis: int | None = None, keepdims: bool = False) -> Any:
        return np.argmin(a, axis=axis, keepdims=keepdims)


class _Any(Op):
    """Whether some element is nonzero."""

    name, slots, differentiable = "any", ("a",), False

    @staticmethod
    def forward(a: Any, axis: Axis = None, keepdims: Any = False) -> Any:
        return np.any(a, axis=axis, keepdims=keepdims)


class _All(Op):
    """Whether every element is nonzero."""

    name, slots, differentiable = "all", ("a",), False

    @staticmethod
    def forward(a: Any, axis: Axis = None, keepdims: Any = False) -> Any:
        return np.all(a, axis=axis, keepdims=keepdims)


def _begun(reduce: Any, initial: Any) -> Any:
    """``reduce`` where there is something to choose from, and ``initial`` otherwise."""

    def reduced(a: Any, axis: Any, keepdims: bool) -> Any:
        if initial is not None and count(np.shape(a), plain(axis)) == 0:
            return np.sum(a, axis=axis, keepdims=keepdims) + initial  # the sum is 0, of the right shape, and in the graph
        return reduce(a, axis=axis, keepdims=keepdims)

    return reduced


_MAX, _MIN = Call(REGISTRY["max"], "axis", "keepdims"), Call(REGISTRY["min"], "axis", "keepdims")


@expose(numpy=[np.max, np.amax], method=["max", "amax"])
def max(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True) -> Any:
    """The greatest element over ``axis`` (int, tuple, or None for all).

    Routes the gradient to it; equal elements share it evenly, and a NaN is chosen before any number. Raises ValueError when there are no elements.

    >>> max(np.array([[1.0, 4.0], [3.0, 2.0]]), axis=1)
    array([4., 3.])
    """
    if out is not None or initial is not None or where is not True:
        return options.reduced(_begun(max, initial), a, axis, None, out, keepdims, initial=initial, where=where, join=np.maximum)
    return _MAX.run(frame(1), a, over(a, axis), bool(keepdims))


@expose(numpy=[np.min, np.amin], method=["min", "amin"])
def min(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True) -> Any:
    """The smallest element over ``axis`` (int, tuple, or None for all).

    Routes the gradient to it; equal elements share it evenly, and a NaN is chosen before any number. Raises ValueError when there are no elements.

    >>> min(np.array([[1.0, 4.0], [3.0, 2.0]]), axis=1)
    array([1., 2.])
    """
    if out is not None or initial is not None or where is not True:
        return options.reduced(_begun(min, initial), a, axis, None, out, keepdims, initial=initial, where=where, join=np.minimum)
    return _MIN.run(frame(1), a, over(a, axis), bool(keepdims))


@expose(numpy=[np.argmax], method="argmax")
def argmax(a: Any, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> Any:
    """The position of the first greatest element along ``axis`` (None: in the flattened array). Carries no gradient.

    >>> argmax(np.array([[1.0, 4.0], [3.0, 2.0]]), axis=1)
    array([1, 0])
    """
    _, keepdims = options.settled(None, out, keepdims)
    return REGISTRY["argmax"](a, axis=plain(axis), keepdims=bool(keepdims))


@expose(numpy=[np.argmin], method="argmin")
def argmin(a: Any, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> Any:
    """The position of the first smallest element along ``axis`` (None: in the flattened array). Carries no gradient.

    >>> argmin(np.array([[1.0, 4.0], [3.0, 2.0]]), axis=1)
    array([0, 1])
    """
    _, keepdims = options.settled(None, out, keepdims)
    return REGISTRY["argmin"](a, axis=plain(axis), keepdims=bool(keepdims))


@expose(numpy=[np.any], method="any")
def any(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = True) -> Any:
    """Whether some element over ``axis`` is nonzero. Carries no gradient.

    >>> any(np.array([[True, False], [False, False]]), axis=1)
    array([ True, False])
    """
    if out is not None or where is not True:
        return options.reduced(any, a, axis, None, out, keepdims, where=where, neutral=0)
    return REGISTRY["any"](a, axis=plain(axis), keepdims=bool(keepdims))


@expose(numpy=[np.all], method="all")
def all(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = True) -> Any:
    """Whether every element over ``axis`` is nonzero. Carries no gradient.

    >>> all(np.array([[True, False], [True, True]]), axis=1)
    array([False,  True])
    """
    if out is not None or where is not True:
        return options.reduced(all, a, axis, None, out, keepdims, where=where, neutral=1)
    return REGISTRY["all"](a, axis=plain(axis), keepdims=bool(keepdims))


REDUCTIONS[np.maximum] = of_ufunc("maximum", max)
REDUCTIONS[np.minimum] = of_ufunc("minimum", min)
REDUCTIONS[np.logical_or] = of_ufunc("logical_or", any)
REDUCTIONS[np.logical_and] = of_ufunc("logical_and", all)
