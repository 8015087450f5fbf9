"""What is differentiated numerically: a function of one array moved element by element, along directions, or everywhere at once. Imports nothing of ours but its neighbour."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorviz.checks.differences import Flags, Floats, Indices, Pair, contract, spread

Move = int | Floats
"""A flat index (that element moves by t) or an array (x moves by t times it)."""

_STACK = 2_000_000
"""Array elements held at a time while many functions are evaluated: 16 MB."""


class Moved:
    """The weighted sum of ``f``'s outputs as ``x`` moves along each of ``moves``.

    ``f`` takes a stack of arrays of x's shape (its own: it may keep it) and gives one row of float64 outputs for each.
    ``load``: array elements that one row costs while it is computed. ``base``: the outputs at x itself.
    """

    def __init__(self, f: Callable[[Any], Floats], x: Floats, moves: Sequence[Move], weights: Floats, base: Floats, load: int = 1) -> None:
        self.f, self.x, self.moves, self.weights, self.base = f, x, moves, weights, base
        self.load = max(load, base.size, x.size)
        weighted = weights != 0
        self.undefined: Flags = np.full(len(moves), bool(np.any(np.isnan(base) & weighted)))
        self.infinite: Flags = np.full(len(moves), bool(np.any(np.isinf(base) & weighted)))
        self.total: Floats = np.full(len(moves), float(np.sum(_magnitude(base, weights))))

    def pairs(self, which: Indices, h: Floats) -> Pair:
        chunk = max(1, _STACK // (2 * self.load))
        parts = [self._some(which[k : k + chunk], h[k : k + chunk]) for k in range(0, len(which), chunk)]
        return parts[0] if len(parts) == 1 else _joined(parts)

    def _some(self, which: Indices, h: Floats) -> Pair:
        n = len(which)
        # the last row stays at x: the same code computes it as the others, so that what does not move is equal to the bit
        stack = np.empty((2 * n + 1, *self.x.shape))
        stack[:] = self.x
        moves = [self.moves[i] for i in which.tolist()]
        if isinstance(moves[0], int):
            flat, rows = stack.reshape(2 * n + 1, -1), np.arange(n)
            flat[rows, moves] += h
            flat[n + rows, moves] -= h
        else:
            for row, (move, t) in enumerate(zip(moves, h.tolist(), strict=True)):
                stack[row] += t * move
                stack[n + row] -= t * move
        outputs = self.f(stack)
        return contract(outputs[-1], outputs[:n], outputs[n:-1], self.weights)


def _magnitude(base: Floats, weights: Floats) -> Floats:
    known = np.isfinite(base) & np.isfinite(weights)
    return np.asarray(np.abs(np.where(known, base, 0.0) * np.where(known, weights, 0.0)), dtype=np.float64)


def _joined(parts: Sequence[Pair]) -> Pair:
    return Pair(*(np.concatenate([getattr(p, field) for p in parts]) for field in Pair.__dataclass_fields__))


class Everywhere:
    """An elementwise ``f`` of an operand that is broadcast to the outputs: one evaluation moves every element.

    Functions are numbered by the operand's flat index; ``axes`` are those of the result that the operand grew.
    """

    def __init__(self, f: Callable[[Any], Floats], x: Floats, weights: Floats, axes: tuple[int, ...], base: Floats) -> None:
        self.f, self.shape, self.weights, self.axes, self.base = f, x.shape, weights, axes, base
        self.x = np.broadcast_to(x, base.shape)
        weighted = weights != 0
        self.undefined: Flags = self._any(np.isnan(base) & weighted)
        self.infinite: Flags = self._any(np.isinf(base) & weighted)
        self.total: Floats = _magnitude(base, weights).sum(axis=axes).reshape(-1)

    def _any(self, flags: Flags) -> Flags:
        return flags.any(axis=self.axes).reshape(-1)

    def pairs(self, which: Indices, h: Floats) -> Pair:
        steps = np.zeros(self.shape)
        steps.reshape(-1)[which] = h
        grown = np.broadcast_to(steps, self.base.shape)
        fields: tuple[Any, ...] = spread(self.base, self.f(self.x + grown), self.f(self.x - grown), self.weights)
        summed: list[Any] = [(self._any(v) if v.dtype == bool else v.sum(axis=self.axes).reshape(-1))[which] for v in fields]
        return Pair(*summed)


def is_elementwise(f: Callable[[Any], Floats], x: Floats, base: Floats) -> bool:
    """Whether output i of ``f`` depends on element i of ``x`` alone, found by trying.

    For every bit of the index, the elements that have it are moved, then those that have it not: any two elements differ
    in some bit, so that each influence of one on another's output is seen once at least (where it is not zero, which
    does not matter to a derivative).
    """
    if base.shape != x.shape:
        return False
    numbers = np.arange(x.size).reshape(x.shape)
    step = 2.0**-17 * np.maximum(np.abs(x), 1.0)
    for bit in range(max(1, int(x.size - 1).bit_length())):
        for chosen in ((numbers >> bit) & 1 == 1, (numbers >> bit) & 1 == 0):
            moved = f(np.where(chosen, x + step, x))
            same = (moved == base) | (np.isnan(moved) & np.isnan(base))
            if not np.all(same | chosen):
                return False
    return True


def directions(x: Floats, scale: float, count: int, rng: np.random.Generator) -> list[Floats]:
    """Random directions that move each element in proportion to its size, and zeros in proportion to the others'."""
    size = np.abs(x)
    tiny = (size < 1e-4 * scale) & (size > 0)
    step = np.where(tiny, size, np.maximum(size, 0.3 * scale))
    return [step * rng.choice([-1.0, 1.0], x.shape) * rng.uniform(0.5, 1.0, x.shape) for _ in range(count)]
