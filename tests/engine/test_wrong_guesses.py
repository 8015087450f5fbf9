"""Names that a user guesses: those that are, and what is said of those that are not."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.errors import NamingError, NodeLookupError
from tensorviz.teaching.exercises import EXERCISES
from tensorviz.trace import Trace


def square() -> Trace:
    x = tv.tensor(3.0, requires_grad=True, name="x")
    y = x * x
    return y.backward()


def test_a_trace_gives_its_nodes_by_name_and_its_steps_by_number():
    trace = square()
    assert trace["x"] is trace.node("x")
    assert trace[0].kind == "seed" and trace[-1] is trace.steps[-1] and trace[np.int64(1)].kind == "pull"
    assert [step.kind for step in trace[:2]] == ["seed", "pull"]
    assert len(list(trace)) == len(trace)
    with pytest.raises(NodeLookupError, match=r"'z' is not in the trace\. Names: x, y"):
        trace["z"]
    with pytest.raises(IndexError):
        trace[99]


def test_what_is_in_a_trace_can_be_asked():
    trace = square()
    assert "x" in trace and trace.steps[1] in trace
    assert "z" not in trace and square().steps[1] not in trace


def test_a_node_has_its_gradient_under_the_name_that_a_tensor_has():
    node = square()["x"]
    assert node.grad is node.cotangent and float(node.grad) == 6


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("x", r"its node of that name is trace\['x'\]"),
        ("grad", r'trace\["b"\]\.grad'),
        ("draw", r"tv\.draw\(trace\)"),
        ("why", r"trace\.explain"),
        ("fork", r"did you mean forks\?"),
    ],
)
def test_an_attribute_that_a_trace_does_not_have_is_answered_with_what_there_is(name: str, instead: str):
    with pytest.raises(NamingError, match=f"a Trace has no attribute '{name}': .*{instead}"):
        getattr(square(), name)


def test_what_is_like_nothing_and_what_a_protocol_asks_for_is_said_to_be_missing():
    trace = square()
    with pytest.raises(NamingError, match=r"a Trace has no attribute 'qqq'$"):
        trace.qqq
    assert not hasattr(trace, "__array__") and not hasattr(trace, "_repr_png_")
    for again in (copy.copy(trace), copy.deepcopy(trace), pickle.loads(pickle.dumps(trace))):
        assert len(again) == len(trace)


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("array", r"tv\.tensor\(array, requires_grad=True\)"),
        ("show", r"tv\.debug\(y\)"),
        ("quiz", r"trace\.quiz"),
        ("bugs", r"trace\.with_bug"),
        ("watch", r"tv\.history\(\)"),
        ("exercises", r"help\(tv\.exercise\)"),
        ("tensr", r"did you mean tensor\?"),
    ],
)
def test_a_name_that_the_package_does_not_have_is_answered_with_what_there_is(name: str, instead: str):
    tv.debug
    with pytest.raises(AttributeError, match=f"module 'tensorviz' has no attribute '{name}': .*{instead}"):
        getattr(tv, name)


@pytest.mark.parametrize(("name", "instead"), [("show", r"tv\.debug\(x\)"), ("draw", r"tv\.draw\(x\)"), ("explain", r"x\.trace\.explain\(x\)")])
def test_a_tensor_that_is_to_be_looked_at_says_how(name: str, instead: str):
    with pytest.raises(NamingError, match=f"'Tensor' object has no attribute '{name}': .*{instead}"):
        getattr(tv.tensor(1.0), name)


def test_help_names_every_exercise_and_an_exercise_says_how_it_is_checked():
    assert [name for name in EXERCISES if f'``"{name}"``' not in (tv.exercise.__doc__ or "")] == []
    assert ".check(rule)" in str(tv.exercise("matmul")) and ".check(rule)" in tv.exercise("matmul")._repr_html_()
