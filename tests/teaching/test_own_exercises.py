"""Exercises on functions of the teacher's own."""

from __future__ import annotations

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.errors import OptionError, TensorvizError


def layer(x, w, b):
    return np.tanh(x @ w + b)


def right(g, x, w, b):
    s = g * (1 - np.tanh(x @ w + b) ** 2)
    return s @ w.T, x.T @ s, s.sum(axis=0)


SHAPES = [(4, 3), (3, 2), (2,)]


def test_a_right_rule_passes_and_a_wrong_one_is_told_where_and_why():
    exercise = tv.exercise(layer, shapes=SHAPES)
    assert exercise.signature == "rule(g, x, w, b)" and exercise.task.startswith("y = layer(x, w, b).")
    assert all(exercise.check(right, seed=seed).ok for seed in range(3))
    said = exercise.check(lambda g, x, w, b: (*right(g, x, w, b)[:2], g))
    assert not said.ok and said.mistake == "not-summed" and "the share of b should have shape (2,), got (4, 2)" in str(said)
    assert exercise.check(lambda g, x, w, b: right(np.ones_like(g), x, w, b)).mistake == "without-g"


def test_several_cases_and_own_words():
    exercise = tv.exercise(lambda x, w: (x * w).sum(), shapes=[[(3,), (3,)], [(2, 3), (3,)]], task="Differentiate.")
    assert exercise.task == "Differentiate." and "rule(g, x, w)" in str(exercise)
    assert not exercise.check(lambda g, x, w: (g * w, g * x)).ok, "in the second case w is broadcast"
    assert exercise.check(lambda g, x, w: (np.broadcast_to(g * w, x.shape), (g * x).reshape(-1, 3).sum(axis=0))).ok


def test_a_function_of_one_operand_and_one_that_needs_positive_numbers():
    exercise = tv.exercise(lambda x: np.log(x), shapes=[(2, 3)])
    assert exercise.check(lambda g, x: g / x).ok and exercise.check(lambda g, x: 1 / x).mistake == "without-g"


@pytest.mark.parametrize(
    ("function", "options", "said"),
    [
        (layer, {}, "a function needs the shapes of its operands: shapes="),
        (layer, {"shapes": [(4, 3)]}, "one for each of x, w, b"),
        (lambda x: float(x.sum()), {"shapes": [(3,)]}, "of which there is no gradient"),
        (lambda x: np.log(-x) + np.log(x), {"shapes": [(3,)]}, "has NaN or infinities"),
        (lambda *x: x[0], {"shapes": [(3,)]}, "must take its operands by position"),
        ("matmul", {"shapes": [(3,)]}, "go with a function of your own"),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_cannot_be_asked_is_said_to_the_teacher(function, options, said):
    with pytest.raises(TensorvizError, match=said):
        tv.exercise(function, **options)


def test_shapes_that_do_not_fit_the_function_are_its_own_error():
    with pytest.raises(ValueError, match="matmul"):
        tv.exercise(lambda x, w: x @ w, shapes=[(2, 3), (2, 3)])
    with pytest.raises(OptionError, match="must be a whole number"):
        tv.exercise(lambda x: x * 2, shapes=[(2.5,)])
