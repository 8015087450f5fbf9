"""The pooling layers. Imports the engine and the ops only."""

from __future__ import annotations

from typing import Any

from tensorviz.nn.module import Module
from tensorviz.ops.pooling import avg_pool2d, max_pool2d
from tensorviz.ops.windows import sizes


class MaxPool2d(Module):
    """The greatest element of every window: (batch, channels, height, width) to (batch, channels, rows, columns).

    ``stride`` is the kernel's size unless given. As in PyTorch, but equal elements share the gradient. Raises ValueError where no window fits.

    >>> import numpy as np
    >>> MaxPool2d(2)(np.arange(16.0).reshape(1, 1, 4, 4)).tolist()
    [[[[5.0, 7.0], [13.0, 15.0]]]]
    """

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1) -> None:
        _check("MaxPool2d", kernel_size, stride, padding, dilation)
        self.kernel_size, self.stride, self.padding, self.dilation = kernel_size, stride, padding, dilation

    def forward(self, x: Any) -> Any:
        return max_pool2d(x, self.kernel_size, self.stride, self.padding, self.dilation)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.kernel_size if self.stride is None else self.stride}, padding={self.padding}"


class AvgPool2d(Module):
    """The mean of every window: (batch, channels, height, width) to (batch, channels, rows, columns).

    ``stride`` is the kernel's size unless given. As in PyTorch. Raises ValueError where no window fits.

    >>> import numpy as np
    >>> AvgPool2d(2)(np.arange(16.0).reshape(1, 1, 4, 4)).tolist()
    [[[[2.5, 4.5], [10.5, 12.5]]]]
    """

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0, count_include_pad: bool = True) -> None:
        _check("AvgPool2d", kernel_size, stride, padding, 1)
        self.kernel_size, self.stride, self.padding, self.count_include_pad = kernel_size, stride, padding, count_include_pad

    def forward(self, x: Any) -> Any:
        return avg_pool2d(x, self.kernel_size, self.stride, self.padding, self.count_include_pad)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.kernel_size if self.stride is None else self.stride}, padding={self.padding}"


def _check(layer: str, kernel_size: Any, stride: Any, padding: Any, dilation: Any) -> None:
    """Refuse sizes that make no layer where it is made, not where it is called."""
    for what, value, least in (
        ("kernel_size", kernel_size, 1),
        ("stride", kernel_size if stride is None else stride, 1),
        ("padding", padding, 0),
        ("dilation", dilation, 1),
    ):
        sizes(layer, what, value, 2, least)
