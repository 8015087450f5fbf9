"""The QR decomposition: small cases by hand, shapes, stacks, against PyTorch, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.errors import LinearAlgebraError, OptionError, ShapeError


def leaf(data) -> tv.Tensor:
    return tv.tensor(data, requires_grad=True)


def test_the_factor_of_a_single_column_is_its_length():
    a = leaf([[3.0], [4.0]])
    q, r = np.linalg.qr(a)
    sign = np.sign(r.item())  # LAPACK's choice
    np.testing.assert_allclose(r.numpy() * sign, [[5]])
    (r * sign).backward(np.ones((1, 1)))
    np.testing.assert_allclose(a.grad, [[0.6], [0.8]])  # the length grows along the column
    a.zero_grad()
    q.backward(np.array([[sign], [0.0]]))
    np.testing.assert_allclose(a.grad, [[0.64 / 5], [-0.48 / 5]])  # the direction turns across it: (1 - q q.T) / 5


@pytest.mark.parametrize("shape", [(4, 3), (3, 3), (2, 4), (1, 1), (2, 3, 2), (2, 2, 3)])
def test_a_matrix_put_together_again_has_the_gradient_of_itself(shape):
    rng = np.random.default_rng(0)
    g = rng.normal(size=shape)
    a = leaf(rng.normal(size=shape))
    q, r = np.linalg.qr(a)
    np.testing.assert_allclose((q @ r).numpy(), a.numpy())
    (q @ r).backward(g)
    np.testing.assert_allclose(a.grad, g, atol=1e-12)


@pytest.mark.parametrize("shape", [(4, 3), (3, 3), (2, 4), (2, 3, 2)])
@pytest.mark.parametrize("mode", ["reduced", "r"])
def test_values_and_gradients_are_those_of_differences(shape, mode):
    a = np.random.default_rng(1).normal(size=shape)
    found = np.linalg.qr(leaf(a), mode)
    want = np.linalg.qr(a, mode)
    for mine, theirs in zip(found, want, strict=True) if mode == "reduced" else [(found, want)]:
        np.testing.assert_allclose(mine.numpy(), theirs, atol=1e-13)
    assert tv.gradcheck(lambda x: np.linalg.qr(x, mode) if mode == "r" else sum(np.sum(p**3) for p in np.linalg.qr(x)), a)
    assert tv.gradcheck(tv.grad(lambda x: np.sum(np.linalg.qr(x)[0][..., 0] ** 3)), a)


def test_complete_is_reduced_where_there_are_no_further_columns():
    a = np.random.default_rng(2).normal(size=(2, 3))
    for mine, theirs in zip(np.linalg.qr(leaf(a), "complete"), np.linalg.qr(a, "complete"), strict=True):
        np.testing.assert_allclose(mine.numpy(), theirs, atol=1e-14)


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (
            lambda: np.linalg.qr(leaf(np.ones((3, 2))), "complete"),
            LinearAlgebraError,
            r'mode="complete" has columns that the matrix does not determine',
        ),
        (lambda: np.linalg.qr(leaf(np.eye(2)), "raw"), LinearAlgebraError, r'mode="reduced"'),
        (lambda: np.linalg.qr(leaf(np.eye(2)), "full"), OptionError, r"qr: mode must be one of 'reduced', 'complete', 'r', 'raw', got 'full'"),
        (lambda: np.linalg.qr(leaf([1.0])), ShapeError, r"got shape \(1,\)"),
        (lambda: np.linalg.qr(leaf([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0], [3.0, 6.0, 1.0]])), LinearAlgebraError, r"column 1 depends on those before it"),
        (lambda: np.linalg.qr(leaf(np.zeros((2, 2)))), LinearAlgebraError, r"column 0 depends"),
        (lambda: tv.qr(leaf([[1.0, 2.0, 5.0], [2.0, 4.0, 6.0]])), LinearAlgebraError, r"column 1 depends"),
    ],
)
def test_what_has_no_gradient_is_refused(call, error, says):
    with pytest.raises(error, match=says):
        call()


def test_dependent_columns_are_decomposed_where_no_gradient_is_wanted():
    q, r = tv.qr(tv.tensor([[1.0, 2.0], [2.0, 4.0]]))
    np.testing.assert_allclose((q @ r).numpy(), [[1, 2], [2, 4]])
