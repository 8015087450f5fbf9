"""NumPy's functions in ``np.emath``, which become complex outside of the real domain: inside of it they are the plain ones, outside they are refused. Must not import the trace or the views."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorviz.engine.op import FUNCTIONS
from tensorviz.errors import DTypeError
from tensorviz.ops.operands import as_array, floating, values_of

__all__: list[str] = []


def _inside(name: str, plain: Callable[..., Any], real: Callable[[Any], Any]) -> None:
    """``plain`` where ``real`` says of every element of the last operand that the result is."""

    def checked(*operands: Any) -> Any:
        if not np.all(real(values_of(operands[-1]))):
            raise DTypeError(
                f"np.emath.{name} of such numbers is complex, and a Tensor holds real ones; keep the operand inside the domain of np.{name}, e.g. with np.where"
            )
        return plain(*operands)

    checked.__name__ = name
    FUNCTIONS[getattr(np.emath, name)] = checked


for _name in ("sqrt", "log", "log2", "log10"):
    _inside(_name, getattr(np, _name), lambda x: ~(x < 0))
_inside("logn", lambda n, x: np.log(x) / np.log(n), lambda x: ~(x < 0))
for _name in ("arccos", "arcsin", "arctanh"):
    _inside(_name, getattr(np, _name), lambda x: ~(np.abs(x) > 1))


def _power(x: Any, p: Any) -> Any:
    x, p = as_array(x), as_array(p)
    if np.any(values_of(x) < 0):
        raise DTypeError("np.emath.power of negative numbers is complex, and a Tensor holds real ones; write x ** n with a whole number n")
    return np.power(floating(x) if np.any(values_of(p) < 0) else x, p)


FUNCTIONS[np.emath.power] = _power
