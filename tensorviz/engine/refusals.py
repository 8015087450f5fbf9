"""What an op says about operands and parameters that do not fit: which op, which operand, what came, what to do. Knows no particular op."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorviz.arguments import shown
from tensorviz.engine.graph import OURS, check_dtype, numbers
from tensorviz.engine.rules import defaults_of, least, parameters
from tensorviz.engine.words import told_word
from tensorviz.errors import (
    AxisError,
    DTypeError,
    IndexingError,
    LinearAlgebraError,
    NumberError,
    OptionError,
    OptionTypeError,
    ShapeError,
    TensorvizError,
)

if TYPE_CHECKING:
    from tensorviz.engine.op import Op

FAILURES = (ValueError, IndexError, TypeError, OverflowError)
"""What NumPy raises about operands and parameters that do not fit."""

TOLD = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError)
"""What Python and NumPy raise about arguments of a function that is put together from ops."""


def operand(op: Op, i: int, x: Any) -> Any:
    """What is neither array nor number, as an array; None stands for an operand that is left out."""
    if x is None and not op.variadic and op.slots[min(i, len(op.slots) - 1)] in defaults_of(op):
        return None
    where = f"{op.name}: operand {op.slot_name(i)}" if op.variadic or i < len(op.slots) else op.name
    array = numbers(x, where)
    check_dtype(array.dtype, where, x)
    return array


def refused(op: Op, i: int, x: Any) -> DTypeError:
    """The error that names an operand which is no array of real numbers."""
    try:
        operand(op, i, x)
    except DTypeError as error:
        return error
    return DTypeError(f"{op.name}: operand {op.slot_name(i)} holds real numbers, got {shown(x)}")


def explained(op: Op, values: Sequence[Any], params: dict[str, Any], error: Exception) -> Exception:
    """The error of a forward rule, with the op, the shapes, the parameters and what to do."""
    if not op.variadic and not least(op) <= len(values) <= len(op.slots):
        return DTypeError(f"{op.name} takes {len(op.slots)} operand(s) ({', '.join(op.slots)}), got {len(values)}")
    taken = parameters(op.run)
    unknown = [k for k in params if k not in taken] if taken else list(params)
    if unknown and isinstance(error, TypeError):
        return OptionTypeError(told_word(op.name, unknown[0], [k for k in taken if k not in op.slots]))
    shapes = " and ".join(str(np.shape(v)) for v in values)
    given = ", ".join(text for k, v in params.items() if len(text := f"{k}={v!r}") <= 80)
    advice = f"; {op.advice}" if op.advice else ""
    text = f"{op.name}: operands of shape {shapes} do not fit{f' with {given}' if given else ''} ({error}){advice}"
    if isinstance(error, np.linalg.LinAlgError):
        return LinearAlgebraError(f"{op.name} of operands of shape {shapes}: {error}{advice}")
    if isinstance(error, OverflowError):
        large = next((f" {op.slot_name(i)}" for i, v in enumerate(values) if type(v) is int and v.bit_length() > 63), "")
        return NumberError(
            f"{op.name}: the number in operand{large} does not fit into the dtype of the others ({error}); give a float, or a smaller one"
        )
    if isinstance(error, TypeError):
        dtypes = " and ".join(str(getattr(v, "dtype", type(v).__name__)) for v in values)
        # without the advice, which is about shapes and values
        return DTypeError(f"{op.name}: operands of shape {shapes} and dtype {dtypes}{f' with {given}' if given else ''}: {error}")
    if isinstance(error, IndexError):
        return AxisError(text) if isinstance(error, ValueError) else IndexingError(text)
    return ShapeError(text)


def told(function: str, args: Sequence[Any], kwargs: dict[str, Any], error: Exception) -> Exception | None:
    """What Python or NumPy raised inside of a function of NumPy, with its name and what it was given. None for our own errors and those of the user's code that it called."""
    if isinstance(error, TensorvizError):
        return None
    at = error.__traceback__
    while at is not None and OURS[at.tb_frame.f_globals.get("__name__")]:
        at = at.tb_next
    if at is not None:
        return None
    kind: type[Exception] = OptionError if isinstance(error, (ValueError, ArithmeticError)) else DTypeError
    for theirs, ours in _KINDS:
        if isinstance(error, theirs):
            kind = ours
            break
    given = ", ".join([*map(shown, args), *[f"{name}={shown(value)}" for name, value in kwargs.items()]])
    return kind(f"{function} of {given or 'nothing'}: {error}. help({function}) says what it takes")


_KINDS: tuple[tuple[type[Exception], type[Exception]], ...] = (
    (np.exceptions.AxisError, AxisError),
    (LookupError, IndexingError),
    (np.linalg.LinAlgError, LinearAlgebraError),
    (OverflowError, NumberError),
)
"""Kinds of errors, the narrower first, and which of ours are of that kind."""
