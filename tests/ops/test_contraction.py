"""Products that sum over axes: every combination of ranks, against sums written out with einsum or by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tensorviz as tv
from tensorviz.errors import DTypeError, ShapeError


def leaf(*shape: int, start: float = 1.0) -> tv.Tensor:
    return tv.tensor(np.arange(start, start + np.prod(shape)).reshape(shape), requires_grad=True)


def test_the_product_of_vectors_is_a_scalar_and_swaps_the_operands():
    a, b = leaf(3), leaf(3, start=4.0)
    y = a @ b
    assert y.shape == ()
    y.backward(2.0)
    assert y.item() == 32
    assert a.grad.tolist() == [8, 10, 12]
    assert b.grad.tolist() == [2, 4, 6]


def test_a_square_matrix_times_a_vector_gives_an_outer_product():
    A = tv.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    b = tv.tensor([5.0, 6.0], requires_grad=True)
    (A @ b).backward(np.array([1.0, 10.0]))
    assert A.grad.tolist() == [[5, 6], [50, 60]]
    assert b.grad.tolist() == [31, 42]


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_matmul_of_any_ranks_has_the_gradient_of_the_sum_written_out(data):
    n, k, m = (data.draw(st.integers(0, 3)) for _ in range(3))
    batch = data.draw(st.lists(st.integers(1, 3), max_size=2))
    stacks = []
    for _ in range(2):
        kept = batch[data.draw(st.integers(0, len(batch))) :]
        stacks.append([s if data.draw(st.booleans()) else 1 for s in kept])
    left = data.draw(st.booleans())
    right = data.draw(st.booleans())
    rng = np.random.default_rng(0)
    a0 = rng.standard_normal((*stacks[0], n, k) if left else (k,))
    b0 = rng.standard_normal((*stacks[1], k, m) if right else (k,))
    a, b = tv.tensor(a0, requires_grad=True), tv.tensor(b0, requires_grad=True)
    y = a @ b
    assert np.array_equal(y.numpy(), a0 @ b0)
    g = rng.standard_normal(y.shape)
    trace = y.backward(g)
    # the definition: every product a[..., i, k] * b[..., k, j] adds to y[..., i, j]
    full_a = a0 if left else a0[None]
    full_b = b0 if right else b0[:, None]
    full_g = g.reshape(np.matmul(full_a, full_b).shape)
    wide_a = np.broadcast_to(full_a, full_g.shape[:-2] + full_a.shape[-2:])
    wide_b = np.broadcast_to(full_b, full_g.shape[:-2] + full_b.shape[-2:])
    expected_a = np.einsum("...ij,...kj->...ik", full_g, wide_b)
    expected_b = np.einsum("...ik,...ij->...kj", wide_a, full_g)
    np.testing.assert_allclose(a.grad, summed_to(expected_a, full_a.shape).reshape(a0.shape), atol=1e-12)
    np.testing.assert_allclose(b.grad, summed_to(expected_b, full_b.shape).reshape(b0.shape), atol=1e-12)
    for share in (*trace.node(0).shares, *trace.node(1).shares):
        assert share.value.shape == (a0.shape, b0.shape)[share.target]


def summed_to(x, shape):
    x = x.sum(axis=tuple(range(x.ndim - len(shape))))
    axes = tuple(i for i, s in enumerate(shape) if s == 1 and x.shape[i] != 1)
    return x.sum(axis=axes, keepdims=True)


@pytest.mark.parametrize("stack", [(5, 30, 40), (2, 5, 20, 40), (300, 1, 40)])
@pytest.mark.parametrize("turned", [False, True])
def test_a_large_stack_times_a_matrix_is_the_product_of_each(stack, turned):
    rng = np.random.default_rng(0)
    a = tv.tensor(rng.standard_normal(stack[::-1] if turned else stack), requires_grad=True)
    b = tv.tensor(rng.standard_normal((40, 7)), requires_grad=True)
    for _ in range(2):  # the first call of an operator is another one
        a.grad = b.grad = None
        y = (np.transpose(a) if turned else a) @ b
        g = rng.standard_normal(y.shape)
        y.backward(g)
        A = a.numpy().T if turned else a.numpy()
        np.testing.assert_allclose(y.numpy(), [[row @ b.numpy() for row in M] for M in A], atol=1e-12)
        expected = g @ b.numpy().T
        np.testing.assert_allclose(a.grad, expected.T if turned else expected, atol=1e-12)
        np.testing.assert_allclose(b.grad, np.tensordot(A, g, (leading := tuple(range(A.ndim - 1)), leading)), atol=1e-10)
    with pytest.raises(ShapeError, match=r"matmul: operands of shape .* do not fit"):
        a @ leaf(39, 7)


def test_the_record_of_a_stacked_product_shows_the_axes_summed():
    a, b = leaf(2, 3), leaf(4, 3, 2)
    trace = (a @ b).backward(np.ones((4, 2, 2)))
    share = trace.node(a).shares[0]
    assert share.local.shape == (4, 2, 3)
    assert share.summed_axes == (0,)


@pytest.mark.parametrize("call", [lambda a, b: a @ b, np.matmul, tv.matmul, lambda a, b: a.matmul(b), lambda a, b: a.numpy() @ b])
def test_shapes_that_do_not_fit_are_named(call):
    with pytest.raises(ShapeError, match=r"matmul: operands of shape \(2, 3\) and \(2, 3\) do not fit.*last axis of a.*a @ b\.T"):
        call(leaf(2, 3), leaf(2, 3))


def test_a_matrix_product_with_a_number_is_refused():
    with pytest.raises(ShapeError, match=r"matmul: operands of shape \(2, 2\) and \(\)"):
        leaf(2, 2) @ 3.0


def test_arrays_on_either_side_are_constants():
    x = leaf(2, 2)
    W = np.array([[0.0, 1.0], [1.0, 0.0]])
    (W @ x + x @ W).sum().backward()
    assert x.grad.tolist() == [[2, 2], [2, 2]]
    assert type(tv.matmul(W, W)) is np.ndarray


def test_float32_stays_float32():
    a = tv.tensor(np.ones((2, 3), np.float32), requires_grad=True)
    for y in (a @ a.T, np.einsum("ij,ij->", a, a), np.outer(a, a), np.tensordot(a, a, 2), np.dot(a, a.T), np.inner(a, a)):
        assert y.dtype == np.float32
        y.sum().backward()
        assert a.grad.dtype == np.float32


def test_dot_follows_numpy_through_all_ranks():
    x, y = leaf(2, 3), leaf(3)
    assert np.dot(x, y).tolist() == [14, 32]
    assert x.dot(2.0).shape == (2, 3)
    deep = leaf(2, 2, 3)
    z = np.dot(deep, leaf(4, 3, 2))
    assert z.shape == (2, 2, 4, 2)
    v = leaf(3)
    v.dot(np.array([1.0, 10.0, 100.0])).backward()
    assert v.grad.tolist() == [1, 10, 100]
    assert np.vdot(leaf(2), leaf(2)).item() == 5


def test_outer_and_inner_give_each_operand_the_other():
    a, b = leaf(2), leaf(3)
    np.outer(a, b).backward(np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 10.0]]))
    assert a.grad.tolist() == [1, 30]
    assert b.grad.tolist() == [1, 0, 20]
    c, d = leaf(2, 2), leaf(2)
    np.inner(c, d).backward(np.array([1.0, 10.0]))
    assert c.grad.tolist() == [[1, 2], [10, 20]]
    assert d.grad.tolist() == [31, 42]


def test_tensordot_takes_pairs_of_axes_in_any_order():
    a, b = leaf(2, 3, 4), leaf(4, 5, 3)
    y = np.tensordot(a, b, axes=([2, 1], [0, 2]))
    g = np.arange(10.0).reshape(2, 5)
    y.backward(g)
    np.testing.assert_allclose(a.grad, np.einsum("ij,kjl->ilk", g, b.numpy()))
    np.testing.assert_allclose(b.grad, np.einsum("ij,ilk->kjl", g, a.numpy()))
    with pytest.raises(ShapeError, match=r"tensordot: operands of shape \(2, 3, 4\) and \(4, 5, 3\)"):
        np.tensordot(a, b, axes=([0], [0]))
    assert np.tensordot(a, b, axes=(2, 0)).shape == (2, 3, 5, 3)
    with pytest.raises(ShapeError, match="name as many of a as of b"):
        np.tensordot(a, b, axes=([0, 1], [0]))
    with pytest.raises(ShapeError, match="not all there"):
        np.tensordot(a, b, axes=([3], [0]))


# ---- einsum ------------------------------------------------------------------------------------------------------


def test_a_repeated_letter_reads_and_writes_the_diagonal():
    x = tv.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    np.einsum("ii->", x).backward(3.0)
    assert x.grad.tolist() == [[3, 0], [0, 3]]
    x.zero_grad()
    np.einsum("ii->i", x).backward(np.array([np.nan, 1.0]))
    np.testing.assert_array_equal(x.grad, [[np.nan, 0], [0, 1]])


def test_einsum_with_a_diagonal_of_one_operand():
    W = tv.tensor([[1.0, 5.0], [6.0, 2.0]], requires_grad=True)
    z = tv.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
    np.einsum("nd,nn->d", z, W).backward(np.array([1.0, 10.0, 100.0]))
    assert W.grad.tolist() == [[321, 0], [0, 654]]
    assert z.grad.tolist() == [[1, 10, 100], [2, 20, 200]]


def test_an_implicit_result_has_the_letters_that_occur_once_in_order():
    a, b = leaf(2, 3), leaf(3, 2)
    assert np.einsum("ba", a).tolist() == a.numpy().T.tolist()
    assert np.einsum("ij,jk", a, b).tolist() == (a.numpy() @ b.numpy()).tolist()
    assert np.einsum("...j,j...->...", a, b).shape == (2,)


def test_einsum_in_the_form_with_numbers_is_the_same():
    a, b = leaf(2, 3), leaf(3, 2)
    y = np.einsum(a, [0, 1], b, [1, 2], [0, 2])
    assert y.tolist() == (a.numpy() @ b.numpy()).tolist()
    y.sum().backward()
    assert a.grad.tolist() == [[3, 7, 11], [3, 7, 11]]
    assert np.einsum(leaf(2, 3), [..., 0]).shape == (2, 3)


def test_ellipses_broadcast_and_the_engine_sums_what_grew():
    a, b = leaf(2, 1, 3), leaf(4, 3)
    trace = np.einsum("...i,...i->...", a, b).backward(np.ones((2, 4)))
    assert trace.node(a).shares[0].summed_axes == (1,)
    assert trace.node(b).shares[0].summed_axes == ()  # its sum over the first axis is part of the contraction
    np.testing.assert_allclose(a.grad[:, 0], [[22, 26, 30], [22, 26, 30]])


def test_einsum_saves_the_other_operands_only():
    x, c = leaf(2, 2), np.ones((2, 2))
    trace = np.einsum("ij->ji", x).backward(np.ones((2, 2)))
    assert dict(trace.nodes[-1].saved) == {}
    trace = np.einsum("ij,jk->ik", x, c).backward(np.ones((2, 2)))
    assert list(trace.nodes[-1].saved) == ["xs[1]"]


@pytest.mark.parametrize(
    ("subscripts", "shapes", "says"),
    [
        ("ij,jk->ik", [(2, 3)], "names 2 operand"),
        ("ijk->i", [(2, 3)], "name 3 axes, but the operand has 2"),
        ("i->i", [(2, 3)], r"write '\.\.\.'"),
        ("ij->ii", [(2, 2)], "stands there once"),
        ("ij->k", [(2, 2)], "belongs to an operand"),
        ("i1->i", [(2, 2)], "something other than letters"),
        ("ij,jk->ik", [(2, 3), (2, 3)], r"einsum: operands of shape \(2, 3\) and \(2, 3\)"),
    ],
)
def test_subscripts_that_do_not_fit_are_explained(subscripts, shapes, says):
    with pytest.raises(ShapeError, match=says):
        np.einsum(subscripts, *[leaf(*s) for s in shapes])


def test_einsum_refuses_what_a_record_cannot_hold():
    with pytest.raises(DTypeError, match="out="):
        np.einsum("i->", leaf(2), out=np.zeros(()))
    with pytest.raises(DTypeError, match="dtype="):
        np.einsum("i->", leaf(2), dtype=np.float32)
    assert np.einsum("ij,jk,kl->il", leaf(2, 2), leaf(2, 2), leaf(2, 2), optimize=True).shape == (2, 2)


def test_a_large_stack_of_matrices_without_columns_has_a_product_of_zeros_and_empty_gradients():
    a, b = tv.tensor(np.zeros((64, 32, 0)), requires_grad=True), tv.tensor(np.zeros((0, 24)), requires_grad=True)
    y = a @ b
    y.backward(np.ones(y.shape))
    assert not y.numpy().any()
    assert (y.shape, a.grad.shape, b.grad.shape) == ((64, 32, 24), (64, 32, 0), (0, 24))
