"""Every op of the registry with wrong rules planted: each is caught, and blamed on the node that has it; and none of the right ones is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.checks import check
from tensorviz.engine.node import node as engine_node
from tensorviz.engine.op import REGISTRY, apply
from tensorviz.trace import Trace

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

OPS = sorted(
    n for n, op in REGISTRY.items() if op.differentiable and type(op).__module__.startswith("tensorviz.ops.") and "custom" not in type(op).__module__
)
ATOL, RTOL = 1e-5, 1e-3
LEAST = 3
"""Planted rules per op at least."""

rate = {"caught": 0, "planted": 0}


def cases(name, seed):
    """Operands and parameters on which an op is smooth, as its own property test has them."""
    op, rng = REGISTRY[name], np.random.default_rng(seed)
    if op.examples is not None:
        return list(op.examples(rng))

    def draw(i, shape):
        return rng.uniform(*(op.domain[i] if i < len(op.domain) else (-2, 2)), shape)

    found = [([draw(i, (3, 3)) for i in range(len(op.slots))], {})]
    if op.broadcasts and len(op.slots) > 1:
        found.append(([draw(0, (3, 2)), *(draw(i, (2,)) for i in range(1, len(op.slots)))], {}))
    return found


def circuit(name, operands, params, seed):
    """A root behind the op, each of whose float operands is used once more beside it; None where the op carries no gradient here, or the root is no number."""
    rng = np.random.default_rng([seed, 7])
    tensors = [tv.tensor(o, requires_grad=True) if isinstance(o, np.ndarray) and o.dtype.kind == "f" else o for o in operands]
    y = apply(REGISTRY[name], tensors, params)
    if not isinstance(y, tv.Tensor) or not y.requires_grad or y.size == 0:
        return None

    def weights(shape):
        return rng.uniform(0.5, 1.5, shape) * rng.choice([-1.0, 1.0], shape)

    root = (y * weights(y.shape)).sum()
    for t in tensors:
        if isinstance(t, tv.Tensor) and t.requires_grad:
            root = root + (t * weights(t.shape)).sum()
    return root if np.isfinite(root.data) else None  # the mean of no elements


def single_element(s):
    wrong = np.array(s, copy=True)
    at = np.unravel_index(int(np.argmax(np.abs(s))), s.shape)
    wrong[at] = wrong[at] * 1.05 + 0.01
    return wrong


SHARES = {
    "factor": lambda s: s * 1.03,
    "sign": lambda s: -s,
    "offset": lambda s: s + 0.02,
    "one element": single_element,
    "wrong axis": lambda s: np.flip(s, axis=-1) if s.ndim else s,
    "transposed operand": lambda s: np.ascontiguousarray(s.T).reshape(s.shape),
}
"""What is wrong with one share."""


def of_shares(bug):
    return lambda node, shares: tuple(s if s is None or not np.size(s) else bug(np.asarray(s)) for s in shares)


def swapped(node, shares):
    """The shares of two operands of one shape, exchanged."""
    sent = list(shares)
    there = [i for i, s in enumerate(sent) if s is not None]
    if len(there) > 1 and np.shape(sent[there[0]]) == np.shape(sent[there[1]]):
        sent[there[0]], sent[there[1]] = sent[there[1]], sent[there[0]]
    return tuple(sent)


def missing_unbroadcast(node, shares):
    """Of the axes that an operand grew, only the first entry."""
    sent = []
    for s, operand in zip(shares, node.inputs, strict=False):
        shape = np.shape(operand.value)
        if s is None or np.shape(s) == shape:
            sent.append(s)
            continue
        s = np.asarray(s)
        first = s[(0,) * (s.ndim - len(shape))]
        sent.append(first[tuple(slice(0, 1) if n == 1 else slice(None) for n in shape)])
    return tuple(sent)


def first_wins(node, shares):
    """Of equal shares of one tie, the first has all."""
    sent = []
    for s in shares:
        if s is None:
            sent.append(None)
            continue
        wrong = np.array(s, copy=True)
        flat = wrong.reshape(-1)
        values, where, counts = np.unique(flat, return_index=True, return_counts=True)
        for value, at, count in zip(values, where, counts, strict=True):
            if count > 1 and value:
                flat[flat == value] = 0.0
                flat[at] = value * count
        sent.append(wrong)
    return tuple(sent)


def stale(node, shares):
    """The rule run on operands that have been changed since: what it saved is stale."""
    op = node.op
    try:
        inputs = tuple(
            engine_node(None, (), {}, n.value * 1.07 if np.asarray(n.value).dtype.kind == "f" else n.value, n.needs_grad) for n in node.inputs
        )
        result = op.run(*(n.value for n in inputs), **node.params)
        made = engine_node(op, inputs, dict(node.params), result[0] if op.extras else result, True)
        if op.extras:
            made.more().extras = result[1]
        return op.pull(made, stale.gradient)
    except ValueError:  # changed so, they are no operands of this op
        return shares


RULES = {
    **{name: of_shares(bug) for name, bug in SHARES.items()},
    "swapped operands": swapped,
    "missing unbroadcast": missing_unbroadcast,
    "stale saved value": stale,
}


def planted(monkeypatch, name, root, bug):
    """The record of a pass in which the rule of one op is wrong; None where the bug changes nothing that matters."""
    op = REGISTRY[name]
    real = op.pull
    changed = []

    def pull(node, g):
        right = real(node, g)
        stale.gradient = g
        op.pull = real
        wrong = bug(node, right)
        op.pull = pull
        for a, b, n in zip(right, wrong, node.inputs, strict=False):
            if a is not None and b is not None:
                a, b = (
                    tv.engine.unbroadcast.unbroadcast(np.asarray(v), np.shape(n.value)) if np.shape(v) != np.shape(n.value) else v for v in (a, b)
                )
                changed.append(bool(np.any(np.abs(a - b) > 3 * (ATOL + RTOL * np.maximum(np.abs(a), np.abs(b))))))
        return wrong

    monkeypatch.setattr(op, "pull", pull)
    try:
        trace = root.backward()
    finally:
        monkeypatch.setattr(op, "pull", real)
    if not any(changed):
        return None
    trace.data
    return trace


def mutants(monkeypatch, name, most):
    """Records of the op with planted rules, by the bug's name; each op begins with another bug."""
    found, bugs = 0, list(RULES.items())
    turn = OPS.index(name) % len(bugs)
    for operands, params in cases(name, 0):
        for bug, wrong in bugs[turn:] + bugs[:turn]:
            if found == most:
                return
            root = circuit(name, operands, params, 0)
            trace = None if root is None else planted(monkeypatch, name, root, wrong)
            if trace is not None:
                found += 1
                yield bug, trace


