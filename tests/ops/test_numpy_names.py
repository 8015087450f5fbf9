"""Functions that people of HIPS autograd write: units, differences, vector products, and complex numbers' functions on real ones."""

from __future__ import annotations

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.errors import AxisError, DTypeError, ShapeError

NAN, INF = np.nan, np.inf


def leaf(data) -> tv.Tensor:
    return tv.tensor(data, requires_grad=True)


def pull(y: tv.Tensor, x: tv.Tensor) -> list[object]:
    x.zero_grad()
    y.backward(np.arange(1.0, y.size + 1).reshape(y.shape))
    return x.grad.tolist()


@pytest.mark.parametrize(
    ("f", "factor"), [(np.deg2rad, np.pi / 180), (np.radians, np.pi / 180), (np.rad2deg, 180 / np.pi), (np.degrees, 180 / np.pi)]
)
def test_a_change_of_units_scales_the_gradient(f, factor):
    x = leaf([10.0, -20.0])
    np.testing.assert_array_equal(f(x).numpy(), f(np.array([10.0, -20.0])))
    np.testing.assert_allclose(pull(f(x), x), [factor, 2 * factor], rtol=1e-15)


def test_sinc_has_slope_zero_at_zero_and_keeps_its_digits_beside_it():
    x = leaf([0.0, 1e-9, 0.5, 1.0])
    y = np.sinc(x)
    assert y.numpy()[0] == 1
    y.backward(np.ones(4))
    # -π² x / 3 beside 0; (cos(π/2) - 2/π) / 0.5; (cos π - 0) / 1
    np.testing.assert_allclose(x.grad, [0, -(np.pi**2) * 1e-9 / 3, -4 / np.pi, -1], rtol=1e-14)


def test_logaddexp2_shares_by_powers_of_two():
    a, b = leaf([1.0, 2000.0]), leaf([1.0, 0.0])
    y = np.logaddexp2(a, b)
    assert y.tolist() == [2, 2000]
    y.backward(np.ones(2))
    assert a.grad.tolist() == [0.5, 1]
    assert b.grad.tolist() == [0.5, 0]


def test_fmax_and_fmin_pass_over_nan_and_share_ties():
    for f, first in ((np.fmax, [0.5, 0, 1, 0, 0.5]), (np.fmin, [0.5, 1, 1, 0, 0.5])):
        a, b = leaf([1.0, 2.0, 3.0, NAN, NAN]), leaf([1.0, 5.0, NAN, 4.0, NAN])
        y = f(a, b)
        y.backward(np.ones(5))
        assert a.grad.tolist() == first
        assert (a.grad + b.grad).tolist() == [1] * 5


def test_what_nan_to_num_replaces_gets_no_gradient_not_even_a_nan():
    x = leaf([1.0, NAN, INF, -INF])
    y = np.nan_to_num(x, nan=7.0, posinf=8.0)
    assert y.tolist() == [1, 7, 8, np.finfo(float).min]
    y.backward(np.array([2.0, NAN, INF, 1.0]))
    assert x.grad.tolist() == [2, 0, 0, 0]
    with pytest.raises(DTypeError, match="copy=False"):
        tv.nan_to_num(x.numpy(), copy=False)


def test_differences_of_neighbours_send_back_both_signs():
    x = leaf([1.0, 4.0, 9.0])
    assert np.diff(x).tolist() == [3, 5]
    assert pull(np.diff(x), x) == [-1, -1, 2]
    assert np.diff(x, n=2).tolist() == [2]
    assert pull(np.diff(x, n=2), x) == [1, -2, 1]
    assert np.diff(x, n=0) is x
    z = leaf([[1.0, 2.0], [4.0, 8.0]])
    assert np.diff(z, axis=0, prepend=0.0).tolist() == [[1, 2], [3, 6]]
    assert pull(np.diff(z, axis=0, prepend=0.0), z) == [[-2, -2], [3, 4]]
    with pytest.raises(ShapeError, match="axis 1"):
        np.diff(x, axis=1)
    assert np.diff(x > 2).tolist() == np.diff(x.numpy() > 2).tolist()


