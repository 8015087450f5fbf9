"""Windows, views, and what a Tensor tells of its memory."""

from __future__ import annotations

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.errors import DTypeError, InPlaceError, NoRuleError, OptionError, ShapeError

sliding = np.lib.stride_tricks.sliding_window_view


def leaf(data) -> tv.Tensor:
    return tv.tensor(data, requires_grad=True)


def test_a_part_of_the_row_is_its_own():
    y = leaf([[1.0, 2.0]]) * 1
    part = y.flat[:]
    part[0] = 9
    assert y.tolist() == [[1, 2]]


@pytest.mark.parametrize(
    ("window", "axis"), [(2, 0), (3, -1), ((2, 3), (0, 1)), ((2, 3), (1, 0)), ((2, 2), (1, 1)), ((1, 2, 1), None), ((2, 1), (2, 0)), (1, 2)]
)
def test_windows_are_numpys_and_send_back_to_what_they_cover(window, axis):
    a = np.random.default_rng(4).normal(size=(3, 4, 3))
    found = sliding(leaf(a), window, axis)
    assert found.shape == sliding(a, window, axis).shape
    assert found.tolist() == sliding(a, window, axis).tolist()
    assert tv.gradcheck(lambda x: sliding(x, window, axis), a)


def test_an_element_gets_a_gradient_from_every_window_that_covers_it():
    x = leaf([1.0, 2.0, 3.0, 4.0])
    means = sliding(x, 3).mean(axis=-1)
    assert means.tolist() == [2, 3]
    means.backward(np.array([3.0, 6.0]))
    assert x.grad.tolist() == [1, 3, 3, 2]


def test_windows_follow_what_they_were_cut_from_and_cannot_be_written_to():
    y = leaf([1.0, 2.0, 3.0]) * 1
    w, turned = sliding(y, 2), sliding(y[:, None], 2, axis=0)
    y[1] = 9
    assert w.tolist() == [[1, 9], [9, 3]]
    assert turned.tolist() == [[[1, 9]], [[9, 3]]]
    with pytest.raises(InPlaceError, match="read-only view"):
        w[0] = 1
    with pytest.raises(OptionError, match="one element lies in many windows"):
        sliding(y, 2, writeable=True)
    for call, says in ((lambda: sliding(y, 4), "a window of 4 does not fit into the 3"), (lambda: sliding(y, (1, 1)), "one size for each axis")):
        with pytest.raises(ShapeError, match=says):
            call()
    with pytest.raises(ShapeError, match="not negative"):
        sliding(y, -1)


def test_a_tensor_tells_of_its_memory_and_names_what_cuts_it():
    x = leaf(np.zeros((2, 3)))
    assert x.strides == (24, 8)
    assert x.T.flags.f_contiguous
    assert not x.flags.writeable
    assert x.tobytes() == np.zeros((2, 3)).tobytes()
    with pytest.raises(NoRuleError, match=r"cut windows with np\.lib\.stride_tricks\.sliding_window_view"):
        np.lib.stride_tricks.as_strided(x, (2, 2), x.strides)


def test_a_view_shares_what_is_written():
    x = leaf([1.0, 2.0])
    y = x * 1
    y.view()[0] = 5
    y.view(np.float64)[1] *= 3
    assert y.tolist() == [5, 6]
    with pytest.raises(DTypeError, match=r"x\.reshape\(shape\) for another shape, x\.astype\(dtype\)"):
        y.view(np.int64)
    with pytest.raises(DTypeError, match=r"got 2; write x\.reshape"):
        y.view(2, 1)


def test_what_is_filled_with_a_tensor_can_be_written_to():
    x = leaf(2.0)
    for made in (np.full_like(np.zeros(3), 1.0), np.full_like(leaf(np.zeros(3)), x), np.full(3, x, like=x)):
        made[0] = 5
        assert made[1:].tolist() in ([1, 1], [2, 2])
    if np.__version__ >= "2":  # NumPy 1 takes the last bits of such a number
        with pytest.raises(OverflowError):
            np.full_like(tv.tensor(np.int8([1])), 2**40)
