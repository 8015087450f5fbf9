"""Ops without a gradient, comparisons and tests, and step functions, whose gradient is 0. Imports the engine's op base only."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from tensorviz.engine.op import REGISTRY, Op, attach, expose, frame
from tensorviz.ops import options
from tensorviz.ops.operands import index
from tensorviz.ops.samples import off_zero

__all__ = ["ceil", "floor", "rint", "round", "sign", "trunc"]


class _Compared(Op, abstract=True):
    """An op on two operands whose result, a truth value, carries no gradient."""

    slots, broadcasts, differentiable = ("a", "b"), True, False


class _Equal(_Compared):
    """``a == b``."""

    name, label, forward = "equal", "=", np.equal
    ufuncs, operators = (np.equal,), ("__eq__",)


class _NotEqual(_Compared):
    """``a != b``."""

    name, label, forward = "not_equal", "≠", np.not_equal
    ufuncs, operators = (np.not_equal,), ("__ne__",)


class _Less(_Compared):
    """``a < b``."""

    name, label, forward = "less", "<", np.less
    ufuncs, operators = (np.less,), ("__lt__",)


class _LessEqual(_Compared):
    """``a <= b``."""

    name, label, forward = "less_equal", "≤", np.less_equal
    ufuncs, operators = (np.less_equal,), ("__le__",)


class _Greater(_Compared):
    """``a > b``."""

    name, label, forward = "greater", ">", np.greater
    ufuncs, operators = (np.greater,), ("__gt__",)


class _GreaterEqual(_Compared):
    """``a >= b``."""

    name, label, forward = "greater_equal", "≥", np.greater_equal
    ufuncs, operators = (np.greater_equal,), ("__ge__",)


class _And(_Compared):
    """``a & b`` of truth values."""

    name, label, forward = "bitwise_and", "&", np.bitwise_and
    ufuncs, operators, inplace = (np.bitwise_and,), ("__and__", "__rand__"), ("__iand__",)


class _Or(_Compared):
    """``a | b`` of truth values."""

    name, label, forward = "bitwise_or", "|", np.bitwise_or
    ufuncs, operators, inplace = (np.bitwise_or,), ("__or__", "__ror__"), ("__ior__",)


class _Xor(_Compared):
    """``a ^ b`` of truth values."""

    name, label, forward = "bitwise_xor", "^", np.bitwise_xor
    ufuncs, operators, inplace = (np.bitwise_xor,), ("__xor__", "__rxor__"), ("__ixor__",)


class _LogicalAnd(_Compared):
    """Whether both operands are nonzero."""

    name, label, forward = "logical_and", "and", np.logical_and
    ufuncs = (np.logical_and,)


class _LogicalOr(_Compared):
    """Whether one of the operands is nonzero."""

    name, label, forward = "logical_or", "or", np.logical_or
    ufuncs = (np.logical_or,)


class _LogicalXor(_Compared):
    """Whether exactly one of the operands is nonzero."""

    name, label, forward = "logical_xor", "xor", np.logical_xor
    ufuncs = (np.logical_xor,)


class _Tested(Op, abstract=True):
    """An op on one operand whose result, a truth value, carries no gradient."""

    slots, differentiable = ("a",), False


class _Invert(_Tested):
    """``~a`` of truth values."""

    name, label, forward = "invert", "~", np.invert
    ufuncs, operators = (np.invert,), ("__invert__",)


class _LogicalNot(_Tested):
    """Whether the operand is zero."""

    name, label, forward = "logical_not", "not", np.logical_not
    ufuncs = (np.logical_not,)


class _IsNan(_Tested):
    """Whether each element is NaN."""

    name, forward, ufuncs = "isnan", np.isnan, (np.isnan,)


class _IsInf(_Tested):
    """Whether each element is infinite."""

    name, forward, ufuncs = "isinf", np.isinf, (np.isinf,)


class _IsFinite(_Tested):
    """Whether each element is neither NaN nor infinite."""

    name, forward, ufuncs = "isfinite", np.isfinite, (np.isfinite,)


class _SignBit(_Tested):
    """Whether each element carries a minus sign."""

    name, forward, ufuncs = "signbit", np.signbit, (np.signbit,)


# ---- step functions: differentiable almost everywhere, with gradient 0 ----------------------------------------


def _between(rng: np.random.Generator) -> Any:
    """Numbers well between two integers, and between two halves."""
    return [((rng.integers(-3, 3, s) + rng.choice([0.25, 0.75], s),), {}) for s in ((), (4,), (0, 2), (2, 1, 3))]


class _Step(Op, abstract=True):
    """A step function: its slope is 0 wherever it has one, and 0 is taken at the jumps as well."""

    slots, word, formulas = ("a",), "blocks", ("0",)
    vjps = (lambda g: np.zeros_like(g),)
    examples: ClassVar[Any] = staticmethod(_between)


class _Sign(_Step):
    """-1, 0 or 1."""

    name, forward = "sign", np.sign
    ufuncs, methods = (np.sign,), ("sign",)
    examples: ClassVar[Any] = staticmethod(lambda rng: [((off_zero(rng, s),), {}) for s in ((), (4,), (0, 2), (2, 1, 3))])


class _Floor(_Step):
    """The largest integer that is not greater."""

    name, label, forward = "floor", "⌊a⌋", np.floor
    ufuncs, methods = (np.floor,), ("floor",)


class _Ceil(_Step):
    """The smallest integer that is not less."""

    name, label, forward = "ceil", "⌈a⌉", np.ceil
    ufuncs, methods = (np.ceil,), ("ceil",)


class _Trunc(_Step):
    """The integer part."""

    name, forward = "trunc", np.trunc
    ufuncs, methods = (np.trunc,), ("trunc",)


class _Rint(_Step):
    """The nearest integer, the even one of two."""

    name, forward, ufuncs = "rint", np.rint, (np.rint,)


class _Round(_Step):
    """The nearest number with so many decimals."""

    name = "round"

    @staticmethod
    def forward(a: Any, decimals: int = 0) -> Any:
        return np.round(a, decimals)


def sign(a: Any) -> Any:
    """-1, 0 or 1 (NaN of NaN). A step function: its gradient is 0.

    >>> sign(np.array([-3.0, 0.0, 2.0]))
    array([-1.,  0.,  1.])
    """
    return REGISTRY["sign"].call.run(frame(1), a)


def floor(a: Any) -> Any:
    """The largest integer that is not greater. A step function: its gradient is 0.

    >>> floor(np.array([-0.5, 1.5]))
    array([-1.,  1.])
    """
    return REGISTRY["floor"].call.run(frame(1), a)


def ceil(a: Any) -> Any:
    """The smallest integer that is not less. A step function: its gradient is 0.

    >>> ceil(np.array([0.5, 1.5]))
    array([1., 2.])
    """
    return REGISTRY["ceil"].call.run(frame(1), a)


def trunc(a: Any) -> Any:
    """The integer part. A step function: its gradient is 0.

    >>> trunc(np.array([2.5, 1.5]))
    array([2., 1.])
    """
    return REGISTRY["trunc"].call.run(frame(1), a)


def rint(a: Any) -> Any:
    """The nearest integer, the even one of two. A step function: its gradient is 0.

    >>> rint(np.array([0.5, 1.5]))
    array([0., 2.])
    """
    return REGISTRY["rint"].call.run(frame(1), a)


@expose(numpy=[getattr(np, name) for name in ("round", "around", "round_") if hasattr(np, name)], method="round")
def round(a: Any, decimals: int = 0, out: Any = None) -> Any:
    """The nearest number with so many decimals, the even one of two. A step function: its gradient is 0.

    >>> round(np.array([1.234, 5.678]), 1)
    array([1.2, 5.7])
    """
    options.settled(None, out, None)
    return REGISTRY["round"](a, decimals=index("decimals", decimals))


def _contains(self: Any, value: Any) -> bool:
    """Whether some element equals ``value``."""
    return bool(np.any(np.equal(self, value)))


attach("__contains__", _contains)
