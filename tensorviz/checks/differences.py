"""Central differences that know how far they can be trusted: many scalar derivatives at once, judged against given ones. Imports nothing of ours.

A *problem* is a number of scalar functions of one variable t, each a weighted sum of outputs y(t). It is looked at in two
passes. The first takes one step for all; what agrees there and has no visible kink is done. The rest goes through a ladder
of steps, each an eighth of the one before: where three neighbours agree (a plateau), the derivative is known, and the
spread of the three says how well; where the two sides differ and go on differing as the step shrinks, there is a kink.
"""

from __future__ import annotations

import math
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

FIRST = 2.0**-17
"""First step relative to x: the cube root of the double's unit round-off (6e-6) is where the truncation error, ~h², meets the round-off, ~u/h."""
RUNG = 8.0
_APART = 2.0**-40
"""An element so much smaller than its array's scale has a ladder of its own; otherwise one ladder, of 27 rungs at most, covers both."""
_STEEPER = 2.0
"""A slope that grows by more than this from rung to rung has no limit: a jump grows by 8, the cube root at 0 by 4."""

REASONS = {
    "one-sided": "only one side of the point can be evaluated; compared with the difference on that side",
    "kink": "a kink or a tie lies nearer than the step: the two one-sided differences stay apart",
    "vertical": "the slope grows without limit as the step shrinks: a jump or a vertical tangent at the point",
    "stairs": "a staircase at this scale: small steps do not move the value, larger ones do",
    "edge": "at the edge of the domain, where the one-sided difference does not settle",
    "noise": "round-off hides the derivative at every step: differences cannot tell",
    "analytic": "the gradient is not finite here",
    "value": "the value is not finite at the point",
    "beside": "no finite value on either side of the point",
    "x": "the operand is NaN here",
    "infinite": "the operand is infinite here: it cannot be moved",
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
    """|y| of the outputs that moved, weighted by magnitude and summed: round-off is a few parts in 2**52 of it."""
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
        largest = np.maximum(np.maximum(np.abs(plus), np.abs(minus)), np.abs(base)) * moved
        return Pair(
            up @ weights,
            down @ weights,
            np.abs(up - down) @ magnitude,
            np.abs(up + down) @ magnitude / 2,
            largest @ magnitude,
            moved.any(axis=1),
            clean,
            clean,
        )
    parts = _guarded(np.broadcast_to(base, plus.shape), plus, minus, np.broadcast_to(weights, plus.shape))
    return Pair(*(p.any(axis=1) if p.dtype == bool else p.sum(axis=1) for p in parts))


def spread(base: Floats, plus: Floats, minus: Floats, weights: Floats) -> tuple[Any, ...]:
    """The fields of a Pair output by output, not summed yet; outputs that do not move count nothing, whatever their value or weight."""
    if not (np.isfinite(base).all() and np.isfinite(plus).all() and np.isfinite(minus).all() and np.isfinite(weights).all()):
        return _guarded(base, plus, minus, weights)
    up, down = plus - base, base - minus
    magnitude = np.abs(weights)
    moved = (up != 0) | (down != 0)
    largest = np.maximum(np.maximum(np.abs(plus), np.abs(minus)), np.abs(base)) * moved
    clean = np.zeros(up.shape, dtype=bool)
    return up * weights, down * weights, np.abs(up - down) * magnitude, np.abs(up + down) * magnitude / 2, largest * magnitude, moved, clean, clean


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


def first_step(size: Floats, scale: float, room: Floats, ruler: Ruler) -> Floats:
    """The step of the first pass for functions whose variables have these magnitudes."""
    h = FIRST * np.where(size > scale * 2.0**-20, size, scale) if ruler.eps is None else ruler.eps * np.maximum(1.0, size)
    return rounded(np.minimum(h, room / 2))


def first_look(pair: Pair, h: Floats, analytic: Floats, ruler: Ruler) -> tuple[Floats, Flags]:
    """The central differences, and which of them agree with what is given and show no kink, so that nothing more need be done."""
    central = (pair.plus + pair.minus) / (2 * h)
    bad = pair.bad_plus | pair.bad_minus
    fuzz = 4 * ruler.unit * pair.size / h
    smooth = pair.bend / h <= 10 * ruler.atol + 1e-2 * pair.travel / h + 4 * fuzz
    return np.where(bad, np.nan, central), ~bad & (np.abs(analytic - central) <= ruler.allowed(analytic, central)) & smooth


def judge(problem: Problem, analytic: Floats, x: Floats, scale: float, room: Floats, ruler: Ruler) -> Judged:
    """Compare ``analytic`` with differences of a problem's functions.

    ``x``: where each function's variable stands; ``scale``: a typical magnitude of such variables; ``room``: how far each
    may be moved (inf where anywhere).
    """
    n = len(analytic)
    numeric = np.full(n, np.nan)
    verdict = np.full(n, CODE["ok"], dtype=np.int8)
    reason = [""] * n
    if not n:
        return Judged(numeric, verdict, reason)
    size = np.abs(x)

    if np.isfinite(x).all() and np.isfinite(analytic).all() and not problem.undefined.any():
        todo = np.arange(n)
    else:
        todo = _set_aside(problem, analytic, x, verdict, reason)
        lost = np.flatnonzero(~np.isfinite(analytic) & np.isfinite(x) & ~problem.undefined)
        if len(lost):  # no judgement, but worth showing: what the gradient would have been
            h = rounded(np.minimum(FIRST * np.where(size[lost] > 0, size[lost], scale), room[lost] / 2))
            pair = problem.pairs(lost, h)
            numeric[lost] = np.where(pair.bad_plus | pair.bad_minus, np.nan, (pair.plus + pair.minus) / (2 * h))
    if not len(todo):
        return Judged(numeric, verdict, reason)
    h = first_step(size[todo], scale, room[todo], ruler)
    numeric[todo], good = first_look(problem.pairs(todo, h), h, analytic[todo], ruler)
    rest = todo[~good]
    scales = np.full(n, scale)
    tiny = rest[(size[rest] > 0) & (size[rest] < scale * _APART)]
    if len(tiny):  # such an element is looked at on its own scale first, and on that of the others where that shows nothing
        scales[tiny] = size[tiny]
        _climb(problem, analytic, size, scales, room, ruler, tiny, numeric, verdict, reason)
        scales[tiny] = scale
        rest = np.setdiff1d(rest, tiny[verdict[tiny] != CODE["noise"]])
    if len(rest):
        _climb(problem, analytic, size, scales, room, ruler, rest, numeric, verdict, reason)
    return Judged(numeric, verdict, reason)


def _set_aside(problem: Problem, analytic: Floats, x: Floats, verdict: npt.NDArray[np.int8], reason: list[str]) -> Indices:
    """Settle what differences cannot judge, because something is not finite at the point itself; the others' numbers are returned."""
    missing, infinite, lost = np.isnan(x), np.isinf(x), ~np.isfinite(analytic)
    left = np.ones(len(x), dtype=bool)
    for where, name, why in (
        (infinite, "skipped", "infinite"),
        (missing, "undefined", "x"),
        (lost, "undefined", "analytic"),
        (problem.undefined, "undefined", "value"),
    ):
        for i in np.flatnonzero(where & left):
            verdict[i], reason[i] = CODE[name], why
        left &= ~where
    return np.flatnonzero(left)


def rounded(h: Floats) -> Floats:
    """The next power of two below: x + h is then exact for most x, so that the step taken is the step divided by."""
    return np.asarray(np.ldexp(1.0, np.frexp(h)[1] - 1))


def _climb(
    problem: Problem,
    analytic: Floats,
    size: Floats,
    scales: Floats,
    room: Floats,
    ruler: Ruler,
    which: Indices,
    numeric: Floats,
    verdict: npt.NDArray[np.int8],
    reason: list[str],
) -> None:
    """The ladder, for the functions in ``which``; writes what it finds into the last three."""
    scale = scales[which]
    top = rounded(np.minimum(np.maximum(size[which], scale) / 8, room[which] / 2))
    low = np.where(size[which] > scale * _APART, np.minimum(size[which], scale), scale) * 2.0**-40
    low = np.maximum(low, np.finfo(np.float64).tiny)
    rungs = max(5, int(np.ceil(np.max(np.log2(np.maximum(top, low)) - np.log2(low)) / np.log2(RUNG))))
    a = analytic[which]
    found = [problem.pairs(which, top * RUNG**-k) for k in range(rungs)]
    h = np.stack([top * RUNG**-k for k in range(rungs)])

    def stack(field: str) -> Any:
        return np.stack([getattr(p, field) for p in found])

    plus, minus, bend, travel = stack("plus") / h, stack("minus") / h, stack("bend") / h, stack("travel") / h
    fuzz = 4 * ruler.unit * stack("size") / h
    moved, bad_plus, bad_minus = stack("moved"), stack("bad_plus"), stack("bad_minus")
    # a step too short to move anything says nothing, unless no step moves anything
    counts = moved | ~moved.any(axis=0)
    both = ~bad_plus & ~bad_minus & counts
    central = (plus + minus) / 2
    larger = np.concatenate([np.full((1, len(which)), np.inf), bend[:-1]])
    kinked = both & (bend > ruler.atol + 0.5 * ruler.rtol * travel + 8 * fuzz) & (bend > np.where(np.isfinite(larger), larger, 0) / 3)
    # the first rung has no larger one to compare with: it follows the second
    kinked[0] &= kinked[1]
    value, error = _plateau(central, both & ~kinked, fuzz)
    never = ~moved.any(axis=0) & both.all(axis=0)
    value = np.where(never, 0.0, value)
    error = np.where(never, 4 * ruler.unit * problem.total[which] / top, error)
    stairs = ~never & ~moved[-3:].any(axis=0) & ~(bad_plus | bad_minus)[-3:].any(axis=0)
    wide = error > ruler.allowed(a, value)
    # where one side is missing at every step short enough to matter: the other side, extrapolated to h = 0
    sided = ~(both[-3:].any(axis=0)) & (counts & (bad_plus != bad_minus))[-3:].any(axis=0)
    if sided.any():
        side = np.where(bad_minus, plus, minus)
        zero = np.concatenate([(RUNG * side[1:] - side[:-1]) / (RUNG - 1), np.full((1, len(which)), np.nan)])
        one = (bad_plus != bad_minus) & counts
        one[:-1] &= one[1:]
        one[-1] = False
        there, how = _plateau(zero, one, 2 * fuzz)
        value, error = np.where(sided, there, value), np.where(sided, how, error)
        wide = error > ruler.allowed(a, value)
    nowhere = (bad_plus & bad_minus)[-3:].all(axis=0) | ~(both | (bad_plus != bad_minus)).any(axis=0)
    visible = kinked & (fuzz * 8 < bend)
    visible[1:] &= kinked[:-1]
    steep = both & (travel > 8 * fuzz + ruler.atol)
    steep[1:] &= travel[1:] > _STEEPER * travel[:-1]
    vertical = steep[1:-2] & steep[2:-1] & steep[3:]
    for j, i in enumerate(which):
        gap = abs(a[j] - value[j])
        allowed = ruler.atol + ruler.rtol * max(abs(a[j]), abs(value[j]))
        numeric[i] = value[j]
        if nowhere[j]:
            verdict[i], reason[i], numeric[i] = CODE["undefined"], "beside", np.nan
        elif not wide[j] and gap <= allowed:
            verdict[i], reason[i] = CODE["ok"], "one-sided" if sided[j] else ""
        elif problem.infinite[i]:
            verdict[i], reason[i] = CODE["undefined"], "value"
        elif stairs[j] and abs(a[j]) <= ruler.atol:
            verdict[i], reason[i] = (CODE["ok"], "") if wide[j] else (CODE["nonsmooth"], "stairs")
            numeric[i] = 0.0 if wide[j] else value[j]
        elif not wide[j]:
            close = gap <= allowed + 3 * error[j]
            verdict[i], reason[i] = (CODE["noise"], "noise") if close else (CODE["mismatch"], "")
        elif sided[j]:
            verdict[i], reason[i] = CODE["nonsmooth"], "edge"
            numeric[i] = side[-1, j]
        elif visible[:, j].any():
            k = int(np.flatnonzero(visible[:, j])[-1])
            verdict[i], reason[i], numeric[i] = CODE["nonsmooth"], "kink", central[k, j]
        elif vertical[:, j].any():
            k = int(np.flatnonzero(vertical[:, j])[-1]) + 3
            verdict[i], reason[i], numeric[i] = CODE["nonsmooth"], "vertical", central[k, j]
        elif np.isfinite(error[j]) and gap > allowed + 10 * error[j]:
            verdict[i], reason[i] = CODE["mismatch"], ""
        else:
            verdict[i], reason[i] = CODE["noise"], "noise"


def _plateau(series: Floats, usable: Flags, fuzz: Floats) -> tuple[Floats, Floats]:
    """Per column the entry that differs least from both its neighbours, and that difference with the round-off added."""
    known = np.where(usable, series, np.nan)
    with np.errstate(invalid="ignore"):
        gap = np.abs(np.diff(known, axis=0))
    gap = np.where(np.isnan(gap), np.inf, gap)
    edge = np.full((1, series.shape[1]), np.inf)
    error = np.maximum(np.concatenate([edge, gap]), np.concatenate([gap, edge])) + fuzz
    error = np.where(usable, error, np.inf)
    best = np.argmin(error, axis=0)
    columns = np.arange(series.shape[1])
    value = known[best, columns]
    fallback = np.where(np.isnan(value), series[len(series) // 2], value)
    return fallback, error[best, columns]
