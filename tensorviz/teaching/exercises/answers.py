"""The right answers, computed by the engine: the gradients of some operands for a given gradient of the result. Imports the engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorviz.engine.backward import backward
from tensorviz.engine.tensor import Tensor, tensor


def gradients(f: Callable[..., Any], operands: Sequence[Any], g: Any) -> list[Any]:
    """The gradient of each operand of ``f`` for the gradient ``g`` of its result.

    >>> gradients(lambda a, b: a * b, [np.array([1.0, 2.0]), np.array(3.0)], np.array([1.0, 10.0]))
    [array([ 3., 30.]), array(21.)]
    """
    leaves = [tensor(np.asarray(x, dtype=float), requires_grad=True) for x in operands]
    with np.errstate(all="ignore"):
        result: Tensor = f(*leaves)
        backward([result], [np.asarray(g, dtype=float)], record=False)
    return [np.zeros(x.shape) if x.grad is None else x.grad for x in leaves]


def random(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Numbers away from 0, where signs and factors show."""
    return np.copysign(rng.uniform(0.5, 2.0, shape), rng.standard_normal(shape))
