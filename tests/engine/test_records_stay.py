"""A record is of its pass: what happens afterwards, before it is first looked at, changes nothing in it."""

from __future__ import annotations

import copy
import pickle
import tracemalloc
from unittest import mock

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.engine import graph as engine_graph
from tensorviz.engine import node as engine_node
from tensorviz.engine import record as engine_record
from tensorviz.engine import sweep as engine_sweep


def test_a_tensor_renamed_after_backward_keeps_its_name_in_the_record():
    x = tv.tensor([1.0, 2.0], requires_grad=True, name="before")
    h = np.tanh(x)
    h.name = "h"
    trace = h.sum().backward()
    x.name, h.name = "after", None
    x.name = "later still"
    assert trace.node("before").op == "leaf"
    assert trace.node("h").op == "tanh"
    second = (x * 2.0).sum().backward()
    assert second.node("later still").shape == (2,)


def test_names_that_change_all_the_time_are_each_that_of_its_pass():
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    traces = []
    for k in range(2_000):  # a copy of all earlier names at every change would take as long as a thousand passes
        x.name = "even" if k % 2 == 0 else "odd"
        if k % 500 < 2:
            traces.append((x * 2.0).sum().backward())
    assert [t.nodes[0].name for t in traces] == ["even", "odd"] * 4


def test_a_record_can_be_pickled_and_copied_before_anybody_looked_at_it():
    x = tv.tensor([1.0, 2.0], requires_grad=True, name="x")
    again = pickle.loads(pickle.dumps((x * x).sum().backward()))
    assert again.node("x").cotangent.tolist() == [2, 4]
    assert again.check().ok
    copied = copy.deepcopy((x * 3.0).sum().backward())
    assert copied.node("x").cotangent.tolist() == [3, 3]


def test_a_pass_without_a_record_leaves_no_older_one_in_its_place():
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    y = (x * x).sum()
    y.backward()
    assert y.trace is not None
    assert y.backward(record=False) is None
    assert y.trace is None


def large_pass():
    """A pass whose shares are too large to be kept; the rules of one node write theirs down."""
    rng = np.random.default_rng(0)
    x = tv.tensor(rng.normal(size=(64, 1, 128)), requires_grad=True, name="x")
    y = tv.tensor(rng.normal(size=(32, 1)), requires_grad=True, name="y")
    h = np.exp(x * y + x)
    return x, y, (h * h).sum()


def test_large_shares_that_a_record_does_not_keep_are_made_again_as_they_were():
    x, y, loss = large_pass()
    kept = engine_record.Pass([loss._current()], [np.float64(1)], *swept(loss, whole=True), {}, {}).build()
    trace = loss.backward()
    assert any(type(s) is engine_graph.Again for shares in swept(loss, whole=False)[1] for s in shares)
    for made, share in zip([s for n in trace.nodes for s in n.shares], [s for n in kept.nodes for s in n.shares], strict=True):
        assert (made.edge, made.summed_axes) == (share.edge, share.summed_axes)
        for name in ("local", "value", "total"):
            assert getattr(made, name).tobytes() == getattr(share, name).tobytes()
    assert trace.node(x).cotangent.tobytes() == x.grad.tobytes()
    assert trace.node(y).cotangent.tobytes() == y.grad.tobytes()


@pytest.mark.parametrize("small", [(8,), (30, 1), (1, 8), (20, 30, 1), (1, 30, 1), (1, 1, 1), (1,), ()], ids=str)
@pytest.mark.parametrize("shape", [(20, 30, 8), (2, 30, 8)], ids=["large", "kept"])
def test_an_operand_that_was_broadcast_gets_the_sum_of_its_share(shape, small):
    small = (*shape[:1], *small[1:]) if len(small) == 3 and small[0] > 1 else small
    rng = np.random.default_rng(0)
    x, y = tv.tensor(rng.normal(size=shape), requires_grad=True), tv.tensor(rng.normal(size=small), requires_grad=True)
    trace = (x * y - y).backward(rng.normal(size=shape))
    shares = trace.node(y).shares
    for share in shares:
        assert share.local.shape == shape
        assert share.value.tobytes() == np.add.reduce(share.local, share.summed_axes).reshape(small).tobytes()
    assert y.grad.tobytes() == (shares[0].value + shares[1].value).tobytes()
    assert trace.node(x).shares[0].value.tobytes() == x.grad.tobytes()


