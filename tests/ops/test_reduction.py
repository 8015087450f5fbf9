"""Reductions and running sums: axes, empties, zeros and kinks, with values worked out by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.errors import AxisError, OptionError, ShapeError

INF, NAN = math.inf, math.nan


def leaf(data: Any, dtype: Any = None) -> tv.Tensor:
    return tv.tensor(data, dtype=dtype, requires_grad=True)


def gradient(f: Any, data: Any, seed: Any = None) -> list[Any]:
    x = leaf(data)
    y = f(x)
    y.backward(np.ones(y.shape) if seed is None else seed)
    return x.grad.tolist()


@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "prod", "var", "std", "cumsum", "cumprod"])
def test_method_numpy_function_and_own_function_are_one_op(name: str):
    x = leaf([[1.0, 2.0], [5.0, 3.0]])
    made = [getattr(np, name)(x, axis=1), getattr(x, name)(axis=1), getattr(tv, name)(x, axis=1), getattr(tv, name)(x, np.int64(-1))]
    assert {y._current().op.name for y in made} == {name}
    for y in made:
        np.testing.assert_allclose(y.numpy(), getattr(np, name)(x.numpy(), axis=1))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize(
    ("axis", "keepdims"), [(None, False), (None, True), (0, False), (1, True), (-1, False), ((0, 2), False), ((2, 0), True), ((), False)]
)
@pytest.mark.parametrize("n", [4, 1000])
def test_sum_and_mean_repeat_the_gradient_of_arrays_of_every_size(n: int, axis: Any, keepdims: bool, dtype: str):
    rng = np.random.default_rng(0)
    x = leaf(np.zeros((2, n, 3)), dtype)
    y = x.sum(axis=axis, keepdims=keepdims)
    g = rng.normal(size=y.shape).astype(dtype)
    wide = np.broadcast_to(g if keepdims or axis is None else np.expand_dims(g, axis), x.shape)
    trace = y.backward(g)
    share = trace.node(x).shares[0].value
    assert share.dtype == np.dtype(dtype)
    assert np.array_equal(share, wide)
    assert not share.flags.writeable
    assert np.array_equal(x.grad, wide)
    x.grad = None
    x.mean(axis=axis, keepdims=keepdims).backward(g)
    assert np.array_equal(x.grad, wide / np.dtype(dtype).type(x.size / y.size))


def test_sum_repeats_the_gradient_along_what_it_summed():
    assert gradient(lambda x: x.sum(axis=1), np.zeros((2, 2, 2)), np.array([[1.0, 2.0], [3.0, 4.0]])) == [[[1, 2], [1, 2]], [[3, 4], [3, 4]]]
    assert gradient(lambda x: x.sum(axis=(0, -1)), np.zeros((2, 3, 2)), np.array([1.0, 2.0, 3.0])) == [[[1, 1], [2, 2], [3, 3]]] * 2
    assert gradient(lambda x: x.sum(axis=()), [1.0, 2.0], np.array([3.0, 4.0])) == [3.0, 4.0]
    assert gradient(lambda x: x.sum(0, True), [[1.0, 2.0]], np.array([[3.0, 4.0]])) == [[3.0, 4.0]]


def test_mean_divides_by_the_number_of_elements():
    assert (
        gradient(lambda x: x.mean(axis=(0, -1), keepdims=True), np.zeros((2, 3, 2)), np.array([[[4.0], [8.0], [12.0]]]))
        == [[[1, 1], [2, 2], [3, 3]]] * 2
    )


def test_the_empty_sum_is_zero_and_the_empty_mean_is_nan_without_a_warning():
    x = leaf(np.zeros((0, 3)))
    assert x.sum().item() == 0.0
    assert math.isnan(x.mean().item())
    (x.sum() + x.mean()).backward()
    assert x.grad.shape == (0, 3)


def test_an_integer_mean_is_a_float():
    assert tv.mean(tv.tensor([1, 2])).item() == 1.5
    assert tv.sum(tv.tensor([True, True])).item() == 2


def test_float16_is_averaged_in_a_wider_type():
    x = leaf(np.full(10000, 8.0), np.float16)
    assert x.mean().item() == 8.0
    assert x.mean().dtype == np.float16


def test_variance_with_and_without_the_correction():
    assert gradient(lambda x: x.var(axis=1), [[1.0, 2.0, 4.0, 7.0], [0.0, 0.0, 4.0, 4.0]], np.array([1.0, 2.0])) == [
        [-1.25, -0.75, 0.25, 1.75],
        [-2, -2, 2, 2],
    ]
    assert gradient(lambda x: np.var(x, ddof=1), [1.0, 2.0, 6.0]) == [-2.0, -1.0, 3.0]
    assert math.isnan(tv.var(np.array([1.0]), ddof=1))


def test_the_standard_deviation_of_equal_elements_has_gradient_zero():
    assert gradient(np.std, [2.0, 2.0, 2.0]) == [0.0, 0.0, 0.0]
    np.testing.assert_allclose(gradient(np.std, [1.0, 3.0]), [-0.5, 0.5])


@pytest.mark.parametrize(
    ("data", "expected"),
    [([2.0, 3.0, 4.0], [12.0, 8.0, 6.0]), ([2.0, 0.0, 5.0], [0.0, 10.0, 0.0]), ([0.0, 3.0, 0.0], [0.0, 0.0, 0.0]), ([0.0], [1.0])],
)
def test_a_product_has_the_product_of_the_others_as_gradient(data: Any, expected: Any):
    assert gradient(np.prod, data) == expected


def test_a_product_over_two_axes_with_a_zero():
    assert gradient(lambda x: x.prod(axis=(0, 1)), [[1.0, 0.0], [3.0, 4.0]]) == [[0.0, 12.0], [0.0, 0.0]]


def test_logsumexp_neither_overflows_nor_underflows():
    with np.errstate(all="raise"):
        assert gradient(lambda x: tv.logsumexp(x, axis=1), [[800.0, -800.0, 0.0]]) == [[1.0, 0.0, 0.0]]
        assert tv.logsumexp(np.array([-INF, -INF])) == -INF
        assert tv.logsumexp(np.array([INF, 0.0])) == INF
        assert gradient(tv.logsumexp, [-INF, 0.0]) == [0.0, 1.0]
    assert tv.logsumexp(np.array([[1000.0, 1000.0]]), axis=1, keepdims=True) == pytest.approx(1000 + math.log(2))


def test_logsumexp_of_nothing_but_minus_infinity_has_the_gradient_nan():
    with np.errstate(invalid="ignore"):
        assert np.isnan(gradient(tv.logsumexp, [-INF, -INF])).all()


def test_logsumexp_of_nothing_is_refused():
    with pytest.raises(ShapeError, match="no elements"):
        tv.logsumexp(leaf(np.zeros(0)))


def test_an_axis_that_is_not_there_is_named():
    for f in (tv.sum, tv.mean, tv.max, tv.var, tv.cumsum):
        with pytest.raises(AxisError, match=r"axis.*3"):
            f(leaf([1.0, 2.0]), axis=3)


# ---- norm ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ord", "data", "value", "expected"),
    [
        (None, [3.0, -4.0], 5.0, [0.6, -0.8]),
        (2, [3.0, -4.0], 5.0, [0.6, -0.8]),
        (1, [3.0, 0.0, -4.0], 7.0, [1.0, 0.0, -1.0]),
        (np.inf, [3.0, -4.0, 4.0], 4.0, [0.0, -0.5, 0.5]),
        (-np.inf, [3.0, -4.0], 3.0, [1.0, 0.0]),
        (3, [1.0, -2.0], 9 ** (1 / 3), [9 ** (-2 / 3), -4 * 9 ** (-2 / 3)]),
        (None, [0.0, 0.0], 0.0, [0.0, 0.0]),
        (3, [0.0, 0.0], 0.0, [0.0, 0.0]),
    ],
)
def test_norms_of_every_order(ord: Any, data: Any, value: float, expected: Any):
    assert np.linalg.norm(leaf(data), ord).item() == pytest.approx(value)
    np.testing.assert_allclose(gradient(lambda x: tv.norm(x, ord=ord), data), expected)


def test_norm_of_a_matrix_is_the_root_of_all_squares():
    x = leaf([[3.0, 0.0], [0.0, 4.0]])
    assert np.linalg.norm(x).item() == 5.0
    assert np.linalg.norm(x, "fro").item() == 5.0
    assert x.norm(axis=1).tolist() == [3.0, 4.0]
    assert np.linalg.norm(x, 2).item() == 4.0
    with pytest.raises(ShapeError, match=r"ord=2 over 3 axes.*is no norm"):
        np.linalg.norm(x[None], 2)


def test_the_norm_of_order_zero_counts_and_carries_no_gradient():
    x = leaf([[3.0, 0.0], [2.0, 4.0]])
    counts = tv.norm(x, ord=0, axis=1)
    assert (counts.tolist(), counts.dtype, counts.requires_grad) == ([1, 2], np.float64, False)
    np.testing.assert_array_equal(np.linalg.norm(x[1], 0).numpy(), np.linalg.norm([2.0, 4.0], 0))
    with pytest.raises(OptionError, match="got 0"):
        np.linalg.norm(x, 0)


@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("reduce", [np.sum, np.prod, np.max, np.min, np.linalg.norm])
@pytest.mark.parametrize("keepdims", [False, True])
def test_a_number_is_reduced_over_an_axis_that_it_does_not_have_as_in_numpy(reduce, axis, keepdims):
    x = leaf(1.5)
    y = reduce(x, axis=axis, keepdims=keepdims)
    assert (y.shape, y.item()) == ((), 1.5)
    y.backward()
    assert x.grad.tolist() == 1
    with pytest.raises(AxisError):
        reduce(x, axis=1)


@pytest.mark.parametrize("reduce", [np.mean, np.var, np.std])
def test_the_mean_of_a_number_over_an_axis_is_refused_as_in_numpy(reduce):
    with pytest.raises(AxisError, match=f"{reduce.__name__}: axis 0 is not there in shape"):
        reduce(leaf(1.5), axis=0)


# ---- running sums and products --------------------------------------------------------------------------------------


def test_a_running_sum_hands_every_gradient_to_all_before_it():
    assert gradient(lambda x: x.cumsum(axis=0), [1.0, 2.0, 3.0], np.array([1.0, 10.0, 100.0])) == [111.0, 110.0, 100.0]
    assert gradient(lambda x: np.cumsum(x, axis=1), [[1.0, 1.0], [1.0, 1.0]], np.array([[1.0, 2.0], [3.0, 4.0]])) == [[3, 2], [7, 4]]
    assert gradient(np.cumsum, [[1.0], [2.0]], np.array([1.0, 10.0])) == [[11.0], [10.0]]


def test_a_running_product_with_a_zero_inside():
    assert gradient(lambda x: x.cumprod(axis=0), [3.0, 0.0, 2.0, 5.0]) == [1.0, 39.0, 0.0, 0.0]
    assert gradient(np.cumprod, [2.0, 3.0]) == [4.0, 2.0]


def test_accumulate_of_a_ufunc_runs_along_the_first_axis():
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    assert np.add.accumulate(x).tolist() == [[1.0, 2.0], [4.0, 6.0]]
    assert np.multiply.accumulate(x, axis=1).tolist() == [[1.0, 2.0], [3.0, 12.0]]
    assert np.add.reduce(x).tolist() == [4.0, 6.0]
    assert np.multiply.reduce(x, axis=None).item() == 24.0


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("f", [np.nanmean, np.nanvar, np.nanstd, lambda x: np.mean(x, where=x > 0), lambda x: np.var(x, where=x > 0)])
def test_one_number_keeps_its_dtype_where_elements_are_counted(f, dtype):
    x = tv.tensor(dtype(1.5), requires_grad=True)
    y = f(x)
    assert y.dtype == f(np.array(1.5, dtype)).dtype == dtype
    y.backward()
    assert x.grad.dtype == dtype
