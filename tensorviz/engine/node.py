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
    from tensorviz.engine.own import Own
    from tensorviz.engine.run import Plan


uids = itertools.count(1)
"""Numbers nodes in the order in which they are made, so that the order of the graph needs no search."""
new_uid: Callable[[], int] = uids.__next__

NO_PARAMS: dict[str, Any] = {}


class Rare:
    """What few nodes have; kept apart so that the common node stays small."""

    __slots__ = ("changed", "cut", "extras", "name", "original", "owner", "path", "renamed", "rest", "tracked")

    name: str | None
    renamed: tuple[tuple[int, str | None], ...]
    """The names it had before, each with the number up to which it held (numbers are those of nodes and passes)."""
    rest: tuple[Node, ...]
    """Its operands beyond two."""
    extras: tuple[Any, ...]
    changed: Changed | None
    owner: Callable[[], Any] | None
    cut: Cut | None
    original: Any
    path: str | None
    """For a parameter or buffer: where it stands in its module, ``"0.weight"`` (empty while it stands in none)."""
    tracked: bool
    """A constant whose uses are recorded as if something depended on it."""

    def __init__(self) -> None:
        self.renamed = self.rest = self.extras = ()
        self.name = self.changed = self.owner = self.cut = self.original = self.path = None
        self.tracked = False

    def copy(self) -> Rare:
        made = Rare()
        for name in Rare.__slots__:
            setattr(made, name, getattr(self, name))
        return made


class Changed:
    """An in-place op that replaced a node's value for its Tensor: who did it, and where."""

    __slots__ = ("by", "code", "lasti", "op")

    def __init__(self, op: str, by: int, code: CodeType | None, lasti: int) -> None:
        self.op, self.by, self.code, self.lasti = op, by, code, lasti


class Node:
    """One value: a leaf or constant (``op`` is None) or the result of one op. Its value never changes.

    Every node is a :class:`Tensor`, so that code which runs over a graph meets objects of one class alone. What an op returns is node and
    Tensor in one, since most results are asked for nothing; the variable that a leaf is has its node apart (in :attr:`own`), as others come in its place.
    The hot path makes nodes with plain stores, a third of the cost of a call with as many arguments; it sets every slot.
    """

    __slots__ = ("__weakref__", "a", "b", "lasti", "needs_grad", "own", "params", "place", "plan", "rare", "total", "uid", "used", "value")

    plan: Plan | None
    """What the engine needs of its op, None for a leaf or constant. All plans are of one class: looking something up on ops, each a class of its own, is slow."""
    a: Any
    """Its first operand, a node; None if there is none."""
    b: Any
    """Its second operand; those beyond are among what few nodes have. A tuple of them all would be one more object per node for the cyclic collector to visit."""
    params: dict[str, Any]
    value: Any
    needs_grad: bool
    """A gradient reaches it. (``requires_grad`` is that of the Tensor, whose node may be another.)"""
    used: bool
    """Something may have been computed from it."""
    uid: int
    place: Place
    lasti: int
    """The instruction of the place's code that made it."""
    rare: Rare | None
    total: Any
    """What has arrived of its gradient, during a pass (see :mod:`tensorviz.engine.sweep`); else None."""

    own: Own | None
    """As a Tensor: what few of them have, and among it which node it stands for if it is not its own."""

    @property
    def op(self) -> Op | None:
        """What it is the result of."""
        return None if self.plan is None else self.plan.op

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The operands, in slot order."""
        a, b = self.a, self.b
        return () if a is None else (a,) if b is None else (a, b) if self.rare is None else (a, b, *self.rare.rest)

    @inputs.setter
    def inputs(self, nodes: tuple[Node, ...]) -> None:
        self.a, self.b = (*nodes[:2], None, None)[:2]
        rest, rare = nodes[2:], self.rare
        if rest or (rare is not None and rare.rest):
            self.rare = Rare() if rare is None else rare.copy()  # its twin has the same one
            self.rare.rest = rest

    @property
    def tracked(self) -> bool:
        """It depends on something that requires a gradient, though it may carry none itself (a comparison)."""
        return self.needs_grad or self.plan is not None or (self.rare is not None and self.rare.tracked)

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

_blank: Callable[[], Any]


def set_blank(blank: Callable[[], Any]) -> None:
    """Called once by the Tensor class, of which all nodes are, with what makes one that has nothing in it."""
    global _blank
    _blank = blank


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
    made.rare = made.total = made.own = None
    made.inputs = inputs
    made.params = params
    made.value = value
    made.needs_grad = needs_grad
    made.used = False
    made.uid = uid
    made.place, made.lasti = place, lasti
    return made


def twin(of: Node) -> Node:
    """The same node once more, which nobody has as a Tensor."""
    made: Node = _blank()
    made.plan, made.a, made.b, made.params, made.value = of.plan, of.a, of.b, of.params, of.value
    made.needs_grad, made.uid, made.place, made.lasti = of.needs_grad, of.uid, of.place, of.lasti
    made.rare, made.used = of.rare, True
    made.total = made.own = None
    return made


def fixed(value: Any) -> Node:
    """A constant: a Python number, which is weak therefore, or what nobody writes to."""
    made: Node = _blank()
    made.plan = made.a = made.b = made.rare = made.total = made.own = None
    made.needs_grad = made.used = False
    made.params = NO_PARAMS
    made.value = value
    made.uid = new_uid()
    made.place = NOWHERE
    made.lasti = -1
    return made
