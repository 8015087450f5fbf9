"""What is given to an op is taken as it is then: arrays that the caller changes later change neither result nor gradient."""

from __future__ import annotations

import numpy as np
import pytest

import tensorviz as tv


def _mask():
    return np.array([[True, False, True], [False, True, False]])


CALLS = {
    "operand": (lambda x, k: x * k, lambda: np.array([3.0, 4.0, 5.0])),
    "operand_0d": (lambda x, k: x * k, lambda: np.array(3.0)),
    "nested_operand": (lambda x, k: x * [k, k], lambda: np.array([3.0, 4.0, 5.0])),
    "index": (lambda x, k: x[k], lambda: np.array([1, 1, 0])),
    "index_list": (lambda x, k: x[:, k], lambda: [2, 2, 0]),
    "index_in_tuple": (lambda x, k: x[k, 1:], lambda: np.array([1, 1])),
    "index_tensor": (lambda x, k: x[tv.tensor(k)], lambda: np.array([1, 1, 0])),
    "boolean_index": (lambda x, k: x[k], _mask),
    "take": (lambda x, k: np.take(x, k, axis=1), lambda: np.array([2, 2, 0])),
    "take_along_axis": (lambda x, k: np.take_along_axis(x, k, 1), lambda: np.array([[2, 2], [1, 0]])),
    "where": (lambda x, k: np.where(k, x, 0), _mask),
    "clip": (lambda x, k: np.clip(x, k, 9.0), lambda: np.array([0.5, 1.5, -1.0])),
    "roll": (lambda x, k: np.roll(x, k, (0, 1)) * np.arange(6.0).reshape(2, 3), lambda: np.array([1, 2])),
    "repeat": (lambda x, k: np.repeat(x, k, axis=1), lambda: np.array([0, 1, 3])),
    "tile": (lambda x, k: np.tile(x, k), lambda: np.array([2, 3])),
    "pad": (lambda x, k: np.pad(x, k, "edge"), lambda: np.array([[1, 0], [2, 1]])),
    "reshape": (lambda x, k: x.reshape(k), lambda: np.array([3, 2])),
    "transpose": (lambda x, k: np.transpose(x, k), lambda: np.array([1, 0])),
    "sum_axes": (lambda x, k: np.sum(x * x, axis=tuple(k)), lambda: [0, 1]),
    "split": (lambda x, k: np.split(x * x, k, axis=1)[1], lambda: np.array([1, 2])),
    "concatenate": (lambda x, k: np.concatenate([x, k]) * np.arange(9.0).reshape(3, 3), lambda: np.ones((1, 3))),
    "matmul": (lambda x, k: x @ k, lambda: np.arange(6.0).reshape(3, 2)),
    "einsum": (lambda x, k: np.einsum("ij,j->i", x, k), lambda: np.array([1.0, 2.0, 3.0])),
    "cross_entropy": (lambda x, k: tv.cross_entropy(x, k), lambda: np.array([2, 0])),
    "nll_loss": (lambda x, k: tv.nll_loss(x, k), lambda: np.array([2, 0])),
    "mse_loss": (lambda x, k: tv.mse_loss(x, k), lambda: np.ones((2, 3))),
    "bce": (lambda x, k: tv.bce_with_logits(x, k), lambda: np.ones((2, 3))),
    "embedding": (lambda x, k: tv.embedding(k, x), lambda: np.array([1, 1, 0])),
    "sum_where": (lambda x, k: np.sum(x * x, where=k), _mask),
    "average": (lambda x, k: np.average(x, axis=1, weights=k), lambda: np.array([1.0, 2.0, 3.0])),
    "interp": (lambda x, k: np.interp(x, k, [1.0, 2.0, 5.0]), lambda: np.array([0.4, 1.4, 3.1])),
    "choose": (lambda x, k: np.choose(k, [x[0], x[1] * 2]), lambda: np.array([0, 1, 1])),
    "delete": (lambda x, k: np.delete(x, k, axis=1), lambda: np.array([0, 2])),
    "percentile": (lambda x, k: np.percentile(x, k), lambda: np.array([10.0, 35.0])),
    "layer_norm": (lambda x, k: tv.layer_norm(x, 3, k), lambda: np.array([1.0, 2.0, 3.0])),
    "linear": (lambda x, k: tv.linear(x, k), lambda: np.ones((2, 3))),
    "setitem": (lambda x, k: _assigned(x, k), lambda: np.array([1, 0, 1])),
}


