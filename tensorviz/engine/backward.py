"""The one backward sweep: newest node first, shares added in order of arrival, nothing written before the end. Knows no op."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorviz.arguments import shown
from tensorviz.engine import tensor as tensors
from tensorviz.engine.graph import HUGE, Again, Changed, Node, local, user_frame
from tensorviz.engine.tensor import Tensor
from tensorviz.engine.unbroadcast import growth
from tensorviz.errors import Breakpoint, GraphError, InPlaceError, RuleError, SeedError

if TYPE_CHECKING:
    from tensorviz.engine.record import Pass, Write
    from tensorviz.trace import Trace

Look = Callable[[Node, Mapping[Node, Any]], None]
"""Called after a node's rule has run, with the node and what it and its operands had received before."""


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
    nodes = [_root(r) for r in roots]
    seeds = _seeds(nodes, roots, gradients)
    ops, leaves = reachable(nodes)
    if tensors.changes.any:
        refuse_stale(ops)
    totals: dict[Node, Any] = {nodes[0]: seeds[0]}
    for node, seed in zip(nodes[1:], seeds[1:], strict=True):
        totals[node] = totals[node] + seed if node in totals else seed
    pulled: list[tuple[Any, ...]] = []
    watchers = local.watchers
    paused = gc.isenabled()
    if paused:
        gc.disable()
    try:
        if watchers:
            sweep_watched(record_module().Pass(nodes, seeds, ops, pulled, [], record_module().names_in(frame), False), totals, watchers)
        else:
            sweep(ops, totals, pulled if record else None)
    except Exception as error:
        if record and not isinstance(error, Breakpoint):  # which has its own
            to = record_module()
            error.trace = to.Trace(to.Pass(nodes, seeds, ops, pulled, [], to.names_in(frame), False).build)  # type: ignore[attr-defined]
        raise
    finally:
        if paused:
            gc.enable()
    writes = write_gradients(leaves + [n for n in ops if n.rare is not None], totals)
    if not record:
        for root in roots:
            root.trace = None  # an older pass is not the latest any more
        return None
    to = record_module()
    trace: Trace = to.Trace(to.Pass(nodes, seeds, ops, pulled, writes, to.names_in(frame)).build)
    for root in roots:
        root.trace = trace
    return trace


tensors.run_backward = backward

_record: Any = None


def record_module() -> Any:
    """The module that makes records: loaded by the first pass, so that an import does not wait for it."""
    global _record
    if _record is None:
        from tensorviz.engine import record

        _record = record
    return _record


_uid = attrgetter("uid")
add_up = np.add.reduce


def _root(y: Any) -> Node:
    if not isinstance(y, Tensor):
        raise GraphError(f"backward starts from a Tensor, got {type(y).__name__}")
    node = y._current()
    if not node.requires_grad:
        why = (
            "it was made under no_grad"
            if node.params.get("no_grad")
            else "it was detached"
            if node.params.get("cut")
            else f"{node.op.name} has no gradient"
            if node.op is not None and not node.op.differentiable
            else "nothing that it depends on requires a gradient, or detach() or no_grad cut the way to it"
        )
        where = record_module().source_of(node)
        raise GraphError(
            f"backward: {y._what()} has no graph, because {why}{f' ({where})' if where else ''}. Make the leaves with requires_grad=True"
        )
    return node


def _seeds(nodes: Sequence[Node], roots: Sequence[Tensor], gradients: Any) -> list[Any]:
    if isinstance(gradients, np.ndarray) and gradients.ndim:
        gradients = list(gradients)
    if gradients is not None and not isinstance(gradients, (list, tuple)):
        raise SeedError(f"backward of a list of Tensors takes a list of gradients, one per Tensor, got {shown(gradients)}")
    if gradients is not None and len(gradients) != len(nodes):
        raise SeedError(
            f"backward got {len(nodes)} Tensor(s) and {len(gradients)} gradient(s); give one per Tensor (None for one with a single element)"
        )
    if gradients is None and len(nodes) == 1 and nodes[0].value.ndim == 0:
        return [nodes[0].value.dtype.type(1)]
    seeds = []
    for node, root, gradient in zip(nodes, roots, [None] * len(nodes) if gradients is None else gradients, strict=True):
        value = node.value
        if gradient is None:
            if value.size != 1:
                raise SeedError(
                    f"backward: {root._what()} has shape {value.shape}, so it is no scalar and needs a seed of that shape: backward(gradient=np.ones({value.shape})), or reduce it first, e.g. with sum()"
                )
            seed = np.ones(value.shape, value.dtype)
        else:
            try:
                given = np.asarray(gradient)
            except (ValueError, TypeError) as error:
                raise SeedError(
                    f"backward: the gradient is no rectangular array, expected real numbers of shape {value.shape}, got {shown(gradient)} ({error})"
                ) from error
            if given.dtype.kind not in "fiub":
                raise SeedError(
                    f"backward: the gradient has dtype {given.dtype}, expected real numbers of shape {value.shape}, got {shown(gradient)}"
                )
            if given.shape != value.shape:
                raise SeedError(
                    f"backward: the gradient has shape {given.shape}, expected {value.shape}, the shape of {root._what()}; it is not broadcast"
                )
            seed = np.array(given, dtype=value.dtype)
        seeds.append(seed[()] if seed.ndim == 0 else seed)
    return seeds


