"""break_on: a live pass stops where something happens, names it, and leaves the record of the pass so far."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.checks import check
from tensorviz.errors import BreakpointError, RuleError, TensorvizError

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def network():
    """A bias, a fork, a selecting op and a product, so that every kind of event happens."""
    X = tv.tensor([[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]], requires_grad=True)
    b = tv.tensor([0.1, 0.2, 0.3], requires_grad=True)
    h = tv.relu(X + b)
    L = (h * h).sum()
    return L, X, b


def stopped(*kinds, make=network, **options):
    L, *leaves = make()
    with pytest.raises(tv.Breakpoint) as caught, tv.break_on(*kinds, **options):
        L.backward()
    assert all(leaf.grad is None for leaf in leaves)
    return caught.value


def test_a_breakpoint_names_node_op_line_and_why_and_has_the_pass_up_to_there():
    stop = stopped("unbroadcast")
    trace = stop.trace
    assert isinstance(stop, TensorvizError) and isinstance(stop, RuntimeError)
    assert (stop.kind, stop.op, trace.nodes[stop.node].op) == ("unbroadcast", "add", "add")
    assert "X + b" in stop.source.code and "test_breakpoints.py" in stop.source.file
    assert stop.why == "the share that add sends to b is summed over axis 0: (2, 3) becomes (3,)"
    assert stop.why in str(stop) and "X + b" in str(stop)
    assert not trace.data.complete and trace.steps[stop.step].kind == "unbroadcast"
    assert [s.kind for s in trace.steps][-3:] == ["accumulate", "unbroadcast", "accumulate"]
    assert not any(s.kind == "leaf" for s in trace.steps)


def test_the_record_of_a_stopped_pass_can_be_looked_at_checked_and_drawn(tmp_path):
    trace = stopped("fork").trace
    assert trace.findings() == []
    assert check(trace).ok
    assert trace.to_svg(step=len(trace.steps) - 1).startswith("<svg") and "relu" not in trace.steps[-1].caption
    trace.save(tmp_path / "stopped.tv")
    assert not tv.load(tmp_path / "stopped.tv").data.complete


def test_fork_stops_at_the_second_share_of_a_node():
    stop = stopped("fork")
    assert stop.trace.nodes[stop.node].name == "h" and "second share" in stop.why
    assert len(stop.trace.node("h").shares) == 2 and stop.trace.node("X").shares == ()


def test_route_stops_at_an_op_that_selects():
    stop = stopped("route")
    assert stop.op == "relu" and "4 of 6 elements of" in stop.why


def test_nan_and_inf_stop_at_the_rule_that_bore_them():
    def root_at_zero():
        x = tv.tensor([0.0, 4.0], requires_grad=True)
        h = np.sqrt(x)
        return (np.where(x > 1.0, h, 0.0) * 1.0).sum(), x

    stop = stopped("nan", make=root_at_zero)
    assert stop.op == "sqrt" and "1 of 2 numbers in the share that sqrt sends to x is NaN" in stop.why
    assert "np.sqrt(x)" in stop.source.code

    def pole():
        x = tv.tensor([0.0, 4.0], requires_grad=True)
        return np.sqrt(x).sum(), x

    assert stopped("nan", "inf", make=pole).kind == "inf"
    with tv.break_on("nan"):
        pole()[0].backward()


def test_a_seed_can_be_the_culprit():
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(tv.Breakpoint, match="1 of 2 numbers in the seed is NaN") as caught, tv.break_on("nan"):
        (x * 2.0).backward([1.0, np.nan])
    assert caught.value.trace.steps[caught.value.step].kind == "seed"


def test_norm_above_stops_at_the_first_gradient_beyond_it():
    def growing():
        x = tv.tensor([1.0], requires_grad=True)
        y = x
        for _ in range(6):
            y = y * 10.0
        return y.sum(), x

    stop = stopped(norm_above=1e3, make=growing)
    assert stop.kind == "norm" and "has norm 1e+04, above 1000" in stop.why
    with tv.break_on(norm_above=1e7):
        growing()[0].backward()


def test_op_and_node_stop_when_the_rule_has_run():
    assert stopped(op="relu").op == "relu"
    assert stopped(op=["add", "mul"]).op == "mul"
    stop = stopped(node="h")
    node = stop.trace.nodes[stop.node]
    assert node.name == "h" and node.cotangent.tolist() == [[2.2, 0.0, 6.6], [8.2, 10.4, 0.0]]
    L, X, _ = network()
    with pytest.raises(tv.Breakpoint) as caught, tv.break_on(node=X):
        L.backward()
    assert caught.value.trace.nodes[caught.value.node].name == "X" and "has arrived" in caught.value.why
    assert len(caught.value.trace.node("X").shares) == 1


def test_when_is_asked_about_every_step_and_its_node():
    L, *_ = network()
    seen = []
    with tv.break_on(when=lambda step: seen.append((step.kind, step.node, step.share and step.share.edge))):
        trace = L.backward()
    assert seen == [(s.kind, s.node, s.share and s.share.edge) for s in trace.steps if s.kind != "leaf"]
    stop = stopped(when=lambda step, node: node.op == "relu" and step.kind == "pull")
    assert stop.op == "relu" and stop.trace.steps[stop.step].kind == "pull"
    stop = stopped(when=lambda step: step.share is not None and np.abs(step.share.value).max() > 10)
    assert np.abs(stop.trace.steps[stop.step].share.value).max() > 10


def test_check_stops_at_a_rule_that_differences_contradict():
    wrong = tv.custom_op("break_wrong", lambda a, b: a * b, lambda g, a, b: (g * b, g * a * 1.03))

    def make():
        a = tv.tensor([2.0, 1.0], requires_grad=True)
        return (wrong(np.tanh(a), a * 3.0) * 10.0).sum(), a

    stop = stopped("check", make=make)
    assert stop.op == "break_wrong" and "The backward rule of break_wrong for operand b is wrong" in stop.why
    L, *_ = network()
    with tv.break_on("check"):
        L.backward()


def test_blocks_nest_and_end():
    L, *_ = network()
    with pytest.raises(tv.Breakpoint) as caught, tv.break_on("route"), tv.break_on("fork"):
        L.backward()
    assert caught.value.kind == "fork"
    L.backward()
    with tv.break_on("nan"):
        L.backward()


def test_a_block_holds_for_its_own_thread():
    done = []

    def elsewhere():
        done.append(network()[0].backward())

    with tv.break_on("fork"):
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    assert len(done) == 1


def test_a_stopped_pass_leaves_gradients_and_the_next_pass_as_they_were():
    L, X, b = network()
    L.backward()
    before = X.grad.copy(), b.grad.copy()
    with pytest.raises(tv.Breakpoint), tv.break_on("route"):
        L.backward()
    assert np.array_equal(X.grad, before[0]) and np.array_equal(b.grad, before[1])
    L.backward()
    assert np.array_equal(X.grad, 2 * before[0])


def test_gradients_are_the_same_to_the_bit_whether_watched_or_not():
    plain, X, b = network()
    plain.backward()
    watched, Y, c = network()
    with tv.break_on("nan", "inf", norm_above=1e9):
        trace = watched.backward()
    assert np.array_equal(X.grad, Y.grad) and np.array_equal(b.grad, c.grad)
    assert trace.data.complete


@pytest.mark.parametrize(
    ("kinds", "options", "said"),
    [
        (("nans",), {}, "did you mean 'nan'"),
        (("NaN",), {}, "did you mean 'nan'"),
        ((), {}, "say where to stop"),
        ((), {"op": "rellu"}, "'rellu' is no op; did you mean 'relu'"),
        ((), {"norm_above": -1.0}, "norm_above must be a number of at least 0, got -1.0"),
        ((), {"when": 3}, "when is a function"),
    ],
)
def test_a_condition_that_is_none_is_refused(kinds, options, said):
    with pytest.raises(BreakpointError, match=said), tv.break_on(*kinds, **options):
        pass


def test_a_node_that_no_pass_had_is_said_at_the_end_of_the_block():
    L, *_ = network()
    with pytest.raises(KeyError, match="no pass in this block had that node: 'hh' is not in the trace"), tv.break_on(node="hh"):
        L.backward()


def test_an_exception_in_a_rule_carries_the_pass_up_to_there():
    def fails(g, a):
        raise ZeroDivisionError("on purpose")

    broken = tv.custom_op("break_raises", lambda a: a * 2.0, fails)
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(ZeroDivisionError) as caught:
        (broken(x) * 3.0).sum().backward()
    trace = caught.value.trace
    assert [trace.nodes[s.node].op for s in trace.steps if s.kind == "pull"] == ["sum", "mul"]
    assert trace.findings() == [] and not trace.data.complete and x.grad is None
    misshapen = tv.custom_op("break_misshapen", lambda a: a * 2.0, lambda g, a: (g[:1],))
    with pytest.raises(RuleError) as refused:
        (misshapen(x) * 3.0).sum().backward()
    assert len([s for s in refused.value.trace.steps if s.kind == "pull"]) == 2


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("kind", "y"), [("nan", lambda x: np.log(-x)), ("inf", lambda x: np.exp(x * 400.0))])
def test_a_root_that_is_not_finite_stops_the_pass_where_that_began_though_every_gradient_may_be_finite(kind, y):
    x = tv.tensor([1.0, 2.0], requires_grad=True, name="x")
    h = y(x)
    with tv.break_on(kind), pytest.raises(tv.Breakpoint) as caught:
        (h * 2.0).sum().backward()
    stop = caught.value
    assert (stop.kind, stop.op, stop.step) == (kind, "log" if kind == "nan" else "exp", 0)
    assert "in forward already, and so is the root's" in stop.why and x.grad is None
    with tv.break_on("fork"):
        (h * 2.0).sum().backward()


def test_an_infinity_that_does_not_reach_the_root_stops_nothing():
    x = tv.tensor([[1.0, 2.0]], requires_grad=True)
    with tv.break_on("inf", "nan"):
        tv.softmax(np.where(np.array([[True, False]]), x, -np.inf)).sum().backward()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_a_mask_holds_is_not_where_an_infinite_root_began():
    x = tv.tensor([1.0, 800.0], requires_grad=True)
    y = np.exp(x + np.array([-np.inf, 0.0])).sum()
    with tv.break_on("inf"), pytest.raises(tv.Breakpoint, match="1 of its 2 numbers is infinite in forward already") as caught:
        y.backward()
    assert caught.value.op == "exp"


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_nan_in_forward_is_stopped_at_the_infinity_that_it_comes_of_where_both_are_asked_for():
    x = tv.tensor([1.0, 800.0], requires_grad=True, name="x")
    e = np.exp(x)
    with (
        tv.break_on("nan", "inf"),
        pytest.raises(tv.Breakpoint, match=r"so the root is NaN[^$]*\.trace\.findings\(\) says what it comes of") as caught,
    ):
        (e / e.sum()).sum().backward()
    assert (caught.value.kind, caught.value.op) == ("inf", "exp")
    with tv.break_on("nan"), pytest.raises(tv.Breakpoint) as caught:
        (e / e.sum()).sum().backward()
    assert (caught.value.kind, caught.value.op) == ("nan", "div")


def test_zero_stops_at_the_rule_that_lets_nothing_through_and_not_at_those_behind_it():
    x = tv.tensor([-1.0, -2.0], requires_grad=True, name="x")
    with tv.break_on("zero"), pytest.raises(tv.Breakpoint, match="the share that relu sends to mul is zero throughout") as caught:
        (tv.relu(x * 2.0) * 3.0).sum().backward()
    assert (caught.value.kind, caught.value.op) == ("zero", "relu")
    with tv.break_on("zero"):
        network()[0].backward()


def test_norm_below_stops_where_a_gradient_has_become_small():
    y = x = tv.tensor([1.0], requires_grad=True)
    for _ in range(6):
        y = y * 0.1
    with tv.break_on(norm_below=2e-3), pytest.raises(tv.Breakpoint, match=r"has norm 0\.001, below 0\.002"):
        y.sum().backward()
    with tv.break_on(norm_below=1e-9):
        y.sum().backward()
    assert x.grad is not None
