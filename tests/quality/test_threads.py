"""Threads: each records its own graph in its own mode and scope; what they share is added up, whoever comes first."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.errors import InPlaceError

LIMIT = 60
"""Seconds after which a thread that waits for another gives up."""


def side_by_side(*programs: Callable[[Callable[[], None]], Any]) -> list[Any]:
    """Run programs in threads of their own. Each gets ``meet``: it goes on when all have called it as often."""
    barrier = threading.Barrier(len(programs))

    def meet() -> None:
        barrier.wait(LIMIT)

    def run(program: Callable[[Callable[[], None]], Any]) -> Any:
        try:
            return program(meet)
        except BaseException:
            barrier.abort()  # so that the others do not wait
            raise

    with ThreadPoolExecutor(len(programs)) as pool:
        return [future.result(LIMIT) for future in [pool.submit(run, p) for p in programs]]


@pytest.fixture
def _many_switches() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_two_graphs_made_in_turns_do_not_mix():
    def program(start: float, scope: str):
        def run(meet):
            x = tv.tensor(start, requires_grad=True, name="x")
            y = x
            for k in range(20):
                meet()
                with tv.scope(f"{scope}{k % 2}"):
                    meet()
                    y = y * x if k % 2 else y + x
            meet()
            trace = y.backward()
            meet()
            return x, y, trace

        return run

    found = side_by_side(program(1.5, "one"), program(0.5, "other"))
    alone = [program(1.5, "one")(lambda: None), program(0.5, "other")(lambda: None)]
    for (x, _, trace), (x_alone, _, trace_alone), scope in zip(found, alone, ("one", "other"), strict=True):
        assert x.grad == x_alone.grad
        assert [(n.op, n.scope, n.value.tolist(), n.inputs) for n in trace.nodes] == [
            (n.op, n.scope, n.value.tolist(), n.inputs) for n in trace_alone.nodes
        ]
        assert {n.scope for n in trace.nodes if n.op == "mul"} == {f"{scope}1"}
        assert [s.caption for s in trace.steps] == [s.caption for s in trace_alone.steps]
        assert trace.check().ok


def test_no_grad_holds_for_its_own_thread():
    def off(meet):
        with tv.no_grad():
            meet()
            y = tv.tensor(2.0, requires_grad=True) * 3
            meet()
            return y.requires_grad, tv.is_grad_enabled()

    def on(meet):
        meet()
        y = tv.tensor(2.0, requires_grad=True) * 3
        enabled = tv.is_grad_enabled()
        meet()
        return y.requires_grad, enabled

    assert side_by_side(off, on) == [(False, False), (True, True)]
    assert tv.is_grad_enabled()


def test_a_new_thread_starts_with_recording_on_and_outside_every_scope():
    def other(meet):
        return tv.is_grad_enabled(), (tv.tensor(1.0, requires_grad=True) * 2).backward().nodes[-1].scope

    with tv.no_grad(), tv.scope("net"):
        assert side_by_side(other) == [(True, "")]


def test_a_change_in_place_in_one_thread_stops_only_the_graph_that_saved_the_value():
    def changes(meet):
        x = tv.tensor([1.0, 2.0], requires_grad=True)
        h = x * 1.0
        y = (h * h).sum()
        meet()
        h += 1.0
        meet()
        with pytest.raises(InPlaceError, match="mul saved"):
            y.backward()
        return "refused"

    def keeps(meet):
        x = tv.tensor([1.0, 2.0], requires_grad=True)
        h = x * 1.0
        y = (h * h).sum()
        meet()
        meet()
        y.backward()
        return x.grad.tolist()

    assert side_by_side(changes, keeps) == ["refused", [2, 4]]


@pytest.mark.usefixtures("_many_switches")
def test_gradients_that_threads_add_to_a_shared_leaf_are_all_there():
    # Which comes first is open; none is lost. Numbers of halves and quarters add without round-off, in any order.
    w = tv.tensor(np.zeros(5), requires_grad=True, name="w")
    passes, threads = 200, 4

    def program(k: int):
        def run(meet):
            meet()
            for _ in range(passes):
                (w * (0.25 * (k + 1))).sum().backward(record=False)

        return run

    side_by_side(*(program(k) for k in range(threads)))
    assert w.grad.tolist() == [passes * 0.25 * (1 + 2 + 3 + 4)] * 5


def test_two_passes_at_once_over_one_graph_do_not_mix():
    meet_in_a_rule: list[Callable[[], None]] = []

    def rule(g, a):
        meet_in_a_rule[0]()  # both passes are under way, and their roots have sent their shares
        return (g,)

    op = tv.custom_op("meets_in_a_pass", lambda a: a * 1.0, rule)
    x = tv.tensor(2.0, requires_grad=True, name="x")
    h = x * x
    h.name = "h"
    y = op(h) * h

    def program(seed: float):
        def run(meet):
            meet_in_a_rule[:] = [meet]
            return y.backward(seed)

        return run

    found = side_by_side(program(1.0), program(10.0))
    # y = x⁴
    assert [float(trace.node("h").cotangent) for trace in found] == [8, 80]
    assert [float(trace.node("x").cotangent) for trace in found] == [32, 320]
    assert x.grad == 352


def test_what_a_record_says_of_grad_on_a_shared_leaf_is_what_was_there_then():
    w = tv.tensor(2.0, requires_grad=True, name="w")

    def program(factor: float):
        def run(meet):
            meet()
            return (w * factor).backward()

        return run

    traces = side_by_side(program(1.0), program(10.0))
    last = [trace.steps[-1] for trace in traces]
    before = sorted(0.0 if s.before is None else float(s.before) for s in last)
    assert before in ([0, 1], [0, 10])
    assert sorted(float(s.after) for s in last)[1] == w.grad == 11


def test_one_record_is_read_by_many_threads_at_once():
    x = tv.tensor(np.ones((3, 3)), requires_grad=True, name="x")
    trace = np.tanh(x @ x).sum().backward()

    def read(meet):
        meet()
        return trace.nodes, trace.to_svg()

    found = side_by_side(*[read] * 4)
    assert all(nodes is found[0][0] and svg == found[0][1] for nodes, svg in found)


def test_a_record_is_built_once_also_where_cached_property_takes_no_lock():
    # as from Python 3.12 on: both threads are inside before either has built
    def build():
        built.append(threading.get_ident())
        return data

    data = (tv.tensor(1.0, requires_grad=True) * 2).backward().data
    built: list[int] = []
    trace = tv.Trace(build)
    look = type(trace).__dict__["data"].func

    def read(meet):
        meet()
        return look(trace)

    assert side_by_side(read, read, read) == [data] * 3
    assert len(built) == 1


@pytest.mark.usefixtures("_many_switches")
def test_derivatives_of_functions_are_taken_side_by_side():
    def program(k: int):
        def run(meet):
            meet()
            return [float(tv.grad(tv.grad(lambda x: x**3 * k))(float(n))) for n in range(20)]

        return run

    assert side_by_side(*(program(k) for k in (1, 2, 3))) == [[6.0 * k * n for n in range(20)] for k in (1, 2, 3)]


def test_collection_of_garbage_is_on_again_when_all_passes_have_ended():
    import gc

    def run(meet):
        x = tv.tensor(np.ones(3), requires_grad=True)
        meet()
        for _ in range(50):
            (x * x).sum().backward()

    assert gc.isenabled()
    side_by_side(run, run, run)
    assert gc.isenabled()
