"""The check of a trace: what it compares, what it says where it cannot, and that it does not depend on who runs it."""

from __future__ import annotations

import io
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from multiprocessing import get_context

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.checks import check
from tensorviz.engine.op import REGISTRY, apply
from tensorviz.errors import OptionError
from tensorviz.trace import Trace
from tensorviz.widgets.payload import payload


def squares():
    X = tv.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
    b = tv.tensor([0.1, 0.2, 0.3], requires_grad=True)
    return ((X + b) ** 2).sum().backward()


def network(dtype=np.float64, rows=8):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 5)).astype(dtype)
    W1 = tv.tensor(rng.normal(size=(5, 6)).astype(dtype), requires_grad=True)
    b1 = tv.tensor(np.zeros(6, dtype), requires_grad=True)
    W2 = tv.tensor(rng.normal(size=(6, 3)).astype(dtype), requires_grad=True)
    return tv.cross_entropy(tv.relu(X @ W1 + b1) @ W2, rng.integers(0, 3, rows)).backward()


def kinds(report):
    return Counter(r.verdict for r in report.rows)


def test_every_node_that_receives_a_gradient_has_a_local_and_a_global_row():
    trace = squares()
    report = trace.check()
    assert report.ok and bool(report) and report.kind == "ok" and report.blame is None
    assert {(r.scope, r.node) for r in report.rows if r.scope == "global"} == {("global", n.id) for n in trace.nodes if n.shares}
    assert {(r.node, r.slot) for r in report.rows if r.scope == "local"} == {(s.consumer, s.slot) for n in trace.nodes for s in n.shares}
    b = next(r for r in report.rows if r.scope == "global" and r.node == trace.node("b").id)
    assert (b.index, b.analytic, b.numeric, b.operand) == ((0,), pytest.approx(10.4), pytest.approx(10.4), None)


def test_a_small_array_is_checked_element_by_element_and_a_large_one_along_directions():
    W = tv.tensor(np.random.default_rng(0).normal(size=(60, 50)), requires_grad=True)
    trace = np.tanh(np.ones((4, 60)) @ W).sum().backward()
    block = next(b for b in trace.check(nodes=W).blocks if b.scope == "global")
    assert block.note == "a random direction and 2 of 3,000 elements" and block.where[0] == -1 and -1 not in block.where[1:]
    whole = next(b for b in trace.check(nodes=W, budget=None).blocks if b.scope == "global")
    assert sum(whole.counts.values()) == 3000 and whole.note == ""


def test_nodes_picks_what_is_checked():
    trace = squares()
    report = trace.check(nodes="b")
    assert {r.node for r in report.rows if r.scope == "global"} == {trace.node("b").id}
    assert {trace.nodes[r.node].op for r in report.rows if r.scope == "local"} == {"add"}
    with pytest.raises(KeyError, match="Names: "):
        trace.check(nodes=["c"])


def test_a_graph_without_backward_has_nothing_to_compare():
    from tensorviz.engine.record import forward_only

    x = tv.tensor([1.0], requires_grad=True)
    report = check(Trace(forward_only([(x * x).sum()], None)))
    assert report.ok and report.rows == () and report.worst is None and report.kind == "ok"


def test_a_network_is_ok_in_float64_and_in_float32():
    assert network().check().kind == "ok"
    report = network(np.float32).check()
    assert report.ok and kinds(report).keys() <= {"ok", "noise"}


def test_float32_round_off_is_noise_and_not_a_mismatch():
    # around 10,000 a float32 has steps of 0.001: the variance of these numbers, and its gradient, are mostly round-off
    x = tv.tensor((10_000 + np.random.default_rng(0).normal(size=50)).astype(np.float32), requires_grad=True)
    m = x.mean()
    trace = np.sqrt(((x - m) ** 2).mean()).backward()
    report = trace.check()
    assert report.ok and report.blame is None


def test_several_roots_are_checked_together():
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    h = x * x
    trace = tv.backward([h.sum(), np.sin(h)], [np.array(2.0), np.array([1.0, -1.0])])
    report = trace.check()
    assert report.ok and {r.node for r in report.rows if r.scope == "global"} >= {trace.node(x).id}


def test_a_weighted_seed_and_a_root_that_is_used_further_on_are_handled():
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3.0
    trace = tv.backward([y, (y * y).sum()], [np.array([1.0, -2.0]), None])
    assert trace.check().kind == "ok"


def test_empty_arrays_and_numbers_are_fine():
    x = tv.tensor(np.zeros((0, 3)), requires_grad=True)
    y = tv.tensor(2.0, requires_grad=True)
    report = (x.sum() + y * y).backward().check()
    assert report.ok and report.kind == "ok"


def test_a_kink_is_nonsmooth_and_its_numeric_value_is_the_central_difference():
    x = tv.tensor([-1.0, 0.0, 2.0], requires_grad=True)
    report = tv.relu(x).sum().backward().check()
    row = report.worst
    assert report.kind == "nonsmooth" and report.ok
    assert (row.index, row.analytic, row.numeric) == ((1,), 0.0, 0.5) and "kink" in row.reason


