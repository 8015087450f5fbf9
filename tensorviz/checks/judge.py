"""Judges derivatives against differences: a ladder of steps, what its plateaus and kinks say, and a verdict with a reason. Imports its neighbour only.

Where three neighbours of the ladder agree (a plateau), the derivative is known, and the spread of the three says how well;
where the two sides differ and go on differing as the step shrinks, there is a kink. A plateau that shorter steps contradict is
none: an oscillation is flat to steps much longer than its period.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorviz.checks.differences import CODE, FIRST, Flags, Floats, Indices, Judged, Problem, Ruler, first_look, first_step, rounded

_FINER = 2.0
"""The ratio of the second ladder, close to the edge of a domain or on a fast oscillation, where there is room for a few bits only above the last bit of x."""
_SHARPER = 1 / 3
"""A slope that grows by more than this power of the ratio from rung to rung has no limit: a jump grows by the ratio, the cube root at 0 by its 2/3rd power."""
_STRUCTURE = 2.0**-20
"""What small steps show of a function beside its slope over larger ones is no round-off if it is more than this part of its value."""
_ROUND_OFF = 2.0**-40
"""And it is hardly anything else below this one, 4096 units: enough for what cancels inside of most functions."""
_EXACT = 2.0**12
"""Steps of so many bits of x are not changed by more than a quarter of a thousandth where f rounds what it makes of x."""
_QUANTUM = 64.0
"""A staircase whose steps are no larger than that many units of round-off is the spacing of the numbers, not the function's."""
_APART = 2.0**-40
"""An element so much smaller than its array's scale has a ladder of its own; otherwise one ladder, of 27 rungs at most, covers both."""
_LARGER = 8.0
"""What more there is to round off than steps have shown is worth another look from so many times on."""
RUNG = 8.0


def judge(
    problem: Problem, analytic: Floats, x: Floats, scale: float, room: Floats, ruler: Ruler, *, given: Flags | bool = False, absolute: float = 1.0
) -> Judged:
    """Compare ``analytic`` with differences of a problem's functions.

    ``x``: where each function's variable stands; ``scale``: a typical magnitude of such variables; ``room``: how far each
    may be moved (inf where anywhere). ``given``: the user chose these x, and something reads them. ``absolute``: the scale to fall back on where steps
    in proportion to x show nothing.
    """
    n = len(analytic)
    numeric = np.full(n, np.nan)
    verdict = np.full(n, CODE["ok"], dtype=np.int8)
    reason = [""] * n
    found = Judged(numeric, verdict, reason)
    if not n:
        return found
    size = np.abs(x)

    if np.isfinite(x).all() and np.isfinite(analytic).all() and not problem.undefined.any():
        todo = np.arange(n)
    else:
        todo = _set_aside(problem, analytic, x, found, given)
        lost = np.flatnonzero(~np.isfinite(analytic) & np.isfinite(x) & ~problem.undefined)
        if len(lost):  # no judgement, but worth showing: what the gradient would have been
            h = rounded(np.minimum(FIRST * np.where(size[lost] > 0, size[lost], scale), room[lost] / 2))
            pair = problem.pairs(lost, h)
            numeric[lost] = np.where(pair.bad_plus | pair.bad_minus, np.nan, (pair.plus + pair.minus) / (2 * h))
    if not len(todo):
        return found
    h = first_step(size[todo], scale, room[todo], ruler)
    numeric[todo], good = first_look(problem.pairs(todo, h), h, analytic[todo], ruler)
    rest = todo[~good]
    if len(rest):
        span = _Span(problem, analytic, size, scale, absolute, room, ruler, np.zeros(n), np.zeros(n))
        span.settle(rest, found)
        unsure = np.array([i for i in rest.tolist() if verdict[i] == CODE["mismatch"] or reason[i] == "stairs"], dtype=np.intp)
        if len(unsure):
            span.reconsider(unsure, found)
    return found


