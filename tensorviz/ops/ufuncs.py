"""Methods of NumPy's ufuncs, put together from recorded ops: ``at``, ``reduceat``, and ``reduce`` and ``accumulate`` of those without an op for it. Must not import the trace or the views."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorviz.engine.graph import holds_tensor
from tensorviz.engine.op import UFUNC_METHODS
from tensorviz.engine.tensor import Tensor
from tensorviz.errors import AxisError, IndexingError, NoRuleError, OptionError, ShapeError
from tensorviz.ops.indexing import index_add
from tensorviz.ops.operands import as_array, index, plainly
from tensorviz.ops.reduction import sum as total

__all__: list[str] = []


# ---- at: in place, at positions that may repeat ------------------------------------------------------------------


def _at(ufunc: Any, a: Any, indices: Any, b: Any = None, /) -> None:
    """``a[indices] = ufunc(a[indices], b)``, once for every time that a position occurs."""
    indices = plainly(indices)
    if not isinstance(a, Tensor):
        if getattr(b, "requires_grad", False) or (isinstance(b, (list, tuple)) and holds_tensor(b)):
            raise NoRuleError(
                f"np.{ufunc.__name__}.at into an array cannot be recorded: the array is outside the graph. Write into a Tensor, e.g. one made by np.zeros_like(x)"
            )
        if isinstance(a, np.ndarray) and not a.flags.writeable:  # NumPy does not look, and would change what a record holds
            raise OptionError(f"np.{ufunc.__name__}.at: the array of shape {a.shape} is read-only; write into a copy of it, or into a Tensor")
        ufunc.at(a, indices, *([] if b is None else [plainly(b)]))
        return
    places = np.arange(a.size).reshape(a.shape)[indices]
    if b is not None:
        b = b if isinstance(b, (bool, int, float)) else as_array(b)
        if np.ndim(b) or ufunc in (np.add, np.subtract):
            like = b if hasattr(b, "dtype") else np.asarray(b, a.dtype if a.dtype.kind == "f" or not isinstance(b, float) else float)
            b = np.ravel(np.broadcast_to(like, places.shape))
    places = places.ravel()
    if ufunc is np.add or ufunc is np.subtract:
        added = np.reshape(index_add(b, (places,), (a.size,)), a.shape)
        if ufunc is np.add:
            a += added
        else:
            a -= added
        return
    flat = np.ravel(a).copy()
    for now in _rounds(places):
        at = places[now]
        flat[at] = ufunc(flat[at], *([] if b is None else [b[now] if np.ndim(b) else b]))
    a[...] = np.reshape(flat, a.shape)


def _rounds(places: Any) -> list[Any]:
    """Which entries go first at their place, which second, and so on: within a round all places are different."""
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    first = np.searchsorted(ordered, ordered)
    turn = np.empty(places.size, int)
    turn[order] = np.arange(places.size) - first
    return [np.flatnonzero(turn == k) for k in range(turn.max(initial=-1) + 1)]


# ---- along an axis, one element after the other ------------------------------------------------------------------


def _along(what: str, a: Any, axis: Any) -> tuple[Any, int]:
    """The operand and the one axis along which it is gone through."""
    a = as_array(a)
    if isinstance(axis, tuple) and len(axis) == 1:
        (axis,) = axis
    if axis is None and a.ndim == 1:
        axis = 0
    if axis is None or isinstance(axis, tuple):
        raise NoRuleError(f"{what} goes along one axis here, got axis={axis!r} for shape {a.shape}; apply it to one axis after the other")
    found = index("axis", axis)
    if not -a.ndim <= found < a.ndim:
        raise AxisError(f"{what}: axis {found} is not there in shape {a.shape}")
    return a, found % a.ndim


def _refuse_options(what: str, options: dict[str, Any]) -> None:
    given = [name for name, value in options.items() if value is not None and not (name == "where" and value is True)]
    if given:
        raise NoRuleError(f"{what} of a Tensor takes no {', '.join(given)}=; select with np.where, or change the dtype of the operand with astype")


def _reduce(
    ufunc: Any, a: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True
) -> Any:
    what = f"np.{ufunc.__name__}.reduce"
    _refuse_options(what, {"dtype": dtype, "out": out, "where": where})
    a, axis = _along(what, a, axis)
    parts = list(np.moveaxis(a, axis, 0))
    if initial is not None:
        parts = [initial, *parts]
    elif not parts and ufunc.identity is None:
        raise ShapeError(f"{what} over axis {axis} of shape {a.shape} has no elements; it needs at least one, or initial=")
    elif not parts:
        parts = [np.full((*a.shape[:axis], *a.shape[axis + 1 :]), ufunc.identity, a.dtype)]
    found = parts[0]
    for part in parts[1:]:
        found = ufunc(found, part)
    return np.expand_dims(found, axis) if keepdims else found


def _accumulate(ufunc: Any, a: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
    what = f"np.{ufunc.__name__}.accumulate"
    _refuse_options(what, {"dtype": dtype, "out": out})
    a, axis = _along(what, a, axis)
    found: list[Any] = []
    for part in np.moveaxis(a, axis, 0):
        found.append(ufunc(found[-1], part) if found else part)
    return np.stack(found, axis) if found else a


def _reduceat(ufunc: Any, a: Any, indices: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
    """The reduction of every stretch from one index to the next; of a single element where the next one is not larger."""
    what = f"np.{ufunc.__name__}.reduceat"
    _refuse_options(what, {"out": out})
    a, axis = _along(what, a, axis)
    starts = np.asarray(plainly(indices))
    n = a.shape[axis]
    if starts.ndim != 1 or starts.dtype.kind not in "iu" or not starts.size or starts.min() < 0 or starts.max() >= n:
        raise IndexingError(
            f"{what}: the indices are whole numbers from 0 to {n - 1}, the positions along axis {axis} of shape {a.shape}; got {indices!r}"
        )
    ends = [*starts[1:].tolist(), n]
    stretches = [a[(slice(None),) * axis + (slice(i, max(j, i + 1)),)] for i, j in zip(starts.tolist(), ends, strict=True)]
    options = {} if dtype is None else {"dtype": dtype}
    reduce = total if ufunc is np.add else ufunc.reduce
    return np.stack([reduce(part, axis=axis, **options) for part in stretches], axis)


UFUNC_METHODS.update({"at": _at, "reduce": _reduce, "accumulate": _accumulate, "reduceat": _reduceat})
