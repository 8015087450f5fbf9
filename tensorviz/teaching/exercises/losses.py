"""An exercise on the loss of classifiers: softmax and cross-entropy in one. Imports the exercise and the engine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorviz.teaching.exercise import Case, Exercise, Part
from tensorviz.teaching.exercises.answers import gradients, random

IGNORED = -100
"""As in PyTorch."""


def _cases(rng: np.random.Generator) -> Iterator[Case]:
    from tensorviz.ops.loss import cross_entropy
    from tensorviz.ops.probability import softmax

    n, k = int(rng.integers(3, 6)), int(rng.integers(3, 5))
    logits = random(rng, (n, k))
    target = rng.integers(k, size=n)
    some = np.where(np.arange(n) % 2 == 0, target, IGNORED)
    given: list[tuple[str, Any, Any]] = [
        ("nothing ignored", logits, target),
        ("one row", logits[:1], target[:1]),
        ("some rows ignored", logits, some),
        ("large logits", logits * 1000.0, target),
        ("one class", logits[:, :1], np.zeros(n, dtype=int)),
    ]
    for what, x, t in given:

        def loss(v: Any, t: Any = t) -> Any:
            return cross_entropy(v, t, ignore_index=IGNORED)

        value = float(loss(x))
        (right,) = gradients(loss, [x], 1.0)
        counted = t != IGNORED
        many = max(int(counted.sum()), 1)
        p = softmax(x, axis=-1)
        onehot = np.where(counted[:, None], np.arange(x.shape[1]) == np.where(counted, t, 0)[:, None], 0.0)
        of_loss = [
            ("counted-ignored", np.array(value * many / len(t))),
            ("summed-not-mean", np.array(value * many)),
            ("sign", np.array(-value)),
            ("ignored-gradient", np.array(_with_ignored(x, t))),
        ]
        of_x = [
            ("counted-ignored", right * many / len(t)),
            ("summed-not-mean", right * many),
            *(("ignored-gradient", (p - (np.arange(x.shape[1]) == read[:, None])) / many) for read in (t, t % x.shape[1], np.where(counted, t, 0))),
            ("no-one-hot", np.where(counted[:, None], p / many, 0)),
            ("sign", -right),
        ]
        parts = [Part("the loss", value, tuple(of_loss)), Part("the gradient of the logits", right, tuple(of_x))]
        if what == "large logits":
            with np.errstate(all="ignore"):
                e = np.exp(x)
                plain = e / e.sum(axis=1, keepdims=True)
                naive = -np.log(plain[np.arange(len(t)), t]).mean()
            parts = [
                Part("the loss", value, (("overflow", naive),)),
                Part("the gradient of the logits", right, (("overflow", (plain - onehot) / many),)),
            ]
        yield Case(f"{what}: logits of shape {x.shape}", (x, t, IGNORED), tuple(parts))


def _with_ignored(x: Any, t: Any) -> float:
    """The mean over all rows, those that are ignored read at the class that a negative index happens to name."""
    from tensorviz.ops.probability import log_softmax

    return float(-np.mean(log_softmax(x, axis=-1)[np.arange(len(t)), t % x.shape[1]]))


LOSSES = (
    Exercise(
        "cross_entropy",
        "Write the mean cross-entropy of a softmax, and its gradient: logits of shape (rows, classes), target with one class per row. Rows whose target is "
        "ignore_index do not count: the mean is over the others. Return the loss and the gradient of the logits. Logits may be large.",
        "cross_entropy(logits, target, ignore_index)",
        _cases,
    ),
)
