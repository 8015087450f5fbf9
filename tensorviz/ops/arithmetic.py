"""The arithmetic ops: sums, products, powers and remainders of two operands. Imports the engine's op base only."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tensorviz.engine.op import REGISTRY, Op, attach, expose, frame
from tensorviz.ops.samples import Examples, off_zero, pairs

__all__ = [
    "abs",
    "absolute",
    "add",
    "divide",
    "floor_divide",
    "multiply",
    "negative",
    "positive",
    "power",
    "reciprocal",
    "remainder",
    "square",
    "subtract",
]

_EVERYWHERE = (-2.0, 2.0)
_POSITIVE = (0.5, 2.0)


class _Add(Op):
    """``a + b``."""

    name, label, word = "add", "+", "distributes"
    slots, broadcasts, forward, expression = ("a", "b"), True, operator.add, "a + b"
    ufuncs, operators, inplace = (np.add,), ("__add__", "__radd__"), ("__iadd__", "add_")
    vjps = ("g", "g")


class _Sub(Op):
    """``a - b``."""

    name, label, word = "sub", "−", "distributes"
    slots, broadcasts, forward, expression = ("a", "b"), True, operator.sub, "a - b"
    ufuncs, operators, inplace = (np.subtract,), ("__sub__", "__rsub__"), ("__isub__", "sub_")
    vjps = ("g", "-g")


class _Mul(Op):
    """``a * b``."""

    name, label, word = "mul", "×", "swaps"
    slots, broadcasts, forward, expression = ("a", "b"), True, operator.mul, "a * b"
    ufuncs, operators, inplace = (np.multiply,), ("__mul__", "__rmul__"), ("__imul__", "mul_")
    vjps = ("g * b", "g * a")


class _Div(Op):
    """``a / b``."""

    name, label, word = "div", "÷", "scales"
    slots, broadcasts, forward, expression = ("a", "b"), True, operator.truediv, "a / b"
    ufuncs, operators, inplace = (np.true_divide,), ("__truediv__", "__rtruediv__"), ("__itruediv__", "div_")
    # the result rather than a / (b * b): it is there already, and b * b may overflow where a / b does not
    vjps = ("g / b", "-(g / b) * out")
    formulas = ("g / b", "-g * out / b")
    domain = (_EVERYWHERE, _POSITIVE)


def _power(a: Any, b: Any) -> Any:
    # the operator knows short cuts (x ** 2) that np.power does not; two Python numbers have no dtype and would turn complex
    return a**b if isinstance(a, (np.ndarray, np.generic)) or isinstance(b, (np.ndarray, np.generic)) else np.power(a, b)


_TRUTH = np.dtype(bool)


def _power_base(g: Any, a: Any, b: Any) -> Any:
    if (type(b) is int or type(b) is float) and b:
        return g * (a + a if b == 2 else b * a ** (b - 1))  # a + a is 2 * a, without a number to convert
    if getattr(b, "dtype", None) == _TRUTH:
        b = b.astype(a.dtype)  # less 1, truth values would be an int64, and make float64 of float32
    zero = b == 0
    if zero is False or not np.any(zero):
        return g * (b * a ** (b - 1))
    # x ** 0 is constant, also at 0, where 0 * 0 ** -1 would be NaN
    if zero is True:
        return np.zeros_like(g)  # np.where would make an int64 of a Python 0, and float64 of float32
    return np.where(zero, 0, g * (b * a ** np.where(zero, 1, b - 1)))


def _power_exponent(g: Any, a: Any, b: Any, out: Any) -> Any:
    # 0 ** b is constant for b > 0, and at b = 0 by convention; log(0) must not spoil it
    flat = (a == 0) & (b >= 0)
    logarithm = np.log(np.where(flat, 1.0, a).astype(out.dtype))
    return g * np.where(flat, 0, out * logarithm)


class _Pow(Op):
    """``a ** b``. The gradient of ``x ** 0`` is 0, also at x = 0; a constant exponent costs no logarithm."""

    name, label, word = "pow", "**", "scales"
    slots, broadcasts, forward, expression = ("a", "b"), True, staticmethod(_power), "a**b"
    ufuncs, operators, inplace = (np.power,), ("__pow__", "__rpow__"), ("__ipow__", "pow_")
    vjps = (_power_base, _power_exponent)
    formulas = ("g * b * a ** (b - 1)", "g * out * log(a)")
    domain = (_POSITIVE, _EVERYWHERE)


def _quotients(rng: np.random.Generator) -> Examples:
    """Operands whose quotient is no integer, nor near one."""

    def divisor(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
        return rng.choice([-1.0, 1.0], shape)

    def dividend(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
        return rng.integers(-3, 3, shape) + rng.uniform(0.3, 0.7, shape)

    return pairs(dividend, divisor, rng)


class _FloorDivide(Op):
    """``a // b``. A step function: its gradient is 0."""

    name, label, word = "floor_divide", "//", "blocks"
    slots, broadcasts, forward = ("a", "b"), True, operator.floordiv
    ufuncs, operators, inplace = (np.floor_divide,), ("__floordiv__", "__rfloordiv__"), ("__ifloordiv__",)
    vjps = (lambda g: np.zeros_like(g), lambda g: np.zeros_like(g))
    formulas = ("0", "0")
    examples = staticmethod(_quotients)


