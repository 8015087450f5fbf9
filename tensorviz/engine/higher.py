"""The backward sweep between given variables and results, on arrays or, for higher order, on Tensors, so that it is recorded itself. Knows no op."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from tensorviz.engine import tensor as tensors
from tensorviz.engine.graph import local
from tensorviz.engine.node import Node
from tensorviz.engine.op import forward_of
from tensorviz.engine.stale import refuse_stale
from tensorviz.engine.sweep import describe, sweep
from tensorviz.engine.tensor import Tensor, handle
from tensorviz.engine.unbroadcast import can_grow, unbroadcast
from tensorviz.errors import RuleError


def pull(
    roots: Sequence[Node], seeds: Sequence[Any], variables: Sequence[Node], *, recorded: bool, matters: Callable[[Any], bool] = lambda _: False
) -> list[Any]:
    """The gradient of every variable (None where no root depends on it), for one seed per root. Nothing is written to ``.grad``.

    ``recorded``: rules run on Tensors, so that the gradients are results of recorded ops; otherwise on arrays.
    ``matters``: whether somebody goes on to differentiate by what a Tensor depends on.
    """
    ops = between(roots, variables)
    if tensors.changes.any:
        refuse_stale(ops)
    given = list(zip(roots, seeds, strict=True))
    if recorded:
        paused = gc.isenabled()
        try:
            if paused:
                gc.disable()
            totals = _sweep_recorded(ops, given, matters)
        finally:
            if paused:
                gc.enable()
        return [totals.get(v) for v in variables]
    # what lies beside the paths gets shares, too
    beside = {n for node in ops for n in node.inputs}.union(roots).difference(variables, ops)
    return sweep(ops, given, [*variables, *beside], None)[: len(variables)]


def between(roots: Iterable[Node], variables: Iterable[Node]) -> list[Node]:
    """The results, newest first, that lie on a path from a variable to a root."""
    ends = set(variables)
    seen = {r for r in roots if r.needs_grad and r not in ends}
    stack = list(seen)
    found = []
    while stack:
        node = stack.pop()
        if node.op is None:
            continue
        found.append(node)
        for n in node.inputs:
            if n.needs_grad and n not in seen and n not in ends:
                seen.add(n)
                stack.append(n)
    found.sort(key=attrgetter("uid"))
    on_path = set(ends)
    for node in found:
        if any(n in on_path for n in node.inputs):
            on_path.add(node)
    return [n for n in reversed(found) if n in on_path]


def behind(value: Any) -> set[Node]:
    """Every node that a gradient from ``value`` would reach, itself included; nothing for an array."""
    if not isinstance(value, Tensor) or not value.requires_grad:
        return set()
    seen = {value._current()}
    stack = list(seen)
    while stack:
        for n in stack.pop().inputs:
            if n.needs_grad and n not in seen:
                seen.add(n)
                stack.append(n)
    return seen


def _sweep_recorded(ops: Sequence[Node], given: Sequence[tuple[Node, Any]], matters: Callable[[Any], bool]) -> dict[Node, Any]:
    """What the nodes receive when the rules run on Tensors."""
    totals: dict[Node, Any] = {}
    thread = local.thread
    for node, seed in given:
        totals[node] = totals[node] + seed if node in totals else seed
    for node in ops:
        g = totals.get(node)
        if g is None:
            continue
        op = node.op
        assert op is not None
        around = thread.rule
        try:
            thread.rule = (node, matters) if op.foreign else None
            shares = op.pull_recorded(node, g, _wrap, _extras(node))
        except Exception as error:
            error.add_note(f"raised by the backward rule of {describe(node)}, run on Tensors for a higher derivative")
            raise
        finally:
            thread.rule = around
        for slot, (inp, share) in enumerate(zip(node.inputs, shares, strict=True)):
            if share is not None and inp.needs_grad:
                share = _fit(node, slot, share)
                totals[inp] = totals[inp] + share if inp in totals else share
    return totals


def _wrap(node: Node) -> Any:
    """A node as a Tensor; a Python scalar as itself, so that it stays weak."""
    return node.value if type(node.value) in (int, float, bool) else handle(node)


def _extras(node: Node) -> tuple[Any, ...]:
    """What ``forward`` made for the rule, made again from Tensors, since it depends on the operands too."""
    op = node.op
    assert op is not None
    if not set(op.extras) & set(op.saves):
        return ()
    _, extras = forward_of(op)(*[_wrap(n) for n in node.inputs], **node.params)
    return tuple(extras)


def _fit(node: Node, slot: int, share: Any) -> Any:
    """A rule's share in the operand's shape and dtype, by recorded steps."""
    value = node.inputs[slot].value
    if not isinstance(share, Tensor):
        share = np.asarray(share)
    if share.shape != value.shape:
        if not (node.op.broadcasts and can_grow(value.shape, share.shape)):  # type: ignore[union-attr]
            raise RuleError(
                f"the backward rule of {describe(node)} returned for slot {slot} a gradient of shape {share.shape}, expected {value.shape}, the operand's shape"
            )
        share = unbroadcast(share, value.shape)
    return share if share.dtype == value.dtype else share.astype(value.dtype)
