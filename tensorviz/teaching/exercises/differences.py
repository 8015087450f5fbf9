"""Exercises on derivatives as numbers: central differences, relative errors, derivatives along a direction. Imports the exercise and the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tensorviz.engine.functional import jvp
from tensorviz.teaching.exercise import Case, Exercise, Part
from tensorviz.teaching.exercises.answers import random

STEP = 0.25
"""Wide on purpose: differences of one side, of two sides and the derivative itself are then three different numbers."""


def _moved(f: Callable[[Any], Any], x: Any, h: float, *, ahead: float, behind: float, over: float) -> Any:
    found = np.zeros(x.shape)
    for index in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[index] += ahead * h
        down[index] -= behind * h
        found[index] = (f(up) - f(down)) / (over * h)
    return found


def _functions(rng: np.random.Generator) -> Iterator[Case]:
    given: list[tuple[str, Callable[[Any], Any], tuple[int, ...]]] = [
        ("the sum of cubes of a vector", lambda x: float((x**3).sum()), (3,)),
        ("a function of a matrix", lambda x: float((x[0] ** 3 * x[-1]).sum() + np.exp(x).sum()), (2, 3)),
        ("the product of all", lambda x: float(np.exp(x.sum())), (4,)),
        ("a function of one number", lambda x: float(np.exp(x)), ()),
    ]
    for what, f, shape in given:
        x = np.array(random(rng, shape))
        right = _moved(f, x, STEP, ahead=1, behind=1, over=2)
        wrong = (
            ("one-sided", _moved(f, x, STEP, ahead=1, behind=0, over=1)),
            ("one-sided", _moved(f, x, STEP, ahead=0, behind=1, over=1)),
            ("two-h", 2 * right),
            ("sign", -right),
            ("not-put-back", _drifted(f, x)),
        )
        yield Case(f"{what}: x of shape {shape}", (f, x, STEP), (Part("the gradient", right, wrong),))


def _drifted(f: Callable[[Any], Any], x: Any) -> Any:
    """What comes out where x is moved and not moved back."""
    x, found = x.copy(), np.zeros(x.shape)
    for index in np.ndindex(x.shape):
        x[index] += STEP
        up = f(x)
        x[index] -= 2 * STEP
        found[index] = (up - f(x)) / (2 * STEP)
    return found


def _errors(rng: np.random.Generator) -> Iterator[Case]:
    a = float(rng.uniform(1.0, 2.0))
    given = [
        ("nearly equal", a, a * (1 + 1e-3)),
        ("both are 0", 0.0, 0.0),
        ("one is 0", 0.0, a),
        ("different signs", -a, a),
        ("large numbers", 1e8 * a, 1.5e8 * a),
        ("small numbers", 1e-8 * a, 3e-8 * a),
        ("negative", -a, -2 * a),
        ("a is the larger", 2 * a, a),
        ("n is 0", a, 0.0),
    ]
    for what, analytic, numeric in given:
        top = max(abs(analytic), abs(numeric))
        right = abs(analytic - numeric) / top if top else 0.0
        wrong = [("absolute", np.array(abs(analytic - numeric)))]
        if top:
            wrong += [("signed", np.array((analytic - numeric) / top)), ("signed", np.array((numeric - analytic) / top))]
        if analytic:
            wrong += [
                ("one-denominator", np.array(abs(analytic - numeric) / abs(analytic))),
                ("one-denominator", np.array(abs(analytic - numeric) / analytic)),
            ]
        wrong += [("one-denominator", np.array(abs(analytic - numeric) / abs(numeric)))] if numeric else []
        if top:
            wrong.append(("sum-below", np.array(abs(analytic - numeric) / (abs(analytic) + abs(numeric)))))
        yield Case(what, (analytic, numeric), (Part("the relative error", np.array(right), tuple(wrong)),))


def _directions(rng: np.random.Generator) -> Iterator[Case]:
    n, m, k = (int(i) for i in rng.permutation([2, 3, 4, 5])[:3])
    for what, rows, inner, columns in (("matrices", n, m, k), ("square matrices", m, m, m), ("a row and a column", 1, m, 1), ("no rows", 0, m, k)):
        A, dA = random(rng, (rows, inner)), random(rng, (rows, inner))
        B, dB = random(rng, (inner, columns)), random(rng, (inner, columns))
        _, right = jvp(lambda a, b: a @ b, (A, B), (dA, dB))
        wrong = (("one-term", dA @ B), ("one-term", A @ dB), ("product-of-directions", dA @ dB), ("second-order", right + dA @ dB))
        yield Case(f"{what}: A of shape {A.shape}, B of shape {B.shape}", (A, B, dA, dB), (Part("the change of A @ B", right, wrong),))


DIFFERENCES = (
    Exercise(
        "numeric_gradient",
        "f takes an array and returns a number. Write a function that returns the gradient of f at x by central differences of step h: "
        "one element at a time, (f(x + h) - f(x - h)) / 2h. Return an array of x's shape.",
        "numeric_gradient(f, x, h)",
        _functions,
    ),
    Exercise(
        "relative_error",
        "Write a function that says how far a derivative is from a difference: |a - n| over the larger of |a| and |n|, and 0 where both are 0.",
        "relative_error(a, n)",
        _errors,
    ),
    Exercise(
        "matmul_direction",
        "Write the derivative of f(A, B) = A @ B along a direction: how f changes, to first order, when A moves by dA and B by dB.",
        "direction(A, B, dA, dB)",
        _directions,
    ),
)