class _Mod(Op):
    """``a % b``, with the sign of b, as in Python and NumPy."""

    name, label, word = "mod", "%", "scales"
    slots, broadcasts, forward = ("a", "b"), True, operator.mod
    ufuncs, operators, inplace = (np.remainder,), ("__mod__", "__rmod__"), ("__imod__",)
    vjps = (lambda g: g, lambda g, a, b: -g * np.floor_divide(a, b))
    formulas = ("g", "-g * (a // b)")
    examples = staticmethod(_quotients)


class _Fmod(Op):
    """The remainder of a division towards zero, with the sign of ``a``."""

    name, label, word = "fmod", "fmod", "scales"
    slots, broadcasts, forward, ufuncs = ("a", "b"), True, np.fmod, (np.fmod,)
    vjps = (lambda g: g, lambda g, a, b: -g * np.trunc(a / b))
    formulas = ("g", "-g * trunc(a / b)")

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        shapes = [((), ()), ((3,), ()), ((2, 3), (2, 3)), ((2, 1), (1, 3)), ((0, 2), (2,))]
        return [((rng.choice([-1.0, 1.0], a) * rng.uniform(2.2, 2.8, a), rng.choice([-1.0, 1.0], b)), {}) for a, b in shapes]


class _Neg(Op):
    """``-a``."""

    name, label, word = "neg", "−", "negates"
    slots, forward, expression = ("a",), np.negative, "-a"
    ufuncs, operators, methods = (np.negative,), ("__neg__",), ("negative",)
    vjps = ("-g",)


class _Pos(Op):
    """``+a``."""

    name, label, word = "pos", "+", "passes"
    slots, forward = ("a",), np.positive
    ufuncs, operators = (np.positive,), ("__pos__",)
    vjps = ("g",)


class _Abs(Op):
    """``|a|``. Its gradient at 0 is 0."""

    name, label, word = "abs", "|a|", "scales"
    slots, forward = ("a",), np.absolute
    ufuncs, operators, methods = (np.absolute,), ("__abs__",), ("abs",)
    vjps = ("g * np.sign(a)",)
    formulas = ("g * sign(a)",)
    examples = staticmethod(lambda rng: [((off_zero(rng, s),), {}) for s in ((), (4,), (2, 0), (2, 1, 3))])


class _Square(Op):
    """``a²``."""

    name, label, word = "square", "a²", "scales"
    slots, forward = ("a",), np.square
    ufuncs, methods = (np.square,), ("square",)
    vjps = ("g * (a + a)",)
    formulas = ("g * 2 * a",)


