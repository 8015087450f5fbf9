"""One wrong rule in a large graph is blamed on its node; what was changed behind a rule's back is told with who changed it, as far as is known."""

from __future__ import annotations

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.checks.outside import writers
from tensorviz.engine.op import REGISTRY


def at_random(rng, count):
    """A root over a random graph of about so many nodes."""
    pool = [tv.tensor(rng.uniform(0.3, 1.2, (2, 3)), requires_grad=True) for _ in range(4)]
    made = [
        lambda a, b: np.tanh(a) + 0.1 * b,
        lambda a, b: np.sin(a + b),
        lambda a, b: tv.sigmoid(a) * b,
        lambda a, b: a - 0.3 * b,
        lambda a, b: np.tanh(a @ b.T @ b * 0.3),
        lambda a, _: a * a.mean(axis=1, keepdims=True),
        lambda a, _: a - a.max(axis=0),
        lambda a, _: np.sqrt(tv.softmax(a)),
        lambda a, b: np.exp(np.tanh(a)) / (1.5 + b * b),
    ]
    nodes = 0
    while nodes < count:
        a, b = pool[rng.integers(max(0, len(pool) - 8), len(pool))], pool[rng.integers(max(0, len(pool) - 12), len(pool))]
        pool.append(made[rng.integers(len(made))](a, b))
        nodes += 4
    return sum((p * rng.uniform(0.5, 1.5, p.shape)).sum() for p in pool[-12:])


def with_one_wrong_node(root, rng, monkeypatch):
    """The record of a pass in which the rule of one op is wrong at one node only; and that node."""
    factor = [1.05, -1.0, 0.0, 2.0][rng.integers(4)]
    calls, wrong = [], []
    chosen = [None]

    def spy(op, real):
        def pull(node, g):
            shares = real(node, g)
            if any(s is not None and np.max(np.abs(s), initial=0.0) > 1e-2 for s in shares):
                calls.append(node.uid)
                if node.uid == chosen[0]:
                    wrong.append(node.uid)
                    return tuple(None if s is None else np.asarray(s) * factor for s in shares)
            return shares

        return pull

    for op in list(REGISTRY.values()):
        if op.differentiable and hasattr(op, "pull"):
            monkeypatch.setattr(op, "pull", spy(op, op.pull))
    root.backward(record=False)
    chosen[0] = calls[int(rng.integers(len(calls)))]
    trace = root.backward()
    trace.data
    monkeypatch.undo()
    return trace, next(n for n in trace.nodes if n.uid == wrong[-1])


@pytest.mark.parametrize("seed", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in range(1, 25))])
def test_one_wrong_rule_at_one_node_of_three_hundred_is_blamed_on_that_node(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    trace, wrong = with_one_wrong_node(at_random(rng, 230), rng, monkeypatch)
    assert 150 <= len(trace.nodes) <= 400
    report = trace.check()
    assert report.blame == wrong.id, f"{len(trace.nodes)} nodes, {wrong.op}: {report.blame_text}"


def test_a_saved_value_that_a_later_call_overwrote_is_blamed_on_the_node_that_lost_it_and_names_the_call():
    kept = {}

    def forward(a):
        kept["a"] = a
        return a * a

    square = tv.custom_op("keeps_its_operand", forward, lambda g, a: (2 * g * kept["a"],))
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    first = square(x)
    second = square(x * 3.0)
    trace = (first + second).sum().backward()
    report = trace.check()
    early, late = (n for n in trace.nodes if n.op == "keeps_its_operand")
    assert report.blame == early.id and "not linear" not in str(report)
    assert f"belongs to the operands of second = keeps_its_operand, node {late.id}" in report.blame_text
    assert "second = square(x * 3.0)" in report.blame_text and "overwrote" in report.blame_text


def test_a_rule_that_reads_an_array_which_was_changed_names_the_array():
    scale = np.array([2.0, 3.0])
    frozen = np.array([2.0, 3.0])
    scaled = tv.custom_op("reads_scale", lambda a: a * frozen, lambda g, a: (g * scale,))
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    y = scaled(x).sum()
    scale[:] = 5.0
    trace = y.backward()
    scale[:] = 2.0, 3.0
    report = trace.check()
    assert trace.nodes[report.blame].op == "reads_scale"
    assert "scale" in report.blame_text and "changed between this node's forward and its backward" in report.blame_text


def test_a_forward_that_reads_an_array_which_was_changed_cannot_be_judged_and_names_the_array():
    scale = np.array([2.0, 3.0])
    scaled = tv.custom_op("reads_scale_forward", lambda a: a * scale, lambda g, a: (g * scale,))
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    y = scaled(x).sum()
    scale[:] = 5.0
    report = y.backward().check()
    assert report.kind == "input" and "scale, which reads_scale_forward reads from outside, was changed" in str(report)


def test_an_in_place_change_of_a_saved_value_is_an_error_with_both_lines():
    h = np.exp(tv.tensor([1.0, 2.0], requires_grad=True))
    y = h * h
    h += 1.0
    with pytest.raises(RuntimeError) as caught:
        y.sum().backward()
    said = str(caught.value)
    assert "saved by mul" in said and "y = h * h" in said
    assert "changed by add" in said and "h += 1.0" in said


def test_an_array_written_to_outside_is_told_with_the_line_that_wrote():
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    noise = np.array([1.0, 0.0])
    y = (x * noise).sum()
    noise[:] = 7.0
    (finding,) = y.backward().findings()
    assert finding.kind == "changed-outside" and "(noise[:] = 7.0) writes to it" in finding.why


def test_an_array_written_to_under_another_name_is_told_without_a_line():
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    weight = np.array([1.0, 0.0])
    other = weight.view()
    y = (x * weight).sum()
    np.add(other, 1.0, out=other)
    (finding,) = y.backward().findings()
    assert "Who wrote is not in the text" in finding.why


@pytest.mark.parametrize(
    "line",
    [
        "a[0] = 1",
        "a[:, 1] += 2",
        "a += 1",
        "a.fill(0)",
        "np.add(x, y, out=a)",
        "np.copyto(a, b)",
        "rng.shuffle(a)",
        "(b[0], a[1]) = 1, 2",
        "a.T[0] = 3",
    ],
)
def test_lines_that_write_to_an_array_are_found_in_a_text(line):
    text = f"a = np.zeros(3)\nb = a + 1\n{line}\nprint(a[0], a.sum())\n"
    assert writers(text, "a", 2) == [(3, line)]


@pytest.mark.parametrize("line", ["a = 1", "b[a] = 1", "b = a[0]", "f(out=b)", "a.sum()", "for a[0] in ():", "b.a[0] = 1"])
def test_lines_that_only_read_it_are_not(line):
    assert writers(f"{line}\n", "a", 0) == []
