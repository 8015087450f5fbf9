"""Elementwise functions in other units: degrees, powers of two, multiples of π. Imports the engine's op base and activations."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorviz.engine.op import REGISTRY, Op, expose, frame
from tensorviz.ops.activation import sigmoid
from tensorviz.ops.samples import Examples

__all__ = ["deg2rad", "logaddexp2", "rad2deg", "sinc"]

_DEGREE = float(np.pi / 180)
_LN2 = float(np.log(2.0))


class _Deg2Rad(Op):
    """Degrees as radians."""

    name, label, word = "deg2rad", "rad", "scales"
    slots, forward = ("a",), np.deg2rad
    ufuncs = (np.deg2rad, np.radians)
    vjps = (lambda g: g * _DEGREE,)
    formulas = ("g * π / 180",)


class _Rad2Deg(Op):
    """Radians as degrees."""

    name, label, word = "rad2deg", "°", "scales"
    slots, forward = ("a",), np.rad2deg
    ufuncs = (np.rad2deg, np.degrees)
    vjps = (lambda g: g * (1 / _DEGREE),)
    formulas = ("g * 180 / π",)


def _logaddexp2(a: Any, b: Any) -> Any:
    with np.errstate(under="ignore"):
        return np.logaddexp2(a, b)


def _share_of_sum(g: Any, a: Any, b: Any) -> Any:
    # as in logaddexp, of which this is one in another base
    with np.errstate(under="ignore"):
        return g * sigmoid((a - b) * _LN2)


class _Logaddexp2(Op):
    """``log2(2 ** a + 2 ** b)``."""

    name, label, word = "logaddexp2", "logaddexp2", "scales"
    slots, broadcasts, forward = ("a", "b"), True, staticmethod(_logaddexp2)
    ufuncs = (np.logaddexp2,)
    vjps = (_share_of_sum, lambda g, a, b: _share_of_sum(g, b, a))
    formulas = ("g * sigmoid((a - b) * log(2))", "g * sigmoid((b - a) * log(2))")


_NEAR, _NEAR_ENOUGH = 0.02, 0.3
"""Below it cos(πa) - sinc(a) cancels; there the series is exact to the last digit: its first term left out is below (0.02 π)¹⁰ / 4e6 of the whole. With fewer
digits than float64 has it cancels earlier, and the series lasts longer: (0.3 π)¹⁰ / 4e6 is 1.4e-7."""


def _sinc_slope(g: Any, a: Any, out: Any) -> Any:
    near = np.abs(a) < (_NEAR_ENOUGH if a.dtype.itemsize < 8 else _NEAR)
    u = np.where(near, a, 0) * np.pi
    series = np.pi * u * (-1 / 3 + u * u * (1 / 30 - u * u * (1 / 840 - u * u / 45360)))
    away = np.where(near, 1, a)  # dividing by 1 only keeps 0 / 0 from happening
    return g * np.where(near, series, (np.cos(np.pi * a) - out) / away)


class _Sinc(Op):
    """``sin(πa) / (πa)``, 1 at 0."""

    name, label, word = "sinc", "sinc", "scales"
    slots, forward = ("a",), staticmethod(lambda a: np.sinc(a))
    vjps = (_sinc_slope,)
    formulas = ("g * (cos(π a) - out) / a",)

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        return [((np.array([-1.5, -0.019, 0.0, 1e-5, 0.021, 1.0]),), {}), *(((rng.normal(size=s),), {}) for s in ((), (2, 3), (0, 2)))]


def deg2rad(a: Any) -> Any:
    """Degrees as radians.

    >>> deg2rad(np.array([0.0, 180.0]))
    array([0.        , 3.14159265])
    """
    return REGISTRY["deg2rad"].call.run(frame(1), a)


def rad2deg(a: Any) -> Any:
    """Radians as degrees.

    >>> rad2deg(np.array([0.0, np.pi]))
    array([  0., 180.])
    """
    return REGISTRY["rad2deg"].call.run(frame(1), a)


def logaddexp2(a: Any, b: Any) -> Any:
    """``log2(2 ** a + 2 ** b)`` without overflow; shapes broadcast.

    >>> logaddexp2(np.array([3.0, 2000.0]), 3.0)
    array([   4., 2000.])
    """
    return REGISTRY["logaddexp2"].call.run(frame(1), a, b)


@expose(numpy=[np.sinc])
def sinc(x: Any) -> Any:
    """``sin(πx) / (πx)``, 1 at 0, where its gradient is 0.

    >>> sinc(np.array([0.0, 0.5]))
    array([1.        , 0.63661977])
    """
    return REGISTRY["sinc"].call.run(frame(1), x)
