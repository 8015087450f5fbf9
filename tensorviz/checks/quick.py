"""The first pass over many arrays at once: what agrees there, and shows no kink, is done; the rest is looked at one by one. Imports its neighbours only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from tensorviz.checks.differences import CODE, Floats, Judged, Pair, Ruler, first_look, first_step, scale_of
from tensorviz.checks.problems import Move, stacked_moves
from tensorviz.checks.search import ALWAYS, Outcome, Picks, method, picks

_OK = np.int8(CODE["ok"])


@dataclass(slots=True)
class Plan:
    """Which derivatives of one array are compared, and how far they are moved."""

    x: Floats
    moves: Sequence[Move]
    where: Sequence[int]
    """Per move the flat index, or -1 for a direction."""
    analytic: Floats
    h: Floats
    note: str
    picked: Picks | None = None

    def rows(self) -> Floats:
        """The array with each move made forward, then with each made backward."""
        return stacked_moves(self.x, self.moves, self.h)


def plan(
    gradient: Floats,
    x: Floats,
    room: Floats,
    ruler: Ruler,
    *,
    cost: float = 0.0,
    budget: float = np.inf,
    rng: Callable[[], np.random.Generator] | None = None,
) -> Plan | None:
    """What :func:`tensorviz.checks.search.along` would look at first; None where something is not finite, which takes a closer look."""
    flat, values = gradient.reshape(-1), x.reshape(-1)
    if not (np.isfinite(flat).all() and np.isfinite(values).all()):
        return None
    n, scale = len(flat), scale_of(values)
    if n <= ALWAYS or n * cost <= budget:
        every = range(n)
        return Plan(x, every, every, flat, first_step(np.abs(values), scale, room, ruler), "")
    assert rng is not None
    picked = picks(flat, x, scale, room, ruler, rng())
    ways, chosen = len(picked.ways), picked.chosen
    h = np.concatenate([first_step(np.zeros(ways), 1.0, picked.rooms, picked.tight), first_step(np.abs(values[chosen]), scale, room[chosen], ruler)])
    analytic = np.concatenate([picked.slopes, flat[chosen]])
    return Plan(x, [*picked.ways, *chosen], [-1] * ways + chosen, analytic, h, method(picked, n, len(chosen)), picked)


def every(gradients: Sequence[Floats], xs: Sequence[Floats], ruler: Ruler) -> list[Plan | None]:
    """The same for arrays all of whose elements are compared, and may be moved anywhere: what is found element by element is found for all arrays at once."""
    if not xs:
        return []
    flat, values = np.concatenate([g.reshape(-1) for g in gradients]), np.concatenate([x.reshape(-1) for x in xs])
    sizes = [x.size for x in xs]
    finite = np.isfinite(flat) & np.isfinite(values)
    scales = np.repeat([scale_of(x.reshape(-1)) for x in xs], sizes)
    h = first_step(np.abs(values), scales, np.inf, ruler)
    sound = finite.all()
    found: list[Plan | None] = []
    start = 0
    for x, n in zip(xs, sizes, strict=True):
        part = slice(start, start := start + n)
        found.append(Plan(x, range(n), range(n), flat[part], h[part], "") if sound or finite[part].all() else None)
    return found


def look(plans: Sequence[Plan], pair: Pair, ruler: Ruler) -> list[Outcome | None]:
    """The outcomes of the arrays that are right at first sight, None for the others; ``pair`` holds the moves of all plans, one after the other."""
    if not plans:
        return []
    h, analytic = np.concatenate([p.h for p in plans]), np.concatenate([p.analytic for p in plans])
    atol, rtol = np.full(len(h), float(ruler.atol)), np.full(len(h), float(ruler.rtol))
    start = 0
    for p in plans:
        if p.picked is not None:
            ways = slice(start, start + len(p.picked.ways))
            atol[ways], rtol[ways] = p.picked.tight.atol, 0.0
        start += len(p.h)
    numeric, good = first_look(pair, h, analytic, Ruler(atol, rtol, unit=ruler.unit))
    # a direction that fits within its tight tolerance must fit within the ordinary one, too, which may be the tighter where it is all atol
    good &= np.abs(analytic - numeric) <= ruler.allowed(analytic, numeric)
    found: list[Outcome | None] = []
    start = 0
    for p in plans:
        end = start + len(p.h)
        if good[start:end].all():
            verdict = np.full(end - start, _OK)
            found.append((Judged(numeric[start:end], verdict, [""] * (end - start)), p.where, p.analytic, p.note))
        else:
            found.append(None)
        start = end
    return found


def joined(pairs: Sequence[Pair]) -> Pair:
    """Pairs one after the other."""
    return pairs[0] if len(pairs) == 1 else Pair(*(np.concatenate([getattr(p, f.name) for p in pairs]) for f in fields(Pair)))


def select(pair: Any, which: Any) -> Pair:
    """Some of the functions of a pair."""
    return Pair(*(getattr(pair, f.name)[which] for f in fields(Pair)))
