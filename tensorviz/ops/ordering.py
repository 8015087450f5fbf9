"""Ops that put elements in another order: flip, roll, sort, argsort, take_along_axis. Must not import the trace or the views."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorviz.engine.aliases import view
from tensorviz.engine.op import REGISTRY, Op, apply, expose
from tensorviz.errors import AxisError, DTypeError, IndexingError
from tensorviz.ops.axes import plain
from tensorviz.ops.indexing import index_add
from tensorviz.ops.keys import chosen
from tensorviz.ops.movement import transpose
from tensorviz.ops.operands import as_array, index, refusing
from tensorviz.ops.samples import Examples, distinct

__all__ = ["argsort", "flip", "fliplr", "flipud", "partition", "roll", "rot90", "sort", "take_along_axis"]


class Flip(Op):
    """The elements in reverse along axes."""

    name = "flip"
    word = "permutes"
    slots = ("a",)
    formulas = ("g flipped back",)
    vjps = (lambda g, axis: np.flip(g, axis),)

    @staticmethod
    def forward(a: Any, axis: Any = None) -> Any:
        return np.flip(a, axis)

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        a = rng.standard_normal((2, 3))
        return [((a,), {}), ((a,), {"axis": -1}), ((a,), {"axis": (0, 1)}), ((a[:0],), {"axis": 0})]


@expose(numpy=[np.flip], method="flip")
def flip(m: Any, axis: Any = None) -> Any:
    """``m`` in reverse along ``axis`` (int, tuple, or None for all). Rule: the gradient, flipped back.

    >>> flip([1.0, 2.0, 3.0]).tolist()
    [3.0, 2.0, 1.0]
    """
    axes = plain(axis)
    return view(REGISTRY["flip"], m, {} if axes is None else {"axis": axes}, _flipped_back)


def _flipped_back(_: Any, part: Any, axis: Any = None) -> Any:
    return flip(part, axis)


@expose(numpy=[np.fliplr])
def fliplr(m: Any) -> Any:
    """``m`` with its columns (axis 1) in reverse.

    >>> fliplr([[1.0, 2.0]]).tolist()
    [[2.0, 1.0]]
    """
    return flip(m, 1)


@expose(numpy=[np.flipud])
def flipud(m: Any) -> Any:
    """``m`` with its rows (axis 0) in reverse.

    >>> flipud([1.0, 2.0]).tolist()
    [2.0, 1.0]
    """
    return flip(m, 0)


@expose(numpy=[np.rot90])
def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    """``m`` turned ``k`` quarters in the plane of two axes, from the first towards the second.

    >>> rot90([[1.0, 2.0], [3.0, 4.0]]).tolist()
    [[2.0, 4.0], [1.0, 3.0]]
    """
    m = as_array(m)
    given = tuple([index("an axis", i) for i in refusing(tuple, "axes must be two whole numbers", axes)])
    if len(given) != 2 or any(not -m.ndim <= i < m.ndim for i in given) or given[0] % m.ndim == given[1] % m.ndim:
        raise AxisError(f"rot90 takes two different axes of shape {m.shape}, got {given}")
    first, second = (i % m.ndim for i in given)
    k = index("k", k) % 4
    if k == 0:
        return m
    if k == 2:
        return flip(m, (first, second))
    order = list(range(m.ndim))
    order[first], order[second] = second, first
    return transpose(flip(m, second), order) if k == 1 else flip(transpose(m, order), second)


class Roll(Op):
    """The elements moved along axes, those that fall off coming back at the other end."""

    name = "roll"
    word = "permutes"
    slots = ("a",)
    formulas = ("g rolled back",)
    vjps = (lambda g, shift, axis: np.roll(g, tuple([-s for s in shift]) if isinstance(shift, tuple) else -shift, axis),)

    @staticmethod
    def forward(a: Any, shift: Any, axis: Any = None) -> Any:
        return np.roll(a, shift, axis)

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        a = rng.standard_normal((2, 3))
        return [
            ((a,), {"shift": 2}),
            ((a,), {"shift": -1, "axis": 1}),
            ((a,), {"shift": (1, 2), "axis": (0, 1)}),
            ((a[:, :0],), {"shift": 1, "axis": 1}),
        ]


@expose(numpy=[np.roll], method="roll")
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """``a`` moved by ``shift`` places along ``axis`` (through the flattened elements if None), what falls off coming back at the other end.

    Rule: the gradient, rolled back.

    >>> roll([1.0, 2.0, 3.0], 1).tolist()
    [3.0, 1.0, 2.0]
    """
    return apply(REGISTRY["roll"], (a,), {"shift": _shift(shift)} if axis is None else {"shift": _shift(shift), "axis": plain(axis)})


def _shift(shift: Any) -> Any:
    if isinstance(shift, np.ndarray):
        shift = shift.tolist()
    several = isinstance(shift, (list, tuple))
    return tuple([index("shift", n) for n in shift]) if several else index("shift", shift)


# ---- by value ----------------------------------------------------------------------------------------------------


def _along(indices: Any, axis: int, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """The key that picks, along one axis, the positions that ``indices`` holds for every other position (as np.take_along_axis does)."""
    ndim = len(shape)
    axis %= ndim
    key: list[Any] = []
    for i in range(ndim):
        across = (1,) * i + (-1,) + (1,) * (ndim - i - 1)
        key.append(indices if i == axis else np.arange(shape[i]).reshape(across))
    return tuple(key)


class Sort(Op):
    """The elements along an axis in ascending order."""

    name = "sort"
    word = "routes"
    slots = ("a",)
    extras = ("order",)
    formulas = ("g, each back to where its element came from",)
    vjps = (lambda g, a_shape, order, axis: index_add(g, _along(np.asarray(order), axis, a_shape), a_shape),)
    routes = (lambda a_shape: np.ones(a_shape),)

    @staticmethod
    def forward(a: Any, axis: int = -1) -> Any:
        order = np.argsort(a, axis, kind="stable")
        return np.take_along_axis(a, order, axis), (order,)

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        a = distinct(rng, (3, 4))
        return [((a,), {}), ((a,), {"axis": 0}), ((a[:, :0],), {}), ((a[:1, :1],), {"axis": 0})]


@expose(numpy=[np.sort])
def sort(a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:  # noqa: ARG001 - NumPy's signature
    """``a`` in ascending order along ``axis`` (flattened if None), NaN last. Equal elements keep their order, so ties are routed one to one.

    Rule: each element of the gradient goes back to where its element came from.

    >>> sort([3.0, 1.0, 2.0]).tolist()
    [1.0, 2.0, 3.0]
    """
    if order is not None:
        raise DTypeError("sort: order= names fields, which a Tensor has none of")
    a = as_array(a)
    if axis is None:
        a, axis = np.ravel(a), -1
    return apply(REGISTRY["sort"], (a,), {} if axis == -1 else {"axis": index("axis", axis)})


class ArgSort(Op):
    """The positions that sort; no gradient."""

    name = "argsort"
    slots = ("a",)
    differentiable = False

    @staticmethod
    def forward(a: Any, axis: Any = -1) -> Any:
        return np.argsort(a, axis, kind="stable")


@expose(numpy=[np.argsort], method="argsort")
def argsort(a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:  # noqa: ARG001 - NumPy's signature
    """The positions that put ``a`` in ascending order along ``axis``; whole numbers, without a gradient.

    >>> argsort([3.0, 1.0, 2.0]).tolist()
    [1, 2, 0]
    """
    return apply(REGISTRY["argsort"], (a,), {"axis": plain(axis)})


class Partition(Op):
    """The elements along an axis, the ``kth`` in its place, smaller ones before it and larger ones after."""

    name = "partition"
    word = "routes"
    slots = ("a",)
    extras = ("order",)
    formulas = ("g, each back to where its element came from",)
    vjps = (lambda g, a_shape, order, axis: index_add(g, _along(np.asarray(order), axis, a_shape), a_shape),)
    routes = (lambda a_shape: np.ones(a_shape),)

    @staticmethod
    def forward(a: Any, kth: Any, axis: int = -1) -> Any:
        order = np.argpartition(a, kth, axis)
        return np.take_along_axis(a, order, axis), (order,)

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        a = distinct(rng, (3, 4))
        return [((a,), {"kth": 1}), ((a,), {"kth": (0, 2), "axis": 0})]


@expose(numpy=[np.partition])
def partition(a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None) -> Any:  # noqa: ARG001 - NumPy's signature
    """``a`` with the ``kth`` element along ``axis`` (flattened if None) in its sorted place, smaller ones before it and larger ones after, in any order.

    Rule: each element of the gradient goes back to where its element came from.

    >>> partition([3.0, 1.0, 2.0], 1).tolist()
    [1.0, 2.0, 3.0]
    """
    a = as_array(a)
    if axis is None:
        a, axis = np.ravel(a), -1
    return apply(REGISTRY["partition"], (a,), {"kth": plain(kth)} if axis == -1 else {"kth": plain(kth), "axis": index("axis", axis)})


class ArgPartition(Op):
    """The positions that partition; no gradient."""

    name = "argpartition"
    slots = ("a",)
    differentiable = False

    @staticmethod
    def forward(a: Any, kth: Any, axis: Any = -1) -> Any:
        return np.argpartition(a, kth, axis)


@expose(numpy=[np.argpartition])
def _argpartition(a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None) -> Any:  # noqa: ARG001 - NumPy's signature
    return apply(REGISTRY["argpartition"], (a,), {"kth": plain(kth), "axis": plain(axis)})


class TakeAlongAxis(Op):
    """One element per position of ``indices`` along an axis."""

    name = "take_along_axis"
    word = "scatters"
    slots = ("a", "indices")
    formulas = ("g added at a's positions [indices] along the axis, zero elsewhere", "")

    @staticmethod
    def forward(a: Any, indices: Any, axis: int = -1) -> Any:
        return np.take_along_axis(np.asarray(a), np.asarray(indices), axis)

    vjps = (lambda g, a_shape, indices, axis: index_add(g, _along(indices, axis, a_shape), a_shape), None)
    routes = (lambda a_shape, indices, axis: chosen(a_shape, _along(indices, axis, a_shape)), None)

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        a = rng.standard_normal((2, 3))
        return [
            ((a, np.array([[2], [0]])), {"axis": 1}),
            ((a, np.array([[0, 0, 1, 2], [1, 1, 1, -1]])), {"axis": 1}),
            ((a, np.array([[1, 0, 0]])), {"axis": 0}),
        ]


@expose(numpy=[np.take_along_axis], method="take_along_axis")
def take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Any:
    """Along ``axis``, the elements of ``arr`` at ``indices`` (of arr's shape except along that axis, where it may differ; size 1 broadcasts).

    Raises IndexError for indices that are no whole numbers or lie outside. Rule: the gradient added at the positions that were picked.

    >>> take_along_axis(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1], [0]]), 1).tolist()
    [[2.0], [3.0]]
    """
    if not hasattr(indices, "dtype"):
        indices = as_array(indices)
    if indices.dtype.kind not in "iu":
        raise IndexingError(f"take_along_axis: the indices are whole numbers, got dtype {indices.dtype}; for a mask use arr[mask]")
    if axis is None:
        arr, indices, axis = np.ravel(arr), indices.reshape(-1), 0
    return apply(REGISTRY["take_along_axis"], (arr, indices), {"axis": index("axis", axis)})
