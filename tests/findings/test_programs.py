"""Findings on programs as people write them: nothing on healthy ones while they train, and the right thing on broken ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tensorviz as tv

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

with np.load(Path(__file__).parents[2] / "notebooks" / "data" / "digits.npz") as file:
    X, Y = file["images"].reshape(-1, 64) / 16.0, file["labels"].astype(int)


class Program:
    """Parameters, a loss at step k, a learning rate, and how long it is healthy to go on."""

    def __init__(self, seed=0):
        self.rng = np.random.default_rng(seed)
        self.parameters = []

    def dense(self, rows, columns, gain=2.0):
        return self.keep(self.rng.normal(0, np.sqrt(gain / rows), (rows, columns)))

    def zeros(self, *shape):
        return self.keep(np.zeros(shape))

    def keep(self, value):
        self.parameters.append(tv.tensor(value, requires_grad=True))
        return self.parameters[-1]

    def step(self, loss, rate):
        for p in self.parameters:
            p.zero_grad()
        trace = loss.backward()
        for p in self.parameters:
            p.data -= rate * p.grad
        return trace


def deep_relu(program):
    W = [program.dense(64, 32), *(program.dense(32, 32) for _ in range(14)), program.dense(32, 10)]
    b = [program.zeros(w.shape[1]) for w in W]

    def loss(k):
        h = X[k * 32 : (k + 1) * 32]
        for w, c in zip(W[:-1], b[:-1], strict=True):
            h = tv.relu(h @ w + c)
        return tv.cross_entropy(h @ W[-1] + b[-1], Y[k * 32 : (k + 1) * 32])

    return loss, 0.01, 30


def one_row_at_a_time(program):
    W, b, V, c = program.dense(64, 32), program.zeros(32), program.dense(32, 10), program.zeros(10)
    return lambda k: tv.cross_entropy(tv.relu(X[k : k + 1] @ W + b) @ V + c, Y[k : k + 1]), 0.05, 100


def dropout(program):
    W, b, V = program.dense(64, 64), program.zeros(64), program.dense(64, 10)
    return lambda k: tv.cross_entropy(tv.dropout(tv.relu(X[:64] @ W + b), 0.5, seed=k) @ V, Y[:64]), 0.1, 60


def learnt_by_heart(program):
    W, b, V = program.dense(64, 32), program.zeros(32), program.dense(32, 10)
    return lambda _: tv.cross_entropy(tv.relu(X[:16] @ W + b) @ V, Y[:16]), 1.0, 1500


def least_squares_to_the_end(program):
    A, w = program.rng.normal(size=(10, 3)), program.zeros(3)
    return lambda _: ((A @ w - A @ np.array([1.0, 2.0, 3.0])) ** 2).mean(), 0.3, 800


def ridge_at_its_minimum(program):
    A, w = program.rng.normal(size=(20, 3)), program.zeros(3)
    return lambda _: ((A @ w - A[:, 0]) ** 2).mean() + 0.1 * (w * w).sum(), 0.2, 600


def two_clouds(rng):
    return np.concatenate([rng.normal(2, 0.5, (30, 2)), rng.normal(-2, 0.5, (30, 2))])


def logistic_regression_until_it_is_sure(program):
    P, q, w, b = two_clouds(program.rng), np.repeat([[1.0], [0.0]], 30, axis=0), program.zeros(2, 1), program.zeros(1)

    def loss(_):
        p = tv.sigmoid(P @ w + b)
        return -(q * np.log(p + 1e-12) + (1 - q) * np.log(1 - p + 1e-12)).mean()

    return loss, 1.0, 1500


def support_vectors(program):
    P, sign, w = two_clouds(program.rng), np.repeat([1.0, -1.0], 30), program.zeros(2)
    return lambda _: np.maximum(1 - sign * (P @ w), 0).mean() + 0.01 * (w * w).sum(), 0.1, 300


def xor(program):
    P, q = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), np.array([[0.0], [1.0], [1.0], [0.0]])
    W, b, V, c = program.dense(2, 8, 1.0), program.zeros(8), program.dense(8, 1, 1.0), program.zeros(1)
    return lambda _: tv.bce_with_logits(np.tanh(P @ W + b) @ V + c, q), 1.0, 800


def recurrent(program):
    W, U, b, V = program.dense(8, 16, 1.0), program.keep(np.linalg.qr(program.rng.normal(size=(16, 16)))[0]), program.zeros(16), program.dense(16, 10)

    def loss(k):
        h = np.zeros((32, 16))
        for row in np.moveaxis(X[k * 32 : (k + 1) * 32].reshape(32, 8, 8), 1, 0):
            h = np.tanh(row @ W + h @ U + b)
        return tv.cross_entropy(h @ V, Y[k * 32 : (k + 1) * 32])

    return loss, 0.3, 40


def convolutions_and_pools(program):
    K, V = program.keep(program.rng.normal(0, 0.3, (4, 1, 3, 3))), program.dense(36, 10)

    def loss(k):
        h = tv.max_pool2d(tv.relu(tv.conv2d(X[k * 16 : (k + 1) * 16].reshape(16, 1, 8, 8), K)), 2)
        return tv.cross_entropy(h.reshape(16, -1) @ V, Y[k * 16 : (k + 1) * 16])

    return loss, 0.1, 40


def transformer(program):
    Q, K, V, O, W1, W2 = (program.dense(*shape, 1.0) for shape in [(16, 16)] * 4 + [(16, 32), (32, 16)])
    E, pos, gain, shift = (
        program.keep(program.rng.normal(size=(10, 16))),
        program.keep(program.rng.normal(0, 0.1, (8, 16))),
        program.keep(np.ones(16)),
        program.zeros(16),
    )
    later, words = np.triu(np.ones((8, 8), bool), 1), program.rng.integers(0, 10, (4, 9))

    def loss(_):
        x = E[words[:, :-1]] + pos
        h = tv.layer_norm(x, (16,), gain, shift)
        weights = tv.softmax(np.where(later, -np.inf, (h @ Q) @ np.swapaxes(h @ K, -1, -2) / 4))
        x = x + (weights @ (h @ V)) @ O
        x = x + tv.relu(tv.layer_norm(x, (16,), gain, shift) @ W1) @ W2
        return tv.cross_entropy((x @ E.T).reshape(-1, 10), words[:, 1:].reshape(-1))

    return loss, 0.1, 40


def residual(program):
    W, V = [program.dense(64, 64) for _ in range(16)], program.dense(64, 10)

    def loss(_):
        h = X[:32]
        for w in W:
            h = h + 0.1 * tv.relu(h @ w)
        return tv.cross_entropy(h @ V, Y[:32])

    return loss, 0.01, 10


def normalised_batch_with_a_bias_before_it(program):
    W, b, gain, shift, V = program.dense(64, 32), program.zeros(32), program.keep(np.ones(32)), program.zeros(32), program.dense(32, 10)
    return lambda _: tv.cross_entropy(tv.relu(tv.batch_norm(X[:64] @ W + b, None, None, gain, shift, True)) @ V, Y[:64]), 0.3, 40


def last_layer_of_zeros(program):
    W, b, V = program.dense(64, 32), program.zeros(32), program.zeros(32, 10)
    return lambda _: tv.cross_entropy(tv.relu(X[:32] @ W + b) @ V, Y[:32]), 0.1, 20


def springs(program):
    p = program.keep(program.rng.normal(size=(5, 2)))
    return lambda _: ((np.sqrt(((p[1:] - p[:-1]) ** 2).sum(axis=1) + 1e-12) - 1) ** 2).sum(), 0.1, 200


def every_pair(program):
    z = program.keep(program.rng.normal(size=6))
    return lambda _: np.exp(-((z[:, None] - z) ** 2)).sum(), 0.01, 5


HEALTHY = [
    deep_relu,
    one_row_at_a_time,
    dropout,
    learnt_by_heart,
    least_squares_to_the_end,
    ridge_at_its_minimum,
    logistic_regression_until_it_is_sure,
    support_vectors,
    xor,
    recurrent,
    convolutions_and_pools,
    transformer,
    residual,
    normalised_batch_with_a_bias_before_it,
    last_layer_of_zeros,
    springs,
    every_pair,
]


@pytest.mark.parametrize("make", HEALTHY, ids=lambda f: f.__name__)
@pytest.mark.parametrize("seed", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in range(1, 6))])
def test_a_healthy_program_raises_no_alarm_while_it_trains(make, seed):
    program = Program(seed)
    loss, rate, steps = make(program)
    looks = set(np.linspace(0, steps - 1, min(steps, 7)).astype(int))
    for k in range(steps):
        trace = program.step(loss(k), rate)
        if k in looks:
            found = trace.findings()
            assert not found, f"step {k}: {found[0]}"


# ---- broken ones --------------------------------------------------------------------------------------------------


def first(trace):
    return trace.findings()[0]


def named(trace, finding):
    return trace.nodes[finding.node].title


def test_a_learning_rate_far_too_high_kills_the_hidden_units():
    program = Program()
    W, b, V = program.dense(64, 32), program.zeros(32), program.dense(32, 10)
    for _ in range(3):
        program.step(tv.cross_entropy(tv.relu(X[:64] @ W + b) @ V, Y[:64]), 50.0)
    for p in program.parameters:
        p.zero_grad()
    hidden = tv.relu(X[:64] @ W + b)
    finding = first(tv.cross_entropy(hidden @ V, Y[:64]).backward())
    assert (finding.kind, finding.op) == ("dead", "relu") and "units of this relu are off for every one of the 64 rows" in finding.why
    assert "hidden = tv.relu(X[:64] @ W + b)" in finding.source.code and "learning rate" in finding.remedy


def test_weights_far_too_large_saturate_the_hidden_units():
    program = Program()
    W, V = program.keep(program.rng.normal(0, 10, (64, 32))), program.dense(32, 10)
    kinds = {f.kind: f for f in tv.cross_entropy(np.tanh(X[:64] @ W) @ V, Y[:64]).backward().findings()}
    assert kinds["saturated"].op == "tanh" and "smaller weights" in kinds["saturated"].remedy


def test_thirty_sigmoid_layers_vanish_and_thirty_large_linear_ones_explode():
    for activation, gain, kind in ((tv.sigmoid, 1.0, "vanishing"), (lambda h: h, 12.0, "exploding")):
        program = Program()
        W = [program.dense(64, 32, gain), *(program.dense(32, 32, gain) for _ in range(28)), program.dense(32, 10, 1.0)]
        h = X[:16]
        for w in W[:-1]:
            h = activation(h @ w)
        found = ((h @ W[-1]) ** 2).mean().backward().findings()
        assert kind in {f.kind for f in found}, kind


def test_a_target_of_another_rank_is_a_double_broadcast_at_the_loss():
    program = Program()
    w, b = program.dense(3, 1), program.zeros(1)
    A = program.rng.normal(size=(20, 3))
    prediction, target = A @ w + b, A[:, 0]
    trace = ((prediction - target) ** 2).mean().backward()
    finding = first(trace)
    assert (finding.kind, finding.op) == ("double-broadcast", "sub") and "400 pairs instead of 20" in finding.why
    assert "prediction - target" in finding.source.code


def test_a_loop_that_never_clears_its_gradients_is_told_from_the_second_pass_on():
    program = Program()
    W = program.dense(64, 10)
    for k in range(2):
        trace = tv.cross_entropy(X[:8] @ W, Y[:8]).backward()
        assert [f.kind for f in trace.findings()] == (["stale-grad"] if k else [])


def test_a_frozen_part_of_a_model_got_no_gradient_and_the_cut_is_named():
    program = Program()
    W, V = program.dense(64, 16), program.dense(16, 10)
    features = tv.relu(X[:8] @ W)
    finding = first(tv.cross_entropy(features.detach() @ V, Y[:8]).backward())
    assert finding.kind == "no-gradient" and "W requires a gradient and got none" in finding.why and "features.detach()" in finding.source.code


def test_a_distance_to_itself_has_an_infinite_slope_in_the_square_root():
    p = tv.tensor(np.random.default_rng(0).normal(size=(4, 2)), requires_grad=True)
    distance = np.sqrt(((p[:, None] - p[None]) ** 2).sum(axis=-1))
    finding = first(distance.sum().backward())
    assert (finding.kind, finding.phase, finding.op) == ("inf", "backward", "sqrt") and "out = 0" in finding.why


def test_a_softmax_written_out_overflows_in_exp_and_the_nan_of_the_loss_is_inherited():
    W = tv.tensor(np.random.default_rng(0).normal(0, 300, (64, 10)), requires_grad=True)
    scores = X[:8] @ W
    e = np.exp(scores)
    p = e / e.sum(axis=1, keepdims=True)
    found = (-np.log(p[np.arange(8), Y[:8]])).mean().backward().findings()
    assert (found[0].kind, found[0].phase, found[0].op) == ("inf", "forward", "exp") and "later values inherit it" in found[0].why
    assert "logsumexp" in found[0].remedy


def test_the_log_of_a_probability_that_is_zero_is_infinite_where_it_is_taken():
    z = tv.tensor([800.0, -800.0], requires_grad=True)
    found = (-np.log(tv.sigmoid(z))).sum().backward().findings()
    assert (found[0].kind, found[0].phase, found[0].op) == ("inf", "forward", "log") and "bce_with_logits" in found[0].remedy


def test_a_mask_reused_for_the_next_batch_is_an_array_changed_outside():
    program = Program()
    W = program.dense(64, 10)
    mask = np.ones((8, 64))
    loss = tv.cross_entropy((X[:8] * mask) @ W, Y[:8]) + ((W * mask.T[:, :1]) ** 2).sum()
    kept = np.ones(10)
    loss = loss + (W * kept).sum()
    kept *= 0.5
    kinds = [f.kind for f in loss.backward().findings()]
    assert kinds == ["changed-outside"]


def test_a_variance_as_a_difference_of_squares_cancels():
    x = tv.tensor(np.array([1e9, 1e9 + 1, 1e9 + 2]), requires_grad=True)
    found = ((x * x).mean() - x.mean() ** 2).backward().findings()
    assert "cancellation" in {f.kind for f in found}


def test_equal_scores_at_a_maximum_are_a_tie():
    W = tv.tensor(np.zeros((64, 10)), requires_grad=True)
    found = (X[:4] @ W).max(axis=1).sum().backward().findings()
    assert found[-1].kind == "tie" and "weights 0.1" in found[-1].why
