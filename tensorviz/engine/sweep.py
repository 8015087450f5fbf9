"""The one backward sweep: newest node first, shares added in order of arrival. Knows no op."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from tensorviz.engine.graph import HUGE, Again
from tensorviz.engine.late import record_module
from tensorviz.engine.node import Node, twin
from tensorviz.engine.unbroadcast import growth
from tensorviz.errors import RuleError

Look = Callable[[Node, Mapping[Node, Any]], None]
"""Called after a node's rule has run, with the node and what it and its operands had received before."""

LARGE = 4096
"""Elements up to which a share is kept as it was before the axes were summed that its operand grew; of a larger one only the sum."""

_uid = attrgetter("uid")
add_up: Any = np.add.reduce
_AGAIN = Again(None)


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
        if node.rare is not None and node.rare.rest:
            for n in node.rare.rest:
                if n.needs_grad and n not in seen:
                    add(n)
                    (leaves if n.plan is None else ops).append(n)
                    sorted_so_far = False
    if not sorted_so_far:  # mostly they are: what is met later was made earlier
        ops.sort(key=_uid, reverse=True)
    leaves.sort(key=_uid)
    return ops, leaves


_passes: list[object] = []
"""One for each pass under way; the totals of the first stand in the nodes. No lock: an interrupt right after it is taken would leave it so."""
_left: list[tuple[Node, ...]] = []
"""Nodes of a pass that failed, until their totals are gone; after a second interrupt the next pass takes away what stayed, and would be added to it."""


def sweep(
    ops: Sequence[Node],
    given: Sequence[tuple[Node, Any]],
    ends: Sequence[Node],
    pulled: list[tuple[Any, ...]] | None,
    *,
    whole: bool = False,
    looks: Sequence[Look] = (),
    retained: list[tuple[Node, Any]] | None = None,
) -> list[Any]:
    """Run every rule once, and return what the ``ends`` received (None: nothing).

    Shares are added in the order in which their consumers are visited; that order is part of the contract.

    ``ops``: newest first. ``given``: the seeds. ``ends``: whatever receives shares and is none of ``ops``.
    ``pulled`` gets the tuple of shares of each node, empty where no gradient arrived; None: they are not kept. In the place of a large one stands
    :class:`Again`, since its rule can be run again when somebody looks; ``whole``: all are kept as the rules returned them.
    ``looks``: called after each rule; they stop the pass by raising. ``retained`` gets the results that keep their gradient, each with it.

    A pass that finds another under way, in another thread or around this one in a rule, does the same with a copy of the graph.
    """
    kept: list[tuple[Node, Any]] = [] if retained is None else retained
    mine = object()
    try:
        _passes.append(mine)
        if _passes[0] is not mine:
            return _apart(ops, given, ends, pulled, whole, looks, kept)
        return _swept(list(ops), ends, given, pulled, kept, whole, looks)
    finally:
        _passes.remove(mine)


def descend(
    ops: list[Node],
    seed: Any,
    ends: list[Node],
    pulled: list[tuple[Any, ...]] | None,
    retained: list[tuple[Node, Any]],
    missed: list[Node],
) -> list[Any] | None:
    """The same from one root, without knowing first what a gradient reaches: ``ops``, where the root stands, and ``ends`` grow as shares arrive.

    What a rule gives no share to may be reached by none; it is put into ``missed``. None: another pass is under way, and nothing was done.
    """
    mine = object()
    try:
        _passes.append(mine)
        if _passes[0] is not mine:
            return None
        root = ops[0]
        return _swept(ops, ends, ((root, seed),), pulled, retained, False, (), None, root.uid, ends.append, missed.append)
    finally:
        _passes.remove(mine)


def _apart(
    ops: Sequence[Node], given: Any, ends: Sequence[Node], pulled: Any, whole: bool, looks: Sequence[Look], retained: list[tuple[Node, Any]]
) -> list[Any]:
    copies = {n: twin(n) for node in ops for n in (node, *node.inputs)}
    copies |= {n: twin(n) for n in (*[root for root, _ in given], *ends) if n not in copies}
    for node in ops:
        copies[node].inputs = tuple([copies[n] for n in node.inputs])
    seeded = [(copies[n], seed) for n, seed in given]
    originals = {copy: n for n, copy in copies.items()}
    kept: list[tuple[Node, Any]] = []
    found = _swept([copies[n] for n in ops], [copies[n] for n in ends], seeded, pulled, kept, whole, looks, originals)
    retained += [(originals[n], total) for n, total in kept]
    return found


def _nobody(_: Node) -> None:
    """Who is told of nodes that are known already."""


_KNOWN = -1
"""Older than every node: none is put among those to come, since all of them stand there."""


