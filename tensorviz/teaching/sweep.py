"""The backward sweep once more, on a recorded graph and with a mistake in it. Imports the record, the registry of ops and replay; no widget.

The steps are those of the engine (`engine/sweep.py`), written out one by one, with a hook of the mistake wherever one can be made. With the
hooks of the base class it makes the recorded pass again, to the bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tensorviz.axes import sum_axes
from tensorviz.engine.aside import Aside
from tensorviz.engine.node import Node, twin
from tensorviz.engine.op import REGISTRY
from tensorviz.engine.record import read_only
from tensorviz.engine.unbroadcast import unbroadcast
from tensorviz.errors import ShapeError
from tensorviz.replay import Program, engine_node
from tensorviz.trace import Array, Share, Step, StepKind, Trace, TraceData, TraceNode


class Place(NamedTuple):
    """Where a mistake can act: at a node, or on the share that a node sends for one of its slots."""

    node: int
    slot: int = -1


class Stop(Exception):  # noqa: N818 - it ends the sweep, and is told in the record
    """The wrong engine cannot go on; the message says why."""


class Mistake:
    """One classic mistake: what a wrong engine does differently. A hook that is not overridden does what the right engine does."""

    name: ClassVar[str] = ""
    wrong: ClassVar[str] = ""
    """What the wrong engine does, in one sentence."""
    nowhere: ClassVar[str] = ""
    """Why there may be no place for it in a graph: the end of "changes nothing here: ..."."""
    everywhere: ClassVar[bool] = False
    """It acts in all its places at once unless one is chosen, for it is made once for the whole pass."""

    def places(self, sweep: Sweep) -> Iterable[Place]:
        """Where it can act, in the order in which a backward pass comes by."""
        raise NotImplementedError

    def preferred(self, sweep: Sweep, places: Sequence[Place]) -> Place:
        """The place that is taken where none is chosen."""
        return places[0]

    def start(self, sweep: Sweep) -> None:
        """Called when the seeds are set."""

    def rule(self, sweep: Sweep, i: int, g: Any) -> list[Any]:
        """The shares of node ``i``'s rule before unbroadcast, one per slot, None where none is sent."""
        return sweep.pull(sweep.engine[i], g)

    def fitted(self, sweep: Sweep, i: int, slot: int, local: Array) -> tuple[tuple[int, ...], Any]:
        """The axes that are summed, and the share as it arrives."""
        return sweep.fitted(i, slot, local)

    def added(self, sweep: Sweep, i: int, slot: int, before: Any, value: Any) -> Any:
        """The receiver's accumulator after the share that node ``i`` sends for ``slot``."""
        return value if before is None else before + value

    def written(self, sweep: Sweep, step: Step, total: Any) -> tuple[Array | None, Any]:
        """What ``.grad`` holds before and after a leaf's gradient is written; ``step`` is how the right engine did."""
        return step.before, total if step.before is None else (step.before + total).astype(total.dtype)

    def arrived(self, sweep: Sweep, i: int, slot: int) -> None:
        """Called when a share has arrived."""

    def pulled(self, sweep: Sweep, i: int) -> None:
        """Called when all shares of node ``i`` have arrived."""


class Right(Mistake):
    """No mistake: the sweep makes the recorded pass again, in whatever order its nodes are visited."""

    def places(self, sweep: Sweep) -> Iterable[Place]:
        return ()