def test_a_tie_is_nonsmooth_though_the_numbers_agree():
    x = tv.tensor([1.0, 3.0, 3.0], requires_grad=True)
    report = x.max().backward().check()
    assert report.kind == "nonsmooth" and report.worst.index == (1,)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_nan_and_infinity_are_undefined_and_never_green():
    x = tv.tensor([-1.0, 1.0], requires_grad=True)
    report = np.log(x).sum().backward().check()
    assert report.kind == "undefined" and not report.ok
    y = tv.tensor([0.0, 1.0], requires_grad=True)
    assert np.sqrt(y).sum().backward().check().kind == "undefined"


def test_a_mask_of_minus_infinity_is_left_out_and_not_red():
    x = tv.tensor(np.random.default_rng(0).normal(size=(2, 3)), requires_grad=True)
    mask = np.array([[True, False, True], [True, True, False]])
    report = (tv.softmax(np.where(mask, x, -np.inf)) * np.arange(3.0)).sum().backward().check()
    assert report.ok and report.kind in ("ok", "skipped")


def test_steps_stay_inside_the_domain():
    x = tv.tensor([1e-9, 1e-300, 0.5], requires_grad=True)
    assert np.log(x).sum().backward().check().kind == "ok"
    y = tv.tensor([1 - 1e-9, -0.999999], requires_grad=True)
    assert np.arcsin(y).sum().backward().check().kind == "ok"


@pytest.mark.parametrize("scale", [1e-200, 1e-12, 1e-3, 1.0, 1e6, 1e100])
def test_the_step_scales_with_the_value(scale):
    x = tv.tensor(np.array([1.0, -0.3, 0.7]) * scale, requires_grad=True)
    trace = np.sin(x / scale).sum().backward()
    report = trace.check()
    assert report.kind == "ok" and all(r.error < 1e-6 for r in report.rows)


def test_a_forward_that_draws_new_numbers_is_nondeterministic():
    rng = np.random.default_rng(0)
    noisy = tv.custom_op("noisy_forward", lambda a: a * rng.random(a.shape), lambda g, a: (g,))
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    report = (noisy(x * 2.0) * 3.0).sum().backward().check()
    assert report.kind == "nondeterministic" and not report.ok
    assert "another result each time" in report.worst.reason


def test_a_recorded_result_that_the_op_does_not_give_is_no_subject_for_differences():
    trace = squares()
    nodes = list(trace.nodes)
    add = next(n for n in nodes if n.op == "add")
    nodes[add.id] = replace(add, value=add.value + 1.0)
    report = check(Trace(replace(trace.data, nodes=tuple(nodes))))
    row = next(r for r in report.rows if r.node == add.id and r.scope == "local")
    assert row.verdict == "input" and "was changed after the forward pass" in row.reason


def test_an_op_that_this_process_does_not_know_is_skipped():
    trace = squares()
    nodes = tuple(replace(n, op="elsewhere") if n.op == "add" else n for n in trace.nodes)
    report = check(Trace(replace(trace.data, nodes=nodes)))
    assert report.ok and report.kind == "skipped"
    row = next(r for r in report.rows if r.verdict == "skipped" and r.scope == "local")
    assert row.reason == "'elsewhere' is a custom op that this process does not know, so it cannot be run again"


@pytest.mark.parametrize(
    "name",
    sorted(
        n
        for n, op in REGISTRY.items()
        if op.differentiable and type(op).__module__.startswith("tensorviz.ops.") and "custom" not in type(op).__module__
    ),
)
def test_no_rule_of_the_registry_gets_a_false_verdict(name):
    op, rng = REGISTRY[name], np.random.default_rng(0)
    if op.examples is None:
        cases = [([rng.uniform(*(op.domain[i] if i < len(op.domain) else (-2, 2)), (2, 3)) for i in range(len(op.slots))], {})]
    else:
        cases = op.examples(rng)
    for operands, params in cases:
        tensors = [tv.tensor(o, requires_grad=True) if np.asarray(o).dtype.kind == "f" else o for o in operands]
        y = apply(op, tensors, params)
        if isinstance(y, tv.Tensor) and y.requires_grad:
            report = y.backward(rng.uniform(0.5, 1.5, y.shape) * rng.choice([-1, 1], y.shape)).check()
            assert report.kind in ("ok", "skipped"), str(report)


def rows_of(report):
    return [(r.node, r.scope, r.slot, r.index, r.analytic, r.numeric, r.verdict) for r in report.rows]


def test_rows_do_not_depend_on_the_executor():
    trace = network()
    alone = rows_of(trace.check(budget=1000))
    with ThreadPoolExecutor(2) as threads:
        assert rows_of(trace.check(budget=1000, executor=threads)) == alone
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes:
        assert rows_of(trace.check(budget=1000, executor=processes)) == alone


