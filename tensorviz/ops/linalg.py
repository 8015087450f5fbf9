"""Linear algebra: inverse, solve, determinants, Cholesky factor. Must not import the trace or the views."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tensorviz.engine.op import FUNCTIONS, REGISTRY, Op, apply, expose
from tensorviz.errors import DTypeError, ShapeError
from tensorviz.ops.operands import as_array
from tensorviz.ops.samples import Examples

__all__ = ["cholesky", "det", "inv", "slogdet", "solve"]

GILES = "Giles 2008, Collected matrix derivative results for forward and reverse mode algorithmic differentiation"


def transposed(x: Any) -> Any:
    """A stack of matrices, each transposed."""
    return np.swapaxes(x, -1, -2)


def _square(what: str, a: Any) -> Any:
    """The operand, if it is a square matrix of floats or a stack of them."""
    a = as_array(a)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ShapeError(f"{what} takes a square matrix (..., n, n), got shape {a.shape}")
    return a


def _regular(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Random matrices far from singular: dominated by their diagonal."""
    return rng.uniform(-1, 1, shape) + 2 * shape[-1] * np.eye(shape[-1])


class Inv(Op):
    """The inverse matrix."""

    name = "inv"
    word = "sandwiches"
    slots = ("a",)
    formulas = ("-out.T @ g @ out.T",)
    vjps = (lambda g, out: -(transposed(out) @ g @ transposed(out)),)
    advice = "a singular matrix has no inverse"
    source = f"{GILES}, section 2.2.3"

    @staticmethod
    def forward(a: Any) -> Any:
        return np.linalg.inv(a)

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        return [((_regular(rng, s),), {}) for s in ((3, 3), (2, 2, 2), (1, 1), (0, 0), (0, 2, 2))]


@expose(numpy=[np.linalg.inv])
def inv(a: Any) -> Any:
    """The inverse of a square matrix (..., n, n). Raises LinAlgError where it is singular.

    >>> inv(np.array([[2.0, 0.0], [0.0, 4.0]])).tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """
    return apply(REGISTRY["inv"], (_square("inv", a),), {})


class Solve(Op):
    """The solution x of a @ x = b."""

    name = "solve"
    word = "solves the transposed system"
    slots = ("a", "b")
    broadcasts = True
    formulas = ("-solve(a.T, g) @ out.T", "solve(a.T, g)")
    advice = "a must be square, with as many rows as b"
    source = f"{GILES}, section 2.3.1"

    @staticmethod
    def forward(a: Any, b: Any) -> Any:
        return _solve(a, b)

    vjps = (
        lambda g, a, out, b_shape: _outer(-_solution(transposed(a), g, b_shape), out, b_shape),
        lambda g, a, b_shape: _solution(transposed(a), g, b_shape),
    )

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        shapes = [
            ((3, 3), (3,)),
            ((3, 3), (3, 2)),
            ((2, 3, 3), (3,)),
            ((2, 3, 3), (3, 1)),
            ((3, 3), (2, 3, 2)),
            ((1, 2, 2), (3, 2, 2)),
            ((0, 0), (0,)),
            ((3, 3), (3, 3)),
        ]
        return [((_regular(rng, a), rng.standard_normal(b)), {}) for a, b in shapes]


def _solve(a: Any, b: Any) -> Any:
    """NumPy 2's meaning under every NumPy: b is a vector if it has one axis, otherwise (a stack of) matrices."""
    b = np.asarray(b)
    matrix = b[:, None] if b.ndim == 1 else b
    # NumPy 1 takes a right side of one axis less for a stack of vectors
    matrix = matrix[None] if matrix.ndim == np.ndim(a) - 1 else matrix
    x = np.linalg.solve(a, matrix)
    return x[..., 0] if b.ndim == 1 else x


def _solution(a: Any, g: Any, b_shape: tuple[int, ...]) -> Any:
    """The system with ``g`` on the right, which may be a stack of vectors."""
    if len(b_shape) > 1:
        return np.linalg.solve(a, g)
    return np.linalg.solve(a, np.expand_dims(g, -1))[..., 0]


