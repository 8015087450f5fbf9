"""The global check: the gradient of a node against differences of the root, by replaying what lies downstream of it. Imports no view or widget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorviz.checks.differences import CODE, Floats, Judged
from tensorviz.checks.joint import pair_of
from tensorviz.checks.problems import Move, Moved, unlike
from tensorviz.checks.quick import Plan, look, plan
from tensorviz.checks.report import Block, block, single
from tensorviz.checks.search import ALWAYS, DIRECTIONS, SAMPLES, Outcome, along
from tensorviz.checks.subject import OVERHEAD, Subject, agrees, read, title

CALL = 20 * OVERHEAD
"""What running one op on a stack of operands takes beside the rows: about twenty microseconds."""


def check_total(subject: Subject, i: int) -> list[Block]:
    """Whether node ``i``'s gradient is the sum of its shares (and seed). No block where it is."""
    node = subject.nodes[i]
    if node.cotangent is None or not node.shares:
        return []
    plain: Any = subject.seeds.get(i)
    for share in node.shares:
        plain = share.value if plain is None else plain + share.value
    if np.array_equal(plain, node.cotangent):
        return []
    expected = np.zeros(node.shape) if i not in subject.seeds else subject.seeds[i].astype(np.float64)
    for share in node.shares:
        expected = expected + share.value
    size = np.max([np.abs(s.value) for s in node.shares], axis=0).astype(np.float64)
    unit = float(np.finfo(node.cotangent.dtype).eps) if node.cotangent.dtype.kind == "f" else 2.0**-52
    with np.errstate(invalid="ignore"):
        off = np.abs(node.cotangent - expected)
        near = (off <= subject.ruler.allowed(node.cotangent, expected) + 4 * unit * len(node.shares) * size) | ~np.isfinite(expected)
    if agrees(node.cotangent, expected.astype(node.cotangent.dtype)) or near.all():
        return []
    wrong = np.flatnonzero(~near.reshape(-1))
    judged = Judged(
        expected.reshape(-1)[wrong], np.full(len(wrong), CODE["mismatch"], dtype=np.int8), ["the gradient is not the sum of its shares"] * len(wrong)
    )
    return [block(i, "sum", None, title(node), node.shape, wrong, node.cotangent.reshape(-1)[wrong].astype(np.float64), judged, subject.ruler)]


def price(subject: Subject, i: int, downstream: Sequence[int]) -> float:
    """What the global check of node ``i`` costs, in array elements computed, if these are the results downstream of it."""
    one = subject.cost_of(downstream)
    n = subject.nodes[i].value.size
    rows = 2 * (n if n <= ALWAYS or n * one <= subject.budget else DIRECTIONS + SAMPLES) + 1
    return float(sum([CALL + rows * subject.nodes[j].value.size for j in downstream]))


def check_gradients(subject: Subject, ids: Sequence[int]) -> dict[int, list[Block]]:
    """One block per node: its gradient; with one replay for the first pass over all of them."""
    found: dict[int, list[Block]] = {i: [] for i in ids}
    asked: list[_Asked] = []
    for i in ids:
        node = subject.nodes[i]
        if node.cotangent is None or not node.shares or node.value.size == 0:
            continue
        order = subject.downstream(i)
        trouble = subject.reruns(order)
        if trouble is not None:
            verdict: Any = trouble[0]
            found[i].append(single(i, "global", None, title(node), verdict, f"downstream, {trouble[1]}"))
        else:
            asked.append(_Asked(subject, i, order))
    outcomes = _first_pass(subject, asked) if len(asked) > 1 else {}
    for a in asked:
        found[a.node.id].append(a.block(outcomes.get(a.node.id)))
    return found


def _first_pass(subject: Subject, asked: Sequence[_Asked]) -> dict[int, Outcome]:
    """The outcomes of the gradients that are right at first sight."""
    plans = [(a.node.id, p) for a in asked if (p := a.plan()) is not None]
    if not plans:
        return {}
    behind = {i for i, _ in plans}.union(*(a.order for a in asked))
    roots = [r for r in dict.fromkeys(subject.data.roots) if r in behind]
    pair = pair_of(subject.stacked, plans, roots, subject.seed_of(roots))
    if pair is None:
        return {}
    looked = look([p for _, p in plans], pair, subject.ruler)
    return {i: outcome for (i, _), outcome in zip(plans, looked, strict=True) if outcome is not None}


