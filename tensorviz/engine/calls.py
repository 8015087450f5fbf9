"""How an op is called: the form that nearly every call takes, written out for speed; all others go to :func:`apply`. Knows no particular op."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorviz.engine.graph import HUGE, NUMPY_1, OURS, constant
from tensorviz.engine.mode import Mode, Place, current
from tensorviz.engine.node import NO_PARAMS, fixed, new_uid
from tensorviz.engine.refusals import FAILURES
from tensorviz.engine.rules import NAME, least, parameters
from tensorviz.engine.run import TENSORS, apply, blank_tensor, chosen, tensor_class

if TYPE_CHECKING:
    from tensorviz.engine.op import Op

frame = sys._getframe
"""``frame(1)`` in a public function is the user's, or one of ours that the user has called."""


class Call:
    """An op with some of its parameters, to be run from a frame: ``call.run(frame(1), *operands, *parameters)``.

    What runs is compiled when it is first used; an import has no time for that.
    """

    __slots__ = ("names", "op", "run")

    def __init__(self, op: Op, *names: str) -> None:
        self.op, self.names = op, names
        self.run: Callable[..., Any] = self._first

    def _first(self, *given: Any) -> Any:
        self.run = function(self.op, self.names) if is_plain(self.op) else self._applied
        return self.run(*given)

    def _applied(self, _frame: Any, *given: Any) -> Any:
        n = len(given) - len(self.names)
        return apply(self.op, given[:n], dict(zip(self.names, given[n:], strict=True)))


def is_plain(op: Op) -> bool:
    """Whether the calls of an op can be written out: one or two operands, which it always has and has rules for."""
    plan = op.plan
    return plan.plain and not plan.extras and not op.foreign and op.joint is None and not op.variadic and least(op) == len(op.slots) < 3


def elsewhere(frame: Any, mode: Mode) -> tuple[Any, Place | None]:
    """The frame of the user's code that a call comes from, and its place; None where nobody's code called."""
    while OURS[frame.f_globals.get("__name__")]:
        frame = frame.f_back
        if frame is None:
            return None, None
    place = mode.place if mode.enabled else mode.unrecorded
    if frame.f_code is not place.code:
        place = Place(frame.f_code, mode.scope)
        if mode.enabled:
            mode.place = place
        else:
            mode.unrecorded = place
    return frame, place


# ---- the text: `a` and `b` are the nodes of the operands, `x` and `y` their arrays. It stands in a loop that is run once, out of which it breaks where nothing
# ---- is recorded and where something does not fit; and says little of what is rare, since each op that a pass comes by has its own text, and all of it has to
# ---- go through the processor's cache.

_TENSOR = """
        {node} = {given}.own
        if {node} is None or ({node} := {node}.now) is None:
            {node} = {given}
"""
_OPERAND = """
        kind = type({given})
        if kind is tensor or kind in tensors:
            {node} = {given}.own
            if {node} is None or ({node} := {node}.now) is None:
                {node} = {given}
        elif kind in plain:
            {node} = None
        else:
            return {slow}
"""
_PLACE = """
        mode = current()
        place = mode.place
        if frame.f_code is not place.code:
            frame, place = elsewhere(frame, mode)
            if place is None or not mode.enabled:
                break
"""
_RESULT = """
        try:
            {constants}
            if not ({wanted}):
                break
            {arrays}
            value = {result}
        except failures:  # also of a Tensor whose array is in the user's hands, and which has no node therefore
            break
        kind = type(value)
        if kind is scalar:
            made_by = {of_number}
        elif kind is array:
            {without_axes}
            dtype = value.dtype
            if dtype is not double and dtype.kind != "f":
                break
            made_by = {of_array}
        else:
            break
        made = blank()
        made.plan = made_by
        made.a = a
        made.b = {b}
        made.params = {params}
        made.value = value
        made.needs_grad = {used} = True
        made.uid = new_uid()
        made.place = place
        made.lasti = frame.f_lasti
        made.used = False
        made.rare = made.total = made.own = None
        return made
    {end}
"""


