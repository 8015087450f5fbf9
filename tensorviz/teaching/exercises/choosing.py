"""Exercises on ops that choose or squash: relu, max, sigmoid, softmax. Imports the exercise and the engine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorviz.teaching.exercise import Case, Exercise, Part
from tensorviz.teaching.exercises.answers import gradients, random


def _shapes(rng: np.random.Generator) -> list[tuple[str, tuple[int, ...]]]:
    n, m = (int(i) for i in rng.permutation([2, 3, 4, 5])[:2])
    return [("a vector", (n,)), ("a matrix", (n, m)), ("size 1", (1, 1)), ("0-d", ()), ("no elements", (0, m))]


def _relu(rng: np.random.Generator) -> Iterator[Case]:
    from tensorviz.ops.activation import relu

    given = [(what, random(rng, shape)) for what, shape in _shapes(rng)]
    given += [("zeros", np.array([0.0, -1.0, 2.0, 0.0])), ("all negative", -np.abs(random(rng, (3,)))), ("large values", np.array([1e3, -1e3]))]
    for what, x in given:
        g = random(rng, x.shape)
        (right,) = gradients(relu, [x], g)
        wrong = (
            ("passed-on", g),
            ("at-the-kink", np.where(x >= 0, g, 0)),
            ("at-the-kink", np.where(x == 0, g / 2, right)),
            ("without-g", np.where(x > 0, 1.0, 0.0)),
            ("own-operand", np.maximum(x, 0)),
            ("own-operand", g * np.maximum(x, 0)),
            ("by-mask", np.where(g > 0, g, 0)),
            ("by-mask", np.where(x < 0, g, 0)),
        )
        yield Case(f"{what}: x of shape {x.shape}", (g, x), (Part("the share of x", right, wrong),))


def _max(rng: np.random.Generator) -> Iterator[Case]:
    n, m = (int(i) for i in rng.permutation([2, 3, 4, 5])[:2])
    distinct = [rng.permutation(int(np.prod(s))).reshape(s).astype(float) - 2.0 for s in ((n,), (n, m), (2, n, m))]
    given: list[tuple[str, Any]] = [*zip(("a vector", "a matrix", "three axes"), distinct, strict=True)]
    given += [
        ("a tie", np.array([1.0, 5.0, 5.0, 2.0])),
        ("ties in some rows", np.array([[3.0, 1.0, 3.0], [0.0, 4.0, 2.0], [7.0, 7.0, 7.0]])),
        ("size 1", np.array([[2.0]])),
        ("all negative", -np.abs(random(rng, (2, 4)))),
        ("no rows", np.zeros((0, 3))),
    ]
    for what, x in given:
        g = random(rng, x.shape[:-1])
        (right,) = gradients(lambda v: v.max(axis=-1), [x], g)
        top = x == x.max(axis=-1, keepdims=True)
        wide = np.broadcast_to(g[..., None], x.shape)
        first = np.arange(x.shape[-1]) == np.argmax(x, axis=-1)[..., None]
        wrong = (
            ("first-of-tie", np.where(first, wide, 0)),
            ("first-of-tie", np.where(top & (np.cumsum(top[..., ::-1], axis=-1)[..., ::-1] == 1), wide, 0)),
            ("all-of-tie", np.where(top, wide, 0)),
            ("position", np.where(top, x, 0)),
            ("without-g", np.where(top, 1.0, 0.0)),
            ("without-g", np.where(first, 1.0, 0.0)),
            ("passed-on", wide),
            ("smallest", np.where(x == x.min(axis=-1, keepdims=True), wide, 0)),
            ("averaged", wide / x.shape[-1]),
        )
        yield Case(f"{what}: x of shape {x.shape}", (g, x), (Part("the share of x", right, wrong),))


def _sigmoid(rng: np.random.Generator) -> Iterator[Case]:
    from tensorviz.ops.activation import sigmoid

    given = [(what, random(rng, shape)) for what, shape in _shapes(rng)]
    given += [("zero", np.zeros(2)), ("large values", np.array([800.0, -800.0]))]
    for what, x in given:
        g = random(rng, x.shape)
        (right,) = gradients(sigmoid, [x], g)
        with np.errstate(over="ignore"):
            s = 1 / (1 + np.exp(-x))
        wrong = (
            ("passed-on", g),
            ("without-g", s * (1 - s)),
            ("own-operand", g * x * (1 - x)),
            ("own-operand", g * s),
            ("own-operand", g * (1 - s**2)),
        )
        yield Case(f"{what}: x of shape {x.shape}", (g, x), (Part("the share of x", right, wrong),))


def _softmax(rng: np.random.Generator) -> Iterator[Case]:
    from tensorviz.ops.probability import softmax

    n, m = (int(i) for i in rng.permutation([2, 3, 4, 5])[:2])
    given = [
        ("a vector", (n,)),
        ("a matrix", (n, m)),
        ("a square matrix", (m, m)),
        ("one class", (n, 1)),
        ("three axes", (2, n, m)),
        ("no rows", (0, m)),
    ]
    for what, shape in given:
        x, g = random(rng, shape), random(rng, shape)
        (right,) = gradients(lambda v: softmax(v, axis=-1), [x], g)
        p = softmax(x, axis=-1)
        wrong = [
            ("diagonal", g * p * (1 - p)),
            ("passed-on", g),
            ("passed-on", g * p),
            ("without-g", p * (1 - p)),
            ("averaged", p * (g - np.sum(g * p, axis=-1, keepdims=True) / shape[-1])),
            ("diagonal", p * (g - np.sum(g, axis=-1, keepdims=True))),
            ("diagonal", p * (g - np.sum(g * p))),
        ]
        if len(shape) > 1:
            wrong.append(("axis-numbers", p * (g - np.sum(g * p, axis=0, keepdims=True))))
        yield Case(f"{what}: p of shape {shape}", (g, p), (Part("the share of x", right, tuple(wrong)),))


CHOOSING = (
    Exercise(
        "relu",
        "y = max(x, 0), element by element. Write its backward rule: g is the gradient of y; return the share of x. At 0 it is 0.",
        "rule(g, x)",
        _relu,
    ),
    Exercise(
        "max",
        "y = x.max(axis=-1). Write its backward rule: g is the gradient of y, of shape x.shape[:-1]; return the share of x. "
        "Where several elements tie, each of them gets an even part.",
        "rule(g, x)",
        _max,
    ),
    Exercise(
        "sigmoid",
        "y = 1 / (1 + exp(-x)), element by element. Write its backward rule: g is the gradient of y; return the share of x.",
        "rule(g, x)",
        _sigmoid,
    ),
    Exercise(
        "softmax",
        "p = softmax(x) over the last axis. Write its backward rule: g is the gradient of p, and forward saved p; return the share of x.",
        "rule(g, p)",
        _softmax,
    ),
)
