"""The one backward sweep: newest node first, shares added in order of arrival. Knows no op."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from tensorviz.engine.garbage import Uncollected
from tensorviz.engine.graph import HUGE, Again
from tensorviz.engine.late import record_module
from tensorviz.engine.node import Node, twin
from tensorviz.engine.threads import lock
from tensorviz.engine.unbroadcast import growth
from tensorviz.errors import RuleError

Look = Callable[[Node, Mapping[Node, Any]], None]
"""Called after a node's rule has run, with the node and what it and its operands had received before."""

LARGE = 4096
"""Elements up to which a share is kept as it was before the axes were summed that its operand grew; of a larger one only the sum."""

_uid = attrgetter("uid")
add_up = np.add.reduce


def reachable(roots: Sequence[Node]) -> tuple[list[Node], list[Node]]:
    """The nodes that a gradient reaches from the roots: results, newest first, and leaves, oldest first."""
    seen = set(roots)
    ops = [n for n in seen if n.plan is not None]
    leaves = [n for n in seen if n.plan is None]
    add, push = seen.add, ops.append
    for node in ops:  # grows; the operands are written out: a loop over two costs as much again as what it does
        n = node.a
        if n.needs_grad and n not in seen:
            add(n)
            if n.plan is None:
                leaves.append(n)
            else:
                push(n)
        n = node.b
        if n is None:
            continue
        if n.needs_grad and n not in seen:
            add(n)
            if n.plan is None:
                leaves.append(n)
            else:
                push(n)
        for n in node.rest or ():
            if n.needs_grad and n not in seen:
                add(n)
                (leaves if n.plan is None else ops).append(n)
    ops.sort(key=_uid, reverse=True)
    leaves.sort(key=_uid)
    return ops, leaves


_under_way = lock()
"""Held by the pass whose totals stand in the nodes."""


def sweep(
    ops: Sequence[Node],
    given: Sequence[tuple[Node, Any]],
    ends: Sequence[Node],
    pulled: list[tuple[Any, ...]] | None,
    *,
    whole: bool = False,
    looks: Sequence[Look] = (),
) -> list[Any]:
    """Run every rule once, and return what the ``ends`` received (None: nothing). Shares are added in the order in which their consumers are visited; that order is part of the contract.

    ``ops``: newest first. ``given``: the seeds. ``ends``: whatever receives shares and has no rule to run, and those of ``ops`` whose totals are asked for.
    ``pulled`` gets the tuple of shares of each node, empty where no gradient arrived; None: they are not kept. In the place of a large one stands
    :class:`Again`, since its rule can be run again when somebody looks; ``whole``: all are kept as the rules returned them.
    ``looks``: called after each rule; they stop the pass by raising.

    A pass that finds another under way, in another thread or around this one in a rule, does the same with a copy of the graph.
    """
    if not _under_way.acquire(False):
        return _apart(ops, given, ends, pulled, whole, looks)
    try:
        with Uncollected():
            return _swept(ops, given, ends, pulled, whole, looks, ops)
    finally:
        _under_way.release()


def _apart(ops: Sequence[Node], given: Any, ends: Sequence[Node], pulled: Any, whole: bool, looks: Sequence[Look]) -> list[Any]:
    copies = {n: twin(n) for node in ops for n in (node, *node.inputs)}
    copies |= {n: twin(n) for n in (*[root for root, _ in given], *ends) if n not in copies}
    for node in ops:
        copies[node].inputs = tuple([copies[n] for n in node.inputs])
    with Uncollected():
        return _swept([copies[n] for n in ops], [(copies[n], seed) for n, seed in given], [copies[n] for n in ends], pulled, whole, looks, ops)


