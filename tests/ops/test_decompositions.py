"""Eigenvalues, singular values and the pseudoinverse: small cases by hand, stacks, gauge, and errors."""

from __future__ import annotations

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.errors import DTypeError, ShapeError


def leaf(data) -> tv.Tensor:
    return tv.tensor(data, requires_grad=True)


def test_an_eigenvalue_sends_the_square_of_its_eigenvector_back():
    A = leaf([[2.0, 1.0], [1.0, 2.0]])  # eigenvalues 1 along (1, -1) and 3 along (1, 1)
    values, _ = np.linalg.eigh(A)
    np.testing.assert_allclose(values.numpy(), [1, 3])
    values[1].backward()
    np.testing.assert_allclose(A.grad, [[0.5, 0.5], [0.5, 0.5]])
    A.zero_grad()
    np.linalg.eigvalsh(A)[0].backward()
    np.testing.assert_allclose(A.grad, [[0.5, -0.5], [-0.5, 0.5]], atol=1e-15)


def test_what_an_eigenvector_turns_by_is_the_gap_of_the_eigenvalues():
    A = leaf([[0.0, 0.0], [0.0, 4.0]])  # the first vector (±1, 0) moves by dA01 / (0 - 4) along the second
    _, vectors = np.linalg.eigh(A)
    (vectors[1, 0] / np.sign(vectors[0, 0])).backward()
    np.testing.assert_allclose(A.grad, [[0, -0.125], [-0.125, 0]])


def test_a_matrix_put_together_again_has_the_gradient_of_itself():
    rng = np.random.default_rng(0)
    g = rng.normal(size=(4, 3))
    A = leaf(rng.normal(size=(4, 3)))
    u, s, vh = np.linalg.svd(A, full_matrices=False)
    ((u * s) @ vh).backward(g)
    np.testing.assert_allclose(A.grad, g, atol=1e-12)
    S = leaf(np.diag([1.0, 3.0, 6.0]) + 0.1)
    values, vectors = np.linalg.eigh(S)
    ((vectors * values) @ vectors.T).backward(g[:3])
    np.testing.assert_allclose(S.grad, (g[:3] + g[:3].T) / 2, atol=1e-12)


def test_the_largest_singular_value_sends_back_the_product_of_its_vectors():
    A = leaf([[0.0, 2.0], [1.0, 0.0]])
    values = np.linalg.svd(A, compute_uv=False)
    assert values.tolist() == [2, 1]
    values[0].backward()
    np.testing.assert_allclose(A.grad, [[0, 1], [0, 0]])


def test_the_pseudoinverse_of_a_regular_matrix_is_differentiated_like_the_inverse():
    A, B = leaf([[2.0, 0.0], [1.0, 4.0]]), leaf([[2.0, 0.0], [1.0, 4.0]])
    np.linalg.pinv(A).sum().backward()
    np.linalg.inv(B).sum().backward()
    np.testing.assert_allclose(A.grad, B.grad, atol=1e-14)
    column = leaf([[2.0], [0.0]])  # a.T / |a|²: d/da0 of the second entry a1 / |a|² is 0, d/da1 is 1 / 4
    np.linalg.pinv(column)[0, 1].backward()
    np.testing.assert_allclose(column.grad, [[0], [0.25]], atol=1e-15)


def test_stacks_of_matrices_are_decomposed_one_by_one():
    rng = np.random.default_rng(1)
    stack = rng.normal(size=(2, 3, 3)) + np.diag([1.0, 4.0, 8.0])
    for f in (lambda x: np.linalg.eigh(x)[1] ** 3, np.linalg.eigvalsh, np.linalg.pinv, lambda x: np.linalg.svd(x)[0] ** 3):
        whole = leaf(stack)
        f(whole).sum().backward()
        for k in range(2):
            single = leaf(stack[k])
            f(single).sum().backward()
            np.testing.assert_allclose(whole.grad[k], single.grad, rtol=1e-9, atol=1e-12)


def test_vectors_that_the_matrix_does_not_determine_are_refused_or_get_no_finite_gradient():
    with pytest.raises(ShapeError, match="full_matrices=False"):
        np.linalg.svd(leaf(np.ones((3, 2))))
    A = leaf(np.eye(2))
    _, vectors = np.linalg.eigh(A)
    with np.errstate(invalid="ignore"):
        vectors.backward(np.array([[0.0, 1.0], [0.0, 0.0]]))
    assert not np.isfinite(A.grad).all()
    A.zero_grad()
    np.linalg.eigvalsh(A).sum().backward()
    assert A.grad.tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("f", [np.linalg.eigh, np.linalg.eigvalsh, np.linalg.svd, np.linalg.pinv])
def test_what_is_no_matrix_is_refused_with_its_shape(f):
    with pytest.raises(ShapeError, match=r"got shape \(3,\)"):
        f(leaf(np.ones(3)))


@pytest.mark.parametrize("f", [np.linalg.svd, np.linalg.pinv])
def test_the_shortcut_for_symmetric_matrices_is_refused(f):
    with pytest.raises(DTypeError, match="hermitian"):
        f(leaf(np.eye(2)), hermitian=True)


@pytest.mark.parametrize("triangle", ["L", "U"])
def test_eigenvectors_have_numpys_signs_whichever_triangle_is_named(triangle):
    m = np.random.default_rng(1).normal(size=(4, 4))
    a = m @ m.T
    for mine, theirs in zip(np.linalg.eigh(tv.tensor(a), triangle), np.linalg.eigh(a, triangle), strict=True):
        np.testing.assert_allclose(mine.numpy(), theirs, atol=1e-14)
