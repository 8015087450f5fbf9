"""Lowerings of indexing: whole numbers and slices by shrink and reshape, everything else by picking positions. Imports primitives and the ops' keys."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorviz import primitives as p
from tensorviz.engine.tensor import Tensor
from tensorviz.lowering.pieces import constant, expanded, picked, reshaped, strided, taken
from tensorviz.lowering.rules import lowering
from tensorviz.ops.keys import fill


def _values(key: tuple[Any, ...], indices: tuple[Any, ...]) -> tuple[Any, ...]:
    """The key with plain arrays in the places of index Tensors."""
    return fill(key, *[np.asarray(x) if isinstance(x, Tensor) else x for x in indices])


def _numbered(shape: tuple[int, ...]) -> Any:
    return np.arange(math.prod(shape)).reshape(shape)


@lowering("getitem")
def _getitem(a: Any, *indices: Any, key: tuple[Any, ...]) -> Any:
    if all(k is None or k is Ellipsis or isinstance(k, slice) or (isinstance(k, int) and not isinstance(k, bool)) for k in key):
        return _basic(a, key)
    first, rest = key[0], key[1:]
    if (
        all(isinstance(k, slice) and k == slice(None) for k in rest)
        and not isinstance(first, (slice, bool))
        and first is not None
        and first is not Ellipsis
    ):
        positions = indices[0] if isinstance(first, str) else first
        if np.asarray(positions).dtype.kind in "iu":
            return taken(a, 0, positions)
    return picked(a, _numbered(a.shape)[_values(key, indices)])


def _basic(a: Any, key: tuple[Any, ...]) -> Any:
    """Slices one axis after the other; then a reshape that drops what whole numbers picked and adds what None asks for."""
    named = sum(k is not None and k is not Ellipsis for k in key)
    at = next((i for i, k in enumerate(key) if k is Ellipsis), len(key))
    spelled = (*key[:at], *[slice(None)] * (a.ndim - named), *key[at + 1 :])
    shape: list[int] = []
    axis = 0
    for k in spelled:
        if k is None:
            shape.append(1)
            continue
        n = a.shape[axis]
        if isinstance(k, slice):
            start, stop, step = k.indices(n)
            size = len(range(start, stop, step))
            if step < 0 and size > 1:
                a = taken(a, axis, np.arange(n)[k])
            elif size == 0:
                a = strided(a, axis, 0, 1, 0)
            else:
                a = strided(a, axis, start, abs(step), size)
            shape.append(size)
        else:
            a = strided(a, axis, k % n, 1, 1)
        axis += 1
    return reshaped(a, tuple(shape))


@lowering("index_add")
def _index_add(x: Any, *indices: Any, key: tuple[Any, ...], shape: tuple[int, ...]) -> Any:
    positions = _numbered(shape)[_values(key, indices)]
    places, count = math.prod(shape), positions.size
    if not count or not places:
        return (
            p.pad(reshaped(p.shrink(reshaped(x, (count,)), (0,), (0,)), (0,) * len(shape)), [n for s in shape for n in (0, s)])
            if shape
            else p.reduce(x)
        )
    values = expanded(x, positions.shape) if x.shape != positions.shape else x
    full = (count, places)
    hits = p.compare(expanded(p.reshape(constant(positions), (count, 1)), full), expanded(constant(np.arange(places)), full))
    return reshaped(p.reduce(p.where(hits, expanded(reshaped(values, (count, 1)), full), 0)), tuple(shape))


@lowering("setitem")
def _setitem(a: Any, v: Any, *indices: Any, key: tuple[Any, ...]) -> Any:
    key = _values(key, indices)
    selected = _numbered(a.shape)[key]
    if not isinstance(v, Tensor):
        v = constant(np.asarray(v, dtype=a.dtype))
    extra = max(v.ndim - selected.ndim, 0)
    v = reshaped(v, v.shape[extra:])
    source = np.full(a.shape, -1)
    source[key] = np.broadcast_to(_numbered(v.shape), selected.shape)  # of several values for one place the last one stays
    inside = constant(source >= 0)
    return p.where(inside, picked(v, source), a)


@lowering("embedding")
def _embedding(ids: Any, weight: Any) -> Any:
    if not isinstance(ids, Tensor):
        ids = np.asarray(ids)
    return taken(weight, 0, ids)
