"""Exponentials, logarithms, powers of fixed degree and roots. Imports the engine's op base and activations."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorviz.engine.op import REGISTRY, Op, frame
from tensorviz.ops.activation import sigmoid
from tensorviz.ops.origin import unit
from tensorviz.ops.samples import off_zero, pairs

__all__ = ["cbrt", "exp", "exp2", "expm1", "hypot", "log", "log1p", "log2", "log10", "logaddexp", "sqrt"]

_POSITIVE = (0.5, 2.0)
_LN2 = float(np.log(2.0))
_LN10 = float(np.log(10.0))


class _Exp(Op):
    """``e ** a``."""

    name, label, word = "exp", "exp", "scales"
    slots, forward = ("a",), np.exp
    ufuncs, methods = (np.exp,), ("exp",)
    vjps = ("g * out",)


class _Exp2(Op):
    """``2 ** a``."""

    name, label, word = "exp2", "exp2", "scales"
    slots, forward = ("a",), np.exp2
    ufuncs, methods = (np.exp2,), ("exp2",)
    vjps = (lambda g, out: g * (out * _LN2),)
    formulas = ("g * out * log(2)",)


class _Expm1(Op):
    """``e ** a - 1``."""

    name, label, word = "expm1", "expm1", "scales"
    slots, forward = ("a",), np.expm1
    ufuncs, methods = (np.expm1,), ("expm1",)
    vjps = ("g * (out + 1)",)


class _Log(Op):
    """The natural logarithm."""

    name, label, word = "log", "log", "scales"
    slots, forward = ("a",), np.log
    ufuncs, methods = (np.log,), ("log",)
    vjps = ("g / a",)
    domain = (_POSITIVE,)


class _Log1p(Op):
    """``log(1 + a)``."""

    name, label, word = "log1p", "log1p", "scales"
    slots, forward = ("a",), np.log1p
    ufuncs, methods = (np.log1p,), ("log1p",)
    vjps = ("g / (1 + a)",)
    domain = ((-0.5, 2.0),)


class _Log2(Op):
    """The logarithm to base 2."""

    name, label, word = "log2", "log2", "scales"
    slots, forward = ("a",), np.log2
    ufuncs, methods = (np.log2,), ("log2",)
    vjps = (lambda g, a: g / (a * _LN2),)
    formulas = ("g / (a * log(2))",)
    domain = (_POSITIVE,)


class _Log10(Op):
    """The logarithm to base 10."""

    name, label, word = "log10", "log10", "scales"
    slots, forward = ("a",), np.log10
    ufuncs, methods = (np.log10,), ("log10",)
    vjps = (lambda g, a: g / (a * _LN10),)
    formulas = ("g / (a * log(10))",)
    domain = (_POSITIVE,)


class _Sqrt(Op):
    """The square root. Its slope at 0 is infinite."""

    name, label, word = "sqrt", "√", "scales"
    slots, forward = ("a",), np.sqrt
    ufuncs, methods = (np.sqrt,), ("sqrt",)
    vjps = ("g / (out + out)",)
    formulas = ("g / (2 * out)",)
    domain = (_POSITIVE,)


class _Cbrt(Op):
    """The cube root. Its slope at 0 is infinite."""

    name, label, word = "cbrt", "∛", "scales"
    slots, forward = ("a",), np.cbrt
    ufuncs, methods = (np.cbrt,), ("cbrt",)
    vjps = ("g / (3 * (out * out))",)
    formulas = ("g / (3 * out ** 2)",)
    examples = staticmethod(lambda rng: [((off_zero(rng, s),), {}) for s in ((), (4,), (0, 2), (2, 1, 3))])


class _Hypot(Op):
    """``sqrt(a² + b²)``, without overflow. Its gradient at (0, 0) is 0."""

    name, label, word = "hypot", "hypot", "scales"
    slots, broadcasts, forward = ("a", "b"), True, np.hypot
    ufuncs, methods = (np.hypot,), ("hypot",)
    vjps = (lambda g, a, out: g * unit(a, out), lambda g, b, out: g * unit(b, out))
    formulas = ("g * a / out", "g * b / out")
    examples = staticmethod(lambda rng: pairs(off_zero, off_zero, rng))


def _logaddexp(a: Any, b: Any) -> Any:
    with np.errstate(under="ignore"):
        return np.logaddexp(a, b)


def _share_of_sum(g: Any, a: Any, b: Any) -> Any:
    # not exp(a - out), which is inf - inf where a is infinite, nor 1 / (1 + exp(b - a)), of which a derivative is 0 * inf where exp overflows
    with np.errstate(under="ignore"):
        return g * sigmoid(a - b)


class _Logaddexp(Op):
    """``log(e ** a + e ** b)``."""

    name, label, word = "logaddexp", "logaddexp", "scales"
    slots, broadcasts, forward = ("a", "b"), True, staticmethod(_logaddexp)
    ufuncs, methods = (np.logaddexp,), ("logaddexp",)
    vjps = (_share_of_sum, lambda g, a, b: _share_of_sum(g, b, a))
    formulas = ("g * sigmoid(a - b)", "g * sigmoid(b - a)")


def exp(a: Any) -> Any:
    """``e ** a``.

    >>> exp(np.array([0.0, 1.0]))
    array([1.        , 2.71828183])
    """
    return REGISTRY["exp"].call.run(frame(1), a)


def exp2(a: Any) -> Any:
    """``2 ** a``.

    >>> exp2(np.array([0.0, 3.0]))
    array([1., 8.])
    """
    return REGISTRY["exp2"].call.run(frame(1), a)


def expm1(a: Any) -> Any:
    """``e ** a - 1``, exact where a is small.

    >>> expm1(np.array([0.0, 1.0]))
    array([0.        , 1.71828183])
    """
    return REGISTRY["expm1"].call.run(frame(1), a)


def log(a: Any) -> Any:
    """The natural logarithm.

    >>> log(np.array([1.0, 4.0]))
    array([0.        , 1.38629436])
    """
    return REGISTRY["log"].call.run(frame(1), a)


def log1p(a: Any) -> Any:
    """``log(1 + a)``, exact where a is small.

    >>> log1p(np.array([0.0, 1.0]))
    array([0.        , 0.69314718])
    """
    return REGISTRY["log1p"].call.run(frame(1), a)


def log2(a: Any) -> Any:
    """The logarithm to base 2.

    >>> log2(np.array([1.0, 8.0]))
    array([0., 3.])
    """
    return REGISTRY["log2"].call.run(frame(1), a)


def log10(a: Any) -> Any:
    """The logarithm to base 10.

    >>> log10(np.array([1.0, 100.0]))
    array([0., 2.])
    """
    return REGISTRY["log10"].call.run(frame(1), a)


def sqrt(a: Any) -> Any:
    """The square root. Its slope at 0 is infinite, as in NumPy's arithmetic.

    >>> sqrt(np.array([0.0, 4.0]))
    array([0., 2.])
    """
    return REGISTRY["sqrt"].call.run(frame(1), a)


def cbrt(a: Any) -> Any:
    """The cube root, also of negative numbers.

    >>> cbrt(np.array([-8.0, 27.0]))
    array([-2.,  3.])
    """
    return REGISTRY["cbrt"].call.run(frame(1), a)


def hypot(a: Any, b: Any) -> Any:
    """``sqrt(a² + b²)`` without overflow; shapes broadcast. Its gradient at (0, 0) is 0, as that of every norm here.

    >>> hypot(np.array([3.0, 5.0]), np.array([4.0, 12.0]))
    array([ 5., 13.])
    """
    return REGISTRY["hypot"].call.run(frame(1), a, b)


def logaddexp(a: Any, b: Any) -> Any:
    """``log(e ** a + e ** b)`` without overflow; shapes broadcast.

    >>> logaddexp(np.array([0.0, 1000.0]), 0.0)
    array([6.93147181e-01, 1.00000000e+03])
    """
    return REGISTRY["logaddexp"].call.run(frame(1), a, b)