def _outer(x: Any, out: Any, b_shape: tuple[int, ...]) -> Any:
    return x @ transposed(out) if len(b_shape) > 1 else np.expand_dims(x, -1) * np.expand_dims(out, -2)


@expose(numpy=[np.linalg.solve])
def solve(a: Any, b: Any) -> Any:
    """The solution x of ``a @ x = b`` for a square ``a`` (..., n, n) and ``b`` a vector (n,) or matrices (..., n, m); leading axes broadcast.

    Raises LinAlgError where ``a`` is singular, ShapeError where rows do not fit.

    >>> solve(np.array([[2.0, 0.0], [0.0, 4.0]]), np.array([2.0, 2.0])).tolist()
    [1.0, 0.5]
    """
    return apply(REGISTRY["solve"], (_square("solve", a), as_array(b)), {})


# ---- determinants ------------------------------------------------------------------------------------------------


class Det(Op):
    """The determinant."""

    name = "det"
    word = "scales the cofactors"
    slots = ("a",)
    formulas = ("g * cofactors(a)  (out * inv(a).T where a is regular)",)
    source = f"Jacobi's formula; {GILES}, section 2.2.4"

    @staticmethod
    def forward(a: Any) -> Any:
        return np.linalg.det(a)

    @staticmethod
    def _cofactors(g: Any, a: Any, out: Any) -> Any:
        g = np.expand_dims(g, (-2, -1))
        if np.all(np.abs(_plain(out)) > 0):
            return g * np.expand_dims(out, (-2, -1)) * transposed(np.linalg.inv(a))
        return g * cofactors(a)

    vjps = (_cofactors,)

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        return [((_regular(rng, s),), {}) for s in ((3, 3), (2, 2, 2), (1, 1), (0, 0))] + [
            ((np.array([[1.0, 2.0], [2.0, 4.0]]),), {}),
            ((np.zeros((3, 3)),), {}),
        ]


def _plain(x: Any) -> Any:
    return x.numpy() if hasattr(x, "numpy") else x


def cofactors(a: Any) -> Any:
    """The cofactors of a matrix, each a determinant of what is left without one row and one column: defined for singular matrices too.

    >>> cofactors(np.array([[1.0, 2.0], [2.0, 4.0]])).tolist()
    [[4.0, -2.0], [-2.0, 1.0]]
    """
    n = a.shape[-1]
    if n == 1:
        return np.ones_like(a)
    kept = [np.delete(np.arange(n), i) for i in range(n)]
    rows = [[np.linalg.det(a[..., kept[i][:, None], kept[j]]) * (-1.0) ** (i + j) for j in range(n)] for i in range(n)]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


@expose(numpy=[np.linalg.det])
def det(a: Any) -> Any:
    """The determinant of a square matrix (..., n, n); shape (...). Rule: each element gets its cofactor, for singular matrices too.

    >>> det(np.array([[2.0, 0.0], [0.0, 3.0]])).item()
    6.0
    """
    return apply(REGISTRY["det"], (_square("det", a),), {})


class SlogDet(NamedTuple):
    """Sign and logarithm of the absolute value of a determinant."""

    sign: Any
    logabsdet: Any


class LogAbsDet(Op):
    """The logarithm of the absolute value of the determinant."""

    name = "logabsdet"
    label = "log|det|"
    word = "scales the inverse"
    slots = ("a",)
    formulas = ("g * inv(a).T",)
    source = f"{GILES}, section 2.2.4"

    @staticmethod
    def forward(a: Any) -> Any:
        return np.linalg.slogdet(a)[1]

    @staticmethod
    def _back(g: Any, a: Any, out: Any) -> Any:
        g = np.expand_dims(g, (-2, -1))
        if np.all(_plain(out) > -np.inf):
            return g * transposed(np.linalg.inv(a))
        # a singular matrix has an infinite slope towards a regular one, as log(0) has, and no inverse to read it off
        with np.errstate(divide="ignore", invalid="ignore"):
            return g * (cofactors(a) / np.expand_dims(np.linalg.det(a), (-2, -1)))

    vjps = (_back,)

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        return [((_regular(rng, s),), {}) for s in ((3, 3), (2, 2, 2), (1, 1))] + [((-_regular(rng, (3, 3)),), {})]


