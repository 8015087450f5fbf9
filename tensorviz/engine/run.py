"""Running an op on Tensors, arrays and numbers, and recording it: the part that every operation of the user goes through. Knows no particular op."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorviz.engine.cuts import carry
from tensorviz.engine.graph import HUGE, NUMPY_1, OURS, constant, holds_tensor
from tensorviz.engine.mode import NOWHERE, Place, current
from tensorviz.engine.node import NO_PARAMS, UNSETTLED, Node, new_uid
from tensorviz.engine.refusals import FAILURES, explained, operand
from tensorviz.engine.words import ON_TENSORS, Word
from tensorviz.errors import DTypeError, TensorvizError

if TYPE_CHECKING:
    from tensorviz.engine.op import Op
    from tensorviz.engine.tensor import Tensor

METHODS: dict[str, Callable[..., Any]] = {}
"""Methods of Tensor by name, attached when the Tensor class is made and whenever an op is added."""

joined: Any = None
"""Puts a list with Tensors inside together as one Tensor; set by the op that does so."""

_tensor_class: Any = None
_blank: Callable[[], Any] = Node
TENSORS: set[type[Node]] = set()
"""The classes whose objects the written-out calls take beside Tensors themselves."""


def set_tensor_class(cls: Any, blank: Callable[[], Any]) -> None:
    """Called once by the Tensor class, which is built on top of this module. ``blank`` makes one with nothing in it."""
    global _tensor_class, _blank
    _tensor_class, _blank = cls, blank
    for name, function in METHODS.items():
        if name not in cls.__dict__:
            setattr(cls, name, function)
    for name, advice in ON_TENSORS.items():
        if not hasattr(cls, name):
            setattr(cls, name, Word(name, advice))


def tensor_class() -> Any:
    """The Tensor class."""
    return _tensor_class


def blank_tensor() -> Callable[[], Any]:
    """What makes a Tensor with nothing in it."""
    return _blank


def attach(name: str, function: Callable[..., Any]) -> None:
    """Make ``function`` a method of Tensor, unless it has one of that name."""
    standing_in = METHODS.get(name) in _LATER
    METHODS[name] = function
    there = None if _tensor_class is None else _tensor_class.__dict__.get(name)
    if _tensor_class is not None and (there is None or standing_in or isinstance(there, Word)):
        setattr(_tensor_class, name, function)


_LATER: set[Any] = set()


def attach_later(name: str, load: Callable[[], Any]) -> None:
    """Make it a method of Tensor that ``load`` attaches one of this name, when it is first called.

    A ``__getattr__`` of the class would do as well, and would make every look at a slot of a node three times as slow.
    """

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        load()
        return METHODS[name](self, *args, **kwargs)

    method.__name__ = name
    _LATER.add(method)
    attach(name, method)


# What follows is written for speed: plain stores into the slots of a new object, since a call with as many arguments costs three times as much, and
# one object of one class for what is asked of an op, since every op is a class of its own and looking an attribute up on it has to start anew.

_FLOAT, _ARRAY, _DOUBLE, _getframe = np.float64, np.ndarray, np.dtype(np.float64), sys._getframe


def _no_rule(node: Node, g: Any) -> tuple[Any, ...]:
    raise NotImplementedError(f"{node.op!r} carries no gradient")  # and so its results are never pulled


class Plan:
    """What running an op takes, read off it once. Each op has three of them: a node of one of its calls has that which says whether its shares need a look."""

    __slots__ = ("exact", "extras", "huge", "large", "one_to_one", "op", "plain", "pull", "row", "rows", "run", "same", "same_shape", "sure", "tells")

    sure: Plan
    """That of which ``same`` holds."""
    huge: Plan
    """That of which ``large`` holds."""
    rows: Plan
    """That of which ``row`` holds."""

    def __init__(self, op: Op, exact: Callable[..., bool] | None) -> None:
        self.op = op
        self.run = op.run
        self.pull: Callable[[Node, Any], tuple[Any, ...]] = _no_rule
        self.extras = bool(op.extras)
        self.plain = op.differentiable and not op.partial
        """A float result requires a gradient as soon as an operand does."""
        self.same_shape = op.elementwise and not op.foreign and op.joint is None
        """Operands of the result's shape and dtype get shares of that shape and dtype; of a user's own rule nobody knows.

        To broadcast does not suffice: what is assigned to ``x[None]`` may have the shape of ``x``, and its share has another."""
        self.one_to_one = op.elementwise and not op.foreign and not op.variadic and len(op.slots) == 1
        """Its only operand has the result's shape."""
        self.exact = exact
        self.tells = self.same_shape or exact is not None
        self.same = False
        """Shares need no look: they come in the operands' shapes and dtypes, and none is huge."""
        self.large = False
        """They come in the operands' shapes and dtypes, and some may be huge."""
        self.row = False
        """The first comes in the shape of its operand and of the result; so does the second, whose operand was repeated along the first axis, as the bias of a layer is.
        Dtypes are all the same."""


