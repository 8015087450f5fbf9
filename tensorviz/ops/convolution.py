"""Convolutions over one and two axes. Imports the engine's op base only."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from tensorviz.arguments import whole
from tensorviz.engine.op import REGISTRY, Op
from tensorviz.errors import ShapeError
from tensorviz.ops.samples import Examples
from tensorviz.ops.windows import Sizes, check_fit, cut, sizes

__all__ = ["conv1d", "conv2d"]


def _grouped(groups: int, channels: int) -> list[slice]:
    """The channels of each group."""
    step = channels // groups
    return [slice(i * step, (i + 1) * step) for i in range(groups)]


def _over_groups(parts: list[Any], axis: int) -> Any:
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=axis)


def _forward(x: Any, weight: Any, bias: Any = None, stride: Sizes = (), padding: Sizes = (), dilation: Sizes = (), groups: int = 1) -> Any:
    n = len(stride)
    windows = cut(x, weight.shape[2:], stride, padding, dilation)
    mine, kernel = [1, *range(2 + n, 2 + 2 * n)], [1, *range(2, 2 + n)]
    parts = []
    for ins, outs in zip(_grouped(groups, x.shape[1]), _grouped(groups, weight.shape[0]), strict=True):
        parts.append(np.moveaxis(np.tensordot(windows[:, ins], weight[outs], axes=(mine, kernel)), -1, 1))
    y = _over_groups(parts, 1)
    return y if bias is None else y + bias.reshape((-1,) + (1,) * n)


def _x_rule(g: Any, x_shape: tuple[int, ...], weight: Any, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int) -> Any:
    n = len(stride)
    parts = []
    for outs in _grouped(groups, weight.shape[0]):
        parts.append(np.moveaxis(np.tensordot(g[:, outs], weight[outs], axes=([1], [0])), 1 + n, 1))
    return REGISTRY["fold"](_over_groups(parts, 1), size=x_shape[2:], stride=stride, padding=padding, dilation=dilation)


def _weight_rule(g: Any, x: Any, weight_shape: tuple[int, ...], stride: Sizes, padding: Sizes, dilation: Sizes, groups: int) -> Any:
    n = len(stride)
    windows = REGISTRY["windows"](x, kernel=weight_shape[2:], stride=stride, padding=padding, dilation=dilation)
    places = [0, *range(2, 2 + n)]
    parts = []
    for ins, outs in zip(_grouped(groups, x.shape[1]), _grouped(groups, weight_shape[0]), strict=True):
        parts.append(np.tensordot(g[:, outs], windows[:, ins], axes=(places, places)))
    return _over_groups(parts, 0)


def _bias_rule(g: Any, stride: Sizes) -> Any:
    return np.sum(g, axis=(0, *range(2, 2 + len(stride))))


class _Convolution(Op, abstract=True):
    """Every window times the kernel, summed; plus a bias per channel."""

    word, slots, forward = "swaps", ("x", "weight", "bias"), staticmethod(_forward)
    vjps = (_x_rule, _weight_rule, _bias_rule)
    formulas = ("fold(g * weight)", "windows(x) * g", "sum(g)")
    source: ClassVar[str] = "Dumoulin, Visin: A guide to convolution arithmetic for deep learning (2016)"


class _Conv1d(_Convolution):
    """A convolution over one axis, as networks mean it: the kernel is not flipped."""

    name = "conv1d"

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        one: dict[str, Any] = {"stride": (1,), "padding": (0,), "dilation": (1,), "groups": 1}
        two: dict[str, Any] = {"stride": (2,), "padding": (1,), "dilation": (2,), "groups": 2}
        return [
            ((rng.normal(size=(2, 2, 4)), rng.normal(size=(3, 2, 2))), one),
            ((rng.normal(size=(1, 2, 5)), rng.normal(size=(2, 1, 2)), rng.normal(size=2)), two),
        ]


class _Conv2d(_Convolution):
    """A convolution over two axes, as networks mean it: the kernel is not flipped."""

    name = "conv2d"

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        one: dict[str, Any] = {"stride": (1, 1), "padding": (0, 0), "dilation": (1, 1), "groups": 1}
        two: dict[str, Any] = {"stride": (2, 1), "padding": (1, 1), "dilation": (1, 2), "groups": 2}
        x, weight, bias = rng.normal(size=(2, 2, 3, 3)), rng.normal(size=(2, 2, 2, 2)), rng.normal(size=2)
        return [((x, weight, bias), one), ((x, weight), one), ((x[:1], weight[:, :1], bias), two), ((x[:0], weight, bias), one)]


def _convolve(name: str, n: int, x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    axes = ("batch", "channels", "length") if n == 1 else ("batch", "channels", "height", "width")
    shape, kernel = np.shape(x), np.shape(weight)
    if len(shape) != n + 2 or len(kernel) != n + 2:
        raise ShapeError(
            f"{name}: expected x of shape ({', '.join(axes)}) and a weight of shape (outputs, channels / groups, {', '.join(axes[2:])}), got {shape} and {kernel}"
        )
    groups = whole(name, "groups", groups)
    if groups < 1 or shape[1] % groups or kernel[0] % groups:
        raise ShapeError(f"{name}: groups={groups} must divide the {shape[1]} channels of x and the {kernel[0]} outputs of the weight")
    if kernel[1] * groups != shape[1]:
        raise ShapeError(
            f"{name}: x has {shape[1]} channels (shape {shape}), but the weight of shape {kernel} takes {kernel[1] * groups} (its axis 1 times groups={groups})"
        )
    if bias is not None and np.shape(bias) != (kernel[0],):
        raise ShapeError(f"{name}: a weight of shape {kernel} needs a bias of shape ({kernel[0]},), got {np.shape(bias)}")
    how = {
        "stride": sizes(name, "stride", stride, n, 1),
        "padding": sizes(name, "padding", padding, n, 0),
        "dilation": sizes(name, "dilation", dilation, n, 1),
    }
    check_fit(name, shape, kernel[2:], **how)
    return REGISTRY[name](x, weight, *(() if bias is None else (bias,)), **how, groups=groups)


def conv1d(x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1) -> Any:
    """A convolution over the last axis, as networks mean it: the kernel is not flipped.

    ``x`` has shape (batch, channels, length), ``weight`` (outputs, channels / groups, kernel), ``bias`` (outputs,) or None.
    ``padding`` zeros are added at both ends. Raises ValueError when the shapes do not fit.

    >>> conv1d(np.array([[[1.0, 2.0, 4.0]]]), np.array([[[1.0, -1.0]]]))
    array([[[-1., -2.]]])
    """
    return _convolve("conv1d", 1, x, weight, bias, stride, padding, dilation, groups)


def conv2d(x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1) -> Any:
    """A convolution over the last two axes, as networks mean it: the kernel is not flipped (Dumoulin, Visin, 2016).

    ``x`` has shape (batch, channels, height, width), ``weight`` (outputs, channels / groups, height, width), ``bias`` (outputs,) or None;
    ``stride``, ``padding`` and ``dilation`` are one int or one per axis. Raises ValueError when the shapes do not fit.

    >>> conv2d(np.arange(9.0).reshape(1, 1, 3, 3), np.ones((1, 1, 2, 2)))
    array([[[[ 8., 12.],
             [20., 24.]]]])
    """
    return _convolve("conv2d", 2, x, weight, bias, stride, padding, dilation, groups)
