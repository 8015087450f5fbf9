"""``trace.explain``: why one gradient is what it is, in lines that can be read aloud."""

from __future__ import annotations

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.errors import NodeLookupError
from tensorviz.trace import Trace


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines()]


def broadcast() -> Trace:
    X = tv.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    b = tv.tensor([1.0, -1.0], requires_grad=True)
    return ((X + b) ** 2).sum().backward()


def test_a_bias_is_told_over_which_axis_its_share_was_summed_and_from_which_numbers():
    told = lines(broadcast().explain("b"))
    assert told[0] == "∂b, the gradient of ((X + b) ** 2).sum() with respect to b: (2,) float64 = [12, 8]"
    assert told[2] == "If b[0] grows by a small δ, ((X + b) ** 2).sum() grows by 12 · δ."
    assert "∂b = Σ axis 0 of ∂(X + b)" in told
    assert "∂b[0] = 4 + 8 = 12" in told
    assert "Forward copied b along axis 0, so backward its share is summed over axis 0: (2, 2) becomes (2,)." in told
    assert told[-1] == "b.grad was None and now holds ∂b."


def test_the_shares_of_a_fork_stand_one_after_the_other_with_their_running_sum():
    x = tv.tensor(3.0, requires_grad=True)
    h = x * 2
    trace = (h + h**2).backward()
    told = lines(trace.explain("h"))
    assert [line.partition(",")[0] for line in told if line.startswith("Share")] == ["Share 1 of 2", "Share 2 of 2"]
    assert [line for line in told if "running sum" in line] == ["share = 1; running sum = 1", "share = 12; running sum = 13"]
    assert trace.explain(h) == trace.explain(trace.node("h").id) == trace.explain("h")


def test_the_step_of_each_share_is_one_that_show_takes():
    trace = broadcast()
    (said,) = (line for line in lines(trace.explain("b")) if line.startswith("Share"))
    step = int(said.partition("step=")[2].partition(")")[0])
    assert trace.steps[step].share is trace.node("b").shares[0]


def test_of_very_many_shares_the_first_and_the_last_are_told():
    s = tv.tensor(2.0, requires_grad=True)
    a = s
    for _ in range(20):
        a = a * s
    told = lines(a.backward().explain(s))
    assert sum(line.startswith("Share") for line in told) == 12
    assert "… 9 more shares" in told
    assert any("number 21, 1.049e6 from a, makes" in line and "the number" not in line for line in told)


@pytest.mark.parametrize(
    ("key", "why"),
    [
        ("k", "no requires_grad=True asked for its gradient"),
        ("m", "It is a constant"),
        ("d", "It was cut off from"),
        ("c", "No gradient passes through it"),
        ("w", "No share reached it"),
    ],
)
def test_a_node_without_a_gradient_is_told_why_it_has_none(key: str, why: str):
    x = tv.tensor([1.0, 2.0], requires_grad=True, name="x")
    w = tv.tensor([1.0, 2.0], requires_grad=True, name="w")
    k = tv.tensor([3.0, 4.0], name="k")
    d = (x * 2.0).detach()
    m = k * 2.0
    c = w > 1.0
    trace = (x * d * m * np.where(c, k, 1.0)).sum().backward()
    assert why in trace.explain({"d": d, "m": m, "c": c}.get(key, key))


def test_a_graph_that_has_not_been_run_backward_is_no_riddle():
    x = tv.tensor(3.0, requires_grad=True)
    y = x * x
    assert "Backward has not been called" in tv.draw(y).trace.explain("x")


def test_what_the_latest_check_found_stands_at_the_end():
    trace = broadcast()
    assert "Check:" not in trace.explain("b")
    trace.check()
    assert lines(trace.explain("b"))[-1].startswith("Check: ok, finite differences agree to ")


def test_a_name_that_is_not_there_is_answered_with_those_that_are():
    with pytest.raises(NodeLookupError, match=r"'bias' is not in the trace\. Names: X, b"):
        broadcast().explain("bias")


def test_as_the_last_value_of_a_cell_it_shows_its_lines():
    told = broadcast().explain("b")
    assert repr(told) == str(told).rstrip("\n")


def test_at_a_tie_no_slope_is_claimed():
    x = tv.tensor([1.0, 1.0, 0.0], requires_grad=True)
    y = x.max()
    told = y.backward().explain("x")
    assert "grows by" not in told
    x = tv.tensor([1.0, 2.0, 0.0], requires_grad=True)
    y = x.max()
    assert "If x[1] grows by a small δ, y grows by 1 · δ." in y.backward().explain("x")
