"""Optimizers: steps worked out by hand, PyTorch where it is installed, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import tensorviz as tv
from tensorviz import nn, optim
from tensorviz.errors import GraphError, StateError


def leaf(data, grad=None) -> tv.Tensor:
    w = tv.tensor(data, requires_grad=True)
    w.grad = grad
    return w


# ---- by hand ----------------------------------------------------------------------------------------------------


def test_sgd_goes_against_the_gradient():
    w = leaf([1.0, 2.0], [10.0, -10.0])
    optim.SGD([w], lr=0.1).step()
    assert w.tolist() == [0, 3]


def test_momentum_keeps_a_running_sum_of_gradients():
    w = leaf(0.0, 1.0)
    optimizer = optim.SGD([w], lr=1.0, momentum=0.5)
    found = []
    for _ in range(3):
        optimizer.step()
        found.append(w.item())
    assert found == [-1, -1 - 1.5, -1 - 1.5 - 1.75]


def test_nesterov_looks_one_step_ahead():
    w = leaf(0.0, 1.0)
    optimizer = optim.SGD([w], lr=1.0, momentum=0.5, nesterov=True)
    optimizer.step()
    assert w.item() == -(1 + 0.5 * 1)
    optimizer.step()
    assert w.item() == -1.5 - (1 + 0.5 * 1.5)


def test_weight_decay_pulls_towards_zero():
    for optimizer in (optim.SGD, optim.AdamW):
        w = leaf(8.0, 0.0)
        optimizer([w], lr=0.5, weight_decay=0.25).step()
        assert w.item() == 7  # 8 - 0.5 * 0.25 * 8


def test_the_first_step_of_adam_is_lr_in_the_direction_of_the_sign():
    w = leaf([1.0, 1.0, 1.0], [100.0, -0.01, 0.0])
    optim.Adam([w], lr=0.1).step()
    np.testing.assert_allclose(w, [0.9, 1.1, 1.0], rtol=1e-6)


def test_adam_follows_its_formula_for_two_steps():
    w = leaf(0.0, 1.0)
    optimizer = optim.Adam([w], lr=0.1, betas=(0.5, 0.5), eps=0.0)
    optimizer.step()
    w.grad = 3.0
    optimizer.step()
    mean, square = (0.25 * 1 + 0.5 * 3) / 0.75, (0.25 * 1 + 0.5 * 9) / 0.75
    assert w.item() == pytest.approx(-0.1 - 0.1 * mean / np.sqrt(square))


# ---- what a step touches ----------------------------------------------------------------------------------------


def test_parameters_without_a_gradient_are_skipped_and_their_steps_not_counted():
    a, b = leaf(1.0, 1.0), leaf(1.0)
    optimizer = optim.Adam([a, b], lr=0.1, eps=0.0)
    optimizer.step()
    assert (a.item(), b.item()) == (0.9, 1)
    b.grad = 5.0
    optimizer.step()
    assert b.item() == 0.9  # its first


def test_a_step_needs_no_no_grad_and_leaves_leaves():
    w = leaf([1.0], [1.0])
    optim.SGD([w], lr=0.1).step()
    assert w.is_leaf
    assert w.requires_grad
    assert w.grad.tolist() == [1]
    assert tv.is_grad_enabled()


def test_records_and_results_keep_the_values_from_before_the_step():
    w = leaf([2.0])
    y = (w * w).sum()
    trace = y.backward()
    optimizer = optim.SGD([w], lr=1.0)
    optimizer.step()
    assert w.tolist() == [-2]
    assert trace.node(w).value.tolist() == [2]
    optimizer.zero_grad()
    assert w.grad is None
    y.backward()
    assert w.grad.tolist() == [4]  # at the old values


def test_float32_stays_float32():
    for make in (optim.SGD, optim.Adam, optim.AdamW):
        for shape in ((), (2,)):
            w = leaf(np.ones(shape, np.float32), np.ones(shape, np.float32))
            optimizer = make([w], lr=0.1, weight_decay=0.1)
            optimizer.step()
            optimizer.step()
            assert w.dtype == np.float32
            assert w.shape == shape


def test_a_gradient_and_the_memory_of_it_share_nothing():
    w = leaf([1.0], [1.0])
    optimizer = optim.SGD([w], lr=1.0, momentum=0.5)
    optimizer.step()
    w.grad[...] = 0
    optimizer.step()
    assert w.tolist() == [1 - 1 - 0.5]


def test_a_learning_rate_can_be_set_between_steps():
    w = leaf(1.0, 1.0)
    optimizer = optim.SGD([w], lr=0.5)
    optimizer.lr = 0.25
    optimizer.step()
    assert w.item() == 0.75


def test_a_frozen_parameter_stays_where_it_is():
    layer = nn.Linear(1, 1, rng=0)
    optimizer = optim.SGD(layer.parameters(), lr=1.0)
    layer.weight.requires_grad = False
    before = layer.weight.tolist()
    layer([1.0]).sum().backward()
    optimizer.step()
    assert layer.weight.tolist() == before


# ---- what is refused --------------------------------------------------------------------------------------------


def test_what_are_no_parameters_is_refused_with_what_to_do():
    w = leaf([1.0])
    model = nn.Linear(1, 1)
    used = model.parameters()
    list(used)
    for none in ([], used):
        with pytest.raises(ValueError, match=r"SGD got no parameters; was an iterator such as model.parameters\(\) used up before"):
            optim.SGD(none)
    with pytest.raises(TypeError, match=r"SGD takes the parameters as a list or another iterable, got a single Tensor; write \[w\]"):
        optim.SGD(w)
    with pytest.raises(TypeError, match=r"got Linear; write model.parameters\(\)"):
        optim.Adam(model)
    with pytest.raises(TypeError, match="Adam: parameter 1 is a ndarray, expected a Tensor, or a pair of a name and a Tensor"):
        optim.Adam([w, np.ones(2)])
    with pytest.raises(
        GraphError, match=r"SGD: parameter double is no leaf but the result of an op; give the leaf that it was computed from, or detach\(\)"
    ):
        optim.SGD([("double", w * 2)])
    with pytest.raises(RuntimeError, match="SGD: parameter 0 does not require a gradient; leave it out, as in"):
        optim.SGD([tv.tensor([1.0])])
    with pytest.raises(ValueError, match=r"SGD: parameter 1 is given twice, first as 0$"):
        optim.SGD([w, w])
    with pytest.raises(ValueError, match=r"SGD: parameter a is given twice$"):
        optim.SGD([("a", w), ("a", leaf(1.0))])


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda p: optim.SGD(p, lr=-1), "SGD: lr must be a number of at least 0, got -1"),
        (lambda p: optim.SGD(p, lr=float("nan")), "SGD: lr must be a number of at least 0, got nan"),
        (lambda p: optim.SGD(p, momentum=-0.5), "SGD: momentum must be a number of at least 0, got -0.5"),
        (lambda p: optim.SGD(p, weight_decay=-1), "SGD: weight_decay must be a number of at least 0, got -1"),
        (lambda p: optim.SGD(p, nesterov=True), "SGD: nesterov=True looks ahead along the momentum, so momentum must be greater than 0"),
        (lambda p: optim.Adam(p, betas=(0.9, 1.0)), r"Adam: betas\[1\] must be a number of at least 0 and below 1, got 1.0"),
        (lambda p: optim.AdamW(p, eps=-1), "AdamW: eps must be a number of at least 0, got -1"),
    ],
)
def test_settings_that_make_no_sense_are_refused(make, text):
    with pytest.raises(ValueError, match=text):
        make([leaf(1.0)])


def test_an_optimizer_of_ones_own_says_what_is_missing_and_works_with_an_update():
    class Halve(optim.Optimizer):
        pass

    w = leaf(8.0, 1.0)
    with pytest.raises(NotImplementedError, match=r"Halve has no update\(value, gradient, memory\)"):
        Halve([w], lr=1.0).step()
    Halve.update = lambda self, value, gradient, memory: value / 2
    Halve([w], lr=1.0).step()
    assert w.item() == 4


# ---- state ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [lambda p: optim.SGD(p, lr=0.1, momentum=0.9), lambda p: optim.Adam(p, lr=0.1)])
def test_training_goes_on_from_a_state_as_if_nothing_had_happened(make, tmp_path):
    def run(w: tv.Tensor, optimizer: optim.Optimizer, steps: int) -> None:
        for _ in range(steps):
            optimizer.zero_grad()
            ((w - 3.0) ** 2).sum().backward(record=False)
            optimizer.step()

    a = leaf([1.0, 2.0])
    first = make([("a", a)])
    run(a, first, 3)
    np.savez(tmp_path / "state.npz", **first.state_dict())
    b = leaf(a.numpy())
    second = make([("a", b)])
    second.lr = 99.0
    with np.load(tmp_path / "state.npz") as state:
        second.load_state_dict(state)
    run(a, first, 3)
    run(b, second, 3)
    assert a.tolist() == b.tolist()
    assert first.settings == second.settings
    assert [getattr(first, s) for s in first.settings] == [getattr(second, s) for s in first.settings]


def test_a_state_has_names_that_say_what_it_holds():
    w = leaf([1.0], [1.0])
    optimizer = optim.SGD([("layer.w", w)], lr=0.5, momentum=0.5)
    optimizer.step()
    state = optimizer.state_dict()
    assert {k: v.tolist() for k, v in state.items()} == {
        "lr": 0.5,
        "momentum": 0.5,
        "weight_decay": 0.0,
        "nesterov": False,
        "layer.w.momentum": [1],
    }
    state["layer.w.momentum"][...] = 9
    assert optimizer.state_dict()["layer.w.momentum"].tolist() == [1]


def test_a_state_that_does_not_fit_is_refused_and_nothing_is_loaded():
    optimizer = optim.SGD([("w", leaf([1.0], [1.0]))], lr=0.5, momentum=0.5)
    state = {"lr": 0.1, "momentum": 0.1, "weight_decay": 0.0, "w.momentum": np.ones(2), "v.momentum": np.ones(1)}
    with pytest.raises(StateError) as caught:
        optimizer.load_state_dict(state)
    assert str(caught.value) == (
        "the state does not fit this SGD: missing: nesterov; w.momentum has shape (2,), expected (1,); unexpected: v.momentum. Nothing was loaded"
    )
    assert optimizer.lr == 0.5


def test_an_optimizer_prints_its_settings():
    assert repr(optim.SGD([leaf(1.0)], lr=0.5)) == "SGD(1 parameter, lr=0.5, momentum=0.0, weight_decay=0.0, nesterov=False)"


# ---- against PyTorch --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("SGD", {"lr": 0.1}),
        ("SGD", {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01}),
        ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
        ("Adam", {}),
        ("Adam", {"lr": 0.1, "betas": (0.8, 0.99), "eps": 1e-3, "weight_decay": 0.1}),
        ("AdamW", {}),
        ("AdamW", {"lr": 0.1, "weight_decay": 0.3}),
    ],
)
def test_twenty_steps_agree_with_pytorch(name, options):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    start, target = rng.normal(size=(3, 2)), rng.normal(size=(3, 2))
    w, v = leaf(start), torch.tensor(start, requires_grad=True)
    ours, theirs = getattr(optim, name)([w], **options), getattr(torch.optim, name)([v], **options)
    for k in range(20):
        ours.zero_grad()
        theirs.zero_grad()
        if k % 5 != 3:  # in some passes it gets no gradient
            ((w - target) ** 4).sum().backward(record=False)
            ((v - torch.from_numpy(target)) ** 4).sum().backward()
        ours.step()
        theirs.step()
        np.testing.assert_allclose(w, v.detach(), rtol=1e-10)
