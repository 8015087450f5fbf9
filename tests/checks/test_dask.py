"""A check on a Dask cluster of this machine: the same rows as without, from worker processes, and without the workers."""

from __future__ import annotations

import os
import warnings
from contextlib import contextmanager

import numpy as np
import pytest

import tensorviz as tv

try:
    import distributed
except ImportError:
    distributed = None

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        distributed is None and not os.environ.get("CI"), reason="dask.distributed is not installed: a check on a cluster has NOT been tested"
    ),
    # its own sockets and event loops, closed by its own threads when they come to it
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@contextmanager
def cluster(**options):
    assert distributed is not None, "CI is set: a green run must mean that the cluster was tested"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with (
            distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None, **options) as local,
            distributed.Client(local) as client,
        ):
            yield client


def network():
    rng = np.random.default_rng(0)
    W = tv.tensor(rng.normal(size=(6, 5)), requires_grad=True)
    x = tv.tensor(rng.normal(size=(4, 6)), requires_grad=True)
    return (np.tanh(x @ W) * np.maximum(x[:, :5], 0.1)).sum(axis=0).max().backward()


def rows_of(report):
    return [(r.node, r.scope, r.slot, r.index, r.analytic, r.numeric, r.verdict) for r in report.rows]


def test_a_check_on_worker_processes_gives_the_same_rows():
    trace = network()
    alone = trace.check()
    told = []
    with cluster(processes=True) as client:
        found = trace.check(executor=client.get_executor(), progress=lambda done, total: told.append((done, total)))
    assert rows_of(found) == rows_of(alone) and found.notes == ()
    assert told[-1][0] == told[-1][1]


def test_what_a_closed_cluster_does_not_do_is_done_here_and_said():
    trace = network()
    with cluster(processes=False) as client:
        executor = client.get_executor()
        executor.shutdown()
        found = trace.check(executor=executor)
    assert rows_of(found) == rows_of(trace.check())
    assert found.notes and "done in this process" in found.notes[0]
