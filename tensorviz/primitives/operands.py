"""What the primitives take as an operand: a Tensor or an array as it is, lists made into one. Imports the engine and the ops."""

from __future__ import annotations

from typing import Any

from tensorviz.engine.graph import check_dtype, holds_tensor
from tensorviz.engine.op import REGISTRY, apply
from tensorviz.ops import operands


def as_array(x: Any) -> Any:
    """A Tensor, array or scalar as it is; a list with Tensors inside put together by ``stack``; anything else as an array of real numbers.

    Raises DTypeError, in the name of the primitive that was called, for complex numbers, objects and texts.
    """
    if isinstance(x, (list, tuple)) and holds_tensor(x):
        return apply(REGISTRY["stack_front"], [as_array(part) for part in x], {})
    found = operands.as_array(x)
    if found.dtype.kind not in "fiub":
        check_dtype(found.dtype, f"{operands.asked()}: an operand", x)
    return found
