"""Whether a record holds together: every field of the type it says, every id in its place, every shape that of its node. Imports the record only."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, get_args

import numpy as np

from tensorviz.arguments import shown
from tensorviz.axes import in_words, sum_axes
from tensorviz.errors import RecordError
from tensorviz.trace import NodeKind, Share, Source, Step, StepKind, TraceData, TraceNode

_NODE_KINDS = get_args(NodeKind)
_STEP_KINDS = get_args(StepKind)
LINES = 10_000
"""An expression of more lines is none that anybody wrote; what shows a source makes room for every line of it."""
_NUMBERS = "fiub"
"""What the value of a node may be made of: the dtypes that a Tensor holds."""


_printed = lru_cache(str)
"""NumPy takes 5 µs to print a dtype."""


class _Place:
    """Where in the record something stands, for the error; written out only when there is one."""

    __slots__ = ("kind", "op", "position")

    def __init__(self, kind: str, position: int | None = None, op: Any = None) -> None:
        self.kind, self.position, self.op = kind, position, op

    def __str__(self) -> str:
        number = "" if self.position is None else f" {self.position}"
        return f"{self.kind}{number}{f' ({self.op})' if isinstance(self.op, str) else ''}"

    def fail(self, what: str) -> None:
        raise RecordError(f"the record does not hold together: {self} {what}")

    def typed(self, name: str, value: Any, kind: type, called: str) -> None:
        # bool is an int to Python, but True is no id
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            self.fail(f"has {name} {shown(value)}, expected {called}")

    def text(self, name: str, value: Any) -> None:
        self.typed(name, value, str, "a string")

    def flag(self, name: str, value: Any) -> None:
        self.typed(name, value, bool, "True or False")

    def whole(self, name: str, value: Any, least: int, below: int | None = None) -> None:
        self.typed(name, value, int, "a whole number")
        if value < least or (below is not None and value >= below):
            self.fail(f"has {name} {value}, expected {f'{least} or more' if below is None else f'one of {least} to {below - 1}'}")

    def tuple_of(self, name: str, value: Any, kind: type, called: str) -> None:
        self.typed(name, value, tuple, "a tuple")
        for item in value:
            self.typed(f"{name} holding", item, kind, called)

    def table(self, name: str, value: Any) -> None:
        self.typed(name, value, Mapping, "a table by name")
        for key in value:
            self.typed(f"a name in {name}", key, str, "a string")

    def array(self, name: str, value: Any, shape: tuple[int, ...] | None = None, kinds: str = _NUMBERS) -> None:
        self.typed(name, value, np.ndarray, "an array")
        if value.dtype.kind not in kinds:
            self.fail(f"has {name} of dtype {value.dtype}, expected real numbers")
        if shape is not None and value.shape != shape:
            self.fail(f"has {name} of shape {value.shape}, expected {shape}")


def validate(data: TraceData) -> TraceData:
    """Check that a record holds together; run on every load. Raises :class:`RecordError` that names the place, what was expected and what stands there."""
    record = _Place("the record")
    for name, parts in (("nodes", data.nodes), ("steps", data.steps), ("roots", data.roots)):
        record.typed(name, parts, tuple, "a tuple")
    record.flag("complete", data.complete)
    record.table("sources", data.sources)
    for text in data.sources.values():
        record.text("a source text", text)
    sources: set[int] = set()
    for position, node in enumerate(data.nodes):
        place = _Place("node", position, getattr(node, "op", None))
        _node(place, node, position, len(data.nodes))
        if node.source is not None and id(node.source) not in sources:
            _source(place, node.source)
            sources.add(id(node.source))
    for position, node in enumerate(data.nodes):  # shares point forwards, to nodes that are known to be sound by now
        for share in node.shares:
            _share(_Place("a share of node", position, node.op), share, node, data.nodes)
    for root in data.roots:
        record.whole("a root", root, 0, len(data.nodes))
    seeded = [s.node for s in data.steps if getattr(s, "kind", None) == "seed"]
    if data.steps and (not data.roots or any(r not in seeded for r in data.roots)):
        record.fail(f"has roots {data.roots}, but seeds {tuple(seeded)}")
    receivers = {id(s): n.id for n in data.nodes for s in n.shares}
    for position, step in enumerate(data.steps):
        _step(_Place("step", position), step, data.nodes, receivers)
    return data


def _node(place: _Place, n: TraceNode, position: int, count: int) -> None:
    place.typed("type", n, TraceNode, "a node")
    if n.id != position:
        place.fail(f"has id {shown(n.id)}, expected its position")
    for name in ("op", "label", "scope", "word", "dtype"):
        place.text(name, getattr(n, name))
    for name in ("requires_grad", "weak", "changed"):
        place.flag(name, getattr(n, name))
    if n.name is not None:
        place.text("name", n.name)
    if n.kind not in _NODE_KINDS:
        place.fail(f"has kind {shown(n.kind)}, expected one of {', '.join(_NODE_KINDS)}")
    place.tuple_of("inputs", n.inputs, int, "a node's id")
    if any(not 0 <= i < position for i in n.inputs):
        place.fail(f"has an input that is not older than itself: {n.inputs}")
    if n.inputs and n.kind != "op":
        place.fail(f"is a {n.kind} and has inputs: {n.inputs}")
    place.tuple_of("shape", n.shape, int, "a size")
    place.array("value", n.value, n.shape)
    if n.dtype != _printed(n.value.dtype):
        place.fail(f"says dtype {n.dtype}, its value has {n.value.dtype}")
    if n.weak and n.value.size != 1:
        place.fail(f"is said to be a Python number, and has shape {n.shape}")
    place.table("params", n.params)
    place.table("saved", n.saved)
    for key, value in n.saved.items():
        place.array(f"the saved value {key!r}", value, kinds="fiubcSU")
    place.table("saved_from", n.saved_from)
    for key, slot in n.saved_from.items():
        place.whole(f"the slot of the saved value {key!r}", slot, -1, len(n.inputs))
    for name in ("slots", "formulas", "behind"):
        place.tuple_of(name, getattr(n, name), str, "a string")
    for name, texts in (("slots", n.slots), ("formulas", n.formulas)):
        if texts and n.kind == "op" and len(texts) < len(n.inputs):
            place.fail(f"has {len(texts)} {name} for {len(n.inputs)} inputs")
    if n.cut is not None:
        place.whole("cut", n.cut, 0, count)
    if n.cotangent is not None:
        place.array("cotangent", n.cotangent, n.shape)
    place.tuple_of("shares", n.shares, Share, "a share")


def _source(place: _Place, s: Source) -> None:
    place.typed("source", s, Source, "a place in a file")
    for name in ("file", "function", "code"):
        place.text(f"its source's {name}", getattr(s, name))
    for name in ("line", "end_line", "column", "end_column"):
        place.typed(f"its source's {name}", getattr(s, name), int, "a whole number")
    if s.end_line - s.line > LINES:
        place.fail(f"has an expression from line {s.line} to line {s.end_line}")


def _share(place: _Place, s: Share, target: TraceNode, nodes: tuple[TraceNode, ...]) -> None:
    if s.target != target.id:
        place.fail(f"names target {s.target}")
    place.whole("consumer", s.consumer, 0, len(nodes))
    inputs = nodes[s.consumer].inputs
    place.typed("slot", s.slot, int, "a whole number")
    if not 0 <= s.slot < len(inputs) or inputs[s.slot] != target.id:
        place.fail(f"comes from slot {s.slot} of node {s.consumer}, which is another operand")
    place.array("value", s.value, target.shape)
    place.array("total", s.total, target.shape)
    place.array("local", s.local)
    place.tuple_of("summed_axes", s.summed_axes, int, "an axis")
    if s.local.shape != target.shape:
        grown = s.local.ndim >= len(target.shape)
        axes = sum_axes(s.local.shape, target.shape) if grown else ()
        left = tuple(n for i, n in enumerate(s.local.shape) if i not in axes)
        if not grown or left != tuple(n for i, n in enumerate(target.shape, s.local.ndim - len(target.shape)) if i not in axes):
            place.fail(f"has local of shape {s.local.shape}, which does not sum to {target.shape}")
        # more than these: what the mistake "wrong-axes" records, and spreads over the operand again
        if not set(axes) <= set(s.summed_axes) <= set(range(s.local.ndim)) or len(set(s.summed_axes)) < len(s.summed_axes):
            place.fail(
                f"is summed over {in_words(s.summed_axes) if s.summed_axes else 'no axis'}, but {s.local.shape} becomes {target.shape} over {in_words(axes)}"
            )
    elif s.summed_axes:
        place.fail(f"is summed over {in_words(s.summed_axes)}, but its shape is that of the node")
    place.flag("by_hand", s.by_hand)
    if s.route is not None:
        place.array("route", s.route, target.shape)


def _step(place: _Place, step: Step, nodes: tuple[TraceNode, ...], receivers: Mapping[int, int]) -> None:
    place.typed("type", step, Step, "a step")
    if step.kind not in _STEP_KINDS:
        place.fail(f"has kind {shown(step.kind)}, expected one of {', '.join(_STEP_KINDS)}")
    place.whole("node", step.node, 0, len(nodes))
    place.text("caption", step.caption)
    node = nodes[step.node]
    sent = step.kind in ("unbroadcast", "accumulate")
    if sent != (step.share is not None):
        place.fail(f"is {step.kind} and has {'no share' if sent else 'a share'}")
    if step.share is not None and receivers.get(id(step.share)) != step.node:
        place.fail(f"adds a share that is none of node {step.node}'s")
    if step.kind == "pull" and node.kind != "op":
        place.fail(f"runs the rule of node {step.node}, which is no result")
    for name, value in (("before", step.before), ("after", step.after)):
        if value is not None:
            place.array(name, value, node.shape)
    if step.after is None and step.kind in ("seed", "accumulate", "leaf"):
        place.fail(f"is {step.kind} and has nothing after it")
