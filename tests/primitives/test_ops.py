"""Each primitive: what it does, its gradient by its partner, and the property that its rule is the derivative, made of primitives alone."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tensorviz as tv
from strategies import arrays, broadcastable, shapes
from tensorviz import primitives as p
from tensorviz.engine.op import REGISTRY
from tensorviz.errors import AxisError, DTypeError, IndexingError, OptionError, RuleError, ShapeError

OWN = sorted(name for name, op in REGISTRY.items() if type(op).__module__.startswith("tensorviz.primitives."))
TRIED = [name for name in OWN if REGISTRY[name].examples is not None]


def leaf(value: Any, name: str | None = None) -> tv.Tensor:
    return tv.tensor(np.asarray(value, dtype=float), requires_grad=True, name=name)


def ops(x: tv.Tensor, y: tv.Tensor) -> list[str]:
    """The primitives of the backward pass from y, with a seed of ones."""
    return list(p.grad_graph(y, np.ones(y.shape)).ops)


# ---- documentation ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("module", sorted(m.name for m in pkgutil.iter_modules(p.__path__)))
def test_the_examples_of_every_file_run(module: str):
    assert doctest.testmod(importlib.import_module(f"tensorviz.primitives.{module}")).failed == 0


def test_the_example_of_the_package_runs():
    assert doctest.testmod(p).failed == 0


@pytest.mark.parametrize("name", [n for n in p.__all__ if inspect.isfunction(getattr(p, n))])
def test_every_function_says_what_it_does(name: str):
    assert (getattr(p, name).__doc__ or "").strip()


# ---- the property: each rule is the derivative, and is made of primitives ----------------------------------------


@pytest.mark.parametrize("name", TRIED)
def test_the_rule_is_the_derivative_and_consists_of_primitives(name: str):
    op, rng = REGISTRY[name], np.random.default_rng(3)
    for operands, params in op.examples(rng):
        made = [leaf(x) if isinstance(x, (np.ndarray, np.floating)) else x for x in operands]
        y = op(*made, **params)
        weights = rng.standard_normal(y.shape)
        trace = y.backward(weights)
        if all(np.size(x) for x in operands):
            assert trace.check().ok
        graph = p.grad_graph(y, weights)
        assert p.only_primitives(graph)
        for x, gradient in zip([m for m in made if isinstance(m, tv.Tensor)], graph.gradients, strict=True):
            np.testing.assert_allclose(gradient.numpy(), x.grad, rtol=1e-12)
            assert gradient.shape == x.shape


@pytest.mark.parametrize("name", TRIED)
def test_the_gradient_graph_can_be_differentiated_again(name: str):
    op, rng = REGISTRY[name], np.random.default_rng(4)
    for operands, params in op.examples(rng):
        if not all(np.size(x) for x in operands):
            continue
        made = [leaf(x) if isinstance(x, (np.ndarray, np.floating)) else x for x in operands]
        y = op(*made, **params)
        graph = p.grad_graph(y, rng.standard_normal(y.shape))
        for gradient in graph.gradients:
            if gradient.requires_grad:
                assert gradient.backward(np.ones(gradient.shape)).check().ok


@pytest.mark.parametrize("name", TRIED)
def test_float32_stays_float32(name: str):
    op = REGISTRY[name]
    for operands, params in op.examples(np.random.default_rng(5)):
        made = [tv.tensor(np.asarray(x, np.float32), requires_grad=True) if isinstance(x, (np.ndarray, np.floating)) else x for x in operands]
        y = op(*made, **params)
        assert y.dtype == np.float32
        trace = y.backward(np.ones(y.shape))
        assert {s.value.dtype for n in trace.nodes for s in n.shares} <= {np.dtype(np.float32)}
        assert {g.dtype for g in p.grad_graph(y, np.ones(y.shape)).gradients} == {np.dtype(np.float32)}


@pytest.mark.parametrize("name", TRIED)
def test_plain_arrays_give_plain_arrays(name: str):
    op = REGISTRY[name]
    for operands, params in op.examples(np.random.default_rng(6)):
        assert not isinstance(op(*operands, **params), tv.Tensor)


@pytest.mark.parametrize("name", sorted(p.FUNCTIONS))
def test_the_rule_of_every_function_is_made_of_elementwise_primitives(name: str):
    low, high = (REGISTRY[name].domain or ((0.2, 0.8),))[0]
    y = REGISTRY[name](leaf([low + 0.4 * (high - low)] if name != "arccosh" else [1.5]))
    assert set(p.grad_graph(y, [1.0]).ops) <= p.ELEMENTWISE | {"seed"}


# ---- one by one, by hand ----------------------------------------------------------------------------------------


def test_the_gradient_of_reshape_is_reshaped_back():
    x = leaf(np.arange(6.0))
    y = p.reshape(x, (2, 3))
    assert ops(x, y) == ["reshape"]
    y.backward([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    assert x.grad.tolist() == [1, 2, 3, 4, 5, 6]


def test_the_gradient_of_permute_is_permuted_with_the_inverse_order():
    x = leaf(np.zeros((2, 3, 4)))
    y = p.permute(x, [2, 0, 1])
    assert y.shape == (4, 2, 3)
    graph = p.grad_graph(y, np.ones((4, 2, 3)))
    assert graph.ops == ("permute",)
    assert graph.gradients[0]._current().params == {"order": (1, 2, 0)}


def test_the_order_2_0_1_inverts_to_1_2_0():
    assert p.inverse_order([2, 0, 1]) == (1, 2, 0)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.permutations(range(5)))
def test_an_order_and_its_inverse_undo_each_other(order: list[int]):
    back = p.inverse_order(order)
    assert all(back[order[k]] == k for k in range(5))
    x = np.arange(32.0).reshape(2, 1, 4, 2, 2)
    np.testing.assert_array_equal(p.permute(p.permute(x, order), back), x)


def test_pad_2_1_of_three_elements_gives_back_positions_2_3_4():
    x = leaf([1.0, 2.0, 3.0])
    y = p.pad(x, [2, 1])
    assert y.tolist() == [0, 0, 1, 2, 3, 0]
    graph = p.grad_graph(y, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    assert graph.ops == ("shrink",)
    assert graph.gradients[0].tolist() == [2, 3, 4]


def test_the_gradient_of_shrink_is_padded_with_zeros():
    x = leaf(np.zeros((3, 4)))
    y = p.shrink(x, (1, 2), (2, 2))
    assert ops(x, y) == ["pad_zeros"]
    y.backward([[1.0, 2.0], [3.0, 4.0]])
    assert x.grad.tolist() == [[0, 0, 0, 0], [0, 0, 1, 2], [0, 0, 3, 4]]


def test_each_operand_of_stack_gets_its_index():
    a, b = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    y = p.stack(a, b)
    graph = p.grad_graph(y, [[1.0, 2.0], [3.0, 4.0]])
    assert graph.ops == ("index", "index")
    assert [g.tolist() for g in graph.gradients] == [[1, 2], [3, 4]]


def test_the_gradient_of_index_is_padded_with_zeros():
    x = leaf([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    y = p.index(x, 1)
    assert ops(x, y) == ["reshape", "pad_zeros"]
    y.backward([7.0, 8.0])
    assert x.grad.tolist() == [[0, 0], [7, 8], [0, 0]]


def test_the_gradient_of_a_staged_value_is_staged_too():
    x = leaf([1.0, 2.0])
    assert ops(x, p.stage(x)) == ["stage"]


def test_the_gradient_of_expand_is_permuted_reduced_and_reshaped():
    a, b = leaf(np.ones((5, 1, 4, 1))), leaf(np.ones((3, 1, 1)))
    y = p.add(p.expand(a, (5, 3, 4, 1)), p.expand(b, (5, 3, 4, 1)))
    graph = p.grad_graph(y, np.ones((5, 3, 4, 1)))
    assert graph.ops == ("permute", "reduce_add", "reshape", "permute", "reduce_add", "reshape")
    permute, reduce, reshape = (s.tensor._current().params for s in graph._steps[:3])
    assert (permute, reduce, reshape) == ({"order": (0, 2, 1, 3)}, {"pop": 2}, {"shape": (3, 1, 1)})  # b: axes 0 and 2
    assert graph._steps[3].tensor._current().params == {"order": (1, 0, 2, 3)}  # a: axis 1
    assert graph.grad(b).tolist() == [[[20.0]], [[20.0]], [[20.0]]]
    assert graph.grad(a).tolist() == np.full((5, 1, 4, 1), 3.0).tolist()


def test_summed_axes_are_those_that_an_operand_grew():
    assert p.summed_axes((5, 3, 4, 1), (3, 1, 1)) == (0, 2)
    assert p.summed_axes((5, 3, 4, 1), (5, 1, 4, 1)) == (1,)
    with pytest.raises(ShapeError, match=r"\(3,\) cannot be expanded to \(2,\)"):
        p.summed_axes((2,), (3,))


def test_the_gradient_of_reduce_add_is_reshaped_and_expanded():
    x = leaf(np.zeros((2, 3)))
    y = p.reduce(x, "add", pop=1)
    assert ops(x, y) == ["reshape", "expand"]
    y.backward([1.0, 2.0, 3.0])
    assert x.grad.tolist() == [[1, 2, 3], [1, 2, 3]]


def test_a_tie_of_two_in_reduce_max_gives_each_exactly_one_half():
    x = leaf([1.0, 5.0, 5.0, 2.0])
    graph = p.grad_graph(p.reduce(x, "max"))
    assert graph.grad(x).tolist() == [0.0, 0.5, 0.5, 0.0]
    assert graph.grad(x).tolist()[1] == 0.5
    assert graph.ops == ("reshape", "expand", "equal", "astype", "reduce_add", "reshape", "expand", "mul", "reshape", "expand", "div")


def test_nan_in_reduce_max_is_routed_to_the_nan_entries():
    x = leaf([1.0, np.nan, 5.0, np.nan])
    p.reduce(x, "max").backward(3.0)
    assert x.grad.tolist() == [0.0, 1.5, 0.0, 1.5]


def test_max_of_two_sends_g_to_the_greater_and_half_to_each_at_a_tie():
    a, b = leaf([1.0, 5.0, np.nan]), leaf([2.0, 5.0, 1.0])
    p.max(a, b).backward([1.0, 1.0, 1.0])
    assert a.grad.tolist() == [0.0, 0.5, 1.0]
    assert b.grad.tolist() == [1.0, 0.5, 0.0]


def test_a_number_may_stand_for_an_array_of_one_shape():
    x = leaf([-1.0, 0.0, 2.0])
    y = p.max(x, 0.0)
    y.backward(np.ones(3))
    assert x.grad.tolist() == [0.0, 0.5, 1.0]


def test_the_row_sums_of_B_are_the_rows_of_the_gradient_of_A():
    A, B = leaf([[1.0, 2.0], [3.0, 4.0]]), leaf([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    product = p.reduce(p.permute(p.mul(p.expand(p.reshape(A, (2, 2, 1)), (2, 2, 3)), p.expand(p.reshape(B, (1, 2, 3)), (2, 2, 3))), (1, 0, 2)))
    np.testing.assert_array_equal(product.numpy(), A.numpy() @ B.numpy())
    graph = p.grad_graph(p.reduce(product, pop=2))
    assert graph.grad(A).tolist() == [[6.0, 15.0], [6.0, 15.0]]
    assert graph.grad(B).tolist() == [[4.0] * 3, [6.0] * 3]


# ---- forward only -----------------------------------------------------------------------------------------------


def test_reduce_mul_goes_forward_and_says_why_it_does_not_go_backward():
    x = leaf([2.0, 3.0, 4.0])
    y = p.reduce(x, "mul")
    assert y.item() == 24
    with pytest.raises(RuleError, match=r"reduce with op='mul' has no gradient .*x of shape \(3,\).*tv\.prod") as caught:
        y.backward()
    assert "test_ops.py" in caught.value.__notes__[0]
    assert x.grad is None
    with pytest.raises(RuleError, match="reduce with op='mul'"):
        p.grad_graph(y)


def test_reduce_mul_off_the_gradient_path_disturbs_nothing():
    x, c = leaf([1.0, 2.0]), tv.tensor([2.0, 3.0])
    (p.mul(x, 2.0).sum() * p.reduce(c, "mul")).backward()
    assert x.grad.tolist() == [12.0, 12.0]


def test_index_at_a_computed_place_goes_forward_and_says_why_it_does_not_go_backward():
    x = leaf([[1.0, 2.0], [5.0, 0.0]])
    y = p.index(x, np.argmax(x[:, 0]))
    assert y.tolist() == [5.0, 0.0]
    with pytest.raises(RuleError, match=r"index at a computed place .*j is a Tensor"):
        y.backward(np.ones(2))
    assert x.grad is None


def test_shrink_at_a_computed_place_goes_forward_and_says_why_it_does_not_go_backward():
    x = leaf([1.0, 2.0, 5.0, 0.0])
    for offsets in (np.argmax(x) - 1, [np.argmax(x) - 1], tv.tensor([1])):
        y = p.shrink(x, offsets, (2,))
        assert y.tolist() == [2.0, 5.0]
        with pytest.raises(RuleError, match=r"shrink at a computed place .*offsets is a Tensor"):
            y.backward(np.ones(2))


# ---- wrong arguments --------------------------------------------------------------------------------------------

X = np.zeros((2, 3))
WRONG: list[tuple[Any, type[Exception], str]] = [
    (lambda: p.reshape(tv.tensor(X), (4, 2)), ShapeError, r"reshape: operands of shape \(2, 3\) do not fit with shape=\(4, 2\)"),
    (lambda: p.reshape(X, 2.5), DTypeError, "reshape: shape takes whole numbers, got 2.5"),
    (lambda: p.permute(X, [0, 0]), AxisError, r"permute: order \(0, 0\) must name each of the axes 0 to 1 once"),
    (lambda: p.inverse_order([1, 2]), AxisError, "each of the axes 0 to 1 once"),
    (lambda: p.pad(X, [1]), ShapeError, r"pad: pads \[1\]"),
    (lambda: p.pad(X, [1, -1]), ShapeError, "cut off with shrink"),
    (lambda: p.pad(X, [1, 1, 1, 1, 1, 1]), ShapeError, "at most 2 axes"),
    (lambda: p.shrink(X, (1, 1), (2, 2)), ShapeError, r"2 element\(s\) from 1 on do not lie within axis 0 of shape \(2, 3\)"),
    (lambda: p.shrink(X, (1,), (2,)), ShapeError, "as many entries"),
    (lambda: p.stack(X, X[0]), ShapeError, r"one shape, got \(2, 3\), \(3,\)"),
    (lambda: p.stack(), ShapeError, "at least one"),
    (lambda: p.index(X, 2), IndexingError, r"place 2 of shape \(2, 3\): the leading axis has 2"),
    (lambda: p.index(np.float64(1), 0), IndexingError, "the leading axis is not there"),
    (lambda: p.index(tv.tensor(X), tv.tensor(1.0)), DTypeError, "whole numbers, got dtype float64"),
    (lambda: p.expand(X, (3, 3)), ShapeError, r"shape \(2, 3\) cannot be expanded to \(3, 3\): its axis -2 has size 2, expected 1 or 3"),
    (lambda: p.expand(X, (3,)), ShapeError, "has 2 axes"),
    (lambda: p.reduce(X, "mean"), OptionError, "op must be one of 'add', 'max', 'mul', got 'mean'"),
    (lambda: p.reduce(X, ["add"]), OptionError, r"got \['add'\]"),
    (lambda: p.reduce(X, pop="1"), DTypeError, "reduce: pop must be a whole number, got '1'"),
    (lambda: p.permute(X, [True, False]), DTypeError, r"order takes whole numbers, got \[True, False\]"),
    (lambda: p.index(X, (0, 1)), DTypeError, r"index: j must be a whole number, got \(0, 1\)"),
    (lambda: p.index(X, ()), DTypeError, r"index: j must be a whole number, got \(\)"),
    (lambda: p.reshape(X, (-2, 3)), ShapeError, r"reshape: shape \(-2, 3\) has a negative size"),
    (lambda: p.expand(X[:1], (-1, 3)), ShapeError, r"expand: shape \(-1, 3\) has a negative size"),
    (lambda: p.expand(X[:0], (1, 3)), ShapeError, "its axis -2 has size 0, expected 1$"),
    (lambda: p.summed_axes((-2, 3), (3,)), ShapeError, "from_shape .* negative"),
    (lambda: p.stack(None), DTypeError, "stack: an operand holds floats, integers or booleans, got None"),
    (lambda: p.stage("x"), DTypeError, "stage: an operand holds floats, integers or booleans, got 'x'"),
    (lambda: p.pad(np.array(["a"]), [1, 1]), DTypeError, "pad: an operand holds floats"),
    (lambda: p.add(X, 1j), DTypeError, "add: an operand: complex numbers have no gradient here"),
    (lambda: p.cast(X, complex), DTypeError, "cast: complex numbers have no gradient here"),
    (lambda: p.neg([[1.0, 2.0], [3.0]]), DTypeError, "neg: an operand is no rectangular array"),
    (lambda: p.reduce(X, pop=3), AxisError, r"pop=3 leading axes of shape \(2, 3\), which has 2"),
    (lambda: p.reduce(X[:0], "max"), ShapeError, "no element to choose from"),
    (lambda: p.add(X, X[0]), ShapeError, "primitives do not broadcast, so expand"),
    (lambda: p.compare(X, X, "=>"), OptionError, "op must be one of '==', .*got '=>'"),
    (lambda: p.grad_graph(3.0), tv.errors.GraphError, "takes the Tensor"),
    (lambda: p.grad_graph(tv.tensor(3.0)), tv.errors.GraphError, "requires a gradient"),
    (lambda: p.grad_graph(leaf([1.0, 2.0])), tv.errors.SeedError, r"np.ones\(\(2,\)\)"),
    (lambda: p.grad_graph(leaf([1.0, 2.0]), [1.0]), tv.errors.SeedError, r"shape \(1,\), expected \(2,\)"),
    (lambda: p.grad_graph(leaf(1.0), "a"), tv.errors.SeedError, "expected real numbers of shape"),
    (lambda: p.grad_graph(leaf(1.0), 1j), tv.errors.SeedError, "expected real numbers .* complex128"),
    (lambda: p.recompute_counts(), tv.errors.GraphError, "at least one"),
]


@pytest.mark.parametrize("case", range(len(WRONG)))
def test_a_wrong_argument_is_told_what_was_expected(case: int):
    call, kind, words = WRONG[case]
    with pytest.raises(kind, match=words):
        call()


def test_a_list_with_tensors_inside_stays_in_the_graph():
    a, b = leaf([1.0, 2.0], "a"), leaf([3.0, 4.0], "b")
    y = p.reduce([a, [5.0, 6.0], b])
    y.backward([1.0, 10.0])
    assert y.tolist() == [9.0, 12.0]
    assert a.grad.tolist() == b.grad.tolist() == [1.0, 10.0]
    assert p.only_primitives(p.grad_graph(y, [1.0, 1.0]))


def test_a_place_may_be_computed_as_an_array_of_one():
    assert p.index(leaf([1.0, 2.0]), tv.tensor([1])).item() == 2.0


# ---- random shapes ----------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None, derandomize=True)
@given(data=st.data())
def test_expand_of_any_shape_is_what_broadcasting_does(data: st.DataObject):
    small, other = data.draw(broadcastable(2))
    result = np.broadcast_shapes(small, other)
    x = leaf(data.draw(arrays(small)))
    weights = data.draw(arrays(result))
    y = p.expand(x, result)
    y.backward(weights)
    np.testing.assert_array_equal(y.numpy(), np.broadcast_to(x.numpy(), result))
    again = leaf(x.numpy())
    np.broadcast_to(again, result).backward(weights)
    np.testing.assert_allclose(x.grad, again.grad, rtol=1e-12, atol=1e-14)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(data=st.data())
def test_reduce_over_any_number_of_axes_is_what_numpy_does(data: st.DataObject):
    shape = data.draw(shapes(min_side=1))
    pop = data.draw(st.integers(0, len(shape)))
    how = data.draw(st.sampled_from(["add", "max"]))
    x, again = leaf(data.draw(arrays(shape))), None
    y = p.reduce(x, how, pop=pop)
    weights = data.draw(arrays(y.shape))
    y.backward(weights)
    again = leaf(x.numpy())
    {"add": np.sum, "max": np.max}[how](again, axis=tuple(range(pop))).backward(weights)
    np.testing.assert_allclose(x.grad, again.grad, rtol=1e-12)
