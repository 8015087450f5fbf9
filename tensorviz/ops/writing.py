"""NumPy's functions that write into an array: on a Tensor they are assignments, recorded as ``x[i] = v``. Must not import the trace or the views."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorviz.engine.op import expose
from tensorviz.engine.tensor import Tensor
from tensorviz.errors import DTypeError, NoRuleError, OptionError, ShapeError
from tensorviz.ops.operands import as_array, asked, values_of

__all__: list[str] = []


def _written(a: Any) -> Tensor:
    """What is written to must be a Tensor: an array that takes a Tensor would lose its gradient."""
    if not isinstance(a, Tensor):
        raise NoRuleError(
            f"{asked()} into an array cannot be recorded: the array is outside the graph. Write into a Tensor, e.g. one made by np.zeros_like(x)"
        )
    return a


def _repeated(v: Any, n: int) -> Any:
    """The first ``n`` elements of ``v`` said over and over."""
    v = np.ravel(as_array(v))
    if not v.size:
        raise ShapeError(f"{asked()}: there are no values to write")
    return v[np.arange(n) % v.size]


@expose(numpy=[np.copyto])
def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """``dst[...] = src``, where ``where`` holds."""
    dst, kind = _written(dst), values_of(src).dtype
    if not isinstance(src, (bool, int, float)) and not np.can_cast(kind, dst.dtype, casting):  # type: ignore[arg-type]
        raise DTypeError(f"np.copyto: casting={casting!r} does not turn {kind} into {dst.dtype}")
    dst[...] = src if where is True else np.where(where, src, dst)


@expose(numpy=[np.put])
def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """``v`` at the positions ``ind`` of the flattened ``a``, said over and over if it is shorter."""
    a, places = _written(a), values_of(ind).ravel()
    if mode not in ("raise", "wrap", "clip"):
        raise OptionError(f"np.put: mode is 'raise', 'wrap' or 'clip', got {mode!r}")
    places = places % a.size if mode == "wrap" else np.clip(places, 0, a.size - 1) if mode == "clip" else places
    flat = np.ravel(a).copy()
    flat[places] = _repeated(v, places.size)
    a[...] = np.reshape(flat, a.shape)


@expose(numpy=[np.putmask])
def putmask(a: Any, mask: Any, values: Any) -> None:
    """Where the mask holds, the element of ``values`` at the same place (said over and over if there are fewer)."""
    a = _written(a)
    chosen = np.broadcast_to(values_of(mask).astype(bool), a.shape)
    a[...] = np.where(chosen, np.reshape(_repeated(values, a.size), a.shape), a)


@expose(numpy=[np.place])
def place(arr: Any, mask: Any, vals: Any) -> None:
    """Where the mask holds, one of ``vals`` after the other, said over and over."""
    arr = _written(arr)
    places = np.nonzero(np.reshape(values_of(mask), arr.shape))
    if places[0].size:
        arr[places] = _repeated(vals, places[0].size)


@expose(numpy=[np.put_along_axis])
def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> None:
    """``values`` at the places that ``np.take_along_axis(arr, indices, axis)`` would read."""
    arr, indices = _written(arr), values_of(indices)
    if axis is None:
        flat = np.ravel(arr).copy()
        flat[indices.ravel()] = values
        arr[...] = np.reshape(flat, arr.shape)
        return
    if indices.ndim != arr.ndim:
        raise ShapeError(f"np.put_along_axis: indices of shape {indices.shape} need as many axes as the array of shape {arr.shape}")
    shape = tuple([n if i == axis % arr.ndim else max(n, arr.shape[i]) for i, n in enumerate(indices.shape)])
    key = list(np.ogrid[tuple([slice(n) for n in shape])])
    key[axis % arr.ndim] = indices
    arr[tuple(key)] = values


@expose(numpy=[np.fill_diagonal])
def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """``val`` on the main diagonal."""
    a = _written(a)
    if a.ndim < 2 or (a.ndim > 2 and len(set(a.shape)) > 1):
        raise ShapeError(f"np.fill_diagonal takes a matrix, or equally long axes, got shape {a.shape}")
    places = np.arange(a.size).reshape(a.shape)
    chosen = np.zeros(a.shape, bool)
    np.fill_diagonal(chosen, True, wrap)
    key = np.unravel_index(places[chosen], a.shape)
    a[key] = val if np.ndim(val) == 0 else _repeated(val, int(chosen.sum()))
