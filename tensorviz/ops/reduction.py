"""Reductions that add or multiply: sum, mean, var, std, prod, logsumexp, norm. Imports the engine's op base only."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tensorviz.arguments import number
from tensorviz.engine.op import REDUCTIONS, REGISTRY, Call, Op, expose, frame
from tensorviz.errors import ShapeError
from tensorviz.ops import options
from tensorviz.ops.axes import Axis, count, divided, each, of_ufunc, over, plain, restored, spread
from tensorviz.ops.rows import largest
from tensorviz.ops.samples import Examples, positive

__all__ = ["logsumexp", "mean", "prod", "std", "sum", "var"]

CALLS: tuple[tuple[tuple[int, ...], Axis, bool], ...] = (
    *(((), None, False), ((4,), None, False), ((4,), 0, True), ((1,), -1, False), ((2, 3), None, True), ((2, 3), 0, False)),
    *(((2, 3), -1, True), ((2, 3, 2), (0, -1), False), ((2, 3, 2), (1,), True), ((2, 1, 3), (2, 1), False), ((3,), (), False)),
)
"""Shape, axis and keepdims of the calls on which every reduction is tried."""

EMPTY: tuple[tuple[tuple[int, ...], Axis, bool], ...] = (((0,), None, False), ((0, 3), 0, False), ((0, 3), 1, True), ((2, 0), None, True))
"""The same with an axis of size 0, for reductions that have a value there."""


_DOUBLE = np.dtype(float)
_add_up: Any = np.add.reduce


def _reduction_examples(rng: np.random.Generator) -> Examples:
    return [((rng.normal(size=s),), {"axis": axis, "keepdims": keep}) for s, axis, keep in (*CALLS, *EMPTY)]


def _nonempty_examples(rng: np.random.Generator) -> Examples:
    return [((rng.normal(size=s),), {"axis": axis, "keepdims": keep}) for s, axis, keep in CALLS]


class _Sum(Op):
    """The sum over some or all axes."""

    name, label, word, slots = "sum", "Σ", "repeats", ("a",)
    expression = "_add_up(a, axis, None, None, keepdims)"
    vjps, exact = (spread,), "a.ndim"
    formulas = ("g, repeated along the summed axes",)
    examples = staticmethod(_reduction_examples)

    @staticmethod
    def forward(a: Any, axis: Axis = None, keepdims: Any = False) -> Any:
        return _add_up(a, axis, None, None, keepdims)


def _divided(total: Any, n: Any) -> Any:
    """``total / n`` in the dtype of a floating ``total``; NaN where n is 0."""
    if n == 0:
        return total * np.nan
    return total / (total.dtype.type(n) if total.dtype.kind == "f" else n)


class _Mean(Op):
    """The mean over some or all axes."""

    name, word, slots, exact = "mean", "repeats", ("a",), "a.ndim"
    vjps = (lambda g, a_shape, axis, keepdims: spread(divided(g, count(a_shape, axis) or 1), a_shape, axis, keepdims),)
    formulas = ("g / n, repeated along the averaged axes",)
    examples = staticmethod(_reduction_examples)

    @staticmethod
    def forward(a: Any, axis: Axis = None, keepdims: Any = False) -> Any:
        if type(a) is np.ndarray and a.dtype is _DOUBLE and a.ndim and a.size:
            total = _add_up(a, axis, None, None, keepdims)
            return total / (a.size / total.size)
        if getattr(a, "dtype", _DOUBLE).char == "e":
            return np.mean(a, axis=axis, keepdims=keepdims)  # float16, adds in float32
        return _divided(np.add.reduce(a, axis=axis, keepdims=keepdims), count(np.shape(a), axis))


def _ddof(function: str, ddof: Any) -> Any:
    return ddof if type(ddof) is int else number(function, "ddof", ddof)


def _centred(a: Any, axis: Axis) -> Any:
    return a - np.mean(a, axis=axis, keepdims=True)


def _var(a: Any, axis: Axis = None, ddof: float = 0, keepdims: Any = False) -> Any:
    if getattr(a, "dtype", None) == np.float16:  # squares are added in float32, as NumPy adds for the mean
        return np.asarray(_var(np.asarray(a, np.float32), axis, ddof, keepdims)).astype(np.float16)[()]
    d = np.subtract(a, REGISTRY["mean"].run(a, axis=axis, keepdims=True))
    total, n = np.add.reduce(d * d, axis=axis, keepdims=keepdims), max(count(np.shape(a), axis) - ddof, 0)
    return _divided(total, n) if n else total * np.where(total == 0, np.nan, np.inf).astype(total.dtype)  # total / 0 without a warning


def _var_rule(g: Any, a: Any, axis: Axis, ddof: float, keepdims: bool) -> Any:
    n = max(count(a.shape, axis) - ddof, 0)
    return restored(divided(g * 2, n) if n else g * np.inf, axis, keepdims) * _centred(a, axis)


class _Var(Op):
    """The variance over some or all axes; divides by ``n - ddof``."""

    name, word, slots = "var", "scales", ("a",)
    forward = staticmethod(_var)
    vjps = (_var_rule,)
    formulas = ("g * 2 / (n - ddof) * (a - mean(a))",)
    examples = staticmethod(
        lambda rng: [*_nonempty_examples(rng), *(((rng.normal(size=(3, 4)),), {"axis": i, "ddof": 1}) for i in (None, 0, (0, 1)))]
    )


def _std_rule(g: Any, a: Any, out: Any, axis: Axis, ddof: float, keepdims: bool) -> Any:
    # Where all elements are equal the deviation has a kink at its minimum, like |a| at 0, and 0 is taken there as well.
    # The division by 1 there only keeps 0 / 0 from happening.
    n = max(count(a.shape, axis) - ddof, 0)
    scaled = divided(np.where(out == 0, 0, g / np.where(out == 0, 1, out)), n) if n else g * np.nan
    return restored(scaled, axis, keepdims) * _centred(a, axis)


class _Std(Op):
    """The standard deviation over some or all axes, the root of the variance. Its gradient is 0 where all elements are equal."""

    name, word, slots = "std", "scales", ("a",)
    vjps = (_std_rule,)
    formulas = ("g / ((n - ddof) * out) * (a - mean(a))",)

    @staticmethod
    def forward(a: Any, axis: Axis = None, ddof: float = 0, keepdims: Any = False) -> Any:
        return np.sqrt(_var(a, axis, ddof, keepdims))

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        calls: tuple[tuple[tuple[int, ...], Axis, bool], ...] = (((4,), None, False), ((3, 2), 0, True), ((2, 3, 2), (0, -1), False))
        return [
            ((np.arange(float(np.prod(s))).reshape(s) + rng.uniform(0, 0.4, s),), {"axis": axis, "ddof": ddof, "keepdims": keep})
            for s, axis, keep in calls
            for ddof in (0, 1)
        ]


def others(a: Any, axis: int) -> Any:
    """For every element, the product of all others along the axis: what is before it times what is after it, so that zeros need no division."""
    a = np.moveaxis(a, axis, 0)
    ones = np.ones((1, *a.shape[1:]), a.dtype)
    before = np.cumprod(np.concatenate([ones, a[:-1]]), axis=0)
    after = np.flip(np.cumprod(np.concatenate([ones, np.flip(a, 0)[:-1]]), axis=0), 0)
    return np.moveaxis(before * after, 0, axis)


def _prod_rule(g: Any, a: Any, out: Any, axis: Axis, keepdims: bool) -> Any:
    g = restored(g, axis, keepdims)
    if not np.any(a == 0):
        return g * (restored(out, axis, keepdims) / a)
    # axis by axis: the product over two axes is a product of products
    partial = [a]
    axes = each(axis, a.ndim)
    for i in axes[:-1]:
        partial.append(np.prod(partial[-1], axis=i, keepdims=True))
    for i, part in zip(reversed(axes), reversed(partial), strict=False):
        g = g * others(part, i)
    return g


class _Prod(Op):
    """The product over some or all axes."""

    name, label, word, slots = "prod", "Π", "scales", ("a",)
    vjps = (_prod_rule,)
    formulas = ("g * product of the others",)

    @staticmethod
    def forward(a: Any, axis: Axis = None, keepdims: Any = False) -> Any:
        return np.multiply.reduce(a, axis=axis, keepdims=keepdims)

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        zeros = np.array([[2.0, 0.0, 3.0], [1.5, 4.0, 5.0], [0.0, 2.0, 0.0]])
        return [
            *(((positive(rng, s),), {"axis": axis, "keepdims": keep}) for s, axis, keep in (*CALLS, *EMPTY)),
            *(((zeros,), {"axis": axis}) for axis in (None, 0, 1, (1, 0))),
        ]


def _logsumexp(a: Any, axis: Axis = None, keepdims: Any = False) -> Any:
    if count(np.shape(a), axis) == 0:
        raise ShapeError(f"logsumexp over axis {axis} of shape {np.shape(a)} has no elements; its value would be -inf")
    top = largest(a, axis)
    top = np.where(np.isfinite(top), top, 0).astype(top.dtype)  # an infinite maximum would give inf - inf
    with np.errstate(under="ignore", divide="ignore"):
        total = np.log(np.add.reduce(np.exp(a - top), axis=axis, keepdims=True)) + top
    return total if keepdims else np.squeeze(total, axis=axis)


def _logsumexp_rule(g: Any, a: Any, out: Any, axis: Axis, keepdims: bool) -> Any:
    with np.errstate(under="ignore"):
        return restored(g, axis, keepdims) * np.exp(a - restored(out, axis, keepdims))


class _LogSumExp(Op):
    """``log(sum(e ** a))`` over some or all axes, without overflow. A slice that is all -inf has the gradient NaN."""

    name, word, slots = "logsumexp", "weights", ("a",)
    forward = staticmethod(_logsumexp)
    vjps = (_logsumexp_rule,)
    formulas = ("g * exp(a - out)",)
    examples = staticmethod(_nonempty_examples)


_SUM, _MEAN, _PROD, _LOGSUMEXP = (Call(REGISTRY[name], "axis", "keepdims") for name in ("sum", "mean", "prod", "logsumexp"))
_VAR, _STD = (Call(REGISTRY[name], "axis", "ddof", "keepdims") for name in ("var", "std"))


@expose(numpy=[np.sum], method="sum")
def sum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True) -> Any:
    """The sum over ``axis`` (int, tuple, or None for all). Its rule repeats the gradient along the summed axes. Further arguments as NumPy's.

    >>> sum(np.array([[1.0, 2.0], [3.0, 4.0]]), axis=0)
    array([4., 6.])
    """
    if dtype is not None or out is not None or initial is not None or where is not True:
        return options.reduced(sum, a, axis, dtype, out, keepdims, initial=initial, where=where, neutral=0, join=operator.add)
    return _SUM.run(frame(1), a, axis if axis is None or type(axis) is int else plain(axis), bool(keepdims))


@expose(numpy=[np.mean], method="mean")
def mean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = True) -> Any:
    """The mean over ``axis`` (int, tuple, or None for all); NaN where there are no elements. Further arguments as NumPy's.

    >>> mean(np.array([[1.0, 2.0], [3.0, 4.0]]), axis=1)
    array([1.5, 3.5])
    """
    if dtype is not None or out is not None or where is not True:
        return options.mean(sum, a, plain(axis), dtype, out, keepdims, where)
    return _MEAN.run(frame(1), a, axis if axis is None or type(axis) is int else plain(axis), bool(keepdims))


@expose(numpy=[np.var], method="var")
def var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = True,
    mean: Any = None,
    correction: Any = None,
) -> Any:
    """The variance over ``axis`` (int, tuple, or None for all); divides by ``n - ddof``, by 0 where that is negative. Further arguments as NumPy's.

    >>> var(np.array([[1.0, 2.0, 6.0]]), axis=1, ddof=1)
    array([7.])
    """
    if dtype is not None or out is not None or where is not True or mean is not None or correction is not None:
        return options.variance(sum, a, plain(axis), dtype, out, ddof, keepdims, where, mean, correction)
    return _VAR.run(frame(1), a, plain(axis), _ddof("var", ddof), bool(keepdims))


@expose(numpy=[np.std], method="std")
def std(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = True,
    mean: Any = None,
    correction: Any = None,
) -> Any:
    """The standard deviation over ``axis``, the root of :func:`var`. Its gradient is 0 where all elements are equal. Further arguments as NumPy's.

    >>> std(np.array([[1.0, 3.0]]), axis=1)
    array([1.])
    """
    if dtype is not None or out is not None or where is not True or mean is not None or correction is not None:
        return options.root(options.variance(sum, a, plain(axis), dtype, out, ddof, keepdims, where, mean, correction))
    return _STD.run(frame(1), a, plain(axis), _ddof("std", ddof), bool(keepdims))


@expose(numpy=[np.prod], method="prod")
def prod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True) -> Any:
    """The product over ``axis`` (int, tuple, or None for all). Its gradient is exact where elements are zero, too. Further arguments as NumPy's.

    >>> prod(np.array([[1.0, 2.0], [3.0, 4.0]]), axis=0)
    array([3., 8.])
    """
    if dtype is not None or out is not None or initial is not None or where is not True:
        return options.reduced(prod, a, axis, dtype, out, keepdims, initial=initial, where=where, neutral=1, join=operator.mul)
    return _PROD.run(frame(1), a, over(a, axis), bool(keepdims))


@expose(method="logsumexp")
def logsumexp(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """``log(sum(e ** a))`` over ``axis`` (int, tuple, or None for all), without overflow. Raises ValueError when there are no elements.

    >>> logsumexp(np.array([[1000.0, 1000.0]]), axis=1)
    array([1000.69314718])
    """
    return _LOGSUMEXP.run(frame(1), a, over(a, axis), bool(keepdims))


REDUCTIONS[np.add] = of_ufunc("add", sum)
REDUCTIONS[np.multiply] = of_ufunc("multiply", prod)
REDUCTIONS[np.logaddexp] = of_ufunc("logaddexp", logsumexp)
