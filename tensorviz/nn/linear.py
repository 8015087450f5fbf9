"""The linear layer. Imports the engine and the ops only."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from tensorviz.nn.initial import Rng, floats, generator, size, uniform
from tensorviz.nn.module import Module
from tensorviz.nn.parameter import Parameter
from tensorviz.ops.layer import linear


class Linear(Module):
    """``x @ weight.T + bias``: x of shape (..., in_features) to (..., out_features).

    ``weight`` (out_features, in_features) and ``bias`` (out_features,), None with ``bias=False``, are uniform in ±1 / √in_features.
    As in PyTorch, but float64 unless ``dtype`` says otherwise, and the random numbers come from ``rng`` (a Generator or a seed).
    Raises ValueError for sizes below 1, and when called on an x that does not fit.

    >>> import numpy as np
    >>> layer = Linear(2, 3, rng=0)
    >>> layer
    Linear(in_features=2, out_features=3, bias=True)
    >>> layer(np.ones((4, 2))).shape
    (4, 3)
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True, *, dtype: npt.DTypeLike = float, rng: Rng = None) -> None:
        self.in_features = size("Linear", "in_features", in_features)
        self.out_features = size("Linear", "out_features", out_features)
        rng, dtype = generator("Linear", rng), floats("Linear", dtype)
        self.weight = Parameter(uniform(rng, (out_features, in_features), in_features, dtype))
        self.bias = Parameter(uniform(rng, (out_features,), in_features, dtype)) if bias else None

    def forward(self, x: Any) -> Any:
        return linear(x, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"
