"""Workload (e): one transformer block, layer norm before each half, causal attention, a relu in the middle of the second. Holds no engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.workloads.broadcast import layer_norm, layer_norm_back, layer_norm_by_hand, softmax, softmax_back, softmax_by_hand
from benchmarks.workloads.workload import Array, Language, Workload


def workload(*, batch: int, length: int, width: int, heads: int) -> Workload:
    """``x + attention(norm(x))``, then ``x + mlp(norm(x))``; mean squared error."""
    rng = np.random.default_rng(4)
    size = width // heads
    scale = float(1 / np.sqrt(size))

    def weight(n: int, m: int) -> Array:
        return np.asarray(rng.normal(size=(n, m)) / np.sqrt(n))

    def around(value: float) -> Array:
        return np.asarray(value + 0.1 * rng.normal(size=width))

    parameters = (
        *(rng.normal(size=(batch, length, width)), around(1), around(0)),
        *(weight(width, width) for _ in range(4)),
        *(around(1), around(0), weight(width, 4 * width), 0.1 * rng.normal(size=4 * width), weight(4 * width, width), around(0)),
    )
    target = rng.normal(size=(batch, length, width))
    mask = np.triu(np.full((length, length), -np.inf), 1)

    def block(language: Language, parameters: Sequence[Any], constants: Sequence[Any], norm: Callable[..., Any], soft: Callable[..., Any]) -> Any:
        np = language.np
        x, gain1, bias1, wq, wk, wv, wo, gain2, bias2, w1, b1, w2, b2 = parameters
        target, mask = constants
        n = norm(x, gain1, bias1)
        q = np.swapaxes((n @ wq).reshape((batch, length, heads, size)), 1, 2)
        k = np.swapaxes((n @ wk).reshape((batch, length, heads, size)), 1, 2)
        v = np.swapaxes((n @ wv).reshape((batch, length, heads, size)), 1, 2)
        weights = soft(q @ np.swapaxes(k, 2, 3) * scale + mask)
        mixed = np.swapaxes(weights @ v, 1, 2).reshape((batch, length, width))
        x = x + mixed @ wo
        x = x + language.relu(norm(x, gain2, bias2) @ w1 + b1) @ w2 + b2
        return np.mean((x - target) ** 2)

    def forward(language: Language, parameters: Sequence[Any], constants: Sequence[Any]) -> Any:
        return block(language, parameters, constants, lambda *xs: layer_norm(language, *xs), lambda x: softmax(language, x))

    def fused(language: Language, parameters: Sequence[Any], constants: Sequence[Any]) -> Any:
        return block(language, parameters, constants, language.layer_norm, language.softmax)

    def split(x: Array) -> Array:
        return x.reshape(batch, length, heads, size).swapaxes(1, 2)

    def joined(x: Array) -> Array:
        return x.swapaxes(1, 2).reshape(batch * length, width)

    def by_hand(parameters: Sequence[Array], constants: Sequence[npt.NDArray[Any]]) -> tuple[float, tuple[Array, ...]]:
        x, gain1, bias1, wq, wk, wv, wo, gain2, bias2, w1, b1, w2, b2 = parameters
        target, mask = constants
        # one row per position: every product with a weight is then one matrix product, forward and backward
        x = x.reshape(-1, width)
        n, kept1 = layer_norm_by_hand(x, gain1, bias1)
        q, k, v = split(n @ wq), split(n @ wk), split(n @ wv)
        s = softmax_by_hand(q @ k.swapaxes(2, 3) * scale + mask)
        mixed = joined(s @ v)
        y = x + mixed @ wo
        m, kept2 = layer_norm_by_hand(y, gain2, bias2)
        h = np.maximum(m @ w1 + b1, 0)
        error = y + h @ w2 + b2 - target.reshape(-1, width)

        g = 2 / error.size * error
        gh = (g @ w2.T) * (h > 0)
        gm, g_gain2, g_bias2 = layer_norm_back(gh @ w1.T, gain2, kept2)
        gy = g + gm
        g_mixed = split(gy @ wo.T)
        gs = softmax_back(g_mixed @ v.swapaxes(2, 3), s) * scale
        gq, gk, gv = joined(gs @ k), joined(gs.swapaxes(2, 3) @ q), joined(s.swapaxes(2, 3) @ g_mixed)
        gn, g_gain1, g_bias1 = layer_norm_back(gq @ wq.T + gk @ wk.T + gv @ wv.T, gain1, kept1)
        grads = (
            *((gy + gn).reshape(batch, length, width), g_gain1, g_bias1),
            *(n.T @ gq, n.T @ gk, n.T @ gv, mixed.T @ gy),
            *(g_gain2, g_bias2, m.T @ gh, gh.sum(axis=0), h.T @ g, g.sum(axis=0)),
        )
        return float((error * error).mean()), grads

    title = f"transformer block, B={batch}, T={length}, C={width}, {heads} heads"
    return Workload(title, parameters, (target, mask), forward, by_hand, fused)
