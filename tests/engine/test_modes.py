"""no_grad, enable_grad and scope: nested, as decorators, in generators, per thread; and what the record says of a cut."""

from __future__ import annotations

import asyncio
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


def test_generators_that_take_turns_close_their_own_blocks_and_no_others():
    def numbers(block):
        with block:
            yield tv.is_grad_enabled()
        yield tv.is_grad_enabled()

    off, on, named = numbers(tv.no_grad()), numbers(tv.enable_grad()), numbers(tv.scope("net"))
    assert [next(off), next(on), next(named)] == [False, True, True]
    assert next(off), "the block around it is closed, enable_grad is still open"
    assert next(on)
    assert (tv.tensor(1.0, requires_grad=True) * 2.0).backward().nodes[-1].scope == "net"
    next(named)
    assert tv.is_grad_enabled()
    assert (tv.tensor(1.0, requires_grad=True) * 2.0).backward().nodes[-1].scope == ""


def test_a_decorated_generator_has_the_mode_inside_its_body_and_its_user_has_not():
    @tv.no_grad()
    def body():
        try:
            got = yield tv.is_grad_enabled()
            assert got == "sent"
            yield tv.is_grad_enabled()
        except KeyError:
            yield ("caught", tv.is_grad_enabled())
        finally:
            ended.append(tv.is_grad_enabled())
        return "returned"

    ended = []
    steps = body()
    assert next(steps) is False
    assert tv.is_grad_enabled()
    assert steps.send("sent") is False
    assert steps.throw(KeyError()) == ("caught", False)
    assert tv.is_grad_enabled()
    with pytest.raises(StopIteration, match="returned"):
        next(steps)
    stopped = body()
    next(stopped)
    stopped.close()
    assert ended == [False, False]
    assert tv.is_grad_enabled()


def test_a_scope_decorates_functions_and_generators():
    x = tv.tensor(1.0, requires_grad=True)

    @tv.scope("net")
    def double(t):
        return t * 2.0

    @tv.scope("layers")
    def layers():
        yield x * 2.0
        yield x * 3.0

    for y in (double(x), *layers()):
        assert y.backward().node(y).scope in ("net", "layers")
    assert (x * 2.0).backward().nodes[-1].scope == ""


def test_asyncio_tasks_that_take_turns_have_modes_of_their_own():
    @tv.no_grad()
    async def silent(turn):
        await turn.wait()
        return tv.is_grad_enabled()

    @tv.no_grad()
    async def numbers():
        yield tv.is_grad_enabled()
        await asyncio.sleep(0)
        yield tv.is_grad_enabled()

    async def named(name, turn):
        with tv.scope(name):
            await turn.wait()
            return tv.is_grad_enabled(), (tv.tensor(1.0, requires_grad=True) * 2.0).backward().nodes[-1].scope

    async def main():
        turn = asyncio.Event()
        tasks = [asyncio.create_task(t) for t in (silent(turn), named("a", turn), named("b", turn))]
        await asyncio.sleep(0)
        turn.set()
        found = [await t for t in tasks]
        seen = []
        async for inside in numbers():
            seen.append((inside, tv.is_grad_enabled()))
        return found, seen

    assert asyncio.run(main()) == ([False, (True, "a"), (True, "b")], [(False, True), (False, True)])
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


def closed_elsewhere(generator):
    thread = threading.Thread(target=generator.close)
    thread.start()
    thread.join(10)
    assert not thread.is_alive()


def test_a_generator_that_another_thread_closes_leaves_no_block_behind():
    def silent():
        with tv.no_grad(), tv.scope("silent"):
            yield

    body = silent()
    next(body)
    assert not tv.is_grad_enabled()
    closed_elsewhere(body)
    assert tv.is_grad_enabled()
    x = tv.tensor(1.0, requires_grad=True)
    assert (x * 2.0).backward().node(1).scope == ""


def test_a_block_around_which_another_thread_closes_one_ends_where_nothing_is_open():
    def silent():
        with tv.no_grad():
            yield

    body = silent()
    next(body)
    with tv.scope("inner"):
        closed_elsewhere(body)
    assert tv.is_grad_enabled()


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
