"""Ops that move elements without changing them: reshape, transpose and their kin. Must not import the trace or the views."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tensorviz.engine.aliases import quick_view, view
from tensorviz.engine.op import FUNCTIONS, REGISTRY, Call, Op, apply, attach, expose, frame
from tensorviz.engine.tensor import Tensor
from tensorviz.errors import AxisError, DTypeError
from tensorviz.ops.axes import plain
from tensorviz.ops.operands import as_array, asked, index, refusing
from tensorviz.ops.samples import Examples

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "copy",
    "expand_dims",
    "flatten",
    "moveaxis",
    "ravel",
    "reshape",
    "squeeze",
    "swapaxes",
    "transpose",
]


def sizes(shape: Any) -> tuple[int, ...]:
    """A shape as given by a user (one number or several), as plain ints."""
    if _are_sizes(shape):
        return shape  # type: ignore[no-any-return]
    found: tuple[int, ...] = refusing(_sizes, "shape must hold whole numbers", shape)
    return found


def _are_sizes(shape: Any) -> bool:
    if type(shape) is not tuple:
        return False
    for n in shape:  # noqa: SIM110 - a generator would cost as much as the rest of a reshape
        if type(n) is not int:
            return False
    return True


def _sizes(shape: Any) -> tuple[int, ...]:
    try:
        return (operator.index(shape),)
    except TypeError:
        return tuple([operator.index(n) for n in shape])


def _spread(given: tuple[Any, ...]) -> Any:
    """``x.reshape(2, 3)`` and ``x.reshape((2, 3))`` mean the same."""
    return given[0] if len(given) == 1 else given


def _concrete(a: Any, order: Any, known: str = "CFA") -> Any:
    """The order "C" or "F" that "A" means for an operand as it lies in memory; for "K" also the axes as they lie, outermost first, where it is neither."""
    if not isinstance(order, str) or order not in known:
        raise DTypeError(f"{asked()}: order is {', '.join(map(repr, known[:-1]))} or {known[-1]!r}, got {order!r}")
    if order in ("C", "F"):
        return order
    value = a.numpy() if isinstance(a, Tensor) else a
    if value.flags.c_contiguous or not (value.flags.f_contiguous or order == "K"):
        return "C"
    return "F" if value.flags.f_contiguous else _as_they_lie(value.strides)


def _as_they_lie(strides: tuple[int, ...]) -> tuple[int, ...]:
    """The axes with the longest way from element to element first. An axis along which all are the same element stays where it is, as in NumPy's iterators."""
    order = list(range(len(strides)))[::-1]
    for i in range(1, len(order)):
        axis, place = order[i], i
        for j in range(i - 1, -1, -1):
            if strides[axis] and strides[order[j]]:
                if abs(strides[order[j]]) <= abs(strides[axis]):
                    break
                place = j
        order.insert(place, order.pop(i))
    return tuple(order[::-1])


# ---- the same elements in another shape --------------------------------------------------------------------------


class Reshape(Op):
    """The same elements in another shape."""

    name = "reshape"
    word = "reshapes"
    slots = ("a",)
    exact = "a.ndim"
    formulas = ("g reshaped to a's shape",)
    vjps = (lambda g, a_shape, order: g.reshape(a_shape) if order == "C" else g.reshape(a_shape, order=order),)
    advice = "the sizes must multiply to the number of elements; one of them may be -1, which stands for what is left"

    @staticmethod
    def forward(a: Any, shape: Any, order: Any = "C") -> Any:
        if type(a) is np.ndarray:
            return a.reshape(shape) if order == "C" else a.reshape(shape, order=order)
        return np.reshape(a, shape, order=order)

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        a = rng.standard_normal((2, 3, 2))
        return [
            ((a,), {"shape": (4, 3)}),
            ((a,), {"shape": (-1, 2), "order": "F"}),
            ((a[:, :0],), {"shape": (0, 5)}),
            ((a[0, 0, 0],), {"shape": (1, 1)}),
        ]


