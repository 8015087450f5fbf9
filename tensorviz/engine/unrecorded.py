"""Results that are not recorded: those under ``no_grad``, and those of operands none of which depends on what requires a gradient. Knows no particular op."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorviz.engine.cuts import carry
from tensorviz.engine.graph import NUMPY_1, constant
from tensorviz.engine.mode import Place, current
from tensorviz.engine.node import Node, fixed
from tensorviz.engine.refusals import FAILURES

if TYPE_CHECKING:
    from types import FrameType

    from tensorviz.engine.op import Op

# One function for all ops of one operand and one for all of two, where a recorded result has a text of its own per op: written out as plainly, as both are as
# hot. None stands for a call that has to go the long way: it is recorded, or does not fit.

_array, _shared = np.ndarray, np.may_share_memory
_FAILURES = (*FAILURES, AttributeError)
"""The last comes of a Tensor whose array is in the user's hands, and which has no node therefore."""


def alone(op: Op, result_of: Callable[..., Any], frame: FrameType, place: Place | None, a: Any, *given: Any) -> Any:
    """The result of an op of one operand, a node. ``place``: that of the frame, None where it is not known."""
    if place is None:
        return None
    try:
        rare = a.rare
        if a.needs_grad or a.plan is not None or (rare is not None and rare.tracked):
            if current().enabled:
                return None
            cut = True
        else:
            cut = rare is not None and rare.cut is not None
        value = result_of(a.value, *given) if given else result_of(a.value)
    except _FAILURES:
        return None
    if type(value) is _array and not value.shape:
        value = value[()]
    a.used = True
    made = fixed(value)
    made.place = place
    made.lasti = frame.f_lasti
    if cut:
        carry(made, op.name, (a,))
    return made


def pair(op: Op, result_of: Callable[..., Any], frame: FrameType, place: Place | None, a: Any, b: Any, first: Any, second: Any, *given: Any) -> Any:
    """The same of two operands: nodes, or where one is None the array or number that stands at its place in ``first`` and ``second``."""
    if place is None:
        return None
    cut = False
    foreign = None
    try:
        if a is None:
            if b is None:
                return None  # no Tensor at all, and so no Tensor comes out
            if NUMPY_1:
                first = constant(first, b.value).value
            elif type(first) is _array:
                foreign = first
        else:
            first, rare = a.value, a.rare
            if a.needs_grad or a.plan is not None or (rare is not None and rare.tracked):
                if current().enabled:
                    return None
                cut = True
            elif rare is not None and rare.cut is not None:
                cut = True
        if b is None:
            if NUMPY_1:
                second = constant(second, a.value).value
            elif type(second) is _array:
                foreign = second
        else:
            second, rare = b.value, b.rare
            if b.needs_grad or b.plan is not None or (rare is not None and rare.tracked):
                if current().enabled:
                    return None
                cut = True
            elif rare is not None and rare.cut is not None:
                cut = True
        if foreign is not None and foreign.dtype.kind not in "fiub":
            return None
        value = result_of(first, second, *given) if given else result_of(first, second)
    except _FAILURES:
        return None
    # what lies in the memory of an array of the user's would change with it; the long way copies that first
    if foreign is not None and (value is foreign or (type(value) is _array and value.base is not None and _shared(value, foreign))):
        return None
    if type(value) is _array and not value.shape:
        value = value[()]
    made = fixed(value)
    made.place = place
    made.lasti = frame.f_lasti
    if a is None:
        b.used = True
        nodes: tuple[Node, ...] = (b,)
    elif b is None:
        a.used = True
        nodes = (a,)
    else:
        a.used = b.used = True
        nodes = (a, b)
    if cut:
        carry(made, op.name, nodes)
    return made
