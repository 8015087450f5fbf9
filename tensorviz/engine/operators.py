"""The methods behind Python's operators, and the form of them that nearly every call takes, written out for speed. Knows no particular op."""

from __future__ import annotations

import sys
from collections.abc import Callable
from operator import add, mul, sub, truediv
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorviz.engine.graph import HUGE, NUMPY_1, constant
from tensorviz.engine.mode import current
from tensorviz.engine.node import NO_PARAMS, UNSETTLED, new_uid
from tensorviz.engine.refusals import FAILURES, refused
from tensorviz.engine.run import METHODS, apply, fits, tensor_class

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
    written = _when_used(op, name, method, reflected=reflected) if op.plan.plain and not op.plan.extras and op.joint is None else method
    written.__name__ = name
    written.__doc__ = op.__doc__
    return written


def _when_used(op: Op, name: str, slow: Callable[[Any, Any], Any], *, reflected: bool) -> Callable[[Any, Any], Any]:
    """The operator until it is used: the first use has its fast form compiled, which takes its place; an import has no time for that."""

    def first(self: Any, other: Any) -> Any:
        if getattr(tensor_class(), name) is first:
            METHODS[name] = fast = _fast(op, slow, reflected=reflected)
            fast.__name__, fast.__doc__ = name, op.__doc__
            setattr(tensor_class(), name, fast)
        return slow(self, other)

    return first


_SIGNS: dict[Any, str] = {add: "x + y", sub: "x - y", mul: "x * y", truediv: "x / y"}
"""Forward rules that Python has an operator for: written out, a call is saved."""

_FAST = """
def method(self, other):
    a = self.now
    if a is None:
        a = self
    if type(other) is tensor:
        b = other.now
        if b is None:
            b = other
    elif (type(other) is float or type(other) is int) and a is not unsettled:
        b = constant(other, a.value)
    else:
        return slow(self, other)
    frame = getframe(1)
    mode = current()
    place = mode.place
    if frame.f_code is not place.code or not mode.enabled:
        return slow(self, other)
    {swap}
    try:
        if not (a.needs_grad or b.needs_grad):
            return slow(self, other)
        x = a.value
        y = b.value
        value = {result}
    except failures:  # also of a Tensor whose array is in the user's hands, and which has no node therefore
        return slow(self, other)
    if type(value) is scalar:
        same = (type(x) is scalar or not a.needs_grad) and (type(y) is scalar or not b.needs_grad)
    elif type(value) is array:
        dtype = value.dtype
        if dtype is not double and dtype.kind != "f":
            return slow(self, other)
        same = {same}
    else:
        return slow(self, other)
    made = tensor()
    made.plan = plan
    made.a = a
    made.b = b
    made.params = NO_PARAMS
    made.value = value
    made.same = same
    made.needs_grad = made.tracked = a.used = b.used = True
    made.uid = new_uid()
    made.place = place
    made.lasti = frame.f_lasti
    made.used = False
    made.rest = made.rare = made.total = made.now = made.own = None
    return made
"""


_SAME = (
    "(x.shape == y.shape and x.dtype is dtype and y.dtype is dtype if a.needs_grad and b.needs_grad"
    " else x.shape == value.shape and x.dtype is dtype if a.needs_grad else y.shape == value.shape and y.dtype is dtype) and value.size <= huge"
)
_EXACT = (
    "exact(x, y) and value.size <= huge and (not a.needs_grad or (x.dtype is dtype and x.size <= huge))"
    " and (not b.needs_grad or (y.dtype is dtype and y.size <= huge))"
)
"""What :func:`fits` says of two arrays."""


def _fast(op: Op, slow: Callable[[Any, Any], Any], *, reflected: bool) -> Callable[[Any, Any], Any]:
    """The same, written out for what nearly every call is: Tensors and numbers that fit, a graph that is recorded, a caller that was there before."""
    text = _FAST.format(
        swap="a, b = b, a" if reflected else "",
        result=_SIGNS.get(op.run, "forward(x, y)"),
        same="fits(plan, (a, b), value)" if NUMPY_1 else _SAME if op.plan.exact is None else f"{_EXACT} or {_SAME}",
    )
    names: dict[str, Any] = {
        "__name__": __name__,
        "slow": slow,
        "forward": op.run,
        "plan": op.plan,
        "fits": fits,
        "exact": op.plan.exact,
        "huge": HUGE,
        "tensor": tensor_class(),
        "failures": (*FAILURES, AttributeError),
        "constant": constant,
        "current": current,
        "new_uid": new_uid,
        "getframe": sys._getframe,
        "unsettled": UNSETTLED,
        "NO_PARAMS": NO_PARAMS,
        "scalar": np.float64,
        "array": np.ndarray,
        "double": np.dtype(np.float64),
    }
    exec(compile(text, f"<operator of {op.name}>", "exec"), names)  # noqa: S102 - text made from the lines above alone
    return names["method"]  # type: ignore[no-any-return]
