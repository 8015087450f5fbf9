"""Layer and batch normalization. Imports the engine's op base only."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorviz.arguments import number
from tensorviz.engine.mode import no_grad
from tensorviz.engine.op import REGISTRY, Op, apply
from tensorviz.engine.tensor import Tensor
from tensorviz.errors import ShapeError
from tensorviz.ops.movement import sizes
from tensorviz.ops.operands import as_array
from tensorviz.ops.reduction import var
from tensorviz.ops.rows import dotted
from tensorviz.ops.samples import Examples

__all__ = ["batch_norm", "layer_norm"]

Axes = tuple[int, ...]


def _mean(a: Any, axes: Axes, times: Any = None) -> Any:
    """The mean of ``a``, or of its product with ``times``."""
    n = a.shape[axes[0]]
    for i in axes[1:]:
        n *= a.shape[i]
    if a.dtype.char == "e":  # float16, adds in float32: the sum of many may be beyond its end
        a = a if times is None else a * times
        return np.mean(a, axis=axes, keepdims=True) if n else np.zeros_like(np.add.reduce(a, axis=axes, keepdims=True))
    return (np.add.reduce(a, axis=axes, keepdims=True) if times is None else dotted(a, times, axes)) / (n or 1)


# Arrays that were made here are written to again: to put a large one into new memory takes as long as to compute it. Tensors are not.


def _standardized(x: Any, axes: Axes, eps: float) -> tuple[Any, Any]:
    """``x`` with mean 0 and variance 1 along the axes, and the factor that made it so."""
    centred = x - _mean(x, axes)
    factor = 1 / np.sqrt(_mean(centred, axes, times=centred) + eps)
    if type(centred) is not np.ndarray:
        return centred * factor, factor
    centred *= factor
    return centred, factor


def _standardized_rule(g: Any, normalized: Any, factor: Any, axes: Axes, *, ours: bool = False) -> Any:
    """What is left of ``g`` when a change of the mean and a change of the variance have no effect. ``ours``: it may be written to."""
    of_variance = normalized * _mean(g, axes, times=normalized)
    if type(g) is not np.ndarray or type(of_variance) is not np.ndarray or g.dtype is not of_variance.dtype or g.shape != of_variance.shape:
        return factor * (g - _mean(g, axes) - of_variance)
    left = np.subtract(g, _mean(g, axes), out=g if ours else None)
    left -= of_variance
    left *= factor
    return left


# ---- layer norm: over the last axes, weight and bias of their shape ---------------------------------------------


def _last(ndim: int, count: int) -> Axes:
    return tuple(range(ndim - count, ndim))


def _layer_norm(x: Any, weight: Any = 1.0, bias: Any = None, count: int = 1, eps: float = 1e-5) -> Any:
    normalized, factor = _standardized(x, _last(x.ndim, count), eps)
    y = normalized * weight
    if type(y) is type(bias) is np.ndarray and bias.dtype is y.dtype and bias.shape == y.shape[y.ndim - bias.ndim :]:
        y += bias
    elif bias is not None:
        y = y + bias
    return y, (normalized, factor)


def _layer_norm_rule(g: Any, weight: Any, normalized: Any, factor: Any, count: int) -> Any:
    weighted = g if weight is None else g * weight
    return _standardized_rule(weighted, normalized, factor, _last(normalized.ndim, count), ours=weighted is not g)


class _LayerNorm(Op):
    """``(x - mean) / sqrt(var + eps) * weight + bias`` over the last axes."""

    name, word, broadcasts = "layer_norm", "centres", True
    slots, extras = ("x", "weight", "bias"), ("normalized", "factor")
    forward = staticmethod(_layer_norm)
    vjps = (_layer_norm_rule, lambda g, normalized: g * normalized, lambda g: g)
    formulas = ("factor * (g * weight - mean(g * weight) - normalized * mean(g * weight * normalized))", "g * normalized", "g")
    source = "Ba, Kiros, Hinton: Layer normalization (2016)"

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        x, y = rng.normal(size=(2, 4)), rng.normal(size=(2, 2, 3))
        weight, bias = rng.normal(size=4), rng.normal(size=4)
        made: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
            ((x,), {}),
            ((x, weight), {}),
            ((x, weight, bias), {}),
            ((x[0], 1.0, bias), {"eps": 0.1}),
        ]
        return [*made, ((y, rng.normal(size=(2, 3)), rng.normal(size=(2, 3))), {"count": 2}), ((x[:0], weight, bias), {})]


# ---- batch norm: over all axes but the channels -----------------------------------------------------------------


def _all_but_channels(ndim: int) -> Axes:
    return (0, *range(2, ndim))


def _per_channel(a: Any, ndim: int) -> Any:
    return np.reshape(a, (-1,) + (1,) * (ndim - 2))


def _scaled(a: Any, weight: Any) -> Any:
    return a if weight is None else a * _per_channel(weight, a.ndim)


def _batch_norm(x: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    normalized, factor = _standardized(x, _all_but_channels(x.ndim), eps)
    y = _scaled(normalized, weight)
    return (y if bias is None else y + _per_channel(bias, x.ndim)), (normalized, factor)


def _by_channel(a: Any) -> Any:
    return np.sum(a, axis=_all_but_channels(a.ndim))


class _BatchNorm(Op):
    """``(x - mean) / sqrt(var + eps) * weight + bias`` per channel, with the batch's own mean and variance."""

    name, word = "batch_norm", "centres"
    slots, extras = ("x", "weight", "bias"), ("normalized", "factor")
    forward = staticmethod(_batch_norm)
    vjps = (
        lambda g, weight, normalized, factor: _standardized_rule(_scaled(g, weight), normalized, factor, _all_but_channels(g.ndim)),
        lambda g, normalized: _by_channel(g * normalized),
        _by_channel,
    )
    formulas = ("factor * (g * weight - mean(g * weight) - normalized * mean(g * weight * normalized))", "sum(g * normalized)", "sum(g)")
    source = "Ioffe, Szegedy: Batch normalization (2015)"

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        weight, bias = rng.normal(size=2), rng.normal(size=2)
        return [
            ((rng.normal(size=(4, 2)),), {}),
            ((rng.normal(size=(4, 2)), weight), {"eps": 0.1}),
            ((rng.normal(size=(2, 2, 2, 3)), weight, bias), {}),
        ]


