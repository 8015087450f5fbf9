"""Where rules meet the ends of a dtype: infinities, origins, counts that float16 does not hold. The conventions are those of the conformance page."""

from __future__ import annotations

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.errors import DTypeError, NoRuleError

INF, NAN = float("inf"), float("nan")


def gradients(f, *operands, seed=1.0):
    leaves = [tv.tensor(x, requires_grad=True) for x in operands]
    y = f(*leaves)
    y.backward(np.full(y.shape, seed))
    return [leaf.grad.tolist() for leaf in leaves]


MANY = 70_000
"""More than 65,504, the greatest float16."""


@pytest.mark.parametrize(
    "f",
    [
        np.mean,
        np.var,
        np.std,
        lambda x: np.mean(x, axis=0, keepdims=True),
        lambda x: tv.mse_loss(x, np.zeros(MANY, np.float16)),
        lambda x: tv.bce_with_logits(x, np.ones(MANY, np.float16)),
        lambda x: tv.nll_loss(x[:, None], np.zeros(MANY, int)),
        lambda x: tv.cross_entropy(tv.stack([x, -x], 1), np.zeros(MANY, int)),
        lambda x: tv.batch_norm(x[:, None], np.zeros(1, np.float16), np.ones(1, np.float16), training=True)[:3],
        lambda x: np.mean(x, where=np.ones(MANY, bool)),
        np.nanmean,
        lambda x: tv.avg_pool2d(x.reshape(1, 1, 1, MANY), (1, MANY)),
    ],
    ids=["mean", "var", "std", "mean_axis", "mse", "bce", "nll", "cross_entropy", "batch_norm", "mean_where", "nanmean", "avg_pool"],
)
def test_a_mean_over_more_elements_than_float16_can_count_has_its_gradient(f):
    start = (np.arange(MANY) % 5 - 1).astype(np.float16)

    def run(dtype):
        x = tv.tensor(start.astype(dtype), requires_grad=True)
        y = f(x)
        y.backward(np.ones(y.shape))
        return y.numpy(), x.grad

    (half, slope), (value, wanted) = run(np.float16), run(np.float32)
    assert half.dtype == slope.dtype == np.float16
    np.testing.assert_allclose(half, value, rtol=2e-3, atol=1e-3)
    assert np.any(wanted)
    np.testing.assert_allclose(slope, wanted, rtol=1e-2, atol=1e-6)


@pytest.mark.parametrize(
    "f",
    [
        np.max,
        np.min,
        lambda x: tv.norm(x, ord=np.inf),
        lambda x: tv.max_pool2d(x.reshape(1, 1, 1, MANY), (1, MANY)),
        lambda x: np.maximum.accumulate(x)[-1],
    ],
    ids=["max", "min", "norm", "max_pool", "running_max"],
)
def test_more_ties_than_float16_can_count_share_the_gradient(f):
    x = tv.tensor(np.ones(MANY, np.float16), requires_grad=True)
    y = f(x)
    y.backward(np.full(y.shape, 700.0))
    assert x.grad.dtype == np.float16
    np.testing.assert_allclose(x.grad, 0.01, rtol=1e-3)


def test_the_mean_of_windows_of_whole_numbers_is_none():
    image = np.arange(16).reshape(1, 1, 4, 4)
    assert tv.avg_pool2d(image, 2).tolist() == [[[[2.5, 4.5], [10.5, 12.5]]]]
    assert tv.avg_pool2d(tv.tensor(image), 3, padding=1, count_include_pad=False).numpy()[0, 0, 0, 0] == 2.5


def test_the_gradient_of_a_leaf_has_the_byte_order_of_the_leaf():
    x = tv.tensor(np.array([1.0, 2.0], ">f8"), requires_grad=True)
    (x * x + x).sum().backward()
    assert x.grad.dtype == np.dtype(">f8") == x.dtype
    assert x.grad.tolist() == [3, 5]
    (x * 1.0).sum().backward()
    assert x.grad.dtype == np.dtype(">f8")
    assert x.grad.tolist() == [4, 6]


def test_a_power_of_zero_does_not_hide_a_nan_from_above():
    assert np.isnan(gradients(lambda x: 0.0**x, 2.0, seed=NAN)[0])
    assert gradients(lambda x: 0.0**x, 2.0) == [0]
    assert gradients(lambda a, b: a**b, [0.0, 2.0], [2.0, 0.0]) == [[0, 0], [0, np.log(2)]]


def test_logaddexp_with_an_infinity_is_all_of_it():
    assert gradients(np.logaddexp, INF, 1.0) == [1, 0]
    assert gradients(np.logaddexp, 1.0, INF) == [0, 1]
    assert gradients(np.logaddexp, -INF, 1.0) == [0, 1]
    assert gradients(np.logaddexp, 0.0, 0.0) == [0.5, 0.5]
    assert gradients(np.logaddexp, 1000.0, -1000.0) == [1, 0]


