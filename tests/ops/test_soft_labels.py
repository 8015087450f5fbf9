"""Cross entropy against probabilities: by hand, against labels, against PyTorch's rule for reductions, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.errors import DTypeError, OptionError, ShapeError


def leaf(data) -> tv.Tensor:
    return tv.tensor(data, requires_grad=True)


def test_a_row_of_equal_logits_costs_the_log_of_their_number_whatever_is_wanted():
    z, t = leaf([[0.0, 0.0]]), leaf([[0.25, 0.75]])
    loss = tv.cross_entropy(z, t)
    assert loss.item() == pytest.approx(math.log(2))
    loss.backward()
    np.testing.assert_allclose(z.grad, [[0.25, -0.25]])  # softmax - target
    np.testing.assert_allclose(t.grad, [[math.log(2)] * 2])


@pytest.mark.parametrize("options", [{}, {"reduction": "sum"}, {"reduction": "none"}, {"label_smoothing": 0.3}])
@pytest.mark.parametrize(("shape", "labels"), [((4, 3), [0, 2, 1, 2]), ((3,), 1), ((2, 3, 2), [[0, 2], [1, 1]])])
def test_certain_probabilities_are_labels(shape, labels, options):
    z = np.random.default_rng(0).normal(size=shape)
    one_hot = np.moveaxis(np.eye(3)[np.array(labels)], -1, 0 if len(shape) == 1 else 1)
    a, b = leaf(z), leaf(z)
    mine, theirs = tv.cross_entropy(a, one_hot, **options), tv.cross_entropy(b, np.array(labels), **options)
    np.testing.assert_allclose(mine.numpy(), theirs.numpy())
    mine.backward(np.ones(mine.shape))
    theirs.backward(np.ones(theirs.shape))
    np.testing.assert_allclose(a.grad, b.grad, atol=1e-15)


def test_probabilities_that_do_not_add_up_to_1_are_weights():
    z = leaf([0.0, math.log(3)])  # softmax 1/4, 3/4
    loss = tv.cross_entropy(z, [2.0, 4.0])
    loss.backward()
    np.testing.assert_allclose(z.grad, [6 / 4 - 2, 18 / 4 - 4])


def test_large_logits_do_not_overflow_and_float32_stays():
    z = leaf(np.float32([[1000.0, 0.0]]))
    loss = tv.nn.CrossEntropyLoss()(z, np.float32([[0.5, 0.5]]))
    assert loss.dtype == np.float32
    assert loss.item() == 500
    loss.backward()
    assert z.grad.dtype == np.float32
    assert tv.cross_entropy(leaf(np.float32([0.0, 1.0])), [0.5, 0.5]).dtype == np.float32


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (
            lambda z: tv.cross_entropy(z, np.ones((2, 3)), ignore_index=1),
            OptionError,
            r"ignore_index=1 leaves out rows by their label.*set their rows to 0",
        ),
        (
            lambda z: tv.cross_entropy(z, np.ones((3, 2))),
            DTypeError,
            r"must be integers, got dtype float64.*probabilities in the shape \(2, 3\) of the logits",
        ),
        (lambda z: tv.cross_entropy(z, np.ones((2, 3), bool)), DTypeError, r"must be integers, got dtype bool"),
        (lambda z: tv.nll_loss(z, np.ones((2, 3))), DTypeError, r"nll_loss: .*convert it with astype\(int\)$"),
        (lambda z: tv.cross_entropy(z[0, 0], 1.0), ShapeError, r"got a single number"),
    ],
)
def test_what_is_no_distribution_is_refused(call, error, says):
    with pytest.raises(error, match=says):
        call(leaf(np.zeros((2, 3))))
