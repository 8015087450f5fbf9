"""How often every element is computed where nothing is kept but what is staged: recompute counts. Imports the engine and the record; no view.

A compiler that fuses a graph of primitives computes an element anew each time that it is used, unless the value is staged. So the count goes backwards
through the graph: an element is computed once for every use, and each use happens as often as the user is computed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any

import numpy as np

from tensorviz.engine.graph import user_frame
from tensorviz.engine.names import names_in
from tensorviz.engine.node import Node
from tensorviz.engine.record import Pass, everything
from tensorviz.engine.tensor import Tensor
from tensorviz.errors import GraphError, RecordError
from tensorviz.primitives.kinds import ELEMENTWISE, is_primitive
from tensorviz.trace import Trace

Count = int | np.ndarray[Any, Any]
"""Per element of a value; one int where it is the same for all, exact however large."""


@dataclass(frozen=True)
class NodeCount:
    """How often the elements of one value are used, and how often they are computed."""

    id: int
    """The node's position in the trace."""
    op: str
    name: str
    shape: tuple[int, ...]
    uses: Count
    """Per element, how often its consumers read it."""
    computed: Count
    """Per element, how often it is computed: once where it is staged, not at all for a leaf or a constant, otherwise at every use."""

    @property
    def most(self) -> int:
        """The largest number of times that an element is computed."""
        return largest(self.computed)

    @property
    def most_used(self) -> int:
        """The largest number of times that an element is used."""
        return largest(self.uses)

    @property
    def work(self) -> int:
        """Elements computed in all, repetitions counted."""
        size = int(np.prod(self.shape, dtype=object)) if self.shape else 1
        return self.computed * size if isinstance(self.computed, int) else int(self.computed.sum())


class Counts(Mapping[Any, NodeCount]):
    """The recompute counts of every node of a graph, by Tensor, name or id. Made by :func:`recompute_counts`."""

    def __init__(self, rows: tuple[NodeCount, ...], trace: Trace) -> None:
        self.rows, self.trace = rows, trace

    def __getitem__(self, key: Any) -> NodeCount:
        return self.rows[self.trace.node(key).id]

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.rows)))

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def work(self) -> int:
        """Elements computed in all, repetitions counted: what staging brings down."""
        return sum(row.work for row in self.rows)

    def table(self, most: int | None = None) -> str:
        """One line per node: how often an element is used and computed; a range where elements differ. ``most``: so many lines, the largest counts."""
        shown = self.rows
        if most is not None and len(shown) > most:
            top = sorted(self.rows, key=lambda r: (-r.most, -r.most_used, r.id))[:most]
            shown = tuple(sorted(top, key=lambda r: r.id))
        lines = [("node", "op", "shape", "used", "computed")]
        lines += [(f"{r.id} {r.name}".strip(), r.op, str(r.shape), spelled(r.uses), spelled(r.computed)) for r in shown]
        wide = [max(len(line[i]) for line in lines) for i in range(5)]
        rows = [
            "  ".join(cell.ljust(w) if i < 3 else cell.rjust(w) for i, (cell, w) in enumerate(zip(line, wide, strict=True))).rstrip()
            for line in lines
        ]
        if len(shown) < len(self.rows):
            rows.append(f"and {len(self.rows) - len(shown)} more that are computed less often.")
        return "\n".join([*rows, f"{spelled(self.work)} elements are computed in all."]) + "\n"

    def draw(self) -> Any:
        """The picture of the graph, with the count beside the name of every node that is computed more than once or staged."""
        from tensorviz.looking import draw

        return draw(Trace(replace(self.trace.data, nodes=tuple([replace(n, name=self._badge(n.id, n.name)) for n in self.trace.nodes]))))

    def _badge(self, i: int, name: str | None) -> str | None:
        row = self.rows[i]
        if row.op == "stage":
            return f"{name or ''} 1 of {spelled(row.uses)} uses".strip()
        return f"{name or ''} computed {spelled(row.computed)}×".strip() if row.most > 1 else name

    def __repr__(self) -> str:
        return self.table(_ROWS)


