"""The normalization layers. Imports the engine and the ops only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorviz.arguments import number
from tensorviz.engine.tensor import Tensor
from tensorviz.nn.initial import floats, pair, size
from tensorviz.nn.module import Module
from tensorviz.nn.parameter import Parameter
from tensorviz.ops.normalization import batch_norm, layer_norm


class LayerNorm(Module):
    """``(x - mean) / sqrt(var + eps) * weight + bias`` over the last axes, whose shape is ``normalized_shape`` (Ba and others, 2016).

    ``weight`` starts at 1 and ``bias`` at 0; ``elementwise_affine=False`` leaves both out, ``bias=False`` the second.
    As in PyTorch, but float64 unless ``dtype`` says otherwise. Raises ValueError when called on an x that does not end in that shape.

    >>> LayerNorm(2, eps=0.0)(np.array([[1.0, 3.0], [10.0, 30.0]])).tolist()
    [[-1.0, 1.0], [-1.0, 1.0]]
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        *,
        dtype: npt.DTypeLike = float,
    ) -> None:
        shape = tuple(normalized_shape) if isinstance(normalized_shape, Sequence) else (normalized_shape,)
        self.normalized_shape = pair("LayerNorm", "normalized_shape", shape, max(len(shape), 1))
        self.eps = number("LayerNorm", "eps", eps, least=0)
        dtype = floats("LayerNorm", dtype)
        self.weight = Parameter(np.ones(self.normalized_shape, dtype)) if elementwise_affine else None
        self.bias = Parameter(np.zeros(self.normalized_shape, dtype)) if elementwise_affine and bias else None

    def forward(self, x: Any) -> Any:
        return layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.weight is not None}"


class BatchNorm(Module):
    """``(x - mean) / sqrt(var + eps) * weight + bias`` per channel, axis 1 of x, whose shape is (batch, num_features, ...) (Ioffe, Szegedy, 2015).

    While training, mean and variance are the batch's own, and the buffers ``running_mean`` and ``running_var`` move towards them by
    ``momentum`` (the plain average of all batches with ``momentum=None``); the variance that goes in is the unbiased one. In evaluation those
    two are used; with ``track_running_stats=False`` there are none, and the batch's own are used always.

    PyTorch's BatchNorm1d, 2d and 3d in one, with its defaults, but float64 unless ``dtype`` says otherwise.
    Raises ValueError when called on an x that does not fit, or while training on a single value per channel.

    >>> layer = BatchNorm(2, eps=0.0)
    >>> layer(np.array([[1.0, 10.0], [3.0, 30.0]])).tolist()
    [[-1.0, -1.0], [1.0, 1.0]]
    >>> layer.running_mean.tolist()
    [0.2, 2.0]
    """

    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        *,
        dtype: npt.DTypeLike = float,
    ) -> None:
        self.num_features = size("BatchNorm", "num_features", num_features)
        self.eps = number("BatchNorm", "eps", eps, least=0)
        self.momentum = None if momentum is None else number("BatchNorm", "momentum", momentum, least=0, most=1)
        dtype = floats("BatchNorm", dtype)
        self.weight = Parameter(np.ones(num_features, dtype)) if affine else None
        self.bias = Parameter(np.zeros(num_features, dtype)) if affine else None
        self.register_buffer("running_mean", np.zeros(num_features, dtype) if track_running_stats else None)
        self.register_buffer("running_var", np.ones(num_features, dtype) if track_running_stats else None)
        self.register_buffer("num_batches_tracked", 0 if track_running_stats else None)

    def forward(self, x: Any) -> Any:
        mean, var, count = self.running_mean, self.running_var, self.num_batches_tracked
        if mean is None or var is None:
            return batch_norm(x, None, None, self.weight, self.bias, True, 0.0, self.eps)
        if not self.training:
            return batch_norm(x, mean, var, self.weight, self.bias, False, 0.0, self.eps)
        batches = 1 if count is None else int(count) + 1
        momentum = 1 / batches if self.momentum is None else self.momentum
        # the arrays behind the buffers: the op moves them, and what was recorded with the old values keeps those
        y = batch_norm(x, mean.data, var.data, self.weight, self.bias, True, momentum, self.eps)
        if count is not None:
            count.data = np.asarray(batches)
        return y

    def extra_repr(self) -> str:
        return f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.weight is not None}, track_running_stats={self.running_mean is not None}"
