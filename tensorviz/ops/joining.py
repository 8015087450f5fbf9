"""Ops that join several operands and cut one into several: concatenate, stack, split. Must not import the trace or the views."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np

from tensorviz.arguments import dtype_of
from tensorviz.engine.op import FUNCTIONS, REGISTRY, Op, apply, expose
from tensorviz.engine.tensor import Tensor
from tensorviz.errors import AxisError, DTypeError, ShapeError
from tensorviz.ops.movement import atleast_1d, atleast_2d, atleast_3d, ravel, swapaxes
from tensorviz.ops.operands import as_array, asked, index, refuse_out
from tensorviz.ops.samples import Examples

__all__ = ["append", "array_split", "column_stack", "concatenate", "dsplit", "dstack", "hsplit", "hstack", "split", "stack", "vsplit", "vstack"]


class Concatenate(Op):
    """Operands joined along an axis that they have."""

    name = "concatenate"
    label = "concat"
    word = "splits"
    slots = ("*xs",)
    formulas = ("g, the part where this operand went",)

    @staticmethod
    def forward(*xs: Any, axis: int = 0) -> Any:
        return np.concatenate(xs, axis)

    @staticmethod
    def joint(g: Any, need: Any, shapes: Any, axis: int) -> Any:
        axis %= len(shapes[0])
        before, end = (slice(None),) * axis, 0
        parts = []
        for needed, shape in zip(need, shapes, strict=True):  # one look at each: of thousands of operands a look at all for each takes seconds
            start, end = end, end + shape[axis]
            parts.append(g[(*before, slice(start, end))] if needed else None)
        return tuple(parts)

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        a, b, c = rng.standard_normal((2, 3)), rng.standard_normal((2, 1)), rng.standard_normal((2, 0))
        return [((a, b, c), {"axis": -1}), ((a, a[:1]), {}), ((a,), {"axis": 1})]


@expose(numpy=[np.concatenate])
def concatenate(arrays: Any, axis: int | None = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """Operands joined along ``axis`` (all flattened if None). Takes nested lists that contain Tensors too, which NumPy would take apart.

    Raises ShapeError where the other axes differ. Rule: each operand gets the part of the gradient that stands where it went.

    >>> concatenate([[1.0, 2.0], [3.0]]).tolist()
    [1.0, 2.0, 3.0]
    """
    refuse_out(out)
    operands = _operands("concatenate", arrays)
    if axis is None:
        operands, axis = [ravel(x) for x in operands], 0
    if any(np.ndim(x) == 0 for x in operands):
        raise ShapeError("concatenate: operands have shape (), which has no axis to join along; use stack")
    return _cast(apply(REGISTRY["concatenate"], operands, {"axis": index("axis", axis)}), dtype, casting)


class Stack(Op):
    """Operands of one shape, side by side along a new axis."""

    name = "stack"
    word = "splits"
    slots = ("*xs",)
    formulas = ("g at this operand's place",)

    @staticmethod
    def forward(*xs: Any, axis: int = 0) -> Any:
        return np.stack(xs, axis)

    @staticmethod
    def _part(g: Any, slot: int, axis: int) -> Any:
        return g[(slice(None),) * (axis % g.ndim) + (slot,)]

    vjps = (_part,)

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        a, b = rng.standard_normal((2, 3)), rng.standard_normal((2, 3))
        return [((a, b), {"axis": -1}), ((a, b, a), {"axis": 1}), ((a[0, 0], b[0, 0]), {})]


@expose(numpy=[np.stack])
def stack(arrays: Any, axis: int = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """Operands of one shape, joined along a new ``axis``. Takes nested lists that contain Tensors too, which NumPy would take apart.

    Raises ShapeError where the shapes differ. Rule: each operand gets the gradient at its place.

    >>> stack([[1.0, 2.0], [3.0, 4.0]], axis=1).tolist()
    [[1.0, 3.0], [2.0, 4.0]]
    """
    refuse_out(out)
    return _cast(apply(REGISTRY["stack"], _operands("stack", arrays), {"axis": index("axis", axis)}), dtype, casting)


def _operands(what: str, arrays: Any) -> list[Any]:
    """The operands, each as an array or a Tensor."""
    if isinstance(arrays, (Tensor, np.ndarray)):
        return list(arrays)
    if not isinstance(arrays, Iterable):
        raise DTypeError(f"{what} takes a list of arrays or Tensors, got {type(arrays).__name__}")
    operands = [as_array(x) for x in arrays]
    if not operands:
        raise ShapeError(f"{what} needs at least one operand, got an empty list")
    return operands


def _cast(result: Any, dtype: Any, casting: str) -> Any:
    dtype = None if dtype is None else dtype_of(asked(), dtype)
    if dtype is None or result.dtype == dtype:
        return result
    if not np.can_cast(result.dtype, dtype, casting):  # type: ignore[arg-type]
        raise DTypeError(f"joined operands have dtype {result.dtype}, which casting={casting!r} does not turn into {np.dtype(dtype)}")
    return result.astype(dtype)


# ---- NumPy's shorthands ------------------------------------------------------------------------------------------


@expose(numpy=[np.vstack])
def vstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """Operands one below the other, (n,) taken as (1, n).

    >>> vstack([[1.0, 2.0], [3.0, 4.0]]).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    return concatenate([atleast_2d(x) for x in _operands("vstack", tup)], 0, dtype=dtype, casting=casting)


