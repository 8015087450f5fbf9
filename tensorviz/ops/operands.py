"""What a public function makes of what it is given: arrays of lists, plain ints of indices; what is neither is refused by name. Imports the engine only."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np

from tensorviz.arguments import shown
from tensorviz.engine import run
from tensorviz.engine.graph import check_dtype, holds_tensor, numbers
from tensorviz.engine.node import is_tensor
from tensorviz.engine.op import REGISTRY, apply
from tensorviz.errors import DTypeError

_HELPERS = ("operands", "axes", "options")
"""Files whose functions are not what the user called."""
_PASSED_OVER = ("apply", "forward", "narrowed", "sizes", "<lambda>", "<listcomp>", "<dictcomp>", "<genexpr>")


def asked() -> str:
    """The name of the public function in which an argument is refused; found when there is an error to write, so that calls cost nothing.

    >>> from tensorviz.ops import reshape
    >>> reshape([1.0], "a")
    Traceback (most recent call last):
    tensorviz.errors.DTypeError: reshape: shape must hold whole numbers, got 'a'
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_name
        module = frame.f_globals.get("__name__", "")
        if not module.startswith("tensorviz."):
            break
        if module == "tensorviz.engine.protocols":  # in a function that has only NumPy's name
            function = frame.f_locals.get("func") or frame.f_locals.get("ufunc")
            return f"np.{getattr(function, '__name__', name)}"
        if module.rpartition(".")[2] not in _HELPERS and name not in _PASSED_OVER and not name.startswith("_"):
            return name
        frame = frame.f_back
    return "this function"


def as_array(x: Any) -> Any:
    """A Tensor, array or scalar as it is; a list with Tensors inside as one Tensor; anything else as an array of real numbers."""
    if hasattr(x, "ndim"):
        return x
    if isinstance(x, (list, tuple)) and holds_tensor(x):
        return stacked(x)
    where = f"{asked()}: an operand"
    made = numbers(x, where)
    check_dtype(made.dtype, where, x)
    return made


def values_of(x: Any) -> Any:
    """The numbers of an operand as an array, outside of the graph: for what has no gradient."""
    return x.numpy() if is_tensor(x) else np.asarray(x)


def plainly(x: Any) -> Any:
    """The same of Tensors, in lists too; all else as it is."""
    if isinstance(x, (list, tuple)) and holds_tensor(x):
        return type(x)(map(plainly, x))
    return x.numpy() if is_tensor(x) else x


def of_dtype(x: Any, dtype: Any) -> Any:
    """The same values in a dtype; what has it already is not recorded once more."""
    return x if x.dtype == dtype else x.astype(dtype)


def floating(x: Any) -> Any:
    """Whole numbers and truth values as floating numbers; floating numbers as they are."""
    return x if x.dtype.kind == "f" else x.astype(float)


def stacked(x: Any) -> Any:
    """A nested list with Tensors inside as one Tensor, stacked level by level: NumPy's own conversion would take them out of the graph."""
    return apply(REGISTRY["stack"], [as_array(part) for part in x], {"axis": 0})


run.joined = stacked


def refuse_out(out: Any) -> None:
    """Refuse an array to write a result into, which is outside the graph; a Tensor is written into by NumPy's function of that name, not by ours."""
    if out is None:
        return
    name = asked().removeprefix("np.")
    if isinstance(out, run.tensor_class()):
        raise DTypeError(f"{name} takes a Tensor as out= in NumPy's form: write np.{name}(x, ..., out=...), or use the result")
    raise DTypeError(
        f"{name} with out= cannot be recorded: the array is outside the graph. Give a Tensor, e.g. one made by np.zeros_like(x), or use the result"
    )


def index(what: str, value: Any) -> int:
    """A whole number as a plain int, so that a record can hold it."""
    found: int = refusing(operator.index, f"{what} must be a whole number", value)
    return found


def refusing(convert: Callable[[Any], Any], wanted: str, value: Any) -> Any:
    """``convert(value)``; its TypeError (or ValueError) is told in the words of the function that the user called."""
    try:
        return convert(value)
    except (TypeError, ValueError):
        raise DTypeError(f"{asked()}: {wanted}, got {shown(value)}") from None
