"""How gradients flow: dead, saturated, vanishing, exploding, cancelling, tied."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import tensorviz as tv


def kinds(trace):
    return [f.kind for f in trace.findings()]


def test_a_layer_whose_units_are_off_for_every_row_is_dead():
    X = tv.tensor(np.ones((4, 3)), requires_grad=True)
    b = tv.tensor([-9.0, -9.0, -9.0], requires_grad=True)
    finding = tv.relu(X + b).sum().backward().findings()[0]
    assert (finding.kind, finding.phase, finding.op) == ("dead", "backward", "relu")
    assert "3 of 3 units" in finding.why and "4 rows" in finding.why and "at most -8" in finding.why


def test_maximum_with_zero_is_a_relu():
    x = tv.tensor(-np.ones((4, 3)), requires_grad=True)
    assert kinds(np.maximum(x, 0.0).sum().backward()) == ["dead"]


def test_single_dead_units_are_normal():
    x = tv.tensor(np.array([[1.0, -1.0, 2.0], [3.0, -2.0, 1.0]]), requires_grad=True)
    assert kinds(tv.relu(x).sum().backward()) == []


def test_units_in_the_flat_part_are_saturated():
    x = tv.tensor([20.0, -30.0, 0.0], requires_grad=True)
    for f in (np.tanh, tv.sigmoid):
        x.zero_grad()
        finding = f(x).sum().backward().findings()[0]
        assert (finding.kind, finding.op) == ("saturated", f.__name__) and "2 of 3 units" in finding.why and "30" in finding.why


def test_a_deep_chain_of_sigmoids_vanishes():
    x = tv.tensor([0.5], requires_grad=True)
    h = x
    for _ in range(30):
        h = tv.sigmoid(h)
    finding = h.sum().backward().findings()[0]
    assert (finding.kind, finding.phase) == ("vanishing", "backward") and "per op" in finding.why


def test_a_long_loop_that_is_damped_a_little_at_each_turn_vanishes_and_float32_would_hold_nothing():
    a = first = tv.tensor(0.5, requires_grad=True, name="first")
    b = tv.tensor(-0.02, requires_grad=True)
    for _ in range(20_000):
        a = a * b + a
    trace = a.backward()
    assert 0.0 < first.grad < 1e-170  # 0.98 to the power of 20,000
    (finding,) = [f for f in trace.findings() if f.kind == "vanishing"]
    assert finding.node == trace.node("first").id and finding.phase == "backward"
    assert "at first: by 0.99 per op. In float32 it would be 0." in finding.why  # two ops a turn


def test_a_short_damped_loop_loses_less_than_a_millionfold():
    a = tv.tensor(0.5, requires_grad=True)
    b = tv.tensor(-0.02, requires_grad=True)
    for _ in range(500):  # 0.98 to the power of 500 is 4e-5
        a = a * b + a
    assert "vanishing" not in kinds(a.backward())


def test_a_leaf_behind_a_path_that_vanishes_is_found_beside_a_deeper_one_that_does_not():
    far, near = tv.tensor(0.5, requires_grad=True, name="far"), tv.tensor(0.5, requires_grad=True, name="near")
    h, other = far, near
    for _ in range(30):
        h = tv.sigmoid(h)
    for _ in range(60):
        other = other + 1.0
    (finding,) = (h + other).backward().findings()
    assert finding.kind == "vanishing" and "at far: by" in finding.why and "In float32" not in finding.why


def test_two_ops_that_scale_are_not_many():
    x = tv.tensor(np.ones(10), requires_grad=True)
    h = x
    for _ in range(200):
        h = h * 0.999 + 1.0
    assert kinds((h * 1e-5 * 1e-5).mean().backward()) == []


def test_a_deep_chain_that_amplifies_explodes():
    x = tv.tensor([0.1], requires_grad=True)
    h = x
    for _ in range(20):
        h = np.sin(h * 9.0)
    trace = h.sum().backward()
    assert "exploding" in kinds(trace)


def test_one_scale_factor_is_not_a_flow_that_vanishes():
    x = tv.tensor(np.ones(10), requires_grad=True)
    h = x
    for _ in range(10):
        h = h + 1.0
    assert kinds((h * 1e-9).sum().backward()) == []


def test_large_shares_that_cancel_are_found_at_the_fork():
    x = tv.tensor(2.0, requires_grad=True)
    finding = (x * 1e10 + x - x * 1e10).backward().findings()[0]
    assert (finding.kind, finding.phase) == ("cancellation", "backward")
    assert "3 shares of x" in finding.why and "2e+10" in finding.why and "10 digits are lost" in finding.why


def test_the_shift_by_the_maximum_is_no_cancellation():
    x = tv.tensor([[1.0, 2.0, 0.5]], requires_grad=True)
    m = x.max(axis=1, keepdims=True)
    assert kinds((np.log(np.exp(x - m).sum(axis=1)) + m[:, 0]).sum().backward()) == []


def test_a_tie_at_a_maximum_says_the_weights():
    x = tv.tensor([1.0, 3.0, 3.0], requires_grad=True)
    finding = x.max().backward().findings()[0]
    assert (finding.kind, finding.phase, finding.op) == ("tie", "backward", "max")
    assert "2 elements of x" in finding.why and "0.5" in finding.why


def test_a_tie_of_two_operands_is_told_once():
    x = tv.tensor([1.0, 2.0, 3.0], requires_grad=True)
    found = np.minimum(x * 2.0, x + x).sum().backward().findings()
    assert [f.kind for f in found] == ["tie"]


def test_an_operand_that_is_chosen_in_some_of_its_copies_is_no_tie():
    x, c = tv.tensor([3.0, -2.0, 1.0], requires_grad=True), tv.tensor(0.5, requires_grad=True)
    assert kinds((np.maximum(x, c) + np.where([True, False, True], x, c)).sum().backward()) == []


def test_a_tie_of_two_operands_that_are_broadcast_is_told():
    x, c = tv.tensor([[3.0], [0.5]], requires_grad=True, name="x"), tv.tensor([0.5, 1.0], requires_grad=True, name="c")
    (finding,) = (f for f in np.maximum(x, c).sum().backward().findings() if f.kind == "tie")
    assert "1 copy of an element of x shares a place in maximum (weights 0.5)" in finding.why


def test_a_maximum_without_a_tie_is_none():
    x = tv.tensor([1.0, 3.0, 2.0], requires_grad=True)
    assert kinds(x.max().backward()) == []


def test_healthy_small_examples_raise_no_alarm():
    x = tv.tensor(3.0, requires_grad=True, name="x")
    y = tv.tensor(-4.0, requires_grad=True, name="y")
    assert kinds(((x + tv.sigmoid(y)) / (tv.sigmoid(x) + (x + y) ** 2)).backward()) == []
    a = tv.tensor([1.0, -2.0, 0.0], requires_grad=True)
    assert kinds((a * a).sum().backward()) == []
    w = tv.tensor([2.0, -3.0, -3.0], requires_grad=True)
    assert kinds((1 / (1 + np.exp(-(w[0] * -1.0 + w[1] * -2.0 + w[2])))).backward()) == []


def test_training_on_digits_raises_no_alarm_at_any_step():
    file = Path(__file__).parents[2] / "notebooks" / "data" / "digits.npz"
    with np.load(file) as data:
        X, y = data["images"][:128].reshape(128, 64) / 16.0, data["labels"][:128].astype(int)
    rng = np.random.default_rng(0)
    W1 = tv.tensor(rng.normal(0, np.sqrt(2 / 64), (X.shape[1], 32)), requires_grad=True)
    b1 = tv.tensor(np.zeros(32), requires_grad=True)
    W2 = tv.tensor(rng.normal(0, np.sqrt(2 / 32), (32, 10)), requires_grad=True)
    b2 = tv.tensor(np.zeros(10), requires_grad=True)
    for step in range(200):
        for w in (W1, b1, W2, b2):
            w.zero_grad()
        loss = tv.cross_entropy(tv.relu(X @ W1 + b1) @ W2 + b2, y)
        trace = loss.backward()
        if step % 20 == 0:
            assert trace.findings() == []
        for w in (W1, b1, W2, b2):
            w.data -= 0.5 * w.grad
    assert loss.item() < 0.3


def test_a_unit_at_minus_infinity_is_looked_at_without_a_warning() -> None:
    x = tv.tensor(np.linspace(-1.0, 1.0, 12).reshape(6, 2), requires_grad=True)
    trace = tv.relu(x @ np.eye(2, 3) + np.array([0.0, 0.0, -np.inf])).sum().backward()
    trace.findings()  # warnings are errors here
