"""Exercises on broadcasting: which axes are summed, and the sum itself. Imports the exercise and the engine's unbroadcast."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorviz.axes import sum_axes
from tensorviz.engine.unbroadcast import unbroadcast
from tensorviz.teaching.exercise import Case, Exercise, Part
from tensorviz.teaching.exercises.answers import random

Shapes = tuple[tuple[int, ...], tuple[int, ...]]


def _pairs(rng: np.random.Generator) -> list[tuple[str, Shapes]]:
    """Shapes of a result and of an operand that was broadcast to it, hard ones last."""
    n, m, k = (int(i) for i in rng.permutation([2, 3, 4, 5])[:3])
    return [
        ("the same shape", ((n, m), (n, m))),
        ("a row", ((n, m), (m,))),
        ("a column", ((n, m), (n, 1))),
        ("a scalar", ((n, m), ())),
        ("size 1 on both sides", ((n, 1, m), (1, m))),
        ("axes in front and inside", ((n, m, k, 1), (m, 1, 1))),
        ("an axis inside", ((n, m, k, 1), (n, 1, k, 1))),
        ("everything of size 1", ((n, m), (1, 1))),
        ("a square, where any axis would fit", ((n, n), (n,))),
        ("no elements", ((0, m), (m,))),
        ("0-d from 0-d", ((), ())),
    ]


def _axes_cases(rng: np.random.Generator) -> Iterator[Case]:
    for what, (result, operand) in _pairs(rng):
        right = sum_axes(result, operand)
        front = len(result) - len(operand)
        ones = tuple(front + k for k, s in enumerate(operand) if s == 1)
        wrong = (
            ("missing-axis", tuple(range(front))),
            ("missing-axis", tuple(a for a in right if a >= front)),
            ("axis-numbers", tuple(sorted({*range(front), *(a - front for a in right if a >= front)}))),
            ("axis-numbers", tuple(a - front for a in right if a >= front)),
            ("kept-axes", tuple(front + k for k, s in enumerate(operand) if s > 1)),
            ("extra-axis", tuple(sorted({*range(front), *ones}))),
            ("extra-axis", ones),
        )
        yield Case(f"{what}: {result} for an operand of shape {operand}", (result, operand), (Part("the axes", right, wrong),))


def _sum_cases(rng: np.random.Generator) -> Iterator[Case]:
    for what, (result, operand) in _pairs(rng):
        g = random(rng, result)
        right = unbroadcast(g, operand)
        axes = sum_axes(result, operand)
        wrong: list[tuple[str, Any]] = [("not-summed", g)]
        if axes and g.size:
            wrong += [
                ("averaged", right / (g.size / right.size)),
                ("kept-dims", np.add.reduce(g, axis=axes, keepdims=True)),
                ("missing-axis", np.add.reduce(g, axis=axes[:-1])),
            ]
            others = tuple(a for a in range(len(result)) if a not in axes)
            if len(others) == len(operand) == 1:
                wrong.append(("kept-axes", np.add.reduce(g, axis=others[0])))
        yield Case(f"{what}: {result} to {operand}", (g, operand), (Part("the share", right, tuple(wrong)),))


SHAPES = (
    Exercise(
        "summed_axes",
        "An operand of shape to_shape was broadcast to from_shape in forward. Write a function that returns the axes of from_shape over which "
        "its gradient is summed in backward, as a tuple.",
        "summed_axes(from_shape, to_shape)",
        _axes_cases,
        axes=True,
    ),
    Exercise(
        "unbroadcast",
        "An operand of the given shape was broadcast to the shape of g in forward. Write a function that returns its share: g summed over the axes "
        "that the operand grew, in the operand's shape.",
        "unbroadcast(g, shape)",
        _sum_cases,
    ),
)
