"""Ops that users define: recorded and checked like any other, and told what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.engine.op import REGISTRY
from tensorviz.errors import NoRuleError, OpDefinitionError, RuleError
from tensorviz.ops.custom import CustomOp


@pytest.fixture(autouse=True)
def _leave_the_registry_as_it_was() -> Iterator[None]:
    before = dict(REGISTRY)
    yield
    REGISTRY.clear()
    REGISTRY.update(before)


def leaf(data: Any, dtype: Any = None) -> tv.Tensor:
    return tv.tensor(data, dtype=dtype, requires_grad=True)


def test_a_custom_op_is_one_node_with_its_own_rule():
    cube = tv.custom_op("cube", lambda a: a**3, lambda g, a: (3 * a**2 * g,))
    x = leaf([1.0, 2.0])
    y = cube(x)
    trace = y.backward(np.array([1.0, 10.0]))
    assert y.tolist() == [1.0, 8.0]
    assert x.grad.tolist() == [3.0, 120.0]
    node = trace.nodes[-1]
    assert (node.op, node.slots, list(node.saved)) == ("cube", ("a",), ["a"])
    assert node.formulas == ("vjp(g, a)",)


def test_plain_arrays_give_a_plain_array():
    double = tv.custom_op("double", lambda a: a * 2, lambda g, a: (g * 2,))
    assert type(double(np.array([1.0]))) is np.ndarray


def test_parameters_go_by_keyword_and_reach_the_rule():
    power = tv.custom_op("my_power", lambda a, *, n: a**n, lambda g, a, *, n: (n * a ** (n - 1) * g,))
    x = leaf([2.0])
    y = power(x, n=3)
    trace = y.backward(np.ones(1))
    assert y.tolist() == [8.0]
    assert x.grad.tolist() == [12.0]
    assert trace.nodes[-1].params == {"n": 3}


def test_none_means_no_gradient():
    pick = tv.custom_op("pick", lambda a, b: a + 0 * b, lambda g, a, b: (g, None))
    a, b = leaf([1.0]), leaf([2.0])
    pick(a, b).backward(np.ones(1))
    assert a.grad.tolist() == [1.0]
    assert b.grad is None


def test_any_number_of_operands():
    total = tv.custom_op("total", lambda *xs: sum(xs), lambda g, *xs: tuple(g for _ in xs))
    leaves = [leaf([float(i)]) for i in range(3)]
    y = total(*leaves)
    y.backward(np.array([5.0]))
    assert y.tolist() == [3.0]
    assert [x.grad.tolist() for x in leaves] == [[5.0]] * 3


def test_a_single_operand_may_go_without_a_tuple_and_a_scalar_works():
    half = tv.custom_op("half", lambda a: a / 2, lambda g, a: g / 2)
    x = leaf(3.0)
    half(x).backward()
    assert x.grad == 0.5


def test_broadcasting_is_left_to_the_engine_on_request():
    add = tv.custom_op("my_add", lambda a, b: a + b, lambda g, a, b: (g, g), broadcasts=True)
    a, b = leaf(np.ones((4, 3))), leaf(np.ones(3))
    trace = add(a, b).backward(np.ones((4, 3)))
    assert b.grad.tolist() == [4.0, 4.0, 4.0]
    assert trace.node("b").shares[0].summed_axes == (0,)


@pytest.mark.parametrize(
    ("vjp", "broadcasts", "message"),
    [
        (lambda g, a, b: (g, g), False, r"my_op returned for slot 1 \(b\) a gradient of shape \(4, 3\), expected \(3,\).*broadcasts=True"),
        (lambda g, a, b: (g.sum(axis=0), g), True, r"my_op returned for slot 0 \(a\) a gradient of shape \(3,\), expected \(4, 3\)"),
        (lambda g, a, b: (g,), True, r"returned 1 gradient\(s\), expected 2"),
        (lambda g, a, b: g, True, r"returned one ndarray, expected a tuple of 2"),
    ],
)
def test_a_wrong_share_names_op_slot_shape_got_and_shape_expected(vjp: Callable[..., Any], broadcasts: bool, message: str):
    op = tv.custom_op("my_op", lambda a, b: a + b, vjp, broadcasts=broadcasts)
    a, b = leaf(np.ones((4, 3))), leaf(np.ones(3))
    with pytest.raises(RuleError, match=message):
        op(a, b).sum().backward()
    assert a.grad is None
    assert b.grad is None


def test_an_operand_of_the_results_own_shape_is_checked_as_well():
    op = tv.custom_op("my_op", lambda a, b: a + b, lambda g, a, b: (g, g.sum(axis=0)), broadcasts=True)
    with pytest.raises(RuleError, match=r"slot 1 \(b\) a gradient of shape \(2,\), expected \(2, 2\)"):
        op(leaf(np.ones((2, 2))), leaf(np.ones((2, 2)))).sum().backward()


def test_an_error_inside_the_rule_says_whose_rule_it_was_and_writes_no_gradient():
    def boom(g: Any, a: Any) -> Any:
        raise ValueError("boom")

    bad = tv.custom_op("bad", lambda a: a * 1.0, boom)
    x, other = leaf([1.0]), leaf([2.0])
    with pytest.raises(ValueError, match="boom") as caught:
        (bad(x) + other * 2.0).sum().backward()
    assert any("backward rule of bad" in note for note in caught.value.__notes__)
    assert other.grad is None


def test_float32_stays_float32_whatever_the_rule_returns():
    widen = tv.custom_op("widen", lambda a: a * 2, lambda g, a: (np.float64(2.0) * g,))
    x = leaf([1.0], np.float32)
    widen(x).backward(np.ones(1))
    assert x.grad.dtype == np.float32


def test_defining_a_name_again_replaces_it_but_a_built_in_name_is_taken():
    tv.custom_op("again", lambda a: a, lambda g, a: (g,))
    second = tv.custom_op("again", lambda a: a * 3, lambda g, a: (g * 3,))
    assert second(np.array(2.0)) == 6.0
    assert isinstance(REGISTRY["again"], CustomOp)
    with pytest.raises(OpDefinitionError, match="'relu' is the name of a built-in op"):
        tv.custom_op("relu", lambda a: a, lambda g, a: (g,))
    with pytest.raises(OpDefinitionError, match="Python identifier"):
        tv.custom_op("two words", lambda a: a, lambda g, a: (g,))
    with pytest.raises(OpDefinitionError, match="vjp must be a function, got NoneType"):
        tv.custom_op("no_rule", lambda a: a, None)  # type: ignore[arg-type]


def test_a_result_that_is_no_array_of_numbers_is_refused():
    text = tv.custom_op("text", lambda a: "no", lambda g, a: (g,))
    with pytest.raises(RuleError, match=r"forward returned .no., expected an array of real numbers"):
        text(leaf([1.0]))


def test_what_forward_returns_is_copied_where_it_is_the_operand_itself():
    same = tv.custom_op("same", lambda a: a, lambda g, a: (g,))
    data = np.array([1.0, 2.0])
    same(data)
    data[0] = 5.0  # still writable
    x = leaf(data)
    y = same(x)
    y.backward(np.ones(2))
    assert x.grad.tolist() == [1.0, 1.0]


def test_a_forward_that_hands_out_its_own_buffer_leaves_the_record_as_it_was() -> None:
    buffer = np.zeros(2)

    def into_buffer(a):
        buffer[...] = a * 2.0
        return buffer

    double = tv.custom_op("into_buffer", into_buffer, lambda g, a: (g * 2.0,))
    y = double(tv.tensor([1.0, 2.0], requires_grad=True))
    buffer[...] = 0.0
    assert y.tolist() == [2.0, 4.0]


def writes(a: Any) -> Any:
    a *= 2.0
    return a


@pytest.mark.parametrize(
    ("forward", "vjp"),
    [
        (writes, lambda g, a: (2.0 * g,)),
        (lambda a: a * a, lambda g, a: (writes(a) * g,)),
        (lambda a: a * 2.0, lambda g, a: (writes(g),)),
    ],
    ids=["forward into its operand", "rule into the operand", "rule into the gradient"],
)
def test_a_function_that_writes_into_what_it_was_given_is_refused_also_where_that_is_a_result(forward: Any, vjp: Any):
    op = tv.custom_op("writes", forward, vjp)
    x = leaf([1.0, 2.0])
    h = np.exp(x)
    with pytest.raises(ValueError, match="read-only") as caught:
        (op(h) + h).sum().backward()
    assert any("of the custom op 'writes'" in note or "backward rule of writes" in note for note in caught.value.__notes__)
    assert h.tolist() == np.exp([1.0, 2.0]).tolist()
    assert x.grad is None


def test_a_plain_array_of_the_users_stays_writable_after_it_went_through_an_op():
    data = np.ones(2)
    tv.custom_op("twice", lambda a: a * 2.0, lambda g, a: (g * 2.0,))(data)
    data[0] = 3.0
    assert data.tolist() == [3.0, 1.0]


def test_a_rule_may_hand_out_one_buffer_at_every_call():
    buffer = np.zeros(3)

    def rule(g: Any, a: Any) -> Any:
        return (np.multiply(g, a, out=buffer),)

    half_square = tv.custom_op("half_square", lambda a: a * a / 2.0, rule)
    x, y = leaf([1.0, 2.0, 3.0]), leaf([10.0, 20.0, 30.0])
    trace = (half_square(x) + half_square(y)).sum().backward()
    buffer[...] = np.nan
    assert x.grad.tolist() == [1.0, 2.0, 3.0]
    assert y.grad.tolist() == [10.0, 20.0, 30.0]
    assert trace.node("x").shares[0].value.tolist() == [1.0, 2.0, 3.0]
    assert trace.node("y").shares[0].value.tolist() == [10.0, 20.0, 30.0]


@pytest.mark.parametrize("broadcasts", [False, True])
def test_a_share_that_is_no_real_number_is_refused_however_the_shapes_fit(broadcasts: bool):
    turn = tv.custom_op("turn", lambda a: a * 1.0, lambda g, a: (g * 1j,), broadcasts=broadcasts)
    x = leaf([1.0, 2.0])
    with pytest.raises(RuleError, match=r"turn .*slot 0 a gradient of dtype complex128, expected float64"):
        turn(x).sum().backward()
    assert x.grad is None


@pytest.mark.parametrize("broadcasts", [False, True])
def test_a_share_of_another_precision_goes_on_in_the_operands(broadcasts: bool):
    seen = []

    def looks(g: Any, a: Any) -> Any:
        seen.append(g.dtype)
        return (g,)

    below = tv.custom_op("below", lambda a: a * 1, looks, broadcasts=broadcasts)
    wide = tv.custom_op("wide", lambda a: a * 2, lambda g, a: (g.astype(np.float64) * 2.0,), broadcasts=broadcasts)
    x = leaf([1.0, 2.0], np.float32)
    wide(below(x)).sum().backward()
    assert seen == [np.float32]
    assert x.grad.dtype == np.float32


def test_a_custom_rule_is_told_in_a_whole_sentence():
    x = tv.tensor([1.0, 2.0], requires_grad=True, name="x")
    double = tv.custom_op("double", lambda a: 2 * a, lambda g, a: (2 * g,))
    y = double(x)
    trace = (y * y).sum().backward()
    said = next(s.caption for s in trace.steps if s.kind == "pull" and trace.nodes[s.node].op == "double")
    assert said == "The rule of y runs: double applies its own rule; a share goes to x."


def test_a_function_that_writes_into_its_arguments_is_told_what_to_do():
    op = tv.custom_op("halved", lambda a: a * 2.0, lambda g, a: (np.multiply(g, 2.0, out=g),))
    with pytest.raises(RuntimeError, match=r"^the backward rule of halved writes into an array that it was given, .*; write into a copy of it"):
        op(leaf([1.0])).sum().backward()
    with pytest.raises(ValueError, match=r"^the forward function of the custom op 'doubled' writes into an array"):
        tv.custom_op("doubled", writes, lambda g, a: (g,))(leaf([1.0]))


def test_a_function_that_cannot_be_called_with_its_operands_is_named_with_what_it_got():
    op = tv.custom_op("short", lambda a: a * 2.0, lambda g: (g,))
    with pytest.raises(TypeError, match=r"the backward rule of short was called with 2 arrays, and that fails: .*takes 1 positional argument but 2"):
        op(leaf([1.0])).sum().backward()
    with pytest.raises(TypeError, match=r"the forward function of the custom op 'short' was called with 1 array, p=, and that fails: .*'p'"):
        op(leaf([1.0]), p=3)


def test_a_rule_without_a_return_is_asked_for_one():
    op = tv.custom_op("mute", lambda a: a * 2.0, lambda g, a: None)
    with pytest.raises(RuntimeError, match=r"the backward rule of mute returned None, expected a tuple .*; does it lack a return\?"):
        op(leaf([1.0])).sum().backward()


def test_a_rule_that_makes_plain_numbers_of_tensors_is_refused_where_a_higher_derivative_would_lose_them():
    squared = tv.custom_op("squared_apart", lambda a: a * a, lambda g, a: (g * 2 * np.asarray(a),))

    def f(x):
        return squared(x).sum()

    point = np.array([1.0, 2.0])
    assert tv.grad(f)(point).tolist() == [2, 4]
    assert tv.grad(f)(tv.tensor(point)).tolist() == [2, 4]
    assert tv.jvp(f, (point,), (np.array([1.0, 10.0]),))[1] == 42
    for call in (
        lambda: tv.hessian(f)(point),
        lambda: tv.hvp(f, point, point),
        lambda: tv.jvp(tv.grad(f), (point,), (point,)),
        lambda: tv.grad(f)(leaf(point)),
    ):
        with pytest.raises(NoRuleError, match=r"the backward rule of squared_apart runs on Tensors here.*x\.numpy\(\)"):
            call()
    apart = tv.custom_op("apart", lambda a: a * 2, lambda g, a: (np.array(g) * 2,))
    with pytest.raises(NoRuleError, match="the backward rule of apart"):
        tv.jvp(lambda x: apart(x).sum(), (point,), (point,))
    number = tv.custom_op("number", lambda a: a**3, lambda g, a: (3 * float(a) ** 2 * g,))
    with pytest.raises(NoRuleError, match="the backward rule of number"):
        tv.grad(tv.grad(number))(2.0)


def test_a_rule_may_look_at_values_for_what_has_no_derivative():
    kinked = tv.custom_op(
        "kinked",
        lambda a: np.where(a > 0, a**2, 0.0),
        lambda g, a: (np.where(a.numpy() > 0, 2 * a * g, 0.0) if hasattr(a, "numpy") else np.where(a > 0, 2 * a * g, 0.0),),
    )
    assert tv.hessian(lambda x: kinked(x).sum())(np.array([1.0, -1.0])).tolist() == [[2, 0], [0, 0]]


def test_what_forward_keeps_for_its_rule_is_a_constant_in_a_higher_derivative_and_gradcheck_tells():
    kept = {}

    def forward(a):
        kept["a"] = a
        return a**3

    cube = tv.custom_op("kept_cube", forward, lambda g, a: (3 * kept["a"] ** 2 * g,))
    f = lambda x: cube(x).sum()  # noqa: E731
    x = np.array([1.0, 2.0])
    assert tv.gradcheck(f, x).ok
    assert tv.gradcheck(tv.grad(f), x, raise_exception=False).kind == "mismatch"