class _BatchNormFixed(Op):
    """``(x - mean) / sqrt(var + eps) * weight + bias`` per channel, with a mean and a variance that are given."""

    name, word, label = "batch_norm_fixed", "scales", "batch_norm"
    slots = ("x", "mean", "var", "weight", "bias")
    vjps = (
        lambda g, var, weight, eps: _scaled(g, weight) / np.sqrt(_per_channel(var, g.ndim) + eps),
        lambda g, var, weight, eps: -_by_channel(_scaled(g, weight)) / np.sqrt(var + eps),
        lambda g, x, mean, var, weight, eps: (
            -_by_channel(_scaled(g, weight) * (x - _per_channel(mean, x.ndim))) / (2 * (var + eps) * np.sqrt(var + eps))
        ),
        lambda g, x, mean, var, eps: _by_channel(g * (x - _per_channel(mean, x.ndim))) / np.sqrt(var + eps),
        _by_channel,
    )
    formulas = (
        *("g * weight / sqrt(var + eps)", "-sum(g * weight) / sqrt(var + eps)", "-sum(g * weight * (x - mean)) / (2 * (var + eps) ** 1.5)"),
        *("sum(g * (x - mean)) / sqrt(var + eps)", "sum(g)"),
    )

    @staticmethod
    def forward(x: Any, mean: Any, var: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
        y = _scaled((x - _per_channel(mean, x.ndim)) / np.sqrt(_per_channel(var, x.ndim) + eps), weight)
        return y if bias is None else y + _per_channel(bias, x.ndim)

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        given = (rng.normal(size=2), rng.uniform(0.5, 2.0, 2))
        return [((rng.normal(size=(3, 2)), *given), {}), ((rng.normal(size=(2, 2, 2)), *given, rng.normal(size=2), rng.normal(size=2)), {"eps": 0.1})]


def layer_norm(x: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """``(x - mean) / sqrt(var + eps) * weight + bias``, where mean and variance go over the last axes (Ba and others, 2016).

    ``normalized_shape`` (an int or a tuple) is the shape of those axes, and of ``weight`` and ``bias``, which may be None.
    Raises ValueError when the shapes do not fit.

    >>> layer_norm(np.array([[1.0, 3.0], [10.0, 30.0]]), 2, eps=0.0)
    array([[-1.,  1.],
           [-1.,  1.]])
    """
    shape, over = _shape(x), sizes(normalized_shape)
    count = len(over)
    if not count or shape[-count:] != over:
        raise ShapeError(f"layer_norm: normalized_shape {over} must be the end of x's shape {shape}")
    for what, value in (("weight", weight), ("bias", bias)):
        if value is not None and _shape(value) != over:
            raise ShapeError(f"layer_norm: {what} must have the shape that is normalized, {over}, got {np.shape(value)}")
    given: tuple[Any, ...] = () if weight is None else (weight,)
    if bias is not None:
        given = (1.0 if weight is None else weight, bias)
    return apply(
        REGISTRY["layer_norm"],
        (as_array(x), *given),
        {"count": count, "eps": eps if type(eps) is float and eps >= 0 else number("layer_norm", "eps", eps, least=0)},
    )


def _shape(x: Any) -> Any:
    """The shape of what mostly is a Tensor or an array; NumPy's function would take long to find out."""
    return x.shape if isinstance(x, (Tensor, np.ndarray)) else np.shape(x)


def batch_norm(
    x: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """``(x - mean) / sqrt(var + eps) * weight + bias`` per channel, the axis 1 of ``x`` (Ioffe, Szegedy, 2015).

    With ``training=True`` mean and variance are the batch's own, and ``running_mean`` and ``running_var`` (arrays or Tensors of shape
    (channels,), if given) are moved towards them in place: ``running += momentum * (batch - running)``, the variance unbiased.
    Otherwise those two are what is used. Raises ValueError when the shapes do not fit or the running values are missing.

    >>> batch_norm(np.array([[1.0, 10.0], [3.0, 30.0]]), training=True, eps=0.0)
    array([[-1., -1.],
           [ 1.,  1.]])
    """
    x = as_array(x)
    if x.ndim < 2:
        raise ShapeError(f"batch_norm: expected x of shape (batch, channels, ...), got {x.shape}")
    for what, value in (("running_mean", running_mean), ("running_var", running_var), ("weight", weight), ("bias", bias)):
        if value is not None and np.shape(value) != (x.shape[1],):
            raise ShapeError(
                f"batch_norm: {what} needs one element per channel, shape ({x.shape[1]},) for x of shape {x.shape}, got {np.shape(value)}"
            )
    momentum = number("batch_norm", "momentum", momentum, least=0, most=1)
    given = [weight, bias]
    if weight is None and bias is not None:
        given[0] = np.ones(x.shape[1], x.dtype)
    given = [v for v in given if v is not None]
    if not training:
        if running_mean is None or running_var is None:
            raise ShapeError("batch_norm: without training=True it uses running_mean and running_var, so both must be given")
        return REGISTRY["batch_norm_fixed"](x, running_mean, running_var, *given, eps=number("batch_norm", "eps", eps, least=0))
    n = x.size // x.shape[1] if x.shape[1] else 0
    if n < 2:
        raise ShapeError(f"batch_norm: x of shape {x.shape} has {n} value(s) per channel; a variance needs at least 2 while training")
    values, axes = np.asarray(x), _all_but_channels(x.ndim)
    _move(running_mean, values.mean(axis=axes), momentum)
    _move(running_var, var(values, axis=axes, ddof=1), momentum)
    return REGISTRY["batch_norm"](x, *given, eps=number("batch_norm", "eps", eps, least=0))


def _move(running: Any, batch: Any, momentum: float) -> None:
    """In place, as the caller keeps the running values."""
    if running is None:
        return
    moved = np.asarray(running) + momentum * (batch - np.asarray(running))
    if isinstance(running, Tensor):
        with no_grad():
            running.copy_(moved.astype(running.dtype))
    else:
        running[...] = moved
