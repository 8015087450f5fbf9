"""Polynomials by their coefficients, and sets: what NumPy makes of arrays, with gradients."""

from __future__ import annotations

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.errors import DTypeError, OptionError, ShapeError


def leaf(data) -> tv.Tensor:
    return tv.tensor(data, requires_grad=True)


P, Q = np.array([2.0, -1.0, 0.5, 3.0]), np.array([1.5, -2.0])
POLYNOMIALS = {
    "product": lambda p, q: np.polymul(p, q),
    "product with zeros in front": lambda p, q: np.polymul(np.concatenate([[0.0, 0.0], p]), q),
    "sum": lambda p, q: np.polyadd(q, p),
    "difference": lambda p, q: np.polysub(p, q),
    "quotient": lambda p, q: np.polydiv(p, q)[0],
    "rest": lambda p, q: np.polydiv(p, q)[1] * q[1],
    "derivative": lambda p, q: np.polyder(p) * q[0],
    "second derivative": lambda p, q: np.polyder(p, 2) * q,
    "derivative of all": lambda p, q: np.concatenate([np.polyder(p, 9), q * p[:2]]),
    "integral": lambda p, q: np.polyint(p, k=q[0]),
    "integrals": lambda p, q: np.polyint(p, 2, q),
    "zeros": lambda p, q: np.poly(p) * q[0],
    "value": lambda p, q: np.polyval(p, q),
    "poly1d at": lambda p, q: np.poly1d([1.0, 2.0, 3.0])(p) * q[0],
}


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_a_function_of_coefficients_is_numpys(name):
    f = POLYNOMIALS[name]
    want = f(P, Q)
    found = f(leaf(P), leaf(Q))
    assert found.dtype == want.dtype
    np.testing.assert_allclose(found.numpy(), want, atol=1e-14)
    assert tv.gradcheck(f, P, Q)


@pytest.mark.parametrize("p", [[1, 2, 3], [2.0], [0.0, 0.0]])
def test_coefficients_that_are_whole_or_few_keep_numpys_dtypes(p):
    for f in (np.polyder, np.polyint, np.poly, lambda x: np.polymul(x, [1, 2]), lambda x: np.polyadd(x, 1.0)):
        want, found = f(np.array(p)), f(tv.tensor(p))
        assert np.asarray(found).dtype == want.dtype
        assert np.asarray(found).tolist() == want.tolist()


FITS = {
    "line": lambda x, y, w: np.polyfit(x, y, 1) * w[:2],
    "weighted": lambda x, y, w: np.polyfit(x, y, 2, w=w),
    "several": lambda x, y, w: np.polyfit(x, np.stack([y, y * w], axis=1), 1),
    "all": lambda x, y, w: np.polyfit(x, y, 1, full=True)[1] * w[:1],
    "covariance": lambda x, y, w: np.polyfit(x, y, 1, w=w, cov=True)[1],
    "covariances": lambda x, y, w: np.polyfit(x, np.stack([y, y * w], axis=1), 1, cov=True)[1],
    "unscaled": lambda x, y, w: np.polyfit(x, np.stack([y, w], axis=1), 1, cov="unscaled")[1] * np.sum(y),
}


@pytest.mark.parametrize("name", FITS)
def test_a_fit_is_numpys_and_changes_with_places_heights_and_weights(name):
    rng = np.random.default_rng(8)
    x, y, w = np.linspace(0, 2, 6), rng.normal(size=6), rng.uniform(0.5, 2, 6)
    want = FITS[name](x, y, w)
    np.testing.assert_allclose(FITS[name](leaf(x), leaf(y), leaf(w)).numpy(), want, rtol=1e-8, atol=1e-12)
    assert tv.gradcheck(FITS[name], x, y, w)


def test_the_slope_of_a_line_through_two_points_is_their_difference():
    y = leaf([1.0, 4.0])
    slope, _ = np.polyfit([0.0, 3.0], y, 1)
    slope.backward()
    assert slope.item() == pytest.approx(1)
    np.testing.assert_allclose(y.grad, [-1 / 3, 1 / 3])


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda x: np.polyfit(x, x, [1, 2]), DTypeError, r"degree as one whole number"),
        (lambda x: np.polyfit(x, x, -1), OptionError, r"deg must not be negative"),
        (lambda x: np.polyfit(x, x[:2], 1), ShapeError, r"got shapes \(3,\) and \(2,\)"),
        (lambda x: np.polyfit(x, x, 1, w=[1.0]), ShapeError, r"one weight for each of 3 points"),
        (lambda x: np.polyfit(x, x, 2, cov=True), OptionError, r"more than 3 points, got 3; give cov='unscaled'"),
        (lambda x: np.polyint(x, 2, k=[1.0, 2.0, 3.0]), ShapeError, r"one constant for each of 2 integrals"),
        (lambda x: np.poly(np.outer(x, x)), ShapeError, r"eigvalsh"),
        (lambda x: np.polymul(np.outer(x, x), x), ShapeError, r"got shape \(3, 3\)"),
        (lambda x: np.polynomial.polynomial.polyval(2.0, x), TypeError, r"write np\.polyval\(c\[::-1\], x\)"),
    ],
)
def test_what_does_not_fit_is_refused(call, error, says):
    with pytest.raises(error, match=says):
        call(leaf([1.0, 2.0, 4.0]))


# ---- sets --------------------------------------------------------------------------------------------------------


def test_of_equal_elements_the_first_gets_the_gradient():
    x = leaf([3.0, 1.0, 3.0, 2.0])
    found, first, back, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    assert found.tolist() == [1, 2, 3]
    assert first.tolist() == [1, 3, 0]
    assert back.tolist() == [2, 0, 2, 1]
    assert counts.tolist() == [1, 1, 2]
    found.backward(np.array([10.0, 20.0, 30.0]))
    assert x.grad.tolist() == [30, 10, 0, 20]


def test_different_rows_keep_their_gradient():
    x = leaf([[1.0, 2.0], [0.0, 5.0], [1.0, 2.0]])
    rows = np.unique(x, axis=0)
    assert rows.tolist() == [[0, 5], [1, 2]]
    rows.backward(np.ones((2, 2)))
    assert x.grad.tolist() == [[1, 1], [1, 1], [0, 0]]


def test_sets_of_numbers_are_numpys():
    a, b = np.array([5.0, 1.0, 3.0, 3.0]), np.array([3.0, 8.0])
    x, y = leaf(a), leaf(b)
    for f in (np.union1d, np.intersect1d, np.setdiff1d, np.setxor1d):
        assert f(x, y).tolist() == f(a, b).tolist()
        assert f(x, b).requires_grad
    assert np.setdiff1d(x[:3], b, assume_unique=True).tolist() == [5, 1]
    np.setxor1d(x, y).backward(np.array([1.0, 2.0, 3.0]))  # of 1, 5 and 8
    assert x.grad.tolist() == [2, 1, 0, 0]
    assert y.grad.tolist() == [0, 3]


def test_labels_are_told_apart():
    labels = tv.tensor([2, 0, 2])
    assert np.unique(labels).tolist() == [0, 2]
    assert [int(k) for k in np.unique(labels)] == [0, 2]
    values, counts = np.unique(labels, return_counts=True)
    assert (values.tolist(), counts.tolist()) == ([0, 2], [1, 2])
    assert np.intersect1d(labels, [2, 7]).tolist() == [2]
    if hasattr(np, "unique_counts"):
        assert np.unique_counts(labels).counts.tolist() == [1, 2]
        assert sorted(np.unique_values(leaf([2.0, 1.0])).tolist()) == [1, 2]
