"""Linear algebra: small cases by hand, batches, singular matrices, and errors."""

from __future__ import annotations

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.errors import DTypeError, ShapeError


def leaf(data) -> tv.Tensor:
    return tv.tensor(data, requires_grad=True)


def test_the_inverse_sandwiches_the_gradient():
    A = leaf([[2.0, 0.0], [0.0, 4.0]])
    np.linalg.inv(A).backward(np.array([[1.0, 1.0], [1.0, 1.0]]))
    assert A.grad.tolist() == [[-0.25, -0.125], [-0.125, -0.0625]]


def test_a_solution_sends_the_transposed_solution_back():
    A, b = leaf([[2.0, 0.0], [0.0, 4.0]]), leaf([2.0, 2.0])
    x = np.linalg.solve(A, b)
    assert x.tolist() == [1, 0.5]
    x.backward(np.array([1.0, 1.0]))
    assert b.grad.tolist() == [0.5, 0.25]
    assert A.grad.tolist() == [[-0.5, -0.25], [-0.25, -0.125]]


def test_one_matrix_for_a_stack_of_right_sides_gets_the_sum():
    A, b = leaf(np.eye(2)), leaf(np.ones((3, 2, 1)))
    trace = np.linalg.solve(A, b).backward(np.ones((3, 2, 1)))
    assert trace.node(A).shares[0].summed_axes == (0,)
    assert A.grad.tolist() == [[-3, -3], [-3, -3]]
    v = leaf([1.0, 2.0])
    np.linalg.solve(np.stack([np.eye(2), 2 * np.eye(2)]), v).sum().backward()
    assert v.grad.tolist() == [1.5, 1.5]


def test_a_determinant_gives_each_element_its_cofactor_also_where_it_is_singular():
    A = leaf([[1.0, 2.0], [3.0, 4.0]])
    np.linalg.det(A).backward()
    np.testing.assert_allclose(A.grad, [[4, -3], [-2, 1]])
    S = leaf([[1.0, 2.0], [2.0, 4.0]])
    np.linalg.det(S).backward()
    assert S.grad.tolist() == [[4, -2], [-2, 1]]
    Z = leaf(np.zeros((3, 3)))
    np.linalg.det(Z).backward()
    assert Z.grad.tolist() == np.zeros((3, 3)).tolist()


def test_the_logarithm_of_a_determinant_has_the_inverse_as_gradient():
    A = leaf([[-2.0, 0.0], [0.0, 4.0]])
    sign, logabsdet = np.linalg.slogdet(A)
    assert sign.item() == -1
    assert not sign.requires_grad
    assert logabsdet.item() == pytest.approx(np.log(8))
    logabsdet.backward()
    assert A.grad.tolist() == [[-0.5, 0], [0, 0.25]]


def test_a_cholesky_factor_multiplies_back_and_has_a_symmetric_gradient():
    A = leaf([[4.0, 2.0], [2.0, 5.0]])
    L = np.linalg.cholesky(A)
    assert L.tolist() == [[2, 0], [1, 2]]
    assert tv.cholesky(A, upper=True).tolist() == [[2, 1], [0, 2]]
    # L00 = sqrt(A00): its derivative is 1 / (2 L00)
    L.backward(np.array([[1.0, 0.0], [0.0, 0.0]]))
    assert A.grad.tolist() == [[0.25, 0], [0, 0]]
    A.zero_grad()
    (L @ L.T).sum().backward()
    np.testing.assert_allclose(A.grad, np.ones((2, 2)))


def test_stacks_of_matrices_are_differentiated_one_by_one():
    rng = np.random.default_rng(0)
    stack = rng.uniform(-1, 1, (2, 3, 3)) + 4 * np.eye(3)
    stack = stack @ stack.swapaxes(-1, -2)
    for f in (np.linalg.inv, np.linalg.det, np.linalg.cholesky, lambda x: np.linalg.slogdet(x)[1]):
        whole = leaf(stack)
        f(whole).sum().backward()
        for k in range(2):
            single = leaf(stack[k])
            f(single).sum().backward()
            np.testing.assert_allclose(whole.grad[k], single.grad, rtol=1e-10)


@pytest.mark.parametrize("f", [np.linalg.inv, np.linalg.det, np.linalg.slogdet, np.linalg.cholesky, lambda a: np.linalg.solve(a, np.ones(2))])
@pytest.mark.parametrize("shape", [(2, 3), (3,), ()])
def test_what_is_no_square_matrix_is_refused_with_its_shape(f, shape):
    with pytest.raises(ShapeError, match=rf"square matrix \(\.\.\., n, n\), got shape \({', '.join(map(str, shape))}"):
        f(leaf(np.ones(shape)))


def test_a_singular_matrix_raises_numpys_own_error_with_the_op_and_the_shape():
    with pytest.raises(np.linalg.LinAlgError, match=r"inv of operands of shape \(2, 2\): Singular matrix"):
        np.linalg.inv(leaf(np.ones((2, 2))))
    with pytest.raises(np.linalg.LinAlgError, match="symmetric and positive definite"):
        np.linalg.cholesky(leaf([[1.0, 2.0], [2.0, 1.0]]))
    with pytest.raises(ShapeError, match=r"solve: operands of shape \(2, 2\) and \(3,\)"):
        np.linalg.solve(leaf(np.eye(2)), np.ones(3))
    with pytest.raises(DTypeError, match="int64"):
        tv.cholesky(np.eye(2, dtype=np.int64))


def test_plain_arrays_come_back_plain_and_float32_stays():
    A = np.eye(2)
    for y in (tv.inv(A), tv.solve(A, A), tv.cholesky(A)):
        assert type(y) is np.ndarray
    x = tv.tensor(np.eye(2, dtype=np.float32) * 2, requires_grad=True)
    for f in (tv.inv, tv.det, tv.cholesky, lambda a: tv.solve(a, a), lambda a: tv.slogdet(a).logabsdet):
        y = f(x)
        assert y.dtype == np.float32
        y.sum().backward()
        assert x.grad.dtype == np.float32


def test_a_dtype_without_linear_algebra_is_refused_without_advice_on_shapes_and_values():
    with pytest.raises(DTypeError, match=r"^inv: operands of shape \(2, 2\) and dtype float16: .*unsupported in linalg$"):
        np.linalg.inv(leaf(np.eye(2, dtype=np.float16)))
