"""Workload (c): a chain of numbers with a fork at every step. Holds no engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.workloads.workload import Array, Language, Workload


def workload(nodes: int) -> Workload:
    """``a = a * b + a``, two nodes a turn."""
    turns = nodes // 2

    def forward(_language: Language, parameters: Sequence[Any], _constants: Sequence[Any]) -> Any:
        a, b = parameters
        for _ in range(turns):
            a = a * b + a
        return a

    def by_hand(parameters: Sequence[Array], _constants: Sequence[npt.NDArray[Any]]) -> tuple[float, tuple[Array, ...]]:
        a, b = (float(p) for p in parameters)
        values = []
        for _ in range(turns):
            values.append(a)
            a = a * b + a
        ga, gb = 1.0, 0.0
        for value in reversed(values):
            gb += ga * value
            ga += ga * b
        return a, (np.array(ga), np.array(gb))

    # b is so small that the chain grows by e at most, whatever its length
    return Workload(f"scalar chain a = a*b + a, {nodes:,} nodes", (np.array(0.5), np.array(1 / turns)), (), forward, by_hand, scalar=True)