def _assigned(x, k):
    h = x * 1
    h[k] = x[0]
    return h * h


@pytest.mark.parametrize("name", CALLS)
def test_an_array_changed_after_the_call_changes_nothing(name):
    call, make = CALLS[name]

    def run(change):
        x = tv.tensor(np.arange(1.0, 7.0).reshape(2, 3) / 2, requires_grad=True)
        k = make()
        y = call(x, k)
        if change:
            k[...] = False if np.asarray(k).dtype == bool else 0
        y.backward(np.cos(np.arange(y.size)).reshape(y.shape))
        return y.numpy(), x.grad

    lists = isinstance(make(), list)
    value, gradient = run(False)
    if lists:  # a list cannot be emptied with [...]
        call_, make_ = call, make

        def call(x, k):
            y = call_(x, k)
            k[:] = [0] * len(k)
            return y

        def make():
            return make_()

    changed_value, changed_gradient = run(not lists)
    assert np.array_equal(value, changed_value)
    assert np.array_equal(gradient, changed_gradient)


def _scaled(name, change):
    """A custom op with an array among its parameters, which ``change`` changes between forward and backward."""
    f = tv.custom_op(name, lambda a, k: a * change(k), lambda g, a, k: (g * change(k),))
    return f


def test_an_array_parameter_of_an_own_op_is_taken_as_it_is_at_the_call():
    f = _scaled("frozen_plain", lambda k: k)
    x, k = tv.tensor([1.0, 2.0], requires_grad=True), np.array([3.0, 4.0])
    h = f(x, k=k)
    k[:] = 0
    trace = h.backward(np.ones(2))
    assert x.grad.tolist() == [3, 4]
    assert trace.node(h).params["k"].tolist() == [3, 4]


def test_arrays_nested_in_parameters_are_too():
    f = _scaled("frozen_nested", lambda k: k["scales"][0] * k["more"][0])
    x, k = tv.tensor([1.0, 2.0], requires_grad=True), np.array([3.0, 4.0])
    scales = [k]
    h = f(x, k={"scales": scales, "more": (k,)})
    k[:] = 0
    scales[0] = None
    h.backward(np.ones(2))
    assert x.grad.tolist() == [9, 16]


def test_a_rule_cannot_write_into_its_parameters():
    f = tv.custom_op("frozen_written", lambda a, k: a * k, lambda g, a, k: (np.multiply(g, k, out=k),))
    h = f(tv.tensor([1.0, 2.0], requires_grad=True), k=np.array([3.0, 4.0]))
    with pytest.raises(ValueError, match="read-only"):
        h.backward(np.ones(2))


def test_a_tensor_among_parameters_is_its_values_at_the_call():
    f = _scaled("frozen_tensor", lambda k: k)
    x, k = tv.tensor([1.0, 2.0], requires_grad=True), tv.tensor([3.0, 4.0])
    h = f(x, k=k)
    k.zero_()
    h.backward(np.ones(2))
    assert x.grad.tolist() == [3, 4]


def test_a_tensor_that_requires_a_gradient_is_no_parameter_however_deep():
    f = _scaled("frozen_lost", lambda k: k[0])
    with pytest.raises(RuntimeError, match=r"parameter k is a Tensor that requires a gradient.*pass it as an operand"):
        f(tv.tensor([1.0]), k=[tv.tensor([1.0], requires_grad=True)])
