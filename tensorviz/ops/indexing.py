"""Indexing, basic and advanced, its mirror image that adds at positions, assignment, and the lookup of embeddings. Must not import the trace or the views."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorviz.arguments import one_of
from tensorviz.engine.aliases import view
from tensorviz.engine.graph import frozen
from tensorviz.engine.op import REGISTRY, Op, apply, attach, expose, frame
from tensorviz.engine.tensor import Tensor
from tensorviz.engine.unbroadcast import unbroadcast
from tensorviz.errors import AxisError, DTypeError, IndexingError, ShapeError
from tensorviz.ops.keys import INDEX_SLOTS, chosen, fill, parse, repeats
from tensorviz.ops.operands import as_array, index, refuse_out
from tensorviz.ops.samples import Examples

__all__ = ["embedding", "take"]

# ---- reading -----------------------------------------------------------------------------------------------------


class GetItem(Op):
    """Elements picked by a key, as ``a[key]``."""

    name = "getitem"
    label = "[ ]"
    word = "scatters"
    slots = ("a", *INDEX_SLOTS)
    formulas = ("g added at a's positions [key], zero elsewhere", "", "", "", "")

    @staticmethod
    def forward(a: Any, i: Any = None, j: Any = None, k: Any = None, l: Any = None, *, key: Any) -> Any:
        return np.asarray(a)[fill(key, i, j, k, l)]

    vjps = (lambda g, a_shape, key, i, j, k, l: index_add(g, fill(key, i, j, k, l), a_shape), None, None, None, None)
    routes = (lambda a_shape, key, i, j, k, l: chosen(a_shape, fill(key, i, j, k, l)), None, None, None, None)

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        a = rng.standard_normal((3, 4, 2))
        keys: list[Any] = [
            (0,),
            (slice(None, None, -1), ..., 1),
            (..., None, slice(1, None)),
            (np.array([0, 0, 2]),),
            (0, slice(None), np.array([0, 1, 1])),
            (a[..., 0] > 0,),
            (1, 2, 0),
            (slice(2, 2),),
        ]
        return [
            *[((a,), {"key": key}) for key in keys],
            ((a, np.array([[2], [0]]), np.array([1, 1])), {"key": ("i", slice(None), "j")}),
            ((a[0, 0, 0],), {"key": (None,)}),
        ]


def getitem(a: Any, key: Any) -> Any:
    """``a[key]`` with everything that NumPy's indexing knows; index Tensors are recorded as operands.

    Positions outside the shape raise IndexError. Rule: the gradient added at the positions that were picked.

    >>> getitem(np.arange(4.0), [0, 0, -1]).tolist()
    [0.0, 0.0, 3.0]
    """
    parsed, tensors = parse(key)
    return apply(REGISTRY["getitem"], (a, *tensors), {"key": parsed})


def _getitem_method(self: Any, key: Any) -> Any:
    """The elements at ``key``: a view, as in NumPy, where the key holds no arrays."""
    parsed, tensors = parse(key)
    if tensors or any(isinstance(k, (np.ndarray, bool, np.bool_)) for k in parsed):
        return apply(REGISTRY["getitem"], (self, *tensors), {"key": parsed})
    self._kept_apart()  # an element that is changed in place changes this Tensor, whose new node is computed from the old
    return view(REGISTRY["getitem"], self, {"key": parsed}, _put_back, zero_d=any(k is Ellipsis for k in parsed))


def _put_back(base: Any, part: Any, key: Any) -> Any:
    return set_at(base, key, part)


attach("__getitem__", _getitem_method)


class IndexAdd(Op):
    """Elements added at the positions of a key into zeros: the transpose of ``a[key]``."""

    name = "index_add"
    label = "[ ]+="
    word = "gathers"
    slots = ("x", *INDEX_SLOTS)
    formulas = ("g[key]", "", "", "", "")

    @staticmethod
    def forward(x: Any, i: Any = None, j: Any = None, k: Any = None, l: Any = None, *, key: Any, shape: Any) -> Any:
        key = fill(key, i, j, k, l)
        x = np.asarray(x)
        out = np.zeros(shape, x.dtype)
        if repeats(key):
            np.add.at(out, key, x)
        else:
            out[key] = x
        return out

    vjps = (lambda g, key, i, j, k, l: getitem(g, fill(key, i, j, k, l)), None, None, None, None)

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        x = rng.standard_normal((3, 2))
        return [
            ((x,), {"key": (np.array([0, 3, 0]),), "shape": (4, 2)}),
            ((x,), {"key": (slice(1, 4),), "shape": (5, 2)}),
            ((x, np.array([1, 1, 0])), {"key": ("i",), "shape": (2, 2)}),
        ]


def index_add(x: Any, key: Any, shape: tuple[int, ...]) -> Any:
    """Zeros of ``shape`` with ``x`` added at the positions of ``key``, at repeated ones more than once. Works on arrays and on Tensors.

    >>> index_add(np.array([1.0, 10.0, 100.0]), [0, 0, 2], (3,)).tolist()
    [11.0, 0.0, 100.0]
    """
    if not isinstance(x, Tensor) and isinstance(key, tuple) and not any(isinstance(k, (Tensor, list)) for k in key):
        return IndexAdd.forward(x, key=key, shape=shape)
    parsed, tensors = parse(key)
    return apply(REGISTRY["index_add"], (x, *tensors), {"key": parsed, "shape": shape})


# ---- writing -----------------------------------------------------------------------------------------------------


class SetItem(Op):
    """A copy of ``a`` with ``v`` at the positions of a key; ``x[key] = v`` puts it in x's place."""

    name = "setitem"
    label = "[ ]="
    word = "overwrites"
    slots = ("a", "v", *INDEX_SLOTS)
    broadcasts = True
    formulas = ("g, zero at [key]", "g[key]", "", "", "", "")

    @staticmethod
    def forward(a: Any, v: Any, i: Any = None, j: Any = None, k: Any = None, l: Any = None, *, key: Any) -> Any:
        out = np.array(a)
        out[fill(key, i, j, k, l)] = v
        return out

    @staticmethod
    def _value(g: Any, a_shape: Any, v_shape: Any, key: Any, i: Any, j: Any, k: Any, l: Any) -> Any:
        key = fill(key, i, j, k, l)
        share = getitem(g, key)
        lasting = _lasting(a_shape, key)
        if lasting is not None:
            share = np.where(lasting, share, np.zeros((), share.dtype))
        extra = len(v_shape) - share.ndim
        if extra > 0 and not share.size:  # where nothing is selected NumPy takes an empty v whatever its first axes are
            return np.zeros(v_shape, share.dtype)
        return np.reshape(share, (1,) * extra + share.shape) if extra > 0 else share

    vjps = (lambda g, key, i, j, k, l: set_at(g, fill(key, i, j, k, l), 0), _value, None, None, None, None)
    routes = (
        lambda a_shape, key, i, j, k, l: 1.0 - chosen(a_shape, fill(key, i, j, k, l)),
        lambda a_shape, v_shape, key, i, j, k, l: _lasted(a_shape, v_shape, fill(key, i, j, k, l)),
        None,
        None,
        None,
        None,
    )

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        a, v = rng.standard_normal((3, 2)), rng.standard_normal((2,))
        return [
            ((a, v), {"key": (1,)}),
            ((a, v), {"key": (slice(1, None),)}),
            ((a, a[:2]), {"key": (np.array([2, 2]),)}),
            ((a, v[:1].reshape(1, 1, 1)), {"key": (..., 0)}),
        ]


