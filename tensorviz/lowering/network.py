"""Lowerings of losses, normalizations and attention, put together from lowered reductions and products. Imports primitives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorviz import primitives as p
from tensorviz.lowering.contraction import matmul
from tensorviz.lowering.elementwise import dropped
from tensorviz.lowering.pieces import average, constant, expanded, is_number, permuted, reshaped, tensor, together, total
from tensorviz.lowering.reduction import deviations, function, log_softmax, softmax
from tensorviz.lowering.rules import lowering

# ---- losses -----------------------------------------------------------------------------------------------------


def _reduced(rows: Any, reduction: str, n: int | None = None) -> Any:
    if reduction == "none":
        return rows
    summed = total(rows, None)
    if reduction == "sum":
        return summed
    n = math.prod(rows.shape) if n is None else n
    return p.div(summed, float(n)) if n else p.mul(summed, float("nan"))


def _at_class(scores: Any, target: Any, axis: int) -> Any:
    """Every row's score at its class: the others set to 0, then the sum over the classes."""
    labels = expanded(reshaped(target, (*target.shape[:axis], 1, *target.shape[axis:])), scores.shape)
    classes = constant(np.arange(scores.shape[axis]).reshape([-1 if i == axis else 1 for i in range(scores.ndim)]))
    return total(p.where(p.compare(expanded(classes, scores.shape), labels), scores, 0), axis)


def _targets(scores: Any, target: Any, ignore_index: int) -> tuple[Any, Any, int, int]:
    """The target as a Tensor, which rows count (None: all), how many do, and the axis of the classes."""
    target = tensor(target)
    values = np.asarray(target)
    counted = None if (values != ignore_index).all() else p.compare(target, ignore_index, "!=")
    return target, counted, int(np.count_nonzero(values != ignore_index)), 0 if scores.ndim == 1 else 1


@lowering("cross_entropy")
def _cross_entropy(logits: Any, target: Any, reduction: str = "mean", ignore_index: int = -100, label_smoothing: float = 0.0) -> Any:
    target, counted, n, axis = _targets(logits, target, ignore_index)
    if counted is not None:  # what is ignored may hold anything, also -inf
        rows = reshaped(counted, (*counted.shape[:axis], 1, *counted.shape[axis:]))
        logits = p.where(expanded(rows, logits.shape), logits, 0)
        target = p.where(counted, target, 0)
    scores = log_softmax(logits, axis)
    losses = p.neg(_at_class(scores, target, axis))
    if label_smoothing:
        losses = p.add(p.mul(losses, 1 - label_smoothing), p.mul(p.neg(average(scores, axis)), label_smoothing))
    return _reduced(losses if counted is None else p.where(counted, losses, 0), reduction, n)


@lowering("soft_cross_entropy")
def _soft_cross_entropy(logits: Any, target: Any, reduction: str = "mean", label_smoothing: float = 0.0) -> Any:
    axis = 0 if logits.ndim == 1 else 1
    if label_smoothing:
        target = p.add(p.mul(target, 1 - label_smoothing), label_smoothing / logits.shape[axis])
    return _reduced(p.neg(total(p.mul(*together(tensor(target), log_softmax(logits, axis))), axis)), reduction)


@lowering("nll_loss")
def _nll_loss(scores: Any, target: Any, reduction: str = "mean", ignore_index: int = -100) -> Any:
    target, counted, n, axis = _targets(scores, target, ignore_index)
    losses = p.neg(_at_class(scores, target, axis))
    return _reduced(losses if counted is None else p.where(counted, losses, 0), reduction, n)


@lowering("mse_loss")
def _mse_loss(a: Any, b: Any, reduction: str = "mean") -> Any:
    d = p.sub(a, b)
    return _reduced(p.mul(d, d), reduction)


@lowering("bce_with_logits")
def _bce_with_logits(a: Any, target: Any, reduction: str = "mean") -> Any:
    return _reduced(p.sub(function("softplus", a), p.mul(a, target)), reduction)


# ---- normalizations ---------------------------------------------------------------------------------------------


def _standardized(x: Any, axes: tuple[int, ...], eps: float) -> Any:
    """``x`` with mean 0 and variance 1 along the axes."""
    d = deviations(x, axes)
    spread = function("sqrt", p.add(average(p.mul(d, d), axes, True), eps))
    return p.div(d, expanded(spread, x.shape))


@lowering("layer_norm")
def _layer_norm(x: Any, weight: Any = 1.0, bias: Any = None, count: int = 1, eps: float = 1e-5) -> Any:
    y = _standardized(x, tuple(range(x.ndim - count, x.ndim)), eps) if math.prod(x.shape) else x
    if not (is_number(weight) and weight == 1.0):
        y = p.mul(y, expanded(weight, y.shape))
    return y if bias is None else p.add(y, expanded(bias, y.shape))


def _by_channel(v: Any, shape: tuple[int, ...]) -> Any:
    return v if is_number(v) else expanded(reshaped(v, (v.shape[0], *(1,) * (len(shape) - 2))), shape)


def _scaled(y: Any, weight: Any, bias: Any) -> Any:
    y = y if weight is None else p.mul(y, _by_channel(weight, y.shape))
    return y if bias is None else p.add(y, _by_channel(bias, y.shape))


@lowering("batch_norm")
def _batch_norm(x: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    return _scaled(_standardized(x, (0, *range(2, x.ndim)), eps), weight, bias)


@lowering("batch_norm_fixed")
def _batch_norm_fixed(x: Any, mean: Any, var: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    spread = function("sqrt", p.add(var, eps))
    return _scaled(p.div(p.sub(x, _by_channel(mean, x.shape)), _by_channel(spread, x.shape)), weight, bias)


# ---- attention --------------------------------------------------------------------------------------------------


@lowering("attention")
def _attention(query: Any, key: Any, value: Any, mask: Any = None, scale: float = 1.0, causal: bool = False, p: float = 0.0, seed: int = 0) -> Any:
    return _attend(query, key, value, mask, scale, causal, p, seed)


def _attend(query: Any, key: Any, value: Any, mask: Any, scale: float, causal: bool, drop: float, seed: int) -> Any:
    turned = permuted(key, [*range(key.ndim - 2), key.ndim - 1, key.ndim - 2])
    scores = p.mul(matmul(query, turned), scale)
    if mask is not None:
        scores, mask = together(scores, tensor(mask))
        scores = p.where(mask, scores, -np.inf) if mask.dtype.kind == "b" else p.add(scores, mask)
    if causal:
        seen = constant(np.tri(*scores.shape[-2:], dtype=bool))
        scores = p.where(expanded(seen, scores.shape), scores, -np.inf)
    weights = softmax(scores, -1)
    return matmul(dropped(weights, drop, seed) if drop else weights, value)