class _Asked:
    """One node whose gradient is to be compared; ``order`` lists what lies downstream of it."""

    def __init__(self, subject: Subject, i: int, order: Sequence[int]) -> None:
        self.subject, self.node, self.order = subject, subject.nodes[i], order
        assert self.node.cotangent is not None
        self.x = np.array(subject.exact.values[i], dtype=np.float64)
        self.gradient = self.node.cotangent.astype(np.float64)
        self.room = np.full(self.x.size, np.inf)
        self.cost = subject.cost_of(order)

    def rng(self) -> np.random.Generator:
        return self.subject.rng(2, self.node.id)

    def plan(self) -> Plan | None:
        return plan(self.gradient, self.x, self.room, self.subject.ruler, cost=self.cost, budget=self.subject.budget, rng=self.rng)

    def block(self, outcome: Outcome | None) -> Block:
        """The rows; without an outcome of the first pass, after a closer look."""
        subject = self.subject
        if outcome is None:
            problem = problem_of(subject, self.node.id, self.order)
            subject.stacked.lost = False
            outcome = along(
                problem,
                self.gradient,
                self.x,
                self.room,
                subject.ruler,
                cost=self.cost,
                budget=subject.budget,
                rng=self.rng,
                given=self.node.kind != "op" and read(self.node),
            )
            if subject.stacked.lost:
                _masked(outcome[0])
        judged, where, analytic, note = outcome
        return block(self.node.id, "global", None, title(self.node), self.x.shape, where, analytic, judged, subject.ruler, note)


def _masked(judged: Judged) -> None:
    """Say that a selection changes beside the point where that is why there is no value."""
    for i, reason in enumerate(judged.reason):
        if reason == "beside":
            judged.verdict[i], judged.reason[i] = CODE["nonsmooth"], "masked"


def problem_of(subject: Subject, i: int, order: Sequence[int]) -> Callable[[Sequence[Move]], Moved]:
    """The root, weighted with its seed, as a function of node ``i``; ``order`` lists what lies downstream of it."""
    program = subject.exact
    behind = set(order)
    roots = list(dict.fromkeys(r for r in subject.data.roots if r == i or r in behind))
    weights = subject.seed_of(roots)
    base = np.concatenate([np.asarray(program.values[r], dtype=np.float64).reshape(-1) for r in roots])
    x = np.array(program.values[i], dtype=np.float64)
    load = sum([subject.nodes[j].value.size for j in order])

    def f(stack: Floats) -> Floats:
        values = subject.stacked.run({i: stack}, order)
        outputs = [np.asarray(values[r], dtype=np.float64).reshape(len(stack), -1) for r in roots]
        return outputs[0] if len(outputs) == 1 else np.concatenate(outputs, axis=1)

    return lambda moves: Moved(f, x, moves, weights, base, load, within(subject, i, order))


def within(subject: Subject, i: int, order: Sequence[int]) -> Callable[[Floats], Floats]:
    """Of a stack of values of node ``i``, how large what is computed from them is, as :class:`Moved` wants it.

    The round-off of a result counts in the root as far as its gradient carries it there.
    """
    nodes = subject.nodes

    def size(stack: Floats) -> Floats:
        values = subject.stacked.run({i: stack}, order)
        found = np.zeros(len(stack))
        for j in order:
            gradient = nodes[j].cotangent
            if gradient is None:
                continue
            base = np.asarray(values[j])[-1]
            with np.errstate(all="ignore"):
                weighted = np.abs(base * gradient.astype(np.float64))
            weighted = np.where(np.isfinite(weighted), weighted, 0.0)
            found += (unlike(np.asarray(values[j]), base) * weighted).reshape(len(stack), -1).sum(axis=1)
        return found

    return size
