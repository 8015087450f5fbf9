"""Modules: what they find among their attributes, modes, gradients, and how they print."""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass

import numpy as np
import pytest

import tensorviz as tv
from tensorviz import nn
from tensorviz.errors import DepthError, DTypeError


class Net(nn.Module):
    def __init__(self) -> None:
        self.scale = nn.Parameter([1.0])
        self.layers = [nn.Linear(2, 3, rng=0), (nn.Tanh(), nn.Linear(3, 1, rng=1))]
        self.heads = {"mean": nn.Linear(1, 1, rng=2), "weights": nn.Parameter([2.0, 3.0])}
        self.sizes = [2, 3, 1]
        self.register_buffer("shift", [5.0])

    def forward(self, x):
        first, (tanh, second) = self.layers
        return self.heads["mean"](second(tanh(first(x)))) * self.scale + self.shift


NAMES = [
    *("scale", "heads.weights", "layers.0.weight", "layers.0.bias"),
    *("layers.1.1.weight", "layers.1.1.bias", "heads.mean.weight", "heads.mean.bias"),
]


def test_parameters_are_found_in_attributes_lists_tuples_and_dicts_own_ones_first():
    net = Net()
    assert [name for name, _ in net.named_parameters()] == NAMES
    assert next(net.parameters()) is net.scale
    assert [name for name, _ in net.named_buffers()] == ["shift"]
    assert [b.tolist() for b in net.buffers()] == [[5]]
    assert [name for name, _ in net.named_modules()] == ["", "layers.0", "layers.1.0", "layers.1.1", "heads.mean"]
    assert [type(m).__name__ for m in net.modules()] == ["Net", "Linear", "Tanh", "Linear", "Linear"]
    assert [name for name, _ in net.named_children()] == ["layers.0", "layers.1.0", "layers.1.1", "heads.mean"]


def test_what_is_shared_is_listed_once_and_a_circle_ends():
    class Shared(nn.Module):
        def __init__(self):
            self.a = nn.Linear(2, 2, rng=0)
            self.b = self.a
            self.c = nn.Linear(2, 2, bias=False, rng=1)
            self.c.weight = self.a.weight
            self.a.parent = self

    shared = Shared()
    assert [name for name, _ in shared.named_parameters()] == ["a.weight", "a.bias"]
    assert [name for name, _ in shared.named_modules()] == ["", "a", "c"]
    assert "(parent): ..." in repr(shared)


def test_a_plain_tensor_is_neither_parameter_nor_buffer():
    net = nn.Module()
    net.x = tv.tensor([1.0], requires_grad=True)
    assert list(net.parameters()) == list(net.buffers()) == []


