"""Workloads (a) and (b): multilayer perceptrons. Holds no engine."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.workloads.workload import Array, Language, Workload


def _layers(rng: np.random.Generator, sizes: Sequence[int]) -> tuple[Array, ...]:
    """He-scaled weights and small biases, in turn."""
    made: list[Array] = []
    for n, m in pairwise(sizes):
        made.append(rng.normal(size=(n, m)) * np.sqrt(2 / n))
        made.append(rng.normal(size=m) * 0.1)
    return tuple(made)


def _hidden(x: Array, parameters: Sequence[Array]) -> tuple[list[Array], Array]:
    """What each layer receives, and the last layer's result."""
    inputs = [x]
    for i in range(0, len(parameters) - 2, 2):
        inputs.append(np.maximum(inputs[-1] @ parameters[i] + parameters[i + 1], 0))
    return inputs, inputs[-1] @ parameters[-2] + parameters[-1]


def _back(g: Array, inputs: Sequence[Array], parameters: Sequence[Array]) -> tuple[Array, ...]:
    """The gradient of every weight and bias from that of the last layer's result."""
    grads: list[Array] = []
    for layer in range(len(inputs) - 1, -1, -1):
        grads += [g.sum(axis=0), inputs[layer].T @ g]
        if layer:
            g = (g @ parameters[2 * layer].T) * (inputs[layer] > 0)
    return tuple(reversed(grads))


def classifier(features: int, first: int, second: int, classes: int, *, batch: int) -> Workload:
    """Relu layers and the mean cross-entropy from primitive ops."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(batch, features))
    labels = rng.integers(classes, size=batch)
    rows = np.arange(batch)

    def forward(language: Language, parameters: Sequence[Any], constants: Sequence[Any]) -> Any:
        np, relu = language.np, language.relu
        w1, b1, w2, b2, w3, b3 = parameters
        x, rows, labels = constants
        h = relu(x @ w1 + b1)
        h = relu(h @ w2 + b2)
        z = h @ w3 + b3
        z = z - language.peak(z)
        return np.mean(np.log(np.sum(np.exp(z), axis=1)) - z[rows, labels])

    def by_hand(parameters: Sequence[Array], constants: Sequence[npt.NDArray[Any]]) -> tuple[float, tuple[Array, ...]]:
        x, rows, labels = constants
        inputs, z = _hidden(x, parameters)
        z = z - z.max(axis=1, keepdims=True)
        e = np.exp(z)
        total = e.sum(axis=1)
        loss = (np.log(total) - z[rows, labels]).mean()
        g = e / total[:, None]
        g[rows, labels] -= 1
        g /= len(rows)
        return float(loss), _back(g, inputs, parameters)

    title = f"MLP {features}-{first}-{second}-{classes}, batch {batch}, relu, mean cross-entropy from primitive ops"
    return Workload(title, _layers(rng, (features, first, second, classes)), (x, rows, labels), forward, by_hand)


def regressor(features: int, first: int, second: int, outputs: int, *, batch: int) -> Workload:
    """Relu layers and the squared error: so small that only an engine's own time counts."""
    rng = np.random.default_rng(1)
    x, target = rng.normal(size=(batch, features)), rng.normal(size=(batch, outputs))

    def forward(language: Language, parameters: Sequence[Any], constants: Sequence[Any]) -> Any:
        np, relu = language.np, language.relu
        w1, b1, w2, b2, w3, b3 = parameters
        x, target = constants
        h = relu(x @ w1 + b1)
        h = relu(h @ w2 + b2)
        return np.sum((h @ w3 + b3 - target) ** 2)

    def by_hand(parameters: Sequence[Array], constants: Sequence[npt.NDArray[Any]]) -> tuple[float, tuple[Array, ...]]:
        x, target = constants
        w1, b1, w2, b2, w3, b3 = parameters
        h1 = np.maximum(x @ w1 + b1, 0)
        h2 = np.maximum(h1 @ w2 + b2, 0)
        error = h2 @ w3 + b3 - target
        g3 = 2 * error
        g2 = (g3 @ w3.T) * (h2 > 0)
        g1 = (g2 @ w2.T) * (h1 > 0)
        return float((error**2).sum()), (x.T @ g1, g1.sum(axis=0), h1.T @ g2, g2.sum(axis=0), h2.T @ g3, g3.sum(axis=0))

    title = f"MLP {features}-{first}-{second}-{outputs}, batch {batch}, relu, squared error"
    return Workload(title, _layers(rng, (features, first, second, outputs)), (x, target), forward, by_hand)
