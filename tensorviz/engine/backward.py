"""The backward pass of a user: seeds, the sweep, then the gradients; nothing is written before the end. Knows no op."""

from __future__ import annotations

from collections.abc import Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any

from tensorviz.engine import tensor as tensors
from tensorviz.engine.graph import local, user_frame
from tensorviz.engine.late import record_module
from tensorviz.engine.node import Node, twin
from tensorviz.engine.seeds import root_of, seeds_of
from tensorviz.engine.stale import refuse_stale
from tensorviz.engine.sweep import Look, reachable, sweep
from tensorviz.engine.tensor import Tensor
from tensorviz.errors import Breakpoint, GraphError

if TYPE_CHECKING:
    from tensorviz.engine.record import Write
    from tensorviz.trace import Trace


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
    roots = list(roots)
    if not roots:
        raise GraphError("backward needs at least one Tensor to start from")
    if frame is None:
        frame = user_frame(2)
    nodes = [root_of(r, apart=record) for r in roots]
    seeds = seeds_of(nodes, roots, gradients)
    ops, leaves = reachable(nodes)
    if tensors.changes.any:
        refuse_stale(ops)
    retaining = [n for n in ops if n.rare is not None and n.rare.owner is not None]
    pulled: list[tuple[Any, ...]] = []
    to = record_module()
    looks: Sequence[Look] = ()
    try:
        if local.watchers:
            started = to.Pass(nodes, seeds, ops, pulled, [], to.names_in(frame), False)
            looks = [watch(started) for watch in local.watchers]
        totals = sweep(ops, list(zip(nodes, seeds, strict=True)), leaves, pulled if record or looks else None, asked=retaining, looks=looks)
    except Exception as error:
        if record and not isinstance(error, Breakpoint):  # which has its own
            error.trace = to.Trace(to.Pass(nodes, seeds, ops, pulled, [], to.names_in(frame), False).build)  # type: ignore[attr-defined]
        raise
    writes = write_gradients(leaves + retaining, totals)
    if not record:
        for root in roots:
            root.trace = None  # an older pass is not the latest any more
        return None
    nodes, ops, writes = _without_roots(roots, nodes, ops, writes)
    trace: Trace = to.Trace(to.Pass(nodes, seeds, ops, pulled, writes, to.names_in(frame)).build)
    for root in roots:
        root.trace = trace
    return trace


tensors.run_backward = backward


def _without_roots(roots: list[Tensor], nodes: list[Node], ops: list[Node], writes: list[Write]) -> tuple[list[Node], list[Node], list[Write]]:
    """The nodes of the roots, results and writes as a record may hold them: with a twin for a root that is its own node, since it holds the record.

    A root that another one is computed from stays: what was computed holds it. Then the cyclic collector is needed to free them.
    """
    if all(node is not root for node, root in zip(nodes, roots, strict=True)):
        return nodes, ops, writes
    inner = {n for node in ops for n in node.inputs} if len(nodes) > 1 else ()
    twins = {n: twin(n) for n in set(nodes).intersection(roots) if n not in inner}
    return (
        [twins.get(n, n) for n in nodes],
        [twins.get(n, n) for n in ops],
        [(twins.get(n, n), held) for n, held in writes],
    )


def write_gradients(nodes: Sequence[Node], totals: Sequence[Any]) -> list[Write]:
    """Add to ``.grad`` of the leaves, and of results that retain theirs."""
    writes: list[Write] = []
    with tensors.gradients:
        for node, total in zip(nodes, totals, strict=True):
            if total is None:
                continue
            rare = node.rare
            owner = None if rare is None or rare.owner is None else rare.owner()
            if owner is None:
                if node.plan is None:
                    writes.append((node, None))
                continue
            own = owner.own or owner._more()
            if node.plan is not None and not own.retain:
                continue
            before, dtype = own.grad, node.value.dtype
            if total.dtype is not dtype and total.dtype != dtype:
                total = total.astype(dtype)  # a sum has the machine's order of bytes, whatever that of the leaf is
            if before is None:
                # not copied before somebody reads it: many never are, and all of a network's at once are a good part of its memory
                own.grad = total
                writes.append((node, None))
            else:
                # the user may still write to what was handed out
                writes.append((node, before.copy() if own.private else before))
                own.grad = (before + total).astype(dtype, copy=False)
            own.private = False
    return writes
