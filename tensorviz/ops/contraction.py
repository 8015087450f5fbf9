"""Ops that multiply and sum over shared axes, and other products: matmul, dot, inner, outer, tensordot, cross, kron. Must not import the trace or the views."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorviz.arguments import shown
from tensorviz.engine.op import FUNCTIONS, REGISTRY, Op, apply, attach, expose, frame
from tensorviz.errors import DTypeError, ShapeError
from tensorviz.ops.operands import as_array, index
from tensorviz.ops.samples import Examples

__all__ = ["cross", "dot", "inner", "kron", "matmul", "outer", "tensordot"]


_LARGE = 4096
"""Elements of a stack of products up to which each one's share is shown before they are summed."""


def rows_times(a: Any, b: Any) -> Any:
    """``a @ b`` of a stack and one matrix: where the rows of the stack lie in a row, one product in place of one for each matrix."""
    if a.size <= _LARGE or a.shape[-1] != b.shape[0] or type(a) is not np.ndarray or not a.flags.c_contiguous:
        return a @ b
    return _product(a.reshape((-1, b.shape[0])), b).reshape((*a.shape[:-1], b.shape[1]))


def _matmul(a: Any, b: Any) -> Any:
    return rows_times(a, b) if np.ndim(b) == 2 < np.ndim(a) else np.matmul(a, b)


class MatMul(Op):
    """Matrix product, stacked over leading axes."""

    name = "matmul"
    label = "@"
    word = "contracts with the other"
    slots = ("a", "b")
    forward = staticmethod(_matmul)
    broadcasts = True
    expression = "a @ b if b.ndim != 2 or a.ndim < 3 else rows_times(a, b)"
    exact = (
        "a.ndim == 2 == b.ndim or "
        f"(a.size * b.shape[1] > {_LARGE} * b.shape[0] if b.ndim == 2 < a.ndim else a.ndim == b.ndim > 1 and a.shape[:-2] == b.shape[:-2])"
    )
    ufuncs = (np.matmul,)
    operators, inplace = ("__matmul__", "__rmatmul__"), ("__imatmul__",)
    formulas = ("g @ b.T", "a.T @ g")
    advice = "the last axis of a must be as long as the second to last of b (the only one of a vector); transpose one of them, e.g. a @ b.T"
    source = "Giles 2008, Collected matrix derivative results, section 2.2.1"

    @staticmethod
    def _left(g: Any, b: Any, a_shape: Any) -> Any:
        if b.ndim == 2 and len(a_shape) > 2 and g.size > _LARGE:
            return _product(g.reshape((-1, g.shape[-1])), b.T).reshape(a_shape)  # one product for the whole stack
        if b.ndim > 1 and len(a_shape) > 1:
            return g @ _flipped(b)
        if np.ndim(b) == 1:
            return np.expand_dims(g, -1) * b if len(a_shape) > 1 else g * b
        if len(a_shape) == 1:
            return np.matmul(b, np.expand_dims(g, -1))[..., 0]
        return np.matmul(g, _flipped(b))

    @staticmethod
    def _right(g: Any, a: Any, b_shape: Any) -> Any:
        if len(b_shape) == 2 < a.ndim and g.size > _LARGE:
            # one product over all rows of the stack: what would be summed over the leading axes is never made
            rows = g.size // b_shape[1]  # not -1, as there may be no columns of a
            return _product(a.reshape((rows, b_shape[0])).T, g.reshape((rows, b_shape[1])))
        if a.ndim > 1 and len(b_shape) > 1:
            return _flipped(a) @ g
        if len(b_shape) == 1:
            return np.matmul(np.expand_dims(g, -2), a)[..., 0, :] if np.ndim(a) > 1 else g * a
        if np.ndim(a) == 1:
            return np.expand_dims(g, -2) * np.expand_dims(a, -1)
        return np.matmul(_flipped(a), g)

    vjps = (_left, _right)
    direct = ("a.ndim == 2 == b.ndim", "g.dot(b.T)", "a.T.dot(g)")  # by the method, which calls the same routine of BLAS with half the ceremony

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        shapes = [
            ((3,), (3,)),
            ((2, 3), (3,)),
            ((3,), (3, 2)),
            ((2, 3), (3, 4)),
            ((4, 2, 3), (3,)),
            ((3,), (4, 3, 2)),
            ((2, 3), (4, 3, 2)),
            ((4, 2, 3), (3, 2)),
            ((5, 1, 2, 3), (4, 3, 2)),
            ((1, 2, 3), (4, 3, 1)),
            ((2, 0), (0, 3)),
            ((0, 3), (3, 2)),
            ((1, 1), (1, 1)),
        ]
        return [((rng.standard_normal(a), rng.standard_normal(b)), {}) for a, b in shapes]