@expose(numpy=[np.reshape])
def reshape(a: Any, shape: Any = None, order: str = "C", *, newshape: Any = None, copy: bool | None = None) -> Any:  # noqa: ARG001 - NumPy's signature
    """The elements of ``a`` in another shape; one entry may be -1. ``order`` is "C" (last axis fastest), "F", or "A": "F" if that is how ``a`` lies in memory.

    Raises ShapeError where the sizes differ. Rule: the gradient, reshaped back.

    >>> reshape(np.arange(6.0), (2, -1)).tolist()
    [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    """
    shape = newshape if shape is None else shape
    if shape is not None and order == "C":
        return quick_view(_RESHAPE, frame(1), a, (sizes(shape),), _back)
    if shape is None:
        raise DTypeError("reshape needs a shape, e.g. reshape(a, (2, 3))")
    a = as_array(a)
    found = _concrete(a, order)
    return view(REGISTRY["reshape"], a, {"shape": sizes(shape), **({} if found == "C" else {"order": found})}, _back)


_RESHAPE = Call(REGISTRY["reshape"], "shape")


def _back(base: Any, part: Any, *, order: str = "C", **_: Any) -> Any:
    """A changed view in the shape of what it was taken of."""
    return reshape(part, base.shape, order)


def _reshape_method(self: Any, *shape: Any, order: str = "C") -> Any:
    given = _spread(shape)
    if order == "C" and _are_sizes(given):
        return quick_view(_RESHAPE, frame(1), self, (given,), _back)
    return reshape(self, given, order)


attach("reshape", _reshape_method)


class Ravel(Op):
    """All elements along one axis."""

    name = "ravel"
    word = "reshapes"
    slots = ("a",)
    exact = "a.ndim"
    formulas = ("g reshaped to a's shape",)
    vjps = (lambda g, a_shape, order: g.reshape(a_shape, order=order),)

    @staticmethod
    def forward(a: Any, order: Any = "C") -> Any:
        return np.ravel(a, order)


@expose(numpy=[np.ravel], method="ravel")
def ravel(a: Any, order: str = "C") -> Any:
    """The elements of ``a`` along one axis, in "C" or "F" order, or as they lie in memory ("A" only if that is one of these, "K" always). Rule: the gradient, reshaped back.

    >>> ravel([[1.0, 2.0], [3.0, 4.0]], "F").tolist()
    [1.0, 3.0, 2.0, 4.0]
    """
    if order == "C":
        return view(REGISTRY["ravel"], a, {}, _back)
    return view(REGISTRY["ravel"], *_laid(a, order), _back)


@expose(method="flatten")
def flatten(a: Any, order: str = "C") -> Any:
    """The elements of ``a`` along one axis, as :func:`ravel`, but never a view.

    >>> flatten([[1.0, 2.0], [3.0, 4.0]]).tolist()
    [1.0, 2.0, 3.0, 4.0]
    """
    a, params = _laid(a, order)
    return apply(REGISTRY["ravel"], (a,), params)


def _laid(a: Any, order: Any) -> tuple[Any, dict[str, Any]]:
    """An operand of ravel, its axes as they lie in memory where that is asked for, and the parameters."""
    a = as_array(a)
    found = _concrete(a, order, "CFAK")
    if isinstance(found, tuple):
        return transpose(a, found), {}
    return a, {} if found == "C" else {"order": found}


class ExpandDims(Op):
    """New axes of size 1."""

    name = "expand_dims"
    word = "reshapes"
    slots = ("a",)
    exact = "a.ndim"
    formulas = ("g reshaped to a's shape",)
    vjps = ("g.reshape(a_shape)",)

    @staticmethod
    def forward(a: Any, axis: Any) -> Any:
        return np.expand_dims(a, axis)

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        a = rng.standard_normal((2, 3))
        return [((a,), {"axis": 1}), ((a,), {"axis": (0, -1)}), ((a[0, 0],), {"axis": 0})]


@expose(numpy=[np.expand_dims], method="expand_dims")
def expand_dims(a: Any, axis: Any) -> Any:
    """``a`` with new axes of size 1 at the positions ``axis`` of the result. Rule: the gradient, reshaped back.

    >>> expand_dims(np.ones((2, 3)), (0, -1)).shape
    (1, 2, 3, 1)
    """
    return view(REGISTRY["expand_dims"], a, {"axis": plain(axis)}, _back)


class Squeeze(Op):
    """Axes of size 1 left out."""

    name = "squeeze"
    word = "reshapes"
    slots = ("a",)
    exact = "a.ndim"
    formulas = ("g reshaped to a's shape",)
    vjps = ("g.reshape(a_shape)",)

    @staticmethod
    def forward(a: Any, axis: Any = None) -> Any:
        return np.squeeze(a, axis)

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        a = rng.standard_normal((1, 3, 1))
        return [((a,), {}), ((a,), {"axis": 0}), ((a,), {"axis": (0, -1)})]