def _lasting(shape: tuple[int, ...], key: tuple[Any, ...]) -> Any:
    """Which of the assigned elements last: of several at one position the last does. None: all of them."""
    key = tuple([np.asarray(k) if isinstance(k, Tensor) else k for k in key])
    if not repeats(key):
        return None
    who = np.empty(shape, np.intp)
    order = np.arange(who[key].size).reshape(who[key].shape)
    who[key] = order
    lasts = who[key] == order
    return None if lasts.all() else lasts


def _lasted(shape: tuple[int, ...], v_shape: tuple[int, ...], key: tuple[Any, ...]) -> Any:
    lasts = _lasting(shape, key)
    if lasts is None:
        return np.ones(v_shape)
    extra = (1,) * (len(v_shape) - lasts.ndim)
    return np.minimum(unbroadcast(lasts.astype(float).reshape(extra + lasts.shape), v_shape), 1.0)


def set_at(a: Any, key: Any, v: Any) -> Any:
    """A copy of ``a`` with ``v`` at the positions of ``key``. Works on arrays and on Tensors.

    >>> set_at(np.arange(3.0), 1, 9.0).tolist()
    [0.0, 9.0, 2.0]
    """
    parsed, tensors = parse(key)
    return apply(REGISTRY["setitem"], (a, v, *tensors), {"key": parsed})


