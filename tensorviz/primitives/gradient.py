"""The backward pass as a graph of its own: every rule run on Tensors, so that what it does is recorded. Imports the engine and the record; no view."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import FrameType
from typing import Any

import numpy as np

from tensorviz.engine import tensor as tensors
from tensorviz.engine.backward import describe, reachable, refuse_stale
from tensorviz.engine.graph import Node, enable_grad, frozen, leaf, scope, user_frame
from tensorviz.engine.op import forward_of
from tensorviz.engine.record import Pass, names_in, source_of
from tensorviz.engine.tensor import Tensor
from tensorviz.engine.unbroadcast import can_grow
from tensorviz.errors import GraphError, NodeLookupError, RuleError, SeedError
from tensorviz.primitives.captions import told, within
from tensorviz.primitives.counts import Counts, recompute_counts
from tensorviz.primitives.elementwise import add, cast
from tensorviz.primitives.kinds import is_primitive
from tensorviz.primitives.movement import gathered
from tensorviz.trace import Source, Step, Trace, TraceData, TraceNode


@dataclass(frozen=True)
class GradStep:
    """One primitive of the backward pass."""

    tensor: Tensor
    """What it computed; a Tensor like any other."""
    rule: Node
    """The node of the forward graph whose rule it belongs to; at a fork the node that receives."""
    slot: int | None
    """The operand for which it was computed first; None where it adds the shares of a fork."""

    @property
    def op(self) -> str:
        node = self.tensor._current()
        return node.op.name if node.op is not None else "seed"


class GradGraph:
    """A backward pass that is itself a graph: from the seed, through one primitive after the other, to the gradients. Made by :func:`grad_graph`."""

    def __init__(
        self, root: Tensor, seed: Tensor, leaves: Sequence[Node], totals: Mapping[Node, Tensor], steps: Sequence[GradStep], names: dict[int, str]
    ) -> None:
        self.root, self.seed = root, seed
        self._leaves, self._totals, self._steps, self._names = tuple(leaves), dict(totals), tuple(steps), names
        self.origin: Callable[[Node], Source | None] = source_of
        """Where a node of the forward graph comes from; replaced where that graph was itself made from another."""
        self.texts: Mapping[str, str] = {}
        """The text of the files that those places are in, beside those that the record finds by itself."""

    # ---- the gradients ---------------------------------------------------------------------------------------

    @property
    def gradients(self) -> tuple[Tensor, ...]:
        """One per leaf of the forward graph, in the order in which the leaves were made."""
        return tuple([self._totals[n] for n in self._leaves])

    def grad(self, x: Any) -> Tensor:
        """The gradient at a Tensor of the forward graph (a result too), or at the one of that name, as a Tensor. KeyError lists the names."""
        wanted = x._current() if isinstance(x, Tensor) else None
        for node, total in self._totals.items():
            if (
                node is wanted
                or (isinstance(x, str) and self._title(node) == x)
                or (wanted is not None and wanted.op is None and wanted.uid == node.uid)
            ):
                return total
        known = sorted({t for n in self._totals if (t := self._title(n))})
        raise NodeLookupError(
            f"{x if isinstance(x, str) else 'this Tensor'} receives no gradient in this graph; those with a name that do: {', '.join(known) or 'none'}"
        )

    def _title(self, node: Node) -> str:
        return node.name or self._names.get(node.uid, "")

    @property
    def ops(self) -> tuple[str, ...]:
        """The name of every primitive, in the order in which they ran."""
        return tuple([s.op for s in self._steps])

    @property
    def steps(self) -> tuple[Step, ...]:
        """One for the seed, then one per primitive, each with its sentence; last those for gradients that are constant."""
        return self.trace.steps

    def counts(self) -> Counts:
        """How often each value is computed for the gradients of the leaves, in a program that keeps nothing but what is staged; see :func:`recompute_counts`."""
        return recompute_counts(*self.gradients, trace=self.trace, numbered=self._ids)

    # ---- to look at ------------------------------------------------------------------------------------------

    @cached_property
    def _pass(self) -> Pass:
        roots = list(dict.fromkeys([t._current() for t in self.gradients]))
        return Pass(roots, None, [], [], [], self._names)

    @cached_property
    def _ids(self) -> dict[Node, int]:
        return self._pass.order()[1]

    @cached_property
    def _origins(self) -> dict[int, Source | None]:
        return {i: self.origin(n) for n, i in self._ids.items()}

    @cached_property
    def trace(self) -> Trace:
        """The whole graph, forward and backward, as a record that plays in the order in which the backward pass ran: one step per primitive.

        It is drawn, saved and stepped through like any record. Values stand above the wires; those of the backward part are gradients.
        """
        data = self._pass.build()
        ids = self._ids
        rules = {ids[s.tensor._current()]: s for s in self._steps if s.tensor._current() in ids}
        nodes = tuple([self._shown(n, rules.get(n.id)) for n in data.nodes])
        seed = ids.get(self.seed._current())
        steps = []
        if seed is not None:
            steps.append(
                Step("seed", seed, None, None, nodes[seed].value, f"The pass starts with the seed, {nodes[seed].name}, of shape {nodes[seed].shape}.")
            )
        for i, made in rules.items():
            steps.append(Step("seed", i, None, None, nodes[i].value, self._caption(made, nodes[i], nodes)))
        for i in data.roots:
            if i != seed and i not in rules:
                steps.append(
                    Step(
                        "seed",
                        i,
                        None,
                        None,
                        nodes[i].value,
                        f"{nodes[i].name or 'A gradient'} is a constant, whatever the seed: its rule gives {_constant(nodes[i])}.",
                    )
                )
        return Trace(TraceData(nodes, tuple(steps), data.roots, True, {**self.texts, **data.sources}))

    def _shown(self, node: TraceNode, made: GradStep | None) -> TraceNode:
        if made is None:
            return replace(node, requires_grad=False, source=node.source or self._origins.get(node.id))
        return replace(node, requires_grad=False, source=within(self.origin(made.rule)), name=made.tensor._current().name)

    def _caption(self, made: GradStep, node: TraceNode, nodes: Sequence[TraceNode]) -> str:
        rule = made.rule
        what = told(node.op, node.label, node.params, [nodes[i].shape for i in node.inputs], node.shape)
        becomes = f"; this is {node.name}" if node.name else ""
        if made.slot is None:
            return f"{self._title(rule) or self._called(rule)} is used more than once, so its shares add: {what}{becomes}."
        assert rule.op is not None
        operand = self._title(rule.inputs[made.slot]) or (rule.op.slot_name(made.slot) if len(rule.inputs) > 1 else "")
        return f"Rule of {self._called(rule)}{f' for {operand}' if operand else ''}: {what}{becomes}."

    def _called(self, node: Node) -> str:
        """A node in words: its op and its name, or where it has none the group that it is in."""
        title = self._title(node)
        if node.op is None:
            return title or "a leaf"
        label = node.op.label
        op = label if label.isidentifier() or " " in label else node.op.name
        group = node.scope.rpartition("/")[2]
        return f"{op} ({title})" if title else f"{op} in {group}" if group else op

    def show(self, **options: Any) -> Any:
        """The stepper, from the seed to the gradients, one primitive at a time. Options are those of ``trace.show``."""
        return self.trace.show(**options)

    def draw(self) -> Any:
        """The still picture of the graph."""
        from tensorviz.show import draw

        return draw(self.trace)

    def summary(self) -> str:
        """Every step as a sentence."""
        wide = len(str(max(len(self.steps) - 1, 0)))
        return "\n".join(f"{k:>{wide}}  {step.caption}" for k, step in enumerate(self.steps)) + "\n"

    def __repr__(self) -> str:
        return f"GradGraph of {self._called(self.root._current())}: {len(self._steps)} primitives, {len(self._leaves)} gradient{'' if len(self._leaves) == 1 else 's'}"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return self.trace._repr_mimebundle_(include, exclude)


def _constant(node: TraceNode) -> str:
    return "0" if not np.any(node.value) else f"an array of shape {node.shape}"


def grad_graph(y: Tensor, gradient: Any = None, *, frame: FrameType | None = None) -> GradGraph:
    """The backward pass from ``y`` as a graph of its own, in which every primitive that a rule runs is a node.

    ``gradient``: the seed, in y's shape; may be left out where y has one element (then 1). ``.grad`` of the leaves is left alone: what the
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
    if not isinstance(y, Tensor):
        raise GraphError(f"grad_graph takes the Tensor to start backward from, got {type(y).__name__}")
    root = y._current()
    if not root.requires_grad:
        raise GraphError(
            "grad_graph: this Tensor has no graph, because nothing that it depends on requires a gradient. Make the leaves with requires_grad=True"
        )
    names = names_in(frame if frame is not None else user_frame(2))
    title = root.name or names.get(root.uid, "")
    with enable_grad():
        seed = _seed(y, gradient)
        seed.name = f"∂{title}" if title else "seed"
        ops, leaves = reachable([root])
        if tensors.changes.any:
            refuse_stale(ops)
        leaves.sort(key=lambda n: n.uid)
        totals: dict[Node, Tensor] = {root: seed}
        steps = [step for node in ops if node in totals for step in _run(node, totals, names)]
    for node, total in totals.items():
        made, title = total._current(), node.name or names.get(node.uid, "")
        if title and made.name is None:
            made.more().name = f"∂{title}"
    return GradGraph(y, seed, [n for n in leaves if n in totals], totals, steps, names)