def _swept(
    ops: Sequence[Node], given: Any, ends: Sequence[Node], pulled: Any, whole: bool, looks: Sequence[Look], originals: Sequence[Node]
) -> list[Any]:
    try:
        asked = frozenset([n for n in ends if n.plan is not None])
        for node, seed in given:
            node.total = seed if node.total is None else node.total + seed
        if looks:
            for node, original in zip(ops, originals, strict=True):
                before = {n: copy.total for n, copy in zip((original, *original.inputs), (node, *node.inputs), strict=True)}
                _run((node,), asked, pulled, True)
                for look in looks:
                    look(original, before)
        else:
            _run(ops, asked, pulled, whole)
        return [n.total for n in ends]
    except BaseException:
        for node in ops:
            for n in (node, *node.inputs):
                n.total = None
        raise
    finally:
        for n in ends:
            n.total = None


def _run(ops: Sequence[Node], asked: frozenset[Node], pulled: list[tuple[Any, ...]] | None, whole: bool) -> None:
    """A total goes when its rule has run: a record adds the shares up again, and memory is what a large pass is short of."""
    keep = None if pulled is None else pulled.append
    for node in ops:
        g = node.total
        if g is None:
            if keep is not None:
                keep(())
            continue
        if not asked or node not in asked:
            node.total = None
        try:
            shares = node.plan.pull(node, g)  # type: ignore[union-attr]
        except Exception as error:
            error.add_note(f"raised by the backward rule of {describe(node)}")
            raise
        b = node.b
        if not node.same:
            shares = _fitted(node, shares, whole)
        elif b is None or node.rest is not None:
            for n, share in zip(node.inputs, shares, strict=True):
                if share is not None:
                    before = n.total
                    n.total = share if before is None else before + share
        else:
            share, other = shares
            if share is not None:
                a = node.a
                before = a.total
                a.total = share if before is None else before + share
            if other is not None:
                before = b.total
                b.total = other if before is None else before + other
        if keep is not None:
            keep(shares)


def _fitted(node: Node, shares: tuple[Any, ...], whole: bool) -> tuple[Any, ...]:
    """Add up the shares of a node that have to be looked at; what the record keeps of them."""
    inputs = node.inputs
    if len(shares) != len(inputs):
        raise RuleError(f"the backward rule of {describe(node)} returned {len(shares)} gradient(s) for {len(inputs)} operand(s)")
    for slot, share in enumerate(shares):
        if share is None:
            continue
        inp = inputs[slot]
        value = inp.value
        fits = type(share) is type(value) and share.shape == value.shape and share.dtype is value.dtype
        fitted = share if fits else fit(node, slot, share)
        if not whole and share.size > LARGE and not node.plan.op.foreign:  # type: ignore[union-attr]
            if fitted.size < share.size:
                shares = (*shares[:slot], Again(fitted), *shares[slot + 1 :])
            elif share.size > HUGE:
                shares = (*shares[:slot], Again(None), *shares[slot + 1 :])
        before = inp.total
        inp.total = fitted if before is None else before + fitted
    return shares


def fit(node: Node, slot: int, share: Any) -> Any:
    """A rule's share in the operand's shape and dtype: unbroadcast where the operand was broadcast, refused where it fits nowise."""
    value = node.inputs[slot].value
    if type(share) is not type(value):
        share = np.asarray(share)
        if share.ndim == 0:
            share = share[()]
    shape = value.shape
    if share.shape != shape:
        axes = growth(share.shape, shape) if node.op.broadcasts else None  # type: ignore[union-attr]
        if axes is None:
            raise RuleError(
                f"the backward rule of {describe(node)} returned for slot {slot} ({node.op.slot_name(slot)}) "  # type: ignore[union-attr]
                f"a gradient of shape {share.shape}, expected {value.shape}, the operand's shape"
            )
        if axes:
            share = add_up(share, axes)
        if share.shape != shape:
            share = share.reshape(shape)
    if share.dtype is not value.dtype and share.dtype != value.dtype:
        if share.dtype.kind not in "fiub":
            raise RuleError(
                f"the backward rule of {describe(node)} returned for slot {slot} a gradient of dtype {share.dtype}, expected {value.dtype}"
            )
        share = share.astype(value.dtype)
    return share


def describe(node: Node) -> str:
    """The op of a node and where it was made, for errors."""
    where = record_module().source_of(node)
    return f"{node.op.name}{f' made at {where}' if where else ''}"  # type: ignore[union-attr]
