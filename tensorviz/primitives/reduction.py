"""The primitive that pops leading axes: reduce, by adding, multiplying or taking the greatest. Imports the engine and errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorviz.arguments import one_of, whole
from tensorviz.engine.op import REGISTRY, Op, apply
from tensorviz.errors import AxisError, RuleError, ShapeError
from tensorviz.ops.samples import Examples, distinct
from tensorviz.primitives.axes import Shape
from tensorviz.primitives.elementwise import cast, compare, div, max, mul, not_a_number
from tensorviz.primitives.movement import expanded, reshaped
from tensorviz.primitives.operands import as_array

__all__ = ["reduce"]


def restored(g: Any, shape: Shape, pop: int) -> Any:
    """``g`` with the popped axes back at size 1, then expanded to ``shape``."""
    return expanded(reshaped(g, (1,) * pop + g.shape), shape)


def _axes(pop: int) -> Shape:
    return tuple(range(pop))


_SHAPES: tuple[tuple[Shape, int], ...] = (((4,), 1), ((2, 3), 1), ((2, 3), 2), ((3, 1, 2), 2), ((1, 3), 1))


class ReduceAdd(Op):
    """The sum over the leading axes, which drop out."""

    name, label, word, slots = "reduce_add", "reduce add", "expands", ("x",)
    formulas = ("expand(reshape(g, with axes of size 1), x's shape)",)
    vjps = (lambda g, x_shape, pop: restored(g, x_shape, pop),)

    @staticmethod
    def forward(x: Any, pop: int) -> Any:
        return np.add.reduce(x, axis=_axes(pop))

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        return [((rng.standard_normal(s),), {"pop": k}) for s, k in (*_SHAPES, ((0, 3), 1), ((3, 0), 1), ((2, 3), 0))]


def _hits(g: Any, x: Any, out: Any, pop: int) -> Any:
    back = restored(out, x.shape, pop)
    hits = cast(compare(x, back, "=="), g.dtype)
    if not_a_number(out):  # a NaN equals nothing, itself neither: then the NaN entries are what was chosen
        hits = max(hits, cast(compare(x, x, "!="), g.dtype))
    count = reduce(hits, "add", pop=pop)
    return div(mul(hits, restored(g, x.shape, pop)), restored(count, x.shape, pop))


class ReduceMax(Op):
    """The greatest element over the leading axes, which drop out. Ties split evenly."""

    name, label, word, slots = "reduce_max", "reduce max", "routes", ("x",)
    formulas = ("hits * g / count, where hits = cast(x == max) and count = reduce(hits)",)
    vjps = (_hits,)
    routes = (lambda x, out, pop: _weights(x, out, pop),)

    @staticmethod
    def forward(x: Any, pop: int) -> Any:
        return np.maximum.reduce(x, axis=_axes(pop))

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        return [((distinct(rng, s),), {"pop": k}) for s, k in (*_SHAPES, ((3, 0), 1))]


def _weights(x: Any, out: Any, pop: int) -> Any:
    hits = (x == out) | (x != x)
    return hits / np.maximum(np.sum(hits, axis=_axes(pop), keepdims=True), 1)


def _refuse(g: Any, x_shape: Shape, pop: int) -> Any:
    raise RuleError(
        f"reduce with op='mul' has no gradient among the primitives (here: x of shape {x_shape}, pop={pop}, g of shape {g.shape}): each share would be the product of all other elements, "
        "which no single primitive computes. Multiply with mul, one pair after the other, or take tv.prod, which has a rule"
    )


class ReduceMul(Op):
    """The product over the leading axes, which drop out; forward only."""

    name, label, word, slots = "reduce_mul", "reduce mul", "has no gradient for", ("x",)
    formulas = ("none: take mul, one pair after the other",)
    vjps = (_refuse,)

    @staticmethod
    def forward(x: Any, pop: int) -> Any:
        return np.multiply.reduce(x, axis=_axes(pop))


OPS = {"add": "reduce_add", "max": "reduce_max", "mul": "reduce_mul"}


def reduce(x: Any, op: str = "add", pop: int = 1) -> Any:
    """The sum (``"add"``), the greatest element (``"max"``) or the product (``"mul"``) over the first ``pop`` axes of ``x``, which drop out.

    To reduce other axes, permute them to the front. Gradients: of add, reshape with axes of size 1, then expand; of max, compare x with
    the max expanded back, cast the hits to 1.0, count them by a reduce, and ``hits * g / count``, so that ties split evenly; mul has
    none and raises RuleError when it is pulled. Raises AxisError where x has fewer axes, ShapeError for a max over nothing.

    >>> reduce(np.array([[1.0, 2.0], [3.0, 4.0]]), "add", pop=1).tolist()
    [4.0, 6.0]
    >>> reduce(np.array([[1.0, 2.0], [3.0, 4.0]]), "max", pop=2).item()
    4.0
    """
    one_of("reduce", "op", op, OPS)
    x, pop = as_array(x), whole("reduce", "pop", pop)
    if not 0 <= pop <= x.ndim:
        raise AxisError(f"reduce: pop={pop} leading axes of shape {x.shape}, which has {x.ndim}")
    if op == "max" and math.prod(x.shape[:pop]) == 0:
        raise ShapeError(f"reduce max over the first {pop} axes of shape {x.shape}: there is no element to choose from")
    return apply(REGISTRY[OPS[op]], (x,), {"pop": pop})
