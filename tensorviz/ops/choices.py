"""NumPy's functions that choose between values, by a condition, a sign or a place: select, choose, piecewise, interp, heaviside. Must not import the trace or the views."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorviz.engine.op import expose
from tensorviz.engine.tensor import Tensor
from tensorviz.errors import DTypeError, IndexingError, ShapeError
from tensorviz.ops.operands import as_array, of_dtype, refuse_out, values_of

__all__: list[str] = []


@expose(numpy=[np.select])
def _select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    """Of several choices the first whose condition holds."""
    if len(condlist) != len(choicelist) or not len(condlist):
        raise ShapeError(f"np.select takes one choice per condition, and at least one; got {len(condlist)} conditions and {len(choicelist)} choices")
    found = default
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        found = np.where(condition, choice, found)
    return found


@expose(numpy=[np.choose])
def _choose(a: Any, choices: Sequence[Any], out: Any = None, mode: str = "raise") -> Any:
    """At each place the element of the choice whose number stands there."""
    refuse_out(out)
    which, n = values_of(a), len(choices)
    if which.dtype.kind not in "iub":
        raise IndexingError(f"np.choose: the numbers of the choices are whole numbers, got dtype {which.dtype}")
    if mode == "raise" and which.size and (which.min() < 0 or which.max() >= n):
        raise IndexingError(f"np.choose: there are {n} choices, numbered from 0, got {which.min()} to {which.max()}")
    which = np.clip(which, 0, n - 1) if mode == "clip" else which % n
    shape = np.broadcast_shapes(which.shape, *[np.shape(c) for c in choices])
    kind = np.result_type(*[c if isinstance(c, (bool, int, float)) else as_array(c).dtype for c in choices])
    rows = np.stack([np.broadcast_to(of_dtype(as_array(c), kind), shape) for c in choices])
    return np.take_along_axis(rows, np.broadcast_to(which, shape)[None], 0)[0]


@expose(numpy=[np.piecewise])
def _piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Any:
    """A function given in pieces, each called with the elements for which its condition holds."""
    x = as_array(x)
    conditions = np.asarray([values_of(c) for c in condlist] if isinstance(condlist, (list, tuple)) else values_of(condlist), bool)
    if conditions.ndim == x.ndim:
        conditions = conditions[None]
    pieces = list(funclist)
    if len(pieces) == len(conditions) + 1:
        conditions = np.concatenate([conditions, ~conditions.any(axis=0, keepdims=True)])
    if len(pieces) != len(conditions):
        raise ShapeError(f"np.piecewise takes one function per condition, and one more for what is left; got {len(pieces)} and {len(conditions)}")
    y = np.zeros_like(x)
    for condition, piece in zip(conditions, pieces, strict=True):
        if condition.any():
            y[condition] = piece(x[condition], *args, **kw) if callable(piece) else piece
    return y


@expose(numpy=[np.interp])
def _interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """The heights ``fp`` at the places ``xp`` (ascending), joined by straight lines: differentiable in all three. At a place itself the slope to its right counts."""
    if period is not None:
        raise DTypeError("np.interp with period= has no rule; bring x into one period with %, and repeat the ends of xp and fp")
    x, xp, fp = (as_array(a) for a in (x, xp, fp))
    x, xp, fp = (a if a.dtype.kind == "f" else a.astype(float) for a in (x, xp, fp))
    if xp.ndim != 1 or xp.shape != fp.shape or not xp.size:
        raise ShapeError(f"np.interp takes places and heights of one length, got shapes {xp.shape} and {fp.shape}")
    at, places = values_of(x), values_of(xp)
    low = fp[0] if left is None else left
    high = fp[-1] if right is None else right
    if xp.size == 1:
        between = np.broadcast_to(fp[0], x.shape) + x * 0
    else:
        i = np.clip(np.searchsorted(places, at, "right") - 1, 0, xp.size - 2)
        start, first = xp[i], fp[i]
        slope = (fp[i + 1] - first) / (xp[i + 1] - start)
        unheard = (at == places[i]) & ~np.isfinite(values_of(slope))  # at a place itself its own height counts, whatever the next one is
        slope = np.where(unheard, 0, slope) if unheard.any() else slope
        inside = (at >= places[0]) & (at <= places[-1])
        between = first + slope * (np.where(inside, x, start) - start)
    return np.where(np.isnan(at), x, np.where(at < places[0], low, np.where(at > places[-1], high, between)))


# ---- by sign -----------------------------------------------------------------------------------------------------


@expose(numpy=[np.heaviside])
def _heaviside(x1: Any, x2: Any) -> Any:
    """0 below zero, 1 above, ``x2`` at zero. A step: only x2 gets a gradient, where it is chosen."""
    x1, x2 = (as_array(x) if isinstance(x, (list, tuple)) else x for x in (x1, x2))
    kind = _kind(np.heaviside, x1, x2)
    return np.where(values_of(x1) == 0, x2, (np.sign(of_dtype(as_array(x1), kind)) + 1) / 2)


@expose(numpy=[np.copysign])
def _copysign(x1: Any, x2: Any) -> Any:
    """The size of ``x1`` with the sign of ``x2``, which gets no gradient."""
    x1, x2 = (as_array(x) if isinstance(x, (list, tuple)) else x for x in (x1, x2))
    kind = _kind(np.copysign, x1, x2)
    sized = of_dtype(x1, kind) if isinstance(x1, Tensor) else np.broadcast_to(np.asarray(x1, kind), np.broadcast_shapes(np.shape(x1), np.shape(x2)))
    size = np.abs(sized)
    return np.where(np.signbit(x2), -size, size)


@expose(numpy=[np.fabs])
def _fabs(x: Any) -> Any:
    """``|x|``, of whole numbers and truth values as floating numbers."""
    return np.abs(of_dtype(x, np.fabs(np.ones((), x.dtype)).dtype))


def _kind(ufunc: Any, *operands: Any) -> Any:
    """NumPy's own word on the dtype of a result, in which a Python number counts for less than an array (and, in NumPy 1, an array without axes for less than others)."""
    return ufunc(*(np.ones((1,) if x.ndim else (), x.dtype) if hasattr(x, "dtype") else x for x in operands)).dtype


