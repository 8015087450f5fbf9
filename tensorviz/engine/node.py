"""The node: one value of the recorded graph, and where in the user's code it was made. Knows no op."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from operator import itemgetter
from types import CodeType
from typing import TYPE_CHECKING, Any

from tensorviz.engine.mode import NOWHERE, Place

if TYPE_CHECKING:
    from tensorviz.engine.cuts import Cut
    from tensorviz.engine.op import Op
    from tensorviz.engine.run import Plan


uids = itertools.count(1)
"""Numbers nodes in the order in which they are made, so that the order of the graph needs no search."""
new_uid: Callable[[], int] = uids.__next__

NO_PARAMS: dict[str, Any] = {}


class Rare:
    """What few nodes have; kept apart so that the common node stays small."""

    __slots__ = ("changed", "cut", "extras", "name", "original", "owner", "path", "renamed")

    def __init__(self) -> None:
        self.name: str | None = None
        self.renamed: list[tuple[int, str | None]] = []
        """The names it had before, each with the number up to which it held (numbers are those of nodes and passes)."""
        self.extras: tuple[Any, ...] = ()
        self.changed: Changed | None = None
        self.owner: Callable[[], Any] | None = None
        self.cut: Cut | None = None
        self.original: Any = None
        self.path: str | None = None
        """For a parameter or buffer: where it stands in its module, ``"0.weight"`` (empty while it stands in none)."""


class Changed:
    """An in-place op that replaced a node's value for its Tensor: who did it, and where."""

    __slots__ = ("by", "code", "lasti", "op")

    def __init__(self, op: str, by: int, code: CodeType | None, lasti: int) -> None:
        self.op, self.by, self.code, self.lasti = op, by, code, lasti


class Node:
    """One value: a leaf or constant (``op`` is None) or the result of one op. Its value never changes.

    Every node is a :class:`Tensor`, so that code which runs over a graph meets objects of one class alone. What an op returns is node and
    Tensor in one, since most results are asked for nothing; the variable that a leaf is has its node apart (:attr:`now`), as others come in its place.
    The hot path makes nodes with plain stores, a third of the cost of a call with as many arguments; it sets every slot.
    """

    __slots__ = (
        *("__weakref__", "a", "b", "lasti", "needs_grad", "now", "own", "params", "place"),
        *("plan", "rare", "rest", "same", "total", "tracked", "uid", "used", "value"),
    )

    plan: Plan | None
    """What the engine needs of its op, None for a leaf or constant. All plans are of one class: looking something up on ops, each a class of its own, is slow."""
    a: Any
    """Its first operand, a node; None if there is none."""
    b: Any
    """Its second operand."""
    rest: tuple[Node, ...] | None
    """The operands beyond two. A tuple of them all would be one more object per node for the cyclic collector to visit."""
    params: dict[str, Any]
    value: Any
    needs_grad: bool
    """A gradient reaches it. (``requires_grad`` is that of the Tensor, whose node may be another.)"""
    tracked: bool
    """It depends on something that requires a gradient, though it may carry none itself (a comparison)."""
    same: bool
    """Shares need no look: they are not huge, and come in the operands' shapes and dtypes."""
    used: bool
    """Something may have been computed from it."""
    uid: int
    place: Place
    lasti: int
    """The instruction of the place's code that made it."""
    rare: Rare | None
    total: Any
    """What has arrived of its gradient, during a pass (see :mod:`tensorviz.engine.sweep`); else None."""

    now: Any
    """As a Tensor: None if it is its own node; else the node that it stands for, or :data:`UNSETTLED` where that has to be found out."""
    own: Any
    """As a Tensor: what few of them have."""

    @property
    def op(self) -> Op | None:
        """What it is the result of."""
        return None if self.plan is None else self.plan.op

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The operands, in slot order."""
        a, b = self.a, self.b
        return () if a is None else (a,) if b is None else (a, b) if self.rest is None else (a, b, *self.rest)

    @inputs.setter
    def inputs(self, nodes: tuple[Node, ...]) -> None:
        self.a, self.b = (*nodes[:2], None, None)[:2]
        self.rest = nodes[2:] or None

    @property
    def code(self) -> CodeType | None:
        """The function of the user's that made it."""
        return self.place.code

    @property
    def scope(self) -> str:
        return self.place.scope

    @scope.setter
    def scope(self, name: str) -> None:
        self.place = Place(self.place.code, name)

    def forget_place(self) -> None:
        """Come from no line of the user's."""
        self.place, self.lasti = Place(None, self.place.scope), -1

    def more(self) -> Rare:
        """The rare part, made on demand."""
        if self.rare is None:
            self.rare = Rare()
        return self.rare

    @property
    def given_name(self) -> str | None:
        """The name that the user gave it."""
        return None if self.rare is None else self.rare.name

    def name_at(self, number: int) -> str | None:
        """The name that it had when ``number`` was drawn: a record keeps its names, whenever it is first looked at."""
        if self.rare is None:
            return None
        if not self.rare.renamed:
            return self.rare.name
        from bisect import bisect_right

        at = bisect_right(self.rare.renamed, number, key=itemgetter(0))
        return self.rare.renamed[at][1] if at < len(self.rare.renamed) else self.rare.name

    @property
    def extras(self) -> tuple[Any, ...]:
        return () if self.rare is None else self.rare.extras


UNSETTLED: Any = object()
"""In the place of a node: the array is in the user's hands, or what it is a view of has changed. No node, so that the hot path, which does not ask, fails on it."""

_blank: Callable[[], Any] = Node


def set_node_class(cls: type[Node]) -> None:
    """Called once by the Tensor class, of which all nodes are."""
    global _blank
    _blank = cls


def is_tensor(x: Any) -> bool:
    """Whether it is a Tensor, for those who cannot know that class."""
    return isinstance(x, Node)


def node(
    op: Op | None,
    inputs: tuple[Node, ...],
    params: dict[str, Any],
    value: Any,
    needs_grad: bool,
    *,
    uid: int = -1,
    place: Place = NOWHERE,
    lasti: int = -1,
) -> Node:
    """A node whose shares are to be looked at."""
    made: Node = _blank()
    made.plan = None if op is None else op.plan
    made.inputs = inputs
    made.params = params
    made.value = value
    made.needs_grad = made.tracked = needs_grad
    made.same = made.used = False
    made.uid = uid
    made.place, made.lasti = place, lasti
    made.rare = made.total = made.now = made.own = None
    return made


def twin(of: Node) -> Node:
    """The same node once more, which nobody has as a Tensor."""
    made: Node = _blank()
    made.plan, made.a, made.b, made.rest, made.params = of.plan, of.a, of.b, of.rest, of.params
    made.value, made.needs_grad, made.tracked, made.same = of.value, of.needs_grad, of.tracked, of.same
    made.uid, made.place, made.lasti = of.uid, of.place, of.lasti
    made.rare, made.used = of.rare, True
    made.total = made.now = made.own = None
    return made


def number(value: float) -> Node:
    """A constant that is a Python number, and weak therefore."""
    made: Node = _blank()
    made.plan = made.a = made.b = made.rest = made.rare = made.total = made.now = made.own = None
    made.needs_grad = made.tracked = made.same = made.used = False
    made.params = NO_PARAMS
    made.value = value
    made.uid = new_uid()
    made.place, made.lasti = NOWHERE, -1
    return made
