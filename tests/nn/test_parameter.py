"""Parameters: leaves of a kind of their own, named by their place in the module that was called."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.errors import DTypeError


def test_a_parameter_is_a_leaf_that_requires_a_gradient_and_copies_its_data():
    data = np.array([1.0, 2.0])
    w = tv.nn.Parameter(data)
    data[0] = 9
    assert isinstance(w, tv.Tensor)
    assert (w.tolist(), w.requires_grad, w.is_leaf, w.dtype) == ([1, 2], True, True, np.float64)
    assert tv.nn.Parameter(np.float32([1])).dtype == np.float32
    assert tv.nn.Parameter([1, 2], dtype=np.float32).dtype == np.float32


def test_integers_are_refused_also_for_a_frozen_parameter():
    with pytest.raises(DTypeError, match="only floats can require a gradient, got dtype int64"):
        tv.nn.Parameter([1, 2])
    with pytest.raises(TypeError, match="int64"):
        tv.nn.Parameter([1, 2], requires_grad=False)


def test_operators_methods_and_numpy_work_as_on_any_tensor():
    w, x = tv.nn.Parameter([1.0, 2.0]), tv.tensor([3.0, 4.0], requires_grad=True)
    L = np.sum(x * w + (1 - w) + np.exp(w) * 0 + np.stack([w, x])[0])
    assert L.item() == (3 + 8) + (0 - 1) + (1 + 2)
    trace = L.backward()
    assert w.grad.tolist() == [3, 4]  # x - 1 + 0 + 1
    assert x.grad.tolist() == [1, 2]
    assert type(x * w) is tv.Tensor
    assert trace.node(w).kind == "parameter"
    assert trace.node(x).kind == "leaf"


def test_the_name_is_the_given_one_else_the_users_variable_else_the_place_in_the_module():
    layer = tv.nn.Linear(2, 1, rng=0)
    trace = layer(np.ones(2)).sum().backward()
    assert {n.name for n in trace.nodes if n.kind == "parameter"} == {"weight", "bias"}
    W = layer.weight
    layer.bias.name = "b0"
    trace = layer(np.ones(2)).sum().backward()
    assert {n.name for n in trace.nodes if n.kind == "parameter"} == {"W", "b0"}
    assert trace.node("W").value.tolist() == W.tolist()


def test_a_parameter_outside_any_module_is_still_one():
    w = tv.nn.Parameter(3.0)
    node = (w * w).backward().node("w")
    assert (node.kind, node.op, node.is_leaf, node.cotangent.item()) == ("parameter", "leaf", True, 6)


def test_a_frozen_parameter_is_a_constant_that_keeps_its_name():
    model = tv.nn.Sequential(tv.nn.Linear(2, 2, rng=0), tv.nn.Linear(2, 1, rng=1))
    model[1].requires_grad_(False)
    trace = model(np.ones(2)).sum().backward()
    assert trace.node("0.weight").kind == "parameter"
    assert trace.node("1.weight").kind == "constant"


def test_kind_and_name_stay_when_the_values_change():
    layer = tv.nn.Linear(1, 1, bias=False, rng=0)
    first = layer([1.0]).sum().backward()
    before = layer.weight.item()
    with tv.no_grad():
        layer.weight -= 1.0
    layer.weight.data += 0.5
    layer.weight.data = layer.weight.numpy() * 2
    second = layer([1.0]).sum().backward()
    assert isinstance(layer.weight, tv.nn.Parameter)
    assert first.node("weight").value.tolist() == [[before]]
    assert second.node("weight").value.tolist() == [[(before - 1 + 0.5) * 2]]
    assert second.node("weight").kind == "parameter"


def test_copies_and_pickles_are_parameters_of_their_own():
    w = tv.nn.Parameter([1.0], name="w", requires_grad=False)
    for other in (copy.copy(w), copy.deepcopy(w), pickle.loads(pickle.dumps(w))):
        assert type(other) is tv.nn.Parameter
        assert (other.tolist(), other.name, other.requires_grad) == ([1], "w", False)
        other.data[0] = 5
        assert w.tolist() == [1]


def test_a_deep_copy_takes_its_gradient_along():
    w = tv.nn.Parameter([1.0])
    (w * 3).sum().backward()
    assert copy.deepcopy(w).grad.tolist() == [3]
    assert copy.copy(w).grad is None


def test_it_prints_as_a_parameter_and_errors_call_it_by_its_name():
    assert repr(tv.nn.Parameter([1.0])) == "Parameter containing:\ntensor([1.], requires_grad=True)"
    layer = tv.nn.Linear(1, 1, rng=0)
    with pytest.raises(RuntimeError, match="in-place mul on the leaf parameter 'weight'"):
        layer.weight *= 2