@dataclass(slots=True)
class _Span:
    """How far the functions of a problem may be looked at, and how sharply."""

    problem: Problem
    analytic: Floats
    size: Floats
    """|x|."""
    scale: float
    absolute: float
    room: Floats
    ruler: Ruler
    least: Floats
    """Magnitudes whose round-off counts at every step."""
    seen: Floats
    """Those that steps on the scale of x have shown; filled on the way."""

    def settle(self, which: Indices, found: Judged) -> None:
        """Look at some functions on the scale of x, and on an absolute one where that shows nothing."""
        verdict, size, scale = found.verdict, self.size, self.scale
        rest = which
        tiny = which[(size[which] > 0) & (size[which] < scale * _APART)]
        if len(tiny):  # such an element is looked at on its own scale first, and on that of the others where that shows nothing
            self.look(tiny, size[tiny], found)
            rest = np.setdiff1d(rest, tiny[verdict[tiny] != CODE["noise"]])
        if len(rest):
            self.look(rest, np.full(len(rest), scale), found)
        # what does not move at all may move by less than the last bit of something inside
        unseen = which[(verdict[which] == CODE["noise"]) | ((verdict[which] == CODE["mismatch"]) & (found.numeric[which] == 0))]
        if len(unseen) and scale < self.absolute / RUNG:
            self.fall_back(unseen, found)

    def reconsider(self, which: Indices, found: Judged) -> None:
        """Settle once more what seems to be wrong, or a staircase, with the round-off of all that depends on it: what a short step does not move may be absorbed by something larger, here or on the way."""
        far = rounded(np.minimum(np.maximum(self.size[which], max(self.scale, self.absolute)) / 8, self.room[which] / 2))
        self.least[which] = self.problem.touched(which, far)
        which = which[self.least[which] > _LARGER * self.seen[which]]
        if not len(which):
            return
        again = Judged(found.numeric.copy(), found.verdict.copy(), list(found.reason))
        self.settle(which, again)
        for i in which[(again.verdict[which] != CODE["mismatch"]) | (found.verdict[which] == CODE["mismatch"])].tolist():
            found.verdict[i], found.reason[i], found.numeric[i] = again.verdict[i], again.reason[i], again.numeric[i]

    def look(self, which: Indices, scale: Floats, found: Judged) -> None:
        """Some functions, each on its ``scale``: down the ladder, and closer to the point where that may tell more."""
        size = self.size[which]
        top = rounded(np.minimum(np.maximum(size, scale) / 8, self.room[which] / 2))
        low = np.where(size > scale * _APART, np.minimum(size, scale), scale) * 2.0**-40
        low = np.maximum(low, np.finfo(np.float64).tiny)
        edge = which[self.climb(ladder(top, low, RUNG), RUNG, which, found, self.least)]
        edge = edge[(found.verdict[edge] != CODE["ok"]) & (found.verdict[edge] != CODE["undefined"]) & (self.size[edge] > 0)]
        if not len(edge):
            return
        bit = rounded(self.size[edge] * 2.0**-51)
        closer = Judged(found.numeric.copy(), found.verdict.copy(), list(found.reason))
        self.climb(ladder(bit * 2.0**18, bit, _FINER), _FINER, edge, closer, np.maximum(self.least, self.seen), bit * _EXACT)
        for i in edge.tolist():
            if closer.verdict[i] in (CODE["ok"], CODE["mismatch"]):
                found.verdict[i], found.reason[i], found.numeric[i] = closer.verdict[i], closer.reason[i], closer.numeric[i]
            elif found.verdict[i] == CODE["mismatch"]:
                found.verdict[i], found.reason[i] = CODE["noise"], "noise"

    def fall_back(self, which: Indices, found: Judged) -> None:
        """Once more with steps that are not in proportion to x, for what is hidden by round-off at those that are: exp at 1e-15 needs one of a millionth."""
        wider = Judged(found.numeric.copy(), found.verdict.copy(), list(found.reason))
        seen = self.seen.copy()
        self.look(which, np.full(len(which), self.absolute), wider)
        self.seen = seen
        for i in which.tolist():
            # a one-sided difference from so far says nothing about the point
            if wider.verdict[i] == CODE["undefined"] or wider.reason[i] in ("one-sided", "edge"):
                continue
            if found.verdict[i] == CODE["mismatch"]:
                if wider.verdict[i] in (CODE["ok"], CODE["noise"]):
                    found.verdict[i], found.reason[i] = CODE["noise"], "noise"
            else:
                found.verdict[i], found.reason[i], found.numeric[i] = wider.verdict[i], wider.reason[i], wider.numeric[i]

    def climb(self, h: Floats, ratio: float, which: Indices, out: Judged, least: Floats, exact: Any = 0.0) -> Flags:
        """The ladder ``h``, for some functions; writes what it finds. The round-off of ``least`` counts at every step. Steps below ``exact`` may confirm, not contradict. Returned: where one side was missing at some step, or steps showed several slopes."""
        flags, size = _climb(self.problem, self.analytic, h, ratio, self.ruler, which, out, least, exact)
        self.seen[which] = np.maximum(self.seen[which], size)
        return flags


