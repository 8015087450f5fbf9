"""What NumPy's functions of complex numbers do to real ones: real, imag, conjugate, angle. Imports the engine's op base only."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from tensorviz.engine.op import REGISTRY, Op, expose, frame
from tensorviz.ops import options
from tensorviz.ops.samples import Examples, off_zero

__all__: list[str] = []


class _Conjugate(Op):
    """The same values: a real number is its own conjugate."""

    name, word = "conjugate", "passes on"
    slots, forward, ufuncs = ("a",), np.conjugate, (np.conjugate,)
    vjps = (lambda g: g,)
    formulas = ("g",)


class _Flat(Op, abstract=True):
    """A function that does not change with a real operand, but for a jump at 0."""

    slots, word, formulas = ("a",), "blocks", ("0",)
    vjps = (lambda g: np.zeros_like(g),)

    @staticmethod
    def _off_zero(rng: np.random.Generator) -> Examples:
        return [((off_zero(rng, s),), {}) for s in ((), (4,), (0, 2), (2, 1, 3))]

    examples: ClassVar[Any] = _off_zero


class _Imag(_Flat):
    """The imaginary part of a real number: 0."""

    name = "imag"

    @staticmethod
    def forward(a: Any) -> Any:
        return np.zeros_like(a)


class _Angle(_Flat):
    """The angle of a real number in the plane: 0, or π of a negative one."""

    name, label = "angle", "∠"

    @staticmethod
    def forward(a: Any) -> Any:
        a = np.asarray(a)
        return np.angle(a).astype(a.dtype) if a.dtype.kind == "f" else np.angle(a)


@expose(numpy=[np.real])
def _real(val: Any) -> Any:
    return val


@expose(numpy=[np.real_if_close])
def _real_if_close(a: Any, tol: float = 100) -> Any:  # noqa: ARG001 - NumPy's signature
    return a


@expose(numpy=[np.imag])
def _imag(val: Any) -> Any:
    return REGISTRY["imag"].call.run(frame(1), val)


@expose(numpy=[np.angle])
def _angle(z: Any, deg: bool = False) -> Any:
    found = REGISTRY["angle"](z)
    return np.rad2deg(found) if deg else found


@expose(numpy=[np.fix])
def _fix(x: Any, out: Any = None) -> Any:
    options.settled(None, out, None)
    return REGISTRY["trunc"].call.run(frame(1), x)
