"""NumPy's further functions on Tensors: those that write, those that pass over NaN, methods of ufuncs; and how what has no rule refuses."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.engine import protocols
from tensorviz.engine.op import FUNCTIONS, UFUNCS
from tensorviz.errors import DTypeError, IndexingError, NoRuleError, OptionError, ShapeError

NAN, INF = np.nan, np.inf


def leaf(data) -> tv.Tensor:
    return tv.tensor(data, requires_grad=True)


def gradient(y: tv.Tensor, *leaves: tv.Tensor) -> list[object]:
    y.backward(np.ones(y.shape))
    return [x.grad.tolist() for x in leaves]


# ---- functions that write ----------------------------------------------------------------------------------------

MASK = np.array([[True, False, True], [False, True, True]])
WRITERS = {
    "copyto": lambda o, x: np.copyto(o, x * 2),
    "copyto_number": lambda o, x: np.copyto(o, 3) or np.copyto(o, x[0], where=MASK),
    "put": lambda o, x: np.put(o, [0, 5, -1], x[0]),
    "put_short": lambda o, x: np.put(o, [0, 3, 1], x[0, :2]),
    "put_wrap": lambda o, x: np.put(o, [0, 13], x[0], mode="wrap"),
    "put_clip": lambda o, x: np.put(o, [0, 13], x[0], mode="clip"),
    "putmask": lambda o, x: np.putmask(o, MASK, x * 3),
    "putmask_short": lambda o, x: np.putmask(o, MASK, x[0, :2]),
    "place": lambda o, x: np.place(o, MASK, x[0, :2]),
    "put_along_axis": lambda o, x: np.put_along_axis(o, np.array([[2], [0]]), x[:, :1], 1),
    "put_along_none": lambda o, x: np.put_along_axis(o, np.array([1, 4]), x[0, :2], None),
    "fill_diagonal": lambda o, x: np.fill_diagonal(o, x[0, 0]),
    "fill_diagonal_many": lambda o, x: np.fill_diagonal(o, x[0, 1:]),
    "fill_diagonal_wrap": lambda o, x: np.fill_diagonal(o.T, x[1, 0], wrap=True),
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_function_that_writes_into_an_array_writes_into_a_tensor(name):
    def run(x):
        o = np.zeros_like(x)
        WRITERS[name](o, x)
        return o * o + x

    start = np.random.default_rng(0).normal(size=(2, 3))
    assert run(leaf(start)).tolist() == run(start).tolist()
    assert tv.gradcheck(lambda x: (run(x) * np.arange(6.0).reshape(2, 3)).sum(), start)


def test_writing_a_tensor_into_an_array_is_refused_where_numpy_asks():
    x = leaf([1.0, 2.0])
    with pytest.raises(NoRuleError, match=r"copyto into an array cannot be recorded.*np\.zeros_like"):
        np.copyto(np.zeros(2), x)
    with pytest.raises(NoRuleError, match=r"put into an array"):
        np.put(np.zeros(2), tv.tensor([0]), x)
    o = tv.tensor([1, 2])
    with pytest.raises(DTypeError, match=r"does not turn float64 into int64"):
        np.copyto(o, x)
    with pytest.raises(OptionError, match="mode is"):
        np.put(np.zeros_like(x), [0], x, mode="nearest")


# ---- NaN ---------------------------------------------------------------------------------------------------------


def test_what_passes_over_nan_gives_it_no_gradient():
    a = [[1.0, NAN, 3.0], [4.0, 5.0, 9.0]]
    for f, wanted in (
        (np.nansum, [[1, 0, 1], [1, 1, 1]]),
        (np.nanmean, [[0.5, 0, 0.5], [1 / 3, 1 / 3, 1 / 3]]),
        (np.nanmax, [[0, 0, 1], [0, 0, 1]]),
        (np.nanmin, [[1, 0, 0], [1, 0, 0]]),
        (np.nanmedian, [[0.5, 0, 0.5], [0, 1, 0]]),
        (np.nanprod, [[3, 0, 1], [45, 36, 20]]),
    ):
        x = leaf(a)
        y = f(x, axis=1)
        np.testing.assert_allclose(y.numpy(), f(np.array(a), axis=1))
        np.testing.assert_allclose(gradient(y, x)[0], wanted)
    x = leaf(a)
    assert np.isnan(np.median(x, axis=1).numpy()).tolist() == [True, False]
    assert np.nanargmax(x, axis=1).tolist() == [2, 2]
    assert np.fmax.reduce(x, axis=1).tolist() == [3, 9]


def test_a_row_of_nan_alone_stays_nan_and_gives_no_gradient_but_nan_to_it():
    x = leaf([[NAN, NAN], [1.0, 2.0]])
    y = np.nanmax(x, axis=1)
    assert np.isnan(y.numpy()).tolist() == [True, False]
    assert gradient(y, x) == [[[0, 0], [0, 1]]]


def test_a_deviation_of_equal_numbers_has_slope_zero_with_a_mask_as_without():
    x = leaf([2.0, 2.0, 7.0])
    y = np.std(x, where=[True, True, False])
    assert y.item() == 0
    assert gradient(y, x) == [[0, 0, 0]]


# ---- dtypes and numbers that are NumPy's ------------------------------------------------------------------------


DTYPES = [np.float16, np.float32, np.float64, np.int8, np.int64, np.bool_]


@pytest.mark.parametrize("first", DTYPES)
@pytest.mark.parametrize("second", [*DTYPES, None])
def test_a_copied_sign_has_numpys_dtype(first, second):
    size, sign = np.array([1, 1, 0], first), -1 if second is None else np.array([0, 1, 1], second)
    want = np.copysign(size, sign)
    got = np.copysign(tv.tensor(size), sign if second is None else tv.tensor(sign))
    assert (got.dtype, got.tolist()) == (want.dtype, want.tolist())
    mixed = np.copysign(size, sign if second is None else tv.tensor(sign))
    assert (mixed.dtype, mixed.tolist()) == (want.dtype, want.tolist())


def test_a_copied_sign_of_narrow_numbers_sends_its_gradient_back_narrow():
    x = leaf(np.float32([1.0, -2.0]))
    y = np.copysign(x, np.array([-1.0, -1.0]))
    assert y.dtype == np.float64
    y.backward(np.array([1.0, 10.0]))
    assert (x.grad.dtype, x.grad.tolist()) == (np.float32, [-1.0, 10.0])


@pytest.mark.parametrize(
    "f",
    [
        np.cov,
        np.corrcoef,
        np.vander,
        lambda x: np.cov(x, dtype=np.float32),
        lambda x: np.geomspace(x, 2 * x, 3),
        lambda x: np.geomspace(x, 2 * x, 3, dtype=np.float32),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_numpy_computes_in_float64_is_float64_and_the_gradient_has_the_leafs_dtype(f, dtype):
    x = leaf(np.array([1, 2, 3], dtype))
    y, want = f(x), f(x.numpy())
    assert y.dtype == want.dtype
    np.testing.assert_allclose(y.numpy(), want, rtol=1e-6)
    y.backward(np.ones(y.shape, y.dtype))
    assert x.grad.dtype == dtype


@pytest.mark.parametrize(
    "f",
    [
        lambda a, b: np.heaviside(a, b),
        lambda a, b: np.heaviside(a, 0.5),
        lambda a, b: np.average(a, weights=b),
        lambda a, b: np.polyval(a, b),
        lambda a, b: np.choose([0, 1, 0], [a, b]),
        lambda a, b: np.choose([0, 1, 0], [a, 0.5]),
        lambda a, b: np.float_power(a, b),
        lambda a, b: np.gradient(a),
    ],
)
@pytest.mark.parametrize("first", [*DTYPES, np.uint8])
@pytest.mark.parametrize("second", [np.float32, np.float64, np.int8, np.bool_])
def test_functions_put_together_from_ops_have_numpys_dtype(f, first, second):
    a, b = np.array([1, 0, 2]).astype(first), np.array([0, 1, 1]).astype(second)
    try:
        want = f(a, b)
    except TypeError:  # two kinds of numbers that NumPy does not subtract, or compare
        return
    got = f(tv.tensor(a), tv.tensor(b))
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-3)


@pytest.mark.parametrize("dtype", DTYPES)
def test_fabs_gives_floating_numbers(dtype):
    a = np.array([[1, 0]], dtype) if dtype is np.bool_ else np.array([[1, -2]], dtype)
    want, got = np.fabs(a), np.fabs(tv.tensor(a))
    assert (got.dtype, got.tolist()) == (want.dtype, want.tolist())


@pytest.mark.parametrize("f", [np.var, np.std, np.nanvar, np.nanstd])
@pytest.mark.parametrize("ddof", [0, 1, 2, 3])
@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_variance_of_too_few_elements_is_numpys(f, ddof, axis):
    a = np.array([[1.0, 2.0], [3.0, 3.0]])
    for keepdims in (False, True):
        np.testing.assert_array_equal(f(tv.tensor(a), axis=axis, ddof=ddof, keepdims=keepdims), f(a, axis=axis, ddof=ddof, keepdims=keepdims))
    if f in (np.nanvar, np.nanstd):
        a[0, 1] = NAN
        np.testing.assert_array_equal(f(tv.tensor(a), axis=axis, ddof=ddof), f(a, axis=axis, ddof=ddof))


def test_a_variance_divided_by_zero_grows_without_end_away_from_the_mean():
    x = leaf([1.0, 2.0])
    y = np.var(x, ddof=2)
    y.backward()
    assert x.grad.tolist() == [-np.inf, np.inf]
    assert [root.item() for root in tv.lower(y).roots] == [np.inf]


# ---- further arguments -------------------------------------------------------------------------------------------


def test_positional_arguments_mean_what_they_mean_in_numpy():
    a = np.arange(6.0).reshape(2, 3)
    x = leaf(a)
    assert np.sum(x, 0, np.float32).dtype == np.float32
    assert np.sum(x, 0, None, None, True).shape == (1, 3)
    assert x.sum(0, True).shape == (1, 3)  # as PyTorch users write it; NumPy has no dtype True
    assert np.max(x, 0, None, True).shape == (1, 3)
    assert x.max(0, True).shape == (1, 3)
    assert np.cumsum(x, 1, np.float32).dtype == np.float32
    assert np.argmax(x, 1, keepdims=True).shape == (2, 1)


@pytest.mark.parametrize("f", [np.sum, np.mean, np.prod, np.max, np.min, np.var, np.std, np.any, np.all, np.cumsum, np.cumprod, np.argmax, np.median])
def test_an_array_to_write_into_is_refused(f):
    with pytest.raises(DTypeError, match=r"with out= cannot be recorded"):
        f(leaf([1.0, 2.0]), out=np.zeros(()))


def test_what_a_mask_leaves_nothing_of_needs_a_beginning():
    x = leaf([1.0, 2.0])
    with pytest.raises(DTypeError, match=r"max with where= needs initial="):
        np.max(x, where=[True, False])
    with pytest.raises(DTypeError, match=r"where holds True or False"):
        np.sum(x, where=[1.0, 0.0])
    y = np.max(x[:0], initial=3.0)
    assert y.item() == 3
    assert gradient(y, x) == [[0, 0]]


def test_the_running_extreme_shares_ties_and_keeps_nan_to_itself():
    x = leaf([1.0, 3.0, 2.0, 3.0, 4.0])
    y = np.maximum.accumulate(x)
    assert y.tolist() == [1, 3, 3, 3, 4]
    y.backward(np.array([1.0, 1.0, 1.0, 1.0, NAN]))
    # the third 3 is shared by two
    assert x.grad[:4].tolist() == [1, 2.5, 0, 0.5]
    assert np.isnan(x.grad[4])
    z = leaf([2.0, NAN, 1.0])
    y = np.minimum.accumulate(z)
    assert np.isnan(y.numpy()).tolist() == [False, True, True]
    y.backward(np.array([1.0, 10.0, 100.0]))
    assert z.grad.tolist() == [1, 110, 0]


# ---- methods of ufuncs -------------------------------------------------------------------------------------------


def test_an_outer_ufunc_pairs_everything_with_everything():
    a, b = leaf([1.0, 2.0]), leaf([10.0, 20.0, 30.0])
    y = np.multiply.outer(a, b)
    assert y.tolist() == [[10, 20, 30], [20, 40, 60]]
    assert gradient(y, a, b) == [[60, 60], [3, 3, 3]]
    assert np.add.outer([1.0], a).tolist() == [[2, 3]]


def test_divmod_gives_both_and_the_operator_too():
    x = leaf([7.0, -7.0])
    q, r = divmod(x, 3)
    assert (q.tolist(), r.tolist()) == ([2, -3], [1, 2])
    assert gradient(q + r, x) == [[1, 1]]
    q, r = divmod(7, leaf(2.0))
    assert (q.item(), r.item()) == (3, 1)


@pytest.mark.parametrize("rowvar", [True, False])
@pytest.mark.parametrize("options", [{}, {"bias": True}, {"ddof": 0}, {"fweights": [1, 2, 1]}, {"fweights": [1, 2, 1], "ddof": 2}])
@pytest.mark.parametrize("weighted", [False, True])
def test_covariances_are_numpys_also_weighted_and_differentiable_in_the_weights(rowvar, options, weighted):
    m = np.array([[1.0, 2.5, 4.0], [0.5, -1.0, 3.0], [2.0, 0.0, 1.0]])
    y, weights = np.array([1.0, -1.0, 0.5]), np.array([0.5, 1.0, 2.0])

    def f(*operands):
        *series, w = operands if weighted else (*operands, None)
        return np.cov(*series, rowvar=rowvar, aweights=w, **options)

    for series in ((m,), (m, y), (y,)):
        operands = (*series, weights) if weighted else series
        np.testing.assert_allclose(f(*map(leaf, operands)).numpy(), f(*operands), rtol=1e-12)
        assert tv.gradcheck(f, *operands)


def test_a_matrix_of_one_row_and_too_few_observations_have_numpys_covariance():
    row = np.array([[1.0, 2.0, 4.0]])
    for options in ({"bias": True}, {"ddof": 3, "rowvar": True}, {"bias": True, "rowvar": False}):
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            want = np.cov(row, **options)
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(np.cov(leaf(row), **options).numpy(), want)
    assert np.cov(tv.tensor(np.zeros((0, 3)))).shape == (0, 0)


def test_powers_of_several_bases_stand_beside_their_ends():
    def f(start, stop, base):
        return np.logspace(start, stop, 3, base=base, axis=-1)

    operands = 0.5, np.array([1.0, 2.0]), np.array([2.0, 3.0])
    np.testing.assert_allclose(f(*map(leaf, operands)).numpy(), f(*operands))
    assert tv.gradcheck(f, *operands)


def test_numbers_are_convolved_as_vectors_of_one_element():
    x = leaf([1.0, 2.0])
    y = np.convolve(3.0, x) + np.convolve(x, leaf(2.0))
    assert y.tolist() == [5, 10]
    assert gradient(y, x) == [[5, 5]]


QUANTILES = ("inverted_cdf", "averaged_inverted_cdf", "closest_observation")


@pytest.mark.parametrize("method", QUANTILES)
def test_a_quantile_in_steps_is_numpys_on_the_steps_and_between(method):
    a = np.array([[3.0, 1.0, 8.0, 5.0], [2.0, 9.0, 4.0, 7.0]])
    for q in (0.0, 0.125, 0.25, 0.375, 0.3, 0.5, 1.0, [0.25, 0.75]):
        for axis in (None, 0, 1):
            found, want = np.quantile(leaf(a), q, axis=axis, method=method), np.quantile(a, q, axis=axis, method=method)
            assert found.tolist() == want.tolist()
    assert tv.gradcheck(lambda x: np.quantile(x, [0.3, 0.8], axis=1, method=method), a)


def test_what_weights_make_of_a_quantile_is_an_element():
    a, w = np.array([[3.0, 1.0, 8.0, 5.0], [2.0, 9.0, 4.0, 7.0]]), np.array([1.0, 2.0, 0.5, 3.0])
    if np.__version__ < "2":
        return  # whose quantiles have no weights
    for options in ({"axis": 1}, {"axis": -1, "keepdims": True}, {"axis": 0, "weights": w[:2]}, {"weights": np.stack([w, w])}):
        options = {"weights": w, "method": "inverted_cdf"} | options
        for of, q in ((np.quantile, 0.4), (np.percentile, [10, 90]), (np.quantile, np.array([[0.2], [0.6]]))):
            assert of(leaf(a), q, **options).tolist() == of(a, q, **options).tolist()
    x = leaf([5.0, 1.0, 3.0])
    np.quantile(x, 0.5, weights=[1, 1, 3], method="inverted_cdf").backward()
    assert x.grad.tolist() == [0, 0, 1]
    spoilt = np.nanquantile(leaf([[np.nan, np.nan], [1.0, np.nan]]), 0.5, axis=1, weights=[1, 2], method="inverted_cdf")
    np.testing.assert_array_equal(spoilt.numpy(), [NAN, 1])
    with pytest.raises(OptionError, match="method='inverted_cdf'"):
        np.quantile(x, 0.5, weights=[1, 1, 3])
    with pytest.raises(NoRuleError, match="changes in steps with its weights"):
        np.quantile(x, 0.5, weights=leaf([1.0, 1.0, 3.0]), method="inverted_cdf")
    with pytest.raises(ShapeError, match=r"weights of shape \(2,\)"):
        np.quantile(x, 0.5, weights=[1, 2], method="inverted_cdf")


def test_a_list_of_quantiles_is_as_wide_as_numpys():
    f = np.float32([1.0, 2.0, 4.0])
    for q in ([0.3], np.array(0.3), np.float64(0.3), np.float32(0.3), np.float32([0.3])):
        for method in ("linear", "lower", "averaged_inverted_cdf"):
            kind = np.quantile(f, q, method=method).dtype
            if np.__version__ >= "2" or isinstance(q, list):
                assert np.quantile(leaf(f), q, method=method).dtype == kind
    np.testing.assert_array_equal(np.quantile(leaf(f), [0.3, 0.9]).numpy(), np.quantile(f, [0.3, 0.9]))  # not rounded on the way
    assert np.percentile(leaf(f), 30).dtype == np.float32
    x = leaf(f)
    np.percentile(x, [25, 50]).sum().backward()
    assert x.grad.dtype == np.float32


def test_what_would_be_complex_is_computed_where_it_is_real():
    x = leaf([0.25, 1.0])
    for name in ("sqrt", "log", "log2", "log10", "arccos", "arcsin"):
        assert getattr(np.emath, name)(x).tolist() == getattr(np, name)(x).tolist()
    assert np.emath.logn(2, x).tolist() == [-2, 0]
    assert np.emath.arctanh(x[0]).item() == np.arctanh(0.25)
    assert np.emath.power(x, 2).tolist() == [0.0625, 1]
    assert np.emath.power(tv.tensor([2, 4]), -2).tolist() == [0.25, 0.0625]
    np.emath.sqrt(x).sum().backward()
    assert x.grad.tolist() == [1, 0.5]
    for call in (lambda: np.emath.sqrt(-x), lambda: np.emath.arcsin(x * 9), lambda: np.emath.power(-x, 0.5), lambda: np.emath.logn(2, -x)):
        with pytest.raises(DTypeError, match=r"is complex, and a Tensor holds real ones"):
            call()


def test_at_a_place_itself_an_infinite_neighbour_is_not_heard():
    x = leaf([0.0, 0.5, 1.0])
    assert np.interp(x, [0.0, 1.0, 2.0], [3.0, 4.0, INF]).tolist() == [3, 3.5, 4]
    assert np.interp(leaf([0.0, 1.0]), [0.0, 1.0], [3.0, NAN])[0].item() == 3


def test_a_number_at_the_end_of_a_line_is_weak():
    x = leaf(np.float32([0.5, 2.0]))
    assert np.linspace(x, 1, 3).dtype == np.float32
    assert np.linspace(0.0, x, 3).dtype == np.float32
    assert np.linspace(x, np.float64(1), 3).dtype == np.float64
    assert np.linspace(tv.tensor(1), 2, 3).dtype == np.float64


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda x: np.subtract.reduce(np.outer(x, x), axis=None), r"np\.subtract\.reduce goes along one axis here, got axis=None for shape \(3, 3\)"),
        (lambda x: np.subtract.accumulate(x, dtype=float), r"np\.subtract\.accumulate of a Tensor takes no dtype="),
        (lambda x: np.add.at(np.zeros(3), [0, 0], x[0]), r"np\.add\.at into an array cannot be recorded.*Write into a Tensor"),
        (lambda x: np.add.at(np.zeros(3), [0, 0], [x[0], 1.0]), r"np\.add\.at of a list makes plain arrays"),
        (lambda x: np.exp(x, where=[True, False, True]), r"np\.exp with where= and without out= leaves all other elements to chance"),
        (lambda x: np.frompyfunc(lambda v: v, 1, 1)(x), r"made by np\.frompyfunc, runs Python code"),
        (lambda x: np.exp(x, out=np.zeros(3)), r"with out="),
        (lambda x: np.nextafter(x, 1.0), r"np\.nextafter has no differentiation rule"),
        (lambda x: np.spacing(x), r"np\.spacing has no differentiation rule"),
        (lambda x: np.i0(x), r"np\.i0 has no differentiation rule.*exp;"),
        (lambda x: np.fft.fft(x), r"np\.fft\.fft has no differentiation rule here, since it computes with complex numbers.*x @ np\.cos\(a\)"),
        (lambda x: np.fft.irfft(x), r"np\.fft\.irfft has no differentiation rule"),
        (lambda x: np.roots(x), r"np\.roots has no differentiation rule.*Newton"),
        (lambda x: np.linalg.eig(np.outer(x, x)), r"np\.linalg\.eig has no differentiation rule.*eigh has a rule for symmetric"),
    ],
)
def test_what_has_no_rule_says_so_and_what_to_do(call, says):
    with pytest.raises(NoRuleError, match=says):
        call(leaf([1.0, 2.0, 3.0]))


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda x: np.interp(x, [0.0, 1.0], [1.0, 2.0], period=1.0), DTypeError, r"period="),
        (lambda x: np.interp(x, [0.0, 1.0], [1.0]), ShapeError, r"places and heights of one length"),
        (lambda x: np.quantile(x, 1.5), OptionError, r"between 0 and 1"),
        (lambda x: np.quantile(x, 0.5, method="cubic"), OptionError, r"quantile: method must be one of 'linear'"),
        (lambda x: np.median(x[:0]), ShapeError, r"no elements"),
        (lambda x: np.average(x, weights=[1.0]), ShapeError, r"weights of shape \(1,\)"),
        (lambda x: np.choose([0, 5, 0], [x, x]), IndexingError, r"2 choices"),
        (lambda x: np.select([x > 1], [x, x]), ShapeError, r"one choice per condition"),
        (lambda x: np.cov(x, fweights=[1, 0.5, 3]), OptionError, r"cov: fweights holds 3 whole numbers, none of them negative, got \[1, 0\.5, 3\]"),
        (lambda x: np.cov(x, aweights=[1, 2]), OptionError, r"aweights holds 3 numbers"),
        (lambda x: np.cov(np.reshape(x, (1, 1, 3))), ShapeError, r"vectors and matrices, got shape \(1, 1, 3\)"),
        (lambda x: np.convolve(x, []), ShapeError, r"not empty"),
        (lambda x: np.linalg.matrix_power(x, 2), ShapeError, r"square"),
        (lambda x: np.linalg.norm(x, "nuc"), ShapeError, r"ord='nuc' over 1 axes"),
        (lambda x: np.linalg.norm(np.outer(x, x), 3), OptionError, r"of a matrix there are the orders"),
        (lambda x: np.geomspace(x, -1.0, 3), DTypeError, r"one sign"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(call, error, says):
    with pytest.raises(error, match=says):
        call(leaf([1.0, 2.0, 3.0]))


def test_every_function_of_numpy_works_or_refuses():
    """None goes past Tensors: what takes part in NumPy's dispatch is ours, or raises and says so."""
    protocols.load_all()
    x = leaf([1.0, 2.0])
    refused = []
    for module in (np, np.linalg, np.fft):
        for name in dir(module):
            f = getattr(module, name) if not name.startswith("_") else None
            if isinstance(f, np.ufunc) and f not in UFUNCS and f not in FUNCTIONS and f.signature is None:
                with pytest.raises((NoRuleError, TypeError)):
                    f(*[x] * f.nin)
                refused.append(name)
            elif f is not None and hasattr(f, "_implementation") and f not in FUNCTIONS:
                with pytest.raises(NoRuleError, match=r"has no differentiation rule"):
                    protocols.array_function(f, (x,), {})
                refused.append(name)
    integers = {"left_shift", "right_shift", "bitwise_left_shift", "bitwise_right_shift", "bitwise_count", "gcd", "lcm", "isnat"}
    dates = {"busday_count", "busday_offset", "is_busday", "datetime_as_string"}
    sets = {"unique", "unique_all", "unique_counts", "unique_inverse", "unique_values", "union1d", "intersect1d", "setdiff1d", "setxor1d", "in1d"}
    polynomials = {"poly", "polyadd", "polyder", "polydiv", "polyfit", "polyint", "polymul", "polysub", "roots"}
    complex_ = {name for name in dir(np.fft) if "fft" in name and "shift" not in name} | {"eig", "eigvals", "sort_complex"}
    rest = {
        "i0",
        "nextafter",
        "spacing",
        "packbits",
        "unpackbits",
        "qr",
        "safe_eval",
        "asfarray",
        "product",
        "msort",
        "cumproduct",
        "sometrue",
        "alltrue",
    }
    assert set(refused) <= integers | dates | sets | polynomials | complex_ | rest


