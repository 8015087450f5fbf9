"""A trace prepared for checking: programs to replay, who sent which share, the seeds. Imports replay and the record; no view or widget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorviz.checks.differences import Ruler
from tensorviz.checks.outside import outside
from tensorviz.checks.stacked import Stacked
from tensorviz.engine.op import REGISTRY
from tensorviz.engine.unbroadcast import unbroadcast
from tensorviz.replay import Program
from tensorviz.trace import Array, Share, TraceData, TraceNode, one_line

OVERHEAD = 200
"""What calling one op costs, in array elements: about a microsecond, in which an elementwise op makes a few hundred elements."""

SMALL = 500
"""Up to so many nodes it is found out, and kept, what lies downstream of each."""


def _ruled(share: Share) -> Share:
    """The share that the rule sent: what was set in a rerun is no fault of the rule."""
    return replace(share, value=np.asarray(unbroadcast(share.local, share.value.shape))) if share.by_hand else share


class Stopped(BaseException):
    """Raised between two ops where nobody wants to know any more; no Exception, since a rule's exceptions are caught and become verdicts."""


def unwatched() -> None:
    """Where nobody waits for the check."""


class _Watched(Program):
    """A program that calls ``watch`` before each op that it runs."""

    def __init__(self, data: TraceData, watch: Callable[[], None], dtype: npt.DTypeLike | None = None) -> None:
        self._watch = watch
        super().__init__(data.nodes, dtype=dtype)

    def _prepare(self, i: int) -> Callable[..., Any]:
        forward, watch = super()._prepare(i), self._watch

        def watched(*operands: Any, **params: Any) -> Any:
            watch()
            return forward(*operands, **params)

        self._forwards[i] = watched
        return watched


