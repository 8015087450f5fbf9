"""Whoever does the work, the rows are the same; what a worker loses is done again, and said."""

from __future__ import annotations

import os
import signal
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

import tensorviz as tv


def network():
    rng = np.random.default_rng(0)
    h = x = tv.tensor(rng.normal(size=(4, 6)), requires_grad=True)
    for _ in range(20):
        W = tv.tensor(rng.normal(0, 0.4, size=(6, 6)), requires_grad=True)
        h = np.tanh(h @ W) + 0.5 * h
    return (tv.softmax(h) * rng.normal(size=(4, 6))).sum().backward(), x


def rows_of(report):
    return [(r.node, r.scope, r.slot, r.index, r.analytic, r.numeric, r.verdict) for r in report.rows]


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("pool", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_rows_do_not_depend_on_the_executor(pool, workers):
    trace, _ = network()
    alone, told = rows_of(trace.check()), []
    with pool(workers) as executor:
        report = trace.check(executor=executor, progress=lambda done, total: told.append((done, total)))
    assert rows_of(report) == alone and report.notes == ()
    assert [d for d, _ in told] == sorted(d for d, _ in told) and told[-1][0] == told[-1][1]


class LosesWorkers(Executor):
    """A pool of processes, one of whose workers is killed while the check goes on."""

    def __init__(self):
        self.pool, self.sent = ProcessPoolExecutor(2), 0
        self._max_workers = 2

    def submit(self, function, /, *arguments, **options):
        self.sent += 1
        if self.sent == 3:
            self.pool.submit(os.getpid).result()  # a worker is there
            os.kill(next(iter(self.pool._processes)), signal.SIGKILL)
        return self.pool.submit(function, *arguments, **options)

    def shutdown(self, wait=True, *, cancel_futures=False):
        self.pool.shutdown(wait, cancel_futures=cancel_futures)


def test_a_killed_worker_process_loses_no_row_and_is_said():
    trace, _ = network()
    alone = rows_of(trace.check())
    with LosesWorkers() as executor:
        report = trace.check(executor=executor)
    assert executor.sent >= 3
    assert rows_of(report) == alone and report.ok
    assert report.notes and "BrokenProcessPool" in report.notes[0] and "done in this process" in report.notes[0]


class Forgets(Executor):
    """Cancels what it was given, as a cluster that shuts down does."""

    def submit(self, function, /, *arguments, **options):
        future: Future = Future()
        future.cancel()
        future.set_running_or_notify_cancel()
        return future


def test_cancelled_work_is_done_here_and_said():
    trace, _ = network()
    report = trace.check(executor=Forgets())
    assert rows_of(report) == rows_of(trace.check())
    (note,) = report.notes
    assert "CancelledError" in note and "were done in this process" in note


class Interrupted(Executor):
    """Ctrl-C while the work is being waited for."""

    def __init__(self):
        self.futures = []

    def submit(self, function, /, *arguments, **options):
        future: Future = Future()
        if self.futures:
            self.futures[0].set_exception(KeyboardInterrupt()) if not self.futures[0].done() else None
        self.futures.append(future)
        return future


def test_an_interrupt_leaves_no_work_waiting_in_the_executor():
    trace, _ = network()
    executor = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        trace.check(executor=executor)
    assert len(executor.futures) > 1 and all(f.done() for f in executor.futures)


def test_a_kind_of_executor_is_none():
    trace, _ = network()
    with pytest.raises(tv.errors.DTypeError, match=r"must be a concurrent.futures.Executor or None, got"):
        trace.check(executor=ThreadPoolExecutor)


def test_a_wrong_rule_is_blamed_from_a_pool_as_well():
    wrong = tv.custom_op("wrong_in_a_pool", lambda a: a * a, lambda g, a: (g * a,))
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    trace = np.sin(wrong(np.exp(x))).sum().backward()
    with ProcessPoolExecutor(1) as executor:
        report = trace.check(executor=executor)
    assert trace.nodes[report.blame].op == "wrong_in_a_pool" and rows_of(report) == rows_of(trace.check())