@expose(numpy=[np.squeeze], method="squeeze")
def squeeze(a: Any, axis: Any = None) -> Any:
    """``a`` without its axes of size 1 (all of them, or those given). Raises ShapeError where such an axis is longer. Rule: the gradient, reshaped back.

    >>> squeeze(np.ones((1, 3, 1)), axis=0).shape
    (3, 1)
    """
    return view(REGISTRY["squeeze"], a, {} if axis is None else {"axis": plain(axis)}, _back)


class Copy(Op):
    """The same value as a result of its own."""

    name = "copy"
    word = "passes on"
    slots = ("a",)
    formulas = ("g",)
    vjps = (lambda g: g,)

    @staticmethod
    def forward(a: Any, order: Any = "K") -> Any:
        return np.array(a, order=order)


@expose(numpy=[np.copy])
def copy(a: Any, order: Any = "K", subok: bool = False) -> Any:  # noqa: ARG001 - NumPy's signature
    """``a`` as a result of its own, which in-place ops may change without touching ``a``. Rule: the gradient.

    >>> copy([1.0, 2.0]).tolist()
    [1.0, 2.0]
    """
    if not isinstance(order, str) or order not in ("C", "F", "A", "K"):
        raise DTypeError(f"copy: order is 'C', 'F', 'A' or 'K', got {order!r}")
    return apply(REGISTRY["copy"], (a,), {} if order == "K" else {"order": order})


attach("copy", lambda self, order="C": copy(self, order))


# ---- the axes in another order -----------------------------------------------------------------------------------


class Transpose(Op):
    """The axes in another order."""

    name = "transpose"
    label = "T"
    word = "permutes"
    slots = ("a",)
    exact = "a.ndim"
    formulas = ("g with its axes permuted back",)
    vjps = (lambda g, axes: g.transpose() if axes is None else g.transpose(_inverse(axes)),)
    advice = "axes lists every axis once"

    @staticmethod
    def forward(a: Any, axes: Any = None) -> Any:
        return a.transpose(axes) if type(a) is np.ndarray else np.transpose(a, axes)

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        a = rng.standard_normal((2, 3, 4))
        return [((a,), {}), ((a,), {"axes": (2, 0, 1)}), ((a,), {"axes": (-1, 0, -2)}), ((a[0, 0, 0],), {}), ((a[:0],), {"axes": (1, 0, 2)})]


def _inverse(axes: tuple[int, ...]) -> tuple[int, ...]:
    back = [0] * len(axes)
    for to, axis in enumerate(axes):
        back[axis] = to
    return tuple(back)


