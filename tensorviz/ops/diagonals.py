"""Ops on diagonals and triangles: diag, diagonal, trace, tril, triu. Must not import the trace or the views."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorviz.engine.aliases import view
from tensorviz.engine.op import REGISTRY, Op, apply, expose
from tensorviz.errors import DTypeError, ShapeError
from tensorviz.ops.indexing import index_add
from tensorviz.ops.operands import as_array, index
from tensorviz.ops.samples import Examples

__all__ = [
    "diag",
    "diagonal",
    "tril",
    "triu",
]  # not trace: tensorviz.trace is the module of the record, which hands a call on to np.trace, and that to this one


def _places(rows: int, columns: int, offset: int) -> tuple[Any, Any]:
    """Row and column of every element of a diagonal."""
    count = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    steps = np.arange(count)
    return steps - min(offset, 0), steps + max(offset, 0)


def _onto(g: Any, shape: tuple[int, ...], offset: int, axis1: int, axis2: int) -> Any:
    """Zeros of ``shape`` with ``g`` (its last axis along the diagonal) on a diagonal."""
    moved = tuple([n for i, n in enumerate(shape) if i not in (axis1 % len(shape), axis2 % len(shape))]) + (shape[axis1], shape[axis2])
    spread = index_add(g, (..., *_places(shape[axis1], shape[axis2], offset)), moved)
    return np.moveaxis(spread, (-2, -1), (axis1, axis2))


class Diagonal(Op):
    """The elements on a diagonal of two axes."""

    name = "diagonal"
    word = "scatters"
    slots = ("a",)
    formulas = ("g on the diagonal of zeros",)
    vjps = (lambda g, a_shape, offset, axis1, axis2: _onto(g, a_shape, offset, axis1, axis2),)
    routes = (
        lambda a_shape, offset, axis1, axis2: _onto(
            np.ones(np.diagonal(np.empty(a_shape), offset, axis1, axis2).shape), a_shape, offset, axis1, axis2
        ),
    )

    @staticmethod
    def forward(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
        return np.diagonal(a, offset, axis1, axis2)

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        a = rng.standard_normal((3, 2, 4))
        return [
            ((a,), {}),
            ((a,), {"offset": 1, "axis1": 2, "axis2": 0}),
            ((a[0],), {"offset": -1}),
            ((a[0],), {"offset": 9}),
            ((a[:, :0],), {"axis1": -1, "axis2": 0}),
        ]


@expose(numpy=[np.diagonal], method="diagonal")
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The elements ``a[i, i + offset]`` of the two axes, which become one axis at the end. Rule: the gradient on that diagonal, zero elsewhere.

    >>> diagonal(np.array([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [1.0, 4.0]
    """
    given = {"offset": offset, "axis1": axis1, "axis2": axis2}
    return view(
        REGISTRY["diagonal"],
        a,
        {k: index(k, v) for k, v in given.items() if type(v) is not int or v != {"offset": 0, "axis1": 0, "axis2": 1}[k]},
        None,
    )


class Diag(Op):
    """A square matrix of zeros with a vector on a diagonal."""

    name = "diag"
    word = "gathers"
    slots = ("v",)
    formulas = ("g on the diagonal",)
    vjps = (lambda g, k: np.diagonal(g, k),)

    @staticmethod
    def forward(v: Any, k: int = 0) -> Any:
        return np.diag(v, k)

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        v = rng.standard_normal(3)
        return [((v,), {}), ((v,), {"k": 2}), ((v,), {"k": -1}), ((v[:0],), {"k": 1})]


@expose(numpy=[np.diag], method="diag")
def diag(v: Any, k: int = 0) -> Any:
    """Of a vector: the square matrix with it on the ``k``-th diagonal. Of a matrix: its ``k``-th diagonal, as :func:`diagonal`.

    >>> diag(np.array([1.0, 2.0])).tolist()
    [[1.0, 0.0], [0.0, 2.0]]
    """
    v = as_array(v)
    if v.ndim not in (1, 2):
        raise ShapeError(f"diag takes a vector or a matrix, got shape {v.shape}; diagonal works on more axes")
    if v.ndim == 2:
        return diagonal(v, k)
    return apply(REGISTRY["diag"], (v,), {} if k == 0 else {"k": index("k", k)})


