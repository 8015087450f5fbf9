"""The convolution layers. Imports the engine and the ops only."""

from __future__ import annotations

import math
from typing import Any

import numpy.typing as npt

from tensorviz.errors import OptionError
from tensorviz.nn.initial import Rng, floats, generator, pair, size, uniform
from tensorviz.nn.module import Module
from tensorviz.nn.parameter import Parameter
from tensorviz.ops.convolution import conv1d, conv2d
from tensorviz.ops.windows import sizes


class _Convolution(Module):
    """What convolutions over any number of axes share."""

    _axes = 0

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        *,
        dtype: npt.DTypeLike = float,
        rng: Rng = None,
    ) -> None:
        name = type(self).__name__
        self.in_channels, self.out_channels = size(name, "in_channels", in_channels), size(name, "out_channels", out_channels)
        self.kernel_size = pair(name, "kernel_size", kernel_size, self._axes)
        sizes(name, "stride", stride, self._axes, 1), sizes(name, "padding", padding, self._axes, 0), sizes(name, "dilation", dilation, self._axes, 1)
        self.stride, self.padding, self.dilation = stride, padding, dilation
        self.groups = size(name, "groups", groups)
        if in_channels % groups or out_channels % groups:
            raise OptionError(f"{name}: groups={groups} must divide in_channels={in_channels} and out_channels={out_channels}")
        rng, dtype = generator(name, rng), floats(name, dtype)
        shape = (out_channels, in_channels // groups, *self.kernel_size)
        fan_in = math.prod(shape[1:])
        self.weight = Parameter(uniform(rng, shape, fan_in, dtype))
        self.bias = Parameter(uniform(rng, (out_channels,), fan_in, dtype)) if bias else None

    def extra_repr(self) -> str:
        parts = [str(self.in_channels), str(self.out_channels), f"kernel_size={self.kernel_size}"]
        usual = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1}
        parts += [f"{name}={getattr(self, name)}" for name, value in usual.items() if getattr(self, name) != value]
        return ", ".join([*parts, *([] if self.bias is not None else ["bias=False"])])


class Conv1d(_Convolution):
    """A convolution over the last axis: x of shape (batch, in_channels, length) to (batch, out_channels, places).

    Arguments, initial values and differences from PyTorch as in :class:`Conv2d`, with one size instead of two.

    >>> import numpy as np
    >>> Conv1d(1, 2, 3, rng=0)(np.ones((4, 1, 8))).shape
    (4, 2, 6)
    """

    _axes = 1

    def forward(self, x: Any) -> Any:
        return conv1d(x, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)


class Conv2d(_Convolution):
    """A convolution over the last two axes: x of shape (batch, in_channels, height, width) to (batch, out_channels, rows, columns).

    ``weight`` (out_channels, in_channels / groups, kernel height, kernel width) and ``bias`` (out_channels,) are uniform in ±1 / √fan_in with
    fan_in = in_channels / groups * kernel height * kernel width. Sizes are one int or one per axis. As in PyTorch, but x always has a batch
    axis, padding is zeros and given in numbers, float64 unless ``dtype`` says otherwise, and the random numbers come from ``rng``.
    Raises ValueError for sizes below 1 or groups that do not divide the channels, and when called on an x that does not fit.

    >>> import numpy as np
    >>> layer = Conv2d(1, 2, 3, padding=1, rng=0)
    >>> layer
    Conv2d(1, 2, kernel_size=(3, 3), padding=1)
    >>> layer(np.ones((4, 1, 8, 8))).shape
    (4, 2, 8, 8)
    """

    _axes = 2

    def forward(self, x: Any) -> Any:
        return conv2d(x, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)
