"""What the user's code calls at an instruction, as far as it can be told without running any of it. Knows no op."""

from __future__ import annotations

import builtins
import dis
from functools import lru_cache
from types import FrameType, ModuleType
from typing import Any

import numpy as np

from tensorviz.engine.texts import Identity


def callee(frame: FrameType) -> tuple[str, Any, bool]:
    """The name behind the last dot of what a frame calls at the moment; what it calls: a function, or a method of what NumPy made; and whether its first argument
    is a list or tuple that is written there. ``""`` and None where they cannot be told.

    Variables of a function are not looked at: a frame that was asked for them keeps them alive.
    """
    (first, *names), listed = _written(Identity(frame.f_code), frame.f_lasti)
    code = frame.f_code
    found: Any = None
    if first not in code.co_varnames and first not in code.co_cellvars and first not in code.co_freevars:
        found = frame.f_globals.get(first, getattr(builtins, first, None))
    for name in names:  # an attribute of anything else may be a property, which runs the user's code
        safe = isinstance(found, (ModuleType, np.ufunc)) or type(found).__module__.partition(".")[0] == "numpy"
        found = getattr(found, name, None) if safe else None
    return (names or [first])[-1], found, listed


@lru_cache(maxsize=4096)
def _written(key: Identity, lasti: int) -> tuple[tuple[str, ...], bool]:
    """The parts of the dotted name before the parenthesis, the first of them empty where it is no name, and whether a list comes first behind it.

    Read from the instructions, as code that was given to ``exec`` has no text: what belongs to the name begins where the call does.
    """
    read = [i for i in dis.get_instructions(key.code) if i.offset <= lasti and i.positions is not None and i.positions.col_offset is not None]
    if not read or read[-1].offset != lasti:
        return ("",), False
    begin, end = _span(read[-1])
    if read[-1].opname == "CALL_KW":  # from Python 3.13 on: the keywords of the call stand before it, at the place of its name
        del read[-2]
    names, behind, after = [""], begin, 0
    for k, i in enumerate(read[:-1]):
        (at, until) = _span(i)
        if at != begin or until > end or i.opname in _SILENT:
            continue
        if until == end and i.opname not in _ATTRIBUTES:
            continue  # of the call itself
        if i.opname in _ATTRIBUTES:
            names.append(str(i.argval))
        else:
            names = [str(i.argval) if i.opname.startswith(_NAMES) else ""]
        behind, after = until, k
    arguments = [(_span(i), i) for i in read[after + 1 : -1] if behind <= _span(i)[0] and _span(i)[1] < end and i.opname not in _SILENT]
    if not arguments:
        return tuple(names), False
    first = min(at for (at, _), _ in arguments)
    whole = max(until for (at, until), _ in arguments if at == first)
    return tuple(names), any(span == (first, whole) and _makes_list(i) for span, i in arguments)


_Place = tuple[int, int]


def _span(i: dis.Instruction) -> tuple[_Place, _Place]:
    """Where the expression of an instruction begins and ends: lines and columns."""
    at = i.positions
    assert at is not None
    return (at.lineno or 0, at.col_offset or 0), (at.end_lineno or 0, at.end_col_offset or 0)


_NAMES = ("LOAD_NAME", "LOAD_GLOBAL", "LOAD_FAST", "LOAD_DEREF", "LOAD_CLASSDEREF")
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
_SILENT = ("CACHE", "EXTENDED_ARG", "KW_NAMES", "NOP", "PRECALL", "PUSH_NULL", "RESUME")
"""What stands beside a name or an argument and is none."""


def _makes_list(i: dis.Instruction) -> bool:
    """Whether an instruction makes a list or tuple that is written out or made in a loop within its brackets, which is a function of its own in Python 3.11."""
    return i.opname in ("BUILD_LIST", "BUILD_TUPLE") or getattr(i.argval, "co_name", "") == "<listcomp>"


