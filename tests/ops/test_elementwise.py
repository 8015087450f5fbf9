"""Elementwise ops: kinks, corners and warnings, with values worked out by hand."""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.errors import NoRuleError, ShapeError

INF, NAN = math.inf, math.nan


def leaf(data: Any, dtype: Any = None) -> tv.Tensor:
    return tv.tensor(data, dtype=dtype, requires_grad=True)


def gradient(f: Callable[[tv.Tensor], tv.Tensor], data: Any, seed: Any = None) -> list[Any]:
    x = leaf(data)
    y = f(x)
    y.backward(np.ones(y.shape) if seed is None else seed)
    assert x.grad is not None
    return x.grad.tolist()


# ---- one op under every name ------------------------------------------------------------------------------------

OPERATORS = {
    "add": (operator.add, np.add, tv.add),
    "sub": (operator.sub, np.subtract, tv.subtract),
    "mul": (operator.mul, np.multiply, tv.multiply),
    "div": (operator.truediv, np.true_divide, tv.divide),
    "pow": (operator.pow, np.power, tv.power),
    "mod": (operator.mod, np.remainder, tv.remainder),
    "floor_divide": (operator.floordiv, np.floor_divide, tv.floor_divide),
    "equal": (operator.eq, np.equal),
    "not_equal": (operator.ne, np.not_equal),
    "less": (operator.lt, np.less),
    "less_equal": (operator.le, np.less_equal),
    "greater": (operator.gt, np.greater),
    "greater_equal": (operator.ge, np.greater_equal),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operator_numpy_function_and_own_function_are_one_op(name: str):
    a, b = np.array([1.5, 2.5, 3.0]), np.array([2.0, 2.5, 0.5])
    for f in OPERATORS[name]:
        for x, y in ((leaf(a), leaf(b)), (leaf(a), b), (a, leaf(b))):
            z = f(x, y)
            assert isinstance(z, tv.Tensor)
            if name not in ("less", "less_equal", "greater", "greater_equal") or f is not OPERATORS[name][0] or isinstance(x, tv.Tensor):
                assert z._current().op.name == name
            np.testing.assert_array_equal(z.numpy(), OPERATORS[name][0](a, b))


@pytest.mark.parametrize("name", ["exp", "log", "sqrt", "tanh", "square", "reciprocal", "sign", "floor", "abs", "negative", "sin", "arctan", "log1p"])
def test_method_numpy_function_and_own_function_are_one_op(name: str):
    x = leaf([0.5, 1.5])
    made = [getattr(np, name)(x), getattr(x, name)(), getattr(tv, name)(x)]
    assert len({y._current().op for y in made}) == 1


@pytest.mark.parametrize("name", ["relu", "sigmoid", "softplus", "silu", "gelu", "elu", "erf", "leaky_relu", "softmax", "log_softmax"])
def test_activations_are_functions_and_methods(name: str):
    x = leaf([0.5, -1.5])
    assert getattr(x, name)().tolist() == getattr(tv, name)(x).tolist() == getattr(tv, name)(x.numpy()).tolist()


def test_numbers_on_the_left_keep_their_side():
    x = leaf([2.0, 4.0])
    assert (1 - x).tolist() == [-1.0, -3.0]
    assert (8 / x).tolist() == [4.0, 2.0]
    assert (2**x).tolist() == [4.0, 16.0]
    assert (7 % x).tolist() == [1.0, 3.0]
    assert (9 // x).tolist() == [4.0, 2.0]


def test_in_place_operators_are_the_same_ops():
    x = leaf([1.0, 2.0])
    y = x * 1.0
    y += 1.0
    y *= 3.0
    y -= 1.0
    y /= 2.0
    assert y.tolist() == [2.5, 4.0]
    y.sum().backward()
    assert x.grad.tolist() == [1.5, 1.5]


def test_truth_values_combine_with_and_or_not():
    x = leaf([-1.0, 0.5, 2.0])
    inside = (x > 0) & (x < 1)
    assert inside.tolist() == [False, True, False]
    assert (~inside | (x == 2.0)).tolist() == [True, False, True]
    assert not inside.requires_grad
    assert (np.isnan(x) ^ np.isfinite(x)).tolist() == [True, True, True]


def test_operands_that_do_not_broadcast_are_named_with_their_shapes():
    with pytest.raises(ShapeError, match=r"add.*\(2,\) and \(3,\)"):
        leaf([1.0, 2.0]) + leaf([1.0, 2.0, 3.0])


def test_a_function_without_a_rule_is_refused_by_name():
    with pytest.raises(NoRuleError, match=r"np\.nextafter has no"):
        np.nextafter(leaf([1.0]), 2.0)


# ---- kinks ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("f", "data", "expected"),
    [
        (tv.relu, [-1.0, 0.0, -0.0, 2.0], [0.0, 0.0, 0.0, 1.0]),
        (abs, [-3.0, 0.0, 2.0], [-1.0, 0.0, 1.0]),
        (np.sign, [-3.0, 0.0, 2.0], [0.0, 0.0, 0.0]),
        (np.floor, [-0.5, 1.0], [0.0, 0.0]),
        (np.round, [-0.5, 1.0], [0.0, 0.0]),
        (lambda x: tv.leaky_relu(x, 0.1), [-1.0, 0.0, 2.0], [0.1, 0.1, 1.0]),
        (lambda x: tv.elu(x, 0.5), [0.0, 2.0], [0.5, 1.0]),
        (lambda x: x**0, [0.0, 2.0, -3.0], [0.0, 0.0, 0.0]),
        (lambda x: x**0.0, [0.0, 2.0], [0.0, 0.0]),
        (lambda x: x**1, [0.0, 2.0], [1.0, 1.0]),
        (lambda x: x ** np.array([0, 1, 2]), [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]),
        (lambda x: x**-1, [2.0, -4.0], [-0.25, -0.0625]),
        (lambda x: np.hypot(x, 0.0), [0.0, -2.0], [0.0, -1.0]),
        (lambda x: x % 3.0, [5.0, -1.0], [1.0, 1.0]),
        (lambda x: 5.0 % x, [3.0], [-1.0]),
        (lambda x: x // 2.0, [5.0], [0.0]),
    ],
)
def test_the_gradient_at_a_kink_is_the_one_of_the_house(f: Any, data: Any, expected: Any):
    assert gradient(f, data) == expected


def test_a_constant_exponent_costs_no_logarithm():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert gradient(lambda x: x**2 + x**3.0, [-2.0, 0.0, 3.0]) == [8.0, 0.0, 33.0]
    trace = (leaf([2.0]) ** 2).backward()
    assert list(trace.nodes[-1].saved) == ["a", "b"]


def test_the_exponent_of_a_zero_base_has_gradient_zero():
    assert gradient(lambda y: np.array([0.0, 0.0, 2.0]) ** y, [1.0, 0.0, 3.0]) == [0.0, 0.0, pytest.approx(8 * math.log(2))]
    assert gradient(lambda y: 0**y, [2.0]) == [0.0]


def test_a_square_root_at_zero_has_an_infinite_slope():
    with np.errstate(divide="ignore", invalid="ignore"):
        assert gradient(np.sqrt, [0.0, 4.0]) == [INF, 0.25]


def test_relu_selects_so_a_nan_in_the_gradient_reaches_only_what_was_passed():
    assert gradient(tv.relu, [-1.0, 2.0], np.array([NAN, 5.0])) == [0.0, 5.0]
    assert gradient(tv.relu, [-1.0, 2.0], np.array([INF, 5.0])) == [0.0, 5.0]


def test_a_nan_operand_of_relu_passes_its_gradient():
    assert gradient(tv.relu, [NAN, -1.0], np.array([3.0, 5.0])) == [3.0, 0.0]


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "g"])
@pytest.mark.parametrize("shape", [(7,), (349,), (350,), (40, 25), (3, 700)])
def test_relu_selects_bit_for_bit_in_every_size_and_layout(shape: tuple[int, ...], dtype: str):
    rng = np.random.default_rng(0)
    a, g = rng.normal(size=shape).astype(dtype), rng.normal(size=shape).astype(dtype)
    a.flat[:4] = NAN, -0.0, 0.0, INF
    g.flat[::5], g.flat[1::5], g.flat[2::5] = NAN, -INF, -0.0
    for given in (g, np.asfortranarray(g), g[..., ::-1]):
        x = leaf(a)
        tv.relu(x).backward(given)
        expected = np.where(a <= 0, np.zeros((), dtype), given)
        assert x.grad.dtype == expected.dtype
        assert np.array_equal(x.grad, expected, equal_nan=True)
        assert np.array_equal(np.signbit(x.grad), np.signbit(expected))


