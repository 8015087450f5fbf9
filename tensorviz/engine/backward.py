"""The backward pass of a user: seeds, the sweep, then the gradients; nothing is written before the end. Knows no op."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import takewhile
from operator import is_
from types import FrameType
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from tensorviz.engine import tensor as tensors
from tensorviz.engine.aside import ever, holder
from tensorviz.engine.graph import local, user_frame
from tensorviz.engine.late import record_module
from tensorviz.engine.node import Node, twin
from tensorviz.engine.seeds import root_of, seeds_of
from tensorviz.engine.stale import refuse_stale
from tensorviz.engine.sweep import Look, descend, reachable, sweep
from tensorviz.engine.tensor import Tensor
from tensorviz.errors import Breakpoint, GraphError

if TYPE_CHECKING:
    from tensorviz.engine.own import Own
    from tensorviz.engine.record import Writes
    from tensorviz.trace import Trace


@overload
def backward(roots: Tensor | Sequence[Tensor], gradients: Any = None, *, record: Literal[True] = True, frame: FrameType | None = None) -> Trace: ...


@overload
def backward(roots: Tensor | Sequence[Tensor], gradients: Any = None, *, record: bool, frame: FrameType | None = None) -> Trace | None: ...


def backward(roots: Tensor | Sequence[Tensor], gradients: Any = None, *, record: bool = True, frame: FrameType | None = None) -> Trace | None:
    """One backward pass from several roots; adds to ``.grad`` of the leaves and returns the recorded Trace (None with ``record=False``).

    If a rule raises, no ``.grad`` has changed, and the exception carries the record of the pass up to there as ``.trace``.

    >>> from tensorviz import tensor
    >>> x = tensor([1.0, 2.0], requires_grad=True)
    >>> trace = backward([(x * x).sum()])
    >>> x.grad
    array([2., 4.])
    """
    if isinstance(roots, Tensor):
        roots, gradients = [roots], None if gradients is None else [gradients]
    elif not isinstance(roots, (list, tuple)):
        raise GraphError(f"backward takes a Tensor or a list of Tensors, got {type(roots).__name__}")
    elif not roots:
        raise GraphError("backward needs at least one Tensor to start from")
    else:
        roots = list(roots)
    thread = local.thread
    kept = record or bool(thread.watchers)
    nodes = [root_of(roots[0], kept)] if len(roots) == 1 else [root_of(root, kept) for root in roots]
    seeds = seeds_of(nodes, roots, gradients)
    leaves: list[Node] = []
    pulled: list[tuple[Any, ...]] = []
    retained: list[tuple[Node, Any]] = []
    missed: list[Node] = []
    totals: list[Any] | None = None
    alone = len(nodes) == 1 and nodes[0].plan is not None and not tensors.changes.any and not thread.watchers
    if alone:
        ops = nodes.copy()
    else:
        ops, leaves = reachable(nodes)
        if tensors.changes.any:
            refuse_stale(ops)
    try:
        if alone:
            totals = descend(ops, seeds[0], leaves, pulled if record else None, retained, missed)
            if totals is None:
                ops, leaves = reachable(nodes)
        if totals is None:
            looks: Sequence[Look] = ()
            if thread.watchers:
                to = record_module()
                started = to.Pass(nodes, seeds, ops, pulled, {}, to.names_in(frame or user_frame(2)), False)
                looks = [watch(started) for watch in thread.watchers]
            given = list(zip(nodes, seeds, strict=True))
            totals = sweep(ops, given, leaves, pulled if record or looks else None, looks=looks, retained=retained)
    except Exception as error:
        if record and not isinstance(error, Breakpoint):  # which has its own
            to = record_module()
            ops, pulled = _as_reached(nodes, ops, pulled)
            error.trace = to.Trace(to.Pass(nodes, seeds, ops, pulled, {}, to.names_in(frame or user_frame(2)), False).build)  # type: ignore[attr-defined]
        raise
    if tensors.changes.versions and len(leaves) > 1:
        leaves, totals = _in_order(nodes, leaves, totals)
    writes = write_gradients(leaves, totals, retained)
    if not record:
        for root in roots:
            if root.own is not None:
                root.own.trace = None  # an older pass is not the latest any more
        if thread.histories:
            names = record_module().names_in(frame or user_frame(2), leaves)
            for history in thread.histories:
                history.see(nodes, leaves, totals, names, None)
        return None
    if missed:
        ops, pulled = _as_reached(nodes, ops, pulled)
    if nodes[0] is roots[0] or (len(nodes) > 1 and any(map(is_, nodes, roots))):
        nodes, ops, writes = _without_roots(roots, nodes, ops, writes)
    to = record_module()
    names = to.names_in(frame or user_frame(2), leaves)
    trace: Trace = to.Trace(partial(to.built, nodes, seeds, ops, pulled, writes, names, *to.moment(ops, thread)))
    for root in roots:
        (root.own or root._more()).trace = trace
    for history in thread.histories:
        history.see(nodes, leaves, totals, names, trace)
    return trace


tensors.run_backward = backward


def _without_roots(roots: list[Tensor], nodes: list[Node], ops: list[Node], writes: Writes) -> tuple[list[Node], list[Node], Writes]:
    """The nodes of the roots, results and writes as a record may hold them: with a twin for a root that is its own node, since it holds the record.

    A root that another one is computed from stays: what was computed holds it. Then the cyclic collector is needed to free them.
    """
    inner = {n for node in ops for n in node.inputs} if len(nodes) > 1 else ()
    twins = {n: twin(n) for n in set(nodes).intersection(roots) if n not in inner}
    return (
        [twins.get(n, n) for n in nodes],
        [twins.get(n, n) for n in ops],
        {twins.get(n, n): held for n, held in writes.items()},
    )


def _as_reached(nodes: Sequence[Node], ops: Sequence[Node], pulled: Sequence[tuple[Any, ...]]) -> tuple[list[Node], list[tuple[Any, ...]]]:
    """What rules ran and what they returned, with the results that a gradient could have reached and did not; up to where it failed, if it did."""
    returned = dict(zip(ops, pulled, strict=False))
    failed = ops[len(pulled)] if len(pulled) < len(ops) else None
    reached, _ = reachable(nodes)
    return reached, [returned.get(n, ()) for n in takewhile(lambda n: n is not failed, reached)]


def _in_order(nodes: Sequence[Node], leaves: list[Node], totals: list[Any]) -> tuple[list[Node], list[Any]]:
    """Leaves and their totals, with those that are versions of one leaf in the order in which :func:`reachable` finds them."""
    if len({n.uid for n in leaves}) == len(leaves):
        return leaves, totals
    received = dict(zip(leaves, totals, strict=True))
    ordered = [n for n in reachable(nodes)[1] if n in received]
    return ordered, [received[n] for n in ordered]


def write_gradients(leaves: Sequence[Node], totals: Sequence[Any], retained: Sequence[tuple[Node, Any]]) -> Writes:
    """Add to ``.grad`` of the leaves, and of results that retain theirs. To all of them or, if something raises, to none."""
    writes: Writes = {}
    undo: list[tuple[Own, Any, bool]] = []
    received: Iterable[tuple[Node, Any]] = zip(leaves, totals, strict=True)
    if retained or tensors.changes.swapped:
        received = [(n, _in_dtype(total, n.value.dtype)) for n, total in (*received, *filter(_retains, retained))]
    with tensors.gradients:
        try:
            for node, total in received:
                if total is None:
                    continue
                rare = node.rare
                if rare is None or (find := rare.owner) is None or (owner := find()) is None:
                    writes[node] = None
                    continue
                own = holder(owner.own) if ever.any else owner.own
                before = own.grad
                if before is None:
                    # not copied before somebody reads it: many never are, and all of a network's at once are a good part of its memory
                    writes[node] = None
                    own.grad = total
                else:
                    undo.append((own, before, own.private))
                    # the user may still write to what was handed out
                    writes[node] = before.copy() if own.private else before
                    own.grad = (before + total).astype(before.dtype, copy=False)
                own.private = False
        except BaseException:
            while undo or writes:
                try:
                    while undo:  # the latest first: a leaf may have been written to twice
                        undo[-1][0].grad, undo[-1][0].private = undo[-1][1:]
                        del undo[-1]
                    for node, held in writes.items():
                        if held is None and (owner := _owner(node)) is not None:
                            holder(owner.own).grad = None
                    writes.clear()
                except KeyboardInterrupt:  # a second one, while the first is on its way
                    continue
            raise
    return writes


def _in_dtype(total: Any, dtype: np.dtype[Any]) -> Any:
    return total if total is None or total.dtype == dtype else total.astype(dtype)


def _owner(node: Node) -> Any:
    """The Tensor that gets the gradient of a leaf, or of a result that may retain its own; None if there is none any more."""
    return None if node.rare is None or node.rare.owner is None else node.rare.owner()


def _retains(received: tuple[Node, Any]) -> bool:
    """Whether a result is to keep what it received."""
    owner = _owner(received[0])
    return owner is not None and owner.own.retain
