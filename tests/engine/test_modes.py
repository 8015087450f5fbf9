"""no_grad, enable_grad and scope: nested, as decorators, in generators, per thread; and what the record says of a cut."""

from __future__ import annotations

import threading

import pytest

import tensorviz as tv
from tensorviz.errors import DTypeError


def test_no_grad_nests_and_ends_with_an_exception():
    assert tv.is_grad_enabled()
    with tv.no_grad():
        with tv.no_grad():
            pass
        assert not tv.is_grad_enabled()
    with pytest.raises(KeyError), tv.no_grad():
        raise KeyError
    assert tv.is_grad_enabled()


def test_one_no_grad_object_can_be_entered_again_inside_itself():
    mode = tv.no_grad()
    with mode, mode:
        pass
    assert tv.is_grad_enabled()


def test_no_grad_decorates_a_function_that_calls_itself():
    seen = []

    @tv.no_grad()
    def f(n):
        if n:
            f(n - 1)
        seen.append(tv.is_grad_enabled())

    f(2)
    assert seen == [False, False, False]
    assert tv.is_grad_enabled()


def test_enable_grad_records_inside_no_grad():
    x = tv.tensor(2.0, requires_grad=True)
    with tv.no_grad(), tv.enable_grad():
        y = x * x
    y.backward()
    assert x.grad == 4


def test_a_generator_that_ends_restores_the_mode():
    def numbers():
        with tv.no_grad():
            yield 1
        yield 2

    steps = numbers()
    next(steps)
    next(steps)
    assert tv.is_grad_enabled()


def test_every_thread_has_its_own_mode_and_scope():
    inside = threading.Event()
    checked = threading.Event()
    found = {}

    def other():
        inside.wait(10)
        x = tv.tensor(1.0, requires_grad=True)
        y = x * 2.0
        found["enabled"] = tv.is_grad_enabled()
        found["scope"] = y.backward().node(1).scope
        checked.set()

    thread = threading.Thread(target=other)
    thread.start()
    with tv.no_grad(), tv.scope("main"):
        inside.set()
        checked.wait(10)
        assert not tv.is_grad_enabled()
    thread.join()
    assert found == {"enabled": True, "scope": ""}


def test_scopes_join_and_end():
    x = tv.tensor(1.0, requires_grad=True)
    with tv.scope("net"):
        with tv.scope("layer1"):
            a = x * 2.0
        b = a * 3.0
    c = b * 4.0
    trace = c.backward()
    assert [trace.node(t).scope for t in (a, b, c)] == ["net/layer1", "net", ""]


def test_a_scope_ends_with_an_exception_and_needs_a_name():
    with pytest.raises(KeyError), tv.scope("net"):
        raise KeyError
    x = tv.tensor(1.0, requires_grad=True)
    assert (x * 2.0).backward().node(1).scope == ""
    for name in ("", None, 3):
        with pytest.raises(DTypeError, match="a scope's name is a string"), tv.scope(name):
            pass


def test_the_record_shows_where_the_graph_was_cut():
    x = tv.tensor(3.0, requires_grad=True)
    with tv.no_grad():
        silent = x * 2.0
    detached = (x * 5.0).detach()
    trace = (x * silent * detached).backward()
    assert x.grad == 6 * 15
    assert (trace.node("silent").kind, trace.node("silent").op, trace.node("silent").label) == ("detached", "no_grad", "mul")
    assert (trace.node("detached").kind, trace.node("detached").op) == ("detached", "detach")
    assert trace.node("detached").shares == ()


def test_a_detached_value_of_a_node_in_the_record_says_which():
    x = tv.tensor(3.0, requires_grad=True)
    h = x * 2.0
    d = h.detach()
    trace = (h * d).backward()
    assert trace.node("d").cut == trace.node("h").id
    assert x.grad == 12


def test_comparisons_are_recorded_and_carry_no_gradient():
    x = tv.tensor([-1.0, 2.0], requires_grad=True)
    mask = x > 0
    assert not mask.requires_grad
    trace = (x * mask).sum().backward()
    assert x.grad.tolist() == [0, 1]
    assert trace.node("mask").op == "greater"
    assert trace.node("mask").shares == ()
