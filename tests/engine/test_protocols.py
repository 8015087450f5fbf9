"""How NumPy hands its functions over, and what it is told where there is no rule."""

from __future__ import annotations

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.errors import NoRuleError, TensorvizError


def leaf(data) -> tv.Tensor:
    return tv.tensor(data, requires_grad=True)


@pytest.mark.parametrize(
    "make",
    [
        lambda x: np.float64(3.0) * x,
        lambda x: np.ones(2) + x,
        lambda x: np.tanh(x),
        lambda x: np.maximum(np.zeros(2), x),
        lambda x: np.add.reduce(x),
        lambda x: np.where(np.array([True, False]), x, 0.0),
        lambda x: np.concatenate([np.ones(1), x]),
        lambda x: np.stack([x, np.ones(2)]),
        lambda x: np.sum(x, axis=0),
        lambda x: np.linalg.norm(x),
        lambda x: 2.0**x,
        lambda x: np.int64(2) / x,
        lambda x: [1.0, 2.0] @ x,
    ],
)
def test_numpys_functions_give_recorded_tensors(make):
    x = leaf([1.0, 2.0])
    y = make(x)
    assert isinstance(y, tv.Tensor)
    assert y.requires_grad
    y.backward(np.ones(y.shape))
    assert x.grad is not None


def test_python_scalars_are_weak_and_numpy_scalars_are_not_stronger_than_arrays():
    x = tv.tensor(np.float32([1.0, 2.0]), requires_grad=True)
    for y in (x * 2.0, 2 + x, x**2, x / 3, True * x, 1.0 - x):
        assert y.dtype == np.float32
    assert (tv.tensor([1, 2]) / 2).dtype == np.float64


def test_a_function_without_a_rule_is_an_error_that_names_it_and_the_nearest():
    x = leaf([1.0, 2.0])
    with pytest.raises(NoRuleError, match=r"np\.nextafter has no differentiation rule.*nearest function that has one is \w+"):
        np.nextafter(x, 2.0)
    with pytest.raises(NoRuleError, match=r"np\.linalg\.eigvals .*eigvalsh has a rule for symmetric"):
        np.linalg.eigvals(leaf(np.eye(2)))
    with pytest.raises(NoRuleError, match=r"np\.nextafter"):
        np.nextafter.outer(x, x)
    with pytest.raises(TypeError, match="i0"):
        np.i0(x)


def test_out_and_where_cannot_be_recorded():
    x = leaf([1.0, 2.0])
    with pytest.raises(NoRuleError, match="out="):
        np.add(x, 1.0, out=np.zeros(2))
    with pytest.raises(NoRuleError, match=r"where= and without out=.*np\.where"):
        np.add(x, 1.0, where=np.array([True, False]))


def test_operators_leave_foreign_operands_to_python():
    x = leaf([1.0])
    for other in (None, "a", {}):
        with pytest.raises(TypeError):
            x + other


def test_methods_operators_and_functions_are_one_op():
    x = leaf([[1.0, 2.0]])
    for a, b in ((x.exp(), np.exp(x)), (x.sum(axis=0), np.sum(x, axis=0)), (x @ x.T, np.matmul(x, x.T)), (-x, np.negative(x)), (abs(x), np.abs(x))):
        assert a.tolist() == b.tolist()
        assert a._current().op is b._current().op
    assert np.array_equal(tv.exp(np.ones(2)), np.exp(np.ones(2)))


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda x: np.insert(x, "a", 1.0), TypeError, "np.insert of a Tensor of shape (2, 2), 'a', 1.0: "),
        (lambda x: np.compress("a", x), ValueError, "np.compress of 'a', a Tensor of shape (2, 2): condition must be a 1-d array"),
        (lambda x: np.copysign(x, "a"), TypeError, "np.copysign of a Tensor of shape (2, 2), 'a': "),
        (lambda x: np.nanmax(x, axis=10**30), OverflowError, "np.nanmax of a Tensor of shape (2, 2), axis=1"),
    ],
)
def test_what_numpy_says_inside_of_a_function_is_told_with_its_name_and_what_it_was_given(call, kind, text):
    with pytest.raises(TensorvizError) as refused:
        call(tv.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True))
    assert isinstance(refused.value, kind)
    assert str(refused.value).startswith(text)
    assert str(refused.value).endswith(f"help({text.split()[0]}) says what it takes")


def test_what_a_function_of_the_users_raises_inside_of_one_of_numpys_stays_as_it_is():
    def broken(row):
        raise ValueError("mine")

    x = tv.tensor([[1.0, 2.0]], requires_grad=True)
    for call in (lambda: np.apply_along_axis(broken, 0, x), lambda: np.piecewise(x, [x > 0], [broken])):
        with pytest.raises(ValueError, match=r"^mine$"):
            call()