def test_super_init_is_not_needed_and_does_no_harm():
    class Polite(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter([1.0])

    assert [name for name, _ in Polite().named_parameters()] == ["w"]


def test_a_module_may_be_a_dataclass():
    @dataclass
    class Scale(nn.Module):
        by: nn.Parameter
        inner: nn.Module

        def forward(self, x):
            return self.inner(x) * self.by

    model = Scale(nn.Parameter(2.0), nn.ReLU())
    trace = model(np.array([3.0, -1.0])).sum().backward()
    assert trace.node("by").cotangent.item() == 3
    assert {n.scope for n in trace.nodes if n.op == "relu"} <= {"Scale/inner"}


def test_a_module_without_forward_says_what_to_write():
    class Empty(nn.Module):
        pass

    with pytest.raises(NotImplementedError, match="Empty has no forward: write a method `def forward"):
        Empty()(1.0)


def test_a_parameter_cannot_become_a_plain_tensor_unnoticed():
    layer = nn.Linear(1, 1, rng=0)
    with pytest.raises(DTypeError, match=r"Linear.weight is a Parameter and cannot become a Tensor, which parameters\(\) would not find"):
        layer.weight = layer.weight - 1.0
    layer.bias = None
    assert [name for name, _ in layer.named_parameters()] == ["weight"]
    layer.weight = nn.Parameter([[2.0]])
    assert layer([3.0]).tolist() == [6]


def test_a_key_that_would_break_a_name_is_refused():
    net = nn.Module()
    for key in ("a.b", "a/b", "", None):
        with pytest.raises(TypeError, match="part of a name, so it must be a string without"):
            net.parts = {key: nn.ReLU()}
    net.sizes = {"a.b": 1}
    net.parts = {0: nn.Linear(1, 1, rng=0)}
    assert [name for name, _ in net.named_parameters()] == ["parts.0.weight", "parts.0.bias"]


# ---- buffers ----------------------------------------------------------------------------------------------------


def test_a_buffer_is_a_tensor_with_a_copy_and_stays_one():
    net, data = nn.Module(), np.array([1.0])
    net.register_buffer("mean", data)
    data[0] = 9
    assert isinstance(net.mean, tv.Tensor)
    assert net.mean.tolist() == [1]
    net.mean = np.array([2.0, 3.0])
    assert isinstance(net.mean, tv.Tensor)
    assert [b.tolist() for b in net.buffers()] == [[2, 3]]
    net.mean = None
    assert list(net.buffers()) == []
    del net.mean
    net.register_buffer("mean", [4])
    assert net.mean.tolist() == [4]


def test_a_buffer_changed_in_place_is_the_same_buffer():
    net = nn.Module()
    net.register_buffer("count", 1.0)
    count = net.count
    net.count += 1
    assert net.count is count
    assert count.item() == 2


def test_buffers_that_cannot_be_are_refused():
    net = Net()
    with pytest.raises(AttributeError, match="Net has an attribute 'scale' already"):
        net.register_buffer("scale", 1.0)
    for name in ("a.b", "", 3):
        with pytest.raises(AttributeError, match="a buffer's name is a Python identifier, got"):
            net.register_buffer(name, 1.0)
    with pytest.raises(DTypeError, match=r"buffer 'm': the Tensor requires a gradient; assign an nn.Parameter, or register detach\(\) of it"):
        net.register_buffer("m", nn.Parameter([1.0]))


# ---- modes and gradients ----------------------------------------------------------------------------------------


def test_train_and_eval_reach_every_module_and_give_the_module_back():
    net = Net()
    assert net.training
    assert net.eval() is net
    assert [m.training for m in net.modules()] == [False] * 5
    assert net.train() is net
    assert [m.training for m in net.modules()] == [True] * 5


def test_zero_grad_forgets_all_gradients():
    net = Net()
    net(np.ones((4, 2))).sum().backward()
    assert net.scale.grad is not None
    net.zero_grad()
    assert [p.grad for p in net.parameters()] == [None] * len(NAMES)


def test_freezing_stops_the_gradient():
    net = Net()
    assert net.requires_grad_(False) is net
    assert not net(np.ones(2)).requires_grad
    net.requires_grad_().layers[0].requires_grad_(False)
    net(np.ones(2)).sum().backward()
    assert net.layers[0].weight.grad is None
    assert net.scale.grad is not None


# ---- copies and printing ----------------------------------------------------------------------------------------


def test_a_deep_copy_and_a_pickle_compute_the_same_and_share_nothing():
    net, x = Net(), np.ones(2)
    expected = net(x).tolist()
    twins = [copy.deepcopy(net)] + ([pickle.loads(pickle.dumps(net))] if Net.__module__ in __import__("sys").modules else [])
    for twin in twins:
        assert twin(x).tolist() == expected
        twin.scale.data[...] = 0
        trace = twin(x).sum().backward()
        assert trace.node("layers.0.weight").scope == "Net/layers.0.Linear"
    assert net(x).tolist() == expected


def test_a_module_prints_as_a_tree():
    class Model(nn.Module):
        def __init__(self):
            self.w = nn.Parameter(np.ones((2, 3)))
            self.body = nn.Sequential(nn.Linear(2, 3), nn.ReLU())

    assert repr(Model()) == (
        "Model(\n  w: (2, 3)\n  (body): Sequential(\n    (0): Linear(in_features=2, out_features=3, bias=True)\n    (1): ReLU()\n  )\n)"
    )
    assert repr(nn.Module()) == "Module()"


def test_modules_print_in_the_words_of_their_own_class_and_in_lines_of_their_own():
    class Plain(nn.Module):
        def __repr__(self):
            return "two\nlines"

    class Long(nn.Module):
        def extra_repr(self):
            return "one\ntwo"

    assert repr(nn.Sequential(Plain(), nn.Sequential(Long()))) == (
        "Sequential(\n  (0): two\n  lines\n  (1): Sequential(\n    (0): Long(one\n    two)\n  )\n)"
    )


def test_modules_may_stand_in_each_other_as_deep_as_one_likes():
    model = nn.Linear(2, 2, rng=0)
    for _ in range(1000):
        model = nn.Sequential(model)
    assert repr(model).count("Sequential(\n") == 1000
    assert repr(model).endswith("\n" + "  " * 999 + ")\n" + "\n".join("  " * d + ")" for d in range(998, -1, -1)))
    assert [p.shape for p in model.parameters()] == [(2, 2), (2,)]
    assert len(model.eval().load_state_dict(model.state_dict()).missing) == 0
    with pytest.raises(
        RecursionError, match=r"^Sequential: \d{3} modules are called inside each other, and Python allows .* into one Sequential"
    ) as caught:
        model(np.ones(2))
    assert isinstance(caught.value, DepthError)
    assert not getattr(caught.value, "__notes__", [])
    assert nn.Linear(2, 1, rng=0)(np.ones(2)).sum().backward().node("weight").scope == "Linear", "all scopes are closed again"


def test_a_function_without_an_end_inside_of_a_module_is_pythons_own_matter():
    class Endless(nn.Module):
        def forward(self, x):
            def again(x):
                return again(x)

            return again(x)

    with pytest.raises(RecursionError, match="maximum recursion depth") as caught:
        Endless()(np.ones(2))
    assert not isinstance(caught.value, DepthError)


# ---- Sequential -------------------------------------------------------------------------------------------------


def test_sequential_passes_on_and_can_be_indexed_sliced_and_extended():
    model = nn.Sequential(nn.Linear(2, 3, rng=0), nn.Tanh())
    assert model.append(nn.Linear(3, 1, rng=1)) is model
    x = np.array([1.0, 2.0])
    assert model(x).tolist() == model[2](model[1](model[0](x))).tolist()
    assert len(model) == 3
    assert isinstance(model[-1], nn.Linear)
    assert [type(m).__name__ for m in model[1:]] == ["Tanh", "Linear"]
    assert model[:2][0] is model[0]
    with pytest.raises(IndexError):
        model[3]
    assert nn.Sequential()(x) is x


def test_sequential_refuses_what_is_no_module():
    with pytest.raises(TypeError, match="Sequential takes modules, got function at position 1"):
        nn.Sequential(nn.Linear(1, 1), tv.relu)
    with pytest.raises(TypeError, match=r"got the class ReLU; write ReLU\(...\) at position 0"):
        nn.Sequential(nn.ReLU)