def test_functions_that_few_programs_call_are_loaded_when_called():
    code = (
        "import sys, numpy as np, tensorviz as tv\n"
        "later = ('tensorviz.ops.statistics', 'tensorviz.ops.products')\n"
        "assert not any(m in sys.modules for m in later)\n"
        "x = tv.tensor([1.0, 4.0], requires_grad=True)\n"
        "np.median(x).backward()\n"
        "assert all(m in sys.modules for m in later)\n"
        "print(x.grad.tolist())\n"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[0.5, 0.5]\n"


def test_methods_that_few_programs_call_are_loaded_when_one_is_asked_for():
    code = (
        "import sys, numpy as np, tensorviz as tv\n"
        "x = tv.tensor([1.0, 0.0])\n"
        "assert np.asarray(x).sum() == 1 and not hasattr(x, '__nothing__')\n"
        "assert 'tensorviz.ops.methods' not in sys.modules\n"
        "before = dir(x)\n"
        "print(x.nonzero()[0].tolist(), hasattr(x, 'nothing'), 'compress' in dir(x), dir(x) == before)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[0] False True True\n"
    with pytest.raises(AttributeError, match="'Tensor' object has no attribute 'nothing'"):
        leaf([1.0]).nothing


EMPTY, INTS, NARROW = np.zeros((0, 3)), np.arange(6).reshape(2, 3), np.arange(6, dtype=np.float32).reshape(2, 3) ** 2


@pytest.mark.parametrize(
    ("f", "array"),
    [
        (lambda x: np.linalg.norm(x[0], 1), INTS),
        (lambda x: np.linalg.norm(x, np.inf), INTS),
        (lambda x: np.linalg.norm(x + 1, -1, axis=1), INTS),
        (lambda x: np.modf(x)[0], INTS),
        (lambda x: np.gradient(x, [0.0, 1.0, 3.0], axis=1), NARROW),
        (lambda x: np.quantile(x.T, 0.5, axis=0, keepdims=True), np.zeros((0, 3, 2))),
        (lambda x: np.trapezoid(x[0], np.cumsum(x, axis=1)) if hasattr(np, "trapezoid") else x, NARROW),
        (lambda x: x.astype(np.float32, copy=False), INTS),
        (lambda x: x[:, range(1, 3)], INTS),
    ],
)
def test_results_have_numpys_values_and_dtype(f, array):
    expected, found = f(array), f(tv.tensor(array))
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found.numpy(), expected)


@pytest.mark.skipif(not hasattr(np.linalg, "vector_norm"), reason="NumPy 1 has no vector_norm")
def test_norms_of_nothing_are_zero():
    x = tv.tensor(EMPTY, requires_grad=True)
    norms = [np.linalg.vector_norm(x, axis=0), np.linalg.vector_norm(x), np.linalg.norm(x), np.linalg.norm(x, 1), np.linalg.norm(x, 2)]
    norms += [np.linalg.norm(x, np.inf, keepdims=True), np.linalg.matrix_norm(x)]
    assert [n.tolist() for n in norms] == [[0, 0, 0], 0, 0, 0, 0, [[0]], 0]
    tv.backward(norms, [np.ones(n.shape) for n in norms])
    assert x.grad.shape == (0, 3)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.linalg.matrix_norm(x[0, 0]),
        lambda x: np.linalg.vector_norm(x, axis=2),
        lambda x: np.linalg.outer(x, x[0]),
        lambda x: np.vecdot(x, x[:, :1]),
        lambda x: np.vecdot(x, x[0, 0]),
        lambda x: np.matvec(x[0], x[0]),
        lambda x: np.vecmat(x[0], x[0]),
    ],
)
def test_shapes_that_numpy_refuses_are_refused(call):
    x = tv.tensor(NARROW, requires_grad=True)
    with pytest.raises((ShapeError, AttributeError)):
        call(x)


def test_a_cast_that_is_not_allowed_is_refused():
    with pytest.raises(DTypeError, match="casting='same_kind' does not turn dtype float64 into int64"):
        tv.tensor([1.5]).astype(np.int64, casting="same_kind")
    assert (tv.tensor([1.5]).nbytes, tv.tensor(np.float32([1.5])).itemsize) == (8, 4)
