"""Runs a backward pass on Tensors, rule by rule, so that what each rule does is recorded. Imports the engine and primitives; no view."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from types import FrameType
from typing import Any

import numpy as np

from tensorviz.arguments import shown
from tensorviz.engine import tensor as tensors
from tensorviz.engine.graph import frozen, leaf, user_frame
from tensorviz.engine.mode import enable_grad, scope
from tensorviz.engine.names import names_in
from tensorviz.engine.node import Node
from tensorviz.engine.op import forward_of
from tensorviz.engine.seeds import seed_numbers
from tensorviz.engine.stale import refuse_stale
from tensorviz.engine.sweep import describe, reachable
from tensorviz.engine.tensor import Tensor, handle
from tensorviz.engine.unbroadcast import can_grow
from tensorviz.errors import GraphError, RuleError, SeedError
from tensorviz.primitives.elementwise import add, cast
from tensorviz.primitives.graph import GradGraph, GradStep
from tensorviz.primitives.movement import gathered


def grad_graph(y: Tensor | Sequence[Tensor], gradient: Any = None, *, frame: FrameType | None = None) -> GradGraph:
    """The backward pass from ``y`` as a graph of its own, in which every primitive that a rule runs is a node.

    ``gradient``: the seed, in y's shape; may be left out where y has one element (then 1). Several roots take a list of seeds, as
    :func:`tensorviz.backward` does. ``.grad`` of the leaves is left alone: what the
    graph holds are Tensors, so that ``backward`` goes through them too. Of a graph of primitives every node is a primitive (``.ops`` lists
    them); other ops contribute what their rules call, and the axes along which an operand was broadcast are summed by permute, reduce and reshape.
    Raises GraphError for a Tensor without a graph, SeedError for a seed of another shape.

    >>> import tensorviz as tv
    >>> from tensorviz import primitives as p
    >>> a = tv.tensor(np.ones((5, 1, 4, 1)), requires_grad=True)
    >>> b = tv.tensor(np.ones((3, 1, 1)), requires_grad=True, name="b")
    >>> graph = p.grad_graph(p.add(p.expand(a, (5, 3, 4, 1)), p.expand(b, (5, 3, 4, 1))), np.ones((5, 3, 4, 1)))
    >>> graph.ops
    ('permute', 'reduce_add', 'reshape', 'permute', 'reduce_add', 'reshape')
    >>> print(graph.steps[1].caption)
    Rule of expand for b: permute takes the axes in the order (0, 2, 1, 3): (5, 3, 4, 1) becomes (5, 4, 3, 1).
    """
    several = not isinstance(y, Tensor)
    roots = [y] if isinstance(y, Tensor) else list(y) if isinstance(y, (list, tuple)) else []
    if not roots or not all(isinstance(root, Tensor) for root in roots):
        raise GraphError(f"grad_graph takes the Tensor to start backward from, or a list of them, got {shown(y)}")
    gradients = [gradient] if not several else [None] * len(roots) if gradient is None else gradient
    if not isinstance(gradients, (list, tuple, np.ndarray)) or len(gradients) != len(roots):
        raise SeedError(
            f"grad_graph of {len(roots)} Tensors takes a list of as many seeds (None for one with a single element), got {shown(gradient)}"
        )
    starts = [root._kept() for root in roots]
    if not all(start.needs_grad for start in starts):
        raise GraphError(
            "grad_graph: this Tensor has no graph, because nothing that it depends on requires a gradient. Make the leaves with requires_grad=True"
        )
    names = names_in(frame if frame is not None else user_frame(2))
    totals: dict[Node, Tensor] = {}
    seeds = []
    with enable_grad():
        for root, start, given in zip(roots, starts, gradients, strict=True):
            seed = _seed(root, given)
            title = start.given_name or names.get(start.uid, "")
            seed.name = f"∂{title}" if title else "seed"
            seeds.append(seed)
            totals[start] = add(totals[start], seed) if start in totals else seed
        ops, leaves = reachable(list(totals))
        if tensors.changes.any:
            refuse_stale(ops)
        leaves.sort(key=lambda n: n.uid)
        groups = _groups(ops, names)
        steps = [step for node in ops if node in totals for step in _run(node, totals, groups[node])]
    for node, total in totals.items():
        made, title = total._current(), node.given_name or names.get(node.uid, "")
        if title and made.given_name is None:
            made.more().name = f"∂{title}"
    return GradGraph(roots, seeds, [n for n in leaves if n in totals], totals, steps, names)


def _seed(y: Tensor, gradient: Any) -> Tensor:
    if gradient is None:
        if y.size != 1:
            raise SeedError(f"grad_graph: the Tensor has shape {y.shape}, so it needs a seed of that shape: grad_graph(y, np.ones({y.shape}))")
        gradient = np.ones(y.shape)
    value = np.array(seed_numbers("grad_graph", gradient, y.shape), dtype=y.dtype)
    if value.shape != y.shape:
        raise SeedError(f"grad_graph: the gradient has shape {value.shape}, expected {y.shape}, the Tensor's; it is not broadcast")
    return handle(leaf(frozen(value), requires_grad=True))


def _groups(ops: Sequence[Node], names: dict[int, str]) -> dict[Node, str]:
    """For each node the group that what its rule computes is in: its own, or its name, or its op, numbered where several of that op have no name."""
    titles = {n: n.scope or n.given_name or names.get(n.uid) or "" for n in ops}
    unnamed = [n for n in reversed(ops) if not titles[n]]
    several = {op for op, count in Counter(n.op for n in unnamed).items() if count > 1}
    seen: Counter[Any] = Counter()
    for n in unnamed:
        assert n.op is not None
        seen[n.op] += 1
        titles[n] = f"{n.op.name} {seen[n.op]}" if n.op in several else n.op.name
    return titles


def _run(node: Node, totals: dict[Node, Tensor], group: str) -> list[GradStep]:
    """Run one rule, add its shares to the totals, and tell which primitives that took."""
    op = node.op
    assert op is not None
    steps: list[GradStep] = []
    known = {totals[node]._current()}
    with scope(f"∂{group}"):
        try:
            shares = op.pull_recorded(node, totals[node], _wrap, _extras(node))
        except Exception as error:
            error.add_note(f"raised by the backward rule of {describe(node)}, run on Tensors")
            raise
        for slot, (operand, share) in enumerate(zip(node.inputs, shares, strict=True)):
            if share is None or not operand.needs_grad:
                continue
            share = _fit(node, slot, share)
            steps += [GradStep(handle(n), node, slot) for n in _made(share, node, known)]
            if operand not in totals:
                totals[operand] = share
                continue
            totals[operand] = add(totals[operand], share)
            steps.append(GradStep(totals[operand], operand, None))
            known.add(totals[operand]._current())
    return steps


def _made(share: Tensor, rule: Node, known: set[Node]) -> list[Node]:
    """The nodes that were made for a share, in the order in which they were made; those that led to it before are passed over."""
    stack, found = [share._current()], []
    while stack:
        node = stack.pop()
        if node in known or node.op is None or node.uid <= rule.uid:
            continue
        known.add(node)
        found.append(node)
        # the record must not take the user's line, in which the pass was started, for where these were made
        node.forget_place()
        stack.extend(node.inputs)
    return sorted(found, key=lambda n: n.uid)


def _wrap(node: Node) -> Any:
    return node.value if type(node.value) in (int, float, bool) else handle(node)


def _extras(node: Node) -> tuple[Any, ...]:
    op = node.op
    assert op is not None
    if not set(op.extras) & set(op.saves):
        return ()
    return tuple(forward_of(op)(*[_wrap(n) for n in node.inputs], **node.params)[1])


def _fit(node: Node, slot: int, share: Any) -> Tensor:
    """A share in the operand's shape and dtype, by primitives."""
    value = node.inputs[slot].value
    if not isinstance(share, Tensor):
        share = handle(leaf(frozen(np.array(share))))
    shape = tuple(np.shape(value))
    if share.shape != shape:
        if not (node.op.broadcasts and can_grow(shape, share.shape)):  # type: ignore[union-attr]
            raise RuleError(
                f"the backward rule of {describe(node)} returned for slot {slot} a gradient of shape {share.shape}, expected {shape}, the operand's shape"
            )
        share = gathered(share, shape)
    found: Tensor = cast(share, value.dtype)
    return found
