"""Primitives that cut blocks out of arrays and put arrays side by side: pad, shrink, stack, index. Imports the engine, the ops and errors.

Each is the other's gradient: pad of shrink, and of index, which is that of stack.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorviz import arguments
from tensorviz.engine.op import REGISTRY, Op, apply
from tensorviz.engine.tensor import Tensor
from tensorviz.errors import DTypeError, IndexingError, RuleError, ShapeError
from tensorviz.ops.samples import Examples
from tensorviz.primitives.axes import Shape, pairs, whole
from tensorviz.primitives.movement import reshape
from tensorviz.primitives.operands import as_array

__all__ = ["index", "pad", "shrink", "stack"]


# ---- more elements and fewer -------------------------------------------------------------------------------------


class Pad(Op):
    """Zeros around an array."""

    name, label, word, slots = "pad_zeros", "pad", "shrinks", ("x",)
    formulas = ("shrink(g, the left pads, x's shape)",)
    vjps = (lambda g, x_shape, pads: shrink(g, pads[::2], x_shape),)

    @staticmethod
    def forward(x: Any, pads: Shape) -> Any:
        x = np.asarray(x)
        return np.pad(x, list(zip(pads[::2], pads[1::2], strict=True))) if pads else x

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        x = rng.standard_normal((2, 3))
        return [((x[0],), {"pads": (2, 1)}), ((x,), {"pads": (0, 1, 2, 0)}), ((x[:, :0],), {"pads": (1, 0, 1, 1)}), ((x[0, 0],), {"pads": ()})]


def pad(x: Any, pads: Any) -> Any:
    """``x`` with zeros around it: ``pads`` is ``[l0, r0, l1, r1, ...]``, so many before and after on each axis. Gradient: shrink.

    Axes that ``pads`` does not reach are left alone. Raises ShapeError where it has an odd number of entries, too many or a negative one.

    >>> pad([1.0, 2.0, 3.0], [2, 1]).tolist()
    [0.0, 0.0, 1.0, 2.0, 3.0, 0.0]
    """
    x = as_array(x)
    return apply(REGISTRY["pad_zeros"], (x,), {"pads": tuple([n for pair in pairs("pad", pads, x.ndim) for n in pair])})


class Shrink(Op):
    """A block cut out of an array."""

    name, word, slots = "shrink", "pads", ("x",)
    formulas = ("pad(g, what was cut off)",)
    vjps = (lambda g, x_shape, offsets: pad(g, _cut_off(x_shape, offsets, g.shape)),)

    @staticmethod
    def forward(x: Any, offsets: Shape, shape: Shape) -> Any:
        return np.asarray(x)[_block(offsets, shape)]

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        x = rng.standard_normal((3, 4))
        return [
            ((x[0],), {"offsets": (1,), "shape": (2,)}),
            ((x,), {"offsets": (1, 0), "shape": (2, 4)}),
            ((x,), {"offsets": (0, 2), "shape": (3, 0)}),
        ]


class ShrinkAt(Op):
    """A block cut out of an array at a computed place."""

    name, label, slots, word = "shrink_at", "shrink", ("x", "offsets"), "has no gradient for"
    formulas = ("none: the place was computed", "")
    vjps = (lambda g, x_shape: _refuse(g, "shrink", "offsets", "pad(g, pads)", x_shape), None)

    @staticmethod
    def forward(x: Any, offsets: Any, shape: Shape) -> Any:
        found = tuple([int(n) for n in np.asarray(offsets).reshape(-1)])
        _check_block(np.shape(x), found, shape)
        return np.asarray(x)[_block(found, shape)]


def shrink(x: Any, offsets: Any, shape: Any) -> Any:
    """The block of ``x`` of the given ``shape`` whose first element stands at ``offsets``. Gradient: pad with what was cut off.

    ``offsets`` may be a Tensor of whole numbers, a place that was itself computed: then the block is cut out, but there is no gradient,
    because how much to pad is not known before the pass runs; backward raises RuleError. Raises ShapeError where the block sticks out.

    >>> shrink(np.arange(12.0).reshape(3, 4), (1, 2), (2, 2)).tolist()
    [[6.0, 7.0], [10.0, 11.0]]
    """
    x = as_array(x)
    sizes = whole("shrink: shape", shape)
    if isinstance(offsets, Tensor):
        _check_index("shrink: offsets", offsets)
        return apply(REGISTRY["shrink_at"], (x, offsets), {"shape": sizes})
    if isinstance(offsets, (list, tuple)) and any(isinstance(n, Tensor) for n in offsets):
        return shrink(x, stack(*[n if isinstance(n, Tensor) else np.asarray(n) for n in offsets]), sizes)
    found = whole("shrink: offsets", offsets)
    _check_block(x.shape, found, sizes)
    return apply(REGISTRY["shrink"], (x,), {"offsets": found, "shape": sizes})


def _block(offsets: Shape, shape: Shape) -> tuple[slice, ...]:
    return tuple([slice(o, o + n) for o, n in zip(offsets, shape, strict=True)])


def _cut_off(whole_shape: Shape, offsets: Shape, shape: Shape) -> Shape:
    return tuple([n for full, o, kept in zip(whole_shape, offsets, shape, strict=True) for n in (o, full - o - kept)])


def _check_block(of: Shape, offsets: Shape, shape: Shape) -> None:
    if len(offsets) != len(of) or len(shape) != len(of):
        raise ShapeError(f"shrink: x has {len(of)} axes (shape {of}), so offsets and shape need as many entries, got {offsets} and {shape}")
    for axis, (full, o, n) in enumerate(zip(of, offsets, shape, strict=True)):
        if o < 0 or n < 0 or o + n > full:
            raise ShapeError(f"shrink: {n} element(s) from {o} on do not lie within axis {axis} of shape {of}, which has {full}")


# ---- arrays side by side, and one of them ------------------------------------------------------------------------


class Stack(Op):
    """Arrays of one shape, one behind the other along a new leading axis."""

    name, label, word, slots = "stack_front", "stack", "hands out", ("*xs",)
    formulas = ("index(g, this operand's place)",)
    vjps = (lambda g, slot: index(g, slot),)

    @staticmethod
    def forward(*xs: Any) -> Any:
        return np.stack(xs)

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        a, b = rng.standard_normal((2, 3)), rng.standard_normal((2, 3))
        return [((a, b, a), {}), ((a,), {}), ((a[0, 0], b[0, 0]), {}), ((a[:0], b[:0]), {})]


def stack(*xs: Any) -> Any:
    """Arrays of one shape along a new leading axis. Gradient: each gets ``index(g, j)``, its own part.

    Raises ShapeError where the shapes differ or nothing is given.

    >>> stack([1.0, 2.0], [3.0, 4.0]).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    if not xs:
        raise ShapeError("stack needs at least one array")
    given = [as_array(x) for x in xs]
    shapes = [x.shape for x in given]
    if any(s != shapes[0] for s in shapes):
        raise ShapeError(f"stack: all arrays need one shape, got {', '.join(map(str, shapes))}; expand or pad them first")
    return apply(REGISTRY["stack_front"], given, {})


