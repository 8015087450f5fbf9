"""Which derivatives of an array are compared: all, or random directions, sampled elements, and the culprit of a direction that does not fit. Imports its neighbours only."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from tensorviz.checks.differences import CODE, Flags, Floats, Judged, Problem, Ruler, scale_of
from tensorviz.checks.judge import judge
from tensorviz.checks.problems import Everywhere, Move, Moved, directions

DIRECTIONS = 1
SAMPLES = 2
"""Of an array beyond the budget: that many random directions, its largest gradient, and one element less than SAMPLES at random."""
ALWAYS = 4
"""Arrays of up to this many elements are always checked one by one."""

_FRACTION = 0.02
"""So that an element is found whose gradient is a fiftieth of a typical one; to suspect too much costs time, not truth."""

Made = Callable[[Sequence[Move]], Moved]
Outcome = tuple[Judged, Any, Floats, str]
"""What was judged; per row the flat index or -1; the analytic values; a note on the method."""


def along(
    problem: Everywhere | Made,
    gradient: Floats,
    x: Floats,
    room: Floats,
    ruler: Ruler,
    *,
    cost: float = 0.0,
    budget: float = np.inf,
    rng: Callable[[], np.random.Generator] | None = None,
    given: Flags | bool = False,
) -> Outcome:
    """Compare the gradient of one array with differences of a problem.

    ``cost``: what moving one element costs, in the unit of ``budget``; a finished problem moves all at once. ``given``: the
    elements of x that are the user's own, not computed on the way.
    """
    flat, values = gradient.reshape(-1), x.reshape(-1)
    scale = scale_of(values)
    if isinstance(problem, Everywhere):
        return judge(problem, flat, values, scale, room, ruler, given=given), range(len(flat)), flat, ""
    if len(flat) <= ALWAYS or len(flat) * cost <= budget:
        return judge(problem(range(len(flat))), flat, values, scale, room, ruler, given=given), range(len(flat)), flat, ""
    assert rng is not None
    return _sampled(problem, flat, x, scale, room, ruler, rng(), given)


class Picks(NamedTuple):
    """The derivatives that stand for those of a large array."""

    ways: list[Floats]
    """Directions in which all elements move."""
    chosen: list[int]
    """Elements."""
    slopes: Floats
    """Along the directions, by the gradient."""
    rooms: Floats
    """How far one may go along each."""
    tight: Ruler
    """What a direction must agree within at first."""


def picks(flat: Floats, x: Floats, scale: float, room: Floats, ruler: Ruler, rng: np.random.Generator) -> Picks:
    """What is looked at of an array with too many elements.

    A single wrong element among n changes a direction by about 1/sqrt(n) of it. So a direction must first fit by a fraction
    of the tolerance of one typical element, which differences can decide (they are good to 1e-9), not by that of the whole.
    """
    finite = np.isfinite(x.reshape(-1)) & np.isfinite(flat)
    whole = bool(finite.all())
    ways = directions(x if whole else np.where(np.isfinite(x), x, 0.0), scale, DIRECTIONS, rng)
    known = flat
    if not whole:
        ways = [np.where(finite.reshape(x.shape), d, 0.0) for d in ways]
        known = np.where(finite, flat, 0.0)
    chosen = [int(np.argmax(np.abs(known) if whole else np.where(finite, np.abs(flat), -1.0)))]
    chosen += [int(i) for i in rng.choice(len(flat), SAMPLES - 1)]
    if not whole:
        # one row says that something is not finite: of a mask and what it spoils, the latter
        spoilt = ~np.isfinite(flat) | np.isnan(x.reshape(-1))
        chosen.append(int(np.argmax(spoilt)) if spoilt.any() else int(np.argmin(finite)))
    flats = [w.reshape(-1) for w in ways]
    rooms = np.array([_room(room, w) for w in ways])
    size = math.sqrt(len(flat))
    typical = min(math.sqrt(float(np.add.reduce(np.square(known * w)))) for w in flats) / size
    step = min(math.sqrt(float(w @ w)) for w in flats) / size
    tight = Ruler(atol=_FRACTION * (ruler.atol * step + ruler.rtol * typical), rtol=0.0, unit=ruler.unit)
    return Picks(ways, list(dict.fromkeys(chosen)), np.array([float(known @ w) for w in flats]), rooms, tight)


def _sampled(
    problem: Made, flat: Floats, x: Floats, scale: float, room: Floats, ruler: Ruler, rng: np.random.Generator, given: Flags | bool
) -> Outcome:
    picked = picks(flat, x, scale, room, ruler, rng)
    straight, culprits = _straight(problem, picked, flat, room, ruler, scale)
    chosen = list(dict.fromkeys(picked.chosen + culprits))
    rows = judge(problem(chosen), flat[chosen], x.reshape(-1)[chosen], scale, room[chosen], ruler, given=np.broadcast_to(given, flat.shape)[chosen])
    both = Judged(np.concatenate([straight.numeric, rows.numeric]), np.concatenate([straight.verdict, rows.verdict]), straight.reason + rows.reason)
    return both, [-1] * len(picked.ways) + chosen, np.concatenate([picked.slopes, flat[chosen]]), method(picked, len(flat), len(chosen))


def method(picked: Picks, size: int, count: int) -> str:
    """How an array was checked, for the report."""
    ways = len(picked.ways)
    return f"{'a random direction' if ways == 1 else f'{ways} random directions'} and {count} of {size:,} elements"


def _straight(problem: Made, picked: Picks, flat: Floats, room: Floats, ruler: Ruler, scale: float) -> tuple[Judged, list[int]]:
    """Directions judged, and the elements that spoil them."""
    ways, slopes, rooms, tight = picked.ways, picked.slopes, picked.rooms, picked.tight
    still = np.zeros(len(ways))
    absolute = max(1.0, 1.0 / scale)  # a direction moves elements in proportion to their scale
    judged = judge(problem(ways), slopes, still, 1.0, rooms, tight, absolute=absolute)
    culprits = [
        _culprit(problem, w, flat, room, tight, absolute) for w, verdict in zip(ways, judged.verdict, strict=True) if verdict == CODE["mismatch"]
    ]
    with np.errstate(invalid="ignore"):
        again = (judged.verdict != CODE["ok"]) | (np.abs(judged.numeric - slopes) > ruler.allowed(slopes, judged.numeric))
    if again.any():
        judged = judge(problem(ways), slopes, still, 1.0, rooms, replace(ruler, eps=None), absolute=absolute)
    return judged, [c for c in culprits if c is not None]


def _slopes(flat: Floats, ways: Sequence[Floats], finite: Any) -> Floats:
    known = np.where(finite, flat, 0.0)
    return np.array([float(known @ w.reshape(-1)) for w in ways])


def _room(room: Floats, way: Floats) -> float:
    if np.isposinf(room).all():
        return np.inf
    step = np.abs(way.reshape(-1))
    moving = step > 0
    return float(np.min(room[moving] / step[moving], initial=np.inf))


def _culprit(problem: Made, way: Floats, flat: Floats, room: Floats, tight: Ruler, absolute: float) -> int | None:
    """The element that spoils a direction, found by halving it; None where the halves fit though the whole does not."""
    finite = np.isfinite(flat)
    low, high = 0, len(flat)
    while high - low > 1:
        middle = (low + high) // 2
        halves = []
        for start, stop in ((low, middle), (middle, high)):
            part = np.zeros(len(flat))
            part[start:stop] = way.reshape(-1)[start:stop]
            halves.append(part.reshape(way.shape))
        slopes = _slopes(flat, halves, finite)
        rooms = np.array([_room(room, w) for w in halves])
        judged = judge(problem(halves), slopes, np.zeros(2), 1.0, rooms, tight, absolute=absolute)
        gaps = np.where(judged.verdict == CODE["mismatch"], np.abs(judged.numeric - slopes), -1.0)
        if gaps.max() < 0:
            return None
        low, high = (low, middle) if gaps[0] >= gaps[1] else (middle, high)
    return low


__all__ = ["Picks", "Problem", "along", "method", "picks"]
