"""What the user's code calls at an instruction, as far as it can be told without running any of it. Knows no op."""

from __future__ import annotations

import ast
import builtins
from functools import lru_cache
from types import FrameType, ModuleType
from typing import Any

import numpy as np

from tensorviz.engine.places import Identity, locate


def callee(frame: FrameType) -> tuple[str, Any]:
    """The name behind the last dot of what a frame calls at the moment, and what it calls: a function, or a method of what NumPy made. ``""`` and None where they cannot be told.

    Variables of a function are not looked at: a frame that was asked for them keeps them alive.
    """
    first, *names = _written(Identity(frame.f_code), frame.f_lasti) or ("",)
    code = frame.f_code
    found: Any = None
    if first not in code.co_varnames and first not in code.co_cellvars and first not in code.co_freevars:
        found = frame.f_globals.get(first, getattr(builtins, first, None))
    for name in names:  # an attribute of anything else may be a property, which runs the user's code
        safe = isinstance(found, (ModuleType, np.ufunc)) or type(found).__module__.partition(".")[0] == "numpy"
        found = getattr(found, name, None) if safe else None
    return (names or [first])[-1], found


@lru_cache(maxsize=4096)
def _written(key: Identity, lasti: int) -> tuple[str, ...]:
    """The parts of the dotted name before the parenthesis, the first of them empty where it is no name; none where no call is written there."""
    source = locate(key.code, lasti)
    if source is None or source.column < 0 or not source.code:
        return ()
    *lines, last = source.code.splitlines()
    lines = [*lines, last[: source.end_column]]
    try:
        call = ast.parse("(" + "\n".join([lines[0][source.column :], *lines[1:]]) + ")", mode="eval").body
    except SyntaxError:
        return ()
    names: list[str] = []
    at = call.func if isinstance(call, ast.Call) else None
    while isinstance(at, ast.Attribute):
        names.append(at.attr)
        at = at.value
    if at is None:
        return ()
    return (at.id if isinstance(at, ast.Name) else "", *reversed(names))
