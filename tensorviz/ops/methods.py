"""Methods of arrays that few programs call: each hands the Tensor to NumPy's function of that name, which hands it to ours. Imports the engine only."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorviz.arguments import shown
from tensorviz.engine.op import attach
from tensorviz.engine.tensor import Tensor
from tensorviz.errors import DTypeError, ShapeError
from tensorviz.ops.operands import index

__all__: list[str] = []


def _as_function(name: str, function: Any) -> None:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    method.__name__ = name
    method.__doc__ = f"As ``np.{function.__name__}`` of it."
    attach(name, method)


for _name in ("argpartition", "choose", "conj", "conjugate", "nonzero", "put", "searchsorted"):
    _as_function(_name, getattr(np, _name))


def _compress(self: Tensor, condition: Any, axis: int | None = None, out: Any = None) -> Any:
    """The slices along ``axis`` for which the condition holds."""
    return np.compress(condition, self, axis, out)


def _fill(self: Tensor, value: Any) -> None:
    """In place: every element becomes ``value``, one number."""
    if np.ndim(value):
        raise ShapeError(f"fill takes one number, got an array of shape {np.shape(value)}; write x[...] = value")
    self[...] = value


def _sort(self: Tensor, axis: int = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> None:
    """In place: the elements in ascending order along ``axis``; ``np.sort`` gives a new Tensor."""
    self[...] = np.sort(self, index("axis", axis), kind, order) if stable is None else np.sort(self, index("axis", axis), stable=stable)


def _partition(self: Tensor, kth: Any, axis: int = -1, kind: Any = "introselect", order: Any = None) -> None:
    """In place: the ``kth`` elements in their sorted places; ``np.partition`` gives a new Tensor."""
    self[...] = np.partition(self, kth, index("axis", axis), kind, order)


def _view(self: Tensor, *args: Any, **kwargs: Any) -> Any:
    """The same elements in the same memory: what is written to one is written to the other."""
    wanted = [x for x in (*args, *kwargs.values()) if x is not np.ndarray]
    if any(not _is_dtype(x, self.dtype) for x in wanted):
        raise DTypeError(
            f"view gives the same numbers in the same memory, got {shown(wanted[0])}; write x.reshape(shape) for another shape, x.astype(dtype) for another dtype"
        )
    return self[...]


def _is_dtype(x: Any, dtype: Any) -> bool:
    try:
        return bool(np.dtype(x) == dtype)
    except TypeError:
        return False


def _tobytes(self: Tensor, order: Any = "C") -> bytes:
    """The values as bytes."""
    return self.numpy().tobytes(order)


attach("tobytes", _tobytes)
attach("view", _view)
attach("compress", _compress)
attach("fill", _fill)
attach("sort", _sort)
attach("partition", _partition)
