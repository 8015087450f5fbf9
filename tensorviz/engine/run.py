"""Running an op on Tensors, arrays and numbers, and recording it: the part that every operation of the user goes through. Knows no particular op."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorviz.engine.cuts import carry
from tensorviz.engine.graph import HUGE, NO_PARAMS, OURS, Node, constant, holds_tensor, uids
from tensorviz.engine.mode import current
from tensorviz.engine.refusals import FAILURES, explained, operand, refused
from tensorviz.engine.rules import function_of
from tensorviz.errors import DTypeError, TensorvizError

if TYPE_CHECKING:
    from tensorviz.engine.op import Op

METHODS: dict[str, Callable[..., Any]] = {}
"""Methods of Tensor by name, attached when the Tensor class is made and whenever an op is added."""

joined: Any = None
"""Puts a list with Tensors inside together as one Tensor; set by the op that does so."""

_tensor_class: Any = None


def set_tensor_class(cls: Any) -> None:
    """Called once by the Tensor class, which is built on top of this module."""
    global _tensor_class
    _tensor_class = cls
    for name, function in METHODS.items():
        if name not in cls.__dict__:
            setattr(cls, name, function)


def attach(name: str, function: Callable[..., Any]) -> None:
    """Make ``function`` a method of Tensor, unless it has one of that name."""
    METHODS[name] = function
    if _tensor_class is not None and name not in _tensor_class.__dict__:
        setattr(_tensor_class, name, function)


# What follows is written for speed: plain stores into the slots of a new object, since a call with as many arguments costs three times as much, and
# one object of one class for what is asked of an op, since every op is a class of its own and looking an attribute up on it has to start anew.

_FLOAT, _ARRAY, _DOUBLE, _make, _getframe = np.float64, np.ndarray, np.dtype(np.float64), object.__new__, sys._getframe
_NUMPY_1 = np.lib.NumpyVersion(np.__version__) < "2.0.0"


class Plan:
    """What running an op takes, read off it once."""

    __slots__ = ("exact", "extras", "plain", "run", "same_shape")

    def __init__(self, op: Op) -> None:
        self.run = op.run
        self.extras = bool(op.extras)
        self.plain = op.differentiable and not op.partial
        """A float result requires a gradient as soon as an operand does."""
        self.same_shape = (op.elementwise or op.broadcasts) and not op.foreign
        """Operands of the result's shape and dtype get shares of that shape and dtype; of a user's own rule nobody knows."""
        self.exact = function_of(op, "exact")


def apply(op: Op, operands: Sequence[Any], params: dict[str, Any]) -> Any:
    """Run an op on Tensors, arrays and scalars, and record it. Without a Tensor among the operands: the plain result."""
    cls, plan = _tensor_class, op.plan
    if len(operands) == 1 and type(operands[0]) is cls:
        node = operands[0]._node
        if node is None:
            node = operands[0]._settle()
        nodes: Any = (node,)
    else:
        found = None
        nodes = []
        for x in operands:
            if type(x) is cls or isinstance(x, cls):
                node = x._node or x._settle()
                if found is None:
                    found = node
                nodes.append(node)
            else:
                nodes.append(None)
        if found is None:
            whole = _whole(operands)
            return _plainly(op, operands, params) if whole is None else apply(op, whole, params)
        if None in nodes:
            like = found.value
            try:
                nodes = [constant(x, like) if n is None else n for n, x in zip(nodes, operands, strict=True)]
            except DTypeError:
                whole = _whole(operands)
                if whole is not None:
                    return apply(op, whole, params)
                for i, x in enumerate(operands):
                    if nodes[i] is None:
                        operand(op, i, x)
                raise
        nodes = tuple(nodes)
    try:
        if len(nodes) == 1:
            value = plan.run(node.value, **params) if params else plan.run(node.value)
        else:
            value = plan.run(*[n.value for n in nodes], **params)
    except TensorvizError:
        raise
    except FAILURES as error:
        if op.foreign:
            raise
        raise explained(op, [n.value for n in nodes], params, error) from error
    if plan.extras:
        value, extras = value
        return _finish(op, plan, nodes, params, value, extras)
    return _finish(op, plan, nodes, params, value, ())


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


_users_code: Any = None
"""The function of the user's that made the latest node: the next one mostly comes from the same."""