class SignOfDet(Op):
    """The sign of the determinant; no gradient."""

    name = "signdet"
    label = "sign det"
    slots = ("a",)
    differentiable = False

    @staticmethod
    def forward(a: Any) -> Any:
        return np.linalg.slogdet(a)[0]


@expose(numpy=[np.linalg.slogdet])
def slogdet(a: Any) -> SlogDet:
    """Sign (without a gradient) and logarithm of the absolute value of the determinant of ``a`` (..., n, n), which does not overflow where det does.

    >>> sign, logabsdet = slogdet(np.diag([-1.0, 1.0]))
    >>> float(sign), float(logabsdet)
    (-1.0, 0.0)
    """
    a = _square("slogdet", a)
    return SlogDet(apply(REGISTRY["signdet"], (a,), {}), apply(REGISTRY["logabsdet"], (a,), {}))


# ---- Cholesky ----------------------------------------------------------------------------------------------------


class Cholesky(Op):
    """The lower triangular L with L @ L.T = (a + a.T) / 2."""

    name = "cholesky"
    word = "solves twice"
    slots = ("a",)
    formulas = ("inv(out).T @ Φ(out.T @ g) @ inv(out), symmetric",)
    advice = "the matrix must be symmetric and positive definite"
    source = "Murray 2016, Differentiation of the Cholesky decomposition, equation 9; Φ keeps the lower triangle and halves the diagonal"

    @staticmethod
    def forward(a: Any) -> Any:
        return np.linalg.cholesky((a + np.swapaxes(a, -1, -2)) / 2)

    @staticmethod
    def _back(g: Any, out: Any) -> Any:
        n = out.shape[-1]
        # Φ: lower triangle with half the diagonal
        inner = np.tril(transposed(out) @ np.tril(g)) * (1 - np.eye(n, dtype=out.dtype) / 2)
        right = transposed(np.linalg.solve(transposed(out), transposed(np.linalg.solve(transposed(out), inner))))
        return (right + transposed(right)) / 2

    vjps = (_back,)

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        found: list[Any] = []
        for shape in ((3, 3), (2, 2, 2), (1, 1)):
            b = rng.uniform(-1, 1, shape)
            found.append(((b @ np.swapaxes(b, -1, -2) + 2 * np.eye(shape[-1]),), {}))
        return found


@expose(numpy=[np.linalg.cholesky])
def cholesky(a: Any, /, *, upper: bool = False) -> Any:
    """The Cholesky factor of a symmetric positive definite matrix (..., n, n): lower triangular, or its transpose with ``upper``.

    Both triangles are read, as (a + a.T) / 2, so that the gradient is symmetric. Raises LinAlgError where the matrix is not positive definite.

    >>> cholesky(np.array([[4.0, 2.0], [2.0, 5.0]])).tolist()
    [[2.0, 0.0], [1.0, 2.0]]
    """
    a = _square("cholesky", a)
    if a.dtype.kind != "f":
        raise DTypeError(f"cholesky takes floats, got dtype {a.dtype}")
    lower = apply(REGISTRY["cholesky"], (a,), {})
    return transposed(lower) if upper else lower


if hasattr(np.linalg, "matrix_transpose"):
    FUNCTIONS[np.linalg.diagonal] = lambda x, offset=0: np.diagonal(x, offset, -2, -1)
    FUNCTIONS[np.linalg.trace] = lambda x, offset=0, dtype=None: np.trace(x, offset, -2, -1, dtype)
