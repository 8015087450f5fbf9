"""Linear algebra put together from recorded ops: products of many matrices, powers, norms of matrices, least squares. Must not import the trace or the views."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tensorviz.engine.op import FUNCTIONS, expose
from tensorviz.errors import OptionError, ShapeError
from tensorviz.ops.axes import count, each, plain
from tensorviz.ops.operands import as_array, floating, index, refuse_out, values_of

__all__: list[str] = []


def _square(what: str, a: Any) -> Any:
    a = as_array(a)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ShapeError(f"{what} takes square matrices, got shape {a.shape}")
    return a


def _vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The products of vectors along an axis."""
    x1, x2 = as_array(x1), as_array(x2)
    if count(x1.shape, axis) != count(x2.shape, axis):
        raise ShapeError(f"np.vecdot takes vectors of one length along axis {axis}, got shapes {x1.shape} and {x2.shape}")
    return np.sum(np.multiply(x1, x2), axis=axis)


def _matvec(x1: Any, x2: Any) -> Any:
    x1, x2 = as_array(x1), as_array(x2)
    if x1.ndim < 2 or not x2.ndim:
        raise ShapeError(f"np.matvec takes a matrix and a vector, got shapes {x1.shape} and {x2.shape}")
    return np.matmul(x1, np.expand_dims(x2, -1))[..., 0]


def _vecmat(x1: Any, x2: Any) -> Any:
    x1, x2 = as_array(x1), as_array(x2)
    if not x1.ndim or x2.ndim < 2:
        raise ShapeError(f"np.vecmat takes a vector and a matrix, got shapes {x1.shape} and {x2.shape}")
    return np.matmul(np.expand_dims(x1, -2), x2)[..., 0, :]


def _linalg_outer(x1: Any, x2: Any, /) -> Any:
    x1, x2 = as_array(x1), as_array(x2)
    if not x1.ndim == x2.ndim == 1:
        raise ShapeError(f"np.linalg.outer takes two vectors, got shapes {x1.shape} and {x2.shape}; np.outer flattens what it is given")
    return np.outer(x1, x2)


for _name, _function in (("vecdot", _vecdot), ("matvec", _matvec), ("vecmat", _vecmat)):
    if hasattr(np, _name):
        FUNCTIONS[getattr(np, _name)] = _function
if hasattr(np.linalg, "vecdot"):
    FUNCTIONS[np.linalg.vecdot] = _vecdot
    FUNCTIONS[np.linalg.outer] = _linalg_outer


@expose(numpy=[np.linalg.matrix_power])
def _matrix_power(a: Any, n: int) -> Any:
    """A square matrix times itself, ``n`` times; of its inverse for a negative n."""
    a, n = _square("np.linalg.matrix_power", a), index("n", n)
    if n < 0:
        a, n = np.linalg.inv(a), -n
    if n == 0:
        return np.where(np.zeros(a.shape, bool), a, np.eye(a.shape[-1], dtype=a.dtype))
    found = None
    while n:  # by squaring, from the lowest bit
        if n % 2:
            found = a if found is None else found @ a
        n //= 2
        a = a @ a if n else a
    return found


@expose(numpy=[np.linalg.multi_dot])
def _multi_dot(arrays: Sequence[Any], *, out: Any = None) -> Any:
    """The product of several matrices, from the left; the first and the last may be vectors."""
    refuse_out(out)
    if len(arrays) < 2:
        raise ShapeError(f"np.linalg.multi_dot takes two operands or more, got {len(arrays)}")
    found = as_array(arrays[0])
    for a in arrays[1:]:
        found = np.dot(found, a)
    return found


# ---- norms of matrices -------------------------------------------------------------------------------------------


def matrix_norm(x: Any, ord: Any = "fro", axes: tuple[int, int] = (-2, -1), keepdims: bool = False) -> Any:
    """The norm of the matrices in two axes: ``"fro"``, ``"nuc"``, ±1, ±2 or ±inf."""
    x = floating(as_array(x))
    count(x.shape, axes)  # raises for an axis that is not there
    if axes[0] % x.ndim == axes[1] % x.ndim:
        raise ShapeError(f"norm: two different axes make a matrix, got {axes}")
    m = np.moveaxis(x, axes, (-2, -1))
    if ord in ("fro", None):
        found = np.sqrt(np.sum(m * m, axis=(-2, -1))) if np.all(values_of(m).any(axis=(-2, -1))) else _root_of_squares(m)
    elif isinstance(ord, str) and ord == "nuc":
        found = np.sum(np.linalg.svd(m, compute_uv=False), axis=-1)
    elif ord in (1, 2, np.inf) and 0 in m.shape[-2:]:
        found = np.sum(m, axis=(-2, -1))
    elif ord in (2, -2):
        values = np.linalg.svd(m, compute_uv=False)
        found = values[..., 0] if ord == 2 else values[..., -1]
    elif ord in (1, -1, np.inf, -np.inf):
        sums = np.sum(np.abs(m), axis=-2 if abs(ord) == 1 else -1)
        found = np.max(sums, axis=-1) if ord > 0 else np.min(sums, axis=-1)
    else:
        raise OptionError(f"norm: of a matrix there are the orders None, 'fro', 'nuc', 1, -1, 2, -2, inf and -inf, got {ord!r}")
    if not keepdims:
        return found
    gone = {i % x.ndim for i in axes}
    return np.reshape(found, [1 if i in gone else n for i, n in enumerate(x.shape)])