def seed_numbers(what: str, given: Any, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """A cotangent or tangent as an array of real numbers; its shape is for the caller to compare."""
    try:
        found = np.asarray(given)
    except (ValueError, TypeError) as error:
        raise SeedError(f"{what}: expected real numbers of shape {shape}, got {shown(given)} ({error})") from error
    if found.dtype.kind not in "fiub":
        raise SeedError(f"{what}: expected real numbers of shape {shape}, got {shown(given)} of dtype {found.dtype}")
    return found


def reachable(roots: Sequence[Node]) -> tuple[list[Node], list[Node]]:
    """The nodes that a gradient reaches from the roots: results, newest first, and leaves, oldest first."""
    seen = set(roots)
    ops = [n for n in seen if n.plan is not None]
    leaves = [n for n in seen if n.plan is None]
    add, push = seen.add, ops.append
    for node in ops:  # grows
        for n in node.inputs:
            if n.requires_grad and n not in seen:
                add(n)
                if n.plan is None:
                    leaves.append(n)
                else:
                    push(n)
    ops.sort(key=_uid, reverse=True)
    leaves.sort(key=_uid)
    return ops, leaves


LARGE = 4096
"""Elements up to which a share is kept as it was before the axes were summed that its operand grew; of a larger one only the sum."""


def sweep(ops: Sequence[Node], totals: dict[Node, Any], pulled: list[tuple[Any, ...]] | None, whole: bool = False) -> None:
    """Run every rule once. Shares are added in the order in which their consumers are visited; that order is part of the contract.

    ``pulled`` gets the tuple of shares of each node, empty where no gradient arrived; None: they are not kept. In the place of a large one stands
    :class:`Again`, since its rule can be run again when somebody looks; ``whole``: all are kept as the rules returned them.
    A total goes when its rule has run: a record adds the shares up again, and memory is what a large pass is short of.
    """
    keep = None if pulled is None else pulled.append
    take, find = totals.pop, totals.get
    for node in ops:
        g = take(node, None)
        if g is None:
            if keep is not None:
                keep(())
            continue
        if node.rare is not None:
            totals[node] = g  # it may be asked for at the end
        try:
            shares = node.plan.pull(node, g)  # type: ignore[union-attr]
        except Exception as error:
            error.add_note(f"raised by the backward rule of {describe(node)}")
            raise
        inputs = node.inputs
        if len(shares) != len(inputs):
            raise RuleError(f"the backward rule of {describe(node)} returned {len(shares)} gradient(s) for {len(inputs)} operand(s)")
        if not node.same:
            shares = _fitted(node, shares, totals, whole)
        elif len(inputs) == 2:  # written out: a loop over two costs as much again as what it does
            first, second = inputs
            share, other = shares
            if share is not None:
                before = find(first)
                totals[first] = share if before is None else before + share
            if other is not None:
                before = find(second)
                totals[second] = other if before is None else before + other
        else:
            for inp, share in zip(inputs, shares):  # noqa: B905 - compared above
                if share is not None:
                    before = find(inp)
                    totals[inp] = share if before is None else before + share
        if keep is not None:
            keep(shares)


def _fitted(node: Node, shares: tuple[Any, ...], totals: dict[Node, Any], whole: bool) -> tuple[Any, ...]:
    """Add up the shares of a node that have to be looked at; what the record keeps of them."""
    inputs = node.inputs
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
        before = totals.get(inp)
        totals[inp] = fitted if before is None else before + fitted
    return shares


def sweep_watched(started: Pass, totals: dict[Node, Any], watchers: Sequence[Callable[[Pass], Look]]) -> None:
    """The same, rule by rule, each followed by a look at what it sent. A watcher is asked once per pass for its look, and stops the pass by raising."""
    looks = [watch(started) for watch in watchers]
    pulled: Any = started.pulled
    for node in started.ops:
        before = {n: totals.get(n) for n in (node, *node.inputs)}
        sweep((node,), totals, pulled, whole=True)
        for look in looks:
            look(node, before)


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


def refuse_stale(ops: Sequence[Node]) -> None:
    """Raise if a rule about to run saved a value whose Tensor has been changed in place since."""
    for node in ops:
        op = node.op
        assert op is not None
        for name, (_, slot) in op.saved(node).items():
            kept = node if slot == -1 else node.inputs[slot] if slot >= 0 else None
            changed = kept.rare.changed if kept is not None and kept.rare is not None else None
            # a node made later (by a rule that runs on Tensors) knows that it has the old value
            if changed is not None and node.uid < changed.by:
                raise InPlaceError(
                    f"{op.name} saved {name} for its backward rule, and an in-place {changed.op} modified it afterwards (version 1, saved at version 0).\n"
                    f"  saved by {op.name}: {record_module().source_of(node) or 'source unknown'}\n"
                    f"  changed by {changed.op}: {_place(changed) or 'source unknown'}\n"
                    f"Write the change out of place (x = x + ...), or change it after backward."
                )


def _place(changed: Changed) -> Any:
    return record_module().locate(changed.code, changed.lasti)


def write_gradients(nodes: Sequence[Node], totals: dict[Node, Any]) -> list[Write]:
    """Add to ``.grad`` of the leaves, and of results that retain theirs."""
    writes: list[Write] = []
    with tensors.gradients:
        for node in nodes:
            total = totals.get(node)
            if total is None:
                continue
            rare = node.rare
            owner = rare.owner() if rare is not None and rare.owner is not None else None
            if owner is None:
                if node.op is None:
                    writes.append((node, None))
                continue
            own = owner._own
            if own is None:
                own = owner._more()
            if node.op is not None and not own.retain:
                continue
            before = own.grad
            if before is None:
                # not copied before somebody reads it: many never are, and all of a network's at once are a good part of its memory
                own.grad = _in(total, node.value.dtype)
                writes.append((node, None))
            else:
                # the user may still write to what was handed out
                writes.append((node, before.copy() if own.private else before))
                own.grad = _in(before + total, node.value.dtype)
            own.private = False
    return writes


def _in(total: Any, dtype: Any) -> Any:
    return total if total.dtype is dtype or total.dtype == dtype else total.astype(dtype)