# ---- far from zero ----------------------------------------------------------------------------------------------


def test_saturated_activations_warn_of_nothing():
    x = leaf([-800.0, -1.0, 0.0, 1.0, 800.0])
    with np.errstate(all="raise"):
        y = tv.sigmoid(x) + np.tanh(x) + tv.relu(x) + abs(x) + tv.softplus(x) + tv.silu(x) + tv.elu(x) + tv.gelu(x) + tv.erf(x)
        y.sum().backward()
    assert np.isfinite(x.grad).all()


def test_sigmoid_keeps_its_digits_in_both_tails():
    assert tv.sigmoid(np.array([-700.0]))[0] == pytest.approx(math.exp(-700.0), rel=1e-12)
    assert gradient(tv.sigmoid, [-40.0])[0] == pytest.approx(math.exp(-40.0), rel=1e-12)


def test_erf_is_the_library_function_in_every_dtype():
    x = np.linspace(-4, 4, 9)
    assert tv.erf(x).tolist() == [math.erf(v) for v in x]
    assert tv.erf(x.astype(np.float32)).dtype == np.float32
    assert tv.erf(leaf(0.5)).item() == math.erf(0.5)


def test_gelu_in_both_forms():
    x = np.array([-1.0, 0.0, 2.0])
    np.testing.assert_allclose(tv.gelu(x), [v * 0.5 * (1 + math.erf(v / math.sqrt(2))) for v in x], rtol=1e-14)
    np.testing.assert_allclose(tv.gelu(x, approximate="tanh"), tv.gelu(x), atol=1e-3)
    with pytest.raises(ValueError, match="must be one of 'none', 'tanh', got 'fast'"):
        tv.gelu(x, approximate="fast")