def _swept(
    ops: list[Node],
    ends: Sequence[Node],
    given: Any,
    pulled: list[tuple[Any, ...]] | None,
    retained: list[tuple[Node, Any]],
    whole: bool = False,
    looks: Sequence[Look] = (),
    originals: Mapping[Node, Node] | None = None,
    oldest: int = _KNOWN,
    end: Callable[[Node], None] = _nobody,
    miss: Callable[[Node], None] = _nobody,
) -> list[Any]:
    """A total goes when its rule has run: a record adds the shares up again, and memory is what a large pass is short of.

    With ``oldest``, ``ops`` and ``ends`` grow. A node is met with its first share, so that a total tells which were. It is older than what it was met from, and is
    put among those to come by its age: newer ones have all had their turn when it has.
    """
    keep = None if pulled is None else pulled.append
    push = ops.append
    loose: list[Node] = []
    shares: Any
    share: Any
    other: Any
    rest: Any = ()
    paused = gc.isenabled()
    try:
        if paused:
            gc.disable()  # in here, lest an interrupt leave it so
        if _left and originals is None:
            _clear()
        for node, seed in given:
            node.total = seed if node.total is None else node.total + seed
        for node in _watched(ops, looks, originals) if looks else ops:
            g = node.total
            if g is None:
                if keep is not None:
                    keep(())
                continue
            node.total = None
            rare = node.rare
            if rare is not None and rare.owner is not None:
                retained.append((node, g))
            plan: Any = node.plan
            pull = plan.pull
            try:
                shares = pull(node, g)
            except Exception as error:
                error.add_note(f"raised by the backward rule of {describe(node)}")
                raise
            n, b = node.a, node.b
            # written out: a call, or a loop over two operands, would cost as much again as what is done
            if plan.same:
                if b is None:
                    (share,), other = shares, None
                else:
                    share, other = shares
            elif plan.row:
                share, other = shares
                row = add_up(other, 0)
                if share.size > LARGE and not whole:
                    shares = (_AGAIN if share.size > HUGE else share, Again(row))
                other = row
            elif plan.large:
                if b is None:
                    (share,), other = shares, None
                else:
                    share, other = shares
                if not whole:
                    shares = tuple([_AGAIN if sent is not None and sent.size > HUGE else sent for sent in shares])
            else:
                shares, (share, other, *rest) = _looked_at(node, shares, whole)
            if share is None:
                if n.needs_grad:
                    miss(n)
            elif n.total is None:
                n.total = share
                if n.plan is None:
                    end(n)
                elif n.uid < oldest:
                    oldest = n.uid
                    push(n)
                else:
                    loose.append(n)
            else:
                n.total = n.total + share
                share = None
            if other is not None:
                if b.total is None:
                    b.total = other
                    if b.plan is None:
                        end(b)
                    elif b.uid < oldest:
                        oldest = b.uid
                        push(b)
                    else:
                        loose.append(b)
                else:
                    b.total = b.total + other
                    other = None
            elif b is not None and b.needs_grad:
                miss(b)
            if rest:
                for n, share in zip(node.inputs[2:], rest, strict=True):
                    if share is None:
                        if n.needs_grad:
                            miss(n)
                    elif n.total is None:
                        n.total = share
                        (end if n.plan is None else loose.append)(n)
                    else:
                        n.total = n.total + share
                rest = share = None
            if loose:
                if oldest == _KNOWN:
                    loose.clear()
                else:
                    oldest = _put_in(ops, loose, node)
            if keep is not None:
                keep(shares)
            shares = None  # what was added up goes, so that the next rule has its memory
        found = []
        for node in ends:
            found.append(node.total)
            node.total = None
    except BaseException:
        if originals is None:
            _left.append((*ops, *ends))
            _clear()
        raise
    finally:
        if paused:
            gc.enable()
    return found


def _watched(ops: Sequence[Node], looks: Sequence[Look], originals: Mapping[Node, Node] | None) -> Iterator[Node]:
    """The nodes, each looked at when its rule has run."""
    for node in ops:
        before = {(n if originals is None else originals[n]): n.total for n in (node, *node.inputs)}
        yield node
        for look in looks:
            look(node if originals is None else originals[node], before)


def _clear() -> None:
    """Take away the totals of passes that failed."""
    while _left:
        for node in _left[-1]:
            node.total = None
            for n in node.inputs:
                n.total = None
        _left.pop()


FAR = 16
"""Nodes to come that are older than one that is put among them; of more, it is quicker to find out at once what is to come, and to sort it."""


def _put_in(ops: list[Node], loose: list[Node], now: Node) -> int:
    """Put the nodes that were met at the node ``now`` among those to come. Returns the age of the oldest of them, or that all that is to come stands there now."""
    while loose:
        n, at = loose[0], len(ops)
        far = at - FAR
        while at > far and ops[at - 1].uid < n.uid:  # at the latest, ``now`` is newer
            at -= 1
        if ops[at - 1].uid < n.uid:
            break
        ops.insert(at, n)
        del loose[0]
    else:
        return ops[-1].uid
    at = next(i for i in range(len(ops) - 1, -1, -1) if ops[i] is now) + 1
    ops[at:] = reachable([*ops[at:], *loose])[0]
    loose.clear()
    return _KNOWN


def _looked_at(node: Node, shares: tuple[Any, ...], whole: bool) -> tuple[tuple[Any, ...], list[Any]]:
    """Shares that have to be looked at: what the record keeps of them, and as they arrive at the operands, of which there are two at least."""
    inputs = node.inputs
    if len(shares) != len(inputs):
        raise RuleError(f"the backward rule of {describe(node)} returned {len(shares)} gradient(s) for {len(inputs)} operand(s)")
    kept, fitted = [*shares], [*shares]
    for slot, (share, n) in enumerate(zip(shares, inputs, strict=True)):
        if share is None:
            continue
        value = n.value
        fit = share
        if type(share) is not type(value) or share.dtype is not value.dtype or share.shape != value.shape:
            fitted[slot] = fit = _fitted(node, slot, share, value)
        size = share.size
        if size > LARGE and not whole and not node.plan.op.foreign:  # type: ignore[union-attr]
            if fit.size < size:
                kept[slot] = Again(fit)
            elif size > HUGE:
                kept[slot] = _AGAIN
        if not n.needs_grad:
            fitted[slot] = None
    if len(inputs) == 1:
        fitted.append(None)
    return tuple(kept), fitted


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