def _product(x: Any, y: Any) -> Any:
    """``x @ y`` of two matrices. For arrays by the method, which calls the same routine of BLAS with half the ceremony."""
    return x.dot(y) if type(x) is np.ndarray and type(y) is np.ndarray else x @ y


def _flipped(x: Any) -> Any:
    return x.T if x.ndim == 2 else x.swapaxes(-1, -2)


def matmul(a: Any, b: Any) -> Any:
    """Matrix product: (..., n, k) @ (..., k, m) gives (..., n, m); a vector (k,) on the left is a row, on the right a column, and its axis drops out.

    Leading axes broadcast. Raises ShapeError where the inner sizes differ or an operand is 0-d. Rule: ``g @ b.T`` and
    ``a.T @ g`` for each matrix of the stack, summed over the leading axes along which an operand was repeated.

    >>> matmul(np.array([[1.0, 2.0]]), np.array([3.0, 4.0])).tolist()
    [11.0]
    """
    return REGISTRY["matmul"].call.run(frame(1), a, b)


attach("matmul", matmul)


# ---- one rule for all contractions over given axes ---------------------------------------------------------------


def _share(g: Any, other: Any, ndim: int, axes: tuple[int, ...], other_axes: tuple[int, ...], *, left: bool) -> Any:
    """The gradient of one operand of a tensordot: g contracted with the other over what stems from it, axes put in the operand's order."""
    free = [i for i in range(ndim) if i not in axes]
    other_free = [i for i in range(np.ndim(other)) if i not in other_axes]
    of_g = list(range(len(free), len(free) + len(other_free))) if left else list(range(len(other_free)))
    share = np.tensordot(g, other, (of_g, other_free))
    # what is left of the other are its contracted axes in its own order
    order = free + [axes[other_axes.index(i)] for i in sorted(other_axes)]
    return np.transpose(share, [order.index(i) for i in range(ndim)]) if order else share


class TensorDot(Op):
    """Products summed over pairs of axes."""

    name = "tensordot"
    word = "contracts with the other"
    slots = ("a", "b")
    formulas = ("g · b over b's free axes", "g · a over a's free axes")
    vjps = (
        lambda g, b, a_shape, axes: _share(g, b, len(a_shape), axes[0], axes[1], left=True),
        lambda g, a, b_shape, axes: _share(g, a, len(b_shape), axes[1], axes[0], left=False),
    )

    @staticmethod
    def forward(a: Any, b: Any, axes: Any) -> Any:
        return np.tensordot(a, b, axes)

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        a, b = rng.standard_normal((2, 3, 4)), rng.standard_normal((4, 5, 3))
        return [((a, b), {"axes": ((2, 1), (0, 2))}), ((a, b), {"axes": ((1,), (2,))}), ((a[0], b[0]), {"axes": ((), ())})]


@expose(numpy=[np.tensordot], method="tensordot")
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """Products of ``a`` and ``b`` summed over pairs of axes: the last ``axes`` of a with the first of b, or ``(axes_of_a, axes_of_b)``.

    Raises ShapeError where the sizes of a pair differ. Rule: the gradient contracted with the other operand over that one's remaining axes.

    >>> tensordot(np.ones((2, 3)), np.ones((3, 4)), 1).shape
    (2, 4)
    """
    a, b = _array(a), _array(b)
    if not isinstance(axes, (list, tuple, np.ndarray)):
        n = index("axes", axes)
        if not 0 <= n <= min(a.ndim, b.ndim):
            raise ShapeError(
                f"tensordot: axes counts those of shape {a.shape} and {b.shape} that are summed over, and they have not so many; got {shown(axes)}"
            )
        pairs: Any = (range(a.ndim - n, a.ndim), range(n))
    elif len(axes) != 2:
        raise ShapeError(f"tensordot: axes is a number, or the axes of a and those of b, such as ([0], [1]); got {shown(axes)}")
    else:
        pairs = axes
    of_a, of_b = (tuple([index("an axis", i) for i in (p if isinstance(p, (list, tuple, range, np.ndarray)) else (p,))]) for p in pairs)
    if len(of_a) != len(of_b) or max(len(of_a), 0) > min(a.ndim, b.ndim):
        raise ShapeError(
            f"tensordot: operands of shape {a.shape} and {b.shape} cannot be summed over the axes {of_a} and {of_b}; name as many of a as of b"
        )
    if any(not -a.ndim <= i < a.ndim for i in of_a) or any(not -b.ndim <= i < b.ndim for i in of_b):
        raise ShapeError(f"tensordot: the axes {of_a} and {of_b} are not all there in operands of shape {a.shape} and {b.shape}")
    return apply(REGISTRY["tensordot"], (a, b), {"axes": (tuple([i % a.ndim for i in of_a]), tuple([i % b.ndim for i in of_b]))})


