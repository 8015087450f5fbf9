"""Ops that reorder elements or pick diagonals and triangles."""

from __future__ import annotations

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.errors import DTypeError, ShapeError


def leaf(*shape: int) -> tv.Tensor:
    return tv.tensor(np.arange(float(np.prod(shape))).reshape(shape), requires_grad=True)


def pull(y: tv.Tensor, x: tv.Tensor) -> list[object]:
    x.zero_grad()
    y.backward(np.arange(float(y.size)).reshape(y.shape))
    return x.grad.tolist()


def test_a_flip_is_undone_by_a_flip():
    x = leaf(2, 2)
    assert pull(np.flip(x), x) == [[3, 2], [1, 0]]
    assert pull(np.flip(x, 1), x) == pull(np.fliplr(x), x) == [[1, 0], [3, 2]]
    assert pull(np.flipud(x), x) == [[2, 3], [0, 1]]


def test_a_roll_is_undone_by_a_roll_the_other_way():
    x = leaf(4)
    assert np.roll(x, 1).tolist() == [3, 0, 1, 2]
    assert pull(np.roll(x, 1), x) == [1, 2, 3, 0]
    z = leaf(2, 2)
    assert pull(np.roll(z, (1, 1), axis=(0, 1)), z) == [[3, 2], [1, 0]]


def test_sorting_sends_every_gradient_back_to_where_its_element_came_from():
    x = tv.tensor([[3.0, 1.0, 2.0], [0.0, 0.0, -1.0]], requires_grad=True)
    y = np.sort(x)
    assert y.tolist() == [[1, 2, 3], [-1, 0, 0]]
    assert pull(y, x) == [[2, 0, 1], [4, 5, 3]]
    assert pull(np.sort(x, axis=0), x) == [[3, 4, 5], [0, 1, 2]]
    assert np.sort(x, axis=None).tolist() == [-1, 0, 0, 1, 2, 3]
    assert np.argsort(x).tolist() == [[1, 2, 0], [2, 0, 1]]
    assert not np.argsort(x).requires_grad
    with pytest.raises(DTypeError, match="order="):
        np.sort(x, order="f")


def test_a_sorts_order_is_a_saved_value_of_the_record():
    x = tv.tensor([2.0, 1.0], requires_grad=True)
    y = np.sort(x)
    node = y.backward(np.ones(2)).node(y)
    assert node.saved["order"].tolist() == [1, 0]


def test_take_along_axis_adds_at_the_positions_picked():
    x = leaf(2, 3)
    y = np.take_along_axis(x, np.array([[2, 2], [0, 1]]), axis=1)
    assert y.tolist() == [[2, 2], [3, 4]]
    trace = y.backward(np.array([[1.0, 10.0], [100.0, 1000.0]]))
    assert x.grad.tolist() == [[0, 0, 11], [100, 1000, 0]]
    assert trace.node(x).shares[0].route.tolist() == [[0, 0, 1], [1, 1, 0]]
    best = np.argsort(x, axis=1)[:, -1:]
    assert np.take_along_axis(x, best, axis=1).tolist() == [[2], [5]]
    assert np.take_along_axis(x, np.array([5, 0]), axis=None).tolist() == [5, 0]
    with pytest.raises(IndexError, match="whole numbers"):
        np.take_along_axis(x, np.zeros((2, 1)), axis=1)
    with pytest.raises(IndexError, match="take_along_axis"):
        np.take_along_axis(x, np.array([[3], [0]]), axis=1)


def test_diagonals_are_read_and_written_by_their_offset():
    x = leaf(2, 3)
    assert np.diagonal(x, 1).tolist() == [1, 5]
    assert pull(np.diagonal(x, 1), x) == [[0, 0, 0], [0, 0, 1]]
    assert pull(np.diag(x), x) == [[0, 0, 0], [0, 1, 0]]
    deep = leaf(2, 3, 2)
    assert pull(np.diagonal(deep, axis1=0, axis2=2), deep) == [[[0, 0], [2, 0], [4, 0]], [[0, 1], [0, 3], [0, 5]]]
    v = leaf(2)
    assert np.diag(v, 1).tolist() == [[0, 0, 0], [0, 0, 1], [0, 0, 0]]
    assert pull(np.diag(v, 1), v) == [1, 5]
    with pytest.raises(ShapeError, match="vector or a matrix"):
        np.diag(leaf())


def test_a_trace_gives_its_gradient_to_every_place_of_the_diagonal():
    x = leaf(2, 2)
    np.trace(x).backward(3.0)
    assert x.grad.tolist() == [[3, 0], [0, 3]]
    deep = leaf(2, 2, 2)
    assert np.trace(deep, axis1=1, axis2=2).tolist() == [3, 11]
    with pytest.raises(DTypeError, match="dtype="):
        np.trace(x, dtype=np.float32)


def test_triangles_select_so_a_nan_outside_stays_outside():
    x = leaf(2, 2)
    np.tril(x).backward(np.array([[1.0, np.nan], [2.0, 3.0]]))
    assert x.grad.tolist() == [[1, 0], [2, 3]]
    x.zero_grad()
    trace = np.triu(x, 1).backward(np.array([[1.0, 7.0], [np.inf, 3.0]]))
    assert x.grad.tolist() == [[0, 7], [0, 0]]
    assert trace.node(x).shares[0].route.tolist() == [[0, 1], [0, 0]]
    with pytest.raises(ShapeError, match="tril takes a matrix"):
        np.tril(tv.tensor(3.0))


def test_plain_arrays_come_back_as_plain_arrays():
    a = np.arange(4.0).reshape(2, 2)
    for y in (tv.flip(a), tv.roll(a, 1), tv.sort(a), tv.diag(a), tv.tril(a), tv.triu(a), tv.take_along_axis(a, np.array([[0], [1]]), 1)):
        assert type(y) is np.ndarray