def swept(loss, whole):
    ops, leaves = engine_sweep.reachable([loss._current()])
    pulled = []
    engine_sweep.sweep(ops, [(loss._current(), np.float64(1))], leaves, pulled, whole=whole)
    return ops, pulled


def test_a_recorded_pass_over_large_arrays_keeps_next_to_no_gradients():
    _, _, loss = large_pass()
    loss.backward()
    tracemalloc.start()
    try:
        loss.backward()
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert held < loss.size + 8 * 64 * 32 * 128 / 2  # half of one array, where six shares were sent


def test_a_product_with_a_small_result_keeps_no_large_share_either():
    w = tv.tensor(np.ones((2000, 1000)), requires_grad=True)
    loss = (w @ np.ones((1000, 4))).sum()
    assert any(type(s) is engine_graph.Again for shares in swept(loss, whole=False)[1] for s in shares)
    trace = loss.backward()
    assert trace.node(w).shares[0].value.tobytes() == w.grad.tobytes()


def test_the_short_way_of_a_caller_that_was_there_before_keeps_none_either():
    w = tv.tensor(np.ones((200, 100)), requires_grad=True)
    for _ in range(2):
        loss = (w @ np.ones((100, 4))).sum()
    assert any(type(s) is engine_graph.Again for shares in swept(loss, whole=False)[1] for s in shares)


def test_looking_at_a_record_raises_no_floating_point_errors_of_the_pass_again():
    x = tv.tensor(np.zeros(20_000), requires_grad=True)
    with np.errstate(all="ignore"):
        trace = (np.sqrt(x) * 1.0).sum().backward()
    with np.errstate(all="raise"):
        assert np.isinf(trace.node(x).cotangent).all()


def test_two_versions_of_a_leaf_with_the_same_numbers_have_one_step_together():
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    x.data = x.data.copy()
    trace = (y + x * 3).sum().backward()
    assert x.grad.tolist() == [5, 5]
    (step,) = [s for s in trace.steps if s.kind == "leaf"]
    assert (step.before, step.after.tolist()) == (None, [5, 5])
    assert "stale-grad" not in [f.kind for f in trace.findings()]
    (x * 1).sum().backward()
    again = (y + x * 3).sum().backward()
    (step,) = [s for s in again.steps if s.kind == "leaf"]
    assert (step.before.tolist(), step.after.tolist()) == ([6, 6], x.grad.tolist())
    assert "stale-grad" in [f.kind for f in again.findings()]


def test_versions_of_a_leaf_stand_in_the_same_order_in_every_record_of_several_roots() -> None:
    found, kept = set(), []
    for k in range(40):
        w = tv.tensor([1.0, 2.0], requires_grad=True)
        roots = [w * 3.0]
        for _ in range(3):
            w.data += 1.0
            kept.append(bytearray(17 * k))
            roots.append(w * 4.0)
        trace = tv.backward(roots, [np.ones(2)] * 4)
        kept.append(roots)
        leaves = tuple(n.value.tolist()[0] for n in trace.nodes if n.kind == "leaf")
        found.add((leaves, tuple(s.node for s in trace.steps if s.kind == "leaf")))
    assert len(found) == 1


def test_the_graph_behind_many_cuts_is_walked_once() -> None:
    x = tv.tensor(1.0, requires_grad=True, name="x")
    lost = tv.tensor(2.0, requires_grad=True, name="lost")
    y, z = x, lost * 1.0
    for _ in range(300):
        y = y * 0.5 + z.detach() + y.detach()
        z = z * 0.5
    trace = y.backward()
    walked = []
    walk = engine_record._Far.of

    def counted(self: engine_record._Far, origin: engine_node.Node) -> list[engine_node.Node]:
        before = len(self._bits)
        found = walk(self, origin)
        walked.append(len(self._bits) - before)
        return found

    with mock.patch.object(engine_record._Far, "of", counted):
        cuts = [n for n in trace.nodes if n.kind == "detached"]
    assert len(cuts) == len(walked) == 600
    assert [n.behind for n in cuts] == [("lost",), ()] * 300
    assert 0 < sum(walked) < 3 * len(trace.nodes)
