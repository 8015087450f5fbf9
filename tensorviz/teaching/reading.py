"""Reads what a student gave as an answer: whole numbers, arrays of numbers, and what was typed into a field. Imports errors."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorviz.errors import OptionError

_LARGEST = 2**53
"""A position, an axis, a count or a size lies below it."""
_NESTED = 200
"""Characters of brackets and signs that are read; nothing that is asked for needs as many."""


def whole(value: Any) -> int:
    """A whole number; ``2.0`` is one. Raises OptionError for anything else.

    >>> whole(np.int64(3)), whole(2.0)
    (3, 2)
    """
    if isinstance(value, (bool, np.bool_, str, bytes, complex, np.complexfloating, np.ma.MaskedArray)):
        raise OptionError("not a whole number")
    try:
        found = int(value)
        exact = found == value
    except (TypeError, ValueError, OverflowError):
        exact = False
    if not exact or abs(found) > _LARGEST:
        raise OptionError("not a whole number")
    return found


def several(value: Any) -> list[Any]:
    """The parts of a list, tuple, set, range or array; anything else is one part.

    >>> several((0, 2)), several(1), several(np.array(1))
    ([0, 2], [1], [1])
    """
    if isinstance(value, np.ndarray) and not np.ma.is_masked(value):
        value = value.tolist()
    return list(value) if isinstance(value, (list, tuple, set, frozenset, range)) else [value]


def numbers(value: Any, kinds: str = "iuf") -> npt.NDArray[Any]:
    """An array of floats; ``kinds``: those of the dtypes that are taken. Raises OptionError for texts, None, objects, complex numbers and ragged lists.

    >>> numbers([[1, 2], [3, 4]]).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    try:
        found = np.asarray(value)
    except (TypeError, ValueError, OverflowError):
        raise OptionError("not an array of numbers") from None
    if (found.dtype.kind not in kinds and found.size) or np.ma.is_masked(value):
        raise OptionError("not an array of numbers")
    return found.astype(float)


def typed(text: str) -> Any:
    """What was typed, as Python: numbers with + - * / between them, tuples, lists and sets; ``0, 2`` is a tuple. Nothing is run.

    Raises OptionError for anything else.

    >>> typed("0, 2"), typed("-1.5"), typed("[0, 1/2]")
    ((0, 2), -1.5, [0, 0.5])
    """
    plain = text.replace("\u2212", "-").strip()
    try:
        if sum(c in "([{+-*/" for c in plain) > _NESTED:
            raise OptionError(f"“{text[:40]}…” is too long")
        return _value(ast.parse(plain, mode="eval").body)
    except (SyntaxError, ValueError, TypeError, ArithmeticError):
        raise OptionError(f"“{text}” is no number and no list of numbers") from None


def _value(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return +_value(operand)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _number(left) + _number(right)
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return _number(left) - _number(right)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _number(left) * _number(right)
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return _number(left) / _number(right)
        case ast.Tuple(elts=parts):
            return tuple([_value(part) for part in parts])
        case ast.List(elts=parts):
            return [_value(part) for part in parts]
        case ast.Set(elts=parts):
            return {_value(part) for part in parts}
    raise OptionError("something else than numbers")


def _number(node: ast.expr) -> float:
    found = _value(node)
    if not isinstance(found, (int, float)):
        raise OptionError("only numbers are calculated with")
    return found