class Inner(Op):
    """Products summed over the last axis of both."""

    name = "inner"
    word = "contracts with the other"
    slots = ("a", "b")
    broadcasts = True
    formulas = ("g · b over b's free axes", "g · a over a's free axes")
    vjps = (
        lambda g, b, a_shape: _last(g, b, a_shape, left=True),
        lambda g, a, b_shape: _last(g, a, b_shape, left=False),
    )

    @staticmethod
    def forward(a: Any, b: Any) -> Any:
        return np.inner(a, b)

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        a, b = rng.standard_normal((2, 3)), rng.standard_normal((4, 3))
        return [((a, b), {}), ((a[0], b[0]), {}), ((a, b[0]), {}), ((a[0, 0], b), {})]


def _last(g: Any, other: Any, shape: tuple[int, ...], *, left: bool) -> Any:
    if not shape or np.ndim(other) == 0:
        return g * other
    return _share(g, other, len(shape), (len(shape) - 1,), (np.ndim(other) - 1,), left=left)


@expose(numpy=[np.inner], method="inner")
def inner(a: Any, b: Any) -> Any:
    """Products summed over the last axis of both: shape a.shape[:-1] + b.shape[:-1]. A 0-d operand multiplies.

    >>> inner(np.array([1.0, 2.0]), np.array([3.0, 4.0])).item()
    11.0
    """
    return apply(REGISTRY["inner"], (_array(a), _array(b)), {})


class Dot(Op):
    """NumPy's dot: the last axis of ``a`` with the second to last of ``b``."""

    name = "dot"
    label = "·"
    word = "contracts with the other"
    slots = ("a", "b")
    broadcasts = True
    formulas = ("g · b over b's free axes", "g · a over a's free axes")
    advice = "the last axis of a must be as long as the second to last of b (the only one of a vector)"
    vjps = (
        lambda g, b, a_shape: _dotted(g, b, a_shape, left=True),
        lambda g, a, b_shape: _dotted(g, a, b_shape, left=False),
    )

    @staticmethod
    def forward(a: Any, b: Any) -> Any:
        return np.dot(a, b)

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        a, b = rng.standard_normal((2, 3)), rng.standard_normal((3, 4))
        deep, other = rng.standard_normal((2, 2, 3)), rng.standard_normal((2, 3, 2))
        return [
            ((a, b), {}),
            ((a[0], b), {}),
            ((a, b[:, 0]), {}),
            ((a[0], b[:, 0]), {}),
            ((deep, other), {}),
            ((deep, b[:, 0]), {}),
            ((a[0, 0], b), {}),
            ((a, b[0, 0]), {}),
        ]


def _dotted(g: Any, other: Any, shape: tuple[int, ...], *, left: bool) -> Any:
    if not shape or np.ndim(other) == 0:
        return g * other
    n, m = len(shape), np.ndim(other)
    own, its = (n - 1, max(m - 2, 0)) if left else (max(n - 2, 0), m - 1)
    return _share(g, other, n, (own,), (its,), left=left)


@expose(numpy=[np.dot], method="dot")
def dot(a: Any, b: Any, out: Any = None) -> Any:
    """NumPy's dot: the scalar product of vectors, the product of matrices; of more axes, a's last with b's second to last. A 0-d operand multiplies.

    >>> dot(np.array([1.0, 2.0]), np.array([3.0, 4.0])).item()
    11.0
    """
    if out is not None:
        raise DTypeError("dot with out= cannot be recorded: the array is outside the graph. Use the result")
    return apply(REGISTRY["dot"], (_array(a), _array(b)), {})