# ---- dtypes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x * 2.0,
        lambda x: x * 70_000,
        lambda x: 2.0 / x,
        lambda x: x**2,
        lambda x: 2.0**x,
        lambda x: np.maximum(x, 0.5),
        lambda x: np.where(x > 0, x, 0.0),
        tv.gelu,
    ],
)
@pytest.mark.parametrize("shape", [(), (3,)])
def test_python_numbers_are_weak(f: Any, shape: Any):
    x = leaf(np.full(shape, 1.5), np.float32)
    y = f(x)
    trace = y.backward(np.ones(shape))
    assert y.dtype == np.float32
    assert x.grad.dtype == np.float32
    assert {s.value.dtype for n in trace.nodes for s in n.shares} == {np.dtype(np.float32)}


@pytest.mark.parametrize("exponent", [0, 0.0, 1, 2, 0.5, -1])
@pytest.mark.parametrize("shape", [(), (3,)])
def test_a_constant_exponent_widens_no_float32(exponent: Any, shape: Any):
    x = leaf(np.full(shape, 2.0), np.float32)
    trace = (x**exponent).backward(np.ones(shape))
    assert {s.value.dtype for n in trace.nodes for s in n.shares} == {np.dtype(np.float32)}
    assert x.grad.dtype == np.float32


def test_astype_gives_the_gradient_back_in_the_operands_dtype():
    x = leaf([1.0, 2.0], np.float32)
    y = x.astype(np.float64)
    (y * y).sum().backward()
    assert y.dtype == np.float64
    assert x.grad.dtype == np.float32
    assert x.grad.tolist() == [2.0, 4.0]


def test_an_integer_of_a_float_carries_no_gradient():
    assert not leaf([1.5]).astype(int).requires_grad


# ---- what only looks at a Tensor ----------------------------------------------------------------------------------


def test_numpy_functions_that_only_look_give_plain_answers():
    x = leaf([[1.0, 0.0], [2.0, 3.0]])
    assert (np.shape(x), np.ndim(x), np.size(x), np.size(x, 0)) == ((2, 2), 2, 4, 2)
    assert np.zeros_like(x).tolist() == [[0, 0], [0, 0]]
    assert np.ones_like(x).dtype == np.float64
    assert np.allclose(x, x.numpy())
    assert np.array_equal(x, x.numpy())
    assert np.count_nonzero(x) == 3
    assert np.result_type(x, np.float32) == np.float64


@pytest.mark.parametrize("n", [3, 5000])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_a_power_of_a_truth_value_keeps_a_narrow_gradient_narrow(dtype, n):
    for mask in (np.arange(n) % 2 == 0, np.ones(n, bool)):
        for exponent in (mask, tv.tensor(mask)):
            x = tv.tensor(np.full(n, 3), dtype=dtype, requires_grad=True)
            (x**exponent).backward(np.ones(n))
            assert x.grad.dtype == dtype
            assert x.grad.tolist() == mask.tolist()


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_slopes_of_inverse_functions_keep_their_digits_far_out_and_beside_the_ends(dtype):
    """Squares of what float16 holds from 256 on, and float32 from 2e19, are infinite, and 1 - a² loses the digits of 1 - a."""
    far = np.sqrt(np.finfo(dtype).max) * 1.5
    beside = 1 - np.finfo(dtype).epsneg
    for f, a, slope in (
        (np.arcsinh, far, lambda x: 1 / np.sqrt(1 + x * x)),
        (np.arccosh, far, lambda x: 1 / np.sqrt(x * x - 1)),
        (np.arctan, 300.0, lambda x: 1 / (1 + x * x)),
        (np.arcsin, beside, lambda x: 1 / np.sqrt((1 - x) * (1 + x))),
        (np.arccos, -beside, lambda x: -1 / np.sqrt((1 - x) * (1 + x))),
        (np.arctanh, beside, lambda x: 1 / ((1 - x) * (1 + x))),
        (np.sinc, 0.03, lambda x: (np.cos(np.pi * x) - np.sinc(x)) / x),
    ):
        x = tv.tensor(dtype(a), requires_grad=True)
        with np.errstate(over="raise"):
            f(x).backward()
        np.testing.assert_allclose(
            float(x.grad), slope(float(dtype(a))), rtol=4 * np.finfo(dtype).eps if f is not np.arctan else 0.02, err_msg=f.__name__
        )
