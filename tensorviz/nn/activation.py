"""Activations and other functions as modules, for Sequential. Imports the engine and the ops only."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorviz.arguments import number, one_of, whole
from tensorviz.errors import ShapeError
from tensorviz.nn.module import Module
from tensorviz.ops.activation import gelu, leaky_relu, relu, sigmoid, silu
from tensorviz.ops.movement import reshape
from tensorviz.ops.probability import log_softmax, softmax
from tensorviz.ops.trigonometric import tanh


class ReLU(Module):
    """``max(x, 0)``, with gradient 0 at 0.

    >>> ReLU()([-1.0, 2.0]).tolist()
    [0.0, 2.0]
    """

    def forward(self, x: Any) -> Any:
        return relu(x)


class LeakyReLU(Module):
    """``x`` where it is positive, else ``negative_slope * x``.

    >>> LeakyReLU(0.5)([-1.0, 2.0]).tolist()
    [-0.5, 2.0]
    """

    def __init__(self, negative_slope: float = 0.01) -> None:
        self.negative_slope = number("LeakyReLU", "negative_slope", negative_slope)

    def forward(self, x: Any) -> Any:
        return leaky_relu(x, self.negative_slope)

    def extra_repr(self) -> str:
        return f"negative_slope={self.negative_slope}"


class Tanh(Module):
    """The hyperbolic tangent.

    >>> Tanh()([0.0]).tolist()
    [0.0]
    """

    def forward(self, x: Any) -> Any:
        return tanh(x)


class Sigmoid(Module):
    """``1 / (1 + e ** -x)``.

    >>> Sigmoid()([0.0]).tolist()
    [0.5]
    """

    def forward(self, x: Any) -> Any:
        return sigmoid(x)


class SiLU(Module):
    """``x * sigmoid(x)``.

    >>> SiLU()([0.0]).tolist()
    [0.0]
    """

    def forward(self, x: Any) -> Any:
        return silu(x)


class GELU(Module):
    """``x`` times the probability that a normal variable is below it (Hendrycks, Gimpel, 2016); ``approximate="tanh"`` is the formula with tanh.

    >>> GELU()(np.zeros(1)).tolist()
    [0.0]
    """

    def __init__(self, approximate: str = "none") -> None:
        one_of("GELU", "approximate", approximate, ("none", "tanh"))
        self.approximate = approximate

    def forward(self, x: Any) -> Any:
        return gelu(x, self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class Softmax(Module):
    """``e ** x / sum(e ** x)`` along ``axis`` (PyTorch: ``dim``), the last unless given.

    >>> Softmax()([0.0, 0.0]).tolist()
    [0.5, 0.5]
    """

    def __init__(self, axis: int = -1) -> None:
        self.axis = whole("Softmax", "axis", axis)

    def forward(self, x: Any) -> Any:
        return softmax(x, self.axis)

    def extra_repr(self) -> str:
        return f"axis={self.axis}"


class LogSoftmax(Module):
    """``log(softmax(x))`` along ``axis`` (PyTorch: ``dim``), the last unless given; what :class:`NLLLoss` takes.

    >>> LogSoftmax()([0.0, 1000.0]).tolist()
    [-1000.0, 0.0]
    """

    def __init__(self, axis: int = -1) -> None:
        self.axis = whole("LogSoftmax", "axis", axis)

    def forward(self, x: Any) -> Any:
        return log_softmax(x, self.axis)

    def extra_repr(self) -> str:
        return f"axis={self.axis}"


class Flatten(Module):
    """The axes from ``start_axis`` to ``end_axis`` as one (PyTorch: ``start_dim``, ``end_dim``); all but the batch unless given.

    Raises ValueError when called on an x without those axes.

    >>> import numpy as np
    >>> Flatten()(np.ones((2, 3, 4))).shape
    (2, 12)
    """

    def __init__(self, start_axis: int = 1, end_axis: int = -1) -> None:
        self.start_axis, self.end_axis = whole("Flatten", "start_axis", start_axis), whole("Flatten", "end_axis", end_axis)

    def forward(self, x: Any) -> Any:
        return reshape(x, flattened(np.shape(x), self.start_axis, self.end_axis))

    def extra_repr(self) -> str:
        return f"start_axis={self.start_axis}, end_axis={self.end_axis}"


def flattened(shape: tuple[int, ...], start: int, end: int) -> tuple[int, ...]:
    """The shape with the axes from start to end, that one included, as one."""
    first, last = (i + len(shape) if i < 0 else i for i in (start, end))
    if not 0 <= first <= last < len(shape):
        raise ShapeError(f"Flatten: x of shape {shape} has no axes {start} to {end}")
    return (*shape[:first], math.prod(shape[first : last + 1]), *shape[last + 1 :])
