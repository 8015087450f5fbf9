"""What is connected wrongly: double broadcasts, cut paths, leftovers, arrays changed outside."""

from __future__ import annotations

import dataclasses
import weakref

import numpy as np
import pytest

import tensorviz as tv


def leaf(data, **options) -> tv.Tensor:
    return tv.tensor(data, requires_grad=True, **options)


def kinds(trace):
    return [f.kind for f in trace.findings()]


def test_a_column_against_a_row_vector_of_the_same_numbers_is_a_double_broadcast():
    predicted = tv.tensor(np.arange(4.0).reshape(4, 1), requires_grad=True)
    wanted = np.arange(4.0) + 1
    trace = ((predicted - wanted) ** 2).mean().backward()
    finding = trace.findings()[0]
    assert (finding.kind, finding.phase, finding.op) == ("double-broadcast", "forward", "sub")
    assert "predicted has shape (4, 1) and wanted has shape (4,)" in finding.why and "16 pairs instead of 4" in finding.why
    assert "predicted.reshape((4,))" in finding.remedy
    assert "predicted - wanted" in finding.source.code


def test_an_outer_sum_of_equal_rank_is_meant():
    a = tv.tensor(np.ones((3, 1)), requires_grad=True)
    b = tv.tensor(np.ones((1, 4)), requires_grad=True)
    assert kinds((a + b).sum().backward()) == []


def test_an_axis_that_was_put_in_for_the_op_is_meant_and_one_that_was_put_in_before_is_not():
    x, y = (tv.tensor([1.0, 2.0, 3.0], requires_grad=True, name=name) for name in "xy")
    outer = (x[:, None] * y).sum().backward()
    grid = (np.expand_dims(x, 1) - np.linspace(0.0, 1.0, 3)).sum().backward()
    assert all("double-broadcast" not in kinds(trace) for trace in (outer, grid))
    column = x[:, None]
    assert "double-broadcast" in kinds(((column - y) ** 2).sum().backward())


def test_a_bias_and_the_example_of_the_rules_are_meant():
    X = tv.tensor(np.arange(6.0).reshape(2, 3), requires_grad=True)
    b = tv.tensor([0.1, 0.2, 0.3], requires_grad=True)
    assert kinds(((X + b) ** 2).sum().backward()) == []
    wide = tv.tensor(np.ones((5, 1, 4, 1)), requires_grad=True)
    thin = tv.tensor(np.ones((3, 1, 1)), requires_grad=True)
    assert kinds((wide + thin).sum().backward()) == []


def test_a_gradient_left_over_from_an_earlier_pass_is_stale():
    w = tv.tensor([1.0, 2.0], requires_grad=True)
    (w * w).sum().backward()
    finding = (w * 3.0).sum().backward().findings()[0]
    assert (finding.kind, finding.phase, finding.node) == ("stale-grad", "backward", w.trace.node(w).id if w.trace else 0)
    assert "norm 4.472" in finding.why and "w.zero_grad()" in finding.remedy


def test_a_stale_gradient_of_a_models_parameter_is_the_optimizers_to_clear():
    model = tv.nn.Linear(2, 1, rng=0)
    for _ in range(2):
        trace = model(np.ones((1, 2))).sum().backward()
    remedies = {f.remedy for f in trace.findings() if f.kind == "stale-grad"}
    assert len(remedies) == 1 and remedies.pop().startswith("Call optimizer.zero_grad() (or model.zero_grad()) before backward")


def test_a_leaf_that_got_other_numbers_while_the_graph_was_built_has_no_stale_gradient_of_its_own():
    w = tv.tensor([1.0, 2.0], requires_grad=True, name="w")
    early = (w * 3.0).sum()
    w.data = np.array([5.0, 6.0])
    loss = early + (w * w).sum()
    assert kinds(loss.backward()) == []
    assert w.grad.tolist() == [13.0, 15.0]
    again = loss.backward().findings()
    assert [(f.kind, "norm 19.85" in f.why) for f in again] == [("stale-grad", True)]


def test_a_target_network_says_once_that_its_cut_is_meant():
    q, target = (tv.tensor([[0.3, -0.2], [0.1, 0.4]], requires_grad=True, name=name) for name in ("q", "target"))
    state = np.array([[1.0, 2.0]])

    def loss():
        q.zero_grad()
        with tv.no_grad():
            aim = np.tanh(state @ target).max()
        return ((np.tanh(state @ q).max() - aim) ** 2).backward()

    (finding,) = loss().findings()
    assert finding.kind == "no-gradient" and "target.requires_grad = False" in finding.remedy
    target.requires_grad = False
    assert loss().findings() == []