@pytest.mark.parametrize("kwargs", [{}, {"edge_order": 2}, {"axis": 1}, {"axis": (1, 0)}])
@pytest.mark.parametrize("distances", [(), (0.5,)])
def test_slopes_on_a_grid_are_numpys(kwargs, distances):
    value = np.random.default_rng(0).normal(size=(4, 3))
    x = leaf(value)
    ours, theirs = np.gradient(x, *distances, **kwargs), np.gradient(value, *distances, **kwargs)
    ours, theirs = (r if isinstance(r, (tuple, list)) else (r,) for r in (ours, theirs))
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine.numpy(), other, rtol=1e-14, atol=1e-15)
    tv.gradcheck(lambda a: np.gradient(a, *distances, **kwargs)[0] * 2.0, value)


@pytest.mark.parametrize("edge_order", [1, 2])
def test_slopes_between_uneven_places_are_differentiable_in_the_places(edge_order):
    rng = np.random.default_rng(0)
    value, places = rng.normal(size=(5, 4)), np.array([0.0, 1.0, 1.5, 3.0, 7.0])
    ours = np.gradient(leaf(value), places, 2.0, edge_order=edge_order)
    for mine, other in zip(ours, np.gradient(value, places, 2.0, edge_order=edge_order), strict=True):
        np.testing.assert_allclose(mine.numpy(), other, rtol=1e-13, atol=1e-15)
    assert tv.gradcheck(lambda f, x: np.gradient(f, x, axis=0, edge_order=edge_order), value, places)
    with pytest.raises(ShapeError, match=r"coordinates along axis 1 must have shape \(4,\), got \(5,\)"):
        np.gradient(leaf(value), places, axis=1)


def test_a_vector_product_sends_back_vector_products():
    a, b = leaf([1.0, 0.0, 0.0]), leaf([0.0, 1.0, 0.0])
    y = np.cross(a, b)
    assert y.tolist() == [0, 0, 1]
    y.backward(np.array([0.0, 0.0, 1.0]))
    assert a.grad.tolist() == [1, 0, 0]  # b × g
    assert b.grad.tolist() == [0, 1, 0]  # g × a
    stack = leaf(np.arange(6.0).reshape(3, 2))
    trace = np.cross(stack, b, axisa=0, axisc=0).backward(np.ones((3, 2)))
    assert trace.node(b).shares[0].summed_axes == (0,)
    with pytest.raises(ShapeError, match="three components"):
        np.cross(leaf([1.0, 2.0]), leaf([1.0, 2.0]))


def test_a_kronecker_product_has_every_product_once():
    a, b = leaf([1.0, 10.0]), leaf([[1.0, 2.0], [3.0, 4.0]])
    y = np.kron(a, b)
    np.testing.assert_array_equal(y.numpy(), np.kron([1.0, 10.0], [[1.0, 2.0], [3.0, 4.0]]))
    y.backward(np.ones(y.shape))
    assert a.grad.tolist() == [10, 10]
    assert b.grad.tolist() == [[11, 11], [11, 11]]


def test_equal_steps_share_between_the_ends():
    a, b = leaf(1.0), leaf(3.0)
    y = np.linspace(a, b, 5)
    assert y.tolist() == [1, 1.5, 2, 2.5, 3]
    y.backward(np.array([0.0, 4.0, 0.0, 0.0, 1.0]))
    assert (a.grad.tolist(), b.grad.tolist()) == (3, 2)
    assert np.linspace(a, 2.0, 2, endpoint=False).tolist() == [1, 1.5]
    ends = leaf([0.0, 1.0])
    assert np.linspace(ends, 2.0, 3, axis=-1).tolist() == [[0, 1, 2], [1, 1.5, 2]]


def test_the_step_between_equal_steps_is_a_result_of_its_own():
    a, b = leaf(1.0), leaf(3.0)
    for n, endpoint, slope in (5, True, 0.25), (4, False, 0.25), (1, False, 1.0):
        places, step = np.linspace(a, b, n, endpoint, retstep=True)
        assert (places.tolist(), step.item()) == (np.linspace(1.0, 3.0, n, endpoint).tolist(), 2 * slope)
        assert (pull(step, a), pull(step, b)) == (-slope, slope)
    assert np.isnan(np.linspace(a, b, 1, retstep=True)[1])  # as in NumPy


