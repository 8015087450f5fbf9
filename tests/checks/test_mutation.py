"""A planted bug is caught, and blamed on the node that has it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.checks import check
from tensorviz.engine.op import REGISTRY
from tensorviz.trace import Trace, TraceData

BUGS = {
    "factor": lambda s: s * 1.03,
    "sign": lambda s: -s,
    "shifted": lambda s: np.roll(s, 1, axis=-1),
    "offset": lambda s: s + 0.01,
    "one element": lambda s: np.where(np.arange(s.size).reshape(s.shape) == np.argmax(np.abs(s)), s * 1.05, s),
}
OPS = ["div", "exp", "logsumexp", "matmul", "max", "mean", "mul", "pow", "reshape", "sigmoid", "softmax", "sub", "sum", "tanh", "transpose", "where"]

UNCHANGED = {("mean", "shifted"), ("sum", "shifted")}
"""The shares of these are the same everywhere: to shift them changes nothing."""


def circuit():
    """One graph in which each of OPS stands, between others, once."""
    rng = np.random.default_rng(3)
    a = tv.tensor(rng.normal(size=(3, 4)), requires_grad=True)
    b = tv.tensor(rng.normal(size=(4, 2)), requires_grad=True)
    c = tv.tensor(rng.uniform(1, 2, size=(3, 2)), requires_grad=True)
    h = np.tanh(np.matmul(a, b)) / c
    h = np.where(np.array([[True], [False], [True]]), h, tv.sigmoid(h))
    h = tv.softmax(h - 0.3) * np.array([1.0, -2.0])
    h = np.exp(h).reshape(2, 3).T ** 3.0
    tail = tv.logsumexp(h, axis=1)
    return tail.mean() + np.negative(h.max(axis=0)).sum()


def planted(monkeypatch, name, bug):
    """The record of a pass in which the rule of one op is wrong."""
    root = circuit()
    op = REGISTRY[name]
    real = op.pull
    monkeypatch.setattr(op, "pull", lambda node, g: tuple(None if s is None else bug(np.asarray(s)) for s in real(node, g)))
    trace = root.backward()
    trace.data
    monkeypatch.setattr(op, "pull", real)
    return trace


@pytest.mark.parametrize(("name", "bug"), [(name, bug) for name in OPS for bug in BUGS if (name, bug) not in UNCHANGED])
def test_a_wrong_rule_is_blamed_on_its_node(name, bug, monkeypatch):
    trace = planted(monkeypatch, name, BUGS[bug])
    report = trace.check()
    assert report.kind == "mismatch" and not report.ok
    assert trace.nodes[report.blame].op == name, report.blame_text


def test_the_unbroken_circuit_is_ok():
    assert circuit().backward().check().kind == "ok"


def test_blame_names_rule_operand_line_and_both_numbers():
    wrong = tv.custom_op("wrong_product", lambda a, b: a * b, lambda g, a, b: (g * b, g * a * 1.03))
    a = tv.tensor([2.0], requires_grad=True)
    b = tv.tensor([5.0], requires_grad=True)
    trace = (wrong(a, b) * 10.0).sum().backward()
    report = trace.check()
    assert report.blame == trace.nodes[report.blame].id and trace.nodes[report.blame].op == "wrong_product"
    assert "The backward rule of wrong_product for operand b is wrong" in report.blame_text
    assert "test_mutation.py" in report.blame_text and "analytic 20.6, numeric 20" in report.blame_text
    assert {(r.node, r.slot) for r in report.rows if r.verdict == "mismatch" and r.scope == "local"} == {(report.blame, 1)}


def test_one_wrong_element_among_thousands_is_found_and_named():
    def vjp(g, a):
        share = np.array(g * 2.0)
        share[17, 3] *= 1.02
        return (share,)

    # rolled along an axis, so that it is no elementwise op and has to be found along random directions
    rolled = tv.custom_op("rolled_double", lambda a: np.roll(a * 2.0, 1, axis=1), lambda g, a: vjp(np.roll(g, -1, axis=1), a))
    W = tv.tensor(np.random.default_rng(0).normal(size=(60, 20)), requires_grad=True)
    trace = (rolled(W) * np.arange(1.0, 21.0)).sum().backward()
    report = trace.check(budget=1e4)
    assert trace.nodes[report.blame].op == "rolled_double"
    rows = [r for r in report.rows if r.verdict == "mismatch" and r.index is not None]
    assert {r.index for r in rows} == {(17, 3)}


def test_a_rule_that_is_not_linear_is_found_even_where_the_gradient_is_all_ones():
    squared = tv.custom_op("squares_its_gradient", lambda a: a * 3.0, lambda g, a: (g * g * 3.0,))
    x = tv.tensor([1.0, -2.0], requires_grad=True)
    trace = squared(x).sum().backward()
    report = trace.check()
    assert trace.nodes[report.blame].op == "squares_its_gradient" and "not linear" in str(report)


def test_a_share_that_was_not_sent_is_missed():
    lost = tv.custom_op("loses_a_share", lambda a, b: a * b, lambda g, a, b: (g * b, None))
    a = tv.tensor([2.0], requires_grad=True)
    b = tv.tensor([5.0], requires_grad=True) * 1.0
    report = (lost(a, b)).sum().backward().check()
    assert report.kind == "mismatch" and "no share was sent" in report.worst.reason


def spoilt(trace, change):
    """The record with one node's part rewritten, as a broken engine would leave it."""
    nodes = list(trace.nodes)
    for i, node in enumerate(nodes):
        nodes[i] = change(node)
    return Trace(TraceData(tuple(nodes), trace.data.steps, trace.data.roots))