def _finish(op: Op, plan: Plan, nodes: tuple[Node, ...], params: dict[str, Any], value: Any, extras: tuple[Any, ...]) -> Any:
    """The Tensor of a result, made at the user's current line; its node without operands where no graph is recorded."""
    global _users_code
    # this function and its caller are ours, and so is mostly the next one: what the user calls
    frame: Any = _getframe(2)
    while frame is not None:
        code = frame.f_code
        if code is _users_code:
            break
        if not OURS[frame.f_globals.get("__name__")]:
            _users_code = code
            break
        frame = frame.f_back
    requires_grad = tracked = False
    for n in nodes:
        if n.tracked:
            tracked = True
            if n.requires_grad:
                requires_grad = True
    mode = current()
    if type(value) is _ARRAY:
        shape = value.shape
        if not shape:
            value = value[()]
    else:
        shape = ()
    node: Node = _make(Node)
    node.value = value
    node.uid = next(uids)
    node.scope = mode.scope
    node.rare = None
    if frame is None:
        node.code, node.lasti = None, -1
    else:
        node.code = code
        node.lasti = frame.f_lasti
    if tracked and mode.enabled:
        if requires_grad and type(value) is not _FLOAT and value.dtype.kind != "f":
            requires_grad = False
        if requires_grad and not plan.plain:
            requires_grad = op.differentiable and any(n.requires_grad and rule is not None for n, rule in zip(nodes, op.vjps, strict=False))
        node.op = op
        node.inputs = nodes
        node.params = params
        node.requires_grad = requires_grad
        node.tracked = True
        node.same = False
        if requires_grad:
            exact = plan.exact is not None and plan.exact(*[n.value for n in nodes])
            if exact or plan.same_shape:
                dtype = value.dtype
                for n in nodes:
                    if n.requires_grad and (n.value.dtype is not dtype or (n.value.size > HUGE if exact else n.value.shape != shape)):
                        break
                else:
                    # with NumPy 1 a rule may widen a scalar; fitting the share narrows it again
                    node.same = (not _NUMPY_1 or shape != () or dtype is _DOUBLE) and value.size <= HUGE
        if extras:
            node.more().extras = extras
    else:
        node.op, node.inputs, node.requires_grad, node.tracked, node.same = None, (), False, False, True
        node.params = NO_PARAMS
        for n in nodes:
            if n.tracked or (n.rare is not None and n.rare.cut is not None):
                carry(node, op.name, nodes)
                break
    made = _make(_tensor_class)
    made._node = node
    made._own = None
    return made


def operator(op: Op, *, reflected: bool) -> Callable[[Any, Any], Any]:
    """The method behind a Python operator of two operands."""
    equality = op.operators[0] in ("__eq__", "__ne__")

    def method(self: Any, other: Any) -> Any:
        if other is None or isinstance(other, (str, dict, set)):
            if equality:
                return NotImplemented  # Python then compares identities: nothing equals None
            raise refused(op, 0 if reflected else 1, other)
        return apply(op, (other, self) if reflected else (self, other), NO_PARAMS)

    written = _fast(op, method, reflected=reflected) if op.plan.plain and not op.plan.extras and op.joint is None else method
    written.__name__ = op.operators[1 if reflected else 0]
    written.__doc__ = op.__doc__
    return written


def _fast(op: Op, slow: Callable[[Any, Any], Any], *, reflected: bool) -> Callable[[Any, Any], Any]:
    """The same, written out for what nearly every call is: Tensors and numbers that fit, a graph that is recorded, a caller that was there before."""
    forward, same_shape, exact, make, getframe = op.run, op.plan.same_shape, op.plan.exact, object.__new__, sys._getframe

    def method(self: Any, other: Any) -> Any:
        a = self._node
        if type(other) is _tensor_class:
            b = other._node
        elif a is not None and (type(other) is float or type(other) is int):
            b = constant(other, a.value)
        else:
            return slow(self, other)
        frame = getframe(1)
        code = frame.f_code
        mode = current()
        if code is not _users_code or a is None or b is None or not (a.requires_grad or b.requires_grad) or not mode.enabled:
            return slow(self, other)
        if reflected:
            a, b = b, a
        x, y = a.value, b.value
        try:
            value = forward(x, y)
        except FAILURES:
            value = None
        if type(value) is _FLOAT:
            same = (type(x) is _FLOAT or not a.requires_grad) and (type(y) is _FLOAT or not b.requires_grad)
        elif type(value) is _ARRAY:
            dtype = value.dtype
            if dtype is not _DOUBLE and dtype.kind != "f":
                return slow(self, other)
            if value.size > HUGE:
                same = False
            elif exact is not None and exact(x, y):
                same = (not a.requires_grad or (x.dtype is dtype and x.size <= HUGE)) and (
                    not b.requires_grad or (y.dtype is dtype and y.size <= HUGE)
                )
            elif same_shape:
                shape = value.shape
                same = (not a.requires_grad or (x.shape == shape and x.dtype is dtype)) and (
                    not b.requires_grad or (y.shape == shape and y.dtype is dtype)
                )
            else:
                same = False
        else:
            return slow(self, other)
        node: Node = make(Node)
        node.op = op
        node.inputs = (a, b)
        node.params = NO_PARAMS
        node.value = value
        node.same = same
        node.requires_grad = node.tracked = True
        node.uid = next(uids)
        node.code = code
        node.lasti = frame.f_lasti
        node.scope = mode.scope
        node.rare = None
        made = make(_tensor_class)
        made._node = node
        made._own = None
        return made

    return method


def method_of(op: Op) -> Callable[..., Any]:
    """The op as a method of Tensor."""

    def method(self: Any, *operands: Any, **params: Any) -> Any:
        return apply(op, (self, *operands), params)

    method.__name__ = op.name
    method.__doc__ = op.__doc__
    return method


def inplace(op: Op) -> Callable[..., Any]:
    """The op as a method that replaces the Tensor's value."""

    def method(self: Any, *operands: Any, **params: Any) -> Any:
        return self._replace(op, operands, params)

    method.__name__ = op.name
    method.__doc__ = f"In place: {op.__doc__ or op.name}"
    return method
