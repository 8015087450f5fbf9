"""Keys of indexing, as they are recorded: what ``x[key]`` may hold, and which of it are operands. Must not import the trace or the views."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tensorviz.arguments import shown
from tensorviz.engine.tensor import Tensor
from tensorviz.errors import IndexingError

INDEX_SLOTS = ("i", "j", "k", "l")
"""Slots for index Tensors, so that a record holds how an index came about (``x[x > 0]``). In the recorded key their names stand in their places."""


def parse(key: Any) -> tuple[tuple[Any, ...], list[Tensor]]:
    """A key as it is recorded (a tuple; arrays copied, index Tensors replaced by slot names), and the index Tensors."""
    tensors: list[Tensor] = []
    parts = [_part(k, tensors) for k in (key if isinstance(key, tuple) else (key,))]
    return tuple(parts), tensors


def _part(k: Any, tensors: list[Tensor]) -> Any:
    if k is None or k is Ellipsis or isinstance(k, (bool, np.bool_)):
        return k
    if isinstance(k, slice):
        return slice(_bound(k.start), _bound(k.stop), _bound(k.step))
    if isinstance(k, Tensor):
        if k.dtype.kind not in "iub":
            raise IndexingError(f"an index Tensor holds whole numbers or booleans, got dtype {k.dtype}; convert it with astype(int)")
        if len(tensors) == len(INDEX_SLOTS):
            return np.array(k.numpy())
        tensors.append(k)
        return INDEX_SLOTS[len(tensors) - 1]
    if isinstance(k, (list, tuple, range, np.ndarray)):
        try:
            array = np.array(k)
        except ValueError as error:
            raise IndexingError(f"an index array is rectangular, got {shown(k)} ({error})") from None
        if array.size == 0 and not isinstance(k, np.ndarray):
            array = array.astype(np.intp)
        if array.dtype.kind not in "iub":
            raise IndexingError(f"an index array holds whole numbers or booleans, got dtype {array.dtype}; convert it with astype(int)")
        return array
    try:
        return operator.index(k)
    except TypeError:
        raise IndexingError(
            f"only integers, slices, None, ..., and arrays or Tensors of whole numbers or booleans can index a Tensor, got {type(k).__name__} {k!r}"
        ) from None


def _bound(b: Any) -> int | None:
    try:
        return None if b is None else operator.index(b)
    except TypeError:
        raise IndexingError(f"the bounds of a slice are whole numbers or None, got {shown(b)}") from None


def fill(key: tuple[Any, ...], *indices: Any) -> tuple[Any, ...]:
    """The key with the index operands in their places."""
    if not any(type(k) is str for k in key):
        return key
    return tuple([indices[INDEX_SLOTS.index(k)] if type(k) is str else k for k in key])


def repeats(key: tuple[Any, ...]) -> bool:
    """Whether a key may select one position more than once: with integer arrays it may."""
    return any(isinstance(k, np.ndarray) and k.dtype.kind != "b" for k in key)


def chosen(shape: tuple[int, ...], key: tuple[Any, ...]) -> Any:
    """1 where a key selects, 0 elsewhere."""
    weights = np.zeros(shape)
    weights[key] = 1.0
    return weights
