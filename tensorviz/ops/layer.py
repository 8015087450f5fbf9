"""The linear layer as one op. Imports the engine's op base only."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorviz.engine.op import REGISTRY, Op, frame
from tensorviz.errors import ShapeError
from tensorviz.ops.contraction import rows_times
from tensorviz.ops.samples import Examples

__all__ = ["linear"]


def _weight_rule(g: Any, x: Any, weight_shape: tuple[int, ...]) -> Any:
    rows, out = math.prod(x.shape[:-1]), weight_shape[0]
    return np.matmul(np.transpose(np.reshape(g, (rows, out))), np.reshape(x, (rows, weight_shape[1])))


class _Linear(Op):
    """``x @ weight.T + bias``."""

    name, word, slots, broadcasts = "linear", "swaps", ("x", "weight", "bias"), True
    vjps = (lambda g, weight: rows_times(g, weight), _weight_rule, lambda g: g)
    formulas = ("g @ weight", "g.T @ x", "g")

    @staticmethod
    def forward(x: Any, weight: Any, bias: Any = None) -> Any:
        y = rows_times(x, np.transpose(weight))
        return y if bias is None else y + bias

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        shapes: tuple[tuple[int, ...], ...] = ((3,), (4, 3), (2, 4, 3), (0, 3))
        made: list[tuple[tuple[Any, ...], dict[str, Any]]] = [((rng.normal(size=s), rng.normal(size=(2, 3))), {}) for s in shapes]
        return [*made, *((((*operands, rng.normal(size=2)), {}) for operands, _ in made))]


def linear(x: Any, weight: Any, bias: Any = None) -> Any:
    """``x @ weight.T + bias``: x of shape (..., inputs), weight (outputs, inputs), bias (outputs,) or None; the result is (..., outputs).

    Raises ValueError when the shapes do not fit.

    >>> linear(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0], [5.0, 6.0], [0.0, 1.0]]), np.array([0.5, 0.5, 0.5]))
    array([[11.5, 17.5,  2.5]])
    """
    shapes = [np.shape(x), np.shape(weight)]
    if len(shapes[1]) != 2 or not shapes[0] or shapes[0][-1] != shapes[1][1]:
        raise ShapeError(
            f"linear: x of shape {shapes[0]} needs a weight of shape (outputs, {shapes[0][-1] if shapes[0] else 'inputs'}), got {shapes[1]}"
        )
    if bias is None:
        return REGISTRY["linear"].call.run(frame(1), x, weight)
    if np.shape(bias) != (shapes[1][0],):
        raise ShapeError(f"linear: a weight of shape {shapes[1]} needs a bias of shape ({shapes[1][0]},), got {np.shape(bias)}")
    return REGISTRY["linear"](x, weight, bias)