def _setitem(self: Any, key: Any, value: Any) -> None:
    """In place: the elements at ``key`` become ``value`` (broadcast)."""
    if isinstance(value, (list, tuple)):
        value = as_array(value)
    if isinstance(value, Tensor) and value.requires_grad and self.dtype.kind != "f":
        raise DTypeError(f"x[key] = v: x has dtype {self.dtype}, so the gradient of v would be lost; make x a float Tensor")
    parsed, tensors = parse(key)
    self._replace(REGISTRY["setitem"], (value, *tensors), {"key": parsed})


attach("__setitem__", _setitem)


# ---- lookups -----------------------------------------------------------------------------------------------------


@expose(numpy=[np.take], method="take")
def take(a: Any, indices: Any, axis: int | None = None, out: Any = None, mode: str = "raise") -> Any:
    """The elements at ``indices`` along ``axis`` (of the flattened operand if None), recorded as indexing.

    Positions outside raise IndexError; with ``mode="wrap"`` they are counted on from the other end, with ``"clip"`` they are the nearest inside.

    >>> take([10.0, 20.0, 30.0], [2, 0]).tolist()
    [30.0, 10.0]
    """
    refuse_out(out)
    one_of("take", "mode", mode, ("raise", "wrap", "clip"))
    a = as_array(a)
    if axis is None or not a.ndim:
        a, axis = np.ravel(a), axis or 0
    axis = index("axis", axis)
    if not -a.ndim <= axis < a.ndim:
        raise AxisError(f"take: axis {axis} is not there in shape {a.shape}")
    axis %= a.ndim
    if mode != "raise":
        places = np.asarray(indices)
        indices = places % a.shape[axis] if mode == "wrap" else np.clip(places, 0, a.shape[axis] - 1)
    return _row_by_row(getitem(a, (slice(None),) * axis + (indices,)))


def _row_by_row(found: Any) -> Any:
    """The result as ``np.take`` leaves it in memory, and ``a[key]`` does not: of what later views can be taken depends on it."""
    if not isinstance(found, Tensor):
        return np.ascontiguousarray(found) if np.ndim(found) else found
    node = found._current()
    if type(node.value) is np.ndarray and not node.value.flags.c_contiguous:
        node.value = frozen(np.ascontiguousarray(node.value))
    return found


class Embedding(Op):
    """Rows of a table picked by whole numbers."""

    name = "embedding"
    word = "scatters"
    slots = ("ids", "weight")
    formulas = ("", "g's rows added at weight[ids]")

    @staticmethod
    def forward(ids: Any, weight: Any) -> Any:
        ids = np.asarray(ids)
        if ids.dtype.kind not in "iu":
            raise DTypeError(f"embedding: ids are whole numbers, got dtype {ids.dtype}")
        if np.ndim(weight) < 1:
            raise ShapeError("embedding: the weight has shape (), expected (rows, ...)")
        if ids.size and (ids.min() < 0 or ids.max() >= len(weight)):
            raise IndexingError(
                f"embedding: ids run from {ids.min()} to {ids.max()}, but the weight of shape {np.shape(weight)} has rows 0 to {len(weight) - 1}"
            )
        return np.asarray(weight)[ids]

    vjps = (None, lambda g, weight_shape, ids: index_add(g, (ids,), weight_shape))
    routes = (None, lambda ids, weight_shape: chosen(weight_shape, (ids,)))
    source = "a matrix product with one-hot rows; Bengio et al. 2003, A Neural Probabilistic Language Model"

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        return [((np.array([[0, 2], [0, 1]]), rng.standard_normal((3, 2))), {}), ((np.int64(1), rng.standard_normal((3, 2))), {})]


def embedding(ids: Any, weight: Any) -> Any:
    """The rows of ``weight`` (rows, width) at ``ids`` (any shape of whole numbers): shape ids.shape + (width,).

    Raises IndexError for an id outside the table, TypeError for ids that are no integers. Rule: each row of the
    gradient is added to the row that was looked up; rows that no id names get zero.

    >>> embedding([1, 0], np.array([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [[3.0, 4.0], [1.0, 2.0]]
    """
    return REGISTRY["embedding"].call.run(frame(1), ids, weight)