class Outer(Op):
    """Every product of an element of ``a`` with one of ``b``."""

    name = "outer"
    label = "⊗"
    word = "contracts with the other"
    slots = ("a", "b")
    formulas = ("g @ b", "a @ g")
    vjps = (
        lambda g, b, a_shape: np.reshape(np.matmul(g, np.ravel(b)), a_shape),
        lambda g, a, b_shape: np.reshape(np.matmul(np.ravel(a), g), b_shape),
    )

    @staticmethod
    def forward(a: Any, b: Any) -> Any:
        return np.outer(a, b)

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        a, b = rng.standard_normal(3), rng.standard_normal((2, 2))
        return [((a, b), {}), ((a[0], a), {}), ((a[:0], a), {})]


@expose(numpy=[np.outer], method="outer")
def outer(a: Any, b: Any, out: Any = None) -> Any:
    """Every product of an element of ``a`` with one of ``b``, both flattened: shape (a.size, b.size).

    >>> outer([1.0, 2.0], [10.0, 20.0]).tolist()
    [[10.0, 20.0], [20.0, 40.0]]
    """
    if out is not None:
        raise DTypeError("outer with out= cannot be recorded: the array is outside the graph. Use the result")
    return apply(REGISTRY["outer"], (_array(a), _array(b)), {})


class Cross(Op):
    """The vector product over the last axis, of size 3."""

    name = "cross"
    label = "×"
    word = "crosses with the other"
    slots = ("a", "b")
    broadcasts = True
    formulas = ("b × g", "g × a")
    vjps = (lambda g, b: np.cross(b, g), lambda g, a: np.cross(g, a))

    @staticmethod
    def forward(a: Any, b: Any) -> Any:
        return np.cross(a, b)

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        shapes = [((3,), (3,)), ((2, 3), (3,)), ((2, 1, 3), (4, 3)), ((0, 3), (3,))]
        return [((rng.standard_normal(a), rng.standard_normal(b)), {}) for a, b in shapes]


@expose(numpy=[np.cross])
def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Any:
    """The vector product of ``a`` and ``b`` over an axis of size 3 (the last, or as named; ``axis`` names it for operands and result); others broadcast.

    Raises ShapeError for vectors of two components; append a zero to them.

    >>> cross([1.0, 0.0, 0.0], [0.0, 1.0, 0.0]).tolist()
    [0.0, 0.0, 1.0]
    """
    a, b = _array(a), _array(b)
    if axis is not None:
        axisa = axisb = axisc = axis
    axisa, axisb, axisc = index("axisa", axisa), index("axisb", axisb), index("axisc", axisc)
    for x, i in ((a, axisa), (b, axisb)):
        if not -x.ndim <= i < x.ndim or x.shape[i] != 3:
            raise ShapeError(f"cross: operands of shape {a.shape} and {b.shape} need three components along the axes {axisa} and {axisb}")
    a, b = (x if i in (-1, x.ndim - 1) else np.moveaxis(x, i, -1) for x, i in ((a, axisa), (b, axisb)))
    found = apply(REGISTRY["cross"], (a, b), {})
    return found if axisc in (-1, np.ndim(found) - 1) else np.moveaxis(found, -1, axisc)


if hasattr(np.linalg, "cross"):
    FUNCTIONS[np.linalg.cross] = lambda x1, x2, axis=-1: cross(x1, x2, axis=axis)


@expose(numpy=[np.kron])
def kron(a: Any, b: Any) -> Any:
    """The Kronecker product: ``b`` once for every element of ``a``, scaled by it. The operand of fewer axes gets new ones in front.

    >>> kron([1.0, 10.0], [1.0, 2.0]).tolist()
    [1.0, 2.0, 10.0, 20.0]
    """
    a, b = _array(a), _array(b)
    n = max(a.ndim, b.ndim)
    of_a, of_b = (1,) * (n - a.ndim) + a.shape, (1,) * (n - b.ndim) + b.shape
    product = np.reshape(a, [k for s in of_a for k in (s, 1)]) * np.reshape(b, [k for s in of_b for k in (1, s)])
    return np.reshape(product, tuple([s * t for s, t in zip(of_a, of_b, strict=True)]))


def _array(x: Any) -> Any:
    return as_array(x)


@expose(numpy=[np.vdot])
def _vdot(a: Any, b: Any) -> Any:
    """Scalar product of both flattened."""
    return dot(np.ravel(a), np.ravel(b))


if hasattr(np, "vecdot"):
    FUNCTIONS[np.linalg.matmul] = matmul
    FUNCTIONS[np.linalg.tensordot] = lambda x1, x2, axes=2: tensordot(x1, x2, axes)
