"""Exercises on what networks are made of: an affine layer, features on one scale. Imports the exercise and the engine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorviz.teaching.exercise import Case, Exercise, Part
from tensorviz.teaching.exercises.answers import gradients, random


def _affine(rng: np.random.Generator) -> Iterator[Case]:
    n, m, k = (int(i) for i in rng.permutation([2, 3, 4, 5])[:3])
    for what, rows, inner, columns in (
        ("a batch", n, m, k),
        ("one row", 1, m, k),
        ("square", m, m, m),
        ("one output", n, m, 1),
        ("no rows", 0, m, k),
    ):
        X, W, b, g = random(rng, (rows, inner)), random(rng, (inner, columns)), random(rng, (columns,)), random(rng, (rows, columns))
        dX, dW, db = gradients(lambda x, w, c: x @ w + c, [X, W, b], g)
        square = rows == inner == columns
        wrong_w: list[tuple[str, Any]] = [("transposed", dW.T), ("without-g", X.T @ np.ones(g.shape))]
        if rows:
            wrong_w.append(("averaged", dW / rows))
        if square:
            wrong_w.append(("transposed", X @ g))
        parts = (
            Part("the share of X", dX, (("transposed", g @ W),) if square else ()),
            Part("the share of W", dW, tuple(wrong_w)),
            Part("the share of b", db, (("not-summed", g), *((("averaged", db / rows),) if rows else ()), ("other-axis", g.sum(axis=1)))),
        )
        yield Case(f"{what}: X of shape {X.shape}, W of shape {W.shape}", (g, X, W), parts)


def _features(rng: np.random.Generator) -> Iterator[Case]:
    n, m = 6, int(rng.integers(2, 5))
    plain = random(rng, (n, m))
    given = [
        ("columns of very different size", plain * 10.0 ** np.arange(m)),
        ("columns far from 0", plain + 100.0 * np.arange(1, m + 1)),
        ("a column that never changes", np.concatenate([plain, np.full((n, 1), 3.0)], axis=1)),
        ("one row", plain[:1]),
    ]
    for what, X in given:
        mean, deviation = X.mean(axis=0), X.std(axis=0)
        right = (X - mean) / np.where(deviation == 0, 1.0, deviation)
        with np.errstate(all="ignore"):
            wrong = [
                ("not-finite", (X - mean) / deviation),
                ("not-centred", X / np.where(deviation == 0, 1.0, deviation)),
                ("not-scaled", X - mean),
                ("all-at-once", (X - X.mean()) / (X.std() or 1.0)),
                ("other-axis", (X - X.mean(axis=1, keepdims=True)) / np.where(X.std(axis=1, keepdims=True) == 0, 1.0, X.std(axis=1, keepdims=True))),
                ("variance", (X - mean) / np.where(deviation == 0, 1.0, deviation**2)),
            ]
        yield Case(f"{what}: X of shape {X.shape}", (X,), (Part("the features", right, tuple(wrong)),))


LAYERS = (
    Exercise(
        "affine",
        "Y = X @ W + b. Write its backward rule: g is the gradient of Y; return the shares of X, W and b as a tuple, each in the shape of its operand.",
        "rule(g, X, W)",
        _affine,
    ),
    Exercise(
        "standardize",
        "Write a function that brings every column of X to mean 0 and standard deviation 1 (NumPy's std). A column that never changes becomes 0.",
        "standardize(X)",
        _features,
    ),
)