def operator_function(op: Op, method: Callable[[Any, Any], Any], *, reflected: bool) -> Callable[[Any, Any], Any]:
    """A Python operator of two operands, the first of which is a Tensor."""
    own, its = ("b", "a") if reflected else ("a", "b")
    slow = "slow(self, other)"
    end = _end(slow, "a", "b", *(("other", "self") if reflected else ("self", "other")))
    text = [
        "def _method(self, other):",
        "    frame = getframe(1)",
        "    while True:",
        _TENSOR.format(node=own, given="self"),
        _OPERAND.format(node=its, given="other", slow=slow),
        _PLACE,
        _pair(op, end, NO_NAMES, _made("other", its, own)),
    ]
    return _compiled(op, text, "_method", NO_NAMES, slow=method)


NO_NAMES: tuple[str, ...] = ()


def function(op: Op, names: tuple[str, ...] = NO_NAMES) -> Callable[..., Any]:
    """``call(frame, *operands, *parameters)`` of an op."""
    pair = len(op.slots) == 2
    given = ("first", "second") if pair else ("first",)
    own = [_own(n) for n in names]
    params = ", ".join([f"{n!r}: {_own(n)}" for n in names])
    slow = f"apply(op, ({', '.join(given)},), {{{params}}})"
    text = [f"def _call(frame, {', '.join((*given, *own))}):", "    while True:"]
    if pair:
        text += [_OPERAND.format(node=node, given=name, slow=slow) for node, name in zip("ab", given, strict=True)]
        made = _made("first", "a", "b"), f"el{_made('second', 'b', 'a')}"
        text += [_PLACE, _pair(op, _end(slow, "a", "b", *given, *own), names, "\n            ".join(made))]
    else:
        text += [f"        if type(first) is not tensor and type(first) not in tensors: return {slow}"]
        text += [_TENSOR.format(node="a", given="first"), _PLACE, _alone(op, _end(slow, "a", *own), names)]
    return _compiled(op, text, "_call", names)


def _end(slow: str, *given: str) -> str:
    """The statements that a call comes to which is not recorded, or does not fit."""
    return f"made = unrecorded(op, result_of, frame, place, {', '.join(given)})\n    return {slow} if made is None else made"


def _made(given: str, node: str, other: str) -> str:
    """The statement that makes the node of an operand that is no Tensor, if something is recorded of it."""
    lines = f"if {node} is None:", f"    if not {other}.needs_grad: break", f"    {node} = {_constant(given, other)}"
    return "\n            ".join(lines)


def _constant(given: str, other: str) -> str:
    """The expression for the node of an operand that is no Tensor."""
    made = f"constant({given}, {other}.value)"
    return made if NUMPY_1 else f"fixed({given}) if type({given}) is float or type({given}) is int else {made}"


def _alone(op: Op, end: str, names: tuple[str, ...]) -> str:
    plan = op.plan
    of_number = of_array = "plan"
    if op.exact:
        known = f"({_written(op, op.exact)})"
        of_array = f"(sure if value.size <= limit and x.size <= limit else huge) if x.dtype is dtype and {known} else plan"
        of_number = f"(sure if x.size <= limit else huge) if x.dtype is double and {known} else plan"
    elif plan.one_to_one or plan.same_shape:
        shape = "" if plan.one_to_one else " and x.shape == value.shape"
        of_array = f"(sure if value.size <= limit else huge) if x.dtype is dtype{shape} else plan"
        of_number = "sure if type(x) is scalar else plan"
    return _filled(op, end, names, "", of_array, of_number, ("a",))


def _pair(op: Op, end: str, names: tuple[str, ...], constants: str) -> str:
    plan = op.plan
    of_number = of_array = "plan"
    if plan.same_shape:
        one = "((sure if value.size <= limit else huge) if {0}.shape == value.shape and {0}.dtype is dtype else plan)"
        fits = "(sure if value.size <= limit else huge) if (shape := x.shape) == (its := y.shape) else rows if shape[1:] == its else plan"
        both = f"(({fits}) if x.dtype is dtype and y.dtype is dtype else plan)"  # as one of them has the result's shape
        of_array = f"{both} if a.needs_grad and b.needs_grad else {one.format('x')} if a.needs_grad else {one.format('y')}"
        of_number = "sure if (type(x) is scalar or not a.needs_grad) and (type(y) is scalar or not b.needs_grad) else plan"
    if op.exact:
        small = "x.size <= limit and y.size <= limit"
        fit = f"({_written(op, op.exact)}) and x.dtype is {{0}} and y.dtype is {{0}}"
        of_array = f"(sure if value.size <= limit and {small} else huge) if {fit.format('dtype')} else {of_array}"
        of_number = f"(sure if {small} else huge) if {fit.format('double')} else {of_number}"
    return _filled(op, end, names, constants, of_array, of_number, ("a", "b"))


