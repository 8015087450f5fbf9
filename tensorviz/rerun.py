"""Runs a recorded pass again, forward and backward, with some leaves or shares changed: a new record of the same graph. Imports the engine and replay; no check, view or widget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorviz.arguments import mapping, shown
from tensorviz.engine.aside import Aside
from tensorviz.engine.node import Node
from tensorviz.engine.op import REGISTRY
from tensorviz.engine.record import optional_array, read_only
from tensorviz.engine.routes import route
from tensorviz.engine.sweep import fit
from tensorviz.engine.unbroadcast import grown_axes, unbroadcast
from tensorviz.errors import ReplayError, ShapeError
from tensorviz.replay import Program, engine_node, same_op
from tensorviz.trace import Array, Share, Step, Trace, TraceData, TraceNode

Edge = tuple[int, int]
"""A share by its consumer's id and the slot there."""


def rerun(trace: Trace, values: Mapping[Any, npt.ArrayLike] | None = None, *, shares: Mapping[str, npt.ArrayLike] | None = None) -> Trace:
    """A new record of the same graph, forward and backward, with some values or shares changed. No user function is needed, and no Tensor is touched.

    ``values``: keys as :meth:`Trace.node` takes them, arrays of exactly the recorded shapes; leaves, parameters and constants only, since a result
    follows from its operands. ``shares``: by edge (``"consumer:slot"``, :attr:`Share.edge`), what is to arrive instead of what the rule sent; a single
    number fills the share. Such a share says so (:attr:`Share.by_hand`), and so do the captions of it and of what follows. What is downstream of neither stays as recorded, values of ``dropout`` and other random ops included. Ids, names and
    sources are those of the record; ``.grad`` of the leaves is shown as if it had held what it held then.

    Raises :class:`ReplayError` for a result, a share that was not sent, or an op that this process does not know; :class:`ShapeError` and
    :class:`DTypeError` for a value that does not fit its place; ``KeyError`` for a node that is not in the trace.

    >>> import numpy as np, tensorviz as tv
    >>> x = tv.tensor([1.0, 2.0], requires_grad=True, name="x")
    >>> trace = (x * x).sum().backward()
    >>> rerun(trace, {"x": [3.0, 4.0]}).node("x").cotangent.tolist()
    [6.0, 8.0]
    >>> rerun(trace, shares={"1:0": 0.0}).node("x").cotangent.tolist()
    [1.0, 2.0]
    """
    values, shares = {} if values is None else values, {} if shares is None else shares
    mapping("rerun", "its first argument", values, "{'W': array} (keys: Tensors, names or ids)")
    mapping("rerun", "shares", shares, "{'3:0': array} (keys: consumer:slot)")
    with Aside():
        return Trace(_Rerun(trace, values, shares).data())


