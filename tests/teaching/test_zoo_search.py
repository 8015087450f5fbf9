"""The bug zoo and the quiz on random graphs: what changes a gradient is caught, and every question knows its answer."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

import tensorviz as tv
from quality.programs import programs
from quality.test_fuzz import backward
from tensorviz.teaching.bugs import BUGS
from tensorviz.teaching.sweep import Right, Sweep
from tensorviz.trace import Trace


@pytest.mark.slow
@settings(max_examples=150, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs(max_lines=12))
def test_every_bug_is_caught_in_random_graphs_where_it_changes_a_gradient_by_more_than_the_tolerance(program):
    _, trace = backward(program)
    if trace is None or not trace.check().ok:
        return
    assert tv.compare(trace, Trace(Sweep(trace, Right()).run(()))).ok
    for name in BUGS:
        wrong = trace.with_bug(name)
        report = wrong.check()
        if report.ok:
            assert not wrong.changes or "smaller than its tolerance" in report.notes[-1], wrong
        else:
            assert wrong.changes and report.blame in wrong.at, wrong
    for question in trace.quiz(8):
        assert question.answer(question.solution), question
