"""Central differences that know how far they can be trusted: many scalar derivatives at once, judged against given ones. Imports nothing of ours.

A *problem* is a number of scalar functions of one variable t, each a weighted sum of outputs y(t). It is looked at in two
passes. The first takes one step for all; what agrees there and has no visible kink is done. The rest goes through a ladder
of steps, each an eighth of the one before: where three neighbours agree (a plateau), the derivative is known, and the
spread of the three says how well; where the two sides differ and go on differing as the step shrinks, there is a kink.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.intp]

VERDICTS = ("mismatch", "undefined", "nondeterministic", "input", "nonsmooth", "noise", "skipped", "ok")
"""From the worst to the best; the first four make a report not ok."""
CODE = {name: i for i, name in enumerate(VERDICTS)}

_LONG = 2.0**-8
"""A step that is long for a function that varies on the scale of 1: the first one at x = 512."""
FIRST = 2.0**-17
"""First step relative to x: the cube root of the double's unit round-off (6e-6) is where the truncation error, ~h², meets the round-off, ~u/h."""

REASONS = {
    "one-sided": "only one side of the point can be evaluated; compared with the difference on that side",
    "kink": "a kink or a tie lies nearer than the step: the two one-sided differences stay apart",
    "vertical": "the slope grows without limit as the step shrinks: a jump or a vertical tangent at the point",
    "stairs": "a staircase at this scale: small steps do not move the value, larger ones do",
    "stair": "a staircase, and x is so large that hardly a step is shorter than a stair: differences see the slope of the whole, not of one",
    "edge": "at the edge of the domain, where the one-sided difference does not settle",
    "finer": "the function goes up and down within the shortest steps that can be told apart here: differences cannot tell its slope",
    "noise": "round-off hides the derivative at every step: differences cannot tell",
    "analytic": "the gradient is not finite here",
    "value": "the value is not finite at the point",
    "beside": "no finite value on either side of the point",
    "masked": "on both sides of the point a mask lets other elements through",
    "x": "the operand is NaN here",
    "infinite": "the operand is infinite here, where nothing depends on it: it cannot be moved",
    "given": "the operand is infinite here",
}


@dataclass(slots=True)
class Pair:
    """One step to either side for each of some functions. All arrays have one entry per function."""

    plus: Floats
    """y(t + h) - y(t), weighted and summed."""
    minus: Floats
    """y(t) - y(t - h), weighted and summed."""
    bend: Floats
    """|y(t + h) - 2 y(t) + y(t - h)|, weighted by magnitude and summed, so that two kinks cannot hide each other."""
    travel: Floats
    """|y(t + h) - y(t - h)| / 2, weighted by magnitude and summed."""
    size: Floats
    """|y| of the outputs that moved (of all where none did), weighted by magnitude and summed: round-off is a few parts in 2**52 of it."""
    moved: Flags
    bad_plus: Flags
    """Not finite on that side."""
    bad_minus: Flags


class Problem(Protocol):
    """Functions of one variable, by number."""

    @property
    def undefined(self) -> Flags:
        """Per function: NaN among the outputs at the point itself, so that no difference can judge."""

    @property
    def infinite(self) -> Flags:
        """Per function: an infinity among them; it may or may not matter."""

    @property
    def total(self) -> Floats:
        """Per function: |y| of all its outputs at the point, weighted by magnitude and summed. Below a few 2**-52 of it nothing moves."""

    def pairs(self, which: Indices, h: Floats) -> Pair: ...

    def touched(self, which: Indices, h: Floats) -> Floats:
        """Per function: |y|, weighted by magnitude and summed, of all that a step moves, at the point itself; also of what is computed on the way, where that is known."""


@dataclass(slots=True)
class Judged:
    """What came out, one entry per function."""

    numeric: Floats
    verdict: npt.NDArray[np.int8]
    reason: list[str]
    """Keys of REASONS, or the empty string."""


def contract(base: Floats, plus: Floats, minus: Floats, weights: Floats, *, finite: bool = False) -> Pair:
    """Pairs from outputs: ``plus`` and ``minus`` hold one row of outputs per function. ``finite``: it is known that all are."""
    if finite or (np.isfinite(plus).all() and np.isfinite(minus).all() and np.isfinite(base).all() and np.isfinite(weights).all()):
        up, down = plus - base, base - minus
        magnitude = np.abs(weights)
        moved = (up != 0) | (down != 0)
        clean = np.zeros(len(plus), dtype=bool)
        largest = np.maximum(np.maximum(np.abs(plus), np.abs(minus)), np.abs(base))
        some = moved.any(axis=1)
        return Pair(
            up @ weights,
            down @ weights,
            np.abs(up - down) @ magnitude,
            np.abs(up + down) @ magnitude / 2,
            np.where(some, (largest * moved) @ magnitude, largest @ magnitude),
            some,
            clean,
            clean,
        )
    base, weights = np.broadcast_to(base, plus.shape), np.broadcast_to(weights, plus.shape)
    return gathered([p.any(axis=1) if p.dtype == bool else p.sum(axis=1) for p in _guarded(base, plus, minus, weights)])