def _set_aside(problem: Problem, analytic: Floats, x: Floats, found: Judged, given: Flags | bool) -> Indices:
    """Settle what differences cannot judge, because something is not finite at the point itself; the others' numbers are returned."""
    missing, infinite, lost = np.isnan(x), np.isinf(x), ~np.isfinite(analytic)
    # an infinity that is computed on the way, with no effect on what comes out, is meant: a mask of -inf before a softmax
    spoilt = infinite & (problem.infinite | (analytic != 0) | given)
    left = np.ones(len(x), dtype=bool)
    for where, name, why in (
        (missing, "undefined", "x"),
        (lost, "undefined", "analytic"),
        (problem.undefined, "undefined", "value"),
        (spoilt, "undefined", "given"),
        (infinite, "skipped", "infinite"),
    ):
        for i in np.flatnonzero(where & left):
            found.verdict[i], found.reason[i] = CODE[name], why
        left &= ~where
    return np.flatnonzero(left)


def ladder(top: Floats, low: Floats, ratio: float) -> Floats:
    """Steps from ``top`` down to ``low``, one row per rung, five at least."""
    rungs = max(5, int(np.ceil(np.max(np.log2(np.maximum(top, low)) - np.log2(low)) / np.log2(ratio))))
    return np.stack([top * ratio**-k for k in range(rungs)])


def _climb(
    problem: Problem, analytic: Floats, h: Floats, ratio: float, ruler: Ruler, which: Indices, out: Judged, least: Floats, exact: Any
) -> tuple[Flags, Floats]:
    """See :meth:`_Span.climb`; also the magnitude of all that moved."""
    a = analytic[which]
    found = [problem.pairs(which, step) for step in h]

    def stack(field: str) -> Any:
        return np.stack([getattr(p, field) for p in found])

    plus, minus, bend, travel = stack("plus") / h, stack("minus") / h, stack("bend") / h, stack("travel") / h
    # what a longer step moves and a shorter one does not has moved by less than its last bit: its round-off counts
    size = np.maximum(np.maximum.accumulate(stack("size"), axis=0), least[which])
    fuzz = 4 * ruler.unit * size / h
    moved, bad_plus, bad_minus = stack("moved"), stack("bad_plus"), stack("bad_minus")
    # a step too short to move anything says nothing, unless no step moves anything
    counts = moved | ~moved.any(axis=0)
    both = ~bad_plus & ~bad_minus & counts
    central = (plus + minus) / 2
    larger = np.concatenate([np.full((1, len(which)), np.inf), bend[:-1]])
    kinked = both & (bend > ruler.atol + 0.5 * ruler.rtol * travel + 8 * fuzz) & (bend > np.where(np.isfinite(larger), larger, 0) / math.sqrt(ratio))
    # the first rung has no larger one to compare with: it follows the second
    kinked[0] &= kinked[1]
    value, error, rung = _plateau(central, both & ~kinked, fuzz, ruler)
    never = ~moved.any(axis=0) & both.all(axis=0)
    value = np.where(never, 0.0, value)
    error = np.where(never, 4 * ruler.unit * np.maximum(problem.total[which], least[which]) / h[0], error)
    stairs = ~never & ~moved[-3:].any(axis=0) & ~(bad_plus | bad_minus)[-3:].any(axis=0)
    if stairs.any():
        smallest = np.min(np.where(moved, travel * h, np.inf), axis=0)
        stairs &= smallest > _QUANTUM * ruler.unit * np.max(size, axis=0)
    against = _against(central, both, value, error, rung, fuzz, h, size, ruler)
    # where one side is missing at every step short enough to matter: the other side, extrapolated to h = 0
    sided = ~(both[-3:].any(axis=0)) & (counts & (bad_plus != bad_minus))[-3:].any(axis=0)
    side = np.where(bad_minus, plus, minus)
    if sided.any():
        zero = np.concatenate([(ratio * side[1:] - side[:-1]) / (ratio - 1), np.full((1, len(which)), np.nan)])
        one = (bad_plus != bad_minus) & counts
        one[:-1] &= one[1:]
        one[-1] = False
        there, how, at = _plateau(zero, one, 2 * fuzz, ruler)
        value, error, rung = np.where(sided, there, value), np.where(sided, how, error), np.where(sided, at, rung)
        against = np.where(sided, _against(zero, one, there, how, at, 2 * fuzz, h, size, ruler), against)
    wide = error > ruler.allowed(value, value)
    denied, grave = against > _ROUND_OFF, against > _STRUCTURE
    agreeing = both & (np.abs(central - value) <= ruler.allowed(value, value))
    denied |= np.max(np.where(agreeing, h, 0.0), axis=0) < exact
    nowhere = (bad_plus & bad_minus)[-3:].all(axis=0) | ~(both | (bad_plus != bad_minus)).any(axis=0)
    visible = kinked & (fuzz * 8 < bend)
    visible[1:] &= kinked[:-1]
    steep = both & (travel > 8 * fuzz + ruler.atol)
    steep[1:] &= travel[1:] > ratio**_SHARPER * travel[:-1]
    vertical = steep[1:-2] & steep[2:-1] & steep[3:]
    for j, i in enumerate(which):
        gap = abs(a[j] - value[j])
        allowed = ruler.atol + ruler.rtol * max(abs(a[j]), abs(value[j]))
        close = error[j] <= allowed and gap <= allowed
        settled = not wide[j] and not denied[j]
        out.numeric[i] = value[j]
        if nowhere[j]:
            out.verdict[i], out.reason[i], out.numeric[i] = CODE["undefined"], "beside", np.nan
        elif close and not grave[j]:
            out.verdict[i], out.reason[i] = CODE["ok"], "one-sided" if sided[j] else ""
        elif problem.infinite[i]:
            out.verdict[i], out.reason[i] = CODE["undefined"], "value"
        elif stairs[j] and abs(a[j]) <= ruler.atol:
            out.verdict[i], out.reason[i] = (CODE["ok"], "") if wide[j] else (CODE["nonsmooth"], "stairs")
            out.numeric[i] = 0.0 if wide[j] else value[j]
        elif settled:
            near = gap <= allowed + 3 * error[j]
            out.verdict[i], out.reason[i] = (CODE["noise"], "noise") if near else (CODE["mismatch"], "")
        elif not wide[j]:
            out.verdict[i], out.reason[i], out.numeric[i] = CODE["noise"], "finer", central[-1, j]
        elif sided[j]:
            out.verdict[i], out.reason[i] = CODE["nonsmooth"], "edge"
            out.numeric[i] = side[-1, j]
        elif visible[:, j].any():
            k = int(np.flatnonzero(visible[:, j])[-1])
            out.verdict[i], out.reason[i], out.numeric[i] = CODE["nonsmooth"], "kink", central[k, j]
        elif vertical[:, j].any():
            k = int(np.flatnonzero(vertical[:, j])[-1]) + 3
            out.verdict[i], out.reason[i], out.numeric[i] = CODE["nonsmooth"], "vertical", central[k, j]
        elif np.isfinite(error[j]) and gap > allowed + 10 * error[j] and not denied[j]:
            out.verdict[i], out.reason[i] = CODE["mismatch"], ""
        else:
            out.verdict[i], out.reason[i] = (CODE["nonsmooth"], "stairs") if stairs[j] else (CODE["noise"], "noise")
    return np.asarray((bad_plus | bad_minus).any(axis=0) | (grave & ~wide) | visible.any(axis=0) | vertical.any(axis=0)), size[-1]