def test_what_an_executor_loses_is_done_here_and_said():
    class Broken(ThreadPoolExecutor):
        def submit(self, fn, /, *args, **kwargs):
            return super().submit(lambda: 1 / 0)

    trace = squares()
    with Broken(1) as broken:
        report = trace.check(executor=broken)
    assert rows_of(report) == rows_of(trace.check())
    assert any("ZeroDivisionError" in note for note in report.notes) and "ZeroDivisionError" in str(report)


def test_functions_that_call_backward_themselves_write_to_no_gradient_when_they_run_again():
    w = tv.tensor([2.0, 3.0], requires_grad=True)

    def through_w(a):
        y = (tv.tensor(a) * w).sum()
        y.backward()
        return y.numpy()

    op = tv.custom_op("calls_backward", through_w, lambda g, a: (through_w(a) and g * w.numpy(),))
    x = tv.tensor([1.0, 5.0], requires_grad=True, name="x")
    trace = (op(x) * 2.0).backward()
    assert w.grad.tolist() == [2.0, 10.0], "written by the forward function and by the rule"
    assert trace.check().ok
    trace.replay({"x": [3.0, 3.0]})
    trace.rerun({"x": [3.0, 3.0]})
    trace.with_bug("overwrite")
    assert tv.error_curve(trace, "x")[1].min() < 1e-6
    running = trace.check_alongside()
    assert running.wait() and running.report.ok
    assert w.grad.tolist() == [2.0, 10.0]


def test_a_custom_op_stays_in_the_process_that_knows_it():
    cube = tv.custom_op("cube_at_home", lambda a: a**3, lambda g, a: (3 * a**2 * g,))
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    trace = (cube(x) * 2.0).sum().backward()
    with ThreadPoolExecutor(1) as threads:
        assert trace.check(executor=threads).kind == "ok"


def test_progress_is_told(monkeypatch):
    told = []
    squares().check(progress=lambda done, total: told.append((done, total)))
    done, total = [d for d, _ in told], told[0][1]
    assert done == sorted(set(done)) and done[-1] == total and {t for _, t in told} == {total}
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    squares().check(progress=True)
    bar = sys.stderr.getvalue()  # with blanks at its end where a longer line stood before, on a slow machine
    assert bar.startswith("\rchecked ") and f"| {total}/{total} [" in bar and bar.endswith("\n") and bar.rstrip().endswith("/s]")


def test_a_progress_bar_of_the_users_is_fed():
    class Bar:  # as tqdm's are
        total, n = None, 0

        def update(self, n=1):
            assert n > 0
            self.n += n

    bar = Bar()
    squares().check(progress=bar)
    assert bar.n == bar.total > 0


def test_what_would_take_too_long_is_skipped_and_said():
    x = tv.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(60):
        y = y * 1.01
    trace = y.backward()
    report = trace.check(budget=0.5)
    skipped = [r for r in report.rows if r.verdict == "skipped"]
    assert report.ok and report.kind == "skipped" and skipped and "budget" in skipped[0].reason
    assert report.blame is None and len(skipped) < len(report.rows)


def test_the_report_can_be_had_by_node():
    trace = squares()
    rows = trace.check().for_node(trace.node("b").id)
    assert [(r.scope, r.verdict) for r in rows] == [("global", "ok")]


@pytest.mark.parametrize(("name", "value"), [("eps", 0.0), ("eps", -1e-6), ("atol", -1.0), ("rtol", float("nan")), ("budget", 0)])
def test_a_senseless_setting_is_refused_by_name(name, value):
    with pytest.raises(OptionError, match=rf"check: {name} must be a (finite )?number (above|of at least) 0, got {value}"):
        squares().check(**{name: value})


def test_numpy_may_be_told_to_raise_and_the_check_still_judges() -> None:
    x = tv.tensor([1e308, 1e-310, 1.0], requires_grad=True)
    with np.errstate(all="raise"):
        trace = tv.softmax(x).sum().backward()
        report = trace.check()
    assert {row.verdict for row in report.rows} <= {"ok", "nonsmooth", "undefined"}
    assert report.rows


def test_a_program_draws_the_same_numbers_with_its_pass_checked_and_shown_as_without() -> None:
    noisy = tv.custom_op("noisy", lambda a: a * (np.random.random(a.shape) > 2) + a, lambda g, a: (g,))  # noqa: NPY002
    np.random.seed(7)  # noqa: NPY002
    trace = noisy(tv.tensor([1.0, 2.0], requires_grad=True)).sum().backward()
    wanted = np.random.RandomState()
    wanted.set_state(np.random.get_state())  # noqa: NPY002
    assert trace.check().ok
    payload(noisy(tv.tensor([1.0, 2.0], requires_grad=True)).sum().backward())
    wanted.random(2)  # of the second forward
    assert np.random.random() == wanted.random()  # noqa: NPY002
