"""``tv.lower``: a recorded graph written anew in primitives. Imports the engine, the record, the rules and primitives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from types import FrameType
from typing import Any

import numpy as np

from tensorviz import primitives as p
from tensorviz.arguments import listed
from tensorviz.engine.graph import user_frame
from tensorviz.engine.mode import Place, enable_grad, scope
from tensorviz.engine.node import Node, new_uid
from tensorviz.engine.op import REGISTRY, apply
from tensorviz.engine.record import forward_only
from tensorviz.engine.tensor import Tensor, handle, tensor
from tensorviz.errors import GraphError, LoweringError
from tensorviz.lowering.lowered import Lowered
from tensorviz.lowering.pieces import constant
from tensorviz.lowering.rules import RULES
from tensorviz.primitives.kinds import is_primitive
from tensorviz.trace import Trace, TraceNode


def lower(y: Tensor | Trace, *, keep: bool | Collection[str] = False, stage: Any = ()) -> Lowered:
    """The graph behind ``y`` (a Tensor, or the Trace of a pass) written in primitives, beside the original.

    A matrix product becomes reshape, permute, expand, mul and reduce; softmax, losses, normalizations and convolutions are taken apart
    likewise. Leaves are copied, so the original's ``.grad`` is left alone, and names and source lines stay with the values.
    ``keep``: True keeps an op that has no lowering as it is; names of ops keep those. ``stage``: Tensors, names or ids of values of the
    original, or True for all results; those are computed once and kept, which is what recompute counts are about.

    Returns a :class:`Lowered`: ``.root``, ``.backward()``, ``.trace``, ``.nodes`` (what each original node became), ``.grad_graph()``, ``.counts()``,
    ``.show()`` (both passes, stepped together). Linear algebra (``inv``, ``solve``, ``det``, decompositions) has no lowering.
    Raises :class:`LoweringError` for an op without a lowering; it names the node, the line and the ops that have one.

    >>> import tensorviz as tv
    >>> A = tv.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True, name="A")
    >>> B = tv.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True, name="B")
    >>> lowered = lower((A @ B).sum())
    >>> [n.op for n in lowered.trace_of_forward.nodes if not n.is_leaf]
    ['reshape', 'expand', 'reshape', 'expand', 'mul', 'permute', 'reduce_add', 'reduce_add']
    >>> trace = lowered.backward()
    >>> lowered.grad("A").tolist()  # each row holds the row sums of B
    [[6.0, 15.0], [6.0, 15.0]]
    """
    original = _record(y, user_frame(2))
    wanted = _staged(original, stage)
    kept = _kept(original, keep)
    titles = Counter(n.name for n in original.nodes)
    made: list[Any] = []
    nodes: list[tuple[Tensor, ...]] = []
    with enable_grad():
        for node in original.nodes:
            if node.kind != "op":
                value = _leaf(node)
                made.append(value)
                nodes.append((value,) if isinstance(value, Tensor) else ())
                continue
            operands = [made[i] for i in node.inputs]
            first = new_uid()
            title = f"{node.op} {node.name}" if node.name and titles[node.name] == 1 else f"{node.op} {node.id}"
            with scope(f"{node.scope}/{title}" if node.scope else title):
                result = _result(node, operands, kept)
                if node.id in wanted:
                    result = p.stage(result)
            found = _made(result, first)
            current = result._current()
            if node.name and current.given_name is None and any(n is current for n in found):
                current.more().name = node.name
            made.append(result)
            nodes.append(tuple([result if n is current else handle(n) for n in found]) or (result,))
    return Lowered(original, tuple([made[r] for r in original.roots]), tuple(nodes), made)


def _record(y: Any, frame: FrameType | None) -> Trace:
    if isinstance(y, Trace):
        return y
    if not isinstance(y, Tensor):
        raise GraphError(f"lower() takes a Tensor or a Trace, got {type(y).__name__}")
    if y.trace is not None and y.trace.data.complete and [y.trace.nodes[r].uid for r in y.trace.roots] == [y._uid]:
        return y.trace  # the same graph, with its gradients
    return Trace(forward_only([y], frame))


def _staged(original: Trace, stage: Any) -> set[int]:
    if stage is True:
        return {n.id for n in original.nodes if n.kind == "op"}
    if stage is False or stage is None:
        return set()
    keys = [stage] if isinstance(stage, (str, int, np.integer, Tensor, TraceNode)) else listed("lower", "stage", stage, "['logits'], or True")
    found = set()
    for key in keys:
        node = original.node(key)
        if node.kind != "op":
            raise LoweringError(f"lower: {node.title} is a {node.kind} and not computed, so it cannot be staged; name a result")
        found.add(node.id)
    return found


def _kept(original: Trace, keep: bool | Collection[str]) -> set[str]:
    """The names of the ops that stay as they are, or the error for those that have no lowering."""
    names: set[str] = set()
    for name in [keep] if isinstance(keep, str) else [] if isinstance(keep, bool) else listed("lower", "keep", keep, "['inv'], or True"):
        if isinstance(name, str) and name in REGISTRY:
            names.add(name)
            continue
        raise LoweringError(f"lower: keep={name!r} is no op of tensorviz; keep takes True or names of ops, as they stand in the record")
    for node in original.nodes:
        if node.kind != "op" or node.op in RULES or node.op in names:
            continue
        op = REGISTRY.get(node.op)
        if op is not None and not op.differentiable:
            names.add(node.op)  # a position, a test: it carries no gradient, so there is nothing to derive
        elif keep is True and op is not None:
            names.add(node.op)
        else:
            raise LoweringError(
                f"lower: {_where(node)} has no lowering to primitives. Pass keep=True (or keep={node.op!r}) to keep it as it is. "
                f"Ops that have one: {', '.join(sorted(n for n in RULES if n in REGISTRY))}"
            )
    return names


def _where(node: TraceNode) -> str:
    made = f", made at {node.source}" if node.source is not None else ""
    return f"node {node.id} ({node.op}{f' {node.name}' if node.name else ''}, shape {node.shape}{made})"


def _leaf(node: TraceNode) -> Any:
    """A leaf or a constant of the original as one of its own; a Python number as itself."""
    if node.weak:
        return node.value.item()
    if not node.requires_grad:
        made = constant(node.value)
        made.name = node.name
        return made
    made = tensor(node.value, requires_grad=True, name=node.name)
    current = made._current()
    current.place, current.lasti = Place(None, node.scope), -1
    return made


def _result(node: TraceNode, operands: Sequence[Any], kept: set[str]) -> Tensor:
    params = dict(node.params)
    if node.op in kept:
        result = apply(REGISTRY[node.op], operands, params)
    else:
        try:
            result = RULES[node.op](*operands, **params)
        except LoweringError as error:
            raise LoweringError(f"lower: {_where(node)}: {error}. Or pass keep={node.op!r} to keep it as it is") from None
    if result.shape != node.shape:
        raise LoweringError(
            f"lower: {_where(node)} came out with shape {result.shape}; this is a fault of its lowering, pass keep={node.op!r} until it is mended"
        )
    return p.cast(result, node.dtype)  # type: ignore[no-any-return]


def _made(result: Tensor, first: int) -> list[Node]:
    """The nodes behind a result that were made since, oldest first."""
    stack, seen = [result._current()], set()
    while stack:
        node = stack.pop()
        if node.uid <= first or node in seen:
            continue
        seen.add(node)
        if node.op is not None:
            # not the user's line: that in which lower() was called is not where the value comes from
            node.forget_place()
        stack.extend(node.inputs)
    return sorted(seen, key=lambda n: n.uid)


def has_lowering(op: str) -> bool:
    """Whether ``lower`` knows an op of that name.

    >>> has_lowering("softmax"), has_lowering("inv")
    (True, False)
    """
    return op in RULES or is_primitive(op)