class Trace(Op):
    """The sum of a diagonal."""

    name = "trace"
    word = "copies"
    slots = ("a",)
    formulas = ("g on the diagonal of zeros",)

    @staticmethod
    def forward(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
        return np.trace(a, offset, axis1, axis2)

    @staticmethod
    def _spread(g: Any, a_shape: Any, offset: int, axis1: int, axis2: int) -> Any:
        count = len(_places(a_shape[axis1], a_shape[axis2], offset)[0])
        return _onto(np.broadcast_to(np.expand_dims(g, -1), (*np.shape(g), count)), a_shape, offset, axis1, axis2)

    vjps = (_spread,)

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        a = rng.standard_normal((3, 2, 4))
        return [((a[:, 0],), {}), ((a,), {"offset": 1, "axis1": 2, "axis2": 0}), ((a[:, :0],), {"axis1": 0, "axis2": 1})]


@expose(numpy=[np.trace])
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Any:
    """The sum of the elements on a diagonal of two axes. Rule: the gradient on every place of that diagonal, zero elsewhere.

    >>> trace(np.array([[1.0, 2.0], [3.0, 4.0]])).item()
    5.0
    """
    if out is not None or dtype is not None:
        raise DTypeError("trace on a Tensor takes no out= and no dtype=; use the result, or astype")
    given = {"offset": offset, "axis1": axis1, "axis2": axis2}
    return apply(
        REGISTRY["trace"], (a,), {k: index(k, v) for k, v in given.items() if type(v) is not int or v != {"offset": 0, "axis1": 0, "axis2": 1}[k]}
    )


class Tril(Op):
    """The lower triangle; zero above it."""

    name = "tril"
    word = "selects"
    slots = ("a",)
    formulas = ("tril(g)",)
    vjps = (lambda g, k: np.tril(g, k),)
    routes = (lambda a_shape, k: np.broadcast_to(np.tri(a_shape[-2], a_shape[-1], k), a_shape),)

    @staticmethod
    def forward(a: Any, k: int = 0) -> Any:
        return np.tril(a, k)

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        a = rng.standard_normal((2, 3, 3))
        return [((a,), {}), ((a[0, :2],), {"k": 1}), ((a[0],), {"k": -1})]


@expose(numpy=[np.tril], method="tril")
def tril(m: Any, k: int = 0) -> Any:
    """The elements on and below the ``k``-th diagonal of the last two axes, zero above. Rule: the same triangle of the gradient.

    >>> tril(np.ones((2, 2))).tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """
    return _triangle("tril", m, k)


class Triu(Op):
    """The upper triangle; zero below it."""

    name = "triu"
    word = "selects"
    slots = ("a",)
    formulas = ("triu(g)",)
    vjps = (lambda g, k: np.triu(g, k),)
    routes = (lambda a_shape, k: np.broadcast_to(1.0 - np.tri(a_shape[-2], a_shape[-1], k - 1), a_shape),)

    @staticmethod
    def forward(a: Any, k: int = 0) -> Any:
        return np.triu(a, k)

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        a = rng.standard_normal((2, 3, 3))
        return [((a,), {}), ((a[0, :2],), {"k": 1}), ((a[0],), {"k": -1})]


@expose(numpy=[np.triu], method="triu")
def triu(m: Any, k: int = 0) -> Any:
    """The elements on and above the ``k``-th diagonal of the last two axes, zero below. Rule: the same triangle of the gradient.

    >>> triu(np.ones((2, 2))).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    return _triangle("triu", m, k)


def _triangle(which: str, m: Any, k: int) -> Any:
    m = as_array(m)
    if m.ndim == 0:
        raise ShapeError(f"{which} takes a matrix or a stack of them, got shape {m.shape}")
    if m.ndim == 1:  # as NumPy: the vector in every row
        m = np.broadcast_to(m, (*m.shape, *m.shape))
    return apply(REGISTRY[which], (m,), {} if k == 0 else {"k": index("k", k)})