def fork():
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    return (x * x + np.sin(x)).sum().backward()


def test_an_overwritten_share_and_an_averaged_fork_are_blamed_on_the_fork():
    for wrong in (lambda n: n.shares[-1].value, lambda n: n.cotangent / len(n.shares)):
        trace = spoilt(fork(), lambda n, wrong=wrong: replace(n, cotangent=wrong(n)) if len(n.shares) > 1 else n)
        report = check(trace)
        assert report.kind == "mismatch" and trace.nodes[report.blame].name == "x"
        assert "not the sum of its shares" in report.blame_text


def test_a_missing_unbroadcast_is_blamed_on_the_op_that_broadcast():
    X = tv.tensor(np.arange(6.0).reshape(2, 3), requires_grad=True)
    b = tv.tensor([0.1, 0.2, 0.3], requires_grad=True)
    trace = ((X + b) ** 2).sum().backward()

    def first_row_only(n):
        if n.name != "b":
            return n
        (share,) = n.shares
        value = share.local[0]
        return replace(n, cotangent=value, shares=(replace(share, value=value, total=value),))

    report = check(spoilt(trace, first_row_only))
    assert trace.nodes[report.blame].op == "add"


def test_a_tie_that_goes_to_the_first_is_not_called_wrong_because_differences_cannot_tell():
    first = tv.custom_op("max_first_wins", lambda a: a.max(), lambda g, a: (g * (np.arange(a.size) == np.argmax(a)),))
    x = tv.tensor([3.0, 1.0, 3.0], requires_grad=True)
    report = first(x).backward().check()
    assert report.ok and report.kind == "nonsmooth"


def test_a_share_that_its_rule_does_not_give_is_no_round_off_of_a_narrow_dtype():
    x = tv.tensor(np.array([1.0, 2.0], dtype=np.float32), requires_grad=True)
    trace = (np.exp(x) * np.float32(3)).sum().backward()

    def doubled(n):
        if n.name != "x":
            return n
        (share,) = n.shares
        return replace(n, cotangent=share.value * 2, shares=(replace(share, value=share.value * 2, total=share.value * 2),))

    report = check(spoilt(trace, doubled))
    assert report.kind == "mismatch" and trace.nodes[report.blame].op == "exp"


def test_a_share_that_was_not_sent_is_missed_where_differences_cannot_judge():
    x = tv.tensor([3.0, 1.0, 3.0], requires_grad=True)
    trace = x.max().backward()
    report = check(spoilt(trace, lambda n: replace(n, cotangent=None, shares=()) if n.name == "x" else n))
    assert report.kind == "mismatch" and "no share was sent" in report.worst.reason


def test_a_share_unlike_what_its_rule_gives_is_told_from_a_rule_that_is_not_linear():
    x = tv.tensor([3.0, 1.0, 3.0], requires_grad=True)
    trace = x.max().backward()

    def first_wins(n):
        if n.name != "x":
            return n
        value = np.array([1.0, 0.0, 0.0])
        return replace(n, cotangent=value, shares=(replace(n.shares[0], value=value, total=value, route=None),))

    report = check(spoilt(trace, first_wins))
    assert report.kind == "mismatch" and "not what the op's rule gives" in report.worst.reason
