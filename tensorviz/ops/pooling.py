"""Pools over two axes: the greatest or the mean of every window. Imports the engine's op base only."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorviz.engine.op import REGISTRY, Op
from tensorviz.errors import ShapeError
from tensorviz.ops.axes import divided
from tensorviz.ops.operands import as_array
from tensorviz.ops.samples import Examples, distinct
from tensorviz.ops.windows import Sizes, check_fit, cut, put_back, sizes

__all__ = ["avg_pool2d", "max_pool2d"]

_INSIDE = (-2, -1)


def _winners(a: Any, out: Any, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> tuple[Any, Any]:
    """Per window which elements are its greatest (the NaN ones if there are any), and how many they are."""
    windows = cut(np.asarray(a), kernel, stride, padding, dilation, -np.inf)
    chosen = (windows == np.expand_dims(np.asarray(out), _INSIDE)) | (windows != windows)
    return chosen, np.maximum(np.sum(chosen, axis=_INSIDE, keepdims=True), 1)


def _max_rule(g: Any, a: Any, out: Any, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Any:
    chosen, ties = _winners(a, out, kernel, stride, padding, dilation)
    shares = np.where(chosen, divided(np.expand_dims(g, _INSIDE), ties), 0)
    return REGISTRY["fold"](shares, size=a.shape[-2:], stride=stride, padding=padding, dilation=dilation)


def _max_route(a: Any, out: Any, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Any:
    """The part of the windows over an element in which it was chosen."""
    chosen, ties = _winners(a, out, kernel, stride, padding, dilation)
    won = put_back(chosen / ties, a.shape[-2:], stride, padding, dilation)
    return won / np.maximum(put_back(np.ones(chosen.shape), a.shape[-2:], stride, padding, dilation), 1)


class _MaxPool2d(Op):
    """The greatest element of every window. Ties share the gradient evenly; NaN is chosen before any number."""

    name, word, slots = "max_pool2d", "routes", ("a",)
    vjps, routes = (_max_rule,), (_max_route,)
    formulas = ("g / ties where a is the greatest of its window, else 0; summed over windows",)

    @staticmethod
    def forward(a: Any, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Any:
        return np.max(cut(a, kernel, stride, padding, dilation, -np.inf), axis=_INSIDE)

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        apart: dict[str, Any] = {"kernel": (2, 2), "stride": (2, 2), "padding": (0, 0), "dilation": (1, 1)}
        overlapping: dict[str, Any] = {"kernel": (3, 2), "stride": (1, 2), "padding": (1, 0), "dilation": (1, 2)}
        return [((distinct(rng, (2, 1, 4, 4)),), apart), ((distinct(rng, (1, 2, 3, 4)),), overlapping), ((np.zeros((0, 1, 4, 4)),), apart)]


def _counts(shape: tuple[int, ...], kernel: Sizes, stride: Sizes, padding: Sizes, count_include_pad: bool) -> Any:
    """By what each window's sum is divided."""
    if count_include_pad or not any(padding):
        return kernel[0] * kernel[1]
    return np.sum(cut(np.ones(shape[-2:]), kernel, stride, padding, (1, 1)), axis=_INSIDE)


def _mean_rule(g: Any, a_shape: tuple[int, ...], kernel: Sizes, stride: Sizes, padding: Sizes, count_include_pad: bool) -> Any:
    each = np.expand_dims(divided(g, _counts(a_shape, kernel, stride, padding, count_include_pad)), _INSIDE)
    return REGISTRY["fold"](np.broadcast_to(each, (*each.shape[:-2], *kernel)), size=a_shape[-2:], stride=stride, padding=padding, dilation=(1, 1))


class _AvgPool2d(Op):
    """The mean of every window."""

    name, word, slots = "avg_pool2d", "repeats", ("a",)
    vjps = (_mean_rule,)
    formulas = ("g / n, repeated over the window; summed over windows",)

    @staticmethod
    def forward(a: Any, kernel: Sizes, stride: Sizes, padding: Sizes, count_include_pad: bool = True) -> Any:
        narrow = a.dtype == np.float16  # it adds in float32: a sum passes its end where the mean does not
        total = np.sum(cut(a, kernel, stride, padding, (1, 1)), axis=_INSIDE, dtype=np.float32 if narrow else None)
        found = divided(total, _counts(np.shape(a), kernel, stride, padding, count_include_pad))
        return found.astype(np.float16) if narrow else found

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        apart: dict[str, Any] = {"kernel": (2, 2), "stride": (2, 2), "padding": (0, 0)}
        padded: list[dict[str, Any]] = [{"kernel": (3, 2), "stride": (1, 2), "padding": (1, 1), "count_include_pad": c} for c in (True, False)]
        return [
            ((rng.normal(size=(2, 1, 4, 4)),), apart),
            *(((rng.normal(size=(1, 2, 3, 4)),), p) for p in padded),
            ((np.zeros((0, 1, 4, 4)),), apart),
        ]


def _how(name: str, x: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any) -> dict[str, Sizes]:
    shape = as_array(x).shape
    if len(shape) != 4:
        raise ShapeError(f"{name}: expected x of shape (batch, channels, height, width), got {shape}; add axes with np.expand_dims")
    kernel = sizes(name, "kernel_size", kernel_size, 2, 1)
    how = {
        "kernel": kernel,
        "stride": kernel if stride is None else sizes(name, "stride", stride, 2, 1),
        "padding": sizes(name, "padding", padding, 2, 0),
        "dilation": sizes(name, "dilation", dilation, 2, 1),
    }
    if any(2 * p > k for p, k in zip(how["padding"], kernel, strict=True)):
        raise ShapeError(f"{name}: padding {how['padding']} is more than half of the kernel {kernel}, so some windows would hold nothing but padding")
    check_fit(name, shape, **how)
    return how


def max_pool2d(x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1) -> Any:
    """The greatest element of every window over the last two axes of ``x``, which has shape (batch, channels, height, width).

    ``stride`` is the kernel's size unless given; every argument is one int or one per axis. Routes the gradient to the greatest element
    of each window; equal ones share it evenly. Raises ValueError when no window fits.

    >>> max_pool2d(np.arange(16.0).reshape(1, 1, 4, 4), 2)
    array([[[[ 5.,  7.],
             [13., 15.]]]])
    """
    return REGISTRY["max_pool2d"](x, **_how("max_pool2d", x, kernel_size, stride, padding, dilation))


def avg_pool2d(x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, count_include_pad: bool = True) -> Any:
    """The mean of every window over the last two axes of ``x``, which has shape (batch, channels, height, width).

    ``stride`` is the kernel's size unless given. Zeros of the padding count as elements unless ``count_include_pad=False``.
    Raises ValueError when no window fits.

    >>> avg_pool2d(np.arange(16.0).reshape(1, 1, 4, 4), 2)
    array([[[[ 2.5,  4.5],
             [10.5, 12.5]]]])
    """
    how = _how("avg_pool2d", x, kernel_size, stride, padding, 1)
    del how["dilation"]
    return REGISTRY["avg_pool2d"](x, **how, count_include_pad=bool(count_include_pad))
