"""Runs a case everywhere and says who agrees with us."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import peers
from .case import Case

AGREES, ABSENT = "agrees", "-"


@dataclass(frozen=True)
class Verdict:
    """What came out for one case: per judge ``agrees``, ``-`` (has no word for it), or what differs."""

    case: Case
    ops: frozenset[str]
    by: dict[str, str] = field(default_factory=dict)

    @property
    def disagreements(self) -> dict[str, str]:
        return {who: what for who, what in self.by.items() if what not in (AGREES, ABSENT)}


JUDGES = ("NumPy", "differences", "float32", "PyTorch", "autograd")


def judged(case: Case) -> Verdict:
    """The verdicts of all judges on one case."""
    found = peers.ours(case)
    operands = case.operands()
    by = {"NumPy": _results(found.results, peers.plain(case), exact=True)}
    wide = all(x.dtype == np.float64 for x in [*operands.values(), *found.results] if x.dtype.kind == "f")
    by["differences"] = _gradients(found.gradients, peers.differences(case), 2e-5, 1e-7) if wide else ABSENT
    by["float32"] = _narrow(case, found) if wide else ABSENT
    for who, text in (("PyTorch", case.torch), ("autograd", case.autograd)):
        by[who] = ABSENT if text is None else _peer(who, text, operands, found)
    return Verdict(case, found.ops, by)


def _peer(who: str, text: str, operands: dict[str, Any], found: peers.Outcome) -> str:
    try:
        theirs = peers.PEERS[who](text, operands)
    except Exception as error:  # noqa: BLE001 - whatever a peer raises is its verdict
        return f"refuses: {type(error).__name__}"
    outcome = _results(found.results, theirs.results, narrow=any(x.dtype == np.float32 for x in operands.values()))
    return outcome if outcome != AGREES else _gradients(found.gradients, theirs.gradients, 1e-7, 1e-9)


def _results(mine: list[Any], theirs: list[Any], *, exact: bool = False, narrow: bool = False) -> str:
    if len(mine) != len(theirs):
        return "another number of results"
    for a, b in zip(mine, theirs, strict=True):
        if np.shape(a) != np.shape(b):
            return f"results of shape {np.shape(b)} for {np.shape(a)}"
        if exact and a.dtype != b.dtype:
            return f"results of dtype {b.dtype} for {a.dtype}"
        narrow = narrow or np.float32 in (a.dtype, b.dtype)
        if not np.allclose(a, b, rtol=1e-5 if narrow else 1e-9, atol=1e-6 if narrow else 1e-11, equal_nan=True):
            return "other results"
    return AGREES


def _gradients(mine: dict[str, Any], theirs: dict[str, Any], rtol: float, atol: float) -> str:
    for name, a in mine.items():
        b = np.asarray(theirs[name])
        if a is None or a.shape != b.shape:
            return f"a gradient of shape {b.shape} for {None if a is None else a.shape}"
        if np.float32 in (a.dtype, b.dtype):
            rtol, atol = 1e-4, 1e-5
        if not np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True):
            return f"another gradient of {name}"
    return AGREES


def _narrow(case: Case, wide: peers.Outcome) -> str:
    """In float32: the dtypes that NumPy gives, gradients in float32, the numbers of float64 to round-off."""
    try:
        found = peers.ours(case, np.float32)
    except np.linalg.LinAlgError:
        return "refuses in float32"
    for name, g in found.gradients.items():
        if g.dtype != np.float32:
            return f"a gradient of dtype {g.dtype}"
        scale = max(1.0, float(np.max(np.abs(wide.gradients[name]), initial=0)))
        if not np.allclose(g, wide.gradients[name], rtol=1e-3, atol=2e-4 * scale):
            return f"another gradient of {name} in float32"
    return AGREES
