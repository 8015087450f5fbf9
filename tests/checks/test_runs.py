"""Two runs side by side: the same, or the first place where they part."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.errors import RecordError
from tensorviz.trace import Trace, TraceData


def run(x=(1.0, 2.0), w=3.0, twice=False, square=False):
    x = tv.tensor(np.array(x), requires_grad=True)
    w = tv.tensor([w], requires_grad=True)
    h = np.tanh(x)
    if square:
        h = np.square(h)
    y = h * w
    L = (y + h).sum()
    if twice:
        L.backward()
    return L.backward()


def test_a_run_is_the_same_as_itself_and_as_its_repetition():
    found = tv.compare(run(), run())
    assert found and found.ok and found.first is None and len(found) == 0
    assert str(found) == "The runs are the same: 6 nodes, 14 steps."


def test_runs_of_other_data_part_at_the_first_value_and_say_which_others_come_in():
    found = tv.compare(run(), run(x=(1.0, 2.5), w=4.0))
    first = found.first
    assert (first.kind, first.nodes, first.steps) == ("value", (0, 0), (None, None))
    assert first.why == "value of x, node 0: 1 of 2 numbers, the most at [1]: 2 against 2.5; 1 more comes in later: w, node 1"
    assert found.origins == (0, 1)
    assert found.headline == "The runs part forward, at node 0 of a and node 0 of b (value)."


def test_backward_the_share_that_parts_first_is_named_with_the_saved_value_responsible():
    found = tv.compare(run(), run(w=4.0))
    share = next(p for p in found if p.kind == "share")
    assert "share that y = mul, node 3 sends to h = tanh, node 2: 2 of 2 numbers, the most at [0]: 3 against 4: it saved another b (w)" in share.why
    assert "y = h * w" in share.source.code


def test_a_number_of_the_program_is_called_a_constant_and_what_a_rule_saved_of_its_own_a_result():
    def scaled(by):
        x = tv.tensor([1.0, 2.0], requires_grad=True)
        return np.tanh(x * by).sum().backward()

    value, share = tv.compare(scaled(1.0), scaled(1.5))
    assert value.why == "constant at node 1: 1 against 1.5"
    assert share.why.endswith(": it saved another result (out)")


def test_a_rule_that_differs_parts_the_runs_though_everything_before_is_the_same():
    a = run()
    changed = []
    for step in a.data.steps:
        if step.share is not None and a.nodes[step.share.consumer].op == "tanh":
            step = replace(step, share=replace(step.share, local=step.share.local * 2, value=step.share.value * 2))
        changed.append(step)
    found = tv.compare(a, Trace(TraceData(a.nodes, tuple(changed), a.roots)))
    assert [p.kind for p in found] == ["share"]
    assert "share that h = tanh" in found.first.why and "the rule differs" in found.first.why
    assert "part backward, at step" in found.headline


def test_the_order_of_shares_is_a_difference_of_its_own():
    a = run()
    steps = list(a.data.steps)
    at = [k for k, s in enumerate(steps) if s.kind == "accumulate" and s.node == a.node("h").id]
    steps[at[0]], steps[at[1]] = steps[at[1]], steps[at[0]]
    found = tv.compare(a, Trace(TraceData(a.nodes, tuple(steps), a.roots)))
    assert found.first.kind == "order"
    assert "a goes on with the share from add" in found.first.why and "b with the share from y = mul" in found.first.why


def test_a_node_that_one_run_has_is_structure_and_the_rest_stays_paired():
    found = tv.compare(run(), run(square=True))
    assert found.first.kind == "structure" and found.first.why == "only b has h = square, node 3"
    assert found.first.nodes == (None, 3)
    assert dict(found.pairs)[3] == 4


def test_a_forgotten_zero_grad_parts_the_runs_only_at_the_end():
    found = tv.compare(run(), run(twice=True))
    assert [p.kind for p in found] == ["gradient"]
    assert ".grad of x" in found.first.why and "because .grad held something else before the pass: nothing against an array" in found.first.why


def test_tolerances_and_nan():
    assert not tv.compare(run(), run(w=3.0000001))
    assert tv.compare(run(), run(w=3.0000001), rtol=1e-6)
    with np.errstate(invalid="ignore"):
        assert tv.compare(run(x=(np.nan, 1.0)), run(x=(np.nan, 1.0)))
        assert "nan against 1" in tv.compare(run(x=(np.nan, 1.0)), run(x=(1.0, 1.0))).first.why


def test_a_saved_run_compares_with_a_new_one(tmp_path):
    run().save(tmp_path / "run.tv")
    assert tv.compare(tv.load(tmp_path / "run.tv"), run())


def test_the_html_is_escaped_and_other_objects_are_refused():
    x = tv.tensor([1.0], requires_grad=True, name="<b>&")
    a = (x * 1.0).sum().backward()
    y = tv.tensor([2.0], requires_grad=True, name="<b>&")
    shown = tv.compare(a, (y * 1.0).sum().backward())._repr_html_()
    assert "<b>&" not in shown and "&lt;b&gt;&amp;" in shown
    with pytest.raises(RecordError, match=r"two Traces, got \{'x': 1\.0\}; .*trace\.compare"):
        tv.compare(a, {"x": 1.0})


def test_one_share_that_leads_to_two_sums_is_named():
    a = run()
    k = next(k for k, s in enumerate(a.data.steps) if s.kind == "accumulate" and s.before is not None)
    steps = [replace(s, after=s.share.value) if i == k else s for i, s in enumerate(a.data.steps)]
    found = tv.compare(a, Trace(TraceData(a.nodes, tuple(steps), a.roots)))
    assert (found.first.kind, found.first.steps) == ("sum", (k, k))
    assert "running sum of h = tanh, node 2 after the same share" in found.first.why and "it is added in another way" in found.first.why


def test_two_runs_are_shown_side_by_side_from_where_they_part(tmp_path):
    found = tv.compare(run(), run(w=4.0))
    shown = found.show()
    assert (shown.a, shown.b) == found.traces and len(shown.steps) == len(shown.a.steps)
    assert found._opening() == next(p for p in found if p.kind == "share").steps[0]
    page = found.to_html(tmp_path / "pair.html")
    assert (tmp_path / "pair.html").read_text("utf-8") == page and page.startswith("<!doctype html>")
    assert tv.compare(run(), run()).show().steps == shown.steps


def test_infinities_are_compared_without_a_warning():
    def run() -> tv.Trace:
        x = tv.tensor([1.0, 0.0], requires_grad=True)
        with np.errstate(all="ignore"):
            return np.log(x).sum().backward()

    assert tv.compare(run(), run()).ok
    wrong = run().with_bug("overwrite")
    assert not wrong.changes
