"""Primitives that move and repeat elements: reshape, permute, stage, expand. Imports the engine, the ops and errors.

Permute is the gradient of permute, stage of stage; expand needs permute, reduce and reshape.
The rules are calls of these same functions, so on Tensors the backward pass is recorded as a graph of primitives.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorviz.engine.op import REGISTRY, Op, apply
from tensorviz.ops.samples import Examples
from tensorviz.primitives.axes import Shape, check_expands, full_order, inverse_order, sizes, summed_axes, whole
from tensorviz.primitives.operands import as_array

__all__ = ["expand", "permute", "reshape", "stage"]


# ---- the same elements in another shape or order -----------------------------------------------------------------


def reshape(x: Any, shape: Any) -> Any:
    """The elements of ``x`` in another shape, the last axis fastest; one entry may be -1. Gradient: reshape back.

    Raises ShapeError where the sizes differ.

    >>> reshape(np.arange(6.0), (2, 3)).tolist()
    [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    """
    to = whole("reshape: shape", shape)
    sizes("reshape: shape", [n for n in to if n != -1])
    return apply(REGISTRY["reshape"], (as_array(x),), {"shape": to})


def reshaped(x: Any, shape: Shape) -> Any:
    """The same, and nothing at all where ``x`` has that shape already."""
    return x if x.shape == shape else reshape(x, shape)


class Permute(Op):
    """The axes in another order."""

    name, word, slots = "permute", "permutes", ("x",)
    formulas = ("permute(g, inverse order)",)
    vjps = (lambda g, order: permute(g, inverse_order(order)),)

    @staticmethod
    def forward(x: Any, order: Shape) -> Any:
        return np.transpose(x, order)

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        x = rng.standard_normal((2, 3, 4))
        return [((x,), {"order": (2, 0, 1)}), ((x[0],), {"order": (1, 0)}), ((x[:0],), {"order": (1, 0, 2)}), ((x[0, 0, 0],), {"order": ()})]


def permute(x: Any, order: Any) -> Any:
    """``x`` with its axes in another order: axis k of the result is axis ``order[k]`` of ``x``. Gradient: permute with the inverse order.

    Raises AxisError where ``order`` does not name every axis once.

    >>> permute(np.ones((2, 3, 4)), [2, 0, 1]).shape
    (4, 2, 3)
    """
    x = as_array(x)
    return apply(REGISTRY["permute"], (x,), {"order": full_order("permute", order, x.ndim)})


def permuted(x: Any, order: Shape) -> Any:
    """The same, and nothing at all where the order is as it was."""
    return x if order == tuple(range(len(order))) else permute(x, order)


# ---- kept and repeated -------------------------------------------------------------------------------------------


class Stage(Op):
    """The same values, computed once and kept."""

    name, word, slots = "stage", "stages", ("x",)
    formulas = ("stage(g)",)
    vjps = (lambda g: stage(g),)

    @staticmethod
    def forward(x: Any) -> Any:
        return np.array(x)

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        return [((rng.standard_normal(s)[()],), {}) for s in ((), (3,), (2, 0), (2, 3))]


def stage(x: Any) -> Any:
    """``x``, computed once and kept, so that whoever uses it reads it instead of computing it again. Gradient: stage.

    It changes no value. What it saves, :func:`recompute_counts` counts.

    >>> stage([1.0, 2.0]).tolist()
    [1.0, 2.0]
    """
    return apply(REGISTRY["stage"], (as_array(x),), {})


class Expand(Op):
    """Repeated along new leading axes and along axes of size 1."""

    name, word, slots = "expand", "sums the copies", ("x",)
    formulas = ("reshape(reduce(permute(g, grown axes first), add), x's shape)",)
    vjps = (lambda g, x_shape: gathered(g, x_shape),)

    @staticmethod
    def forward(x: Any, shape: Shape) -> Any:
        return np.broadcast_to(x, shape)

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        x = rng.standard_normal((3, 1, 1))
        return [
            ((x,), {"shape": (5, 3, 4, 1)}),
            ((x[:, 0],), {"shape": (3, 2)}),
            ((x[0, 0, 0],), {"shape": (2, 2)}),
            ((x,), {"shape": (3, 0, 1)}),
            ((x,), {"shape": (3, 1, 1)}),
        ]


def expand(x: Any, shape: Any) -> Any:
    """``x`` repeated along new leading axes and along its axes of size 1, to ``shape``.

    Gradient: permute the grown axes to the front (in increasing order, the rest behind), reduce add that pops them, reshape to x's shape.
    A step that would change nothing is left out. Raises ShapeError where an axis of another size would have to grow.

    >>> expand([[1.0], [2.0]], (2, 3)).tolist()
    [[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]]
    """
    x = as_array(x)
    to = sizes("expand: shape", shape)
    check_expands("expand", x.shape, to)
    return apply(REGISTRY["expand"], (x,), {"shape": to})


def gathered(g: Any, shape: Shape) -> Any:
    """The gradient of what was expanded from ``shape``: the copies summed."""
    grown = summed_axes(g.shape, shape)
    if grown:
        rest = tuple([i for i in range(g.ndim) if i not in grown])
        g = apply(REGISTRY["reduce_add"], (permuted(g, grown + rest),), {"pop": len(grown)})
    return reshaped(g, shape)


def expanded(x: Any, shape: Shape) -> Any:
    """``x`` expanded, and nothing at all where it has that shape already."""
    return x if x.shape == shape else expand(x, shape)