class Sweep:
    """One pass over the recorded graph of ``trace``, with ``mistake`` made in some places. :meth:`run` does it; ``data`` is the record."""

    def __init__(self, trace: Trace, mistake: Mistake) -> None:
        self.trace, self.mistake, self.nodes = trace, mistake, trace.nodes
        self.program = Program(trace.nodes)
        self.engine = [engine_node(n, self.program.values[n.id]) for n in self.nodes]
        for made, n in zip(self.engine, self.nodes, strict=True):
            made.inputs = tuple([self.engine[i] for i in n.inputs])
        self.order = [step.node for step in trace.data.steps if step.kind == "pull"]
        """The nodes whose rule runs, as the right engine visits them."""
        self.sent = {(s.consumer, s.slot): s for n in self.nodes for s in n.shares}
        """The right shares."""
        self.places = list(mistake.places(self))
        self.acting: frozenset[Place] = frozenset()
        self.acted: dict[int, int] = {}
        """The nodes at which the mistake was made, and the first step of each."""
        self.error: str | None = None
        self.totals: dict[int, Any] = {}
        self.received: dict[int, list[Share]] = {}
        self.visited: set[int] = set()
        self.steps: list[Step] = []
        self.captions: dict[int, tuple[str, bool]] = {}
        """By step: what the mistake says of it, and whether beside what a right pass would say, or in its place."""
        self._next: list[tuple[str, bool]] = []

    # ---- the pass ------------------------------------------------------------------------------------------------

    def run(self, acting: Iterable[Place]) -> TraceData:
        """Make the pass with the mistake in these places, and give its record."""
        self.acting = frozenset(acting)
        with np.errstate(all="ignore"):
            for step in self.trace.data.steps:
                if step.kind == "seed" and step.after is not None:
                    self.totals[step.node] = step.after[()]
                    self._step("seed", step.node, None, step.before, step.after)
            self.mistake.start(self)
            try:
                for i in self.order:
                    self.visit(i)
            except Stop as stop:
                self.error = str(stop)
            else:
                self._write()
        return self._data()

    def visit(self, i: int) -> None:
        """Run node ``i``'s rule, unless it has run, and send its shares."""
        g = self.totals.get(i)
        if g is None or i in self.visited:
            return
        self.visited.add(i)
        self.program.forward(i)  # refuses an op that this process does not know
        try:
            shares = self.mistake.rule(self, i, g)
        except Exception as error:  # noqa: BLE001 - a rule that reads what it should not may raise anything; the record tells it
            self._step("pull", i)
            self._stop(i, error if isinstance(error, Stop) else Stop(f"the rule raises {type(error).__name__}: {error}"))
        self._step("pull", i)
        for slot, share in enumerate(shares):
            if share is not None:
                self._send(i, slot, read_only(share))
        self.mistake.pulled(self, i)

    def _send(self, i: int, slot: int, local: Array) -> None:
        target = self.nodes[i].inputs[slot]
        try:
            axes, value = self.mistake.fitted(self, i, slot, local)
        except (Stop, ShapeError, ValueError) as error:
            self._stop(i, error)
        value = value.astype(self.nodes[target].value.dtype) if value.dtype != self.nodes[target].value.dtype else value
        before = self.totals.get(target)
        total = self.mistake.added(self, i, slot, before, value[()])
        self.totals[target] = total
        right = self.sent.get((i, slot))
        share = Share(i, slot, target, local, axes, read_only(value), read_only(total), None if right is None else right.route)
        self.received.setdefault(target, []).append(share)
        if axes:
            self._step("unbroadcast", target, share)
        self._step("accumulate", target, share, None if before is None else read_only(before), share.total)
        self.mistake.arrived(self, i, slot)

    def _stop(self, i: int, error: Exception) -> Any:
        last = len(self.steps) - 1
        old, add = self.captions.get(last, ("", True))
        if self.steps[last].kind == "pull":  # it has sent nothing, which is not what it was going to do
            old, add = f"The rule of {title(self.nodes[i])} runs. {old}".strip(), False
        self.captions[last] = (f"{old} The pass stops here: {error}.".strip(), add)
        self.acted.setdefault(i, last)
        raise error if isinstance(error, Stop) else Stop(str(error)) from error

    def _write(self) -> None:
        for step in self.trace.data.steps:
            if step.kind == "leaf" and (total := self.totals.get(step.node)) is not None:
                before, after = self.mistake.written(self, step, total)
                self._step("leaf", step.node, None, before, read_only(after))

    # ---- what the right engine does --------------------------------------------------------------------------------

    def pull(self, node: Node, g: Any) -> list[Any]:
        """The op's own rule on an engine node."""
        assert node.op is not None
        with Aside():
            return list(node.op.pull(node, g))

    def fitted(self, i: int, slot: int, local: Array) -> tuple[tuple[int, ...], Array]:
        """Unbroadcast as it should be. Raises ShapeError for a share that fits nowise."""
        node, target = self.nodes[i], self.nodes[self.nodes[i].inputs[slot]]
        if local.shape == target.shape:
            return (), local
        axes = sum_axes(local.shape, target.shape) if _grown(local.shape, target.shape) and REGISTRY[node.op].broadcasts else None
        if axes is None:
            raise ShapeError(f"the share for {title(target)} has shape {local.shape}, and {title(target)} has shape {target.shape}")
        return axes, np.asarray(unbroadcast(local, target.shape))

    # ---- the record ----------------------------------------------------------------------------------------------

    def act(self, node: int, caption: str = "", *, add: bool = False) -> None:
        """Note that the mistake is made at ``node``, and what the next step's caption says of it (``add``: beside what it says anyway)."""
        self.acted.setdefault(node, len(self.steps))
        if caption:
            self._next.append((caption, add))

    def _step(self, kind: StepKind, node: int, share: Share | None = None, before: Array | None = None, after: Array | None = None) -> None:
        if self._next:
            self.captions[len(self.steps)] = (" ".join(text for text, _ in self._next), all(add for _, add in self._next))
            self._next.clear()
        self.steps.append(Step(kind, node, share, before, after, ""))

    def _data(self) -> TraceData:
        nodes = tuple(
            replace(
                n,
                shares=tuple(self.received.get(n.id, ())),
                cotangent=None if (total := self.totals.get(n.id)) is None else read_only(total),
            )
            for n in self.nodes
        )
        data = TraceData(nodes, tuple(self.steps), self.trace.roots, self.error is None, self.trace.sources)
        steps = list(Trace(data).steps)  # captioned as a right pass would be
        for k, (text, add) in self.captions.items():
            steps[k] = replace(steps[k], caption=f"{steps[k].caption} {text}" if add else text)
        return replace(data, steps=tuple(steps))


def title(node: TraceNode) -> str:
    """What a sentence calls a node."""
    from tensorviz.views.captions import title as titled

    return titled(node)


def symbol(node: TraceNode) -> str:
    """``∂x``; an expression goes in brackets."""
    name = title(node)
    return f"∂{name}" if node.name or name.isidentifier() else f"∂({name})"


def said(value: Any) -> str:
    """The number of a one-element array, or nothing."""
    from tensorviz.views.format import number

    array = np.asarray(value)
    return number(array.reshape(()).item()) if array.size == 1 else ""


def changed_node(node: Node, values: dict[int, Any], extras: dict[int, Any] | None = None) -> Node:
    """A copy of an engine node with other operands (by slot; -1: the result) or values made for its rule (by position)."""
    inputs = tuple([_with_value(n, values[slot]) if slot in values else n for slot, n in enumerate(node.inputs)])
    made = _with_value(node, values.get(-1, node.value))
    made.inputs = inputs
    if node.extras:
        made.more().extras = tuple((extras or {}).get(k, e) for k, e in enumerate(node.extras))
    return made


def _with_value(n: Node, value: Any) -> Node:
    made = twin(n)
    made.value, made.rare = value, None
    return made


def _grown(shape: tuple[int, ...], operand: tuple[int, ...]) -> bool:
    if len(operand) > len(shape):
        return False
    return all(s in (1, t) for s, t in zip(reversed(operand), reversed(shape), strict=False))
