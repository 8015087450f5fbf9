"""``x.flat`` against NumPy's own: reading, going through, assigning, and the gradients of all of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorviz as tv

KEYS: list[Any] = [0, -1, slice(1, 5), slice(None, None, -2), [0, 3, 3], np.array([4, 1]), np.arange(6) % 2 == 0, slice(0, 0)]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_reading_gives_the_elements_and_their_gradients(key: Any) -> None:
    array = np.arange(6.0).reshape(2, 3)
    x = tv.tensor(array, requires_grad=True)
    read = (x.T * 1.0).flat[key]
    assert np.array_equal(read.numpy(), array.T.flat[key])
    (read * 2.0).sum().backward()
    expected = np.zeros(6)
    np.add.at(expected, np.arange(6)[key], 2.0)
    assert np.array_equal(x.grad, expected.reshape(3, 2).T)


@pytest.mark.parametrize("key", KEYS, ids=str)
@pytest.mark.parametrize("value", [7.0, [7.0, 8.0], np.arange(9.0)], ids=str)
def test_assigning_changes_the_tensor_wherever_its_elements_stand_in_memory(key: Any, value: Any) -> None:
    array = np.arange(6.0).reshape(2, 3)
    x = tv.tensor(array, requires_grad=True)
    y = (x * 1.0).T
    expected = array.copy().T
    try:
        expected.flat[key] = value
    except ValueError:  # several for one
        with pytest.raises(ValueError, match="setitem"):
            y.flat[key] = value
        return
    y.flat[key] = value
    assert np.array_equal(y.numpy(), expected)
    y.sum().backward()
    kept = np.ones((3, 2))
    kept.flat[key] = 0.0
    assert np.array_equal(x.grad, kept.T)


def test_what_is_assigned_gets_its_gradient_and_one_list_of_tensors_will_do():
    a, b = tv.tensor(2.0, requires_grad=True), tv.tensor([3.0, 4.0], requires_grad=True)
    y = tv.tensor(np.zeros((2, 2))) * 1.0
    y.flat[[0, 3]] = [a, a * 2.0]
    y.flat[1:3] = b
    assert y.tolist() == [[2.0, 3.0], [4.0, 4.0]]
    (y * np.array([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    assert (a.grad, b.grad.tolist()) == (9.0, [2.0, 3.0])
    y.flat = 5.0
    assert y.tolist() == [[5.0, 5.0], [5.0, 5.0]]


def test_it_is_gone_through_counted_and_copied_as_an_array_s():
    x = tv.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    assert [v.item() for v in x.flat] == [1.0, 2.0, 3.0, 4.0]
    assert (len(x.flat), x.flat.base is x, x.flat.copy().tolist()) == (4, True, [1.0, 2.0, 3.0, 4.0])
    assert np.array_equal(np.asarray(x.flat), [1.0, 2.0, 3.0, 4.0])
    sum(i * v for i, v in enumerate(x.flat)).backward()
    assert x.grad.tolist() == [[0.0, 1.0], [2.0, 3.0]]


def test_a_leaf_that_requires_a_gradient_is_not_assigned_to():
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="in-place setitem on the leaf"):
        x.flat[0] = 3.0