class Subject:
    """What every check of one trace shares; made once per trace and per process."""

    def __init__(self, data: TraceData, ruler: Ruler, budget: float, seed: int, watch: Callable[[], None] = unwatched) -> None:
        self.data, self.ruler, self.budget, self.seed, self.watch = data, ruler, budget, seed, watch
        self.nodes: Sequence[TraceNode] = data.nodes
        self.pulled = None if data.complete else {step.node for step in data.steps if step.kind == "pull"}
        """Of a pass that stopped: the nodes whose rule has run, so that their gradient was complete; None where all are."""
        self.sent: dict[int, dict[int, Share]] = {}
        for n in data.nodes:
            for share in n.shares:
                self.sent.setdefault(share.consumer, {})[share.slot] = _ruled(share)
        self.set_by_hand = [share for n in data.nodes for share in n.shares if share.by_hand]
        self.seeds: dict[int, Array] = {}
        for step in data.steps:
            if step.kind == "seed" and step.after is not None:
                self.seeds[step.node] = step.after
        self.trouble: dict[int, tuple[str, str]] = {}
        """Results that cannot be run again: the verdict and the reason; filled by :meth:`rerun`."""
        self.again: dict[int, Array] = {}
        """In a record of float64 alone: the results of the ops that have run once more; filled by :meth:`rerun`."""
        self._known: set[int] = set()
        self._downstream: dict[int, list[int]] = {}

    @cached_property
    def plain(self) -> Program:
        """The graph in the recorded dtypes."""
        return self._program()

    @cached_property
    def exact(self) -> Program:
        """The graph in float64."""
        return self.plain if self.double else self._program(np.float64)

    def _program(self, dtype: npt.DTypeLike | None = None) -> Program:
        return Program(self.data.nodes, dtype=dtype) if self.watch is unwatched else _Watched(self.data, self.watch, dtype)

    @cached_property
    def stacked(self) -> Stacked:
        """The same, for many values at once."""
        return Stacked(self.exact)

    @cached_property
    def double(self) -> bool:
        """Every float in the record is a float64."""
        return all(n.value.dtype == np.float64 for n in self.nodes if n.value.dtype.kind == "f")

    @cached_property
    def born(self) -> str:
        """Where the first number that is not finite came from, and what to do; empty where all are finite."""
        from tensorviz.findings.nonfinite import nonfinite

        first = next(iter(nonfinite(self.data)), None)
        if first is None:
            return ""
        where = f" ({first.source})" if first.source else ""
        return (
            f"The first number that is not finite: {first.kind}, {first.phase}, at {first.op}, node {first.node}{where}. {first.why} {first.remedy}"
        )

    @cached_property
    def costs(self) -> list[int]:
        """What running each node's op once takes, in array elements."""
        sizes = [n.value.size for n in self.nodes]
        return [OVERHEAD + sizes[n.id] + sum([sizes[j] for j in n.inputs]) for n in self.nodes]

    def finished(self, i: int) -> bool:
        """The pass did not stop before node ``i``'s gradient was complete."""
        return self.pulled is None or i in self.pulled

    def rerun(self, i: int) -> tuple[str, str] | None:
        """Run the op of node ``i`` once more on the recorded operands; what is wrong with it as a subject of differences, if anything."""
        if i not in self._known:
            self._known.add(i)
            found = self._rerun(self.nodes[i])
            if found is not None:
                self.trouble[i] = found
        return self.trouble.get(i)

    def _rerun(self, node: TraceNode) -> tuple[str, str] | None:
        if node.op not in REGISTRY:
            return "skipped", f"{one_line(node.op)!r} is a custom op that this process does not know, so it cannot be run again"
        operands = [self.plain.values[j] for j in node.inputs]
        try:
            with np.errstate(all="ignore"):
                again = np.asarray(self.plain.apply(node.id, operands))
                if agrees(again, node.value):
                    if self.double and again.dtype == np.float64:
                        self.again[node.id] = again
                    return None
                third = np.asarray(self.plain.apply(node.id, operands))
        except Exception as error:  # noqa: BLE001 - a custom op's forward may raise anything; the report says what
            return "input", f"running {node.op} again on the recorded operands raised {type(error).__name__}: {error}"
        if not agrees(again, third):
            return "nondeterministic", f"{node.op} gives another result each time it runs on the same operands"
        held = outside(node.op)
        what = f"{', '.join(held)}, which {node.op} reads from outside," if held else "an operand, or what the op depends on,"
        return "input", f"{node.op} on the recorded operands does not give the recorded result: {what} was changed after the forward pass"

    def downstream(self, i: int) -> list[int]:
        """The results that depend on node ``i``, in forward order."""
        found = self._downstream.get(i)
        if found is None:
            found = self.exact.downstream([i])
            if len(self.nodes) <= SMALL:
                self._downstream[i] = found
        return found

    def cost_of(self, order: Sequence[int]) -> int:
        """What moving something by a step to either side costs, if these results are downstream of it."""
        costs = self.costs
        return 2 * sum([costs[j] for j in order])

    def seed_of(self, roots: Sequence[int]) -> Array:
        """The seeds of some roots, flat, one after the other."""
        return np.concatenate([self.seeds[r].astype(np.float64).reshape(-1) for r in roots])

    def reruns(self, order: list[int]) -> tuple[str, str] | None:
        """The first trouble among some results."""
        for i in order:
            if i not in self._known:
                self.rerun(i)
        return next((self.trouble[i] for i in order if i in self.trouble), None) if self.trouble else None

    def rng(self, *key: int) -> np.random.Generator:
        """Random numbers that depend on the seed and on what is checked, not on the order or the process in which it is."""
        return np.random.default_rng([self.seed, *key])


def agrees(a: Array, b: Array) -> bool:
    """Equal up to the last few bits (a threaded matrix product may differ in them), NaN like NaN."""
    if a.shape != b.shape:
        return False
    if a.dtype.kind != "f" or b.dtype.kind != "f":
        return bool(np.array_equal(a, b))
    if np.array_equal(a, b):
        return True
    fine = float(np.finfo(min(a.dtype, b.dtype, key=lambda d: d.itemsize)).eps) * 64
    with np.errstate(all="ignore"):
        top = float(np.max(np.abs(b), initial=0.0, where=np.isfinite(b)))
        return bool(np.all((np.abs(a - b) <= fine * (np.abs(b) + top)) | (a == b) | (np.isnan(a) & np.isnan(b))))


def title(node: TraceNode) -> str:
    """The node in words: its op, and its name where it has one."""
    return f"{node.title} = {one_line(node.op)}" if node.name and node.kind == "op" else node.title


def read(node: TraceNode) -> npt.NDArray[np.bool_]:
    """Per element of a leaf whether any op reads it: one that selects does not read what it does not choose."""
    seen = np.zeros(node.shape, dtype=bool)
    for share in node.shares:
        seen |= True if share.route is None else share.route != 0
    return seen.reshape(-1)