def exactly(expression: str, slots: tuple[str, ...]) -> Callable[..., bool]:
    """An op's :attr:`exact <tensorviz.engine.op.Op.exact>` as a function of the operands' arrays."""
    return eval(f"lambda {', '.join(slots)}: {expression}")  # type: ignore[no-any-return]  # noqa: S307 - an expression of ours


def plan_of(op: Op) -> Plan:
    """What running the op takes."""
    exact = exactly(op.exact, op.slots) if op.exact else None
    plan, sure, huge, rows = plans = [Plan(op, exact) for _ in range(4)]
    for made in plans:
        made.sure, made.huge, made.rows = sure, huge, rows
    sure.same = huge.large = rows.row = True
    return plan


def apply(op: Op, operands: Sequence[Any], params: dict[str, Any]) -> Any:
    """Run an op on Tensors, arrays and scalars, and record it, at the user's current line. Without a Tensor among the operands: the plain result."""
    plan = op.plan
    nodes: tuple[Node, ...] | None
    if len(operands) == 1 and type(operands[0]) is _tensor_class:
        own = operands[0].own
        now = None if own is None else own.now
        nodes = (operands[0] if now is None else now if now is not UNSETTLED else operands[0]._settle(),)
    else:
        nodes = _several(op, operands)
    if nodes is None:
        whole = _whole(operands)
        return _plainly(op, operands, params) if whole is None else apply(op, whole, params)
    a = nodes[0]
    alone = len(nodes) == 1
    try:
        if not alone:
            value = plan.run(*[n.value for n in nodes], **params)
        else:
            value = plan.run(a.value, **params) if params else plan.run(a.value)
    except TensorvizError:
        raise
    except FAILURES as error:
        if op.foreign:
            raise
        raise explained(op, [n.value for n in nodes], params, error) from error
    extras: tuple[Any, ...] = ()
    if plan.extras:
        value, extras = value
    if type(value) is _ARRAY and not value.shape:
        value = value[()]
    mode = current()
    place = mode.place
    # this function and its caller are ours, and so is mostly the next one: what the user calls
    frame: Any = _getframe(2)
    while frame is not None and frame.f_code is not place.code:
        if not OURS[frame.f_globals.get("__name__")]:
            place = Place(frame.f_code, mode.scope)
            if mode.enabled:
                mode.place = place
            break
        frame = frame.f_back
    a.used = True
    needs_grad = a.needs_grad
    tracked = needs_grad or a.tracked
    if not alone:
        for n in nodes:
            n.used = True
            if n.needs_grad:
                needs_grad = tracked = True
            elif not tracked:
                tracked = n.tracked
    made: Tensor = _blank()
    made.value = value
    made.uid = new_uid()
    made.used = False
    made.b = made.rare = made.total = made.own = None
    if frame is None:
        made.place, made.lasti = NOWHERE, -1
    else:
        made.place = place
        made.lasti = frame.f_lasti
    if tracked and mode.enabled:
        made.params = params
        if alone:
            made.a = a
        else:
            made.inputs = nodes
        if needs_grad and type(value) is not _FLOAT and value.dtype.kind != "f":
            needs_grad = False
        elif needs_grad and not plan.plain:
            needs_grad = op.differentiable and any(n.needs_grad and rule is not None for n, rule in zip(nodes, op.vjps, strict=False))
        made.needs_grad = needs_grad
        made.plan = chosen(plan, nodes, value) if needs_grad and plan.tells and len(nodes) < 3 else plan
        if extras:
            made.more().extras = extras
    else:
        made.plan = made.a = None
        made.needs_grad = False
        made.params = NO_PARAMS
        for n in nodes:
            if n.tracked or (n.rare is not None and n.rare.cut is not None):
                carry(made, op.name, nodes)
                break
    return made


