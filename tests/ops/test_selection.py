"""Ops that select: ties, bounds, NaN and routes, with values worked out by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.errors import ShapeError

INF, NAN = math.inf, math.nan


def leaf(data: Any, dtype: Any = None) -> tv.Tensor:
    return tv.tensor(data, dtype=dtype, requires_grad=True)


def two(f: Any, a: Any, b: Any, seed: Any = None) -> tuple[list[Any], list[Any]]:
    x, y = leaf(a), leaf(b)
    z = f(x, y)
    z.backward(np.ones(z.shape) if seed is None else seed)
    return x.grad.tolist(), y.grad.tolist()


def routes(trace: Any, name: str) -> list[Any]:
    return [None if s.route is None else s.route.tolist() for s in trace.node(name).shares]


# ---- maximum, minimum ---------------------------------------------------------------------------------------------


def test_maximum_gives_a_tie_half_each():
    assert two(np.maximum, [1.0, 2.0, 5.0], [1.0, 3.0, 4.0]) == ([0.5, 0.0, 1.0], [0.5, 1.0, 0.0])


def test_minimum_is_the_mirror_image():
    assert two(np.minimum, [1.0, 2.0, 5.0], [1.0, 3.0, 4.0]) == ([0.5, 1.0, 0.0], [0.5, 0.0, 1.0])


@pytest.mark.parametrize("f", [np.maximum, np.minimum])
def test_a_nan_is_chosen_before_any_number(f: Any):
    assert two(f, [NAN, 1.0, NAN], [1.0, NAN, NAN]) == ([1.0, 0.0, 0.5], [0.0, 1.0, 0.5])


@pytest.mark.parametrize("bad", [NAN, INF])
def test_what_was_not_chosen_gets_zero_whatever_comes_in(bad: float):
    assert two(np.maximum, [1.0, 5.0], [2.0, 4.0], np.array([bad, 1.0]))[0] == [0.0, 1.0]
    assert two(np.minimum, [1.0, 5.0], [2.0, 4.0], np.array([bad, 1.0]))[1] == [0.0, 1.0]


def test_maximum_says_where_it_routes():
    a, b = leaf([1.0, 2.0, 5.0]), leaf([1.0, 3.0, 4.0])
    trace = np.maximum(a, b).backward(np.ones(3))
    assert routes(trace, "a") == [[0.5, 0.0, 1.0]]
    assert routes(trace, "b") == [[0.5, 1.0, 0.0]]


def test_the_route_of_a_broadcast_operand_is_the_part_of_its_uses_that_were_chosen():
    a, b = leaf([[1.0, 4.0], [3.0, 0.0]]), leaf([2.0, 2.0])
    trace = np.maximum(a, b).backward(np.ones((2, 2)))
    assert routes(trace, "b") == [[0.5, 0.5]]
    assert b.grad.tolist() == [1.0, 1.0]


# ---- where --------------------------------------------------------------------------------------------------------


def test_where_sends_each_gradient_to_the_chosen_side_only():
    chosen = np.array([True, False])
    assert two(lambda a, b: np.where(chosen, a, b), [1.0, NAN], [INF, 2.0], np.array([10.0, 20.0])) == ([10.0, 0.0], [0.0, 20.0])
    assert two(lambda a, b: tv.where(chosen, a, b), [1.0, 2.0], [3.0, 4.0], np.array([NAN, INF])) == (
        [pytest.approx(NAN, nan_ok=True), 0.0],
        [0.0, INF],
    )


def test_a_condition_of_numbers_means_nonzero():
    x = leaf([1.0, 2.0])
    trace = np.where(np.array([0, 2]), x, 0.0).backward(np.ones(2))
    assert x.grad.tolist() == [0.0, 1.0]
    assert routes(trace, "x") == [[0.0, 1.0]]


def test_a_condition_that_depends_on_a_leaf_carries_no_gradient():
    x = leaf([-1.0, 2.0])
    np.where(x > 0, x * 3.0, 0.0).sum().backward()
    assert x.grad.tolist() == [0.0, 3.0]


# ---- clip ---------------------------------------------------------------------------------------------------------


def test_clip_passes_the_gradient_at_its_bounds():
    x = leaf([-2.0, -1.0, 0.0, 1.0, 2.0])
    trace = np.clip(x, -1.0, 1.0).backward(np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    assert x.grad.tolist() == [0.0, 2.0, 3.0, 4.0, 0.0]
    assert routes(trace, "x") == [[0.0, 1.0, 1.0, 1.0, 0.0]]


def test_the_bounds_of_clip_get_what_they_cut():
    x, low, high = leaf([-2.0, 0.0, 3.0]), leaf(-1.0), leaf([1.0, 1.0, 2.0])
    tv.clip(x, low, high).backward(np.array([10.0, 20.0, 30.0]))
    assert x.grad.tolist() == [0.0, 20.0, 0.0]
    assert low.grad.tolist() == 10.0
    assert high.grad.tolist() == [0.0, 0.0, 30.0]


def test_clip_takes_one_bound_under_either_name():
    x = leaf([-2.0, 0.5, 3.0])
    assert np.clip(x, 0.0, None).tolist() == [0.0, 0.5, 3.0]
    assert np.clip(x, None, 1.0).tolist() == [-2.0, 0.5, 1.0]
    assert x.clip(max=1.0).tolist() == [-2.0, 0.5, 1.0]
    assert tv.clip(tv.tensor([1, 5]), 2).tolist() == [2, 5]
    with pytest.raises(ValueError, match="given twice"):
        tv.clip(x, 0.0, min=1.0)


def test_truth_values_are_clipped_to_numpys_dtypes():
    a = np.array([True, False])
    for high in (True, 3, 2.5, np.int8(0)):
        found = np.clip(tv.tensor(a), None, high)
        assert found.dtype == np.clip(a, None, high).dtype
        assert found.tolist() == np.clip(a, None, high).tolist()


def test_clip_selects_so_a_nan_in_the_gradient_stays_out():
    x = leaf([-2.0, 0.5])
    np.clip(x, -1.0, 1.0).backward(np.array([NAN, 1.0]))
    assert x.grad.tolist() == [0.0, 1.0]


# ---- max, min -----------------------------------------------------------------------------------------------------


def test_ties_of_max_share_evenly():
    x = leaf([[2.0, 2.0, 1.0], [0.0, 5.0, 5.0], [4.0, 1.0, 0.0]])
    trace = x.max(axis=1).backward(np.array([1.0, 10.0, 100.0]))
    assert x.grad.tolist() == [[0.5, 0.5, 0.0], [0.0, 5.0, 5.0], [100.0, 0.0, 0.0]]
    assert routes(trace, "x") == [[[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [1.0, 0.0, 0.0]]]


def test_ties_count_over_all_reduced_axes_together():
    x = leaf([[3.0, 1.0], [3.0, 3.0]])
    np.max(x).backward(6.0)
    assert x.grad.tolist() == [[2.0, 0.0], [2.0, 2.0]]


def test_a_nan_in_a_max_gets_the_gradient():
    x = leaf([[1.0, NAN, 3.0], [NAN, NAN, 2.0]])
    trace = x.max(axis=1, keepdims=True).backward(np.array([[1.0], [2.0]]))
    assert x.grad.tolist() == [[0.0, 1.0, 0.0], [1.0, 1.0, 0.0]]
    assert routes(trace, "x") == [[[0.0, 1.0, 0.0], [0.5, 0.5, 0.0]]]


def test_a_row_of_minus_infinities_is_a_tie():
    x = leaf([-INF, -INF])
    x.max().backward()
    assert x.grad.tolist() == [0.5, 0.5]


def test_min_ignores_a_nan_gradient_where_it_chose_nothing():
    x = leaf([[1.0, 2.0], [4.0, 3.0]])
    x.min(axis=1).backward(np.array([NAN, 1.0]))
    assert math.isnan(x.grad[0, 0])
    assert x.grad[0, 1] == 0.0
    assert x.grad[1].tolist() == [0.0, 1.0]


@pytest.mark.parametrize("f", [np.max, np.min, np.amax, tv.max, tv.min])
def test_nothing_to_choose_from_is_an_error_that_says_so(f: Any):
    with pytest.raises(ShapeError, match=r"axis 0 of shape \(0, 4\).*at least one"):
        f(leaf(np.zeros((0, 4))), axis=0)
    with pytest.raises(ShapeError, match=r"all axes of shape \(0,\)"):
        f(leaf(np.zeros(0)))
    assert f(leaf(np.zeros((0, 4))), axis=1).shape == (0,)


def test_positions_carry_no_gradient():
    x = leaf([[1.0, 4.0], [3.0, 2.0]])
    assert np.argmax(x, axis=1).tolist() == [1, 0]
    assert x.argmin(axis=0).tolist() == [0, 1]
    assert not x.argmax().requires_grad
    assert np.any(x > 3.5).item() is True
    assert np.all(x > 3.5, axis=0).tolist() == [False, False]


def test_reduce_of_a_ufunc_is_the_reduction_over_the_first_axis():
    x = leaf([[1.0, 4.0], [3.0, 2.0]])
    assert np.maximum.reduce(x).tolist() == [3.0, 4.0]
    assert np.minimum.reduce(x, axis=1).tolist() == [1.0, 2.0]
    assert np.maximum.reduce(x, axis=None, keepdims=True).tolist() == [[4.0]]


def test_the_method_of_an_array_clips_between_bounds_that_are_tensors():
    a, high = np.array([0.5, 5.0]), tv.tensor([1.0, 3.0], requires_grad=True)
    y = a.clip(0.0, high)
    assert (y.tolist(), y.op.name) == ([0.5, 3.0], "clip")
    y.sum().backward()
    assert high.grad.tolist() == [0, 1]
