"""All cases, and their verdicts, computed once in a process."""

from __future__ import annotations

import functools

import numpy as np

from . import composites, elementwise, further, matrices, networks, reductions, shapes
from .case import Case
from .judge import Verdict, judged

ALL: list[Case] = [case for family in (elementwise, reductions, shapes, matrices, networks, composites, further) for case in family.CASES]

SINCE_2 = ("np.astype(", "np.permute_dims(")
"""Names that came with NumPy 2."""
CASES = [case for case in ALL if hasattr(np, "permute_dims") or not case.ours.startswith(SINCE_2)]

INTERNAL = {"fold"}
"""Ops that only rules of other ops use, when they are differentiated themselves; tests/ops tries them."""


@functools.cache
def verdicts() -> tuple[Verdict, ...]:
    return tuple([judged(case) for case in CASES])