def _several(op: Op, operands: Sequence[Any]) -> tuple[Node, ...] | None:
    """The nodes of the operands, constants for those that are no Tensors; None if none is."""
    cls = _tensor_class
    found = None
    nodes: list[Any] = []
    for x in operands:
        if type(x) is cls or isinstance(x, cls):
            node = x._current()
            if found is None:
                found = node
            nodes.append(node)
        else:
            nodes.append(None)
    if found is None:
        return None
    if None in nodes:
        try:
            return tuple([constant(x, found.value) if n is None else n for n, x in zip(nodes, operands, strict=True)])
        except DTypeError:
            if _whole(operands) is not None:
                return None  # which puts them together
            for i, x in enumerate(operands):
                if nodes[i] is None:
                    operand(op, i, x)
            raise
    return tuple(nodes)


def _whole(operands: Sequence[Any]) -> list[Any] | None:
    """The operands with each list that has Tensors inside as one Tensor; None if there is no such list."""
    lists = [isinstance(x, (list, tuple)) and holds_tensor(x) for x in operands]
    return [joined(x) if inside else x for x, inside in zip(operands, lists, strict=True)] if any(lists) else None


_VALUES = (np.ndarray, np.generic, bool, int, float)


def _plainly(op: Op, operands: Sequence[Any], params: dict[str, Any]) -> Any:
    """The result without a Tensor among the operands: lists become arrays, and what does not fit is refused in the same words."""
    values = [x if isinstance(x, _VALUES) else operand(op, i, x) for i, x in enumerate(operands)]
    try:
        result = op.run(*values, **params)
    except TensorvizError:
        raise
    except FAILURES as error:
        if op.foreign:
            raise
        raise explained(op, values, params, error) from error
    return result[0] if op.extras else result


def chosen(plan: Plan, nodes: tuple[Node, ...], value: Any) -> Plan:
    """The plan that says whether shares need a look. With NumPy 1 those of narrow dtypes do, since numbers in a rule may widen them."""
    dtype = value.dtype
    narrow = NUMPY_1 and dtype is not _DOUBLE
    if narrow and value.shape == ():
        return plan
    needed = [n.value for n in nodes if n.needs_grad]
    for x in needed:
        if x.dtype is not dtype:
            return plan
    if plan.same_shape and len(needed) == 2 and needed[0].shape[1:] == needed[1].shape != needed[0].shape:
        return plan.rows
    if narrow or not (
        plan.one_to_one
        or (plan.exact is not None and plan.exact(*[n.value for n in nodes]))
        or (plan.same_shape and all(x.shape == value.shape for x in needed))
    ):
        return plan
    return plan.sure if value.size <= HUGE and all(x.size <= HUGE for x in needed) else plan.huge


def inplace(op: Op) -> Callable[..., Any]:
    """The op as a method that replaces the Tensor's value."""

    def method(self: Any, *operands: Any, **params: Any) -> Any:
        return self._replace(op, operands, params)

    method.__name__ = op.name
    method.__doc__ = f"In place: {op.__doc__ or op.name}"
    return method