@pytest.mark.parametrize("f", [np.logaddexp, np.logaddexp2])
def test_a_logistic_loss_that_is_met_has_a_second_derivative_of_zero(f):
    """log(1 + e ** -x) is flat to the last digit where x is large; 1 / (1 + e ** x) written out gives 0 * inf there."""
    curvature = tv.hessian(lambda x: f(0.0, -x).sum())(np.array([800.0, -800.0, 1e200, 0.0]))
    log2 = 1 if f is np.logaddexp else np.log(2)
    np.testing.assert_allclose(curvature, np.diag([0.0, 0.0, 0.0, log2 / 4]), atol=1e-200)


def test_the_angle_of_the_origin_has_the_gradient_zero_and_tiny_points_have_theirs():
    assert gradients(np.arctan2, 0.0, 0.0) == [0, 0]
    tiny = gradients(np.arctan2, 3e-200, 4e-200)
    np.testing.assert_allclose(tiny, [4 / 25 * 1e200, -3 / 25 * 1e200])
    huge = gradients(np.arctan2, 3e200, 4e200)
    np.testing.assert_allclose(huge, [4 / 25 * 1e-200, -3 / 25 * 1e-200])


@pytest.mark.parametrize(
    "f",
    [tv.norm, lambda x: tv.norm(x) ** 2, lambda x: np.hypot(x[0], x[1]), lambda x: np.arctan2(x[0], x[1])],
    ids=["norm", "norm_squared", "hypot", "arctan2"],
)
def test_a_second_derivative_at_a_kink_at_the_origin_is_none(f):
    with np.errstate(all="ignore"):
        assert not np.any(np.isfinite(tv.hessian(f)(np.zeros(2))))
    assert np.all(np.isfinite(tv.hessian(f)(np.array([0.0, 2.0]))))


def test_a_row_of_zeros_takes_no_second_derivative_from_the_other_rows():
    rows = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 2.0]])
    with np.errstate(all="ignore"):
        second = tv.hessian(lambda x: tv.norm(x, axis=1).sum())(rows)
    np.testing.assert_allclose(second[1, :, 1], [[0.128, -0.096], [-0.096, 0.072]], atol=1e-15)
    assert second[2, :, 2].tolist() == [[0.5, 0], [0, 0]]
    assert not np.any(np.isfinite(second[0, :, 0]))


def test_a_length_at_the_origin_has_the_gradient_zero_as_every_norm():
    assert gradients(np.hypot, 0.0, 0.0) == [0, 0]
    assert gradients(np.linalg.norm, [0.0, 0.0]) == [[0, 0]]


def test_the_tail_of_elu_keeps_its_digits():
    np.testing.assert_allclose(gradients(tv.elu, [-30.0, -40.0])[0], np.exp([-30.0, -40.0]), rtol=1e-12)
    assert gradients(tv.elu, -710.0, seed=INF) == [INF]


def test_a_masked_array_neither_takes_a_tensor_out_of_its_graph_nor_loses_its_mask():
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    masked = np.ma.array([1.0, 2.0], mask=[False, True])
    with pytest.raises(NoRuleError, match=r"numpy\.ma would take this tensor.*np\.where\(mask"):
        masked * x
    with pytest.raises(DTypeError, match="masked array, whose mask"):
        x * masked
    assert (masked * x.detach()).tolist() == [1, None]


def test_what_numpy_makes_like_a_tensor_is_a_tensor_into_which_results_can_be_written():
    x = tv.tensor([1.0, 2.0, 3.0], requires_grad=True)
    for make in (np.zeros_like, np.ones_like, np.empty_like, lambda a: np.full_like(a, 7)):
        o = make(x)
        assert isinstance(o, tv.Tensor)
        assert not o.requires_grad
        assert o.dtype == x.dtype
        for i in range(3):
            o[i] = x[i] * 2
        x.zero_grad()
        (o * o).sum().backward()
        assert x.grad.tolist() == [8, 16, 24]
    assert np.zeros_like(x, dtype=int).dtype == int
    assert np.zeros_like(x, shape=(2, 2)).shape == (2, 2)


def test_full_like_passes_the_gradient_to_what_fills_it():
    c = tv.tensor(2.0, requires_grad=True)
    y = np.full_like(tv.tensor(np.zeros((2, 3))), c)
    assert y.tolist() == [[2, 2, 2], [2, 2, 2]]
    y.sum().backward()
    assert c.grad == 6
    assert np.full_like(tv.tensor([1.0, 2.0]), [3, 4]).tolist() == [3, 4]
    assert np.full_like(tv.tensor([1, 2]), 3.7).tolist() == [3, 3]


def test_a_triangle_of_a_vector_has_it_in_every_row_as_in_numpy():
    v = [1.0, 2.0, 3.0]
    x = tv.tensor(v, requires_grad=True)
    for f in (np.tril, np.triu):
        assert f(x).tolist() == f(np.array(v)).tolist()
        assert f(x, 1).tolist() == f(np.array(v), 1).tolist()
    np.tril(x).sum().backward()
    assert x.grad.tolist() == [3, 2, 1]
