"""Small networks learn: the parts work together."""

from __future__ import annotations

import numpy as np

import tensorviz as tv
from tensorviz import nn, optim


def test_a_network_with_one_hidden_layer_learns_xor_completely():
    X, y = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), np.array([0.0, 1.0, 1.0, 0.0])
    rng = np.random.default_rng(0)
    model = nn.Sequential(nn.Linear(2, 8, rng=rng), nn.Tanh(), nn.Linear(8, 1, rng=rng))
    optimizer, criterion = optim.Adam(model.named_parameters(), lr=0.05), nn.BCEWithLogitsLoss()
    for _ in range(200):
        optimizer.zero_grad()
        criterion(model(X)[:, 0], y).backward(record=False)
        optimizer.step()
    logits = model(X)[:, 0].numpy()
    assert ((logits > 0) == y).all()
    assert criterion(logits, y) < 0.05


def moons(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Two half circles that reach into each other."""
    t, label = rng.uniform(0, np.pi, n), rng.integers(0, 2, n)
    x = np.where(label, 1 - np.cos(t), np.cos(t))
    y = np.where(label, 0.5 - np.sin(t), np.sin(t))
    return np.stack([x, y], axis=1) + rng.normal(scale=0.1, size=(n, 2)), label


def test_two_moons_are_told_apart_in_98_of_100_cases_never_seen():
    rng = np.random.default_rng(0)
    X, y = moons(256, rng)
    held_out, truth = moons(500, rng)
    model = nn.Sequential(nn.Linear(2, 32, rng=rng), nn.BatchNorm(32), nn.ReLU(), nn.Dropout(0.1, rng=rng), nn.Linear(32, 2, rng=rng))
    optimizer, criterion = optim.SGD(model.parameters(), lr=0.2, momentum=0.9, weight_decay=1e-4), nn.CrossEntropyLoss()
    schedule = optim.LinearWarmup(optimizer, 10, after=optim.CosineLR(optimizer, 90))
    for _ in range(100):
        for i in range(0, len(X), 64):
            optimizer.zero_grad()
            criterion(model(X[i : i + 64]), y[i : i + 64]).backward(record=False)
            optim.clip_grad_norm(model.parameters(), 5.0)
            optimizer.step()
        schedule.step()
    with tv.no_grad():
        guess = model.eval()(held_out).numpy().argmax(axis=1)
    assert (guess == truth).mean() >= 0.98


def test_a_convolutional_network_learns_which_way_a_stripe_runs():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 64)
    X = rng.normal(scale=0.3, size=(64, 1, 8, 8))
    for i, (label, at) in enumerate(zip(y, rng.integers(0, 8, 64), strict=True)):
        X[(i, 0, at) if label else (i, 0, slice(None), at)] += 1
    model = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1, rng=rng), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 2, rng=rng))
    optimizer, criterion = optim.AdamW(model.parameters(), lr=0.02), nn.CrossEntropyLoss()
    for _ in range(60):
        optimizer.zero_grad()
        criterion(model(X), y).backward(record=False)
        optimizer.step()
    assert (model(X).numpy().argmax(axis=1) == y).mean() >= 0.95


def test_forgetting_zero_grad_is_a_finding_that_names_the_parameter():
    model = nn.Sequential(nn.Linear(2, 1, rng=0))
    model(np.ones(2)).sum().backward()
    trace = model(np.ones(2)).sum().backward()
    assert "0.weight" in [trace.nodes[f.node].name for f in trace.findings() if f.kind == "stale-grad"]
