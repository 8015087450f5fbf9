"""What is differentiated numerically: a function of one array moved element by element, along directions, or everywhere at once. Imports nothing of ours but its neighbour."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from tensorviz.checks.differences import Flags, Floats, Indices, Pair, contract, gathered, spread

Move = int | Floats
"""A flat index (that element moves by t) or an array (x moves by t times it)."""

_STACK = 2_000_000
"""Array elements held at a time while many functions are evaluated: 16 MB."""


class Moved:
    """The weighted sum of ``f``'s outputs as ``x`` moves along each of ``moves``.

    ``f`` takes a stack of arrays of x's shape (its own: it may keep it) and gives one row of float64 outputs for each.
    ``load``: array elements that one row costs while it is computed. ``base``: the outputs at x itself. ``within``: of a
    stack of arrays, of which the last is x, how large what differs from there is on the way to the outputs, row by row.
    """

    def __init__(
        self,
        f: Callable[[Any], Floats],
        x: Floats,
        moves: Sequence[Move],
        weights: Floats,
        base: Floats,
        load: int = 1,
        within: Callable[[Floats], Floats] | None = None,
    ) -> None:
        self.f, self.x, self.moves, self.weights, self.base = f, x, moves, weights, base
        self.load = max(load, base.size, x.size)
        self.within = within

    @cached_property
    def undefined(self) -> Flags:
        return np.full(len(self.moves), bool(np.any(np.isnan(self.base) & (self.weights != 0))))

    @cached_property
    def infinite(self) -> Flags:
        return np.full(len(self.moves), bool(np.any(np.isinf(self.base) & (self.weights != 0))))

    @cached_property
    def total(self) -> Floats:
        return np.full(len(self.moves), float(np.sum(_magnitude(self.base, self.weights))))

    def pairs(self, which: Indices, h: Floats) -> Pair:
        parts = [self._some(*part) for part in self._parts(which, h)]
        return parts[0] if len(parts) == 1 else _joined(parts)

    def touched(self, which: Indices, h: Floats) -> Floats:
        return np.concatenate([self._touched(*part) for part in self._parts(which, h)])

    def _parts(self, which: Indices, h: Floats) -> list[tuple[Indices, Floats]]:
        chunk = max(1, _STACK // (2 * self.load))
        return [(which[k : k + chunk], h[k : k + chunk]) for k in range(0, len(which), chunk)]

    def _touched(self, which: Indices, h: Floats) -> Floats:
        stack = stacked_moves(self.x, [self.moves[i] for i in which.tolist()], h, still=1)
        inside = np.zeros(len(stack)) if self.within is None else self.within(stack.copy())
        outputs = self.f(stack)
        base = outputs[-1]
        there = (unlike(outputs, base) * _magnitude(base, self.weights)).sum(axis=1)
        both = np.maximum(there, inside)
        return np.asarray(np.maximum(both[: len(which)], both[len(which) : -1]))

    def _some(self, which: Indices, h: Floats) -> Pair:
        # the last row stays at x: the same code computes it as the others, so that what does not move is equal to the bit
        n = len(which)
        outputs = self.f(stacked_moves(self.x, [self.moves[i] for i in which.tolist()], h, still=1))
        return contract(outputs[-1], outputs[:n], outputs[n:-1], self.weights)


def stacked_moves(x: Floats, moves: Sequence[Move], h: Floats, still: int = 0) -> Floats:
    """x moved forward along each of ``moves``, then backward along each, then ``still`` times as it is. Directions come before elements."""
    n = len(moves)
    stack = np.empty((2 * n + still, *x.shape))
    stack[:] = x
    flat = stack.reshape(2 * n + still, -1)
    if moves == range(x.size):  # every element in turn: two diagonals
        flat[:n].reshape(-1)[:: n + 1] += h
        flat[n : 2 * n].reshape(-1)[:: n + 1] -= h
        return stack
    rows = np.arange(n)
    steps = h
    if n and not isinstance(moves[0], int):
        ways = sum(not isinstance(m, int) for m in moves)
        for row in range(ways):
            shift = float(h[row]) * np.asarray(moves[row])
            stack[row] += shift
            stack[n + row] -= shift
        moves, rows, steps = moves[ways:], rows[ways:], h[ways:]
    if len(rows):
        at: Any = list(moves)
        flat[rows, at] += steps
        flat[n + rows, at] -= steps
    return stack


def unlike(values: Floats, base: Floats) -> Flags:
    """Where values differ from others; NaN is like NaN."""
    return np.asarray((values != base) & ~(np.isnan(values) & np.isnan(base)))


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
        self.x = x if x.shape == base.shape else np.broadcast_to(x, base.shape)

    @cached_property
    def undefined(self) -> Flags:
        return self._any(np.isnan(self.base) & (self.weights != 0))

    @cached_property
    def infinite(self) -> Flags:
        return self._any(np.isinf(self.base) & (self.weights != 0))

    @cached_property
    def total(self) -> Floats:
        return np.asarray(_magnitude(self.base, self.weights).sum(axis=self.axes).reshape(-1), dtype=np.float64)

    def _any(self, flags: Flags) -> Flags:
        return flags.any(axis=self.axes).reshape(-1)

    def touched(self, which: Indices, h: Floats) -> Floats:
        grown = self._grown(which, h)
        moved = unlike(self.f(self.x + grown), self.base) | unlike(self.f(self.x - grown), self.base)
        return np.asarray((moved * _magnitude(self.base, self.weights)).sum(axis=self.axes).reshape(-1)[which], dtype=np.float64)

    def _grown(self, which: Indices, h: Floats) -> Floats:
        """The steps, of the shape of the outputs."""
        steps = np.zeros(self.shape)
        steps.reshape(-1)[which] = h
        return steps if self.shape == self.base.shape else np.broadcast_to(steps, self.base.shape)

    def pairs(self, which: Indices, h: Floats) -> Pair:
        grown = self._grown(which, h)
        fields: tuple[Any, ...] = spread(self.base, self.f(self.x + grown), self.f(self.x - grown), self.weights)
        if not self.axes:
            return gathered([v.reshape(-1)[which] for v in fields])
        summed: list[Any] = [(self._any(v) if v.dtype == bool else v.sum(axis=self.axes).reshape(-1))[which] for v in fields]
        return gathered(summed)


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
            if not np.all(chosen | ~unlike(moved, base)):
                return False
    return True


def directions(x: Floats, scale: float, count: int, rng: np.random.Generator) -> list[Floats]:
    """Random directions that move each element in proportion to its size, and zeros in proportion to the others'."""
    size = np.abs(x)
    tiny = (size < 1e-4 * scale) & (size > 0)
    step = np.where(tiny, size, np.maximum(size, 0.3 * scale))
    ways = rng.uniform(-0.5, 0.5, (count, *x.shape))
    return list((ways + np.copysign(0.5, ways)) * step)
