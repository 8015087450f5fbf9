"""The bug zoo on the graphs that the lessons themselves record: each mistake is red where it changes a gradient, and said to change nothing where not."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

import tensorviz as tv
from course.answers import ANSWERS
from course.lessons import FOLDER, code_cells, run
from tensorviz.teaching.bugs import BUGS
from tensorviz.trace import Trace

pytestmark = pytest.mark.slow

LARGEST = 80
"""Nodes of a graph that is tried; longer ones are chains of the same."""
MOST = 7
"""Graphs that are tried of one lesson."""


def recorded(name: str, monkeypatch: pytest.MonkeyPatch) -> list[Trace]:
    """The passes of a lesson, one of those that are alike."""
    found: dict[Any, Trace] = {}
    monkeypatch.setattr(plt, "show", lambda: plt.close("all"))
    monkeypatch.chdir(FOLDER)
    names: dict[str, Any] = {"__name__": "__main__"}
    for cell in code_cells(name):
        run(cell.source, names, f"{name}:{cell.id}")
        held = [v if isinstance(v, Trace) else v.trace for v in names.values() if isinstance(v, (Trace, tv.Tensor))]
        for trace in held:
            if trace is not None and trace.data.complete and type(trace) is Trace and len(trace.nodes) <= LARGEST:
                found.setdefault((trace.roots, *[(n.op, n.shape) for n in trace.nodes]), trace)
    return list(found.values())[:MOST]


@pytest.mark.parametrize("name", ANSWERS)
def test_every_bug_is_red_where_it_changes_a_gradient_of_the_lesson(name: str, monkeypatch: pytest.MonkeyPatch):
    backend = mpl.get_backend()
    plt.switch_backend("agg")
    try:
        traces = recorded(name, monkeypatch)
    finally:
        plt.switch_backend(backend)
    assert traces
    for trace in traces:
        right = trace.check()
        for bug in BUGS:
            wrong = trace.with_bug(bug)
            report = wrong.check()
            told = f"{trace}, {wrong}\n{report}"
            if wrong.changes:
                assert not report.ok, told
                assert report.blame in wrong.at or not right.ok, told
            else:
                assert report.kind == right.kind, told
                assert "changes nothing here" in wrong.headline, told
