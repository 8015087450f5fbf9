"""Lowerings of reductions, softmax and running sums: axes to the front, popped by reduce. Imports primitives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorviz import primitives as p
from tensorviz.engine.op import REGISTRY, apply
from tensorviz.lowering.pieces import average, back, block, constant, count, divided, each, expanded, front, greatest, product, reshaped, total
from tensorviz.lowering.rules import RULES, lowering


def function(name: str, x: Any) -> Any:
    """An elementwise function, which is a primitive."""
    return apply(REGISTRY[name], (x,), {})


for _name, _how in (("reduce_add", "add"), ("reduce_max", "max"), ("reduce_mul", "mul")):
    RULES[_name] = lambda x, pop, how=_how: p.reduce(x, how, pop=pop)


@lowering("sum")
def _sum(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return total(a, axis, keepdims)


@lowering("mean")
def _mean(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return average(a, axis, keepdims)


def deviations(a: Any, axis: Any) -> Any:
    """Each element less the mean."""
    return p.sub(a, expanded(average(a, axis, True), a.shape))


@lowering("var")
def _var(a: Any, axis: Any = None, ddof: float = 0, keepdims: bool = False) -> Any:
    d = deviations(a, axis)
    found, n = total(p.mul(d, d), axis, keepdims), max(count(a.shape, axis) - ddof, 0)
    return divided(found, n) if n else p.mul(found, np.where(np.asarray(found) == 0, np.nan, np.inf))


def root(x: Any) -> Any:
    """The square root, with the gradient 0 where x is 0: there a norm or a deviation has its kink."""
    if not (np.asarray(x) == 0).any():
        return function("sqrt", x)
    zero = p.compare(x, 0)
    return p.where(zero, 0, function("sqrt", p.where(zero, 1, x)))


@lowering("std")
def _std(a: Any, axis: Any = None, ddof: float = 0, keepdims: bool = False) -> Any:
    return root(_var(a, axis, ddof, keepdims))


@lowering("prod")
def _prod(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return product(a, axis, keepdims)


@lowering("max")
def _max(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return greatest(a, axis, keepdims)


@lowering("min")
def _min(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return p.neg(greatest(p.neg(a), axis, keepdims))


@lowering("norm")
def _norm(a: Any, axis: Any = None, ord: float = 2, keepdims: bool = False) -> Any:
    size = function("abs", a)
    if ord == 1:
        return total(size, axis, keepdims)
    if ord == np.inf:
        return greatest(size, axis, keepdims) if count(a.shape, axis) else total(size, axis, keepdims)
    if ord == -np.inf:
        return p.neg(greatest(p.neg(size), axis, keepdims))
    if ord == 2:
        return root(total(p.mul(a, a), axis, keepdims))
    powers = total(_power(size, ord), axis, keepdims)
    return _power(powers, 1 / ord)


def _power(x: Any, exponent: float) -> Any:
    """``x ** exponent`` of numbers that are not negative, with the gradient 0 at 0."""
    if not (np.asarray(x) == 0).any():
        return apply(REGISTRY["pow"], (x, exponent), {})
    zero = p.compare(x, 0)
    return p.where(
        zero, float(np.float64(0) ** exponent) if exponent > 0 else float("inf"), apply(REGISTRY["pow"], (p.where(zero, 1, x), exponent), {})
    )


# ---- exponentials under a sum -----------------------------------------------------------------------------------


def shifted(a: Any, axis: Any) -> Any:
    """``a`` less its greatest element, which counts as constant: what it adds to the gradient cancels."""
    return p.sub(a, expanded(p.stop(greatest(a, axis, True)), a.shape))


def _shift_is_empty(a: Any, axis: Any) -> bool:
    return math.prod(a.shape) == 0 or count(a.shape, axis) == 0


def softmax(a: Any, axis: Any = -1) -> Any:
    """``e ** a / sum(e ** a)``."""
    e = function("exp", a if _shift_is_empty(a, axis) else shifted(a, axis))
    return p.div(e, expanded(total(e, axis, True), a.shape))


def log_softmax(a: Any, axis: Any = -1) -> Any:
    """``a - log(sum(e ** a))``."""
    s = a if _shift_is_empty(a, axis) else shifted(a, axis)
    return p.sub(s, expanded(function("log", total(function("exp", s), axis, True)), a.shape))


RULES["softmax"], RULES["log_softmax"] = softmax, log_softmax


@lowering("logsumexp")
def _logsumexp(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    top = p.stop(greatest(a, axis, True))
    if not np.isfinite(np.asarray(top)).all():  # an infinite maximum would give inf - inf
        top = p.where(function("isfinite", top), top, 0)
    s = p.sub(a, expanded(top, a.shape))
    found = p.add(function("log", total(function("exp", s), axis, True)), top)
    return found if keepdims else reshaped(found, tuple([n for i, n in enumerate(a.shape) if i not in each(axis, a.ndim)]))


# ---- running sums, extremes and products ----------------------------------------------------------------------------------


def _running(a: Any, axis: int | None, fill: float) -> tuple[Any, int]:
    """Row k of the first two axes: the elements up to k, and ``fill`` for the later ones; and where the axis goes back."""
    if axis is None:
        a, axis = reshaped(a, (math.prod(a.shape),)), 0
    axis %= a.ndim
    rows = front(a, axis)
    n, rest = rows.shape[0], rows.shape[1:]
    full = (n, n, *rest)  # [element, place, ...]
    up_to = constant(np.triu(np.ones((n, n), bool)).reshape(n, n, *(1,) * len(rest)))
    return p.where(expanded(up_to, full), expanded(reshaped(rows, (n, 1, *rest)), full), fill), axis


@lowering("cumsum")
def _cumsum(a: Any, axis: int | None = None) -> Any:
    rows, to = _running(a, axis, 0)
    return back(p.reduce(rows), to)


@lowering("cummax")
def _cummax(a: Any, axis: int = 0) -> Any:
    rows = front(a, axis % a.ndim)
    if not rows.shape[0]:
        return a
    return back(p.stack(*[p.reduce(block(rows, 0, 0, k + 1), "max") for k in range(rows.shape[0])]), axis % a.ndim)


@lowering("cummin")
def _cummin(a: Any, axis: int = 0) -> Any:
    return p.neg(_cummax(p.neg(a), axis))


@lowering("cumprod")
def _cumprod(a: Any, axis: int | None = None) -> Any:
    rows, to = _running(a, axis, 1)
    return back(product(rows, 0), to)
