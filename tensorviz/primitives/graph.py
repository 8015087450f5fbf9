"""A backward pass that is itself a graph: its gradients, its steps as sentences, its record. Imports the engine and the record; no view."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from tensorviz.engine.node import Node
from tensorviz.engine.places import source_of
from tensorviz.engine.record import Pass
from tensorviz.engine.tensor import Tensor
from tensorviz.errors import NodeLookupError
from tensorviz.primitives.captions import told, within
from tensorviz.primitives.counts import Counts, recompute_counts
from tensorviz.primitives.kinds import is_primitive
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
        self,
        roots: Sequence[Tensor],
        seeds: Sequence[Tensor],
        leaves: Sequence[Node],
        totals: Mapping[Node, Tensor],
        steps: Sequence[GradStep],
        names: dict[int, str],
    ) -> None:
        self.roots, self.seeds = tuple(roots), tuple(seeds)
        """Where the pass starts, and with what."""
        self._leaves, self._totals, self._steps, self._names = tuple(leaves), dict(totals), tuple(steps), names
        self.origin: Callable[[Node], Source | None] = source_of
        """Where a node of the forward graph comes from; replaced where that graph was itself made from another."""
        self.texts: Mapping[str, str] = {}
        """The text of the files that those places are in, beside those that the record finds by itself."""

    @property
    def root(self) -> Tensor:
        """Where the pass starts; of several the first."""
        return self.roots[0]

    @property
    def seed(self) -> Tensor:
        """What it starts with there."""
        return self.seeds[0]

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
        return node.given_name or self._names.get(node.uid, "")

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
        return Pass(roots, None, [], [], {}, self._names)

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
        seeds = [i for seed in self.seeds if (i := ids.get(seed._current())) is not None]
        steps = []
        for k, i in enumerate(seeds):
            starts = "The pass starts with the seed" if k == 0 else "Another seed"
            steps.append(Step("seed", i, None, None, nodes[i].value, f"{starts}, {nodes[i].name}, of shape {nodes[i].shape}."))
        for i, made in rules.items():
            steps.append(Step("seed", i, None, None, nodes[i].value, self._caption(made, nodes[i], nodes)))
        for i in data.roots:
            if i not in seeds and i not in rules:
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
        return replace(node, requires_grad=False, source=within(self.origin(made.rule)), name=made.tensor._current().given_name)

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
        from tensorviz.looking import draw

        return draw(self.trace)

    def summary(self) -> str:
        """Every step as a sentence."""
        wide = len(str(max(len(self.steps) - 1, 0)))
        return "\n".join(f"{k:>{wide}}  {step.caption}" for k, step in enumerate(self.steps)) + "\n"

    def __repr__(self) -> str:
        return f"GradGraph of {', '.join([self._called(root._current()) for root in self.roots])}: {len(self._steps)} primitives, {len(self._leaves)} gradient{'' if len(self._leaves) == 1 else 's'}"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return self.trace._repr_mimebundle_(include, exclude)


def _constant(node: TraceNode) -> str:
    return "0" if not np.any(node.value) else f"an array of shape {node.shape}"


def only_primitives(graph: GradGraph) -> bool:
    """Whether every node of a backward pass is a primitive."""
    return all(is_primitive(op) for op in graph.ops)