class _Reciprocal(Op):
    """``1 / a``."""

    name, label, word = "reciprocal", "1/a", "scales"
    slots, forward = ("a",), np.reciprocal
    ufuncs, methods = (np.reciprocal,), ("reciprocal",)
    vjps = ("-g * (out * out)",)
    formulas = ("-g * out ** 2",)
    domain = (_POSITIVE,)


def add(a: Any, b: Any) -> Any:
    """``a + b``; shapes broadcast.

    >>> add(np.array([1.0, 2.0]), 3.0)
    array([4., 5.])
    """
    return REGISTRY["add"].call.run(frame(1), a, b)


def subtract(a: Any, b: Any) -> Any:
    """``a - b``; shapes broadcast.

    >>> subtract(np.array([1.0, 2.0]), 3.0)
    array([-2., -1.])
    """
    return REGISTRY["sub"].call.run(frame(1), a, b)


def multiply(a: Any, b: Any) -> Any:
    """``a * b``, element by element; shapes broadcast.

    >>> multiply(np.array([1.0, 2.0]), np.array([[3.0], [4.0]]))
    array([[3., 6.],
           [4., 8.]])
    """
    return REGISTRY["mul"].call.run(frame(1), a, b)


def divide(a: Any, b: Any) -> Any:
    """``a / b``; shapes broadcast.

    >>> divide(np.array([1.0, 2.0]), 4.0)
    array([0.25, 0.5 ])
    """
    return REGISTRY["div"].call.run(frame(1), a, b)


def power(a: Any, b: Any) -> Any:
    """``a ** b``; shapes broadcast. Differentiable in the base and in the exponent.

    >>> power(np.array([1.0, 2.0, 3.0]), 2)
    array([1., 4., 9.])
    """
    return REGISTRY["pow"].call.run(frame(1), a, b)


def floor_divide(a: Any, b: Any) -> Any:
    """``a // b``; shapes broadcast. A step function, so its gradient is 0.

    >>> floor_divide(np.array([1.0, 7.0]), 2.0)
    array([0., 3.])
    """
    return REGISTRY["floor_divide"].call.run(frame(1), a, b)


def remainder(a: Any, b: Any) -> Any:
    """``a % b``, with the sign of b; shapes broadcast.

    >>> remainder(np.array([5.0, -1.0]), 3.0)
    array([2., 2.])
    """
    return REGISTRY["mod"].call.run(frame(1), a, b)


def negative(a: Any) -> Any:
    """``-a``.

    >>> negative(np.array([1.0, -2.0]))
    array([-1.,  2.])
    """
    return REGISTRY["neg"].call.run(frame(1), a)


def positive(a: Any) -> Any:
    """``+a``: the same values, as a new node of the graph.

    >>> positive(np.array([1.0, -2.0]))
    array([ 1., -2.])
    """
    return REGISTRY["pos"].call.run(frame(1), a)


def absolute(a: Any) -> Any:
    """``|a|``, also as ``abs``. Its gradient at 0 is 0.

    >>> absolute(np.array([1.0, -2.0]))
    array([1., 2.])
    """
    return REGISTRY["abs"].call.run(frame(1), a)


abs = absolute


def square(a: Any) -> Any:
    """``a²``.

    >>> square(np.array([1.0, -2.0]))
    array([1., 4.])
    """
    return REGISTRY["square"].call.run(frame(1), a)


def reciprocal(a: Any) -> Any:
    """``1 / a``.

    >>> reciprocal(np.array([1.0, -2.0]))
    array([ 1. , -0.5])
    """
    return REGISTRY["reciprocal"].call.run(frame(1), a)


@expose(numpy=[np.divmod])
def _divmod(a: Any, b: Any) -> tuple[Any, Any]:
    """``(a // b, a % b)``."""
    return np.floor_divide(a, b), np.remainder(a, b)


attach("__divmod__", _divmod)
attach("__rdivmod__", lambda self, other: _divmod(other, self))
