"""Softmax and its logarithm. Imports the engine's op base only."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorviz.engine.op import REGISTRY, Call, Op, frame
from tensorviz.ops.axes import Axis, plain
from tensorviz.ops.rows import dotted, largest
from tensorviz.ops.samples import Examples

__all__ = ["log_softmax", "softmax"]


def _examples(rng: np.random.Generator) -> Examples:
    calls: tuple[tuple[tuple[int, ...], Axis], ...] = (
        ((3,), -1),
        ((1,), 0),
        ((2, 3), 1),
        ((2, 3), 0),
        ((0, 3), -1),
        ((0, 3), 0),
        ((2, 2, 3), (0, 2)),
        ((2, 3), None),
    )
    return [((rng.normal(size=s),), {"axis": axis}) for s, axis in calls]


def shifted(a: Any, axis: Axis) -> Any:
    """``a`` minus its maximum along the axis: the exponential of the result cannot overflow."""
    try:
        return a - largest(a, axis)
    except ValueError:
        if a.size:
            raise
        np.add.reduce(a, axis=axis)  # raises for an axis that is not there
        return a.copy()  # a slice without elements has no maximum, and needs none


def _softmax_rule(g: Any, out: Any, axis: Axis) -> Any:
    with np.errstate(under="ignore"):
        left = g - dotted(g, out, axis)
        if type(left) is not np.ndarray or left.dtype is not out.dtype:
            return out * left
        left *= out  # what the rule has made for itself it may write to
        return left


def _log_softmax_rule(g: Any, out: Any, axis: Axis) -> Any:
    with np.errstate(under="ignore"):
        return g - np.exp(out) * np.add.reduce(g, axis=axis, keepdims=True)


class _Softmax(Op):
    """``e ** a / sum(e ** a)`` along an axis. A slice that is all -inf gives NaN, forward and backward."""

    name, word, slots, methods, exact = "softmax", "weights", ("a",), ("softmax",), "a.ndim"
    vjps = (_softmax_rule,)
    formulas = ("out * (g - sum(g * out))",)
    examples = staticmethod(_examples)

    @staticmethod
    def forward(a: Any, axis: Axis = -1) -> Any:
        with np.errstate(under="ignore"):
            e = shifted(a, axis)
            if type(e) is not np.ndarray or e.dtype.kind != "f":
                e = np.exp(e)
                return e / np.add.reduce(e, axis=axis, keepdims=True)
            np.exp(e, out=e)
            e /= np.add.reduce(e, axis=axis, keepdims=True)
            return e


class _LogSoftmax(Op):
    """``log(softmax(a))`` along an axis, exact where softmax would be 0."""

    name, word, slots, methods, exact = "log_softmax", "weights", ("a",), ("log_softmax",), "a.ndim"
    vjps = (_log_softmax_rule,)
    formulas = ("g - exp(out) * sum(g)",)
    examples = staticmethod(_examples)

    @staticmethod
    def forward(a: Any, axis: Axis = -1) -> Any:
        with np.errstate(under="ignore"):
            s = shifted(a, axis)
            if not s.size:
                return s
            return s - np.log(np.add.reduce(np.exp(s), axis=axis, keepdims=True))


_SOFTMAX, _LOG_SOFTMAX = Call(REGISTRY["softmax"], "axis"), Call(REGISTRY["log_softmax"], "axis")


def softmax(a: Any, axis: Any = -1) -> Any:
    """``e ** a / sum(e ** a)`` along ``axis`` (int, tuple, or None for all), without overflow.

    A slice that is all -inf has no softmax: its values and its gradient are NaN.

    >>> softmax(np.array([0.0, 0.0, 1000.0]))
    array([0., 0., 1.])
    """
    return _SOFTMAX.run(frame(1), a, plain(axis))


def log_softmax(a: Any, axis: Any = -1) -> Any:
    """``log(softmax(a))`` along ``axis`` (int, tuple, or None for all), exact where softmax would round to 0.

    >>> log_softmax(np.array([0.0, 1000.0]))
    array([-1000.,     0.])
    """
    return _LOG_SOFTMAX.run(frame(1), a, plain(axis))