def test_no_stale_gradient_after_zero_grad():
    w = tv.tensor([1.0, 2.0], requires_grad=True)
    (w * w).sum().backward()
    w.zero_grad()
    assert kinds((w * 3.0).sum().backward()) == []


def test_a_leaf_whose_only_path_goes_through_a_comparison_got_no_gradient():
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    w = tv.tensor([3.0, 4.0], requires_grad=True)
    finding = np.where(w > 3.5, x, x * 2.0).sum().backward().findings()[0]
    assert (finding.kind, finding.phase) == ("no-gradient", "backward")
    assert "w requires a gradient and got none" in finding.why and "greater" in finding.why


def test_a_leaf_behind_a_detach_got_no_gradient():
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    w = tv.tensor([3.0, 4.0], requires_grad=True)
    h = w * 2.0
    finding = (x * h.detach()).sum().backward().findings()[0]
    assert (finding.kind, finding.op) == ("no-gradient", "detach")
    assert "w requires a gradient and got none: the path is cut at detach" in finding.why
    assert "h.detach()" in finding.source.code


def test_a_detach_of_something_that_gets_its_gradient_elsewhere_is_meant():
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    u = y.detach()
    assert kinds((u * x).sum().backward()) == []


def test_an_array_that_was_written_to_after_it_was_used_is_found():
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    mask = np.array([1.0, 0.0])
    loss = (x * mask).sum()
    mask[:] = 7.0
    finding = loss.backward().findings()[0]
    assert (finding.kind, finding.phase) == ("changed-outside", "forward")
    assert "The array mask was written to after mul had used it" in finding.why
    assert "x * mask" in finding.source.code


def test_an_array_that_is_written_to_after_the_pass_is_none_however_late_one_looks():
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    buffer, kept = np.zeros(2), []
    for batch in ([1.0, 2.0], [3.0, 4.0], [5.0, 6.0]):
        buffer[:] = batch
        x.zero_grad()
        kept.append((x * buffer).sum().backward())
    assert [kinds(trace) for trace in kept] == [[], [], []]


def test_of_a_graph_that_is_kept_the_second_pass_tells_what_was_written_since_the_first():
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    mask = np.array([1.0, 0.5])
    loss = (x * mask).sum()
    first = loss.backward()
    mask[:] = 7.0
    x.zero_grad()
    assert kinds(loss.backward()) == ["changed-outside"] and kinds(first) == []


def test_a_large_array_is_compared_to_the_bit():
    x = tv.tensor(np.ones((50, 50)), requires_grad=True)
    mask = np.zeros((50, 100))[:, ::2]
    loss = (x * mask).sum() + x.sum()
    mask[49, 49] = -0.0
    assert kinds(loss.backward()) == ["changed-outside"]


def cut_by_detach(W):
    return np.tanh(W * 2).detach()


def cut_by_no_grad(W):
    with tv.no_grad():
        return np.tanh(W * 2)


def cut_by_a_chain_under_no_grad(W):
    with tv.no_grad():
        doubled = W * 2
        moved = doubled + 1.0
        return np.tanh(moved)


def cut_before_more_is_computed(W):
    cut = (W * 2).detach()
    return np.tanh(cut * 3 + 1.0)


