"""The functional forms: values by hand, nesting, nested arguments, the form of the results, and what they leave alone."""

from __future__ import annotations

import functools
import threading

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.errors import DTypeError, GraphError, IndexingError, SeedError, ShapeError


def cubes(x):
    return (x * x * x).sum()


# ---- values ------------------------------------------------------------------------------------------------------


def test_derivatives_of_a_power_nest_to_any_order():
    def f(x):
        return x**4

    expected = [16.0, 32.0, 48.0, 48.0, 24.0, 0.0]
    for value in expected:
        assert float(f(2.0)) == value
        f = tv.grad(f)


def test_value_and_gradient_come_together():
    value, gradient = tv.value_and_grad(cubes)(np.array([1.0, 2.0]))
    assert value == 9
    assert gradient.tolist() == [3, 12]


def test_argnums_choose_one_or_several_arguments():
    def f(x, y, *, scale):
        return scale * x * y * y

    assert tv.grad(f, 1)(2.0, 3.0, scale=10.0) == 120
    assert tv.grad(f, -2)(2.0, 3.0, scale=1.0) == 9
    assert tv.grad(f, argnums=(1, 0))(2.0, 3.0, scale=1.0) == (12, 9)


def test_a_jacobian_has_the_results_axes_first():
    A = np.arange(6.0).reshape(2, 3)
    assert tv.jacobian(lambda x: A @ x)(np.ones(3)).tolist() == A.tolist()
    J = tv.jacobian(lambda X: X.T)(np.zeros((2, 3)))
    assert J.shape == (3, 2, 2, 3)
    assert J[2, 0, 0, 2] == 1
    assert J.sum() == 6
    assert tv.jacobian(cubes)(np.array([1.0, 2.0])).tolist() == [3, 12]
    assert tv.jacobian(lambda x: x[:0])(np.ones(3)).shape == (0, 3)


def test_a_hessian_is_symmetric_and_agrees_with_its_products():
    def f(x):
        return (x @ x) ** 2

    x, v = np.array([1.0, 2.0]), np.array([1.0, -3.0])
    H = tv.hessian(f)(x)
    # 8 x xᵀ + 4 (x · x) I
    assert H.tolist() == [[28, 16], [16, 52]]
    assert tv.hvp(f, x, v).tolist() == (H @ v).tolist()


