"""What an array can do in a NumPy program, as a method or through an argument, a Tensor can as well; what would lose a gradient on the way is refused."""

from __future__ import annotations

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.errors import DTypeError, NoRuleError, OptionError, OptionTypeError, ShapeError

VALUES = np.array([[3.0, -1.0, 2.0], [0.0, 5.0, -4.0]])
PLACES = np.array([0, 3, 0, 1])


def leaf(data=VALUES) -> tv.Tensor:
    return tv.tensor(data, requires_grad=True)


def as_array(x):
    return tuple(map(as_array, x)) if isinstance(x, tuple) else np.asarray(x)


# ---- methods -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "method",
    [
        lambda x: x.nonzero(),
        lambda x: (x > 0).nonzero(),
        lambda x: x.conj(),
        lambda x: x.conjugate(),
        lambda x: x.real,
        lambda x: x.imag,
        lambda x: x.mT,
        lambda x: x.compress([False, True]),
        lambda x: x.compress([True, False, True], axis=1),
        lambda x: np.sort(x, axis=None).searchsorted(2.5),
        lambda x: x.argpartition(1),
        lambda x: (x > 0).astype(int).choose([x, -x]),
        lambda x: x.item(4),
        lambda x: x.item(1, 2),
        lambda x: 5.0 in x,
        lambda x: 6.0 in x,
        lambda x: np.where(x > 0),
        lambda x: np.lexsort((x[0], x[1])),
        lambda x: np.ravel_multi_index(((x[0] > 0).astype(int), (x[1] > 0).astype(int)), (2, 3)),
    ],
)
@pytest.mark.skipif(not hasattr(np.ndarray, "mT"), reason="this NumPy's arrays have no mT")
def test_a_method_of_arrays_gives_what_it_gives_on_arrays(method):
    for mine, theirs in zip(np.atleast_1d(as_array(method(leaf()))), np.atleast_1d(as_array(method(VALUES))), strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.sort(),
        lambda x: x.sort(0),
        lambda x: x.partition(1),
        lambda x: x.fill(7.0),
        lambda x: x.put([0, 4], [8.0, 9.0]),
    ],
)
def test_a_method_that_writes_into_the_array_is_recorded(change):
    expected, x = VALUES.copy(), leaf()
    change(expected)
    y = x * 1.0
    change(y)
    np.testing.assert_array_equal(y.numpy(), expected)
    y.backward(np.arange(1.0, 7).reshape(2, 3))
    # every element of x that is still there has the gradient of the place where it is now
    for value, gradient in zip(VALUES.ravel(), x.grad.ravel(), strict=True):
        now = np.flatnonzero(expected == value)
        assert gradient == (now[0] + 1 if now.size else 0)


def test_a_method_that_writes_says_what_it_does_not_take():
    y = leaf() * 1.0
    with pytest.raises(ShapeError, match=r"fill takes one number, got an array of shape \(3,\)"):
        y.fill([1.0, 2.0, 3.0])
    with pytest.raises(DTypeError, match="axis must be a whole number, got None"):
        y.sort(axis=None)
    with pytest.raises(ShapeError, match=r"mT exchanges the last two axes, this tensor has shape \(3,\)"):
        leaf(VALUES[0]).mT


# ---- what a ufunc may be told ------------------------------------------------------------------------------------


def test_a_ufunc_computes_in_the_dtype_that_it_is_told():
    single, double = leaf(np.float32([1.0, 2.0])), leaf([0.1, 0.2])
    y = np.add(single, double, dtype=np.float32)
    assert y.dtype == np.float32
    np.testing.assert_array_equal(y.numpy(), np.add(single.numpy(), double.numpy(), dtype=np.float32))
    y.sum().backward()
    assert (single.grad.dtype, double.grad.dtype) == (np.float32, np.float64)
    np.testing.assert_array_equal(np.exp(single, dtype=float).numpy(), np.exp(single.numpy(), dtype=float))
    np.testing.assert_array_equal(np.multiply(single, 2, dtype=float).numpy(), [2, 4])
    np.testing.assert_array_equal(np.greater(double, 0.15, dtype=bool).numpy(), [False, True])
    with pytest.raises(DTypeError, match="casting='same_kind' does not turn an operand of dtype float64"):
        np.multiply(double, 2, dtype=int)


def test_what_a_ufunc_is_told_about_memory_changes_nothing():
    x = leaf()
    np.testing.assert_array_equal(np.add(x, 1.0, order="F", subok=False, casting="unsafe", where=True).numpy(), VALUES + 1)


