"""The methods behind Python's operators, and those that are named after an op. Knows no particular op."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tensorviz.engine.calls import frame, is_plain, operator_function
from tensorviz.engine.node import NO_PARAMS
from tensorviz.engine.refusals import refused
from tensorviz.engine.run import METHODS, apply, tensor_class

if TYPE_CHECKING:
    from tensorviz.engine.op import Op


def operator(op: Op, *, reflected: bool) -> Callable[[Any, Any], Any]:
    """The method behind a Python operator of two operands."""
    equality = op.operators[0] in ("__eq__", "__ne__")

    def method(self: Any, other: Any) -> Any:
        if other is None or isinstance(other, (str, dict, set)):
            if equality:
                return NotImplemented  # Python then compares identities: nothing equals None
            raise refused(op, 0 if reflected else 1, other)
        return apply(op, (other, self) if reflected else (self, other), NO_PARAMS)

    name = op.operators[1 if reflected else 0]
    written = _when_used(op, name, method, reflected=reflected) if is_plain(op) else method
    written.__name__ = name
    written.__doc__ = op.__doc__
    return written


def _when_used(op: Op, name: str, slow: Callable[[Any, Any], Any], *, reflected: bool) -> Callable[[Any, Any], Any]:
    """The operator until it is used: the first use has its fast form compiled, which takes its place; an import has no time for that."""

    def first(self: Any, other: Any) -> Any:
        if getattr(tensor_class(), name) is first:
            METHODS[name] = fast = operator_function(op, slow, reflected=reflected)
            fast.__name__, fast.__qualname__, fast.__doc__ = name, first.__qualname__, op.__doc__
            setattr(tensor_class(), name, fast)
        return slow(self, other)

    first.__qualname__ = f"Tensor.{name}"  # for Python's errors, as where pow() gets a third operand
    return first


def method_of(op: Op) -> Callable[..., Any]:
    """The op as a method of Tensor."""
    if len(op.slots) == 1 and not op.variadic:

        def alone(self: Any, *operands: Any, **params: Any) -> Any:
            return apply(op, (self, *operands), params) if operands or params else op.call.run(frame(1), self)

        method: Callable[..., Any] = alone
    else:

        def method(self: Any, *operands: Any, **params: Any) -> Any:
            return apply(op, (self, *operands), params)

    method.__name__ = op.name
    method.__doc__ = op.__doc__
    return method
