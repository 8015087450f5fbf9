"""Scaled dot-product attention as one op. Imports the engine's op base only."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorviz.arguments import number
from tensorviz.engine.op import REGISTRY, Op
from tensorviz.errors import ShapeError
from tensorviz.ops.linalg import transposed
from tensorviz.ops.noise import check_probability, drawn_seed, kept
from tensorviz.ops.noise import scale as dropout_scale
from tensorviz.ops.operands import as_array
from tensorviz.ops.probability import softmax
from tensorviz.ops.rows import dotted
from tensorviz.ops.samples import Examples

__all__ = ["scaled_dot_product_attention"]


def _dropped(weights: Any, p: float, seed: int) -> Any:
    return np.where(kept(weights.shape, p, seed), weights * dropout_scale(p), 0) if p else weights


def _attend(query: Any, key: Any, value: Any, mask: Any = None, scale: float = 1.0, causal: bool = False, p: float = 0.0, seed: int = 0) -> Any:
    scores = np.matmul(query, transposed(key)) * scale
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype.kind == "b" else scores + mask
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:]) > 0, scores, -np.inf)
    weights = softmax(scores, -1)
    return np.matmul(_dropped(weights, p, seed), value), (weights,)


def _attention_rule(g: Any, need: Any, query: Any, key: Any, value: Any, weights: Any, scale: float, p: float, seed: int) -> Any:
    found: list[Any] = [None] * 4
    if need[2]:
        found[2] = np.matmul(transposed(_dropped(weights, p, seed)), g)
    if need[0] or need[1] or any(need[3:]):
        # back through the values, the dropout and the softmax, to the scores
        by_weight = _dropped(np.matmul(g, transposed(value)), p, seed)
        scores = weights * (by_weight - dotted(by_weight, weights, -1))
        found[3] = scores if any(need[3:]) else None
        found[0] = np.matmul(scores, key) * scale if need[0] else None
        found[1] = np.matmul(transposed(scores), query) * scale if need[1] else None
    return tuple(found)


class _Attention(Op):
    """``softmax(query @ key.T * scale + mask) @ value``."""

    name, label, word, broadcasts = "attention", "attention", "weights", True
    slots, extras = ("query", "key", "value", "mask"), ("weights",)
    forward = staticmethod(_attend)
    joint = staticmethod(_attention_rule)
    formulas = (
        *("softmax_rule(g @ value.T) @ key * scale", "softmax_rule(g @ value.T).T @ query * scale", "weights.T @ g", "softmax_rule(g @ value.T)"),
    )
    source = "Vaswani and others: Attention is all you need (2017), section 3.2.1"

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        def qkv(*lead: int) -> tuple[Any, ...]:
            return rng.normal(size=(*lead, 2, 2)), rng.normal(size=(*lead, 3, 2)), rng.normal(size=(*lead, 3, 2))

        mask = np.array([[True, False, True], [False, True, True]])
        return [
            (qkv(), {"scale": 0.7}),
            (qkv(2), {"scale": 0.7, "causal": True}),
            ((*qkv(), mask), {"scale": 0.7}),
            ((*qkv(2), rng.normal(size=(2, 3))), {"scale": 0.7}),
            (qkv(), {"p": 0.5, "seed": 3}),
            ((qkv(2)[0], qkv()[1], qkv()[2]), {}),
        ]


def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    seed: Any = None,
) -> Any:
    """``softmax(query @ key.T * scale) @ value`` (Vaswani and others, 2017).

    ``query`` has shape (..., queries, width), ``key`` (..., keys, width), ``value`` (..., keys, outputs); the leading axes broadcast.
    ``scale`` is 1 / sqrt(width) unless given. ``attn_mask`` broadcasts to (..., queries, keys): booleans say what may be attended to, floats are
    added to the scores; ``is_causal`` lets query i attend to keys 0 to i. A query that may attend to nothing gives NaN. ``dropout_p`` drops
    weights as :func:`dropout` does. Raises ValueError when the shapes do not fit.

    >>> scaled_dot_product_attention(np.zeros((1, 2)), np.ones((2, 2)), np.array([[1.0], [3.0]]))
    array([[2.]])
    """
    q, k, v = np.shape(query), np.shape(key), np.shape(value)
    if min(len(q), len(k), len(v)) < 2 or q[-1] != k[-1] or k[-2] != v[-2]:
        raise ShapeError(
            f"scaled_dot_product_attention: expected (..., queries, width), (..., keys, width) and (..., keys, outputs), got {q}, {k} and {v}; query and key share the width, key and value the number of keys"
        )
    operands: tuple[Any, ...] = (query, key, value)
    if attn_mask is not None:
        operands += (as_array(attn_mask),)
    p = check_probability("scaled_dot_product_attention", dropout_p)
    how = {
        "scale": 1 / math.sqrt(q[-1]) if scale is None else number("scaled_dot_product_attention", "scale", scale),
        "causal": bool(is_causal),
        "p": p,
        "seed": drawn_seed(seed) if p else 0,
    }
    return REGISTRY["attention"](*operands, **how)