# ---- numbers that are Tensors ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("f", "places"),
    [
        (lambda a, p: np.quantile(a, p), 0.3),
        (lambda a, p: np.quantile(a, p, axis=1, keepdims=True), [0.2, 0.9]),
        (lambda a, p: np.percentile(a, p, axis=0), 33.0),
        (lambda a, p: np.nanquantile(a, p, method="hazen"), [0.4, 0.5]),
        (lambda a, p: np.quantile(a, [p * 0.5, p], method="weibull"), 0.55),
        (lambda a, p: np.pad(a, 1, constant_values=p), 2.0),
        (lambda a, p: np.pad(a, ((1, 2), (2, 0)), constant_values=p), [[1.0, 2.0], [3.0, 4.0]]),
        (lambda a, p: np.pad(a, 2, constant_values=[p, 2 * p]), 2.0),
        (lambda a, p: np.nan_to_num(np.where(VALUES == 5, np.nan, a), nan=p), 2.0),
        (lambda a, p: np.nan_to_num(np.where(VALUES == 2, np.inf, a), posinf=p, nan=7.0), 2.0),
        (lambda a, p: np.bincount(PLACES, weights=a[0, 0] * p, minlength=6), [1.0, 2.0, 3.0, 4.0]),
        (lambda a, p: np.bincount(PLACES, p), np.float32([1.0, 2.0, 3.0, 4.0])),
    ],
)
def test_a_tensor_in_the_place_of_a_number_gets_its_gradient(f, places):
    places = np.asarray(places)
    expected = f(VALUES, places)
    y = f(leaf(), leaf(places))
    assert y.dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(y.numpy(), expected, rtol=1e-12)
    assert tv.gradcheck(f, VALUES, places.astype(float))


@pytest.mark.parametrize(
    "call",
    [
        lambda x, p: tv.leaky_relu(x, p),
        lambda x, p: tv.elu(x, p),
        lambda x, p: tv.layer_norm(x, 3, eps=p),
        lambda x, p: tv.batch_norm(x, training=True, eps=p),
        lambda x, p: tv.cross_entropy(x, [0, 1], label_smoothing=p),
        lambda x, p: tv.dropout(x, p),
        lambda x, p: tv.scaled_dot_product_attention(x, x, x, scale=p),
        lambda x, p: np.var(x, ddof=p),
        lambda x, p: np.unwrap(x, period=p),
        lambda x, p: np.linalg.pinv(x, rcond=p),
    ],
)
def test_a_number_of_a_rule_is_no_place_for_a_tensor_that_wants_a_gradient(call):
    with pytest.raises(OptionTypeError, match="is a Tensor that requires a gradient, which it would not get here"):
        call(leaf(), leaf(0.25))
    call(leaf(), tv.tensor(0.25))


@pytest.mark.parametrize("f", [np.histogram, np.histogramdd, lambda x, **k: np.histogram2d(x, x, **k)])
def test_weights_of_a_histogram_that_want_a_gradient_are_refused(f):
    x = leaf(VALUES[0])
    counts = f(x, weights=VALUES[1])[0]
    assert counts.sum() == VALUES[1].sum()
    with pytest.raises(NoRuleError, match=r"weights that require a gradient.*np\.bincount"):
        f(x, weights=x)


# ---- limits ------------------------------------------------------------------------------------------------------


def test_the_logarithm_of_a_singular_determinant_has_an_infinite_slope_and_no_exception():
    x = leaf([[[1.0, 2.0], [2.0, 4.0]], [[2.0, 0.0], [0.0, 4.0]]])
    sign, logarithm = np.linalg.slogdet(x)
    assert logarithm.tolist() == [-np.inf, np.log(8.0)]
    assert sign.tolist() == [0, 1]
    logarithm.backward(np.ones(2))
    assert np.isinf(x.grad[0]).all()
    np.testing.assert_allclose(x.grad[1], [[0.5, 0], [0, 0.25]], atol=1e-15)


def test_logaddexp2_with_an_infinity_is_all_of_it():
    a, b = leaf([np.inf, 1.0, -np.inf, 1e200]), leaf([0.0, np.inf, 2.0, 1e200])
    np.logaddexp2(a, b).backward(np.ones(4))
    assert a.grad.tolist() == [1, 0, 0, 0.5]
    assert b.grad.tolist() == [0, 1, 1, 0.5]


def test_a_matrix_to_the_power_of_zero_is_the_unit_whatever_the_matrix_holds():
    x = leaf([[np.inf, np.nan], [1.0, 2.0]])
    y = np.linalg.matrix_power(x, 0)
    assert y.tolist() == [[1, 0], [0, 1]]
    y.sum().backward()
    assert x.grad.tolist() == [[0, 0], [0, 0]]


def test_positions_where_a_condition_holds_need_both_or_neither_to_choose_from():
    with pytest.raises(OptionError, match="where: give both a and b"):
        np.where(leaf() > 0, 1.0)
    with pytest.raises(OptionError, match="where: give both a and b"):
        tv.where(VALUES > 0, b=1.0)


def test_a_number_has_no_sides_to_pad():
    x = leaf(2.0)
    y = np.pad(x, 3)
    y.backward()
    assert (y.item(), x.grad.tolist()) == (2, 1)
