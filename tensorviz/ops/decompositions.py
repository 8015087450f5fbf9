"""Eigenvalues, singular values and the pseudoinverse. Must not import the trace or the views.

One NumPy call with several results is one op per result here, so that each has a rule of its own and a gradient enters only where it arrives.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tensorviz.arguments import number, one_of
from tensorviz.engine.op import FUNCTIONS, REGISTRY, Op, apply, expose
from tensorviz.errors import DTypeError, ShapeError
from tensorviz.ops.linalg import GILES, transposed
from tensorviz.ops.operands import as_array
from tensorviz.ops.samples import Examples

__all__ = ["eigh", "eigvalsh", "pinv", "svd"]


def _gaps(values: Any) -> Any:
    """``1 / (values[j] - values[i])`` for i ≠ j, 0 on the diagonal; infinite where two values are equal, as the slope of their vectors is."""
    same = np.eye(values.shape[-1], dtype=values.dtype)
    return (1 - same) / (np.expand_dims(values, -2) - np.expand_dims(values, -1) + same)


def _column(x: Any) -> Any:
    return np.expand_dims(x, -2)


# ---- symmetric matrices ------------------------------------------------------------------------------------------


def _symmetric(rng: np.random.Generator) -> Examples:
    """Symmetric matrices with eigenvalues well apart."""
    found: list[Any] = []
    for shape in ((3, 3), (2, 2, 2), (1, 1), (0, 2, 2)):
        n = shape[-1]
        b = rng.uniform(-1, 1, shape) / 4
        found.append(((b + np.swapaxes(b, -1, -2) + np.diag(np.arange(n) * 2.0 - 1),), {}))
    return found


class EigenValues(Op):
    """The eigenvalues of (a + a.T) / 2, ascending."""

    name = "eigvalsh"
    label = "λ"
    word = "spreads over the eigenvectors"
    slots = ("a",)
    extras = ("vectors",)
    formulas = ("vectors @ diag(g) @ vectors.T",)
    vjps = (lambda g, vectors: (vectors * _column(g)) @ transposed(vectors),)
    advice = "the matrix must be symmetric"
    source = f"{GILES}, section 3.1"
    examples = staticmethod(_symmetric)

    @staticmethod
    def forward(a: Any, UPLO: Any = "L") -> Any:
        # both triangles are the same here; which of them LAPACK is given decides the signs of the vectors
        values, vectors = np.linalg.eigh((a + np.swapaxes(a, -1, -2)) / 2, UPLO)
        return values, (vectors,)


class EigenVectors(Op):
    """The eigenvectors of (a + a.T) / 2, as columns in the order of their eigenvalues."""

    name = "eigenvectors"
    label = "eigvec"
    word = "rotates"
    slots = ("a",)
    extras = ("values",)
    formulas = ("out @ (out.T @ g / (λ[j] - λ[i])) @ out.T, symmetric",)
    advice = "the matrix must be symmetric"
    source = f"{GILES}, section 3.1"
    examples = staticmethod(_symmetric)

    @staticmethod
    def forward(a: Any, UPLO: Any = "L") -> Any:
        # both triangles are the same here; which of them LAPACK is given decides the signs of the vectors
        values, vectors = np.linalg.eigh((a + np.swapaxes(a, -1, -2)) / 2, UPLO)
        return vectors, (values,)

    @staticmethod
    def _back(g: Any, out: Any, values: Any) -> Any:
        with np.errstate(divide="ignore", invalid="ignore"):
            share = out @ (_gaps(values) * (transposed(out) @ g)) @ transposed(out)
        return (share + transposed(share)) / 2

    vjps = (_back,)


class Eigh(NamedTuple):
    """Eigenvalues and eigenvectors of a symmetric matrix."""

    eigenvalues: Any
    eigenvectors: Any


def _square(what: str, a: Any) -> Any:
    a = as_array(a)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ShapeError(f"{what} takes a square matrix (..., n, n), got shape {a.shape}")
    return a


@expose(numpy=[np.linalg.eigh])
def eigh(a: Any, UPLO: str = "L") -> Eigh:
    """Eigenvalues (ascending) and eigenvectors (columns) of a symmetric matrix (..., n, n).

    Both triangles are read, as (a + a.T) / 2, so that the gradient is symmetric. Where two eigenvalues are equal their vectors are not determined,
    and what reaches the matrix through them is infinite or NaN.

    >>> values, vectors = eigh(np.diag([3.0, 1.0]))
    >>> values.tolist()
    [1.0, 3.0]
    """
    one_of("eigh", "UPLO", UPLO, ("L", "U"))
    a = _square("eigh", a)
    given = {} if UPLO == "L" else {"UPLO": UPLO}
    return Eigh(apply(REGISTRY["eigvalsh"], (a,), given), apply(REGISTRY["eigenvectors"], (a,), given))


@expose(numpy=[np.linalg.eigvalsh])
def eigvalsh(a: Any, UPLO: str = "L") -> Any:
    """The eigenvalues of a symmetric matrix (..., n, n), ascending; reads both triangles, as :func:`eigh`.

    >>> eigvalsh(np.array([[2.0, 1.0], [1.0, 2.0]])).tolist()
    [1.0, 3.0]
    """
    one_of("eigvalsh", "UPLO", UPLO, ("L", "U"))
    return apply(REGISTRY["eigvalsh"], (_square("eigvalsh", a),), {})


# ---- singular values ---------------------------------------------------------------------------------------------


def _apart(rng: np.random.Generator) -> Examples:
    """Matrices with singular values well apart and none near 0."""
    found: list[Any] = []
    for shape in ((3, 3), (3, 2), (2, 3), (2, 2, 2), (1, 1)):
        k = min(shape[-2:])
        a = rng.uniform(-0.3, 0.3, shape)
        a[..., np.arange(k), np.arange(k)] += np.arange(k) * 2.0 + 1.5
        found.append(((a,), {}))
    return found


def _decomposed(a: Any) -> tuple[Any, Any, Any]:
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return u, s, vh


class SingularValues(Op):
    """The singular values, descending."""

    name = "svdvals"
    label = "σ"
    word = "spreads over the singular vectors"
    slots = ("a",)
    extras = ("u", "vh")
    formulas = ("u @ diag(g) @ vh",)
    vjps = (lambda g, u, vh: (u * _column(g)) @ vh,)
    source = f"{GILES}, section 3.2"
    examples = staticmethod(_apart)

    @staticmethod
    def forward(a: Any) -> Any:
        u, s, vh = _decomposed(a)
        return s, (u, vh)


class LeftSingularVectors(Op):
    """The left singular vectors, as columns."""

    name = "svd_u"
    label = "U"
    word = "rotates"
    slots = ("a",)
    extras = ("s", "vh")
    formulas = ("(out @ (J + J.T) @ diag(s) + (g - out @ out.T @ g) / s) @ vh, J = out.T @ g / (s[j]² - s[i]²)",)
    source = "Townsend 2016, Differentiating the singular value decomposition, equation 31"
    examples = staticmethod(_apart)

    @staticmethod
    def forward(a: Any) -> Any:
        u, s, vh = _decomposed(a)
        return u, (s, vh)

    @staticmethod
    def _back(g: Any, out: Any, s: Any, vh: Any) -> Any:
        with np.errstate(divide="ignore", invalid="ignore"):
            inner = _gaps(s * s) * (transposed(out) @ g)
            left = out @ ((inner + transposed(inner)) * _column(s))
            if out.shape[-2] > out.shape[-1]:
                left = left + (g - out @ (transposed(out) @ g)) / _column(s)
            return left @ vh

    vjps = (_back,)


class RightSingularVectors(Op):
    """The right singular vectors, as rows."""

    name = "svd_vh"
    label = "Vᵀ"
    word = "rotates"
    slots = ("a",)
    extras = ("u", "s")
    formulas = ("u @ (diag(s) @ (K + K.T) @ out + (g - g @ out.T @ out) / s), K = out @ g.T / (s[j]² - s[i]²)",)
    source = "Townsend 2016, Differentiating the singular value decomposition, equation 31"
    examples = staticmethod(_apart)

    @staticmethod
    def forward(a: Any) -> Any:
        u, s, vh = _decomposed(a)
        return vh, (u, s)

    @staticmethod
    def _back(g: Any, out: Any, u: Any, s: Any) -> Any:
        with np.errstate(divide="ignore", invalid="ignore"):
            inner = _gaps(s * s) * (out @ transposed(g))
            rows = np.expand_dims(s, -1)
            right = (rows * (inner + transposed(inner))) @ out
            if out.shape[-1] > out.shape[-2]:
                right = right + (g - (g @ transposed(out)) @ out) / rows
            return u @ right

    vjps = (_back,)


class SVD(NamedTuple):
    """Left singular vectors (columns), singular values, right singular vectors (rows)."""

    U: Any
    S: Any
    Vh: Any


@expose(numpy=[np.linalg.svd])
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """Singular values of a matrix (..., m, n), descending, between its left and right singular vectors; only the values without ``compute_uv``.

    Needs ``full_matrices=False`` unless m equals n: the additional vectors are not determined by the matrix. Where two singular values are equal,
    or one is 0, what reaches the matrix through their vectors is infinite or NaN.

    >>> svd(np.diag([2.0, 3.0]), compute_uv=False).tolist()
    [3.0, 2.0]
    """
    a = as_array(a)
    if a.ndim < 2:
        raise ShapeError(f"svd takes a matrix or a stack of them (..., m, n), got shape {a.shape}")
    if hermitian:
        raise DTypeError("svd of a Tensor takes no hermitian=True; use eigh")
    if not compute_uv:
        return apply(REGISTRY["svdvals"], (a,), {})
    if full_matrices and a.shape[-1] != a.shape[-2]:
        raise ShapeError(f"svd of shape {a.shape} with full_matrices=True has vectors that the matrix does not determine; give full_matrices=False")
    return SVD(*(apply(REGISTRY[name], (a,), {}) for name in ("svd_u", "svdvals", "svd_vh")))


if hasattr(np.linalg, "svdvals"):
    FUNCTIONS[np.linalg.svdvals] = lambda x: svd(x, compute_uv=False)


# ---- the pseudoinverse -------------------------------------------------------------------------------------------


class PInv(Op):
    """The Moore-Penrose pseudoinverse."""

    name = "pinv"
    word = "sandwiches"
    slots = ("a",)
    formulas = ("-out.T @ g @ out.T + (1 - a @ out) @ g.T @ out @ out.T + out.T @ out @ g.T @ (1 - out @ a)",)
    source = "Golub and Pereyra 1973, The differentiation of pseudo-inverses, equation 4.12"

    @staticmethod
    def forward(a: Any, rcond: float = 1e-15) -> Any:
        return np.linalg.pinv(a, rcond)

    @staticmethod
    def _back(g: Any, a: Any, out: Any) -> Any:
        back, gt = transposed(out), transposed(g)
        return (gt - a @ (out @ gt)) @ (out @ back) + (back @ out) @ (gt - (gt @ out) @ a) - back @ g @ back

    vjps = (_back,)

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        return _apart(rng)


@expose(numpy=[np.linalg.pinv])
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """The Moore-Penrose pseudoinverse of a matrix (..., m, n) ; singular values below ``rcond`` times the largest count as 0.

    >>> pinv(np.array([[2.0], [0.0]])).tolist()
    [[0.5, 0.0]]
    """
    a = as_array(a)
    if a.ndim < 2:
        raise ShapeError(f"pinv takes a matrix or a stack of them (..., m, n), got shape {a.shape}")
    if hermitian:
        raise DTypeError("pinv of a Tensor takes no hermitian=True; leave it out, the result is the same")
    cut = rcond if rtol is None else rtol
    return apply(REGISTRY["pinv"], (a,), {} if cut is None else {"rcond": number("pinv", "rcond", cut)})
