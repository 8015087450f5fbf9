"""Numbers that left the graph: read out of a Tensor that requires a gradient, by ``float()`` or into an array. Knows no op."""

from __future__ import annotations

import importlib
import sys
import warnings
from collections import deque
from opcode import opmap, opname
from types import CodeType
from typing import Any

import numpy as np

from tensorviz.engine.graph import OURS, local
from tensorviz.engine.node import Node
from tensorviz.errors import InPlaceError, NoRuleError

LARGEST = 16
"""Elements up to which what is read out is remembered: buffers are filled by numbers or short rows."""


class Exit:
    """One number on its way out."""

    __slots__ = ("code", "lasti", "op", "value")

    def __init__(self, value: float, op: str, code: CodeType, lasti: int) -> None:
        self.value, self.op, self.code, self.lasti = value, op, code, lasti


_LOOKING = ("ndim", "shape", "size")
"""Functions of NumPy that look at an array and take nothing out of it."""


def refuse_assignment(what: str, frame: Any = None) -> None:
    """Raise where a Tensor is assigned to elements of an array, which takes its numbers without its gradient. ``frame``: the user's, two frames up if None."""
    frame = frame or sys._getframe(2)
    if frame.f_lasti >= 0 and frame.f_code.co_code[frame.f_lasti] in _STORES:
        raise InPlaceError(
            f"{what}, which requires a gradient, cannot be assigned to elements of an array: that holds plain numbers, and the gradient would be lost. "
            f"Make the array a Tensor, e.g. by np.zeros_like(x), or assign x.numpy() (of one number x.item()) where no gradient is meant"
        )


def refuse_in_rule(t: Any) -> None:
    """Raise where the user's own backward rule, run on Tensors, makes plain numbers of one: what it returns would look as if it did not depend on it."""
    rule = local.thread.rule
    if rule is None or OURS[sys._getframe(2).f_globals.get("__name__")] or not rule[1](t):
        return
    raise NoRuleError(
        f"the backward rule of {rule[0].op.name} runs on Tensors here, for a higher derivative, and makes plain numbers of {t._what()}: "  # type: ignore[union-attr]
        f"the derivative would lose all that depends on them. Write the rule in operators and NumPy calls on what it is given, or take x.numpy() where values alone are meant"
    )


def refuse_call(what: str, frame: Any, values: Any, *, operators: bool) -> None:
    """Raise where the user's code calls what is written in C and asks no Tensor for a rule; ``operators``: or has one work on a list. Warn where an array is asked for of a list that stands there."""
    asked = opname[frame.f_code.co_code[frame.f_lasti]] if frame.f_lasti >= 0 else ""
    called = asked.startswith(("CALL", "PRECALL"))  # where Python 3.11 stands in a call of what is in C, once the code has run a few times
    if not called and not (operators and asked in ("BINARY_OP", "COMPARE_OP")):
        return
    if frame.f_code in LEAVES:
        _warn_of_list("tensor()", "a leaf", what, 5)
    if OURS[frame.f_globals.get("__name__")] or _is_library(frame):
        return
    callees = importlib.import_module("tensorviz.engine.callees")
    name, function, listed = callees.callee(frame) if called else ("", None, False)
    found = callees.taker(name, function, values) if called else ("an operator on an array and a list", callees.JOIN)
    if found is not None:
        taker, advice = found
        raise NoRuleError(
            f"{taker} makes plain arrays of what it is given, which would take {what}, which requires a gradient, out of the graph; {advice}, or give it x.numpy() where no gradient is meant"
        )
    number = callees.of_numbers(function)
    if number is not None:
        warnings.warn(
            f"{number[0]} takes plain numbers, so that {what}, which requires a gradient, gets none from what is computed with them; "
            f"{number[1]} keeps the gradient. Give it x.item() or x.numpy() where numbers are meant",
            UserWarning,
            stacklevel=4,
        )
    if listed and any(function is f for f in _ARRAYS):
        _warn_of_list(f"np.{name}", "a plain array", what, 4)


LEAVES: set[CodeType] = set()
"""The code of what makes a leaf of the user's lists."""


def _warn_of_list(name: str, made: str, what: str, level: int) -> None:
    warnings.warn(
        f"{name} of a list makes {made} of numbers, so that {what}, which requires a gradient, gets none from what is computed with it; "
        f"tv.stack takes such a list and keeps the gradient. Give it x.numpy() where numbers are meant",
        UserWarning,
        stacklevel=level + 1,
    )


_ARRAYS = (np.array, np.asarray, np.asanyarray, np.ascontiguousarray)


def _is_library(frame: Any) -> bool:
    """Whether a frame is of an installed library, not of the user: what that reads out (one that draws, say) goes nowhere."""
    return frame.f_code.co_filename.startswith(_LIBRARIES) and not OURS[frame.f_globals.get("__name__")]


