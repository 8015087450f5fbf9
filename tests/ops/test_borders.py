"""Borders that are computed: statistics, ramps, odd reflections, and what a function writes."""

from __future__ import annotations

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.errors import DTypeError, OptionError, ShapeError


def leaf(data) -> tv.Tensor:
    return tv.tensor(data, requires_grad=True)


@pytest.mark.parametrize(
    ("mode", "options", "value", "gradient"),
    [
        # each element once for itself, and a third of what arrives at three copies of the mean
        ("mean", {}, [2, 2, 1, 2, 3, 2], [1 + 1, 1 + 1, 1 + 1]),
        ("mean", {"stat_length": (1, 2)}, [1, 1, 1, 2, 3, 2.5], [1 + 2, 1 + 0.5, 1 + 0.5]),
        ("maximum", {}, [3, 3, 1, 2, 3, 3], [1, 1, 1 + 3]),
        ("minimum", {"stat_length": 2}, [1, 1, 1, 2, 3, 2], [1 + 2, 1 + 1, 1]),
        ("median", {}, [2, 2, 1, 2, 3, 2], [1, 1 + 3, 1]),
        # from 0 at the far end in equal steps: nothing and half of the first element, nothing of the last
        ("linear_ramp", {}, [0, 0.5, 1, 2, 3, 0], [1 + 0.5, 1, 1]),
        ("linear_ramp", {"end_values": (3, 5)}, [3, 2, 1, 2, 3, 5], [1 + 0.5, 1, 1]),
        # 2 * 1 - 3 and 2 * 1 - 2 in front, 2 * 3 - 2 behind
        ("reflect", {"reflect_type": "odd"}, [-1, 0, 1, 2, 3, 4], [1 + 4, 1 - 1 - 1, 1 - 1 + 2]),
        ("symmetric", {"reflect_type": "odd"}, [0, 1, 1, 2, 3, 3], [1 + 4 - 1, 1 - 1, 1 + 2 - 1]),
        ("empty", {}, [0, 0, 1, 2, 3, 0], [1, 1, 1]),
    ],
)
def test_a_border_that_is_computed_sends_back_what_it_was_made_of(mode, options, value, gradient):
    x = leaf([1.0, 2.0, 3.0])
    y = np.pad(x, (2, 1), mode, **options)
    assert y.tolist() == value
    y.backward(np.ones(6))
    np.testing.assert_allclose(x.grad, gradient)


MODES = [
    *(("maximum", how) for how in ({}, {"stat_length": ((1, 2), (3, 1))})),
    *(("mean", how) for how in ({}, {"stat_length": 2})),
    ("median", {}),
    ("minimum", {"stat_length": [[9]]}),
    *(("linear_ramp", how) for how in ({}, {"end_values": ((1, 2), (3, 4))})),
    *((mode, {"reflect_type": "odd"}) for mode in ("reflect", "symmetric")),
]


@pytest.mark.parametrize(("mode", "options"), MODES)
@pytest.mark.parametrize("width", [1, (2, 0), ((1, 3), (2, 5)), ((0, 0), (9, 7)), [[1], [2]]])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_a_border_is_numpys_in_every_form(mode, options, width, dtype):
    a = (np.random.default_rng(3).permutation(12).reshape(3, 4) * 1.5).astype(dtype)
    want = np.pad(a, width, mode, **options)
    for given in (tv.tensor(a), a):
        found = np.pad(given, width, mode, **options) if given is not a else tv.pad(a, width, mode, **options)
        assert isinstance(found, tv.Tensor if given is not a else np.ndarray)
        assert found.dtype == want.dtype
        np.testing.assert_allclose(np.asarray(found), want, rtol=1e-6 if dtype == np.float32 else 1e-13)
    if dtype == np.float64:
        assert tv.gradcheck(lambda x: np.pad(x, width, mode, **options), a)


def test_the_border_of_a_single_element_repeats_it():
    assert np.pad(leaf([[5.0]]), 2, "reflect", reflect_type="odd").tolist() == np.pad([[5.0]], 2, "reflect", reflect_type="odd").tolist()


def test_the_ends_of_a_ramp_have_a_gradient_if_they_are_tensors():
    x, ends = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    np.pad(x, (2, 2), "linear_ramp", end_values=ends).sum().backward()
    assert ends.grad.tolist() == [1.5, 1.5]  # each is at the far end, and half of it one step further in


def test_an_infinity_spoils_only_what_is_made_of_it():
    x = leaf([np.inf, 1.0, 2.0])
    y = np.pad(x, (0, 2), "mean", stat_length=2)
    assert y.tolist() == [np.inf, 1, 2, 1.5, 1.5]
    y.backward(np.ones(5))
    assert x.grad.tolist() == [1, 2, 2]


def test_a_function_writes_the_border_into_every_vector():
    def with_ends(vector, width, axis, options):
        vector[: width[0]] = vector[width[0]] * options["times"] + axis
        if width[1]:
            vector[-width[1] :] = options["times"]

    a = np.arange(6.0).reshape(2, 3)
    want = np.pad(a, ((1, 0), (2, 1)), with_ends, times=3.0)
    x = leaf(a)
    y = np.pad(x, ((1, 0), (2, 1)), with_ends, times=3.0)
    assert y.tolist() == want.tolist()
    assert tv.gradcheck(lambda x: np.pad(x, ((1, 0), (2, 1)), with_ends, times=3.0), a)


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda x: np.pad(x, 1, "nearest"), OptionError, r"pad: mode must be one of 'edge', .*'linear_ramp', .*got 'nearest'"),
        (lambda x: np.pad(x, 1, "mean", end_values=1), DTypeError, r"pad: mode 'mean' takes no end_values=; it takes stat_length="),
        (lambda x: np.pad(x, 1, "reflect", reflect_type="strange"), OptionError, r"reflect_type must be one of 'even', 'odd'"),
        (lambda x: np.pad(x, 1, "mean", stat_length=0), OptionError, r"stat_length says of how many elements .* got 0"),
        (lambda x: np.pad(x, 1, "mean", stat_length=1.5), DTypeError, r"stat_length must be a whole number"),
        (lambda x: np.pad(x[:0], 1, "mean"), ShapeError, r"pad: axis 0 of shape \(0,\) is empty.*'constant'"),
    ],
)
def test_what_does_not_fit_a_mode_is_refused(call, error, says):
    with pytest.raises(error, match=says):
        call(leaf([1.0, 2.0]))


def test_an_empty_axis_beside_the_border_stays_empty():
    assert np.pad(leaf(np.zeros((0, 2))), ((0, 0), (1, 1)), "mean").shape == (0, 4)
