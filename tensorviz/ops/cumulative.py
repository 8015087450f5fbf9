"""Running sums and products along an axis. Imports the engine's op base only."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorviz.engine.op import ACCUMULATIONS, REGISTRY, Op, expose
from tensorviz.ops.axes import divided, plain
from tensorviz.ops.conversion import astype
from tensorviz.ops.operands import as_array, index, refuse_out
from tensorviz.ops.samples import Examples, distinct, positive

__all__ = ["cumprod", "cumsum"]

_CALLS: tuple[tuple[tuple[int, ...], int | None], ...] = (
    ((), None),
    ((4,), None),
    ((4,), 0),
    ((1,), -1),
    ((2, 3), None),
    ((2, 3), 0),
    ((2, 0), 1),
    ((2, 3, 2), -2),
)


def _summed_from_the_end(g: Any, axis: int) -> Any:
    """Every element plus all after it."""
    return np.flip(np.cumsum(np.flip(g, axis), axis=axis), axis)


def _cumsum_rule(g: Any, a_shape: tuple[int, ...], axis: int | None) -> Any:
    return np.reshape(_summed_from_the_end(g, 0 if axis is None else axis), a_shape)


class _CumSum(Op):
    """The running sum along an axis (None: of the flattened array)."""

    name, word, slots = "cumsum", "accumulates", ("a",)
    vjps = (_cumsum_rule,)
    formulas = ("flip(cumsum(flip(g)))",)

    @staticmethod
    def forward(a: Any, axis: int | None = None) -> Any:
        return np.cumsum(a, axis=axis)

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        return [((rng.normal(size=s),), {"axis": axis}) for s, axis in _CALLS]


def _cumprod_rule(g: Any, a: Any, out: Any, axis: int | None) -> Any:
    if not np.any(a == 0):
        flat = a if axis is not None else np.reshape(a, (-1,))
        return np.reshape(_summed_from_the_end(g * out, 0 if axis is None else axis) / flat, a.shape)
    # With zeros there is nothing to divide by. The share of a[k] is the product of what is before it times
    # s[k] = g[k] + a[k + 1] * s[k + 1], the rest of the running products that a[k] is part of.
    rows = np.moveaxis(a, axis, 0) if axis is not None else np.reshape(a, (-1,))
    g = np.moveaxis(g, axis, 0) if axis is not None else g
    sums = [g[-1]]
    for k in range(rows.shape[0] - 2, -1, -1):
        sums.append(g[k] + rows[k + 1] * sums[-1])
    before = np.cumprod(np.concatenate([np.ones((1, *rows.shape[1:]), rows.dtype), rows[:-1]]), axis=0)
    share = before * np.stack(sums[::-1])
    return np.moveaxis(share, 0, axis) if axis is not None else np.reshape(share, a.shape)


class _CumProd(Op):
    """The running product along an axis (None: of the flattened array)."""

    name, word, slots = "cumprod", "scales", ("a",)
    vjps = (_cumprod_rule,)
    formulas = ("flip(cumsum(flip(g * out))) / a",)

    @staticmethod
    def forward(a: Any, axis: int | None = None) -> Any:
        return np.cumprod(a, axis=axis)

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        zeros = np.array([[2.0, 0.0, 3.0], [1.5, 4.0, 5.0], [0.0, 2.0, 0.0]])
        return [*(((positive(rng, s),), {"axis": axis}) for s, axis in _CALLS), *(((zeros,), {"axis": axis}) for axis in (None, 0, 1))]


def _running_rule(g: Any, a: Any, out: Any, axis: int) -> Any:
    # A result is the extreme of what came before it: it shares its gradient evenly among those elements that are equal to it.
    # From the end, what the later results of the same value send is collected: `rest` holds it, until the value changes.
    a, out, g = (np.moveaxis(x, axis, 0) for x in (a, out, g))
    values, tops = np.asarray(a), np.asarray(out)
    equal = (values == tops) | (values != values)
    new = np.concatenate([np.ones((1, *tops.shape[1:]), bool), (tops[1:] != tops[:-1]) & ~((tops[1:] != tops[1:]) & (tops[:-1] != tops[:-1]))])
    ties = np.zeros(tops.shape[1:], np.intp)
    each = []
    for k in range(len(tops)):
        ties = np.where(new[k], equal[k], ties + equal[k])
        each.append(divided(g[k], ties))
    rest: Any = 0
    shares: list[Any] = []
    for k in range(len(tops) - 1, -1, -1):
        rest = each[k] if k == len(tops) - 1 else each[k] + np.where(new[k + 1], 0, rest)
        shares.append(np.where(equal[k], rest, 0))
    return np.moveaxis(np.stack(shares[::-1]), 0, axis) if shares else np.zeros_like(g)


def _extremes(rng: np.random.Generator) -> Examples:
    return [((distinct(rng, s),), {"axis": axis}) for s, axis in (((4,), 0), ((2, 3), 1), ((2, 3), -2), ((2, 3, 2), 1), ((0, 2), 0))]


class _CumMax(Op):
    """The greatest element so far along an axis. Equal ones share its gradient; a NaN stays."""

    name, word, slots = "cummax", "routes", ("a",)
    vjps = (_running_rule,)
    formulas = ("g / ties at the greatest element so far, added up",)
    examples = staticmethod(_extremes)

    @staticmethod
    def forward(a: Any, axis: int = 0) -> Any:
        return np.maximum.accumulate(a, axis=axis)


class _CumMin(Op):
    """The smallest element so far along an axis. Equal ones share its gradient; a NaN stays."""

    name, word, slots = "cummin", "routes", ("a",)
    vjps = (_running_rule,)
    formulas = ("g / ties at the smallest element so far, added up",)
    examples = staticmethod(_extremes)

    @staticmethod
    def forward(a: Any, axis: int = 0) -> Any:
        return np.minimum.accumulate(a, axis=axis)


def _running(op: str, a: Any, axis: Any, dtype: Any, out: Any) -> Any:
    if dtype is not None or out is not None:
        a = _converted(a, dtype, out)
    return REGISTRY[op](a, axis=index("axis", axis))


@expose(numpy=[np.cumsum], method="cumsum")
def cumsum(a: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> Any:
    """The running sum along ``axis`` (None: of the flattened array).

    >>> cumsum(np.array([1.0, 2.0, 3.0]))
    array([1., 3., 6.])
    """
    if dtype is not None or out is not None:
        a = _converted(a, dtype, out)
    return REGISTRY["cumsum"](a, axis=plain(axis))


@expose(numpy=[np.cumprod], method="cumprod")
def cumprod(a: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> Any:
    """The running product along ``axis`` (None: of the flattened array). Its gradient is exact where elements are zero, too.

    >>> cumprod(np.array([1.0, 2.0, 3.0]))
    array([1., 2., 6.])
    """
    if dtype is not None or out is not None:
        a = _converted(a, dtype, out)
    return REGISTRY["cumprod"](a, axis=plain(axis))


def _converted(a: Any, dtype: Any, out: Any) -> Any:
    refuse_out(out)
    return astype(as_array(a), dtype)


ACCUMULATIONS[np.add] = lambda a, axis=0, dtype=None, out=None: cumsum(a, axis, dtype, out)
ACCUMULATIONS[np.multiply] = lambda a, axis=0, dtype=None, out=None: cumprod(a, axis, dtype, out)
ACCUMULATIONS[np.maximum] = lambda a, axis=0, dtype=None, out=None: _running("cummax", a, axis, dtype, out)
ACCUMULATIONS[np.minimum] = lambda a, axis=0, dtype=None, out=None: _running("cummin", a, axis, dtype, out)