def hold(monkeypatch, name, most):
    caught = 0
    missed = []
    for bug, trace in mutants(monkeypatch, name, most):
        report = trace.check()
        right = report.kind == "mismatch" and report.blame is not None and trace.nodes[report.blame].op == name
        caught += right
        if not right:
            missed.append(f"{bug}: {report.headline} {report.blame_text}")
    rate["caught"] += caught
    rate["planted"] += caught + len(missed)
    assert not missed
    assert caught >= min(LEAST, most), f"only {caught} planted rules differ from the right one"


@pytest.mark.parametrize("name", OPS)
def test_a_wrong_rule_of_an_op_is_caught_and_blamed_on_it(name, monkeypatch):
    hold(monkeypatch, name, 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", OPS)
def test_every_wrong_rule_of_an_op_is_caught_and_blamed_on_it(name, monkeypatch):
    hold(monkeypatch, name, 24)


@pytest.mark.parametrize("name", ["max", "min", "maximum", "minimum", "fmax", "fmin"])
def test_a_tie_that_goes_to_the_first_is_blamed_on_the_op_that_splits_ties_evenly(name, monkeypatch):
    x = tv.tensor([[3.0, 1.0, 3.0, 3.0], [-1.0, -1.0, 2.0, 0.0]], requires_grad=True)
    two = len(REGISTRY[name].slots) == 2
    y = tv.tensor([[3.0, 2.0, 0.0, 3.0], [-1.0, 4.0, 2.0, 0.0]], requires_grad=True)

    def root():
        return (getattr(np, name)(x, y) * 2.0).sum() if two else (getattr(np, name)(x, axis=1) * 2.0).sum()

    def one_sided(node, shares):
        a, b = (np.asarray(s) for s in shares)
        tie = (a != 0) & (b != 0)
        return np.where(tie, a + b, a), np.where(tie, 0.0, b)

    assert root().backward().check().kind == "nonsmooth"
    trace = planted(monkeypatch, name, root(), one_sided if two else first_wins)
    report = trace.check()
    assert report.kind == "mismatch" and trace.nodes[report.blame].op == name
    assert any("a tie splits evenly" in r.reason for r in report.rows)


def test_a_tie_in_a_pooling_window_that_goes_to_the_first_is_blamed_on_the_pool_where_windows_do_not_overlap(monkeypatch):
    image = np.array([[[[1.0, 3.0, 3.0, 2.0], [0.0, 3.0, 1.0, 1.0], [5.0, 5.0, 0.0, 1.0], [5.0, 2.0, 7.0, 7.0]]]])

    def root(**options):
        return (tv.max_pool2d(tv.tensor(image, requires_grad=True), 2, **options) * 2.0).sum()

    def first_of_a_window(node, shares):
        (share,) = shares
        wrong = np.array(share, copy=True)
        wrong[0, 0, 0, 1], wrong[0, 0, 1, 1] = wrong[0, 0, 0, 1] * 2, 0.0
        return (wrong,)

    for options in ({}, {"stride": 1}):
        assert root(**options).backward().check().kind == "nonsmooth"
    trace = planted(monkeypatch, "max_pool2d", root(), first_of_a_window)
    report = trace.check()
    assert report.kind == "mismatch" and trace.nodes[report.blame].op == "max_pool2d"


SOME = [name if k % 7 == 0 else pytest.param(name, marks=pytest.mark.slow) for k, name in enumerate(OPS)]


@pytest.mark.parametrize("name", SOME)
def test_an_overwritten_share_and_an_averaged_fork_beside_an_op_are_blamed_on_the_fork(name):
    for operands, params in cases(name, 0)[:2]:
        root = circuit(name, operands, params, 0)
        if root is None:
            continue
        trace = root.backward()
        for n in [n for n in trace.forks if n.is_leaf][:2]:
            for what, wrong in {"first": n.shares[0].value, "last": n.shares[-1].value, "averaged": n.cotangent / len(n.shares)}.items():
                if not np.any(np.abs(wrong - n.cotangent) > 3 * (ATOL + RTOL * np.abs(n.cotangent))):
                    continue
                nodes = list(trace.nodes)
                nodes[n.id] = replace(n, cotangent=wrong)
                report = check(Trace(replace(trace.data, nodes=tuple(nodes))), nodes=[n.id])
                rate["planted"] += 1
                rate["caught"] += report.blame == n.id
                assert report.blame == n.id, f"{what}: {report.headline}"


@pytest.mark.slow
@pytest.mark.parametrize("name", OPS)
def test_no_right_rule_gets_a_false_verdict_over_twenty_seeds(name):
    for seed in range(20):
        for operands, params in cases(name, seed):
            root = circuit(name, operands, params, seed)
            if root is not None:
                report = root.backward().check()
                assert report.kind in ("ok", "skipped"), f"seed {seed}: {report}"


@pytest.mark.parametrize("how_many", ["some", pytest.param("all", marks=pytest.mark.slow)])
def test_the_rate_is_said(capsys, how_many):
    if rate["planted"]:
        with capsys.disabled():
            print(f"\nplanted rules caught and blamed so far: {rate['caught']:,} of {rate['planted']:,}", flush=True)
        assert rate["caught"] == rate["planted"]
