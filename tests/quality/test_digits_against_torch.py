"""The digits network, one training step on real data: every gradient equals PyTorch's, and finite differences agree with both."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tensorviz as tv

torch = pytest.importorskip("torch", reason="PyTorch judges here; the extra `test` brings it")

DIGITS = Path(__file__).parents[2] / "notebooks" / "data" / "digits.npz"
BATCH = 64


@pytest.fixture(scope="module")
def batch():
    with np.load(DIGITS) as file:
        return file["images"][:BATCH].reshape(BATCH, 64) / 16.0, file["labels"][:BATCH].astype(np.int64)


def start(dtype):
    rng = np.random.default_rng(3)
    shapes = {"W1": (64, 32), "b1": (32,), "W2": (32, 10), "b2": (10,)}
    return {name: rng.normal(0, 0.3, shape).astype(dtype) for name, shape in shapes.items()}


def ours(values, pixels, labels, activation):
    p = {name: tv.tensor(value, requires_grad=True, name=name) for name, value in values.items()}
    hidden = {"tanh": np.tanh, "relu": tv.relu}[activation](pixels.astype(values["W1"].dtype) @ p["W1"] + p["b1"])
    loss = tv.cross_entropy(hidden @ p["W2"] + p["b2"], labels)
    return loss, loss.backward(), {name: tensor.grad for name, tensor in p.items()}


def theirs(values, pixels, labels, activation):
    p = {name: torch.tensor(value, requires_grad=True) for name, value in values.items()}
    hidden = {"tanh": torch.tanh, "relu": torch.relu}[activation](torch.tensor(pixels.astype(values["W1"].dtype)) @ p["W1"] + p["b1"])
    loss = torch.nn.functional.cross_entropy(hidden @ p["W2"] + p["b2"], torch.tensor(labels))
    loss.backward()
    return loss, {name: tensor.grad.numpy() for name, tensor in p.items()}


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_in_float64_every_gradient_equals_pytorchs_to_ten_digits(batch, activation):
    values = start(np.float64)
    loss, _, mine = ours(values, *batch, activation)
    judge, judged = theirs(values, *batch, activation)
    assert loss.item() == pytest.approx(judge.item(), rel=1e-12)
    for name, gradient in mine.items():
        np.testing.assert_allclose(gradient, judged[name], rtol=1e-10, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_in_float32_every_gradient_is_float32_and_equals_pytorchs_to_round_off(batch, activation):
    values = start(np.float32)
    _, _, mine = ours(values, *batch, activation)
    _, judged = theirs(values, *batch, activation)
    for name, gradient in mine.items():
        assert gradient.dtype == np.float32
        # Sums of 64 terms, each a product of values near one: a few dozen units of the last of float32's 24 bits.
        scale = np.abs(judged[name]).max()
        np.testing.assert_allclose(gradient, judged[name], rtol=0, atol=64 * 2.0**-24 * scale, err_msg=name)


def test_finite_differences_agree_with_the_step_on_every_parameter(batch):
    _, trace, _ = ours(start(np.float64), *batch, "tanh")
    report = trace.check()
    assert report.ok, report
    checked = {row.node for row in report.rows}
    assert {trace.node(name).id for name in ("W1", "b1", "W2", "b2")} <= checked


@pytest.mark.parametrize("use", ["cross_entropy", "by hand"])
def test_the_loss_out_of_simple_ops_has_the_same_gradient_as_the_single_one(batch, use):
    pixels, labels = batch
    scores = tv.tensor(pixels[:, :10] * 3, requires_grad=True)
    if use == "cross_entropy":
        loss = tv.cross_entropy(scores, labels)
    else:
        picked = scores[np.arange(BATCH), labels]
        loss = (np.log(np.exp(scores).sum(axis=1)) - picked).mean()
    loss.backward()
    probabilities = np.exp(scores.numpy()) / np.exp(scores.numpy()).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(scores.grad, (probabilities - np.eye(10)[labels]) / BATCH, atol=1e-15)
