"""A case: one expression, in our words and in the peers', with the operands on which it is evaluated."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

NUMPY_2 = np.lib.NumpyVersion(np.__version__) >= "2.0.0"

Make = Callable[[np.random.Generator], Any]
"""Makes one operand."""


@dataclass(frozen=True)
class Case:
    """One expression. ``None`` where a peer has no word for it."""

    function: str
    """Under which heading the page tells it: ``np.sum``."""
    ours: str
    torch: str | None
    autograd: str | None
    makers: tuple[tuple[str, Make], ...]

    def operands(self) -> dict[str, Any]:
        """The same numbers on every machine and in every order of the cases."""
        rng = np.random.default_rng(zlib.crc32(self.ours.encode()))
        return {name: make(rng) for name, make in self.makers}


def of(function: str, *lines: tuple[str | None, ...] | str, **makers: Make) -> list[Case]:
    """Cases of one function on the same operands: each line is our text, PyTorch's, and autograd's where it is not ours."""
    found = []
    for line in lines:
        ours, *rest = (line,) if isinstance(line, str) else line
        assert ours is not None
        torch = rest[0] if rest else None
        autograd = rest[1] if len(rest) > 1 else None if "tv." in ours else ours
        used = tuple((name, make) for name, make in makers.items() if name in names_of(ours))
        found.append(Case(function, ours, torch, autograd, used))
    return found


def names_of(text: str) -> set[str]:
    return set(compile(text, "<case>", "eval").co_names)


# ---- operands ----------------------------------------------------------------------------------------------------


def normal(*shape: int, dtype: Any = float) -> Make:
    return lambda rng: np.asarray(rng.normal(size=shape)).astype(dtype)


def positive(*shape: int) -> Make:
    return lambda rng: np.asarray(rng.uniform(0.5, 2.0, shape))


def inside(*shape: int) -> Make:
    """Well within (-1, 1)."""
    return lambda rng: np.asarray(rng.uniform(-0.9, 0.9, shape))


def above(*shape: int) -> Make:
    """Well above 1."""
    return lambda rng: np.asarray(rng.uniform(1.2, 3.0, shape))


def off_zero(*shape: int) -> Make:
    return lambda rng: np.asarray(rng.choice([-1.0, 1.0], shape) * rng.uniform(0.2, 2.0, shape))


def apart(*shape: int) -> Make:
    """No two elements within a tenth of each other, none within a tenth of an integer or of a half."""

    def make(rng: np.random.Generator) -> Any:
        count = int(np.prod(shape))
        return np.asarray((rng.permutation(count) - count // 2) * 0.5 + 0.25 + rng.uniform(-0.1, 0.1, count)).reshape(shape)

    return make


def regular(*shape: int) -> Make:
    """Matrices dominated by their diagonal, eigenvalues and singular values apart."""

    def make(rng: np.random.Generator) -> Any:
        a, k = rng.uniform(-0.3, 0.3, shape), min(shape[-2:])
        a[..., np.arange(k), np.arange(k)] += np.arange(k) * 2.0 + 1.5
        return a

    return make


def whole(*values: Any, dtype: Any = np.int64) -> Make:
    """Given whole numbers, or truth values: no gradient."""
    return lambda _: np.array(values[0] if len(values) == 1 else values, dtype)
