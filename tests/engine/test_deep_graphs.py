"""House rule 7: 100,000 nodes in a chain go forward, backward and away without recursion; nothing needs the cycle collector."""

from __future__ import annotations

import copy
import gc
import subprocess
import sys
import threading
import weakref
from dataclasses import FrozenInstanceError, replace
from time import process_time

import numpy as np
import pytest

import tensorviz as tv

DEEP = 100_000
SMALL_STACK = (512 if sys.version_info < (3, 12) else 1024) * 1024
"""Bytes. From 3.12 on Python itself frees up to 10,000 objects inside one another before it starts to queue them, which takes 0.6 MiB."""


def chain(x: tv.Tensor, n: int) -> tv.Tensor:
    y = x
    for _ in range(n // 2):
        y = y * 1.0 + x
    return y


def test_a_chain_of_a_hundred_thousand_nodes_runs_at_the_default_recursion_limit_on_a_small_stack():
    found = {}

    def run():
        x = tv.tensor(0.5, requires_grad=True)
        y = chain(x, DEEP)
        trace = y.backward()
        found["grad"] = float(x.grad)
        del y, trace, x  # and away with it, in this thread too
        found["freed"] = True

    limit = sys.getrecursionlimit()
    size = threading.stack_size(SMALL_STACK)
    try:
        sys.setrecursionlimit(500)
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    finally:
        sys.setrecursionlimit(limit)
        threading.stack_size(size)
    assert found["grad"] == DEEP // 2 + 1
    assert found["freed"]


def test_the_record_of_a_deep_chain_holds_every_node_and_share():
    x = tv.tensor(0.5, requires_grad=True)
    trace = chain(x, 5000).backward()
    assert sum(n.kind == "op" for n in trace.nodes) == 5000
    assert len(trace.node(x).shares) == 2501


def test_a_deep_gradient_of_a_gradient_does_not_recurse_either():
    x = tv.tensor(0.5, requires_grad=True)
    g = tv.grad(lambda t: chain(t, 4000) * t)(x)
    g.backward(record=False)
    # y = (n/2 + 1) t, so d²(t y)/dt² = 2 (n/2 + 1)
    assert x.grad == 2 * 2001


def test_sixty_doublings_have_many_paths_and_few_nodes():
    x = tv.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(60):
        y = y + y
    trace = y.backward()
    assert x.grad == 2.0**60
    assert len(trace.nodes) == 61


def test_a_fan_out_of_a_thousand_adds_a_thousand_shares():
    x = tv.tensor(2.0, requires_grad=True)
    y = sum([x * float(k) for k in range(1, 1001)])
    trace = y.backward()
    assert x.grad == 500_500
    assert len(trace.node(x).shares) == 1000


@pytest.mark.parametrize("record", [True, False])
def test_a_graph_goes_with_its_last_name_without_the_cycle_collector(record):
    gc.collect()
    gc.disable()
    try:
        x = tv.tensor(np.ones(4), requires_grad=True)
        h = x * 2.0
        y = (h * h).sum()
        y.backward(record=record)
        kept = weakref.ref(h), weakref.ref(h._current()), weakref.ref(y._current())
        del h, y
        assert [ref() for ref in kept] == [None, None, None]
    finally:
        gc.enable()


def test_a_trace_that_was_looked_at_goes_without_the_cycle_collector_too():
    gc.collect()
    gc.disable()
    try:
        x = tv.tensor(np.ones(4), requires_grad=True)
        y = (x * x).sum()
        trace = y.backward()
        trace.steps
        kept = weakref.ref(y._current())
        del y, trace
        assert kept() is None
    finally:
        gc.enable()


def test_results_that_are_changed_in_place_go_without_the_cycle_collector_too():
    gc.collect()
    gc.disable()
    try:
        x = tv.tensor(np.ones(4), requires_grad=True)
        total = (x * 0.0).sum()
        kept = [weakref.ref(total)]
        for k in range(3):
            h = x * float(k)
            h += 1.0
            h *= h
            kept.append(weakref.ref(h))
            total += h.sum()
        total.backward()
        assert x.grad.tolist() == [16.0] * 4  # d/dx (kx + 1)² is 2k (k + 1) at 1: 0 + 4 + 12
        del h, total
        assert [ref() for ref in kept] == [None] * 4
    finally:
        gc.enable()


def changed_through_an_index(x):
    h = x * 2.0
    h[0] += 1.0
    h[1:3] *= x[1:3]
    return [h]


def changed_after_a_backward(x):
    h = (x * x).sum()
    h.backward()
    h += 1.0
    h.backward()
    return [h]


def changed_beside_a_detached_one(x):
    h = x * 2.0
    h += h.detach()
    return [h]


def changed_beside_a_copy(x):
    h = x * 2.0
    other = copy.copy(h)
    h += 1.0
    return [h, other]


@pytest.mark.parametrize("made", [changed_through_an_index, changed_after_a_backward, changed_beside_a_detached_one, changed_beside_a_copy])
def test_what_was_changed_in_place_goes_without_the_cycle_collector_however_it_was_looked_at_before(made):
    gc.collect()
    gc.disable()
    try:
        x = tv.tensor(np.ones(4), requires_grad=True)
        h, *other = made(x)
        sum([h, *other]).sum().backward()
        kept = weakref.ref(h), weakref.ref(h._current())
        del h, other
        assert [ref() for ref in kept] == [None, None]
    finally:
        gc.enable()


def test_what_is_computed_from_a_root_does_not_keep_its_record():
    x = tv.tensor(1.0, requires_grad=True)
    total = x * 1.0
    records = []
    for _ in range(3):
        total = total + x * 2.0
        records.append(weakref.ref(total.backward()))
    assert [ref() is total.trace for ref in records] == [False, False, True]
    assert [ref() is None for ref in records] == [True, True, False]
    assert x.grad == 15


def test_roots_of_one_pass_go_without_the_cycle_collector_unless_one_is_computed_from_the_other():
    gc.collect()
    gc.disable()
    try:
        x = tv.tensor(2.0, requires_grad=True)
        a, b = x * 2.0, x * 3.0
        tv.backward([a, b])
        kept = weakref.ref(a), weakref.ref(b)
        del a, b
        assert [ref() for ref in kept] == [None, None]
        a = x * 2.0
        b = a * 3.0
        trace = tv.backward([a, b])
        assert [trace.node(a).op, trace.node(b).op, len(trace.nodes)] == ["mul", "mul", 5]
        kept = weakref.ref(a), weakref.ref(b)
        del a, b, trace
    finally:
        gc.enable()
    gc.collect()
    assert [ref() for ref in kept] == [None, None]


def test_the_cycle_collector_is_on_again_after_a_pass_also_one_that_failed():
    assert gc.isenabled()
    bad = tv.custom_op("fails_in_a_pass", lambda a: a * 1.0, lambda g, a: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        bad(tv.tensor(1.0, requires_grad=True)).backward()
    assert gc.isenabled()


def test_an_array_that_several_nodes_hold_is_one_in_the_record() -> None:
    a, b = tv.tensor(0.5, requires_grad=True), tv.tensor(0.25, requires_grad=True)
    c = a * b
    trace = (c * b).backward()
    product = trace.nodes[-1]
    assert product.saved["b"] is trace.node(b).value
    assert product.saved["a"] is trace.node(c).value
    only = trace.node(c).shares[0]
    assert only.local is only.value
    assert only.value is only.total
    steps = [s for s in trace.steps if s.kind == "accumulate" and s.node == trace.node(b).id]
    assert steps[1].before is steps[0].after


def test_what_is_made_many_at_a_time_is_as_frozen_as_what_is_made_alone() -> None:
    x = tv.tensor(3.0, requires_grad=True)
    trace = (x * x).backward()
    for part, name in ((trace.nodes[0], "op"), (trace.nodes[0].shares[0], "slot"), (trace.data.steps[0], "caption")):
        with pytest.raises(FrozenInstanceError):
            setattr(part, name, None)
        assert replace(part) is not part
        assert type(replace(part)) is type(part)


MANY = """\
import gc
import tensorviz as tv

y = x = tv.tensor(0.5, requires_grad=True)
for _ in range(15_000):
    y = y * 1.0 + x
trace = y.backward()
gc.collect()  # which may have been due
before, searched = len(gc.get_objects(generation=2)), gc.get_stats()[2]["collections"]
trace.steps
assert gc.get_stats()[2]["collections"] == searched
assert gc.isenabled() and gc.get_freeze_count() == 0
print(len(gc.get_objects(generation=2)) - before)
"""


def test_the_very_many_objects_of_a_large_record_go_among_the_old_ones_without_a_search():
    # In a process of its own: in that of the tests there are frozen objects, which would be thawed.
    done = subprocess.run([sys.executable, "-c", MANY], capture_output=True, text=True, check=True)
    assert int(done.stdout) > 200_000


@pytest.mark.parametrize("change", ["base", "last"])
def test_thousands_of_views_of_views_follow_a_change(change):
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    h = v = x * 1.0
    for _ in range(2000):
        v = v[:]
    changed = h if change == "base" else v
    changed *= 3.0
    (v * v).sum().backward(record=False)
    assert h.tolist() == v.tolist() == [3, 6]
    assert x.grad.tolist() == [18, 36]


@pytest.mark.parametrize("join", [np.concatenate, np.stack], ids=["concatenate", "stack"])
def test_thousands_of_operands_each_get_their_part_in_time_linear_in_their_number(join):
    n = 20_000
    parts = [tv.tensor([float(k)], requires_grad=True) for k in range(n)]
    y = join(parts)
    before = process_time()
    y.backward(np.arange(float(n)).reshape(y.shape), record=False)
    assert process_time() - before < 3  # 0.03; more than a minute where each operand looks at all
    assert [int(p.grad[0]) for p in parts[:: n // 5]] == list(range(0, n, n // 5))