def test_what_stands_beside_differences_of_neighbours_takes_their_dtype():
    x = tv.tensor([1.0, 4.0], dtype=np.float32, requires_grad=True)
    y = np.ediff1d(x, to_end=leaf([9.0]), to_begin=[7, 8])
    assert (y.dtype, y.tolist()) == (np.float32, [7, 8, 3, 9])
    assert pull(y, x) == [-3, 3]
    with pytest.raises(DTypeError, match="to_end has dtype float64, which the dtype int64"):
        np.ediff1d(tv.tensor([1, 2]), to_end=leaf(0.5))


def test_quarter_turns_are_undone_by_turns_the_other_way():
    value = np.arange(6.0).reshape(2, 3)
    x = leaf(value)
    for k in range(-1, 5):
        y = np.rot90(x, k)
        assert y.tolist() == np.rot90(value, k).tolist()
        assert pull(y, x) == np.rot90(np.arange(1.0, 7).reshape(y.shape), -k).tolist()
    deep = leaf(np.arange(8.0).reshape(2, 2, 2))
    assert np.rot90(deep, 1, (2, 0)).tolist() == np.rot90(deep.numpy(), 1, (2, 0)).tolist()
    with pytest.raises(AxisError, match="two different axes"):
        np.rot90(x, 1, (1, -1))


def test_a_partition_sends_every_gradient_back_to_where_its_element_came_from():
    x = leaf([3.0, 1.0, 2.0])
    y = np.partition(x, 1)
    assert y.tolist() == [1, 2, 3]
    assert pull(y, x) == [3, 1, 2]
    assert np.partition(leaf([[3.0], [1.0]]), 0, axis=None).tolist() == [1, 3]
    assert np.argpartition(x, 0)[0].item() == 1


@pytest.mark.parametrize("axis", range(-3, 3))
@pytest.mark.parametrize("start", range(-3, 4))
def test_rollaxis_is_numpys(axis, start):
    value = np.arange(24.0).reshape(2, 3, 4)
    assert np.rollaxis(leaf(value), axis, start).tolist() == np.rollaxis(value, axis, start).tolist()


def test_the_zero_frequency_moves_to_the_middle_and_back():
    x = leaf([0.0, 1.0, 2.0])
    assert np.fft.fftshift(x).tolist() == [2, 0, 1]
    assert np.fft.ifftshift(np.fft.fftshift(x)).tolist() == [0, 1, 2]
    assert pull(np.fft.fftshift(x), x) == [2, 3, 1]
    grid = np.arange(6.0).reshape(2, 3)
    assert np.fft.fftshift(leaf(grid), axes=1).tolist() == np.fft.fftshift(grid, axes=1).tolist()


def test_real_numbers_are_their_own_real_part_and_conjugate():
    x = leaf([-2.0, 3.0])
    assert np.real(x) is x
    assert np.real_if_close(x) is x
    assert pull(np.conj(x), x) == [1, 2]
    assert np.imag(x).tolist() == [0, 0]
    assert pull(np.imag(x), x) == [0, 0]
    assert np.angle(x).tolist() == [np.pi, 0]
    assert np.angle(x, deg=True).tolist() == [180, 0]
    assert pull(np.angle(x), x) == [0, 0]
    assert np.isreal(x).tolist() == [True, True]
    assert np.fix(leaf([-1.5, 1.5])).tolist() == [-1, 1]


def test_an_array_filled_with_a_tensor_sums_its_gradient():
    x = leaf(2.0)
    y = np.full((2, 3), x, like=x)
    assert y.tolist() == [[2, 2, 2], [2, 2, 2]]
    y.sum().backward()
    assert x.grad == 6


@pytest.mark.skipif(not hasattr(np, "astype"), reason="this NumPy has no np.astype")
def test_numpys_astype_converts_back():
    x = leaf([1.5])
    y = np.astype(x, np.float32)
    assert y.dtype == np.float32
    y.sum().backward()
    assert x.grad.dtype == np.float64
