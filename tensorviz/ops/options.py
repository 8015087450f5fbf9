"""What NumPy's reductions take beside an axis: dtype=, initial=, where=. Put together from recorded ops. Imports the engine's op base only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorviz.engine.graph import numbers
from tensorviz.engine.tensor import Tensor
from tensorviz.errors import DTypeError
from tensorviz.ops.axes import divided
from tensorviz.ops.conversion import astype
from tensorviz.ops.operands import as_array, asked, refuse_out


def settled(second: Any, out: Any, keepdims: Any) -> tuple[Any, Any]:
    """``dtype`` and ``keepdims``. A truth value in the place of the former is the latter, as in ``x.sum(0, True)``; an array to write into is refused."""
    if second is True or second is False:
        second, keepdims = None, second
    if out is True or out is False:
        out, keepdims = None, out
    refuse_out(out)
    return second, keepdims


def mask(where: Any) -> Any:
    """The values of ``where=``, which must be truth values."""
    found = where.numpy() if isinstance(where, Tensor) else numbers(where, f"{asked()}: where")
    if found.dtype != bool:
        raise DTypeError(f"{asked()}: where holds True or False for each element, got dtype {found.dtype}")
    return found


def reduced(
    reduce: Callable[..., Any],
    a: Any,
    axis: Any,
    dtype: Any,
    out: Any,
    keepdims: Any,
    *,
    initial: Any = None,
    where: Any = True,
    neutral: Any = None,
    join: Callable[[Any, Any], Any] | None = None,
) -> Any:
    """``reduce`` of what ``where`` lets through, begun at ``initial``: all else is replaced by ``neutral`` (``initial`` if None), which changes nothing."""
    dtype, keepdims = settled(dtype, out, keepdims)
    a = as_array(a) if dtype is None else astype(as_array(a), dtype)
    if where is not True:
        chosen = mask(where)
        if neutral is None and initial is None:
            raise DTypeError(f"{asked()} with where= needs initial=, the result where nothing is selected, e.g. initial=-np.inf")
        a = np.where(chosen, a, initial if neutral is None else neutral)
    found = reduce(a, axis=axis, keepdims=keepdims)
    return found if initial is None or join is None else join(found, initial)


def counted(a: Any, axis: Any, where: Any) -> Any:
    """How many elements ``where`` lets through along the axis, whose place is kept."""
    return np.sum(np.broadcast_to(mask(where), np.shape(a)), axis=axis, keepdims=True)


def _over(total: Any, n: Any) -> Any:
    """The total over the counts, in its dtype if that is a float one; 0 elements make NaN."""
    return divided(total if total.dtype.kind == "f" else astype(total, float), n)


def mean(add: Callable[..., Any], a: Any, axis: Any, dtype: Any, out: Any, keepdims: Any, where: Any) -> Any:
    """The mean of what ``where`` lets through; ``add`` is the sum."""
    dtype, keepdims = settled(dtype, out, keepdims)
    a = as_array(a) if dtype is None else astype(as_array(a), dtype)
    if where is True:
        return np.mean(a, axis=axis, keepdims=keepdims)
    narrow = a.dtype == np.float16  # whose end a sum passes where the mean does not
    total = add(astype(a, np.float32) if narrow else a, axis=axis, keepdims=True, where=where)
    found = _over(total, counted(a, axis, where))
    found = astype(found, np.float16) if narrow else found
    return found if keepdims else np.squeeze(found, axis=axis)


def variance(
    add: Callable[..., Any], a: Any, axis: Any, dtype: Any, out: Any, ddof: Any, keepdims: Any, where: Any, centre: Any, correction: Any
) -> Any:
    """The variance of what ``where`` lets through, around ``centre`` if that is given."""
    dtype, keepdims = settled(dtype, out, keepdims)
    a = as_array(a) if dtype is None else astype(as_array(a), dtype)
    if correction is not None:
        if ddof != 0:
            raise DTypeError(f"{asked()}: ddof and correction mean the same; give one of them")
        ddof = correction
    if where is True and centre is None:
        return np.var(a, axis=axis, ddof=ddof, keepdims=keepdims)
    chosen = True if where is True else mask(where)
    around = mean(add, a, axis, None, None, True, where) if centre is None else centre
    deviation = np.where(chosen, a - around, 0)
    total = add(deviation * deviation, axis=axis, keepdims=True)
    found = _over(total, np.maximum(counted(a, axis, chosen) - ddof, 0))
    return found if keepdims else np.squeeze(found, axis=axis)


def root(a: Any) -> Any:
    """The root of what is not negative, with slope 0 at 0, as a deviation has it where all elements are equal."""
    zero = np.asarray(a.numpy() if isinstance(a, Tensor) else a) == 0
    return np.where(zero, 0, np.sqrt(np.where(zero, 1, a))) if zero.any() else np.sqrt(a)
