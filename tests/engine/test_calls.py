"""How an op is called: what is written out for speed does the same as what is said once for all ops."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.engine import calls
from tensorviz.engine.calls import Call, is_plain
from tensorviz.engine.node import Node
from tensorviz.engine.op import REGISTRY, Op
from tensorviz.engine.run import apply

PLAIN = [op for op in REGISTRY.values() if is_plain(op) and type(op).__module__.startswith("tensorviz.ops.")]
SHAPES = [((), ()), ((3,), ()), ((1,), (4,)), ((2, 3), (2, 3)), ((2, 1), (1, 3)), ((2, 1, 2), (1, 2, 2)), ((0, 2), (2,)), ((1,), ())]


def examples_of(op: Op) -> list[tuple[tuple[object, ...], dict[str, object]]]:
    rng = np.random.default_rng(0)
    if op.examples is not None:
        return [(tuple(operands), dict(params)) for operands, params in op.examples(rng)]
    return [(tuple(rng.uniform(0.5, 0.9, shape) for shape in shapes[: len(op.slots)]), {}) for shapes in SHAPES]


def leaves(operands, dtype) -> list[tv.Tensor]:
    return [tv.tensor(x, dtype=dtype if np.asarray(x).dtype.kind == "f" else None, requires_grad=np.asarray(x).dtype.kind == "f") for x in operands]


def told(y: tv.Tensor) -> tuple[object, ...]:
    """All that a node says, but for its number and its line."""
    node: Node = y._current()
    value = node.value
    return type(value), value.dtype, value.shape, value.tobytes(), node.plan, node.params, node.needs_grad, node.scope, len(node.inputs)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("op", PLAIN, ids=lambda op: op.name)
def test_a_call_that_is_written_out_makes_the_same_node(op, dtype):
    for operands, params in examples_of(op):
        with tv.scope("here"), np.errstate(all="ignore"):
            given = leaves(operands, dtype)
            assert told(Call(op, *params).run(sys._getframe(0), *given, *params.values())) == told(apply(op, given, params))


def cut_of(y: tv.Tensor) -> tuple[object, ...]:
    """Where the graph behind it was cut, and from which leaves."""
    rare = y._current().rare
    return () if rare is None or rare.cut is None else (rare.cut.how, rare.cut.leaves, rare.cut.code)


def constants(operands, dtype) -> list[tv.Tensor]:
    return [x.detach() if i % 2 else tv.tensor(x.numpy()) for i, x in enumerate(leaves(operands, dtype))]


def the_long_way(op, given, params) -> tv.Tensor:
    return apply(op, given, params)  # whose caller's caller is the user


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("op", PLAIN, ids=lambda op: op.name)
def test_a_result_that_is_not_recorded_is_the_same_by_either_way(op, dtype):
    here = sys._getframe(0)
    for operands, params in examples_of(op):
        run, last = Call(op, *params).run, tuple(params.values())
        for block, given in (
            (tv.no_grad, leaves(operands, dtype)),
            (tv.no_grad, constants(operands, dtype)),
            (tv.enable_grad, constants(operands, dtype)),
        ):
            with tv.scope("here"), block(), np.errstate(all="ignore"):
                quick, slow = run(here, *given, *last), the_long_way(op, given, params)
            assert told(quick) == told(slow)
            assert cut_of(quick) == cut_of(slow)
            assert quick.code is here.f_code


@pytest.mark.parametrize("other", [2.0, 3, True, np.float64(0.5), np.array([1.0, 2.0]), np.array(2.0), np.array([[1], [2]])], ids=repr)
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "pow", "maximum"])
def test_so_is_one_of_a_tensor_and_what_is_none(name, other):
    op = REGISTRY[name]
    for block, x in ((tv.enable_grad, tv.tensor([0.5, 1.5], dtype=np.float32)), (tv.no_grad, tv.tensor([0.5, 1.5], requires_grad=True))):
        for given in ((x, other), (other, x)):
            with block():
                quick, slow = op(*given), the_long_way(op, given, {})
            assert (told(quick), cut_of(quick)) == (told(slow), cut_of(slow))


@pytest.mark.parametrize("block", [tv.no_grad, tv.enable_grad])
def test_what_is_not_recorded_takes_a_quick_way_of_its_own(monkeypatch, block):
    x, w, h = tv.tensor([[1.0, 2.0]]), tv.tensor([[1.0], [2.0]]), tv.tensor([[1.0, 2.0]]).detach()
    if block is tv.no_grad:
        w = tv.nn.Parameter([[1.0], [2.0]])
    with block():
        for y in (x @ w, h + x, np.exp(h), 2.0 * x):
            assert not y.requires_grad
        for quick in (tv.Tensor.__matmul__, tv.Tensor.__add__, tv.Tensor.__rmul__, REGISTRY["exp"].call.run):
            for slow in {"slow", "apply"} & quick.__globals__.keys():
                monkeypatch.delitem(quick.__globals__, slow)
        assert [y.value.tolist() for y in (x @ w, h + x, 2.0 * x)] == [[[5.0]], [[2.0, 4.0]], [[2.0, 4.0]]]
        assert np.exp(h).shape == (1, 2)


def test_a_comparison_of_constants_and_what_follows_it_is_recorded_where_something_depends_on_it():
    x, w = tv.tensor([1.0, -2.0]), tv.tensor([3.0, 4.0], requires_grad=True)
    mask = w > 3.5
    assert (x * mask).plan is REGISTRY["mul"].plan, "nothing requires a gradient, and yet it depends on w"
    assert (x * (x > 0)).plan is None


class _Second(Op):
    """The second."""

    name, word, slots, vjps = "second_of_two", "routes", ("a", "b"), ("0 * g", "g")
    forward = staticmethod(lambda a, b: b[:])


def test_a_result_in_the_memory_of_the_users_array_is_one_of_a_copy():
    x, held = tv.tensor([1.0, 2.0]), np.array([3.0, 4.0])
    for _ in range(2):
        y = REGISTRY["second_of_two"](x, held)
        held += 1
        assert y.tolist() == (held - 1).tolist()


def test_operands_that_do_not_fit_are_told_of_where_nothing_is_recorded():
    x = tv.tensor([1.0, 2.0])
    for other, kind in (("a", TypeError), (1j, TypeError), (np.array([1j, 2j]), TypeError), (np.ones(3), ValueError), (np.array(["a"]), TypeError)):
        for block in (tv.no_grad, tv.enable_grad):
            with block(), pytest.raises(kind, match="mul"):
                x * other
    assert type(REGISTRY["mul"](np.ones(2), np.ones(2))) is np.ndarray, "no Tensor, and so none comes out"


def test_a_leaf_whose_array_is_in_the_users_hands_is_read_where_nothing_is_recorded():
    x = tv.tensor([1.0, 2.0])
    x.data[0] = 5.0
    for block in (tv.no_grad, tv.enable_grad):
        with block():
            assert (x * 2.0).tolist() == [10.0, 4.0]
            assert np.negative(x).tolist() == [-5.0, -2.0]


WIDE, ROW, TALL = (100, 100), (100,), (100, 2)
OF_WIDE = [(name, (WIDE,)) for name in ("exp", "relu", "sum", "mean", "ravel")]
OF_TWO = [("add", (WIDE, WIDE)), ("mul", (WIDE, ROW)), ("mul", ((1, 100), (100, 1))), ("matmul", (WIDE, TALL)), ("matmul", ((2, 100), WIDE))]


@pytest.mark.parametrize(("name", "shapes"), [*OF_WIDE, *OF_TWO], ids=str)
def test_so_does_one_of_arrays_whose_shares_are_too_large_to_be_kept(name, shapes):
    op, given = REGISTRY[name], [tv.tensor(np.full(shape, 0.5), requires_grad=True) for shape in shapes]
    made = apply(op, given, {})
    assert told(Call(op).run(sys._getframe(0), *given)) == told(made)
    trace = made.backward(np.ones(made.shape))
    for x in given:
        assert trace.node(x).shares[0].value.tobytes() == x.grad.tobytes()


OF_A_ROW = [op for op in PLAIN if op.plan.same_shape and len(op.slots) == 2]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shapes", [((2, 3), (3,)), ((1, 3), (3,)), ((2, 1), (1,)), ((4, 2, 3), (2, 3)), ((0, 3), (3,)), ((3,), ())], ids=str)
@pytest.mark.parametrize("op", OF_A_ROW, ids=lambda op: op.name)
def test_an_operand_that_lacks_the_first_axis_gets_the_sum_over_it(op, shapes, dtype):
    rng = np.random.default_rng(0)
    a, b = (tv.tensor(rng.uniform(0.5, 0.9, shape), dtype=dtype, requires_grad=True) for shape in shapes)
    y = op(a, b)
    assert y.plan is op.plan.rows
    g = rng.normal(size=shapes[0]).astype(dtype)
    first, second = op.pull(y, g)
    for share in (first, second):
        assert (share.shape, share.dtype) == (shapes[0], dtype)
    y.backward(g)
    assert a.grad.tobytes() == first.tobytes()
    assert b.grad.tobytes() == np.add.reduce(second, 0).tobytes()


@pytest.mark.parametrize("other", [2.0, 3, True, np.float64(0.5), np.array([1.0, 2.0]), np.array(2.0), np.array([[1], [2]])], ids=repr)
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "pow", "maximum"])
def test_what_is_no_tensor_becomes_a_constant_on_either_side(name, other):
    op, x = REGISTRY[name], tv.tensor([0.5, 1.5], requires_grad=True)
    for given in ((x, other), (other, x)):
        y = op(*given)
        assert told(y) == told(apply(op, given, {}))
        kept = y.inputs[0 if given[1] is x else 1].value
        assert type(kept) is (type(other) if np.ndim(other) or not isinstance(other, np.ndarray) else np.float64)
        assert np.array_equal(kept, other)


def test_an_operand_that_fits_nowise_is_told_of_as_ever():
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    for other, kind in (("a", TypeError), (1j, TypeError), (np.ones(3), ValueError), ([1.0, 2.0, 3.0], ValueError)):
        with pytest.raises(kind, match="mul"):
            x * other


def test_a_call_of_ours_is_told_of_at_the_users_line():
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    made = [np.exp(x), np.sum(x), tv.relu(x), x.sum(), x @ x, -x, np.swapaxes(x * x[:, None], 0, 1), np.linalg.norm(x)]
    for y in made:
        assert y.code is sys._getframe(0).f_code


def test_a_module_of_ours_in_between_is_not_the_users():
    layer = tv.nn.Linear(2, 3)
    y = layer(tv.tensor([[1.0, 2.0]]))
    assert y._current().code is sys._getframe(0).f_code


def test_a_parameter_takes_the_quick_way(monkeypatch):
    w, x = tv.nn.Parameter([[1.0], [2.0]]), tv.tensor([[1.0, 2.0]], requires_grad=True)
    x @ w  # from here on it is written out, and this function is known

    def refused(*_):
        raise AssertionError("not the quick way")

    for name in ("_current", "_settle"):
        monkeypatch.setattr(tv.Tensor, name, refused)
    assert (x @ w).value.item() == 5.0


class _Counted(Op):
    """Twice."""

    name, word, slots, elementwise = "counted_calls", "scales", ("a",), True
    vjps = ("g * 2",)
    seen: list[int] = []  # noqa: RUF012 - what the test looks at

    @staticmethod
    def forward(a):
        _Counted.seen.append(1)
        return a * 2


def test_forward_runs_once():
    x, c = tv.tensor([1.0], requires_grad=True), tv.tensor([1.0])
    for _ in range(3):
        REGISTRY["counted_calls"](x)
    assert len(_Counted.seen) == 3
    REGISTRY["counted_calls"](c)
    with tv.no_grad():
        REGISTRY["counted_calls"](x)
    assert len(_Counted.seen) == 5


def test_calls_are_compiled_when_they_are_used():
    call = Call(REGISTRY["cosh"])
    assert call.run == call._first
    call.run(calls.frame(0), tv.tensor(1.0, requires_grad=True))
    assert call.run.__code__.co_filename == "<call of cosh>"
