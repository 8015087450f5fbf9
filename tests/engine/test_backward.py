"""The sweep: order of the shares, what is written to ``.grad``, seeds, roots, failures."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from typing import get_overloads

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.engine.op import REGISTRY, Op
from tensorviz.engine.own import Own
from tensorviz.errors import GraphError, RuleError, SeedError


def leaf(data, **options) -> tv.Tensor:
    return tv.tensor(data, requires_grad=True, **options)


class RaisesBackward(Op):
    """The identity, whose rule raises."""

    name, word, slots, formulas = "raises_backward", "raises", ("a",), ("nothing",)

    @staticmethod
    def forward(a):
        return a * 1.0

    @staticmethod
    def _boom(g):
        raise ZeroDivisionError("boom")

    vjps = (_boom,)


class WrongShape(Op):
    """The identity, whose rule forgets an axis."""

    name, word, slots, formulas = "wrong_shape", "forgets", ("a",), ("g summed",)

    @staticmethod
    def forward(a):
        return a * 1.0

    vjps = (lambda g: g.sum(axis=0),)


# ---- shares ------------------------------------------------------------------------------------------------------


def test_a_fork_adds_in_the_order_of_its_consumers_newest_first_bit_for_bit():
    x = leaf([1.0])
    y = x * 1e16 + x * 1.0 - x * 1e16 + x * 3.0
    trace = y.sum().backward()
    shares = trace.node(x).shares
    assert [float(s.value[0]) for s in shares] == [3.0, -1e16, 1.0, 1e16]
    assert [s.consumer for s in shares] == sorted((s.consumer for s in shares), reverse=True)
    total = np.float64(0.0)
    for share in shares:
        total = share.value[0] if share is shares[0] else total + share.value[0]
        assert share.total[0] == total
    # ((3 - 1e16) + 1) + 1e16 in float64; any other order gives another number
    assert x.grad[0] == ((3.0 - 1e16) + 1.0) + 1e16


def test_an_operand_used_twice_by_one_op_gets_two_shares_in_slot_order():
    x = leaf([3.0])
    trace = (x / x).backward()
    assert trace.node(1).inputs == (0, 0)
    assert [(s.slot, float(s.value[0])) for s in trace.node(x).shares] == [(0, 1 / 3), (1, -1 / 3)]
    assert [n.id for n in trace.forks] == [0]


def test_the_same_graph_gives_the_same_bits():
    seen = set()
    for k in range(5):
        kept = [object() for _ in range(k * 7)]  # moves later allocations
        x = leaf([1.0])
        (x * 1e16 + x * 1.0 - x * 1e16 + x * 3.0).sum().backward()
        seen.add(x.grad.tobytes())
        del kept
    assert len(seen) == 1


# ---- .grad -------------------------------------------------------------------------------------------------------


def test_grad_is_own_memory_writable_and_of_the_leafs_dtype():
    x, y = leaf([1.0, 2.0]), leaf(np.float32([3.0, 4.0]))
    seed = np.array([1.0, 10.0])
    trace = (x + y).backward(seed)
    assert x.grad.dtype == np.float64
    assert y.grad.dtype == np.float32
    assert not np.shares_memory(x.grad, seed)
    for share in (trace.node(x).shares[0], trace.node(y).shares[0]):
        assert not np.shares_memory(x.grad, share.value)
        assert not np.shares_memory(y.grad, share.value)
    x.grad[...] = -1
    assert seed.tolist() == [1, 10]
    assert y.grad.tolist() == [1, 10]
    assert trace.node(x).cotangent.tolist() == [1, 10]
    seed[:] = 7
    assert trace.node(x).shares[0].value.tolist() == [1, 10]


def test_two_leaves_of_one_sum_do_not_share_their_gradient():
    x, y = leaf([1.0]), leaf([2.0])
    (x + y).backward()
    assert not np.shares_memory(x.grad, y.grad)


def test_backward_adds_and_the_record_shows_what_was_there():
    x = leaf([1.0, 2.0])
    y = (x * 3.0).sum()
    y.backward()
    first = x.grad
    trace = y.backward()
    assert x.grad.tolist() == [6, 6]
    assert first.tolist() == [3, 3]  # what the user kept is not written to
    step = trace.steps[-1]
    assert (step.kind, step.before.tolist(), step.after.tolist()) == ("leaf", [3, 3], [6, 6])


def test_grad_can_be_cleared_and_set():
    x = leaf([1.0, 2.0])
    (x * 2.0).sum().backward()
    x.zero_grad()
    assert x.grad is None
    x.grad = [5, 6]
    assert x.grad.dtype == np.float64
    (x * 2.0).sum().backward()
    assert x.grad.tolist() == [7, 8]
    x.grad = None
    assert x.grad is None
    with pytest.raises(ValueError, match=r"shape \(2,\), got \(3,\)"):
        x.grad = np.ones(3)


def test_what_was_not_reached_has_none_and_what_got_zero_has_zeros():
    x, unused, cut = leaf([1.0]), leaf([1.0]), leaf([1.0])
    (x * 0.0 + cut.detach()).sum().backward()
    assert x.grad.tolist() == [0]
    assert unused.grad is None
    assert cut.grad is None


def test_results_keep_their_gradient_only_on_request():
    x = leaf([1.0, 2.0])
    h, k = x * 2.0, x * 3.0
    k.retain_grad()
    (h * k).sum().backward()
    assert k.grad.tolist() == [2, 4]
    with pytest.warns(UserWarning, match="retain_grad"):
        assert h.grad is None
    with pytest.raises(RuntimeError, match="requires no gradient"):
        tv.tensor(1.0).retain_grad()


@pytest.mark.parametrize("used", [False, True])
def test_a_root_may_retain_its_gradient(used):
    x = leaf([1.0, 2.0])
    y = x * 2.0
    y.retain_grad()
    z = y * 3.0 if used else None
    trace = y.backward([1.0, 10.0])
    assert y.grad.tolist() == [1, 10]
    assert [trace.nodes[s.node].name for s in trace.steps if s.kind == "leaf"] == ["x", "y"]
    assert trace.steps[-1].after.tolist() == [1, 10]
    both = tv.backward([y, y, x], [[1.0, 1.0], [1.0, 1.0], [5.0, 5.0]])
    assert y.grad.tolist() == [3, 12]
    assert both.steps[-1].before.tolist() == [1, 10]
    assert x.grad.tolist() == [11, 29]
    assert z is None or z.backward([1.0, 1.0]).node(y).cotangent.tolist() == [3, 3]


def test_without_a_record_nothing_is_kept():
    x = leaf([2.0])
    y = x * x
    assert y.backward(record=False) is None
    assert y.trace is None
    assert x.grad.tolist() == [4]


# ---- seeds and roots ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [np.array([1.0, 2.0]), np.array([1, 2]), [1, 2], tv.tensor([1.0, 2.0])])
def test_a_seed_takes_the_dtype_of_its_root(seed):
    x = leaf(np.float32([1.0, 2.0]))
    (x * 0.5).backward(seed)
    assert x.grad.dtype == np.float32
    assert x.grad.tolist() == [0.5, 1]


@pytest.mark.parametrize(("shape", "seed"), [((2, 3), np.ones(3)), ((3,), 1.0), ((3,), np.ones((1, 3))), ((2, 3), np.ones((3, 2)))])
def test_a_seed_of_another_shape_is_refused_even_where_it_would_broadcast(shape, seed):
    with pytest.raises(SeedError, match=rf"shape {np.shape(seed)}, expected {shape}".replace("(", r"\(").replace(")", r"\)")):
        leaf(np.ones(shape)).backward(seed)


def test_a_result_that_is_no_scalar_needs_a_seed_and_the_error_shows_one():
    with pytest.raises(SeedError, match=r"shape \(3,\).*backward\(gradient=np\.ones\(\(3,\)\)\)"):
        (leaf(np.ones(3)) * 2.0).backward()
    with pytest.raises(SeedError, match="real numbers"):
        leaf(np.ones(3)).backward(np.ones(3) * 1j)
    leaf([[1.0]]).backward()  # one element is enough


def test_several_roots_make_one_pass():
    x = leaf([1.0, 2.0])
    a, b = x * 2.0, (x * x).sum()
    trace = tv.backward([a, b], [np.array([1.0, 10.0]), None])
    assert x.grad.tolist() == [2 + 2, 20 + 4]
    assert trace is a.trace is b.trace
    assert [s.kind for s in trace.steps[:2]] == ["seed", "seed"]
    x.zero_grad()
    tv.backward([b, b])
    assert x.grad.tolist() == [4, 8]
    with pytest.raises(SeedError, match=r"got 2 Tensor\(s\) and 1 gradient"):
        tv.backward([a, b], [None])
    with pytest.raises(GraphError, match="at least one"):
        tv.backward([])
    with pytest.raises(GraphError, match="got float"):
        tv.backward([1.0])


def test_a_root_that_another_root_depends_on_gets_both():
    x = leaf(2.0)
    a = x * x
    b = a * 3.0
    tv.backward([a, b])
    assert x.grad == 4 + 12


def test_what_has_no_graph_says_why():
    x = leaf([1.0])
    with tv.no_grad():
        silent = x * 2.0
    for y, why in (
        (tv.tensor(1.0), "requires a gradient"),
        ((x * 2.0).detach(), "detached"),
        (silent, "under no_grad"),
        (x > 0, "greater has no gradient"),
    ):
        with pytest.raises(GraphError, match=why):
            y.backward()


# ---- failures ----------------------------------------------------------------------------------------------------


class InterruptedOwn(Own):
    """What a leaf has, with an interrupt at some of the times when its gradient is set."""

    times: Iterator[bool] = repeat(False)

    @property
    def grad(self):
        return self.__dict__.get("grad")

    @grad.setter
    def grad(self, value):
        self.__dict__["grad"] = value
        if next(self.times):
            raise KeyboardInterrupt


@pytest.mark.parametrize("interrupts", [[True], [True, True], [True, True, True], [False, True, True], [False, True, False, True]])
@pytest.mark.parametrize("held", [False, True])
def test_interrupts_while_gradients_are_written_leave_all_as_they_were(interrupts, held):
    a, b, c = leaf(2.0), leaf(3.0), leaf(5.0)
    y = a * b * c
    if held:
        y.backward()
    before = [None if x.grad is None else x.grad.copy() for x in (a, b, c)]
    times = iter([*interrupts, *[False] * 20])
    for x in (a, b, c):
        made = InterruptedOwn()
        made.__dict__.update(vars(x.own))
        made.times, x.own = times, made
    with pytest.raises(KeyboardInterrupt):
        y.backward()
    assert [x.own.grad for x in (a, b, c)] == before
    y.backward()
    assert [float(x.grad) for x in (a, b, c)] == [n * (1 + held) for n in (15, 10, 6)]


def test_a_rule_that_raises_leaves_every_grad_as_it_was_and_is_named():
    a, b = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    y = (REGISTRY["raises_backward"](b) + a * 2.0).sum()
    with pytest.raises(ZeroDivisionError, match="boom") as caught:
        y.backward()
    assert a.grad is None
    assert b.grad is None
    assert any("backward rule of raises_backward made at" in note and "test_backward.py" in note for note in caught.value.__notes__)
    (a * b).sum().backward()
    assert a.grad.tolist() == [3, 4]


def test_a_share_of_the_wrong_shape_names_op_slot_and_both_shapes():
    x = leaf(np.ones((2, 3)))
    with pytest.raises(RuleError, match=r"wrong_shape.*slot 0 \(a\).*shape \(3,\), expected \(2, 3\)"):
        REGISTRY["wrong_shape"](x).sum().backward()
    assert x.grad is None


def test_the_rows_of_an_array_are_gradients_one_per_root():
    x = leaf([1.0, 2.0, 3.0])
    tv.backward([x * 2, x], np.array([[1.0, 1.0, 1.0], [10.0, 20.0, 30.0]]))
    assert x.grad.tolist() == [12, 22, 32]
    with pytest.raises(SeedError, match=r"2 Tensor\(s\) and 3 gradient"):
        tv.backward([x * 2, x], np.ones((3, 3)))
    with pytest.raises(SeedError, match="one per Tensor"):
        tv.backward([x * 2, x], np.array(1.0))


def test_a_rule_may_run_a_pass_over_the_same_nodes():
    x = tv.tensor(3.0, requires_grad=True, name="x")
    h = x * x
    inner = []

    def rule(g, a):
        inner.append(h.backward())  # h and x have received nothing of the outer pass yet, or a part of it
        return (g * 2.0,)

    twice = tv.custom_op("twice_with_a_pass_inside", lambda a: a * 2.0, rule)
    trace = (twice(h) + h).backward()
    assert [s.after for s in inner[0].steps if s.kind == "leaf"] == [6.0]
    assert float(trace.node(h).cotangent) == 3.0
    assert x.grad == 6.0 + 18.0
    assert [n.op for n in trace.nodes if n.shares] == ["leaf", "mul", "twice_with_a_pass_inside"]


def test_a_pass_that_failed_leaves_nothing_behind_for_the_next():
    x = tv.tensor(3.0, requires_grad=True)
    h = x * x
    h.name = "h"
    fails = [True]

    def rule(g, a):
        if fails:
            raise ZeroDivisionError
        return (g,)

    once = tv.custom_op("fails_at_first", lambda a: a * 1.0, rule)
    y = once(h * 1.0) * h + h
    with pytest.raises(ZeroDivisionError):
        y.backward()
    fails.clear()
    trace = y.backward()
    # y = x⁴ + x²
    assert x.grad == 4 * 27 + 6
    assert float(trace.node("h").cotangent) == 9 + 9 + 1
    assert tv.grad(lambda t: t * t)(3.0) == 6.0


@pytest.mark.parametrize("full", [0, 1])
@pytest.mark.parametrize("record", [True, False])
def test_a_gradient_that_cannot_be_added_leaves_all_others_as_they_were(full, record):
    x, y = (tv.tensor(0.1, requires_grad=True) for _ in range(2))
    h = x * 1.0
    h.retain_grad()
    (x, y)[full].grad = 1.5e308
    z = h * 1e308 + y * 1e308
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        z.backward(record=record)
    assert (x, y)[full].grad == 1.5e308
    assert (x, y)[1 - full].grad is None
    assert h.grad is None
    (x, y)[full].grad = None
    z.backward(record=record)
    assert x.grad == y.grad == h.grad == 1e308


def test_who_goes_on_with_a_trace_that_is_not_there_yet_is_told_to_call_backward():
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    y = (x * x).sum()
    for use in (lambda: y.trace.show(), lambda: y.trace.nodes, lambda: y.trace["x"], lambda: y.trace()):
        for _ in range(20):  # the code runs in a faster form then
            with pytest.raises(GraphError, match=r"^y has no trace yet: .* Call y\.backward\(\) first"):
                use()
    with pytest.raises(GraphError, match=r"np\.trace\(x\)$"):
        y.trace(0, 1)
    with pytest.raises(GraphError, match=r"^this tensor has no trace yet: .* Call backward"):
        (y * 2).trace.summary()
    assert y.trace is None
    assert [y.trace, getattr(y, "trace", 3), y.trace or 3] == [None, None, 3]
    y.backward()
    assert y.trace.nodes


def test_a_type_checker_knows_that_a_pass_that_is_recorded_gives_a_trace():
    for f in (tv.Tensor.backward, tv.backward):
        recorded, perhaps = get_overloads(f)
        assert (recorded.__annotations__["record"], recorded.__annotations__["return"]) == ("Literal[True]", "Trace")
        assert (perhaps.__annotations__["record"], perhaps.__annotations__["return"]) == ("bool", "Trace | None")