def refuse(what: str, values: Any = None, dtype: Any = None, *, number: bool = False) -> None:
    """Raise where a Tensor is made an array, or a ``number``, by an assignment to elements of one, or by NumPy's own code: the user never sees that a gradient is lost."""
    frame: Any = sys._getframe(2)
    module, function = frame.f_globals.get("__name__", ""), None
    if not module.startswith("numpy.") or module.startswith("numpy.testing") or frame.f_code.co_name in _LOOKING:
        refuse_assignment(what, frame)
        refuse_call(what, frame, values, operators=not number)
        if module.startswith("pandas.") and frame.f_code.co_name == "dot":
            raise NoRuleError(
                f"a product of pandas' makes plain arrays of what it is given, which would take {what}, which requires a gradient, out of the graph; "
                f"write data.to_numpy() @ x, or give it x.numpy() where no gradient is meant"
            )
        if dtype is None or np.dtype(dtype) != object:
            return
        raise NoRuleError(
            f"an array of objects would take {what}, which requires a gradient, out of the graph; write the function in NumPy calls, which work on whole arrays, or give it x.numpy()"
        )
    while frame is not None and frame.f_globals.get("__name__", "").startswith("numpy."):
        function, frame = frame.f_code.co_qualname, frame.f_back
    if frame is not None and _is_library(frame):
        return
    if module.partition(".")[2].split(".")[0] == "ma":
        raise NoRuleError(
            f"numpy.ma would take {what}, which requires a gradient, out of the graph; select with np.where(mask, other, x), or give it x.numpy()"
        )
    advice = (
        _POLYNOMIAL
        if module.startswith("numpy.polynomial.")
        else _ADVICE.get(str(function), "put lists of Tensors together with tv.stack or tv.concatenate")
    )
    raise NoRuleError(
        f"NumPy's {function} makes plain arrays of what it is given, which would take {what}, which requires a gradient, out of the graph; {advice}, or give it x.numpy() where no gradient is meant"
    )


_STORES = {opmap[name] for name in ("STORE_SUBSCR", "STORE_SLICE") if name in opmap}
"""What Python calls ``a[i] = v`` and ``a[i:j] = v`` in its code."""
_LIBRARIES = np.__file__.rpartition("numpy")[0]
"""Where libraries are installed."""
_POLYNOMIAL = "write np.polyval(c[::-1], x), in which the highest power comes first, or a product with np.vander(x)"
_ADVICE = {
    "AxisConcatenator.__getitem__": "write np.concatenate for np.r_ and np.column_stack for np.c_",
    "vectorize.__call__": "write the function in NumPy calls, which work on whole arrays, in place of np.vectorize",
    "ndenumerate.__init__": "loop over np.ndindex(x.shape), or over enumerate(x.flat)",
    "select": "give the default as the last choice, as in np.select([c, np.full_like(c, True)], [a, x]), or write np.where(c, a, x)",
    "as_strided": "cut windows with np.lib.stride_tricks.sliding_window_view, and other parts with slices and indices",
    "full": "write np.full_like(x, ...) with x a Tensor, or np.broadcast_to",
}
"""What to do instead, by the function of NumPy that was called."""


def left(node: Node, recorded: bool) -> None:
    """Note that the user's own code, not NumPy's or ours, reads a value out. Under ``no_grad`` or after ``detach`` it is meant, also if it happened before."""
    if not (recorded and node.needs_grad):
        thread = local.thread
        if thread.exits:
            meant = set(np.ravel(node.value).tolist())
            thread.exits = deque([e for e in thread.exits if e.value not in meant], maxlen=thread.exits.maxlen)
        return
    frame: Any = sys._getframe(2)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "numpy":
        frame = frame.f_back
    if frame is None or OURS[frame.f_globals.get("__name__")] or node.op is None:
        return
    for value in np.ravel(node.value).tolist():
        if _telling(value):
            local.thread.exits.append(Exit(value, node.op.name, frame.f_code, frame.f_lasti))


def _telling(value: float) -> bool:
    """Whether to meet the same number again is no accident: it has more digits than people write."""
    return value == value and float(f"{value:.6g}") != value


def among(value: Any, exits: tuple[Exit, ...]) -> tuple[Exit, ...]:
    """Those that came back inside of a constant."""
    if not exits or np.size(value) > 1_000_000 or np.asarray(value).dtype.kind != "f":
        return ()
    numbers = np.array([e.value for e in exits]).astype(np.asarray(value).dtype)
    back = np.isin(numbers, np.ravel(value))
    return tuple([e for e, here in zip(exits, back.tolist(), strict=True) if here])
