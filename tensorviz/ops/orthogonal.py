"""The QR decomposition. Must not import the trace or the views."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tensorviz.arguments import one_of
from tensorviz.engine.op import REGISTRY, Op, apply, expose
from tensorviz.engine.tensor import Tensor
from tensorviz.errors import LinearAlgebraError, ShapeError
from tensorviz.ops.linalg import transposed
from tensorviz.ops.operands import as_array
from tensorviz.ops.samples import Examples

__all__ = ["qr"]

WALTER = "Walter and Lehmann 2010, Algorithmic differentiation of linear algebra functions with application in optimum experimental design, section 3"


def _mirrored(m: Any) -> Any:
    """The lower triangle with the diagonal, and above it the same once more: QᵀdQ is antisymmetric, so what is above follows from what is below."""
    return np.tril(m) + transposed(np.tril(m, -1))


def _divided(m: Any, r: Any) -> Any:
    """``m @ inv(r).T``."""
    return transposed(np.linalg.solve(r, transposed(m)))


def _tall(rng: np.random.Generator) -> Examples:
    """Matrices with independent columns, at least as many rows as columns."""
    found: list[Any] = []
    for shape in ((3, 3), (4, 2), (2, 3, 2), (1, 1), (3, 0), (0, 2, 2)):
        a = rng.uniform(-0.3, 0.3, shape)
        k = shape[-1]
        a[..., np.arange(k), np.arange(k)] += np.arange(k) + 1.5
        found.append(((a,), {}))
    return found


class Factor(Op, abstract=True):
    """One of the two; its rule reads the other as well."""

    word = "rotates"
    slots = ("a",)
    advice = "the columns must be independent"
    source = WALTER
    examples = staticmethod(_tall)


class Orthogonal(Factor):
    """The orthonormal columns Q of a = Q R, in the sense of Gram and Schmidt."""

    name = "qr_q"
    label = "Q"
    extras = ("r",)
    formulas = ("(g + out @ mirrored(-g.T @ out)) @ inv(r).T, the lower triangle mirrored to the upper",)
    vjps = (lambda g, out, r: _divided(g - out @ _mirrored(transposed(g) @ out), r),)

    @staticmethod
    def forward(a: Any) -> Any:
        q, r = np.linalg.qr(a)
        return q, (r,)


class Triangular(Factor):
    """The triangular factor R of a = Q R."""

    name = "qr_r"
    label = "R"
    extras = ("q",)
    formulas = ("q @ mirrored(out @ g.T) @ inv(out).T, the lower triangle mirrored to the upper",)
    vjps = (lambda g, out, q: _divided(q @ _mirrored(out @ transposed(np.triu(g))), out),)

    @staticmethod
    def forward(a: Any) -> Any:
        q, r = np.linalg.qr(a)
        return r, (q,)


class QR(NamedTuple):
    """Orthonormal columns and a triangular matrix."""

    Q: Any
    R: Any


@expose(numpy=[np.linalg.qr])
def qr(a: Any, mode: str = "reduced") -> Any:
    """Orthonormal columns Q and an upper triangular R with ``a = Q @ R``, of a matrix (..., m, n) or a stack of them; only R with mode "r".

    The first min(m, n) columns must be independent: otherwise Q has directions that the matrix does not determine, and there is no gradient (LinAlgError).
    The same is true of the further columns that the mode "complete" makes of a matrix with more rows than columns, which is refused.

    >>> q, r = qr(np.array([[0.0, 2.0], [1.0, 3.0]]))
    >>> np.allclose(q @ r, [[0.0, 2.0], [1.0, 3.0]])
    True
    """
    one_of("qr", "mode", mode, ("reduced", "complete", "r", "raw"))
    a = as_array(a)
    if a.ndim < 2:
        raise ShapeError(f"qr takes a matrix or a stack of them (..., m, n), got shape {a.shape}")
    m, n = a.shape[-2:]
    if mode == "raw":
        raise LinearAlgebraError('qr with mode="raw" gives the reflections of LAPACK, which have no rule; give mode="reduced"')
    if mode == "complete" and m > n:
        raise LinearAlgebraError(
            f'qr of shape {a.shape} with mode="complete" has columns that the matrix does not determine, and so no gradient; give mode="reduced"'
        )
    square = a if m >= n else a[..., :m]
    r = apply(REGISTRY["qr_r"], (square,), {})
    _refuse_dependent(square, r)
    if mode == "r" and m >= n:
        return r
    q = apply(REGISTRY["qr_q"], (square,), {})
    if m < n:  # further columns are seen from the axes that the first ones make
        r = np.concatenate([r, transposed(q) @ a[..., m:]], axis=-1)
    return r if mode == "r" else QR(q, r)


def _refuse_dependent(a: Any, r: Any) -> None:
    """Raise where a gradient is wanted of columns that depend on each other, to rounding."""
    if not (isinstance(a, Tensor) and a.requires_grad and a.size):
        return
    size = np.abs(np.diagonal(np.asarray(r.numpy()), axis1=-2, axis2=-1))
    least = size <= np.finfo(a.dtype).eps * max(a.shape[-2:]) * size.max(axis=-1, keepdims=True)
    if least.any():
        *_, column = np.argwhere(least)[0].tolist()
        raise LinearAlgebraError(
            f"qr of shape {a.shape}: column {column} depends on those before it, so that Q is not determined there and has no gradient; "
            f"leave that column out, or give qr x.numpy() where no gradient is needed"
        )
