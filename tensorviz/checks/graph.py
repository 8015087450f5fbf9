"""The graph of a pass, ready to be replayed without its full record having been built. Imports the engine and replay; no view or widget."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tensorviz.checks.differences import Floats, Pair
from tensorviz.checks.joint import pair_of
from tensorviz.checks.quick import Plan
from tensorviz.checks.stacked import Stacked
from tensorviz.engine.node import Node
from tensorviz.engine.record import Pass
from tensorviz.errors import ReplayError
from tensorviz.replay import Program
from tensorviz.trace import Array

_HELD = 2.0**21
"""Array elements of the widest result that are held at a time, of all rows together: 16 MB."""


class Bare(NamedTuple):
    """Of a node, what a replay needs; ids are those of the record."""

    id: int
    op: str
    kind: str
    title: str
    inputs: tuple[int, ...]
    params: Mapping[str, Any]
    shape: tuple[int, ...]
    dtype: str
    value: Array
    weak: bool


class Graph:
    """The nodes of a pass, by id, and how they are run on stacks."""

    def __init__(self, nodes: Sequence[Bare], ids: Mapping[Node, int]) -> None:
        self.nodes, self.ids = nodes, ids
        self.program = Program(nodes)
        self.stacked = Stacked(self.program)
        self.widest = max([n.value.size for n in nodes])

    @classmethod
    def of(cls, passed: Pass) -> Graph | None:
        """The graph of a pass; None where some of it is not float64, whose differences take more care."""
        nodes, ids = passed.order()
        bare = []
        for i, n in enumerate(nodes):
            value = np.asarray(n.value)
            if value.dtype.kind == "f" and value.dtype != np.float64:
                return None
            name, kind = ("leaf", "leaf") if n.op is None else (n.op.name, "op")
            weak = type(n.value) in (int, float, bool)
            bare.append(Bare(i, name, kind, name, tuple([ids[m] for m in n.inputs]), n.params, value.shape, "", value, weak))
        return cls(bare, ids)

    def reaches(self, ids: Iterable[int], roots: Iterable[int]) -> bool:
        """Every root depends on some of these nodes."""
        ids = set(ids)
        return bool(ids) and ids.union(self.program.downstream(ids)).issuperset(roots)

    def run(self, stacks: Mapping[int, Array], roots: Sequence[int]) -> Floats:
        """The roots' values, flat, one row per moved value."""
        values = self.stacked.run(stacks, self.program.downstream(stacks))
        count = len(next(iter(stacks.values())))
        return np.concatenate([np.asarray(values[r], dtype=np.float64).reshape(count, -1) for r in roots], axis=1)

    def groups(self, rows: Mapping[int, int]) -> list[list[int]]:
        """Keys in pieces that are not too large; a key whose rows alone are is left out."""
        groups: list[list[int]] = []
        held = 0.0
        for key, count in rows.items():
            size = float(count) * self.widest
            if size > _HELD:
                continue
            if not groups or held + size > _HELD:
                groups.append([])
                held = 0.0
            groups[-1].append(key)
            held += size
        return groups

    def pair(self, plans: Sequence[tuple[int, Plan]], roots: Sequence[int], weights: Floats) -> Pair | None:
        """The first differences of all plans; None where they are not all finite, or a piece does not reach all roots."""
        if not self.reaches([i for i, _ in plans], roots):
            return None
        try:
            return pair_of(self.stacked, plans, roots, weights)
        except ReplayError:
            return None
