"""NumPy's functions of polynomials given by their coefficients, the highest power first. Must not import the trace or the views."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorviz.engine.op import expose
from tensorviz.errors import DTypeError, OptionError, ShapeError
from tensorviz.ops.joining import concatenate
from tensorviz.ops.operands import as_array, asked, floating, index, of_dtype, values_of

__all__: list[str] = []


def _coefficients(p: Any) -> Any:
    """A polynomial as a vector."""
    p = np.atleast_1d(as_array(p.coeffs if isinstance(p, np.poly1d) else p))
    if p.ndim != 1:
        raise ShapeError(f"{asked()} takes the coefficients of a polynomial as a vector, got shape {p.shape}")
    return p


@expose(numpy=[np.polyval])
def _polyval(p: Any, x: Any) -> Any:
    """The polynomial with coefficients ``p``, the highest first, at ``x``, by Horner's rule."""
    p, x = as_array(p), as_array(x)
    y: Any = np.zeros_like(values_of(x))
    for i in range(p.shape[0]):
        y = y * x + p[i]
    return y


def _summed(a: Any, b: Any, sign: int) -> Any:
    a, b = _coefficients(a), _coefficients(b)
    short = b.size - a.size
    a, b = (np.pad(p, (max(n, 0), 0)) if n > 0 else p for p, n in ((a, short), (b, -short)))
    return a + b if sign > 0 else a - b


@expose(numpy=[np.polyadd])
def _polyadd(a1: Any, a2: Any) -> Any:
    return _summed(a1, a2, 1)


@expose(numpy=[np.polysub])
def _polysub(a1: Any, a2: Any) -> Any:
    return _summed(a1, a2, -1)


@expose(numpy=[np.polymul])
def _polymul(a1: Any, a2: Any) -> Any:
    """The product; leading zeros are no coefficients, as in NumPy."""
    a, b = (_led(_coefficients(p)) for p in (a1, a2))
    return np.convolve(a, b)


def _led(p: Any) -> Any:
    """Without zeros in front; of nothing else the last of them."""
    there = np.flatnonzero(values_of(p))
    return p[there[0] if there.size else -1 :]


@expose(numpy=[np.polydiv])
def _polydiv(u: Any, v: Any) -> tuple[Any, Any]:
    """The quotient and what is left, by long division."""
    u, v = (floating(_coefficients(p)) for p in (u, v))
    kind = np.result_type(u.dtype, v.dtype)
    rest, v = of_dtype(u, kind), of_dtype(v, kind)
    scale, more = 1 / v[0], u.size - v.size
    found = []
    for k in range(more + 1):
        factor = scale * rest[k]
        found.append(factor)
        rest = rest - np.pad(factor * v, (k, more - k))
    zero = np.isclose(values_of(rest), 0, rtol=1e-14)  # what NumPy takes for nothing in front of what is left
    first = rest.size - 1 if zero.all() else int(np.argmin(zero))
    return np.stack(found) if found else np.zeros(1, kind), rest[first:]


@expose(numpy=[np.polyder])
def _polyder(p: Any, m: Any = 1) -> Any:
    """The m-th derivative."""
    p, m = _coefficients(p), _order("m", m)
    for _ in range(m):
        p = p[:-1] * np.arange(p.size - 1, 0, -1)
    return p


@expose(numpy=[np.polyint])
def _polyint(p: Any, m: Any = 1, k: Any = None) -> Any:
    """The m-th integral, with the constants ``k``, 0 if not given."""
    p, m = _coefficients(p), _order("m", m)
    constants = np.atleast_1d(np.zeros(m) if k is None else as_array(k))
    if constants.size == 1 < m:
        constants = np.broadcast_to(constants, (m,))
    if constants.shape != (m,):
        raise ShapeError(f"np.polyint: k holds one constant for each of {m} integrals, got shape {constants.shape}")
    for i in range(m):
        p = concatenate([p / np.arange(p.size, 0, -1), constants[i : i + 1]])
    return p


def _order(name: str, given: Any) -> int:
    found = index(name, given)
    if found < 0:
        raise OptionError(f"{asked()}: {name} must not be negative, got {found}")
    return found


@expose(numpy=[np.poly])
def _poly(seq_of_zeros: Any) -> Any:
    """The coefficients of the polynomial that is 0 at the numbers given; the highest is 1."""
    zeros = np.atleast_1d(as_array(seq_of_zeros))
    if zeros.ndim != 1:
        raise ShapeError(f"np.poly of a Tensor takes a vector of zeros, got shape {zeros.shape}; of a symmetric matrix give np.linalg.eigvalsh(a)")
    found: Any = np.ones(1, np.promote_types(zeros.dtype, np.float16))
    for i in range(zeros.size):
        found = concatenate([found, np.zeros(1, found.dtype)]) - concatenate([np.zeros(1, found.dtype), found * zeros[i]])
    return found


@expose(numpy=[np.polyfit])
def _polyfit(x: Any, y: Any, deg: Any, rcond: Any = None, full: bool = False, w: Any = None, cov: Any = False) -> Any:
    """The polynomial of a degree that comes nearest to ``y`` at ``x``, in least squares weighted with ``w``; differentiable in all three."""
    if np.ndim(deg):
        raise DTypeError("np.polyfit of Tensors takes a degree as one whole number; leave the powers out by solving with np.linalg.lstsq")
    x, y, n = floating(as_array(x)), floating(as_array(y)), _order("deg", deg) + 1
    if x.ndim != 1 or not x.size or y.ndim not in (1, 2) or y.shape[0] != x.size:
        raise ShapeError(f"np.polyfit takes a vector x that is not empty, and y with as many rows, got shapes {x.shape} and {y.shape}")
    left, right = np.vander(x, n), y
    if w is not None:
        w = floating(as_array(w))
        if w.shape != x.shape:
            raise ShapeError(f"np.polyfit: w holds one weight for each of {x.size} points, got shape {w.shape}")
        left, right = left * w[:, None], y * (w[:, None] if y.ndim == 2 else w)
    scale = np.sqrt(np.sum(left * left, axis=0))
    left = left / scale
    c, residuals, rank, s = np.linalg.lstsq(left, right, x.size * np.finfo(x.dtype).eps if rcond is None else rcond)
    c = (c.T / scale).T
    if full:
        return c, residuals, rank, s, x.size * np.finfo(x.dtype).eps if rcond is None else rcond
    if not cov:
        return c
    spread = np.linalg.inv(left.T @ left) / np.outer(scale, scale)
    if y.ndim == 2:
        spread = spread[..., None]
    if isinstance(cov, str) and cov == "unscaled":
        return c, spread
    if x.size <= n:
        raise OptionError(f"np.polyfit: to scale the covariance of {n} coefficients takes more than {n} points, got {x.size}; give cov='unscaled'")
    return c, spread * (residuals / (x.size - n))