class Index(Op):
    """One element of the leading axis."""

    name, label, word, slots = "index", "index", "pads", ("x",)
    formulas = ("pad(g, zeros before and after place j)",)
    vjps = (lambda g, x_shape, j: pad(reshape(g, (1, *x_shape[1:])), [j, x_shape[0] - 1 - j]),)

    @staticmethod
    def forward(x: Any, j: int) -> Any:
        return np.asarray(x)[j]

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        x = rng.standard_normal((3, 2))
        return [((x,), {"j": 1}), ((x[0],), {"j": 0}), ((x[:, :0],), {"j": 2})]


class IndexAt(Op):
    """One element of the leading axis, at a computed place."""

    name, label, slots, word = "index_at", "index", ("x", "j"), "has no gradient for"
    formulas = ("none: the place was computed", "")
    vjps = (lambda g, x_shape: _refuse(g, "index", "j", "pad(reshape(g, ...), pads)", x_shape), None)

    @staticmethod
    def forward(x: Any, j: Any) -> Any:
        return np.asarray(x)[_place(np.shape(x), np.asarray(j).item())]


def index(x: Any, j: Any) -> Any:
    """Element ``j`` of the leading axis of ``x``, which drops out. Gradient: pad with zeros where the others are.

    ``j`` may be a Tensor that holds a whole number, a place that was itself computed: forward works, backward raises RuleError.
    Raises IndexError for a place outside the axis.

    >>> index(np.array([[1.0, 2.0], [3.0, 4.0]]), 1).tolist()
    [3.0, 4.0]
    """
    x = as_array(x)
    if isinstance(j, Tensor):
        _check_index("index: j", j)
        if j.size != 1:
            raise ShapeError(f"index takes one place, got a Tensor of shape {j.shape}; stack several calls")
        return apply(REGISTRY["index_at"], (x, j), {})
    return apply(REGISTRY["index"], (x,), {"j": _place(x.shape, arguments.whole("index", "j", j))})


def _place(shape: Shape, j: int) -> int:
    if not shape or not -shape[0] <= j < shape[0]:
        has = f"has {shape[0]} element(s)" if shape else "is not there"
        raise IndexingError(f"index: place {j} of shape {shape}: the leading axis {has}")
    return j % shape[0]


def _check_index(what: str, place: Tensor) -> None:
    if place.dtype.kind not in "iu":
        raise DTypeError(f"{what} holds whole numbers, got dtype {place.dtype}; convert it with cast")


def _refuse(g: Any, op: str, what: str, rule: str, shape: Shape) -> Any:
    raise RuleError(
        f"{op} at a computed place has no gradient among the primitives: that of x, of shape {shape}, would be {rule} with g of shape {g.shape}, "
        f"and how much to pad is not known while {what} is a Tensor. Give {what} as whole numbers, "
        "or select by comparing positions: where(compare(positions, place), x, 0), then reduce"
    )