@expose(numpy=[np.modf])
def _modf(x: Any) -> tuple[Any, Any]:
    """What is behind the point, and what is before it."""
    x = of_dtype(x, np.modf(np.ones((), x.dtype))[0].dtype)
    endless = np.isinf(values_of(x))
    rest = np.fmod(np.where(endless, 0, x) if endless.any() else x, 1.0)
    return rest, np.trunc(x)


@expose(numpy=[np.frexp])
def _frexp(x: Any) -> tuple[Any, Any]:
    """``m`` and ``e`` with ``x = m * 2 ** e``; the exponent is a plain array of whole numbers."""
    mantissa, exponent = np.frexp(values_of(x))
    scale = np.divide(mantissa, values_of(x), where=np.isfinite(mantissa) & (mantissa != 0), out=np.ones(mantissa.shape, mantissa.dtype))
    return x * scale, exponent


@expose(numpy=[np.ldexp])
def _ldexp(x1: Any, x2: Any) -> Any:
    """``x1 * 2 ** x2``, for whole numbers x2."""
    exponent = values_of(x2)
    if exponent.dtype.kind not in "iu":
        raise DTypeError(f"np.ldexp: the exponent holds whole numbers, got dtype {exponent.dtype}; write x1 * np.exp2(x2)")
    return x1 * np.ldexp(np.ones((), values_of(x1).dtype), exponent)


@expose(numpy=[np.float_power])
def _float_power(x1: Any, x2: Any) -> Any:
    """``x1 ** x2`` in float64, or wider where an operand is."""
    x1, x2 = as_array(x1), as_array(x2)
    kind = np.result_type(x1.dtype, x2.dtype, np.float64)
    return np.power(of_dtype(x1, kind), of_dtype(x2, kind))