class _Rerun:
    """One run: the nodes of the engine that stand for those of the record, and what their rules send."""

    def __init__(self, trace: Trace, values: Mapping[Any, npt.ArrayLike], shares: Mapping[str, npt.ArrayLike]) -> None:
        self.trace = trace
        self.program = Program(trace.nodes)
        self.replaced: dict[int, Any] = {}
        for key, value in values.items():
            node = trace.node(key)
            if node.kind == "op":
                raise ReplayError(f"rerun: node {node.id} ({node.title}) is the result of {node.op}; change the leaves that it is computed from")
            if node.id in self.replaced:
                raise ReplayError(f"rerun: node {node.id} ({node.title}) is changed twice, under two keys")
            self.replaced[node.id] = self.program.fitted(node, value)
        sent = {s.edge: s for n in trace.nodes for s in n.shares}
        self.given: dict[Edge, Array] = {}
        for edge, value in shares.items():
            if edge not in sent:
                raise ReplayError(f"rerun: no share was sent over {edge!r}; there are {', '.join(list(sent)[:20]) or 'none'}")
            self.given[sent[edge].consumer, sent[edge].slot] = _fitted(sent[edge], value)
        self.nodes: list[Node] = []
        self._forward()

    def _forward(self) -> None:
        changed = {**self.replaced}
        downstream = set(self.program.downstream(self.replaced))
        with np.errstate(all="ignore"):
            for n in self.trace.nodes:
                value, extras, inputs = changed.get(n.id, self.program.values[n.id]), None, [self.nodes[i] for i in n.inputs]
                if n.kind == "op":
                    self.program.forward(n.id)  # which refuses an op that is not known here
                    same_op(self.trace.nodes, n.id)
                    if n.id in downstream:
                        op = REGISTRY[n.op]
                        result = op.run(*[i.value for i in inputs], **n.params)
                        value, extras = result if op.extras else (result, ())
                        value = changed[n.id] = _scalar(value)
                self.nodes.append(engine_node(n, value, inputs, extras))

    def data(self) -> TraceData:
        """The record, built as the engine builds one: the same order of rules, shares and writes."""
        old = self.trace
        totals: dict[int, Any] = {}
        received: dict[int, list[Share]] = {}
        steps: list[Step] = []
        held = {}
        for step in old.steps:
            if step.kind == "seed" and step.after is not None:
                seed = _scalar(step.after if step.before is None else step.after - step.before)
                before = totals.get(step.node)
                totals[step.node] = seed if before is None else before + seed
                steps.append(Step("seed", step.node, None, optional_array(before), read_only(totals[step.node]), ""))
            elif step.kind == "leaf":
                held[step.node] = step.before
        for node in reversed(self.nodes):
            g = totals.get(node.uid)
            if node.op is None or g is None or not node.needs_grad:
                continue
            with np.errstate(all="ignore"):
                sent = node.op.pull(node, g)
            steps.append(Step("pull", node.uid, None, None, None, ""))
            for slot, share in enumerate(sent):
                if share is not None:
                    fit(node, slot, share)  # which refuses what fits nowise
                    steps.extend(self._arrive(node, slot, share, totals, received))
        for i, before in held.items():
            if i in totals:
                after = totals[i] if before is None else before + totals[i]
                steps.append(Step("leaf", i, None, before, read_only(after), ""))
        nodes = tuple(self._node(n, received.get(n.id, []), totals.get(n.id)) for n in old.nodes)
        return TraceData(nodes, tuple(steps), old.roots, old.data.complete, old.sources)

    def _arrive(self, node: Node, slot: int, local: Any, totals: dict[int, Any], received: dict[int, list[Share]]) -> list[Step]:
        target = node.inputs[slot]
        shape, dtype = np.shape(target.value), np.asarray(target.value).dtype
        local = np.asarray(local)
        axes = grown_axes(local.shape, shape) if local.shape != shape else ()
        value = np.asarray(unbroadcast(local, shape)).astype(dtype, copy=False)
        given = self.given.get((node.uid, slot))
        if given is not None:
            value = given.astype(dtype, copy=False)
        before = totals.get(target.uid)
        with np.errstate(all="ignore"):
            total = totals[target.uid] = _scalar(value) if before is None else before + _scalar(value)
        share = Share(node.uid, slot, target.uid, read_only(local), axes, read_only(value), read_only(total), route(node, slot), given is not None)
        received.setdefault(target.uid, []).append(share)
        made = [Step("unbroadcast", target.uid, share, None, None, "")] if axes else []
        return [*made, Step("accumulate", target.uid, share, optional_array(before), share.total, "")]

    def _node(self, n: TraceNode, shares: list[Share], total: Any) -> TraceNode:
        node = self.nodes[n.id]
        value = n.value if node.value is self.program.values[n.id] else read_only(node.value)
        saved = {name: read_only(v) for name, (v, _) in node.op.saved(node).items()} if node.op is not None and n.saved else {}
        if value is n.value:  # arrays that are as they were stay the same objects, so that they are stored once
            saved = {name: n.saved[name] if name in n.saved and np.array_equal(n.saved[name], v, equal_nan=True) else v for name, v in saved.items()}
        return replace(n, value=value, saved=saved, shares=tuple(shares), cotangent=optional_array(total))


def _fitted(share: Share, value: npt.ArrayLike) -> Array:
    try:
        given = np.asarray(value)
    except (ValueError, TypeError) as error:
        raise ReplayError(f"rerun: the share over {share.edge!r} holds numbers, got {shown(value)} ({error})") from None
    if given.dtype.kind not in "fiub":
        raise ReplayError(f"rerun: the share over {share.edge!r} holds numbers, got {shown(value)} of dtype {given.dtype}")
    if given.shape not in ((), share.value.shape):
        raise ShapeError(f"rerun: the share over {share.edge!r} has shape {share.value.shape}, got {given.shape}; only a single number is repeated")
    return np.broadcast_to(given, share.value.shape)


def _scalar(value: Any) -> Any:
    return value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value
