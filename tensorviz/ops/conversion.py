"""Change of dtype, and NumPy functions that only look at a Tensor: shape, size, arrays like it. Imports the engine's op base only."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorviz.arguments import dtype_of
from tensorviz.engine.graph import check_dtype
from tensorviz.engine.op import FUNCTIONS, REGISTRY, Op, expose
from tensorviz.engine.tensor import Tensor, tensor
from tensorviz.errors import DTypeError
from tensorviz.ops.operands import plainly

__all__ = ["astype"]


class _AsType(Op):
    """The same values in another dtype."""

    name, word, slots = "astype", "converts", ("a",)
    vjps = (lambda g, a_dtype: g.astype(a_dtype),)
    formulas = ("astype(g)",)
    examples = staticmethod(lambda rng: [((rng.normal(size=s),), {"dtype": "float64"}) for s in ((), (3,), (0, 2))])

    @staticmethod
    def forward(a: Any, dtype: str) -> Any:
        return np.asarray(a).astype(dtype)


@expose(method="astype")
def astype(a: Any, dtype: Any, order: str = "K", casting: Any = "unsafe", subok: bool = True, copy: bool = True) -> Any:  # noqa: ARG001 - NumPy's signature
    """The same values in another dtype; the gradient comes back in the operand's. ``order``, ``subok`` and ``copy`` are of no effect: values never change.

    >>> astype(np.array([1.5, 2.5]), np.float32)
    array([1.5, 2.5], dtype=float32)
    """
    found = _real(dtype)
    if casting != "unsafe" and not np.can_cast(a.dtype, found, casting):
        raise DTypeError(f"astype: casting={casting!r} does not turn dtype {a.dtype} into {found}")
    return REGISTRY["astype"](a, dtype=found.name)


def _real(dtype: Any) -> np.dtype[Any]:
    """A dtype of numbers that a Tensor can hold."""
    found = dtype_of("astype", dtype)
    check_dtype(found, "astype")
    return found


if hasattr(np, "astype"):
    FUNCTIONS[np.astype] = lambda x, dtype, /, *, copy=True, device=None: astype(x, dtype)  # noqa: ARG005 - NumPy's signature


@expose(numpy=[np.shape])
def _shape(a: Any) -> tuple[int, ...]:
    return tuple(a.shape)


@expose(numpy=[np.ndim])
def _ndim(a: Any) -> int:
    return int(a.ndim)


@expose(numpy=[np.size])
def _size(a: Any, axis: int | None = None) -> int:
    return int(a.size if axis is None else a.shape[axis])


def _likes(function: Any) -> None:
    """``np.zeros_like(x)`` and its kin: a Tensor, without a gradient, so that what is assigned to its elements is recorded."""

    def alike(a: Any, *args: Any, **kwargs: Any) -> Any:
        made = function(plainly(a), *(plainly(x) for x in args), **{k: plainly(x) for k, x in kwargs.items()})
        return tensor(made) if isinstance(a, Tensor) else made

    alike.__name__ = function.__name__
    FUNCTIONS[function] = alike


for _like in (np.zeros_like, np.ones_like, np.empty_like):
    _likes(_like)


@expose(numpy=[np.full_like])
def _full_like(a: Any, fill_value: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *, device: Any = None) -> Any:  # noqa: ARG001 - NumPy's signature
    """An array of a's shape and dtype (or those given) that holds ``fill_value``, through which a gradient goes."""
    if not isinstance(fill_value, Tensor):
        made = np.full_like(plainly(a), fill_value, dtype, "K", True, shape)
        return tensor(made) if isinstance(a, Tensor) else made
    to = np.broadcast_to(fill_value, np.shape(a) if shape is None else shape)
    kind = getattr(a, "dtype", np.asarray(plainly(a)).dtype) if dtype is None else np.dtype(dtype)
    return to.copy() if to.dtype == kind else to.astype(kind)  # a result of its own, which may be written to


def _on_values(function: Any) -> None:
    """What only looks at values and gives no differentiable result works on plain arrays."""

    def looked_at(*args: Any, **kwargs: Any) -> Any:
        return function(*(plainly(x) for x in args), **{k: plainly(x) for k, x in kwargs.items()})

    looked_at.__name__ = function.__name__
    FUNCTIONS[function] = looked_at


_ON_VALUES: tuple[Any, ...] = (
    *(np.result_type, np.can_cast, np.iscomplexobj, np.isrealobj),
    *(np.allclose, np.isclose, np.array_equal, np.array_equiv, np.array2string, np.array_repr, np.array_str, np.shares_memory, np.may_share_memory),
    *(np.count_nonzero, np.nonzero, np.flatnonzero, np.argwhere, np.searchsorted),
    *(np.isposinf, np.isneginf, np.isreal, np.iscomplex),
    *(np.digitize, np.isin, np.lexsort, np.ix_, np.nanargmax, np.nanargmin, np.histogram_bin_edges),
    *(np.diag_indices_from, np.tril_indices_from, np.triu_indices_from, np.min_scalar_type, np.common_type, np.unravel_index),
    *(np.ravel_multi_index, np.linalg.matrix_rank, np.save, np.savetxt, np.savez, np.savez_compressed, np.einsum_path),
)
for _function in _ON_VALUES:
    _on_values(_function)
