"""Trigonometric and hyperbolic functions and their inverses. Imports the engine's op base only."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorviz.engine.op import REGISTRY, Op, frame
from tensorviz.ops.origin import unit
from tensorviz.ops.samples import off_zero, pairs

__all__ = ["arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "cos", "cosh", "sin", "sinh", "tan", "tanh"]

_INSIDE = (-0.9, 0.9)


class _Sin(Op):
    """The sine, of radians."""

    name, label, word = "sin", "sin", "scales"
    slots, forward = ("a",), np.sin
    ufuncs, methods = (np.sin,), ("sin",)
    vjps = (lambda g, a: g * np.cos(a),)
    formulas = ("g * cos(a)",)


class _Cos(Op):
    """The cosine, of radians."""

    name, label, word = "cos", "cos", "scales"
    slots, forward = ("a",), np.cos
    ufuncs, methods = (np.cos,), ("cos",)
    vjps = (lambda g, a: -g * np.sin(a),)
    formulas = ("-g * sin(a)",)


class _Tan(Op):
    """The tangent, of radians."""

    name, label, word = "tan", "tan", "scales"
    slots, forward = ("a",), np.tan
    ufuncs, methods = (np.tan,), ("tan",)
    vjps = (lambda g, out: g * (1 + out * out),)
    formulas = ("g * (1 + out ** 2)",)
    domain = ((-1.2, 1.2),)


class _Arcsin(Op):
    """The inverse of the sine, in radians."""

    name, label, word = "arcsin", "arcsin", "scales"
    slots, forward = ("a",), np.arcsin
    ufuncs, methods = (np.arcsin,), ("arcsin",)
    vjps = (lambda g, a: g / np.sqrt((1 - a) * (1 + a)),)
    formulas = ("g / sqrt(1 - a ** 2)",)
    domain = (_INSIDE,)


class _Arccos(Op):
    """The inverse of the cosine, in radians."""

    name, label, word = "arccos", "arccos", "scales"
    slots, forward = ("a",), np.arccos
    ufuncs, methods = (np.arccos,), ("arccos",)
    vjps = (lambda g, a: -g / np.sqrt((1 - a) * (1 + a)),)
    formulas = ("-g / sqrt(1 - a ** 2)",)
    domain = (_INSIDE,)


class _Arctan(Op):
    """The inverse of the tangent, in radians."""

    name, label, word = "arctan", "arctan", "scales"
    slots, forward = ("a",), np.arctan
    ufuncs, methods = (np.arctan,), ("arctan",)
    vjps = (lambda g, a: g / np.hypot(1, a) / np.hypot(1, a),)  # a square passes the end of float16 from 256 on
    formulas = ("g / (1 + a ** 2)",)


def _inverse_point(a: Any, b: Any) -> Any:
    """``a / (a² + b²)``, without squares that overflow or vanish; 0 at the origin."""
    radius = np.hypot(a, b)
    return unit(a, radius) / np.where(radius == 0, 1, radius)


class _Arctan2(Op):
    """The angle of the point (b, a) in the plane, in radians. Its gradient at the origin is 0."""

    name, label, word = "arctan2", "arctan2", "scales"
    slots, broadcasts, forward = ("a", "b"), True, np.arctan2
    ufuncs, methods = (np.arctan2,), ("arctan2",)
    vjps = (lambda g, a, b: g * _inverse_point(b, a), lambda g, a, b: -g * _inverse_point(a, b))
    formulas = ("g * b / (a ** 2 + b ** 2)", "-g * a / (a ** 2 + b ** 2)")
    examples = staticmethod(lambda rng: pairs(off_zero, off_zero, rng))


class _Sinh(Op):
    """The hyperbolic sine."""

    name, label, word = "sinh", "sinh", "scales"
    slots, forward = ("a",), np.sinh
    ufuncs, methods = (np.sinh,), ("sinh",)
    vjps = (lambda g, a: g * np.cosh(a),)
    formulas = ("g * cosh(a)",)


class _Cosh(Op):
    """The hyperbolic cosine."""

    name, label, word = "cosh", "cosh", "scales"
    slots, forward = ("a",), np.cosh
    ufuncs, methods = (np.cosh,), ("cosh",)
    vjps = (lambda g, a: g * np.sinh(a),)
    formulas = ("g * sinh(a)",)


class _Tanh(Op):
    """The hyperbolic tangent."""

    name, label, word = "tanh", "tanh", "scales"
    slots, forward = ("a",), np.tanh
    ufuncs, methods = (np.tanh,), ("tanh",)
    vjps = (lambda g, out: g * (1 - out * out),)
    formulas = ("g * (1 - out ** 2)",)


class _Arcsinh(Op):
    """The inverse of the hyperbolic sine."""

    name, label, word = "arcsinh", "arcsinh", "scales"
    slots, forward = ("a",), np.arcsinh
    ufuncs, methods = (np.arcsinh,), ("arcsinh",)
    vjps = (lambda g, a: g / np.hypot(1, a),)
    formulas = ("g / sqrt(1 + a ** 2)",)


class _Arccosh(Op):
    """The inverse of the hyperbolic cosine."""

    name, label, word = "arccosh", "arccosh", "scales"
    slots, forward = ("a",), np.arccosh
    ufuncs, methods = (np.arccosh,), ("arccosh",)
    vjps = (lambda g, a: g / (np.sqrt(a - 1) * np.sqrt(a + 1)),)
    formulas = ("g / sqrt(a ** 2 - 1)",)
    domain = ((1.2, 3.0),)


class _Arctanh(Op):
    """The inverse of the hyperbolic tangent."""

    name, label, word = "arctanh", "arctanh", "scales"
    slots, forward = ("a",), np.arctanh
    ufuncs, methods = (np.arctanh,), ("arctanh",)
    vjps = (lambda g, a: g / ((1 - a) * (1 + a)),)
    formulas = ("g / (1 - a ** 2)",)
    domain = (_INSIDE,)


def sin(a: Any) -> Any:
    """The sine, of radians.

    >>> sin(np.array([0.0, np.pi / 2]))
    array([0., 1.])
    """
    return REGISTRY["sin"].call.run(frame(1), a)


def cos(a: Any) -> Any:
    """The cosine, of radians.

    >>> cos(np.array([0.0, np.pi]))
    array([ 1., -1.])
    """
    return REGISTRY["cos"].call.run(frame(1), a)


def tan(a: Any) -> Any:
    """The tangent, of radians.

    >>> tan(np.array([0.0, 1.0]))
    array([0.        , 1.55740772])
    """
    return REGISTRY["tan"].call.run(frame(1), a)


def arcsin(a: Any) -> Any:
    """The inverse of the sine, in radians; NaN outside [-1, 1].

    >>> arcsin(np.array([0.0, 1.0]))
    array([0.        , 1.57079633])
    """
    return REGISTRY["arcsin"].call.run(frame(1), a)


def arccos(a: Any) -> Any:
    """The inverse of the cosine, in radians; NaN outside [-1, 1].

    >>> arccos(np.array([1.0, 0.0]))
    array([0.        , 1.57079633])
    """
    return REGISTRY["arccos"].call.run(frame(1), a)


def arctan(a: Any) -> Any:
    """The inverse of the tangent, in radians.

    >>> arctan(np.array([0.0, 1.0]))
    array([0.        , 0.78539816])
    """
    return REGISTRY["arctan"].call.run(frame(1), a)


def arctan2(a: Any, b: Any) -> Any:
    """The angle of the point (b, a) in the plane, in radians; shapes broadcast.

    >>> arctan2(np.array([0.0, 1.0]), np.array([1.0, 0.0]))
    array([0.        , 1.57079633])
    """
    return REGISTRY["arctan2"].call.run(frame(1), a, b)


def sinh(a: Any) -> Any:
    """The hyperbolic sine.

    >>> sinh(np.array([0.0, 1.0]))
    array([0.        , 1.17520119])
    """
    return REGISTRY["sinh"].call.run(frame(1), a)


def cosh(a: Any) -> Any:
    """The hyperbolic cosine.

    >>> cosh(np.array([0.0, 1.0]))
    array([1.        , 1.54308063])
    """
    return REGISTRY["cosh"].call.run(frame(1), a)


def tanh(a: Any) -> Any:
    """The hyperbolic tangent.

    >>> tanh(np.array([0.0, 1.0]))
    array([0.        , 0.76159416])
    """
    return REGISTRY["tanh"].call.run(frame(1), a)


def arcsinh(a: Any) -> Any:
    """The inverse of the hyperbolic sine.

    >>> arcsinh(np.array([0.0, 1.0]))
    array([0.        , 0.88137359])
    """
    return REGISTRY["arcsinh"].call.run(frame(1), a)


def arccosh(a: Any) -> Any:
    """The inverse of the hyperbolic cosine; NaN below 1.

    >>> arccosh(np.array([1.0, 2.0]))
    array([0.       , 1.3169579])
    """
    return REGISTRY["arccosh"].call.run(frame(1), a)


def arctanh(a: Any) -> Any:
    """The inverse of the hyperbolic tangent; NaN outside [-1, 1].

    >>> arctanh(np.array([0.0, 0.5]))
    array([0.        , 0.54930614])
    """
    return REGISTRY["arctanh"].call.run(frame(1), a)