def recompute_counts(
    *roots: Tensor, trace: Trace | None = None, numbered: Mapping[Node, int] | None = None, frame: FrameType | None = None
) -> Counts:
    """How often each element of each value is computed, so that every element of ``roots`` is computed once and nothing is kept but what is staged.

    Exact for primitives: ``expand`` multiplies the count by the number of copies, ``reduce`` and elementwise primitives hand it on, ``shrink`` and
    ``index`` ask for a part only, ``stage`` asks once however often it is read. Any other op counts as one that keeps its result.
    ``trace`` and ``numbered`` are for callers that have the record already.

    >>> import tensorviz as tv
    >>> from tensorviz import primitives as p
    >>> x = tv.tensor([1.0, 2.0], requires_grad=True)
    >>> e = p.mul(x, x)
    >>> y = p.reduce(p.mul(p.expand(e, (784, 2)), 3.0), pop=2)
    >>> recompute_counts(y)[e].most
    784
    >>> e = p.stage(p.mul(x, x))
    >>> y = p.reduce(p.mul(p.expand(e, (784, 2)), 3.0), pop=2)
    >>> recompute_counts(y)[e].most, recompute_counts(y)[e].most_used
    (1, 784)
    """
    nodes = []
    for root in roots:
        if not isinstance(root, Tensor):
            raise GraphError(f"recompute_counts takes Tensors, got {type(root).__name__}")
        nodes.append(root._current())
    if not nodes:
        raise GraphError("recompute_counts needs at least one Tensor that is wanted")
    if trace is None or numbered is None:
        run = Pass(nodes, None, [], [], {}, names_in(frame if frame is not None else user_frame(2)))
        trace, numbered = Trace(run.build()), run.order()[1]
    uses: dict[Node, Count] = {}
    for node in dict.fromkeys(nodes):
        uses[node] = 1
    for node in reversed(everything(nodes)):
        demand = _computed(node, uses.get(node, 0))
        if node.op is None or (isinstance(demand, int) and demand == 0):
            continue
        for slot, operand in enumerate(node.inputs):
            asked = _asked(node, slot, demand)
            uses[operand] = _sum(uses[operand], asked) if operand in uses else asked
    found: dict[int, tuple[Node, Count]] = {}
    for node, i in numbered.items():
        # copies of one array are one node of the record
        count = uses.get(node, 0)
        found[i] = (node, _sum(found[i][1], count) if i in found else count)
    if len(found) != len(trace.nodes):
        raise RecordError("recompute_counts: the trace is not that of these Tensors")
    rows = tuple([_row(trace, i, *found[i]) for i in range(len(trace.nodes))])
    return Counts(rows, trace)


def _row(trace: Trace, i: int, node: Node, uses: Count) -> NodeCount:
    shown = trace.nodes[i]
    computed = 0 if node.op is None else _computed(node, uses)
    return NodeCount(i, shown.op, shown.name or "", shown.shape, uses, computed)


def _computed(node: Node, uses: Count) -> Count:
    """How often each element is computed, if it is used so often: once where the value is kept."""
    if node.op is None or (node.op.name != "stage" and is_primitive(node.op.name)):
        return uses
    return min(uses, 1) if isinstance(uses, int) else np.minimum(uses, 1)


def _asked(node: Node, slot: int, demand: Count) -> Count:
    """How often the elements of one operand are used, where those of the result are computed ``demand`` times."""
    op, params = node.op, node.params
    assert op is not None
    name, operand = op.name, tuple(np.shape(node.inputs[slot].value))
    if name in ELEMENTWISE:
        result = tuple(np.shape(node.value))
        if operand == result:
            return demand
        return _gathered(demand, result, operand)  # a number, or an op that broadcasts by itself
    if name == "stage":
        return demand
    if name == "reshape":
        return demand if isinstance(demand, int) else demand.reshape(operand)
    if name == "permute":
        return demand if isinstance(demand, int) else np.transpose(demand, np.argsort(params["order"]))
    if name == "expand":
        return _gathered(demand, params["shape"], operand)
    if name.startswith("reduce_"):
        return demand if isinstance(demand, int) else np.broadcast_to(demand, operand)
    if name == "pad_zeros":
        left = params["pads"][::2]
        return demand if isinstance(demand, int) else demand[tuple([slice(o, o + n) for o, n in zip(left, operand, strict=True)])]
    if name == "stack_front":
        return demand if isinstance(demand, int) else demand[slot]
    if name in ("shrink", "index"):
        asked = np.zeros(operand)
        block = params["j"] if name == "index" else tuple([slice(o, o + n) for o, n in zip(params["offsets"], params["shape"], strict=True)])
        asked[block] = demand
        return asked
    return 1  # it keeps its result and reads every element for it, however often


def _gathered(demand: Count, result: tuple[int, ...], operand: tuple[int, ...]) -> Count:
    """The copies of each element added up."""
    if isinstance(demand, int):
        size, own = (int(np.prod(s, dtype=object)) if s else 1 for s in (result, operand))
        return demand * (size // own) if own else 0
    grown = len(result) - len(operand)
    axes = tuple(range(grown)) + tuple([grown + i for i, n in enumerate(operand) if n == 1 and result[grown + i] != 1])
    return demand.sum(axis=axes).reshape(operand)  # type: ignore[no-any-return]


def _sum(a: Count, b: Count) -> Count:
    return a + b


def largest(count: Count) -> int:
    """The largest entry as an int."""
    return count if isinstance(count, int) else int(count.max()) if count.size else 0


_ROWS = 100
"""Lines of a table that is printed by itself."""

_LONG = 10**15
"""From here on a count is told by its power of ten: in a chain of forks it doubles with every link."""


def spelled(count: Count) -> str:
    """A count as text: one number, or the range.

    >>> spelled(3), spelled(np.array([0.0, 2.0])), spelled(2**100)
    ('3', '0 to 2', '10^30.1')
    """
    if isinstance(count, int):
        return str(count) if count < _LONG else f"10^{math.log10(count):.1f}"
    low, high = (int(count.min()), int(count.max())) if count.size else (0, 0)
    return str(low) if low == high else f"{low} to {high}"