@expose(numpy=[np.hstack])
def hstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """Operands side by side: along axis 1, along axis 0 where they have only one.

    >>> hstack([[1.0, 2.0], [3.0]]).tolist()
    [1.0, 2.0, 3.0]
    """
    operands = [atleast_1d(x) for x in _operands("hstack", tup)]
    return concatenate(operands, 0 if not operands or operands[0].ndim == 1 else 1, dtype=dtype, casting=casting)


@expose(numpy=[np.dstack])
def dstack(tup: Any) -> Any:
    """Operands one behind the other along the third axis.

    >>> dstack([[1.0, 2.0], [3.0, 4.0]]).tolist()
    [[[1.0, 3.0], [2.0, 4.0]]]
    """
    return concatenate([atleast_3d(x) for x in _operands("dstack", tup)], 2)


@expose(numpy=[np.column_stack])
def column_stack(tup: Any) -> Any:
    """Operands side by side, (n,) taken as a column (n, 1).

    >>> column_stack([[1.0, 2.0], [3.0, 4.0]]).tolist()
    [[1.0, 3.0], [2.0, 4.0]]
    """
    return concatenate([swapaxes(atleast_2d(x), 0, 1) if np.ndim(x) < 2 else x for x in _operands("column_stack", tup)], 1)


if hasattr(np, "concat"):
    FUNCTIONS[np.concat] = concatenate


@expose(numpy=[np.append])
def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """``values`` behind ``arr``: along ``axis``, or both flattened.

    >>> append([1.0], [2.0, 3.0]).tolist()
    [1.0, 2.0, 3.0]
    """
    return concatenate([arr, values], axis)


# ---- the other way: one operand in parts -------------------------------------------------------------------------


@expose(numpy=[np.split], method="split")
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """``ary`` cut along ``axis``: into so many equal parts, or before the given positions. A list of slices, each recorded.

    Raises ShapeError where the parts would not be equal.

    >>> [part.tolist() for part in split(np.arange(5.0), [2, 3])]
    [[0.0, 1.0], [2.0], [3.0, 4.0]]
    """
    ary = as_array(ary)
    size, count = _size(ary, axis), indices_or_sections
    if np.ndim(count) == 0 and index("the number of parts", count) > 0 and size % index("the number of parts", count):
        raise ShapeError(
            f"split: axis {axis} of shape {np.shape(ary)} does not divide into {indices_or_sections} equal parts; array_split allows unequal ones"
        )
    return list(array_split(ary, indices_or_sections, axis))


@expose(numpy=[np.array_split])
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """``ary`` cut along ``axis``; the first parts are one longer where the size does not divide.

    >>> [len(part) for part in array_split(np.arange(5.0), 2)]
    [3, 2]
    """
    ary = as_array(ary)
    size = _size(ary, axis)
    if not isinstance(indices_or_sections, (list, tuple)) and np.ndim(indices_or_sections) == 0:
        count = index("the number of parts", indices_or_sections)
        if count <= 0:
            raise ShapeError(f"array_split: the number of parts must be positive, got {count}")
        short, longer = divmod(size, count)
        cuts = [i * short + min(i, longer) for i in range(count + 1)]
        spans = list(pairwise(cuts))
    else:
        places = [index("a position", i) for i in indices_or_sections]
        spans = list(zip([0, *places], [*places, size], strict=True))
    lead = (slice(None),) * (axis % ary.ndim)
    return [ary[(*lead, slice(a, b))] for a, b in spans]


def _size(ary: Any, axis: Any) -> int:
    """How long an axis is."""
    axis = index("axis", axis)
    if not -ary.ndim <= axis < ary.ndim:
        raise AxisError(f"{asked()}: axis {axis} is not there in shape {ary.shape}")
    return int(ary.shape[axis])


@expose(numpy=[np.vsplit])
def vsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """:func:`split` along axis 0.

    >>> len(vsplit(np.ones((4, 2)), 2))
    2
    """
    ary = as_array(ary)
    if ary.ndim < 2:
        raise ShapeError(f"vsplit: takes an array of 2 axes or more, got shape {ary.shape}; split cuts along the only axis")
    return list(split(ary, indices_or_sections, 0))


@expose(numpy=[np.hsplit])
def hsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """:func:`split` along axis 1, along axis 0 where there is only one.

    >>> len(hsplit(np.ones((4, 2)), 2))
    2
    """
    return list(split(ary, indices_or_sections, 1 if np.ndim(ary) > 1 else 0))


@expose(numpy=[np.dsplit])
def dsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """:func:`split` along axis 2.

    >>> len(dsplit(np.ones((4, 2, 2)), 2))
    2
    """
    return list(split(ary, indices_or_sections, 2))
