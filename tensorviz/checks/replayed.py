"""The global check: the gradient of a node against differences of the root, by replaying what lies downstream of it. Imports no view or widget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorviz.checks.differences import CODE, Floats, Judged
from tensorviz.checks.problems import Move, Moved
from tensorviz.checks.report import Block, block, single
from tensorviz.checks.search import ALWAYS, DIRECTIONS, SAMPLES, along
from tensorviz.checks.subject import OVERHEAD, Subject, agrees, title

CALL = 20 * OVERHEAD
"""What running one op on a stack of operands takes beside the rows: about twenty microseconds."""


def check_total(subject: Subject, i: int) -> list[Block]:
    """Whether node ``i``'s gradient is the sum of its shares (and seed). No block where it is."""
    node = subject.nodes[i]
    if node.cotangent is None or not node.shares:
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
    one = 2 * sum([subject.costs[j] for j in downstream])
    n = subject.nodes[i].value.size
    rows = 2 * (n if n <= ALWAYS or n * one <= subject.budget else DIRECTIONS + SAMPLES) + 1
    return float(sum([CALL + rows * subject.nodes[j].value.size for j in downstream]))


def check_gradient(subject: Subject, i: int) -> list[Block]:
    """One block: node ``i``'s gradient."""
    node = subject.nodes[i]
    if node.cotangent is None or not node.shares or node.value.size == 0:
        return []
    named = title(node)
    program = subject.exact
    order = program.downstream([i])
    trouble = subject.reruns(order)
    if trouble is not None:
        verdict: Any = trouble[0]
        return [single(i, "global", None, named, "skipped" if verdict == "skipped" else verdict, f"downstream, {trouble[1]}")]
    problem = problem_of(subject, i, order)
    x = np.array(program.values[i], dtype=np.float64)
    room = np.full(x.size, np.inf)
    cost = 2 * sum([subject.costs[j] for j in order])
    gradient = node.cotangent.astype(np.float64)
    judged, where, analytic, note = along(problem, gradient, x, room, subject.ruler, cost=cost, budget=subject.budget, rng=lambda: subject.rng(2, i))
    return [block(i, "global", None, named, x.shape, where, analytic, judged, subject.ruler, note)]


def problem_of(subject: Subject, i: int, order: Sequence[int]) -> Callable[[Sequence[Move]], Moved]:
    """The root, weighted with its seed, as a function of node ``i``; ``order`` lists what lies downstream of it."""
    program = subject.exact
    behind = set(order)
    roots = list(dict.fromkeys(r for r in subject.data.roots if r == i or r in behind))
    weights = np.concatenate([subject.seeds[r].astype(np.float64).reshape(-1) for r in roots])
    base = np.concatenate([np.asarray(program.values[r], dtype=np.float64).reshape(-1) for r in roots])
    x = np.array(program.values[i], dtype=np.float64)
    load = sum([subject.nodes[j].value.size for j in order])

    def f(stack: Floats) -> Floats:
        values = subject.stacked.run(i, stack, order)
        outputs = [np.asarray(values[r], dtype=np.float64).reshape(len(stack), -1) for r in roots]
        return outputs[0] if len(outputs) == 1 else np.concatenate(outputs, axis=1)

    return lambda moves: Moved(f, x, moves, weights, base, load)