def gathered(parts: Sequence[Any]) -> Pair:
    """The Pair of what :func:`spread` gave, summed over the outputs of each function."""
    up, down, bend, travel, size, still, moved, bad_plus, bad_minus = parts
    return Pair(up, down, bend, travel, np.where(moved, size, still), moved, bad_plus, bad_minus)


def spread(base: Floats, plus: Floats, minus: Floats, weights: Floats) -> tuple[Any, ...]:
    """What :func:`gathered` makes a Pair of, output by output; outputs that do not move count nothing, whatever their value or weight, but where none does."""
    if not (np.isfinite(base).all() and np.isfinite(plus).all() and np.isfinite(minus).all() and np.isfinite(weights).all()):
        return _guarded(base, plus, minus, weights)
    up, down = plus - base, base - minus
    magnitude = np.abs(weights)
    moved = (up != 0) | (down != 0)
    size = np.maximum(np.maximum(np.abs(plus), np.abs(minus)), np.abs(base)) * magnitude
    clean = np.zeros(up.shape, dtype=bool)
    return up * weights, down * weights, np.abs(up - down) * magnitude, np.abs(up + down) * magnitude / 2, size * moved, size, moved, clean, clean


def _guarded(base: Floats, plus: Floats, minus: Floats, weights: Floats) -> tuple[Any, ...]:
    """The same where something is not finite."""
    with np.errstate(all="ignore"):
        up, down = plus - base, base - minus
        still_up = (plus == base) | (np.isnan(plus) & np.isnan(base))
        still_down = (minus == base) | (np.isnan(minus) & np.isnan(base))
        moved = ~(still_up & still_down)
        up, down = np.where(still_up, 0.0, up), np.where(still_down, 0.0, down)
        bad_plus, bad_minus = ~still_up & ~np.isfinite(up), ~still_down & ~np.isfinite(down)
        up, down = np.where(bad_plus, 0.0, up), np.where(bad_minus, 0.0, down)
        still = np.where(np.isfinite(base) & np.isfinite(weights), np.abs(base * weights), 0.0)
        weights = np.where(moved, weights, 0.0)
        magnitude = np.abs(weights)
        largest = np.nanmax([np.abs(plus), np.abs(minus), np.abs(base), np.zeros_like(up)], axis=0)
        unweighted = ~np.isfinite(weights)
        return (
            np.where(up == 0, 0.0, up * weights),
            np.where(down == 0, 0.0, down * weights),
            np.abs(up - down) * magnitude,
            np.abs(up + down) * magnitude / 2,
            np.where(moved & np.isfinite(largest), largest * magnitude, 0.0),
            still,
            moved,
            (bad_plus | unweighted) & (weights != 0),
            (bad_minus | unweighted) & (weights != 0),
        )


@dataclass(slots=True)
class Ruler:
    """How steps are chosen and differences compared."""

    atol: Any = 1e-5
    """A number, or one per function."""
    rtol: Any = 1e-3
    eps: float | None = None
    """First step, relative to max(1, |x|); chosen from the scale of x if None."""
    unit: float = 2.0**-52
    """Relative round-off of the outputs."""

    def allowed(self, analytic: Floats, numeric: Floats) -> Floats:
        return np.asarray(self.atol + self.rtol * np.maximum(np.abs(analytic), np.abs(numeric)))


def scale_of(x: Floats) -> float:
    """A typical magnitude of the finite elements: their root mean square, 1 where all are zero."""
    finite = np.isfinite(x)
    known = x if finite.all() else x[finite]
    top = float(np.maximum.reduce(np.abs(known), initial=0.0))
    if top == 0.0:
        return 1.0
    ratios = known / top
    return top * math.sqrt(float(np.add.reduce(ratios * ratios)) / known.size)


def first_step(size: Floats, scale: float | Floats, room: float | Floats, ruler: Ruler) -> Floats:
    """The step of the first pass for functions whose variables have these magnitudes."""
    h = FIRST * np.where(size > scale * 2.0**-20, size, scale) if ruler.eps is None else ruler.eps * np.maximum(1.0, size)
    return rounded(np.minimum(h, room / 2))


def first_look(pair: Pair, h: Floats, analytic: Floats, ruler: Ruler) -> tuple[Floats, Flags]:
    """The central differences, and which of them agree with what is given and show no kink, so that nothing more need be done."""
    central = (pair.plus + pair.minus) / (2 * h)
    bad = pair.bad_plus | pair.bad_minus
    fuzz = 4 * ruler.unit * pair.size / h
    smooth = pair.bend / h <= 10 * ruler.atol + 1e-2 * pair.travel / h + 4 * fuzz
    # over a long step an oscillation is flat within any absolute tolerance: there it counts for less
    allowed = ruler.allowed(analytic, central) - ruler.atol * (1 - np.minimum(1.0, _LONG / h))
    # what did not move may have moved by less than its last bit
    seen = pair.moved | (fuzz <= allowed)
    return np.where(bad, np.nan, central), ~bad & (np.abs(analytic - central) <= allowed) & smooth & seen


def rounded(h: Floats) -> Floats:
    """The next power of two below: x + h is then exact for most x, so that the step taken is the step divided by."""
    return np.asarray(np.ldexp(1.0, np.frexp(h)[1] - 1))
