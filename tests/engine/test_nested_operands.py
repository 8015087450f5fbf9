"""Lists with Tensors inside as operands: NumPy would turn them into numbers without asking the Tensors, so they are stacked first, or refused."""

from __future__ import annotations

import numpy as np
import pytest

import tensorviz as tv
from tensorviz import nn
from tensorviz.errors import DTypeError

COUNTS = np.array([[1.0, 2.0], [3.0, 4.0]])


@pytest.mark.parametrize(
    "f",
    [
        lambda a, b: np.ones(2) * 2.0 + tv.tensor([0.0, 0.0]) * [a, b],
        lambda a, b: [a, b] @ tv.tensor(COUNTS),
        lambda a, b: tv.tensor(COUNTS) ** [a, 2.0],
        lambda a, b: np.maximum(tv.tensor(COUNTS), [a, b]),
        lambda a, b: tv.exp([a, b]),
        lambda a, b: tv.sum([[a, b], [b, a]], axis=1),
        lambda a, b: tv.softmax([a, b]),
        lambda a, b: tv.logsumexp((a, b)),
        lambda a, b: tv.norm([a, b, 1.0]),
        lambda a, b: tv.where(COUNTS > 2, [a, b], 0.0),
        lambda a, b: tv.einsum("i,ij", [a, b], COUNTS),
        lambda a, b: tv.reshape([a, b], (2, 1)),
        lambda a, b: tv.solve(COUNTS, [a, b]),
        lambda a, b: tv.cross_entropy([[a, b], [b, a]], [0, 1]),
        lambda a, b: tv.mse_loss([a, b], [1.0, 2.0]),
        lambda a, b: tv.layer_norm([a, b, 3.0], 3),
        lambda a, b: tv.batch_norm([[a], [b]], training=True, eps=0.5),
        lambda a, b: tv.linear([a, b], COUNTS),
        lambda a, b: tv.scaled_dot_product_attention(COUNTS, COUNTS, COUNTS, [[a, b], [b, a]]),
        lambda a, b: tv.embedding([1, 0], [[a], [b]]),
        lambda a, b: np.append(tv.tensor([1.0]), [a, b]),
        lambda a, b: np.interp(tv.tensor([1.5]), [1.0, 2.0], [a, b]),
        lambda a, b: np.copysign([a, b], tv.tensor([-1.0, 1.0])),
        lambda a, b: tv.custom_op("twice", lambda x: 2 * x, lambda g, x: (2 * g,))([a, b]),
        lambda a, b: nn.Linear(2, 1, rng=0)([a, b]),
    ],
)
def test_a_list_with_tensors_inside_is_one_operand_through_which_the_gradient_goes(f):
    a, b = tv.tensor(1.5, requires_grad=True), tv.tensor(2.5, requires_grad=True)
    y = f(a, b)
    y.backward(np.arange(1.0, y.size + 1).reshape(y.shape))
    x = tv.tensor([1.5, 2.5], requires_grad=True)
    z = f(x[0], x[1])
    np.testing.assert_array_equal(y.numpy(), z.numpy())
    z.backward(np.arange(1.0, y.size + 1).reshape(y.shape))
    expected = np.array([0.0 if t.grad is None else t.grad for t in (a, b)])
    np.testing.assert_array_equal(x.grad, expected)
    numeric = [
        np.sum(np.arange(1.0, y.size + 1).reshape(y.shape) * (np.asarray(f(*(p + h * d))) - np.asarray(f(*(p - h * d))))) / (2 * h)
        for p, h in [(np.array([1.5, 2.5]), 1e-6)]
        for d in np.eye(2)
    ]
    np.testing.assert_allclose(expected, numeric, rtol=1e-7, atol=1e-8)


def test_a_list_assigned_to_elements_passes_its_gradient_and_is_refused_where_that_would_be_lost():
    a = tv.tensor(3.0, requires_grad=True)
    y = tv.tensor([1.0, 1.0, 1.0])
    y[1:] = [a, a * 2.0]
    (y * [1.0, 10.0, 100.0]).sum().backward()
    assert a.grad == 210
    whole = tv.tensor([1, 1])
    with pytest.raises(DTypeError, match="gradient of v would be lost"):
        whole[:] = [a, a]


def test_the_record_shows_how_the_list_was_put_together():
    a = tv.tensor(3.0, requires_grad=True)
    trace = (tv.tensor([1.0, 2.0]) * [a, 4.0]).sum().backward()
    assert [n.op for n in trace.nodes if n.kind == "op"] == ["stack", "mul", "sum"]


@pytest.mark.parametrize("f", [lambda x, m: x * m, lambda x, m: m * x, lambda x, m: np.add(x, m), lambda x, m: m @ x])
def test_a_matrix_object_in_which_times_means_another_product_is_refused(f):
    with pytest.warns(PendingDeprecationWarning):
        m = np.matrix([[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(DTypeError, match=r"np\.matrix.*np\.asarray"):
        f(tv.tensor(COUNTS, requires_grad=True), m)
