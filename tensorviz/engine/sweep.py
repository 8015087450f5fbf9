"""The one backward sweep: newest node first, shares added in order of arrival. Knows no op."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

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
    # in their own order: that of the set is chance, and versions of a leaf have one uid
    first = roots if len(seen) == len(roots) else list(dict.fromkeys(roots))
    ops = [n for n in first if n.plan is not None]
    leaves = [n for n in first if n.plan is None]
    add, push = seen.add, ops.append
    sorted_so_far, oldest = len(ops) < 2, sys.maxsize
    for node in ops:  # grows; the operands are written out: a loop over two costs as much again as what it does
        n = node.a
        if n.needs_grad and n not in seen:
            add(n)
            if n.plan is None:
                leaves.append(n)
            else:
                push(n)
                if n.uid > oldest:
                    sorted_so_far = False
                oldest = n.uid
        n = node.b
        if n is None:
            continue
        if n.needs_grad and n not in seen:
            add(n)
            if n.plan is None:
                leaves.append(n)
            else:
                push(n)
                if n.uid > oldest:
                    sorted_so_far = False
                oldest = n.uid
        if node.rest is not None:
            for n in node.rest:
                if n.needs_grad and n not in seen:
                    add(n)
                    (leaves if n.plan is None else ops).append(n)
                    sorted_so_far = False
    if not sorted_so_far:  # mostly they are: what is met later was made earlier
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
    asked: Sequence[Node] = (),
    whole: bool = False,
    looks: Sequence[Look] = (),
) -> list[Any]:
    """Run every rule once, and return what the ``ends`` received, then what the ``asked`` did (None: nothing).

    Shares are added in the order in which their consumers are visited; that order is part of the contract.

    ``ops``: newest first. ``given``: the seeds. ``ends``: whatever receives shares and is none of ``ops``. ``asked``: some of ``ops``.
    ``pulled`` gets the tuple of shares of each node, empty where no gradient arrived; None: they are not kept. In the place of a large one stands
    :class:`Again`, since its rule can be run again when somebody looks; ``whole``: all are kept as the rules returned them.
    ``looks``: called after each rule; they stop the pass by raising.

    A pass that finds another under way, in another thread or around this one in a rule, does the same with a copy of the graph.
    """
    if not _under_way.acquire(False):
        return _apart(ops, given, ends, pulled, asked, whole, looks)
    try:
        return _swept(ops, given, ends, pulled, asked, whole, looks, None)
    finally:
        _under_way.release()


def _apart(
    ops: Sequence[Node], given: Any, ends: Sequence[Node], pulled: Any, asked: Sequence[Node], whole: bool, looks: Sequence[Look]
) -> list[Any]:
    copies = {n: twin(n) for node in ops for n in (node, *node.inputs)}
    copies |= {n: twin(n) for n in (*[root for root, _ in given], *ends) if n not in copies}
    for node in ops:
        copies[node].inputs = tuple([copies[n] for n in node.inputs])
    seeded = [(copies[n], seed) for n, seed in given]
    originals = {copy: n for n, copy in copies.items()}
    return _swept([copies[n] for n in ops], seeded, [copies[n] for n in ends], pulled, [copies[n] for n in asked], whole, looks, originals)


def _swept(
    ops: Sequence[Node],
    given: Any,
    ends: Sequence[Node],
    pulled: list[tuple[Any, ...]] | None,
    asked: Sequence[Node],
    whole: bool,
    looks: Sequence[Look],
    originals: Mapping[Node, Node] | None,
) -> list[Any]:
    """A total goes when its rule has run: a record adds the shares up again, and memory is what a large pass is short of."""
    keep = None if pulled is None else pulled.append
    lasting = frozenset(asked) if asked else None
    paused = gc.isenabled()
    try:
        if paused:
            gc.disable()  # in here, lest an interrupt leave it so
        for node, seed in given:
            node.total = seed if node.total is None else node.total + seed
        for node in ops:
            if looks:
                before = {(n if originals is None else originals[n]): n.total for n in (node, *node.inputs)}
            g = node.total
            if g is None:
                shares: tuple[Any, ...] = ()
            else:
                if lasting is None or node not in lasting:
                    node.total = None
                try:
                    shares = node.plan.pull(node, g)  # type: ignore[union-attr]
                except Exception as error:
                    error.add_note(f"raised by the backward rule of {describe(node)}")
                    raise
                if not node.same:
                    shares = _added(node, shares, whole)
                else:  # written out: a call would cost as much again as what is done
                    b = node.b
                    if b is None:
                        (share,), other = shares, None
                    else:
                        share, other = shares
                    if share is not None:
                        a = node.a
                        total = a.total
                        a.total = share if total is None else total + share
                    if other is not None:
                        total = b.total
                        b.total = other if total is None else total + other
            if keep is not None:
                keep(shares)
            if looks:
                for look in looks:
                    look(node if originals is None else originals[node], before)
        found = []
        for node in (*ends, *asked):
            found.append(node.total)
            node.total = None
    except BaseException:
        for node in (*ops, *ends):
            node.total = None
            for n in node.inputs:
                n.total = None
        raise
    finally:
        if paused:
            gc.enable()
    return found


def _added(node: Node, shares: tuple[Any, ...], whole: bool) -> tuple[Any, ...]:
    """Add up the shares of a node that have to be looked at; what the record keeps of them."""
    inputs = node.inputs
    if len(shares) != len(inputs):
        raise RuleError(f"the backward rule of {describe(node)} returned {len(shares)} gradient(s) for {len(inputs)} operand(s)")
    kept, slot = shares, -1
    for share in shares:
        slot += 1
        if share is None:
            continue
        n = inputs[slot]
        value = n.value
        fits = type(share) is type(value) and share.dtype is value.dtype and share.shape == value.shape
        fitted = share if fits else _fitted(node, slot, share, value)
        if share.size > LARGE and not whole and not node.plan.op.foreign:  # type: ignore[union-attr]
            if fitted.size < share.size:
                kept = (*kept[:slot], Again(fitted), *kept[slot + 1 :])
            elif share.size > HUGE:
                kept = (*kept[:slot], Again(None), *kept[slot + 1 :])
        before = n.total
        n.total = fitted if before is None else before + fitted
    return kept


def fit(node: Node, slot: int, share: Any) -> Any:
    """A rule's share in the operand's shape and dtype: unbroadcast where the operand was broadcast, refused where it fits nowise."""
    return _fitted(node, slot, share, node.inputs[slot].value)


def _fitted(node: Node, slot: int, share: Any, value: Any) -> Any:
    if type(share) is not type(value):
        share = np.asarray(share)
        if share.ndim == 0:
            share = share[()]
    shape, given, dtype = value.shape, share.shape, value.dtype
    if given != shape:
        op = node.plan.op  # type: ignore[union-attr]
        axes = growth(given, shape) if op.broadcasts else None
        if axes is None:
            raise RuleError(
                f"the backward rule of {describe(node)} returned for slot {slot} ({op.slot_name(slot)}) "
                f"a gradient of shape {given}, expected {shape}, the operand's shape"
            )
        if axes:
            share = add_up(share, axes)
        if len(shape) + len(axes) != len(given):
            share = share.reshape(shape)
    if share.dtype is not dtype and share.dtype != dtype:
        if share.dtype.kind not in "fiub":
            raise RuleError(f"the backward rule of {describe(node)} returned for slot {slot} a gradient of dtype {share.dtype}, expected {dtype}")
        share = share.astype(dtype)
    return share


def describe(node: Node) -> str:
    """The op of a node and where it was made, for errors."""
    where = record_module().source_of(node)
    return f"{node.op.name}{f' made at {where}' if where else ''}"  # type: ignore[union-attr]
