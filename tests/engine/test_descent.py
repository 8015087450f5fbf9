"""A pass from one root finds its nodes as it goes: the same ones, in the same order, as a look at the whole graph first."""

from __future__ import annotations

import time

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.engine import sweep as engine
from tensorviz.engine.tensor import changes


@pytest.fixture(autouse=True)
def _nothing_changed_in_place(monkeypatch):
    """Elsewhere in this process something may have been; then the whole graph is looked at first."""
    monkeypatch.setattr(changes, "any", False)


def grown(seed: int) -> tuple[list[tv.Tensor], tv.Tensor]:
    """A graph at random: forks, broadcasts, ops of one, two and many operands, operands old and new in any order."""
    rng = np.random.default_rng(seed)
    leaves = [tv.tensor(rng.normal(size=shape), requires_grad=bool(k % 3)) for k, shape in enumerate([(3, 4), (3, 4), (4,), (3, 1), ()])]
    made = list(leaves)

    def any_of(count: int) -> list[tv.Tensor]:
        late = rng.random() < 0.5  # mostly new ones: then the graph is deep
        return [made[-1 - int(rng.integers(min(5, len(made))))] if late else made[int(rng.integers(len(made)))] for _ in range(count)]

    for _ in range(int(rng.integers(3, 60))):
        a, b, c = any_of(3)
        kind = int(rng.integers(6))
        made.append(
            a * b + c
            if kind == 0
            else np.tanh(a)
            if kind == 1
            else a - b
            if kind == 2
            else tv.stack([x + np.zeros((3, 4)) for x in any_of(int(rng.integers(1, 30)))]).sum(axis=0) * 0.1
            if kind == 3
            else np.where(a > b, a, c)
            if kind == 4
            else sum(any_of(int(rng.integers(1, 40)))) * 0.1
        )
    return leaves, np.tanh(sum(any_of(4)) + made[-1] + leaves[1]).sum()


def in_one_go(root):
    ops, ends, pulled, missed = [root], [], [], []
    totals = engine.descend(ops, np.float64(1), ends, pulled, [], missed)
    assert not missed
    return ops, ends, totals, pulled


def after_a_look(root):
    ops, ends = engine.reachable([root])
    pulled = []
    totals = engine.sweep(ops, [(root, np.float64(1))], ends, pulled)
    return ops, ends, totals, pulled


@pytest.mark.parametrize("seed", range(60))
def test_nodes_shares_and_totals_are_those_of_a_pass_that_looked_first(seed):
    _, loss = grown(seed)
    root = loss._current()
    ops, ends, totals, pulled = in_one_go(root)
    others, other_ends, other_totals, other_pulled = after_a_look(root)
    assert list(map(id, ops)) == list(map(id, others))
    assert {id(n): t.tobytes() for n, t in zip(ends, totals, strict=True)} == {
        id(n): t.tobytes() for n, t in zip(other_ends, other_totals, strict=True)
    }
    for shares, other in zip(pulled, other_pulled, strict=True):
        assert [None if s is None else np.asarray(s).tobytes() for s in shares] == [None if s is None else np.asarray(s).tobytes() for s in other]
    assert all(n.total is None for node in ops for n in (node, *node.inputs))


def test_many_old_operands_of_many_new_ones_take_no_longer_each():
    def seconds(count):
        x = tv.tensor(1.0, requires_grad=True)
        made = [tv.sin(x * float(k)) for k in range(count)]
        y = tv.stack(made).sum()
        best = np.inf
        for _ in range(3):
            start = time.process_time()
            y.backward(record=False)
            best = min(best, time.process_time() - start)
        return best / count

    seconds(10)
    assert seconds(4000) < 5 * seconds(400)


def test_a_node_that_a_rule_sends_nothing_to_is_in_the_record_without_a_share():
    x = tv.tensor([1.0, 2.0], requires_grad=True, name="x")
    y = tv.tensor([3.0, 4.0], requires_grad=True, name="y")
    first = tv.custom_op("first_of_two", lambda a, b: a + b, lambda g, a, b: (g, None))
    h = np.sin(y)
    trace = first(x, h).sum().backward()
    assert x.grad.tolist() == [1, 1]
    assert y.grad is None
    assert trace.data.complete
    assert [n.name or n.op for n in trace.nodes if n.shares] == ["x", "first_of_two"]
    assert "sin" in [n.op for n in trace.nodes]


def test_a_pass_that_fails_leaves_a_record_up_to_there_whatever_rules_sent_nothing():
    x = tv.tensor([1.0, 2.0], requires_grad=True, name="x")

    def boom(g, a):
        raise ZeroDivisionError

    first = tv.custom_op("first_of_the_two", lambda a, b: a + b, lambda g, a, b: (g, None))
    fails = tv.custom_op("fails_in_a_descent", lambda a: a * 1.0, boom)
    old = fails(x)
    y = first(old, np.sin(x)).sum()
    with pytest.raises(ZeroDivisionError) as caught:
        y.backward()
    trace = caught.value.trace
    assert not trace.data.complete
    assert [s.kind for s in trace.steps] == ["seed", "pull", "accumulate", "pull", "accumulate"]
    assert x.grad is None
    assert x._current().total is None
    assert old._current().total is None


def test_an_interrupt_in_a_rule_leaves_no_total_behind():
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    stops = [True]

    def rule(g, a):
        if stops:
            raise KeyboardInterrupt
        return (g,)

    once = tv.custom_op("interrupted_once", lambda a: a * 1.0, rule)
    y = (once(x * 2.0) * x + tv.stack([x, x * 3.0, x]).sum()).sum()
    with pytest.raises(KeyboardInterrupt):
        y.backward()
    stops.clear()
    y.backward()
    # y = Σ (2x² + 5 Σx), over two elements
    assert x.grad.tolist() == [4.0 + 10, 8.0 + 10]


def test_an_interrupt_as_a_pass_begins_leaves_none_under_way(monkeypatch):
    class Begun(list):
        def append(self, mine):
            super().append(mine)
            raise KeyboardInterrupt

    begun = Begun()
    x = tv.tensor(2.0, requires_grad=True)
    y = x * x
    with monkeypatch.context() as patch:
        patch.setattr(engine, "_passes", begun)
        with pytest.raises(KeyboardInterrupt):
            y.backward()
        with pytest.raises(KeyboardInterrupt):
            tv.backward([y, y])
    assert begun == []
    assert x.grad is None


def test_what_a_second_interrupt_left_is_not_added_to_the_next_pass(monkeypatch):
    x = tv.tensor(2.0, requires_grad=True)
    stops = [True]

    def rule(g, a):
        if stops:
            raise KeyboardInterrupt
        return (g,)

    y = tv.custom_op("interrupted_twice", lambda a: a * 1.0, rule)(x * x) + x * 3.0

    def again():
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(engine, "_clear", again)
        with pytest.raises(KeyboardInterrupt):
            y.backward()
    stops.clear()
    y.backward()
    assert x.grad == 2 * 2 + 3
    assert engine._left == []