@pytest.mark.parametrize(
    ("cut", "op", "code"),
    [
        (cut_by_detach, "detach", "np.tanh(W * 2).detach()"),
        (cut_by_no_grad, "no_grad", "np.tanh(W * 2)"),
        (cut_by_a_chain_under_no_grad, "no_grad", "doubled = W * 2"),
        (cut_before_more_is_computed, "detach", "cut = (W * 2).detach()"),
    ],
)
def test_a_path_that_is_cut_is_told_with_the_line_of_the_cut_though_nothing_keeps_what_lies_behind(cut, op, code):
    W1, W2 = (tv.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    (finding,) = (cut(W1) * W2).sum().backward().findings()
    assert (finding.kind, finding.op) == ("no-gradient", op) and code in finding.source.code
    assert finding.why.startswith("W1 requires a gradient and got none: the path is cut at " + op)


def test_a_leaf_behind_a_cut_that_gets_its_gradient_elsewhere_is_none():
    W = tv.tensor([1.0, 2.0], requires_grad=True)
    assert kinds((cut_by_no_grad(W) * W).sum().backward()) == []


def test_a_truncated_loop_keeps_no_segment_alive_and_a_new_leaf_has_nothing_behind_it():
    a, b = (tv.tensor([0.5, 0.2], requires_grad=True) for _ in range(2))
    h, seen = tv.tensor([0.1, 0.1]), []
    for _ in range(5):
        a.grad = b.grad = None
        h = np.tanh(h * a + b)
        assert kinds((h * h).sum().backward()) == []
        seen.append(weakref.ref(h._current()))
        h = h.detach()
        h.requires_grad = True
    assert [ref() for ref in seen] == [None] * 5
    with tv.no_grad():
        moved = a - 0.1 * a.grad
    moved.requires_grad = True
    assert kinds((moved * moved).sum().backward()) == []


def test_an_array_that_stayed_as_it_was_is_none():
    x = tv.tensor([1.0, np.e], requires_grad=True)
    mask = np.array([1.0, 0.5])
    assert kinds((x * mask).sum().backward()) == []


def test_a_record_without_backward_has_no_missing_gradients():
    from tensorviz.engine.record import forward_only
    from tensorviz.trace import Trace

    x = tv.tensor([1.0, 2.0], requires_grad=True)
    assert Trace(forward_only([(x * x).sum()], None)).findings() == []


# ---- numbers that left the graph ------------------------------------------------------------------------------------


def told(trace) -> list[str]:
    return [f.why for f in trace.findings() if f.kind == "no-gradient"]


def test_results_collected_in_an_array_are_found_where_they_left_and_where_they_came_back():
    x = leaf([0.1234567891, 2.3456789123], name="x")
    o = np.zeros(2)
    o[0] = np.asarray(np.tanh(x)[0] * 2)
    o[1] = float(x[1] * 3)
    finding = next(f for f in (o * x).sum().backward().findings() if f.kind == "no-gradient")
    assert finding.why.startswith("o holds what was computed from Tensors that require a gradient, by mul (")
    assert "o[0] = np.asarray(np.tanh(x)[0] * 2)" in finding.why
    assert "o[1] = float(x[1] * 3)" in finding.why
    assert "np.zeros_like(x)" in finding.remedy
    assert "(o * x)" in finding.source.code


def test_a_number_taken_by_float_that_comes_back_is_found():
    x = leaf([0.1234567891, 2.3456789123], name="x")
    scale = float((x * x).sum())
    assert "through float()" in told((x * scale).sum().backward())[0]


def test_a_number_that_is_only_looked_at_or_is_taken_on_purpose_is_none():
    x = leaf([0.1234567891, 2.3456789123], name="x")
    for _ in range(3):
        loss = (np.tanh(x) * 1.5).sum()
        trace = loss.backward()
        assert float(loss) == np.asarray(loss)
        x.zero_grad()
        assert told(trace) == []
    meant = float((x * x).sum().detach())  # also where it was read out before, for a log
    assert float((x * x).sum()) == meant == float((x * x).sum().detach())
    with tv.no_grad():
        also = float((x * x * x).sum())
    assert told((x * meant * also).sum().backward()) == []


def test_a_round_number_that_meets_itself_by_accident_is_none():
    x = leaf([0.5, 2.0], name="x")
    assert float(x[0] * 5) == 2.5
    assert told((x * 2.5).sum().backward()) == []


def test_numbers_that_left_keep_no_graph_alive():
    x = leaf(np.random.default_rng(0).normal(size=3))
    h = np.tanh(x)
    node = weakref.ref(h._current())
    assert len(np.asarray(h)) == 3
    assert float(h.sum()) != 0
    del h
    assert node() is None


def test_a_finding_in_a_list_is_one_line_and_its_fields_and_equality_stay():
    predicted = tv.tensor(np.arange(4.0).reshape(4, 1), requires_grad=True)
    trace = ((predicted - (np.arange(4.0) + 1)) ** 2).mean().backward()
    finding = trace.findings()[0]
    line = repr(finding)
    assert "\n" not in line and line.startswith(f"<Finding double-broadcast (forward, sub, node {finding.node}) at ")
    assert f"test_wiring.py:{finding.source.line}: predicted has shape" in line
    assert finding.why not in line and line.endswith(" …>")  # print tells the whole
    assert finding.why in str(finding) and finding.remedy in str(finding)
    assert dataclasses.replace(finding) == finding != dataclasses.replace(finding, why="else")
    nowhere = dataclasses.replace(finding, node=None, source=None, why="two\nlines")
    assert repr(nowhere) == "<Finding double-broadcast (forward, sub): two lines>"