@expose(numpy=[np.transpose])
def transpose(a: Any, axes: Any = None) -> Any:
    """``a`` with its axes in the given order, reversed if none is given. Rule: the gradient with the inverse permutation.

    >>> transpose(np.ones((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    if axes is None:
        return quick_view(_TRANSPOSE, frame(1), a, (), _transposed_back)
    return quick_view(_PERMUTE, frame(1), a, (sizes(axes),), _transposed_back)


_TRANSPOSE, _PERMUTE = Call(REGISTRY["transpose"]), Call(REGISTRY["transpose"], "axes")


def _transposed_back(_: Any, part: Any, axes: Any = None) -> Any:
    return transpose(part, None if axes is None else _inverse(axes))


def _transpose_method(self: Any, *axes: Any) -> Any:
    return transpose(self, _spread(axes) if axes else None)


attach("transpose", _transpose_method)
if hasattr(np, "permute_dims"):
    FUNCTIONS[np.permute_dims] = transpose


class SwapAxes(Op):
    """Two axes exchanged."""

    name = "swapaxes"
    word = "permutes"
    slots = ("a",)
    exact = "a.ndim"
    formulas = ("g with the two axes swapped back",)
    vjps = ("g.swapaxes(axis1, axis2)",)

    @staticmethod
    def forward(a: Any, axis1: Any, axis2: Any) -> Any:
        return a.swapaxes(axis1, axis2) if type(a) is np.ndarray else np.swapaxes(a, axis1, axis2)

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        return [((rng.standard_normal((2, 3, 4)),), {"axis1": 0, "axis2": -1})]


@expose(numpy=[np.swapaxes], method="swapaxes")
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """``a`` with two axes exchanged. Rule: the gradient with the same two exchanged.

    >>> swapaxes(np.ones((2, 3, 4)), 0, -1).shape
    (4, 3, 2)
    """
    if type(axis1) is not int or type(axis2) is not int:
        axis1, axis2 = index("axis1", axis1), index("axis2", axis2)
    return quick_view(_SWAPAXES, frame(1), a, (axis1, axis2), _swapped_back)


_SWAPAXES = Call(REGISTRY["swapaxes"], "axis1", "axis2")


def _swapped_back(_: Any, part: Any, axis1: int, axis2: int) -> Any:
    return swapaxes(part, axis1, axis2)


if hasattr(np, "matrix_transpose"):
    FUNCTIONS[np.matrix_transpose] = FUNCTIONS[np.linalg.matrix_transpose] = lambda x: swapaxes(x, -1, -2)


class MoveAxis(Op):
    """Axes moved to other positions, the rest in order."""

    name = "moveaxis"
    word = "permutes"
    slots = ("a",)
    exact = "a.ndim"
    formulas = ("g with the axes moved back",)
    vjps = (lambda g, source, destination: np.moveaxis(g, destination, source),)

    @staticmethod
    def forward(a: Any, source: Any, destination: Any) -> Any:
        return np.moveaxis(a, source, destination)

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        a = rng.standard_normal((2, 3, 4))
        return [((a,), {"source": 0, "destination": -1}), ((a,), {"source": (0, 1), "destination": (-1, 0)})]


@expose(numpy=[np.moveaxis], method="moveaxis")
def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    """``a`` with the axes ``source`` moved to the positions ``destination``. Rule: the gradient with them moved back.

    >>> moveaxis(np.ones((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    return quick_view(_MOVEAXIS, frame(1), a, (plain(source), plain(destination)), _moved_back)


_MOVEAXIS = Call(REGISTRY["moveaxis"], "source", "destination")


def _moved_back(_: Any, part: Any, source: Any, destination: Any) -> Any:
    return moveaxis(part, destination, source)


@expose(numpy=[np.rollaxis])
def _rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """``axis`` moved to stand before ``start``: NumPy's older word for moveaxis."""
    ndim = np.ndim(a)
    if not -ndim <= axis < ndim or not -ndim <= start <= ndim:
        raise AxisError(f"rollaxis: axis {axis} and start {start} are not both there in shape {np.shape(a)}")
    axis, start = axis % ndim, start if start >= 0 else start + ndim
    return moveaxis(a, axis, start - 1 if start > axis else start)


# ---- NumPy's helpers that are reshapes ---------------------------------------------------------------------------


@expose(numpy=[np.atleast_1d])
def atleast_1d(*arrays: Any) -> Any:
    """Each operand with at least one axis; one result for one operand, otherwise a tuple.

    >>> atleast_1d(3.0).shape
    (1,)
    """
    return _each(arrays, lambda a: reshape(a, (1,)) if np.ndim(a) == 0 else a)


@expose(numpy=[np.atleast_2d])
def atleast_2d(*arrays: Any) -> Any:
    """Each operand with at least two axes, new ones in front.

    >>> atleast_2d([1.0, 2.0]).shape
    (1, 2)
    """
    return _each(arrays, lambda a: reshape(a, (1,) * (2 - np.ndim(a)) + np.shape(a)) if np.ndim(a) < 2 else a)


@expose(numpy=[np.atleast_3d])
def atleast_3d(*arrays: Any) -> Any:
    """Each operand with at least three axes: (n,) becomes (1, n, 1), (m, n) becomes (m, n, 1).

    >>> atleast_3d([1.0, 2.0]).shape
    (1, 2, 1)
    """
    return _each(arrays, _deep)


def _deep(a: Any) -> Any:
    shape = np.shape(a)
    return a if len(shape) > 2 else reshape(a, (*shape, 1) if len(shape) == 2 else (1, *(shape or (1,)), 1))


def _each(arrays: tuple[Any, ...], change: Any) -> Any:
    found = tuple([change(as_array(a)) for a in arrays])
    return found[0] if len(found) == 1 else found