def _root_of_squares(m: Any) -> Any:
    return np.linalg.norm(m.reshape((*m.shape[:-2], m.shape[-2] * m.shape[-1])), axis=-1)


if hasattr(np.linalg, "matrix_norm"):

    @expose(numpy=[np.linalg.matrix_norm])
    def _matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
        return matrix_norm(x, ord, (-2, -1), keepdims)

    @expose(numpy=[np.linalg.vector_norm])
    def _vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
        """The norm of all elements along the axes, whatever their number."""
        axis = plain(axis)
        size = count(x.shape, axis)  # raises for an axis that is not there
        axes = each(axis, x.ndim)
        rest = tuple([i for i in range(x.ndim) if i not in axes])
        rows = np.reshape(np.transpose(x, (*rest, *axes)), (*[x.shape[i] for i in rest], size))
        found = np.linalg.norm(rows, ord, axis=-1)
        return np.reshape(found, [1 if i not in rest else n for i, n in enumerate(x.shape)]) if keepdims else found


@expose(numpy=[np.linalg.cond])
def _cond(x: Any, p: Any = None) -> Any:
    """The condition number: how much a relative error may grow in solving with the matrix."""
    if p in (None, 2, -2):
        values = np.linalg.svd(as_array(x), compute_uv=False)
        return values[..., -1] / values[..., 0] if p == -2 else values[..., 0] / values[..., -1]
    x = _square("np.linalg.cond", x)
    return matrix_norm(x, p) * matrix_norm(np.linalg.inv(x), p)


# ---- equations ---------------------------------------------------------------------------------------------------


class LeastSquares(NamedTuple):
    """What np.linalg.lstsq returns; rank is a plain number."""

    x: Any
    residuals: Any
    rank: Any
    s: Any


@expose(numpy=[np.linalg.lstsq])
def _lstsq(a: Any, b: Any, rcond: Any = None) -> tuple[Any, ...]:
    """The x for which ``a @ x`` comes nearest to b, with the squares that are left, the rank and the singular values of a.

    Differentiable while a has full rank. If singular values are cut off (``rcond``), their number counts as constant.
    """
    a, b = as_array(a), as_array(b)
    if a.ndim != 2 or b.ndim not in (1, 2) or b.shape[0] != a.shape[0]:
        raise ShapeError(f"np.linalg.lstsq takes a matrix and right sides with as many rows, got shapes {a.shape} and {b.shape}")
    cut = np.finfo(a.dtype).eps * max(a.shape) if rcond is None else max(float(rcond), np.finfo(a.dtype).eps)
    x = np.linalg.pinv(a, cut) @ b
    s = np.linalg.svd(a, compute_uv=False)
    rank = int(np.sum(values_of(s) > cut * values_of(s).max(initial=0)))
    left = b - a @ x
    full = rank == a.shape[1] < a.shape[0]
    residuals = np.atleast_1d(np.sum(left * left, axis=0)) if full else np.zeros(0, a.dtype)
    return tuple(LeastSquares(x, residuals, rank, s))


@expose(numpy=[np.linalg.tensorinv])
def _tensorinv(a: Any, ind: int = 2) -> Any:
    """The inverse of an array seen as a matrix from its last axes to its first ``ind``."""
    a, ind = as_array(a), index("ind", ind)
    if ind <= 0:
        raise ShapeError(f"np.linalg.tensorinv: ind counts the first axes, and must be positive; got {ind}")
    rows = int(np.prod(a.shape[:ind]))
    return np.reshape(np.linalg.inv(np.reshape(a, (rows, -1))), a.shape[ind:] + a.shape[:ind])


@expose(numpy=[np.linalg.tensorsolve])
def _tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    """The x with ``tensordot(a, x, x.ndim) = b``."""
    a, b = as_array(a), as_array(b)
    if axes is not None:
        moved = [index("an axis", i) % a.ndim for i in axes]
        a = np.transpose(a, [i for i in range(a.ndim) if i not in moved] + moved)
    shape = a.shape[b.ndim :]
    if int(np.prod(shape)) != b.size:
        raise ShapeError(f"np.linalg.tensorsolve: a of shape {a.shape} is no square system for b of shape {b.shape}")
    return np.reshape(np.linalg.solve(np.reshape(a, (b.size, b.size)), np.ravel(b)), shape)
