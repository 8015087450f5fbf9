"""Clipping of gradients by their common norm."""

from __future__ import annotations

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.optim import clip_grad_norm


def leaf(grad, dtype=float) -> tv.Tensor:
    w = tv.tensor(np.zeros(np.shape(grad)), dtype=dtype, requires_grad=True)
    w.grad = np.asarray(grad, dtype)
    return w


def test_a_long_gradient_is_shortened_and_its_norm_given_back():
    a, b = leaf([3.0, 0.0]), leaf(4.0)
    assert clip_grad_norm([a, b], 2.5) == 5
    assert (a.grad.tolist(), b.grad.tolist()) == ([1.5, 0], 2)


def test_a_short_gradient_is_left_as_it_is():
    a = leaf([3.0, 4.0])
    assert clip_grad_norm(iter([a]), 5.0) == 5
    assert a.grad.tolist() == [3, 4]


def test_other_norms_can_be_asked_for():
    a, b = leaf([3.0, -4.0]), leaf([8.0])
    assert clip_grad_norm([a, b], 4.0, np.inf) == 8
    assert (a.grad.tolist(), b.grad.tolist()) == ([1.5, -2], [4])
    assert clip_grad_norm([a, b], 7.5, 1) == 7.5


def test_parameters_without_a_gradient_do_not_count():
    a, none = leaf([3.0, 4.0]), tv.tensor([1.0], requires_grad=True)
    assert clip_grad_norm([none, a], 1.0) == 5
    assert none.grad is None
    assert clip_grad_norm([none], 1.0) == 0
    assert clip_grad_norm(a, 0.0) == pytest.approx(1)
    assert a.grad.tolist() == [0, 0]


def test_float32_gradients_do_not_overflow_on_the_way():
    a = leaf([3e30, 4e30], np.float32)
    assert clip_grad_norm([a], 5.0) == pytest.approx(5e30)
    assert a.grad.dtype == np.float32
    assert a.grad.tolist() == pytest.approx([3, 4])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_norm_that_is_no_number_is_given_back_and_the_gradients_left_to_be_looked_at(bad):
    a = leaf([1.0, bad])
    assert not np.isfinite(clip_grad_norm([a], 0.5))
    np.testing.assert_equal(a.grad, [1, bad])


def test_a_negative_bound_is_refused():
    for bad in (-1.0, np.nan):
        with pytest.raises(ValueError, match="clip_grad_norm: max_norm must be a number of at least 0, got"):
            clip_grad_norm([leaf([1.0])], bad)
