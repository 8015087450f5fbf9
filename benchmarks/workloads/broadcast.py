"""Workload (d): broadcasting, layer norm and softmax. Holds no engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.workloads.workload import Array, Language, Workload

EPSILON = 1e-5


def layer_norm(language: Language, x: Any, gain: Any, bias: Any) -> Any:
    """Layer norm along the last axis from primitive ops."""
    np = language.np
    c = x - np.mean(x, axis=-1, keepdims=True)
    return c / np.sqrt(np.mean(c * c, axis=-1, keepdims=True) + EPSILON) * gain + bias


def softmax(language: Language, x: Any) -> Any:
    """Softmax along the last axis from primitive ops."""
    np = language.np
    e = np.exp(x - language.peak(x))
    return e / np.sum(e, axis=-1, keepdims=True)


def layer_norm_by_hand(x: Array, gain: Array, bias: Array) -> tuple[Array, tuple[Array, Array]]:
    """The result, and what the backward pass needs."""
    c = x - x.mean(axis=-1, keepdims=True)
    inverse = 1 / np.sqrt((c * c).mean(axis=-1, keepdims=True) + EPSILON)
    n = c * inverse
    return n * gain + bias, (n, inverse)


def layer_norm_back(g: Array, gain: Array, kept: tuple[Array, Array]) -> tuple[Array, Array, Array]:
    """Gradients of x, gain and bias in the closed form."""
    n, inverse = kept
    rest = tuple(range(g.ndim - 1))
    gn = g * gain
    gx = inverse * (gn - gn.mean(axis=-1, keepdims=True) - n * (gn * n).mean(axis=-1, keepdims=True))
    return gx, (g * n).sum(axis=rest), g.sum(axis=rest)


def softmax_by_hand(x: Array) -> Array:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(e / e.sum(axis=-1, keepdims=True))


def softmax_back(g: Array, s: Array) -> Array:
    return np.asarray(s * (g - (g * s).sum(axis=-1, keepdims=True)))


def workload(rows: int, columns: int, width: int) -> Workload:
    """(rows, 1, width) with (columns, 1), then layer norm and softmax on (rows, columns, width)."""
    rng = np.random.default_rng(3)
    parameters = (rng.normal(size=(rows, 1, width)), rng.normal(size=(columns, 1)), 1 + 0.1 * rng.normal(size=width), 0.1 * rng.normal(size=width))
    target = rng.normal(size=(rows, columns, width))

    def forward(language: Language, parameters: Sequence[Any], constants: Sequence[Any]) -> Any:
        x, y, gain, bias = parameters
        (target,) = constants
        return language.np.sum(softmax(language, layer_norm(language, x * y + x, gain, bias)) * target)

    def fused(language: Language, parameters: Sequence[Any], constants: Sequence[Any]) -> Any:
        x, y, gain, bias = parameters
        (target,) = constants
        return language.np.sum(language.softmax(language.layer_norm(x * y + x, gain, bias)) * target)

    def by_hand(parameters: Sequence[Array], constants: Sequence[npt.NDArray[Any]]) -> tuple[float, tuple[Array, ...]]:
        x, y, gain, bias = parameters
        (target,) = constants
        n, kept = layer_norm_by_hand(x * y + x, gain, bias)
        s = softmax_by_hand(n)
        g, g_gain, g_bias = layer_norm_back(softmax_back(target, s), gain, kept)
        gx = (g * (y + 1)).sum(axis=1, keepdims=True)
        gy = (g * x).sum(axis=(0, 2))[:, None]
        return float((s * target).sum()), (gx, gy, g_gain, g_bias)

    title = f"({rows},1,{width}) with ({columns},1), layer norm and softmax on ({rows},{columns},{width})"
    return Workload(title, parameters, (target,), forward, by_hand, fused)