def _plateau(series: Floats, usable: Flags, fuzz: Floats, ruler: Ruler) -> tuple[Floats, Floats, Indices]:
    """Per column the entry that differs least from both its neighbours, that difference with the round-off added, and its rung.

    A function that oscillates has two such places: over steps much longer than its period it seems to be flat. The one of the
    shorter steps is the derivative.
    """
    known = np.where(usable, series, np.nan)
    with np.errstate(invalid="ignore"):
        gap = np.abs(np.diff(known, axis=0))
    gap = np.where(np.isnan(gap), np.inf, gap)
    edge = np.full((1, series.shape[1]), np.inf)
    error = np.maximum(np.concatenate([edge, gap]), np.concatenate([gap, edge])) + fuzz
    error = np.where(usable, error, np.inf)
    best = np.argmin(error, axis=0)
    columns = np.arange(series.shape[1])
    with np.errstate(invalid="ignore"):
        good = error <= ruler.allowed(known, known)
        last = len(series) - 1 - np.argmax(good[::-1], axis=0)
        finest = known[last, columns]
        # those that agree with the finest good one; if the best does not, it is the best of these
        apart = np.abs(known - finest) > error + error[last, columns] + ruler.allowed(known, finest)
        other = good.any(axis=0) & apart[best, columns]
    if other.any():
        best = np.where(other, np.argmin(np.where(good & ~apart, error, np.inf), axis=0), best)
    value = known[best, columns]
    fallback = np.where(np.isnan(value), series[len(series) // 2], value)
    return fallback, error[best, columns], best


def _against(
    series: Floats, usable: Flags, value: Floats, error: Floats, rung: Indices, fuzz: Floats, h: Floats, size: Floats, ruler: Ruler
) -> Floats:
    """Per column by how much of its value the function departs, within shorter steps than the chosen one, from the slope found there; 0 where round-off tells it."""
    finer = usable & (np.arange(len(series))[:, None] > rung)
    top = np.max(size, axis=0)
    with np.errstate(invalid="ignore"):
        off = np.where(finer, np.abs(series - value), 0.0)
        off = np.where(off > 10 * error + ruler.rtol * np.abs(value) + 8 * fuzz, off, 0.0)
    return np.asarray(np.max(off * h, axis=0) / np.where(top > 0, top, 1.0))