def test_a_pullback_gives_one_gradient_per_primal_and_can_be_called_again():
    out, pullback = tv.vjp(lambda x, y: (x * y, x), np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    assert [o.tolist() for o in out] == [[3, 8], [1, 2]]
    for scale in (1.0, 2.0):
        gx, gy = pullback((np.array([scale, 0.0]), np.array([0.0, scale])))
        assert gx.tolist() == [3 * scale, scale]
        assert gy.tolist() == [1 * scale, 0]


def test_a_directional_derivative_is_the_jacobian_times_the_direction():
    def f(x, W):
        return np.tanh(W @ x)

    x, W = np.array([0.3, -0.2]), np.array([[1.0, 2.0], [0.5, -1.0], [0.0, 1.0]])
    dx, dW = np.array([1.0, 10.0]), np.ones((3, 2))
    out, tangent = tv.jvp(f, (x, W), (dx, dW))
    Jx, JW = tv.jacobian(f, (0, 1))(x, W)
    np.testing.assert_allclose(out, np.tanh(W @ x))
    np.testing.assert_allclose(tangent, Jx @ dx + np.tensordot(JW, dW, 2), rtol=1e-12)


def test_a_directional_derivative_of_something_linear_or_constant_is_right():
    _, tangent = tv.jvp(lambda x: 2.0 * x, np.array([1.0, 2.0]), np.array([1.0, 1.0]))
    assert tangent.tolist() == [2, 2]
    _, tangent = tv.jvp(lambda x: x * 0.0 + 5.0, (1.0,), (1.0,))
    assert tangent == 0
    _, tangent = tv.jvp(lambda x: tv.tensor(5.0), (1.0,), (1.0,))
    assert tangent == 0


def test_forward_over_reverse_gives_hessian_products_too():
    x, v = np.array([1.0, 2.0]), np.array([1.0, 10.0])
    _, tangent = tv.jvp(tv.grad(cubes), (x,), (v,))
    assert tangent.tolist() == [6, 120] == tv.hvp(cubes, x, v).tolist()


def test_what_does_not_depend_on_an_argument_has_gradient_zero():
    assert tv.grad(lambda x, y: x * 2.0, 1)(tv.tensor(1.0), np.float64(3.0)) == 0
    assert tv.grad(tv.grad(lambda x: 2.0 * x))(1.0) == 0
    assert tv.grad(lambda x: tv.tensor(1.0))(np.float64(2.0)) == 0
    assert tv.hessian(lambda x: x.sum())(np.ones(2)).tolist() == [[0, 0], [0, 0]]


def test_a_function_that_leaves_the_graph_is_warned_about():
    with pytest.warns(UserWarning, match=r"returned a float64, not a Tensor.*without numpy\(\)"):
        assert tv.grad(lambda x: x.numpy().sum())(np.ones(3)).tolist() == [0, 0, 0]
    with pytest.warns(UserWarning, match="the derivative is 0"):
        assert tv.jacobian(lambda x: [1, x])(2.0) == [0, 1]


# ---- nesting -----------------------------------------------------------------------------------------------------


def test_an_inner_derivative_counts_only_its_own_variable():
    # d/dx (x * d/dy (x * y)) = d/dx (x * x)
    assert tv.grad(lambda x: x * tv.grad(lambda y: x * y)(tv.tensor(1.0)))(3.0) == 6
    assert tv.grad(lambda x: x * tv.grad(lambda y: x * y)(1.0))(3.0) == 6
    assert tv.grad(lambda x: x * tv.grad(lambda y: x + y)(x))(3.0) == 1


def test_backward_goes_through_a_gradient_and_records_it():
    X = tv.tensor([1.0, 2.0], requires_grad=True)
    penalty = (tv.grad(cubes)(X) ** 2).sum()
    trace = penalty.backward()
    # the gradient is 3 x², its square 9 x⁴, the derivative of that 36 x³
    assert X.grad.tolist() == [36, 288]
    assert trace.node(X).shares
    assert len(trace.steps) > 10


def test_a_gradient_keeps_its_dependence_on_captured_tensors():
    w = tv.tensor(2.0, requires_grad=True)
    g = tv.grad(lambda x: (w * x * x).sum())(tv.tensor([1.0, 3.0]))
    g.sum().backward()
    assert g.tolist() == [4, 12]
    assert w.grad == 8
    assert type(tv.grad(lambda x: (w * x * x).sum())(np.array([1.0, 3.0]))) is np.ndarray


@pytest.mark.parametrize(
    "f",
    [
        lambda x: (x[[0, 0, 2]] ** 3).sum(),
        lambda x: (np.sort(x) * np.array([1.0, 2.0, 3.0]) ** 2).sum() ** 2,
        lambda x: np.linalg.det(np.outer(x, x) + 3 * np.eye(3)) * x[0],
        lambda x: np.linalg.solve(np.diag(x), x * x) @ x,
        lambda x: np.einsum("i,i,j->", x, x, x),
        lambda x: tv.logsumexp(x) ** 2,
        lambda x: np.concatenate([x, x[::-1] * x]).sum() ** 2,
        lambda x: (np.where(x > 0.3, x * x, np.sin(x)) @ x) ** 2,
        lambda x: (np.pad(x, 1, "reflect") ** 3).sum(),
        lambda x: tv.layer_norm(x * x, 3)[0] * x[1],
    ],
)
def test_second_derivatives_agree_with_differences_of_first_ones(f):
    x = np.array([0.5, 0.2, 0.9])
    numeric = np.stack([(tv.grad(f)(x + h) - tv.grad(f)(x - h)) / 2e-6 for h in 1e-6 * np.eye(3)])
    np.testing.assert_allclose(tv.hessian(f)(x), numeric, rtol=1e-5, atol=1e-6)


# ---- the form of arguments and results ---------------------------------------------------------------------------


def test_arrays_give_arrays_and_tensors_give_tensors():
    x = np.array([1.0, 2.0])
    assert type(tv.grad(cubes)(x)) is np.ndarray
    assert tv.grad(cubes)(x).flags.writeable
    assert type(tv.grad(cubes)(tv.tensor(x))) is tv.Tensor
    assert not tv.grad(cubes)(tv.tensor(x)).requires_grad
    assert tv.grad(cubes)(tv.tensor(x, requires_grad=True)).requires_grad
    assert type(tv.jacobian(lambda t: t * t)(tv.tensor(x))) is tv.Tensor
    assert type(tv.value_and_grad(cubes)(tv.tensor(x))[0]) is tv.Tensor
    assert type(tv.value_and_grad(cubes)(x)[0]) is np.float64
    assert type(tv.hvp(cubes, tv.tensor(x), tv.tensor(x))) is tv.Tensor
    assert type(tv.jvp(cubes, (tv.tensor(x),), (x,))[1]) is tv.Tensor


def test_a_tensor_cotangent_makes_the_pullback_a_function_of_it():
    _, pullback = tv.vjp(lambda x: x * x, np.array([1.0, 2.0]))
    g = tv.tensor([1.0, 1.0], requires_grad=True)
    (gradient,) = pullback(g)
    gradient.sum().backward()
    assert g.grad.tolist() == [2, 4]


def test_nested_lists_tuples_and_dicts_come_back_in_the_same_form():
    params = {"w": np.array([[1.0, 2.0]]), "b": [np.float64(3.0), (np.array([4.0]),)], "none": None}

    def f(p, x):
        return (p["w"] @ x).sum() + 10.0 * p["b"][0] + (p["b"][1][0] ** 2).sum()

    gradient = tv.grad(f)(params, np.array([1.0, 5.0]))
    assert gradient["w"].tolist() == [[1, 5]]
    assert gradient["b"][0] == 10
    assert gradient["b"][1][0].tolist() == [8]
    assert gradient["none"] is None
    assert list(gradient) == ["w", "b", "none"]
    H = tv.hessian(lambda p: p["a"] * p["b"] * p["b"])({"a": 2.0, "b": 3.0})
    assert H == {"a": {"a": 0, "b": 6}, "b": {"a": 6, "b": 4}}


def test_float32_and_shapes_are_kept():
    x = np.ones((2, 1), np.float32)
    assert tv.grad(cubes)(x).dtype == np.float32
    assert tv.grad(cubes)(x).shape == (2, 1)
    assert tv.hessian(cubes)(x).dtype == np.float32
    assert tv.grad(lambda t: t.sum())(np.zeros((0, 3))).shape == (0, 3)


def test_the_wrapped_function_keeps_its_name():
    assert tv.grad(cubes).__name__ == "cubes"
    assert tv.grad(functools.partial(cubes))(np.array([2.0])).tolist() == [12]


# ---- what they leave alone ---------------------------------------------------------------------------------------


def test_no_grad_attribute_is_written_and_the_callers_arrays_stay_as_they_were():
    w = tv.tensor([1.0, 2.0], requires_grad=True)
    x = np.array([3.0, 4.0])
    tv.grad(lambda t: (w * t * t).sum())(x)
    X = tv.tensor(x, requires_grad=True)
    tv.grad(cubes)(X)
    tv.hvp(cubes, X, x)
    assert w.grad is None
    assert X.grad is None
    assert x.tolist() == [3, 4]
    assert x.flags.writeable


def test_they_differentiate_under_no_grad_too_and_restore_it():
    X = tv.tensor([2.0], requires_grad=True)
    with tv.no_grad():
        g = tv.grad(cubes)(X)
        assert not tv.is_grad_enabled()
    assert g.tolist() == [12]
    assert not g.requires_grad


def test_an_exception_in_the_function_leaves_no_variables_behind():
    def fails(x):
        raise KeyError("mine")

    for _ in range(2):
        with pytest.raises(KeyError, match="mine"):
            tv.grad(fails)(1.0)
    assert tv.grad(tv.grad(lambda x: x * x))(1.0) == 2


def test_threads_take_derivatives_side_by_side():
    found = {}

    def work(k):
        found[k] = float(tv.grad(tv.grad(lambda x: x**3 * float(k)))(1.0))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == {k: 6.0 * k for k in range(8)}


def test_a_long_chain_is_differentiated_twice_without_recursion():
    def f(x):
        y = x
        for _ in range(5000):
            y = y * 1.0
        return y * y

    assert tv.grad(tv.grad(f))(3.0) == 2


# ---- errors ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "kind", "says"),
    [
        (lambda: tv.grad(lambda x: x * 1.0)(np.ones(3)), SeedError, r"one number, this one returned shape \(3,\).*jacobian or vjp"),
        (lambda: tv.grad(lambda x: (x, x))(1.0), SeedError, "a tuple of 2 result"),
        (lambda: tv.grad(lambda x: None)(np.ones(3)), SeedError, "the function returned None; does it lack a return"),
        (lambda: tv.grad(lambda x: "x")(np.ones(3)), GraphError, "returned a str, not a Tensor or a number"),
        (lambda: tv.grad(lambda x: x > 0)(1.0), DTypeError, "returned dtype bool"),
        (lambda: tv.grad(cubes)(np.array([1, 2])), DTypeError, "argument 0 has dtype int64; only floats"),
        (lambda: tv.grad(cubes)(1j), DTypeError, "complex"),
        (lambda: tv.grad(cubes, 1)(1.0), IndexingError, r"argnums=1, but the function was called with 1 positional"),
        (lambda: tv.grad(cubes, "x")(1.0), DTypeError, "argnums is an int or a tuple of ints, got 'x'"),
        (lambda: tv.grad(3.0)(1.0), TypeError, "first argument|takes a function|callable"),
        (lambda: tv.vjp(lambda x: x * 1.0, np.ones(3))[1](np.ones(2)), SeedError, r"expected shape \(3,\), got \(2,\)"),
        (lambda: tv.vjp(lambda x: x * 1.0, np.ones(3))[1]([np.ones(3)]), ShapeError, "expected the nesting"),
        (lambda: tv.vjp(lambda x: x * 1.0, np.ones(1))[1](np.array([1j])), SeedError, "real numbers"),
        (lambda: tv.jvp(cubes, (np.ones(3),), (np.ones(2),)), SeedError, r"jvp's tangent: expected shape \(3,\), got \(2,\)"),
        (lambda: tv.jvp(cubes, (np.ones(3),), ()), ShapeError, "jvp's tangents: expected the nesting"),
    ],
)
def test_errors_say_what_was_expected_and_what_came(call, kind, says):
    with pytest.raises(kind, match=says):
        call()


def test_a_rule_that_fails_on_tensors_says_so():
    only_arrays = tv.custom_op("only_arrays", lambda a: a * 2.0, lambda g, a: (np.ascontiguousarray(np.fft.ifft(np.fft.fft(g)).real) * 2.0,))
    x = np.array([1.0, 2.0])
    assert tv.grad(lambda t: only_arrays(t).sum())(x).tolist() == [2, 2]
    with pytest.raises(TypeError, match="fft") as caught:
        tv.hessian(lambda t: (only_arrays(t) ** 2).sum())(x)
    assert any("run on Tensors for a higher derivative" in note for note in caught.value.__notes__)


def test_a_function_that_calls_backward_itself_does_so_once_and_finds_the_gradient_of_its_argument():
    w = tv.tensor([2.0, 3.0], requires_grad=True)
    seen = []

    def f(x):
        y = (x * w).sum()
        y.backward()
        seen.append(x.grad.tolist())
        return y

    assert tv.grad(f)(np.array([5.0, 7.0])).tolist() == [2.0, 3.0]
    assert seen == [[2.0, 3.0]]
    assert w.grad.tolist() == [5.0, 7.0]
