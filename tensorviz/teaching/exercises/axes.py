"""Exercises on ops that move and sum: the inverse of an order, permute, pad, a sum over axes. Imports the exercise and the engine."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorviz.teaching.exercise import Case, Exercise, Part
from tensorviz.teaching.exercises.answers import gradients, random


def _orders(rng: np.random.Generator) -> Iterator[Case]:
    given: list[tuple[str, tuple[int, ...]]] = [
        ("nothing moves", (0, 1, 2)),
        ("two axes exchanged", (1, 0)),
        ("three axes in a ring", (2, 0, 1)),
        ("no axes", ()),
        ("five axes", tuple(int(i) for i in rng.permutation(5))),
    ]
    for what, order in given:
        right = np.argsort(np.array(order, dtype=int))
        wrong = (("same-order", np.array(order, dtype=float)), ("reversed", np.array(order[::-1], dtype=float)))
        yield Case(f"{what}: order {list(order)}", (order,), (Part("the inverse order", right, wrong),))


def _permutes(rng: np.random.Generator) -> Iterator[Case]:
    n, m, k = (int(i) for i in rng.permutation([2, 3, 4, 5])[:3])
    given: list[tuple[str, tuple[int, ...], tuple[int, ...]]] = [
        ("a transpose", (n, m), (1, 0)),
        ("three axes in a ring", (n, m, k), (2, 0, 1)),
        ("the other way round", (n, m, k), (1, 2, 0)),
        ("a cube, where any order would fit", (n, n, n), (2, 0, 1)),
        ("nothing moves", (n, m), (0, 1)),
        ("no elements", (0, m), (1, 0)),
    ]
    for what, shape, order in given:
        x = random(rng, shape)
        g = random(rng, tuple(shape[i] for i in order))
        (right,) = gradients(lambda v, order=order: v.transpose(order), [x], g)
        wrong = [("not-moved", g), ("reversed", g.transpose())]
        if g.shape == shape or len(set(shape)) == len(shape):
            wrong.append(("same-order", g.transpose(order)))
        yield Case(f"{what}: x of shape {shape}, order {list(order)}", (g, order), (Part("the share of x", right, tuple(wrong)),))


def _pads(rng: np.random.Generator) -> Iterator[Case]:
    n, m = (int(i) for i in rng.permutation([2, 3, 4, 5])[:2])
    given: list[tuple[str, tuple[int, ...], tuple[int, ...]]] = [
        ("a vector", (3,), (2, 1)),
        ("nothing behind", (n,), (1, 0)),
        ("nothing at all", (n,), (0, 0)),
        ("a matrix", (n, m), (0, 1, 2, 0)),
        ("both sides of both axes", (n, m), (1, 2, 3, 1)),
        ("no elements", (0, m), (1, 1, 0, 0)),
    ]
    for what, shape, pads in given:
        pairs = list(zip(pads[::2], pads[1::2], strict=True))
        x = random(rng, shape)
        g = random(rng, tuple(s + left + right for s, (left, right) in zip(shape, pairs, strict=True)))
        (right,) = gradients(lambda v, pairs=pairs: np.pad(v, pairs), [x], g)
        block = tuple(slice(after, after + s) for s, (_, after) in zip(shape, pairs, strict=True))
        wrong = (
            ("not-moved", g),
            ("from-the-front", g[tuple(slice(0, s) for s in shape)]),
            ("left-and-right", g[block]),
            ("padded-again", np.pad(g, pairs)),
        )
        yield Case(f"{what}: x of shape {shape}, pads {list(pads)}", (g, pads), (Part("the share of x", right, wrong),))


def _sums(rng: np.random.Generator) -> Iterator[Case]:
    n, m, k = (int(i) for i in rng.permutation([2, 3, 4, 5])[:3])
    given: list[tuple[str, tuple[int, ...], tuple[int, ...]]] = [
        ("all of a vector", (n,), (0,)),
        ("rows", (n, m), (0,)),
        ("columns", (n, m), (1,)),
        ("a square, where any axis would fit", (n, n), (1,)),
        ("outer axes", (n, m, k), (0, 2)),
        ("an axis of size 1", (n, 1), (1,)),
        ("no elements", (0, m), (0,)),
    ]
    for what, shape, axes in given:
        x = random(rng, shape)
        g = random(rng, tuple(s for i, s in enumerate(shape) if i not in axes))
        (right,) = gradients(lambda v, axes=axes: v.sum(axis=axes), [x], g)
        count = int(np.prod([shape[i] for i in axes]))
        wrong = [("not-copied", g), ("without-g", np.ones(shape))]
        if count:
            wrong.append(("averaged", right / count))
        if len(axes) == 1 and len(shape) == 2 and g.shape[0] == shape[1]:
            wrong.append(("other-axis", np.broadcast_to(g, shape)))
        yield Case(f"{what}: x of shape {shape}, axes {axes}", (g, shape, axes), (Part("the share of x", right, tuple(wrong)),))


AXES = (
    Exercise(
        "inverse_order",
        "permute(x, order) makes axis order[k] of x axis k of the result. Write a function that returns the order that brings every axis back.",
        "inverse_order(order)",
        _orders,
    ),
    Exercise(
        "permute",
        "y = permute(x, order). Write its backward rule: g is the gradient of y; return the share of x.",
        "rule(g, order)",
        _permutes,
    ),
    Exercise(
        "pad",
        "y = pad(x, [l0, r0, l1, r1, ...]): so many zeros before and after x on each axis. Write its backward rule: g is the gradient of y; return the share of x.",
        "rule(g, pads)",
        _pads,
    ),
    Exercise(
        "sum",
        "y = x.sum(axis=axes), where axes is a tuple and x has the given shape. Write its backward rule: g is the gradient of y; return the share of x.",
        "rule(g, shape, axes)",
        _sums,
    ),
)
