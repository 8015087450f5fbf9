"""The bug zoo: every mistake on every lesson graph, and what each does in a case worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

import tensorviz as tv
from teaching.lesson_graphs import LESSONS, bias, forks, gates, in_place, mlp, product, square_product, ties, ties_by_row
from tensorviz.errors import NodeLookupError, OptionError, RecordError
from tensorviz.teaching.bugs import BUGS
from tensorviz.teaching.sweep import Right, Sweep
from tensorviz.trace import Trace, validate

NAMES = ["overwrite", "average", "no-unbroadcast", "wrong-axes", "no-zero-grad", "wrong-order", "first-wins", "transposed", "stale-saved", "detached"]


def red(report):
    """The nodes whose rule or whose sum is found wrong."""
    return {r.node for r in report.rows if r.verdict == "mismatch" and r.scope in ("local", "sum")}


def test_the_zoo_has_these_bugs():
    assert list(BUGS) == NAMES
    assert all(bug.wrong.endswith(".") and bug.nowhere for bug in BUGS.values())


@pytest.mark.parametrize("lesson", LESSONS)
def test_without_a_mistake_the_sweep_makes_the_recorded_pass_to_the_bit(lesson):
    trace = LESSONS[lesson]()
    again = Trace(Sweep(trace, Right()).run(()))
    assert tv.compare(trace, again).ok
    assert again.summary() == trace.summary()
    assert [s.caption for s in again.steps] == [s.caption for s in trace.steps]


@pytest.mark.parametrize("lesson", LESSONS)
def test_every_bug_is_caught_where_it_changes_a_gradient_and_said_to_change_nothing_where_it_does_not(lesson):
    trace = LESSONS[lesson]()
    right = trace.check().kind
    for name in NAMES:
        default = trace.with_bug(name)
        for wrong in [default, *(trace.with_bug(name, node=i) for i in default.places[:3])]:
            report = wrong.check()
            told = f"{lesson}, {wrong}\n{report}"
            assert wrong.headline in report.notes
            if wrong.changes:
                assert report.kind == "mismatch" and report.blame in wrong.at, told
                assert red(report) <= set(wrong.at), told
                assert wrong.parts_at is not None and wrong.acts_at is not None and wrong.acts_at <= wrong.parts_at, told
                assert "changes nothing" not in wrong.headline
            else:
                assert report.kind == right, told
                assert "changes nothing here" in wrong.headline, told
                assert wrong.parts_at is None or wrong.comparison.first.kind == "order", told


@pytest.mark.parametrize("name", NAMES)
def test_each_bug_changes_a_gradient_in_some_lesson_and_there_its_trace_is_a_trace_like_any_other(name, tmp_path):
    wrong = next(w for lesson in LESSONS.values() if (w := lesson().with_bug(name)).changes)
    validate(wrong.data)
    assert all(step.caption for step in wrong.steps)
    assert name in repr(wrong) and wrong.summary().startswith("Backward pass of")
    for step in (0, wrong.acts_at, len(wrong.steps) - 1):
        assert wrong.to_svg(step=step).startswith("<svg")
    assert "Backward pass debugger" in wrong.to_html() or "<script" in wrong.to_html()
    wrong.save(tmp_path / "wrong.tv")
    loaded = tv.load(tmp_path / "wrong.tv")
    assert [s.caption for s in loaded.steps] == [s.caption for s in wrong.steps]
    assert loaded.data.complete == (wrong.error is None)


def test_the_right_trace_and_the_leaves_stay_as_they_were():
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    trace = (x * x).sum().backward()
    before = trace.summary()
    for name in NAMES:
        trace.with_bug(name, node="all")
    assert trace.summary() == before and x.grad.tolist() == [2.0, 4.0]


def test_overwriting_keeps_the_last_share_alone():
    x = tv.tensor(3.0, requires_grad=True)
    wrong = (x * x + 5.0 * x).backward().with_bug("overwrite")
    shares = wrong.right.node("x").shares
    assert wrong.node("x").cotangent == shares[-1].value == 3.0 and wrong.right.node("x").cotangent == 11.0
    assert wrong.steps[wrong.acts_at].caption.startswith("The wrong engine overwrites: ∂x held 5, and the share 3 from x * x takes its place")
    assert wrong.comparison.first.kind == "sum"


def test_averaging_divides_by_the_number_of_shares_at_each_of_them():
    wrong = forks().with_bug("average", node="h")
    h, right = wrong.node("h"), wrong.right.node("h")
    np.testing.assert_allclose(h.cotangent * 3, right.cotangent, rtol=1e-15)
    assert len(h.shares) == 3 and h.shares[-1].total is not None


def test_without_unbroadcast_the_pass_stops_and_says_why():
    wrong = bias().with_bug("no-unbroadcast")
    assert wrong.error == "the share for b has shape (2, 3), b has shape (3,), and nothing sums axis 0"
    assert not wrong.data.complete and wrong.node("b").cotangent is None
    assert wrong.steps[-1].caption.endswith(f"The pass stops here: {wrong.error}.")
    assert not any(step.kind == "leaf" for step in wrong.steps)
    assert f"The pass cannot finish: {wrong.error}." in wrong.headline


def test_a_full_axis_that_is_summed_too_gives_every_element_the_whole_sum():
    wrong = bias().with_bug("wrong-axes")
    (share,) = wrong.node("b").shares
    assert share.summed_axes == (0, 1)
    np.testing.assert_allclose(share.value, np.full(3, share.local.sum()))
    assert "It should sum axis 0 alone." in wrong.steps[wrong.acts_at].caption


def test_without_zero_grad_the_second_pass_adds_to_the_first():
    wrong = gates().with_bug("no-zero-grad")
    assert [wrong.node(n).cotangent.item() for n in "xyz"] == [-8.0, -8.0, 6.0]
    assert [s.before.item() for s in wrong.steps if s.kind == "leaf"] == [-4.0, -4.0, 3.0]
    only = gates().with_bug("no-zero-grad", node="x")
    assert [only.node(n).cotangent.item() for n in "xyz"] == [-8.0, -4.0, 3.0]


def test_a_node_visited_too_early_passes_on_only_what_had_come():
    x = tv.tensor(2.0, requires_grad=True)
    h = x * 3.0
    wrong = (h * 10.0 + h * 1.0).backward().with_bug("wrong-order")
    assert wrong.node("h").cotangent == 11.0 and wrong.node("x").cotangent == 3.0
    assert "only 1 of its 2 shares has come" in wrong.steps[wrong.acts_at].caption
    assert wrong.comparison.first.kind == "order"


def test_a_node_whose_shares_come_from_one_rule_is_visited_between_them():
    x = tv.tensor(2.0, requires_grad=True)
    h = x * 3.0
    wrong = (h * h).backward().with_bug("wrong-order")
    assert (wrong.node("h").cotangent, wrong.node("x").cotangent) == (12.0, 18.0)


def test_the_first_of_a_tie_takes_all_in_every_row():
    assert ties().with_bug("first-wins").node("x").cotangent.tolist() == [0.0, 1.0, 0.0, 0.0]
    rows = ties_by_row().with_bug("first-wins").node("x").cotangent
    assert rows.tolist() == [[0.0, 1.0, 0.0], [10.0, 0.0, 0.0], [100.0, 0.0, 0.0]]


def test_a_forgotten_transpose_stops_where_shapes_differ_and_is_silent_where_they_do_not():
    stopped = product().with_bug("transposed")
    assert stopped.error == "without the transpose, the gradient of shape (2, 4) and B of shape (3, 4) cannot be multiplied"
    silent = square_product().with_bug("transposed")
    g, A, B = (silent.nodes[2].cotangent, silent.node("A"), silent.node("B"))
    np.testing.assert_allclose(A.cotangent, g @ B.value)
    np.testing.assert_allclose(B.cotangent, A.value.T @ g)
    np.testing.assert_allclose(square_product().with_bug("transposed", node="B").node("B").cotangent, A.value @ g)


def test_a_stale_saved_value_is_read_as_it_is_now():
    wrong = gates().with_bug("stale-saved")
    assert wrong.node("z").cotangent == 3.0 and wrong.node("q").cotangent == -8.0
    assert "z was changed in place after it had been saved (multiplied by 2): it reads −8 for −4." in wrong.steps[wrong.acts_at].caption


def test_a_detached_value_gets_nothing_and_neither_does_what_it_was_made_of():
    wrong = mlp().with_bug("detached", node="h")
    assert [wrong.node(n).cotangent is None for n in ("h", "W1", "b1", "W2", "b2")] == [True, True, True, False, False]
    assert {wrong.nodes[i].op for i in wrong.at} == {"matmul"}
    assert "no share was sent" in wrong.check().worst.reason


def test_a_share_of_zeros_that_is_lost_changes_nothing():
    x = tv.tensor([-1.0, -2.0], requires_grad=True)
    h = x * 3.0
    wrong = (tv.relu(h).sum() + x.sum()).backward().with_bug("detached", node="h")
    assert wrong.node("h").cotangent is None and not wrong.changes and "changes nothing here" in wrong.headline
    assert wrong.check().ok


def test_a_pass_that_stopped_is_red_even_where_what_it_did_not_send_is_zero():
    a, b = tv.tensor([[2.0]], requires_grad=True), tv.tensor([1.0], requires_grad=True)
    wrong = np.maximum(a, b).sum().backward().with_bug("no-unbroadcast")
    report = wrong.check()
    assert wrong.error and report.kind == "mismatch" and report.blame in wrong.at
    assert "The pass stopped at the rule of" in report.blame_text and wrong.report is report


def test_what_is_left_of_a_sum_that_cancels_is_no_change():
    z = tv.tensor(np.random.default_rng(1).normal(size=(2, 3)), requires_grad=True)
    m = z.max(axis=1, keepdims=True)
    e = np.exp(z - m)
    p = e / e.sum(axis=1, keepdims=True)
    trace = (-np.log(p[np.arange(2), np.array([0, 2])])).mean().backward()
    wrong = trace.with_bug("wrong-axes", node="m")
    assert not np.array_equal(wrong.node("m").cotangent, trace.node("m").cotangent)
    assert not wrong.changes
    assert wrong.headline.endswith("changes nothing here: every gradient is that of the right run, but for rounding.")
    assert wrong.check().kind == trace.check().kind


@pytest.mark.parametrize("name", ["overwrite", "average", "no-zero-grad", "detached", "stale-saved"])
def test_in_a_graph_of_tiny_gradients_the_check_looks_closer(name):
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    h = x * 1e-9
    wrong = (h * x).sum().backward().with_bug(name)
    report = wrong.check()
    assert wrong.changes
    assert report.kind == "mismatch"
    assert report.blame in wrong.at
    assert report is wrong.report


def test_where_the_right_run_is_wrong_already_the_check_says_that_it_blames_something_else():
    f = tv.custom_op("sloppy_double_of_the_zoo", lambda a: 2 * a, lambda g, a: (2.5 * g,))
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    wrong = (f(x) + x).sum().backward().with_bug("overwrite")
    assert wrong.check().notes[-1].endswith("see right.check().")


def test_a_change_below_the_tolerance_of_the_check_is_said_to_be_so():
    wrong = gates().with_bug("stale-saved")
    assert wrong.check().kind == "mismatch"
    report = wrong.check(rtol=10.0)
    assert report.ok and "smaller than its tolerance" in report.notes[-1]


def test_a_long_chain_takes_no_longer_than_its_steps():
    x = tv.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(500):
        y = np.sin(y)
    trace = y.backward()
    for name in NAMES:
        assert trace.with_bug(name).headline


def test_a_wrong_run_is_shown_beside_the_right_one_or_alone(tmp_path):
    wrong = bias().with_bug("wrong-axes")
    shown = wrong.show()
    assert (shown.a, shown.b) == (wrong.right, wrong) and shown.names == ("the right engine", "with wrong-axes")
    assert shown._start["step"] == wrong.comparison.first.steps[0] and shown._beside["step"] == wrong.parts_at
    assert not wrong.report.ok and wrong.right.report.ok
    assert wrong.to_html(tmp_path / "both.html", step=2) == (tmp_path / "both.html").read_text("utf-8")
    assert wrong.show(alone=True, step=1).step == 1
    assert len(wrong.to_html(alone=True)) < len(wrong.to_html())
    with pytest.raises(OptionError, match="two linked steppers take step= and theme=, got speed"):
        wrong.show(speed=2)
    with pytest.raises(OptionError, match="alone=True takes them all"):
        wrong.to_html(title="x")


def test_by_default_a_detached_value_leaves_something_of_the_pass():
    wrong = mlp().with_bug("detached")
    assert any(n.is_leaf and n.cotangent is not None for n in wrong.nodes)


def test_a_bug_acts_once_unless_it_is_asked_for_everywhere():
    trace = square_product()
    assert len(trace.with_bug("transposed", node="all").comparison) and trace.with_bug("transposed", node="all").places == (0, 1)
    x = tv.tensor(2.0, requires_grad=True)
    h = x * x
    chain = (h * h).backward()
    assert chain.with_bug("overwrite").node("x").cotangent == 16.0
    assert chain.with_bug("overwrite", node="all").node("x").cotangent == 8.0
    assert chain.with_bug("overwrite", node="x").at == (chain.node("x").id,)


def test_a_second_bug_starts_from_the_right_run():
    wrong = in_place().with_bug("overwrite").with_bug("average")
    assert wrong.bug == "average" and not hasattr(wrong.right, "bug")


def test_what_is_no_bug_or_no_place_is_refused_with_what_there_is():
    trace = gates()
    with pytest.raises(OptionError, match="'overwrite', 'average', 'no-unbroadcast'"):
        trace.with_bug("off-by-one")
    with pytest.raises(OptionError, match=r"with_bug\('stale-saved'\): it cannot act at x \(node 0\); it can at q \* z"):
        trace.with_bug("stale-saved", node="x")
    with pytest.raises(OptionError, match="no operand of this graph was broadcast"):
        trace.with_bug("wrong-axes", node="x")
    with pytest.raises(NodeLookupError, match="Names: q, x, y, z"):
        trace.with_bug("overwrite", node="nobody")


def test_a_pass_that_stopped_is_refused():
    with pytest.raises(RecordError, match="a whole backward pass"):
        bias().with_bug("no-unbroadcast").right.with_bug("no-unbroadcast") and Trace(bias().with_bug("no-unbroadcast").data).with_bug("overwrite")


def test_a_loaded_trace_is_replayed_without_the_function_that_made_it(tmp_path):
    forks().save(tmp_path / "forks.tv")
    wrong = tv.load(tmp_path / "forks.tv").with_bug("overwrite")
    assert wrong.changes and wrong.check().blame in wrong.at


def test_a_leaf_may_be_changed_and_the_mistake_stays() -> None:
    x = tv.tensor([1.0, 2.0, -3.0], requires_grad=True, name="x")
    wrong = (tv.relu(x) * x).sum().backward().with_bug("overwrite")
    again = wrong.rerun({"x": [5.0, 2.0, -3.0]})
    assert again.right.node("x").cotangent.tolist() == [10.0, 4.0, 0.0]
    assert again.node("x").cotangent.tolist() == [5.0, 2.0, 0.0]
    assert again.bug == "overwrite"
    with pytest.raises(OptionError, match=r"those of its \.right run can"):
        wrong.rerun(shares={"2:0": 0.0})


def test_a_pass_that_stops_is_not_said_to_change_a_gradient_that_it_completed():
    X = tv.tensor(np.arange(6.0).reshape(2, 3), requires_grad=True)
    b = tv.tensor(np.ones(3), requires_grad=True)
    wrong = ((X + b) ** 2).sum().backward().with_bug("no-unbroadcast")
    assert np.array_equal(wrong.node("X").cotangent, wrong.right.node("X").cotangent)
    assert "changes the gradient" not in wrong.headline
    assert "leaves b without a gradient and does not come to write .grad of X. The runs part after step 6. The pass cannot finish" in wrong.headline
    assert wrong.parts_at == len(wrong.steps) - 1 == 6
    # a gradient that lacks a share that the pass did not come to send is another one
    h = X * 1.0
    forked = ((h + b) * h).sum().backward().with_bug("no-unbroadcast")
    for n in forked.changed:
        right = forked.right.nodes[n.id].cotangent
        if n.cotangent is not None and not np.array_equal(n.cotangent, right):
            assert f"changes the gradient of {n.name}" in forked.headline
