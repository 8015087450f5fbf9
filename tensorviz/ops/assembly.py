"""NumPy's functions that put arrays together from parts, leave parts out, or apply a function part by part. Must not import the trace or the views."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorviz.arguments import number
from tensorviz.engine.op import FUNCTIONS, expose
from tensorviz.engine.tensor import Tensor
from tensorviz.errors import AxisError, DTypeError, ShapeError
from tensorviz.ops.axes import each, plain
from tensorviz.ops.cumulative import cumprod, cumsum
from tensorviz.ops.joining import concatenate, stack
from tensorviz.ops.operands import as_array, asked, index, of_dtype, refuse_out, values_of
from tensorviz.ops.ordering import roll

__all__: list[str] = []


def _axis(axis: Any, ndim: int) -> int:
    found = index("axis", axis)
    if not -ndim <= found < ndim:
        raise AxisError(f"{asked()}: axis {found} is not there in {ndim} axes")
    return found % ndim


# ---- by position: NumPy's own function, applied to the numbers of the places, says which elements go where ------


def _by_place(function: Any) -> None:
    """What only moves elements about: done to their positions, and recorded as one indexing."""

    def moved(a: Any, *args: Any, **kwargs: Any) -> Any:
        a = as_array(a)
        places = np.arange(a.size).reshape(a.shape)
        return np.ravel(a)[function(places, *map(_values_in, args), **{k: _values_in(v) for k, v in kwargs.items()})]

    moved.__name__ = function.__name__
    FUNCTIONS[function] = moved


def _values_in(x: Any) -> Any:
    return values_of(x) if isinstance(x, Tensor) else x


_by_place(np.delete)
_by_place(np.resize)


# here and not with the rolls: NumPy loads its Fourier transforms when they are first named


@expose(numpy=[np.fft.fftshift])
def _fftshift(x: Any, axes: Any = None) -> Any:
    """Zero frequency to the middle: a roll by half of each axis."""
    found = each(plain(axes), x.ndim)
    return roll(x, tuple([x.shape[i] // 2 for i in found]), found)


@expose(numpy=[np.fft.ifftshift])
def _ifftshift(x: Any, axes: Any = None) -> Any:
    found = each(plain(axes), x.ndim)
    return roll(x, tuple([-(x.shape[i] // 2) for i in found]), found)


@expose(numpy=[np.compress])
def _compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    refuse_out(out)
    a = as_array(a)
    places = np.arange(a.size).reshape(a.shape)
    return np.ravel(a)[np.compress(values_of(condition), places, axis)]


@expose(numpy=[np.extract])
def _extract(condition: Any, arr: Any) -> Any:
    return np.ravel(as_array(arr))[np.flatnonzero(values_of(condition))]


@expose(numpy=[np.trim_zeros])
def _trim_zeros(filt: Any, trim: str = "fb", *further: Any, **options: Any) -> Any:
    """The elements without the zeros at the ends: which they are is read off the values."""
    a = as_array(filt)
    if a.ndim != 1 or further or options:
        raise ShapeError(f"np.trim_zeros of a Tensor takes one axis, got shape {a.shape}; take a slice")
    there = np.flatnonzero(values_of(a))
    if not there.size:
        return a[:0]
    return a[there[0] if "f" in trim.lower() else 0 : there[-1] + 1 if "b" in trim.lower() else a.size]


@expose(numpy=[np.insert])
def _insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    """``values`` before the positions ``obj``: the elements of both, in the order that NumPy gives to their places."""
    arr = as_array(arr)
    if axis is None:
        arr, axis = np.ravel(arr), 0
    axis = _axis(axis, arr.ndim)
    where = values_of(obj) if not isinstance(obj, slice) else np.arange(arr.shape[axis])[obj]
    old = np.arange(arr.shape[axis])
    new = arr.shape[axis] + np.arange(max(where.size, 1) if where.ndim else 1)
    values = as_array(values)
    if where.ndim == 0 or where.size == 1:
        # one position takes several rows: they stand along the axis, or, for a plain number as position, in front as NumPy has it
        values = np.reshape(values, (1,) * (arr.ndim - values.ndim) + values.shape)
        if where.ndim == 0:
            values = np.moveaxis(values, 0, axis)
        shape = (*arr.shape[:axis], values.shape[axis], *arr.shape[axis + 1 :])
        new = arr.shape[axis] + np.arange(values.shape[axis])
        where = where if where.ndim == 0 else where.ravel()[0]
    else:
        shape = (*arr.shape[:axis], where.size, *arr.shape[axis + 1 :])
    order = np.insert(old, where, new)
    both = np.concatenate([arr, np.broadcast_to(values, shape).astype(arr.dtype)], axis)
    return np.take(both, order, axis)


# ---- joined ------------------------------------------------------------------------------------------------------


@expose(numpy=[np.block])
def _block(arrays: Any) -> Any:
    """Nested lists of blocks: the innermost are joined along the last axis, the ones around them along the one before, and so on."""

    def deepest(part: Any) -> int:
        return 1 + max(map(deepest, part)) if isinstance(part, list) else 0

    depth = deepest(arrays)

    def widest(part: Any) -> int:
        return max(map(widest, part)) if isinstance(part, list) else np.ndim(part)

    ndim = max(depth, widest(arrays))

    def joined(part: Any, level: int) -> Any:
        if isinstance(part, list):
            return concatenate([joined(p, level + 1) for p in part], ndim - depth + level)
        part = as_array(part)
        return np.reshape(part, (1,) * (ndim - part.ndim) + part.shape) if part.ndim < ndim else part

    return joined(arrays, 0)


@expose(numpy=[np.meshgrid])
def _meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:  # noqa: ARG001 - NumPy's signature
    """The coordinates of every point of a grid."""
    if indexing not in ("xy", "ij"):
        raise DTypeError(f"np.meshgrid: indexing is 'xy' or 'ij', got {indexing!r}")
    axes = list(range(len(xi)))
    if indexing == "xy" and len(xi) > 1:
        axes[0], axes[1] = 1, 0
    found = [np.reshape(as_array(x), [-1 if i == axis else 1 for i in range(len(xi))]) for axis, x in zip(axes, xi, strict=True)]
    if not sparse:
        shape = np.broadcast_shapes(*[f.shape for f in found])
        found = [np.broadcast_to(f, shape) * 1 for f in found]  # results of their own, which may be written to
    return tuple(found) if hasattr(np, "unstack") or isinstance(np.meshgrid([0]), tuple) else found


if hasattr(np, "unstack"):

    @expose(numpy=[np.unstack])
    def _unstack(x: Any, /, *, axis: int = 0) -> Any:
        moved = np.moveaxis(x, _axis(axis, x.ndim), 0)
        return tuple([moved[i] for i in range(moved.shape[0])])


@expose(numpy=[np.diagflat])
def _diagflat(v: Any, k: int = 0) -> Any:
    return np.diag(np.ravel(as_array(v)), k)


@expose(numpy=[np.ediff1d])
def _ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """The differences of neighbours in the flattened operand, with what goes before and behind them, in the dtype of the operand."""
    a = np.ravel(as_array(ary))
    found = [a[1:] - a[:-1]]
    for name, beside in ("to_begin", to_begin), ("to_end", to_end):
        if beside is None:
            continue
        beside = np.ravel(as_array(beside))
        if not np.can_cast(beside.dtype, a.dtype, "same_kind"):
            raise DTypeError(
                f"np.ediff1d: {name} has dtype {beside.dtype}, which the dtype {a.dtype} of the operand does not hold; convert one of them with astype"
            )
        beside = of_dtype(beside, a.dtype)
        found = [beside, *found] if name == "to_begin" else [*found, beside]
    return concatenate(found) if len(found) > 1 else found[0]


@expose(numpy=[np.vander])
def _vander(x: Any, N: Any = None, increasing: bool = False) -> Any:
    """The powers of a vector as columns."""
    x = as_array(x)
    n = x.size if N is None else index("N", N)
    powers, kind = np.arange(n) if increasing else np.arange(n)[::-1], np.promote_types(x.dtype, int)
    return np.power(of_dtype(x, kind)[:, None], powers.astype(kind))


@expose(numpy=[np.logspace])
def _logspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0) -> Any:
    if np.ndim(base):  # then its axes stand beside those of the ends
        start, stop, base = (as_array(x) for x in (start, stop, base))
        most = max(x.ndim for x in (start, stop, base))
        start, stop, base = (np.reshape(x, (1,) * (most - x.ndim) + x.shape) for x in (start, stop, base))
        base = np.expand_dims(base, axis)
    found = np.power(base, np.linspace(start, stop, num, endpoint, axis=axis))
    return found if dtype is None else found.astype(dtype)


@expose(numpy=[np.geomspace])
def _geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Any:
    start, stop = as_array(start), as_array(stop)
    sign = np.sign(values_of(start))
    if np.any(sign != np.sign(values_of(stop))) or not np.all(sign):
        raise DTypeError("np.geomspace of Tensors runs between numbers of one sign, none of them 0")
    kind = np.result_type(start.dtype, stop.dtype, np.zeros((), dtype))
    start, stop = (np.log(of_dtype(end * sign, kind)) for end in (start, stop))
    found = sign * np.exp(np.linspace(start, stop, num, endpoint))
    found = found if axis == 0 else np.moveaxis(found, 0, axis)
    return found if dtype is None else found.astype(dtype)


@expose(numpy=[np.unwrap])
def _unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: float = 2 * np.pi) -> Any:
    """Angles without jumps: whole periods are added, which do not change with the angles."""
    values, period = values_of(p), number("np.unwrap", "period", period)
    return p + (np.unwrap(values, discont, axis, period=period) - values)


def _cumulative(function: Callable[..., Any], neutral: float) -> Callable[..., Any]:
    def cumulative(x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None, include_initial: bool = False) -> Any:
        x = np.atleast_1d(x)
        if axis is None and x.ndim > 1:
            raise ShapeError(f"{asked()}: name the axis of shape {x.shape}")
        axis = _axis(0 if axis is None else axis, x.ndim)
        found = function(x, axis, dtype, out)
        if not include_initial:
            return found
        first = np.full((*found.shape[:axis], 1, *found.shape[axis + 1 :]), neutral, found.dtype)
        return concatenate([first, found], axis)

    return cumulative


if hasattr(np, "cumulative_sum"):
    FUNCTIONS[np.cumulative_sum] = _cumulative(cumsum, 0)
    FUNCTIONS[np.cumulative_prod] = _cumulative(cumprod, 1)


# ---- part by part ------------------------------------------------------------------------------------------------


@expose(numpy=[np.apply_along_axis])
def _apply_along_axis(func1d: Callable[..., Any], axis: Any, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """A function of a vector, applied to every vector along an axis."""
    arr = as_array(arr)
    axis = _axis(axis, arr.ndim)
    rest = (*arr.shape[:axis], *arr.shape[axis + 1 :])
    rows = np.reshape(np.moveaxis(arr, axis, -1), (-1, arr.shape[axis]))
    if not rows.shape[0]:
        raise ShapeError(f"np.apply_along_axis over shape {arr.shape}: there is no vector to apply the function to")
    found = stack([as_array(func1d(rows[i], *args, **kwargs)) for i in range(rows.shape[0])])
    inner = found.shape[1:]
    found = np.reshape(found, (*rest, *inner))
    # what the function makes of a vector stands where the vector stood
    return np.moveaxis(found, range(len(rest), found.ndim), range(axis, axis + len(inner)))


@expose(numpy=[np.apply_over_axes])
def _apply_over_axes(func: Callable[..., Any], a: Any, axes: Sequence[int] | int) -> Any:
    """A reduction, applied to one axis after the other."""
    a = as_array(a)
    for axis in (axes,) if np.ndim(axes) == 0 else axes:  # type: ignore[union-attr]
        found = func(a, axis)
        a = found if found.ndim == a.ndim else np.expand_dims(found, axis)
    return a