JOIN = "put lists of Tensors together with tv.stack or tv.concatenate"
_OF_LISTS = (np.concatenate, np.inner, np.where, np.dot, np.vdot, np.bincount)
"""Functions of NumPy's in C, which do not ask what stands in a list in a list."""
_OF_ARRAYS = frozenset(["dot", "put", "choose", "fill"])
_DRAWS = frozenset(["normal", "uniform", "exponential", "gamma", "beta", "laplace", "lognormal", "multivariate_normal", "choice", "permutation"])
"""Methods by which a variable of a function is known to be an array or a source of random numbers: nothing else that takes a Tensor's numbers has them."""


_MATH = {
    "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan", "atan2": "arctan2", "atanh": "arctanh", "cbrt": "cbrt",
    "cos": "cos", "cosh": "cosh", "degrees": "degrees", "dist": "linalg.norm", "exp": "exp", "exp2": "exp2", "expm1": "expm1", "fabs": "fabs", "fmod": "fmod",
    "fsum": "sum", "hypot": "hypot", "log": "log", "log10": "log10", "log1p": "log1p", "log2": "log2", "pow": "power", "radians": "radians", "remainder": "remainder",
    "sin": "sin", "sinh": "sinh", "sqrt": "sqrt", "sumprod": "dot", "tan": "tan", "tanh": "tanh",
}  # fmt: skip
"""Functions of Python's ``math`` whose result changes smoothly with their argument, and NumPy's of the same meaning."""


def of_numbers(function: Any) -> tuple[str, str] | None:
    """A function that is given plain numbers, whatever one hands to it, and what stands for it; None for any other. Its errors say nothing of what a Tensor raises."""
    if function is np.fromiter:
        return "np.fromiter", "tv.stack of the Tensors"
    if function is np.nditer:
        return "np.nditer", "a loop over x.flat, or over np.ndindex(x.shape),"
    if getattr(function, "__module__", None) != "math":
        return None
    name = function.__name__
    kin = "tv.erf" if name in ("erf", "erfc") else f"np.{_MATH[name]}" if name in _MATH else ""
    return (f"math.{name}", kin) if kin else None


_COUNTS = frozenset(["binomial", "geometric", "hypergeometric", "multinomial", "multivariate_hypergeometric", "negative_binomial", "poisson"])
"""Draws of whole numbers, which have no gradient whatever they depend on."""
_PLACES = frozenset(["choice", "permutation", "permuted", "shuffle"])
"""Draws that pick elements."""


def taker(name: str, function: Any, values: Any = None) -> tuple[str, str] | None:
    """Who takes the numbers of a Tensor without asking it for a rule, and what to do instead; None for who is meant to, and for who is not known.

    ``values``: the numbers. As probabilities of a choice they may be taken, for what is chosen does not change with them but in steps.
    These are written in C: ufuncs and their kin of a list, methods of an array, ranges, and what draws random numbers.
    """
    owner = getattr(function, "__self__", None)
    if isinstance(owner, np.ufunc):
        return f"np.{owner.__name__}.{name} of a list", JOIN
    if isinstance(function, np.ufunc) or any(function is f for f in _OF_LISTS):
        return f"np.{name} of a list", JOIN
    if function is np.arange:
        return "np.arange", "write start + step * np.arange(n), with a number n of elements"
    if name == "fill" and (function is None or isinstance(owner, np.ndarray)):
        return "the method fill of an array", "make the array a Tensor, e.g. by np.broadcast_to(x, shape)"
    if (isinstance(owner, np.ndarray) and name != "searchsorted") or (function is None and name in _OF_ARRAYS):  # that gives whole numbers
        return f"the method {name} of an array", f"write np.{name}(array, x){' or array @ x' if name == 'dot' else ''}"
    if type(owner).__module__.startswith("numpy.random") or (function is None and name in _DRAWS):
        if name in _COUNTS or (name == "choice" and _are_probabilities(values)):
            return None
        advice = (
            "draw the positions, as in x[rng.permutation(len(x))]"
            if name in _PLACES
            else "draw what depends on nothing and compute with it, as in mean + deviation * rng.standard_normal(shape)"
        )
        return f"{name} of NumPy's random numbers", advice
    return None


def _are_probabilities(values: Any) -> bool:
    found = np.asarray(values, float)
    return found.ndim == 1 and bool(np.all(found >= 0) and abs(found.sum() - 1) < 1e-6)
