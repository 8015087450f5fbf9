"""Ops that copy elements to more places: broadcast_to, pad, repeat, tile. Must not import the trace or the views."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorviz.arguments import one_of, shown
from tensorviz.engine.aliases import view
from tensorviz.engine.graph import numbers
from tensorviz.engine.op import REGISTRY, Op, apply, expose
from tensorviz.errors import AxisError, DTypeError, ShapeError
from tensorviz.ops.indexing import index_add
from tensorviz.ops.movement import ravel, sizes
from tensorviz.ops.operands import as_array, asked, index
from tensorviz.ops.samples import Examples

__all__ = ["broadcast_arrays", "broadcast_to", "linspace", "pad", "repeat", "tile"]


class BroadcastTo(Op):
    """Repeated along new axes and along axes of size 1; the engine sums the gradient over them."""

    name = "broadcast_to"
    word = "sums the copies"
    slots = ("a",)
    broadcasts = True
    formulas = ("g",)
    vjps = (lambda g: g,)

    @staticmethod
    def forward(a: Any, shape: Any) -> Any:
        return np.broadcast_to(a, shape)

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        a = rng.standard_normal((3, 1))
        return [((a,), {"shape": (2, 3, 4)}), ((a[0, 0],), {"shape": (2, 2)}), ((a,), {"shape": (3, 0)}), ((a,), {"shape": (3, 1)})]


@expose(numpy=[np.broadcast_to], method="broadcast_to")
def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Any:  # noqa: ARG001 - NumPy's signature
    """``array`` repeated along new axes and along its axes of size 1, without copying. Rule: the gradient, summed over the axes that grew.

    Raises ShapeError where the shapes do not broadcast.

    >>> broadcast_to([[1.0], [2.0]], (2, 3)).tolist()
    [[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]]
    """
    return view(REGISTRY["broadcast_to"], array, {"shape": sizes(shape)}, None)


@expose(numpy=[np.broadcast_arrays])
def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Any, ...]:  # noqa: ARG001 - NumPy's signature
    """All operands in their common shape.

    >>> [a.shape for a in broadcast_arrays(np.ones((2, 1)), np.ones(3))]
    [(2, 3), (2, 3)]
    """
    shapes = [as_array(a).shape for a in args]
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        raise ShapeError(
            f"broadcast_arrays: shapes {', '.join(map(str, shapes))} have no common shape; aligned from the right, sizes must be equal or 1"
        ) from None
    return tuple([a if np.shape(a) == shape else broadcast_to(a, shape) for a in args])


@expose(numpy=[np.full])
def _full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", *, device: Any = None) -> Any:  # noqa: ARG001 - NumPy's signature
    """``np.full(shape, x, like=x)``; without ``like`` NumPy does not ask a Tensor."""
    found = broadcast_to(fill_value, shape)
    return found.copy() if dtype is None else found.astype(dtype)  # a result of its own, which may be written to


@expose(numpy=[np.linspace])
def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,  # noqa: ARG001 - NumPy's signature
) -> Any:
    """``num`` numbers in equal steps from ``start`` to ``stop`` (which is the last of them with ``endpoint``), along a new axis; with ``retstep`` also the step.

    >>> linspace(0.0, 1.0, 3).tolist()
    [0.0, 0.5, 1.0]
    """
    num = index("num", num)
    if num < 0:
        raise ShapeError(f"linspace: the number of samples must not be negative, got {num}")
    start, stop = _end("start", start), _end("stop", stop)
    steps = num - 1 if endpoint else num
    parts = max(steps, 1)
    kind = np.result_type(*(getattr(x, "dtype", x) for x in (start, stop)), 0.0)
    t = np.expand_dims(np.arange(num, dtype=kind) / parts, tuple(range(1, 1 + max(np.ndim(start), np.ndim(stop)))))
    found = start * (1 - t) + stop * t
    found = found if axis == 0 else np.moveaxis(found, 0, axis)
    found = found if dtype is None else found.astype(dtype)
    return (found, (stop - start) / steps if steps > 0 else np.nan) if retstep else found


def _end(name: str, x: Any) -> Any:
    if type(x) in (int, float):
        return x  # weak: beside float32 it makes no float64
    found = x if isinstance(getattr(x, "dtype", None), np.dtype) else numbers(x, f"linspace: {name}")
    if found.dtype.kind not in "fiub":
        raise DTypeError(f"linspace: {name} must be a number, or an array of numbers, got {shown(x)}")
    return found


class Pad(Op):
    """A border around an array."""

    name = "pad"
    word = "crops"
    slots = ("a",)
    formulas = ("g without the border (what was copied into the border comes back)",)

    @staticmethod
    def forward(a: Any, pad_width: Any, mode: Any = "constant", constant_values: Any = 0) -> Any:
        if not pad_width:
            return a  # a number has no sides
        return np.pad(a, pad_width, mode, constant_values=constant_values) if mode == "constant" else np.pad(a, pad_width, mode)

    @staticmethod
    def _crop(g: Any, a_shape: Any, pad_width: Any, mode: Any) -> Any:
        if mode == "constant":
            return g[tuple([slice(before, before + n) for (before, _), n in zip(pad_width, a_shape, strict=True)])]
        sources = [np.pad(np.arange(n), width, mode) for n, width in zip(a_shape, pad_width, strict=True)]
        return index_add(g, np.ix_(*sources), a_shape)

    vjps = (_crop,)

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        a = rng.standard_normal((3, 4))
        width = ((1, 0), (2, 3))
        cases: list[Any] = [((a,), {"pad_width": width, "mode": mode}) for mode in ("edge", "reflect", "symmetric", "wrap")]
        return [
            ((a,), {"pad_width": width}),
            ((a,), {"pad_width": width, "constant_values": 2.5}),
            ((a[:, :0],), {"pad_width": ((0, 0), (1, 1))}),
            *cases,
        ]


@expose(numpy=[np.pad], method="pad")
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    """``array`` with a border: ``pad_width`` elements before and after on each axis (an int, a pair, or a pair per axis).

    ``mode`` is "constant" (with ``constant_values``, 0 if not given) or "empty", which leaves the border to chance (here 0); "edge", "reflect", "symmetric"
    or "wrap", which copy elements; "maximum", "mean", "median" or "minimum" (of the ``stat_length`` elements at the side, all if not given);
    "linear_ramp" (to ``end_values``); or a function that writes the border into each vector, as NumPy calls it.
    ``reflect_type="odd"`` reflects at the end point.

    Rule: the gradient without its border; in the modes that copy elements into the border, those elements also receive what arrives at their copies.

    >>> pad([1.0, 2.0, 3.0], (2, 1), mode="reflect").tolist()
    [3.0, 2.0, 1.0, 2.0, 3.0, 2.0]
    >>> pad([1.0, 3.0], (0, 2), mode="mean").tolist()
    [1.0, 3.0, 2.0, 2.0]
    """
    widths = _widths(pad_width, np.ndim(array))
    if not callable(mode):
        one_of("pad", "mode", mode, _MODES)
    computed = callable(mode) or mode in _COMPUTED or kwargs.get("reflect_type") == "odd"
    if computed:
        from tensorviz.ops import borders  # few programs need it, and an import has no time to spare
    if callable(mode):
        return borders.written(as_array(array), widths, mode, kwargs)
    takes = _MODES[mode]
    unknown = sorted(kwargs.keys() - {takes})
    if unknown:
        raise DTypeError(f"pad: mode {mode!r} takes no {', '.join(unknown)}={f'; it takes {takes}=' if takes else ''}")
    if "reflect_type" in kwargs:
        one_of("pad", "reflect_type", kwargs["reflect_type"], ("even", "odd"))
    if computed:
        a = as_array(array)
        if a.dtype.kind != "f":
            return borders.on_values(a, lambda values: np.pad(values, widths, mode, **kwargs))
        return borders.bordered(a, widths, mode, kwargs.get("stat_length", kwargs.get("end_values")))
    params: dict[str, Any] = {"pad_width": widths}
    if mode in _COPYING:
        params["mode"] = mode
    elif "constant_values" in kwargs:
        values = kwargs["constant_values"]
        values = values if isinstance(values, (int, float)) else as_array(values)
        if getattr(values, "requires_grad", False):
            return _bordered(as_array(array), widths, values)
        params["constant_values"] = values if isinstance(values, (int, float)) else np.array(values)
    return apply(REGISTRY["pad"], (array,), params)


_COPYING = ("edge", "reflect", "symmetric", "wrap")
"""Modes that copy elements into the border."""
_COMPUTED = {**dict.fromkeys(("maximum", "mean", "median", "minimum"), "stat_length"), "linear_ramp": "end_values"}
_MODES = {
    **dict.fromkeys(_COPYING),
    "reflect": "reflect_type",
    "symmetric": "reflect_type",
    **_COMPUTED,
    "constant": "constant_values",
    "empty": None,
}
"""Every mode, with what it may be told."""


def _bordered(a: Any, widths: tuple[tuple[int, int], ...], values: Any) -> Any:
    """A border of numbers that get a gradient: NumPy says which of them stands where."""
    which = np.pad(np.full(a.shape, -1), widths, constant_values=np.arange(2 * a.ndim).reshape(a.ndim, 2))
    border = np.ravel(np.broadcast_to(values, (a.ndim, 2)))[np.maximum(which, 0)]
    return np.where(which < 0, pad(a, widths), border.astype(a.dtype))


def _widths(given: Any, ndim: int) -> tuple[tuple[int, int], ...]:
    """One pair of widths per axis."""
    if isinstance(given, dict):
        pairs: list[Any] = [(0, 0)] * ndim
        for axis, width in given.items():
            pairs[_there(axis, ndim)] = width
        given = [(w, w) if np.ndim(w) == 0 else tuple(w) for w in pairs]
    if not ndim:
        return ()
    try:
        array = np.broadcast_to(np.asarray(given), (ndim, 2))
    except ValueError as error:
        raise ShapeError(f"pad: pad_width {given!r} does not fit {ndim} axes; give an int, one pair (before, after), or one pair per axis") from error
    if array.dtype.kind not in "iu":
        raise DTypeError(f"pad: pad_width holds whole numbers, got {given!r}")
    if array.size and array.min() < 0:
        raise ShapeError(f"pad: pad_width must not be negative, got {given!r}; crop with a slice")
    return tuple([(int(before), int(after)) for before, after in array])


class Repeat(Op):
    """Every element several times, one after the other."""

    name = "repeat"
    word = "sums the copies"
    slots = ("a",)
    formulas = ("g summed over the copies of each element",)

    @staticmethod
    def forward(a: Any, repeats: Any, axis: int) -> Any:
        return np.repeat(a, repeats, axis)

    @staticmethod
    def _sum(g: Any, a_shape: Any, repeats: Any, axis: int) -> Any:
        if isinstance(repeats, int):
            return np.sum(np.reshape(g, (*a_shape[: axis + 1], repeats, *a_shape[axis + 1 :])), axis=axis + 1)
        return index_add(g, (slice(None),) * axis + (np.repeat(np.arange(a_shape[axis]), repeats),), a_shape)

    vjps = (_sum,)

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        a = rng.standard_normal((2, 3))
        return [
            ((a,), {"repeats": 3, "axis": 0}),
            ((a,), {"repeats": 2, "axis": 1}),
            ((a,), {"repeats": np.array([2, 0, 1]), "axis": 1}),
            ((a[:0],), {"repeats": 2, "axis": 1}),
        ]


@expose(numpy=[np.repeat], method="repeat")
def repeat(a: Any, repeats: Any, axis: int | None = None) -> Any:
    """Every element of ``a`` ``repeats`` times along ``axis`` (flattened if None); ``repeats`` may hold one number per position.

    Rule: the gradient summed over the copies of each element.

    >>> repeat([1.0, 2.0], [1, 2]).tolist()
    [1.0, 2.0, 2.0]
    """
    if axis is None or np.ndim(a) == 0:
        a, axis = ravel(a), 0
    counts = np.asarray(repeats)
    if counts.dtype.kind not in "iu":
        raise DTypeError(f"repeat: the counts are whole numbers, got dtype {counts.dtype}")
    params = {"repeats": int(counts.reshape(())) if counts.size == 1 else np.array(counts), "axis": _there(axis, np.ndim(a))}
    return apply(REGISTRY["repeat"], (a,), params)


def _there(axis: Any, ndim: int) -> int:
    found = index("axis", axis)
    if not -ndim <= found < ndim:
        raise AxisError(f"{asked()}: axis {found} is not there in an operand of {ndim} axes")
    return found % ndim


class Tile(Op):
    """The whole array side by side, several times along each axis."""

    name = "tile"
    word = "sums the copies"
    slots = ("a",)
    formulas = ("g summed over the tiles",)

    @staticmethod
    def forward(a: Any, reps: Any) -> Any:
        return np.tile(a, reps)

    @staticmethod
    def _sum(g: Any, a_shape: Any, reps: Any) -> Any:
        shape = (1,) * (len(reps) - len(a_shape)) + a_shape
        split = [n for pair in zip(reps, shape, strict=True) for n in pair]
        return np.reshape(np.sum(np.reshape(g, split), axis=tuple(range(0, len(split), 2))), a_shape)

    vjps = (_sum,)

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        a = rng.standard_normal((2, 3))
        return [((a,), {"reps": (2, 1)}), ((a,), {"reps": (2, 1, 3)}), ((a[0, 0],), {"reps": (2,)}), ((a[:, :0],), {"reps": (1, 2)})]


@expose(numpy=[np.tile], method="tile")
def tile(A: Any, reps: Any) -> Any:
    """``A`` side by side, ``reps`` times along each axis (the last axes if there are fewer numbers than axes). Rule: the gradient summed over the tiles.

    >>> tile([1.0, 2.0], 2).tolist()
    [1.0, 2.0, 1.0, 2.0]
    """
    counts = sizes(reps)
    return apply(REGISTRY["tile"], (A,), {"reps": (1,) * (np.ndim(A) - len(counts)) + counts})
