"""House rule 1: the gradient of a broadcast operand is summed over exactly the axes that it grew."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tensorviz as tv
from strategies import broadcastable
from tensorviz.engine.unbroadcast import can_grow, grown_axes, unbroadcast


def grown(result: tuple[int, ...], operand: tuple[int, ...]) -> tuple[int, ...]:
    """The rule in its own words: every prepended axis, and those where the operand has size 1 and the result does not."""
    aligned = (1,) * (len(result) - len(operand)) + operand
    return tuple(i for i in range(len(result)) if i < len(result) - len(operand) or (aligned[i] == 1 and result[i] != 1))


@settings(deadline=None, max_examples=200)
@given(st.data())
def test_the_axes_summed_are_those_that_grew_and_the_sum_is_right(data):
    shape_a, shape_b = data.draw(broadcastable())
    rng = np.random.default_rng(0)
    a = tv.tensor(rng.standard_normal(shape_a), requires_grad=True)
    b = tv.tensor(rng.standard_normal(shape_b), requires_grad=True)
    y = a * b
    g = rng.standard_normal(y.shape)
    trace = y.backward(g)
    for t, local in ((a, g * b.numpy()), (b, g * a.numpy())):
        share = trace.node(t).shares[0]
        assert share.summed_axes == grown(y.shape, t.shape)
        assert share.local.shape == y.shape
        expected = np.zeros(t.shape)
        # the definition: every element of the result adds to the element of the operand that it was made from
        np.add.at(expected, where_from(t.shape, y.shape), local if t.shape else local.sum())
        np.testing.assert_allclose(share.value, expected, atol=1e-12)
        np.testing.assert_array_equal(t.grad, share.value)


def where_from(shape, result):
    index = np.indices(result)[len(result) - len(shape) :]
    return tuple(np.zeros_like(i) if n == 1 else i for i, n in zip(index, shape, strict=True)) if shape else ()


def test_the_example_of_two_operands_that_both_grow():
    a = tv.tensor(np.ones((5, 1, 4, 1)), requires_grad=True)
    b = tv.tensor(np.ones((3, 1, 1)), requires_grad=True)
    trace = (a + b).backward(np.ones((5, 3, 4, 1)))
    assert trace.node(a).shares[0].summed_axes == (1,)
    assert trace.node(b).shares[0].summed_axes == (0, 2)
    assert a.grad.shape == (5, 1, 4, 1)
    assert b.grad.tolist() == [[[20.0]], [[20.0]], [[20.0]]]


def test_an_unbroadcast_is_a_step_of_its_own_and_only_where_axes_are_summed():
    a, b = tv.tensor(np.ones((2, 3)), requires_grad=True), tv.tensor(np.ones(3), requires_grad=True)
    trace = (a + b).backward(np.ones((2, 3)))
    kinds = [(s.kind, s.node) for s in trace.steps]
    assert kinds == [("seed", 2), ("pull", 2), ("accumulate", 0), ("unbroadcast", 1), ("accumulate", 1), ("leaf", 0), ("leaf", 1)]


@pytest.mark.parametrize(
    ("result", "operand", "axes"),
    [((4, 0), (4, 1), (1,)), ((0, 3), (3,), (0,)), ((2, 3), (), (0, 1)), ((1, 3), (3,), (0,)), ((1, 1), (1, 1), ()), ((), (), ())],
)
def test_empty_axes_and_kept_axes_of_size_one(result, operand, axes):
    assert grown_axes(result, operand) == axes
    summed = unbroadcast(np.ones(result), operand)
    assert summed.shape == operand


def test_what_can_grow_and_what_cannot():
    assert can_grow((3, 1), (2, 3, 4))
    assert not can_grow((2, 3), (3,))
    assert not can_grow((2,), (3,))
