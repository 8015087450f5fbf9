"""Gradients that are zero throughout: what they are blamed on, and which zeros are healthy."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.findings import zeros

RNG = np.random.default_rng(0)
X = RNG.normal(size=(16, 3))


def leaf(values, name=None):
    return tv.tensor(values, requires_grad=True, name=name)


def dead(root):
    return [f for f in root.backward().findings() if f.kind == "dead"]


@pytest.mark.parametrize(
    ("f", "op", "because"),
    [
        (lambda W: np.floor(W * 2), "floor", "the slope of floor is 0 everywhere"),
        (lambda W: np.sign(W) * np.array([1.0, 2.0, 3.0, 4.0]), "sign", "the slope of sign is 0 everywhere"),
        (lambda W: np.sign(W) * leaf([1.0, 2.0, 3.0, 4.0]), "sign", "the slope of sign is 0 everywhere"),
        (lambda W: W * 0, "mul", "it is multiplied by 0"),
        (lambda W: W * np.zeros(4), "mul", "whose 4 numbers are all 0"),
        (lambda W: W**0, "pow", "the exponent is 0"),
        (lambda W: np.clip(W, 0, 1), "clip", "none of the 4 elements was chosen (W lies between 1.5 and 4.5)"),
        (lambda W: np.where(W < 0, W, 1.0), "where", "none of the 4 elements was chosen"),
        (lambda W: np.maximum(W, 10.0), "maximum", "none of the 4 elements was chosen"),
        (lambda W: tv.relu(-W[:3]) + 1.0, "relu", "none of the 3 elements was chosen"),
    ],
)
def test_a_gradient_of_zeros_is_dead_with_the_op_where_that_began_and_who_inherits_it(f, op, because):
    W = leaf([1.5, 2.5, 3.5, 4.5], "W")
    (finding,) = dead(f(W).sum())
    assert (finding.phase, finding.op) == ("backward", op)
    assert because in finding.why and finding.why.startswith("Born here") and "W inherits it" in finding.why


def test_a_network_that_is_zero_in_all_layers_cannot_begin():
    W1, W2 = leaf(np.zeros((3, 4)), "W1"), leaf(np.zeros((4, 1)), "W2")
    found = dead(((np.tanh(X @ W1) @ W2 - 1.0) ** 2).mean())
    assert len(found) == 1 and "W1, W2 inherit it" in found[0].why


def zero_last_layer():
    return ((np.tanh(X @ leaf(RNG.normal(size=(3, 4)))) @ leaf(np.zeros((4, 1))) - 1.0) ** 2).mean()


def zero_gate_of_a_residual():
    return ((X + leaf(0.0) * np.tanh(X @ leaf(np.eye(3))) - 1.0) ** 2).mean()


def hinge_that_is_met():
    return np.maximum(0, 1 - leaf([3.0, 4.0, 5.0, 6.0])).mean()


def hinge_by_relu_that_is_met():
    return tv.relu(1 - leaf([3.0, 4.0, 5.0, 6.0])).mean()


def perfect_fit():
    r = leaf([1.0, 2.0]) - np.array([1.0, 2.0])
    return (r * r).sum() + (r**2).sum() + np.abs(r).sum()


def one_neuron_off_beside_one_that_is_on():
    a, b = leaf(-1.0), leaf(2.0)
    return tv.relu(a) + tv.relu(b)


def zeros_beside_a_path_that_passes():
    W = leaf([1.5, 2.5, 3.5, 4.5])
    return (np.floor(W) * W).sum()


@pytest.mark.parametrize(
    "make",
    [
        zero_last_layer,
        zero_gate_of_a_residual,
        hinge_that_is_met,
        hinge_by_relu_that_is_met,
        perfect_fit,
        one_neuron_off_beside_one_that_is_on,
        zeros_beside_a_path_that_passes,
    ],
)
def test_zeros_that_are_healthy_are_not_told(make):
    assert dead(make()) == []


def test_a_seed_of_zeros_is_the_users_own():
    assert leaf([1.0, 2.0]).tanh().backward(np.zeros(2)).findings() == []


def test_one_unit_that_is_far_off_for_the_whole_batch_is_dead():
    W, b = leaf(np.random.default_rng(1).normal(size=(3, 6))), leaf([0.0, 0.0, -30.0, 0.0, 0.0, 0.0])
    (finding,) = dead((tv.relu(X @ W + b) ** 2).mean())
    assert finding.op == "relu" and finding.why.startswith("unit 2 of the 6 of this relu is off for every one of the 16 rows")


@pytest.mark.parametrize("seed", range(20))
def test_units_that_are_off_by_chance_at_the_start_of_a_deep_network_are_not_told(seed):
    rng = np.random.default_rng(seed)
    h, width = X, 3
    for _ in range(6):
        h = tv.relu(h @ leaf(rng.normal(size=(width, 16)) * np.sqrt(2 / width)) + leaf(np.zeros(16)))
        width = 16
    assert dead((h**2).mean()) == []


def test_of_many_leaves_behind_one_step_the_zeros_are_walked_once() -> None:
    leaves = [tv.tensor(0.5 + i, requires_grad=True, name=f"w{i}") for i in range(400)]
    total = leaves[0]
    for w in leaves[1:]:
        total = total * 1.0 + w
    trace = np.floor(total).backward()
    asked = 0

    def counted(values: object) -> bool:
        nonlocal asked
        asked += 1
        return bool(np.any(values))

    with mock.patch.object(zeros, "_some", counted):
        (found,) = [f for f in trace.findings() if f.kind == "dead"]
    assert found.op == "floor"
    assert "w0, w1, w2, w3, w4 and 395 more inherit it" in found.why
    assert asked < 2 * len(leaves)


@pytest.mark.parametrize(
    ("f", "op", "remedy"),
    [
        (lambda W: (tv.softmax(W, axis=1) * X[:4, :1]).sum(), "softmax", "sigmoid"),
        (lambda W: tv.log_softmax(W).sum(), "log_softmax", "sigmoid"),
        (lambda W: tv.cross_entropy(W, np.zeros(4, int)), "cross_entropy", "bce_with_logits"),
        (lambda W: W.var(axis=-1).sum(), "var", "more than one element"),
        (lambda W: (tv.layer_norm(W, 1) * X[:4, :1]).sum(), "layer_norm", "more than one element"),
    ],
)
def test_what_sets_elements_beside_each_other_is_dead_where_each_stands_alone(f, op, remedy):
    W = leaf(X[:4, :1], "W")
    (found,) = dead(f(W))
    assert found.op == op
    assert "it goes over one element at a time (W has shape (4, 1)) and gives the same whatever that is. W inherits it" in found.why
    assert remedy in found.remedy
