"""Which questions a trace offers. Imports the questions and the registry of ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorviz.engine.op import REGISTRY
from tensorviz.teaching.numbers import GradQuestion, ValueQuestion
from tensorviz.teaching.questions import READABLE, AxesQuestion, Question, RouteQuestion, ShapeQuestion, SharesQuestion
from tensorviz.trace import Share, Trace

Maker = Callable[[np.random.Generator], Question]
_ROUTING = ("max", "min", "maximum", "minimum", "relu")
_BY_HAND = {"sum", "mean", "max", "min", "relu", "sigmoid", "reshape", "transpose", "add", "mul"}
"""Ops beside the elementwise ones and the matrix product whose share a student can work out from what the question says."""


def _fixed(question: Callable[..., Question], *about: Any) -> Maker:
    """A question in which nothing is left to choose."""
    return lambda _: question(*about)


def _drawn(question: Callable[..., Question], *about: Any) -> Maker:
    """A question that chooses one element, or one place."""
    return lambda rng: question(*about, rng)


def offered(trace: Trace, tolerance: float | str) -> dict[str, list[Maker]]:
    """Every question that can be asked about a trace, by kind."""
    found: dict[str, list[Maker]] = {kind: [] for kind in KINDS}
    seen: set[int] = set()
    for k, step in enumerate(trace.steps):
        node, share = trace.nodes[step.node], step.share
        if step.kind == "unbroadcast" and share is not None:
            found["axes"].append(_fixed(AxesQuestion, trace, k, tolerance, share))
        elif step.kind == "leaf":
            if np.any(step.after) and _all_finite(step.after):
                found["grad"].append(_drawn(GradQuestion, trace, k, tolerance))
        elif step.kind == "accumulate" and share is not None:
            _about(share, trace, k, tolerance, found)
            if node.id not in seen and (len(node.shares) > 1 or node.is_leaf):
                seen.add(node.id)
                found["shares"].append(_fixed(SharesQuestion, trace, k, tolerance, node))
    forks = [m for m in found["shares"] if m(np.random.default_rng(0)).solution > 1]
    found["shares"] = forks or found["shares"][:1]  # a count of one is asked only where there is no other, and once
    return found


def _about(share: Share, trace: Trace, k: int, tolerance: float | str, found: dict[str, list[Maker]]) -> None:
    """The questions about one share that arrives."""
    target, consumer = trace.nodes[share.target], trace.nodes[share.consumer]
    if consumer.shape != target.shape:
        found["shape"].append(_fixed(ShapeQuestion, trace, k, tolerance, share))
    readable = max(consumer.value.size, *(trace.nodes[i].value.size for i in consumer.inputs)) <= READABLE
    op = REGISTRY.get(consumer.op)
    known = consumer.op in _BY_HAND or (op is not None and bool(op.ufuncs))
    if readable and known and share.value.size and _all_finite(share.value) and (np.any(share.value) or share.route is not None):
        found["value"].append(_drawn(ValueQuestion, trace, k, tolerance, share))
    if readable and share.route is not None and consumer.op in _ROUTING and target.value.ndim and target.value.size > 1:
        found["route"].append(_drawn(RouteQuestion, trace, k, tolerance, share))


def _all_finite(array: Any) -> bool:
    return bool(np.all(np.isfinite(array)))


KINDS = ("axes", "shape", "value", "route", "shares", "grad")
"""What a quiz can ask for."""