def _seed(y: Tensor, gradient: Any) -> Tensor:
    if gradient is None:
        if y.size != 1:
            raise SeedError(f"grad_graph: the Tensor has shape {y.shape}, so it needs a seed of that shape: grad_graph(y, np.ones({y.shape}))")
        gradient = np.ones(y.shape)
    value = np.array(gradient, dtype=y.dtype)
    if value.shape != y.shape:
        raise SeedError(f"grad_graph: the gradient has shape {value.shape}, expected {y.shape}, the Tensor's; it is not broadcast")
    return Tensor(leaf(frozen(value), requires_grad=True))


def _run(node: Node, totals: dict[Node, Tensor], names: dict[int, str]) -> list[GradStep]:
    """Run one rule, add its shares to the totals, and tell which primitives that took."""
    op = node.op
    assert op is not None
    steps: list[GradStep] = []
    known = {totals[node]._current()}
    title = node.name or names.get(node.uid) or op.name
    with scope(f"∂{node.scope or title}"):
        try:
            shares = op.pull_recorded(node, totals[node], _wrap, _extras(node))
        except Exception as error:
            error.add_note(f"raised by the backward rule of {describe(node)}, run on Tensors")
            raise
        for slot, (operand, share) in enumerate(zip(node.inputs, shares, strict=True)):
            if share is None or not operand.requires_grad:
                continue
            share = _fit(node, slot, share)
            steps += [GradStep(Tensor(n), node, slot) for n in _made(share, node, known)]
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
        node.code, node.lasti = None, -1
        stack.extend(node.inputs)
    return sorted(found, key=lambda n: n.uid)


def _wrap(node: Node) -> Any:
    return node.value if type(node.value) in (int, float, bool) else Tensor(node)


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
        share = Tensor(leaf(frozen(np.array(share))))
    shape = tuple(np.shape(value))
    if share.shape != shape:
        if not (node.op.broadcasts and can_grow(shape, share.shape)):  # type: ignore[union-attr]
            raise RuleError(
                f"the backward rule of {describe(node)} returned for slot {slot} a gradient of shape {share.shape}, expected {shape}, the operand's shape"
            )
        share = gathered(share, shape)
    found: Tensor = cast(share, value.dtype)
    return found


def only_primitives(graph: GradGraph) -> bool:
    """Whether every node of a backward pass is a primitive."""
    return all(is_primitive(op) for op in graph.ops)