def _filled(op: Op, end: str, names: tuple[str, ...], constants: str, of_array: str, of_number: str, nodes: tuple[str, ...]) -> str:
    values = dict(zip(nodes, "xy", strict=False))
    params = ", ".join([f"{n!r}: {_own(n)}" for n in names])
    asked = f"chosen(plan, ({', '.join(nodes)},), value)"
    return _RESULT.format(
        end=end,
        constants=constants or "pass",
        wanted=" or ".join([f"{n}.needs_grad" for n in nodes]),
        arrays="; ".join([f"{v} = {n}.value" for n, v in values.items()]),
        result=_forward(op, names, list(values.values())),
        without_axes="pass" if op.expression or isinstance(op.run, np.ufunc) else "if not value.ndim: value = value[()]",
        of_array=asked if NUMPY_1 else of_array,
        of_number=asked if NUMPY_1 else of_number,
        b=nodes[1] if len(nodes) > 1 else "None",
        params=f"{{{params}}}" if names else "NO_PARAMS",
        used=" = ".join([f"{n}.used" for n in nodes]),
    )


def _forward(op: Op, names: tuple[str, ...], arrays: list[str]) -> str:
    """The expression for the result. Of NumPy 1 the forward rule gives it, which has been taught that Python numbers are weak."""
    if op.expression and not NUMPY_1 and not set(parameters(op.run)).difference(op.slots, names).intersection(re.findall(NAME, op.expression)):
        return _written(op, op.expression)
    return f"forward({', '.join([*arrays, *[f'{n}={_own(n)}' for n in names]])})"


def _own(name: str) -> str:
    """A parameter in the text, where a name like ``mode`` stands for something else."""
    return f"its_{name}"


def _written(op: Op, expression: str) -> str:
    """An expression in the names of an op's slots and parameters, in those that they have here."""
    here = {name: _own(name) for name in parameters(op.run)} | dict(zip(op.slots, "xy", strict=False))
    return re.sub(NAME, lambda m: here.get(m[0], m[0]), expression)


_PLAIN = frozenset([float, int, np.ndarray, bool, np.float64])
"""What an operand may be beside a Tensor."""


def _compiled(op: Op, text: list[str], name: str, params: tuple[str, ...], **further: Any) -> Callable[..., Any]:
    from tensorviz.engine import unrecorded  # not at an import, which has no use for it

    arrays = ["x", "y"][: len(op.slots)]
    text = [f"result_of = lambda {', '.join([*arrays, *map(_own, params)])}: {_forward(op, params, arrays)}", *text]
    theirs = vars(sys.modules[type(op).__module__])
    names: dict[str, Any] = {
        **{name: theirs[name] for name in re.findall(NAME, op.expression) if name in theirs},
        "__name__": __name__,
        "op": op,
        "forward": op.run,
        "plan": op.plan,
        "sure": op.plan.sure,
        "apply": apply,
        "chosen": chosen,
        "huge": op.plan.huge,
        "rows": op.plan.rows,
        "limit": HUGE,
        "tensor": tensor_class(),
        "tensors": TENSORS,
        "plain": _PLAIN,
        "blank": blank_tensor(),
        "failures": (*FAILURES, AttributeError),
        "constant": constant,
        "fixed": fixed,
        "current": current,
        "elsewhere": elsewhere,
        "unrecorded": unrecorded.pair if len(arrays) == 2 else unrecorded.alone,
        "new_uid": new_uid,
        "getframe": frame,
        "NO_PARAMS": NO_PARAMS,
        "scalar": np.float64,
        "array": np.ndarray,
        "double": np.dtype(np.float64),
        **further,
    }
    exec(compile("\n".join(text), f"<call of {op.name}>", "exec"), names)  # noqa: S102 - text made from the lines above and an op's own names alone
    return names[name]  # type: ignore[no-any-return]
