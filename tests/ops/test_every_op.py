"""One property for every op of the registry: its rule is the derivative of its forward, whatever the shape, dtype and layout."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tensorviz as tv
from strategies import arrays, axes, broadcastable, shapes
from tensorviz.engine.op import REGISTRY, Op, forward_of
from tensorviz.engine.tensor import handle
from tensorviz.ops.custom import CustomOp
from tensorviz.widgets.payload import build

EPSILON = 1e-6  # near the cube root of float64's precision, where truncation and round-off of a central difference meet
BUILT_IN = [name for name, op in REGISTRY.items() if type(op).__module__.startswith("tensorviz.ops.") and not isinstance(op, CustomOp)]
DIFFERENTIABLE = [name for name in BUILT_IN if REGISTRY[name].differentiable]
LINE = (-2.0, 2.0)


class Call(NamedTuple):
    op: Op
    operands: tuple[Any, ...]
    params: dict[str, Any]

    def differentiable_slots(self) -> list[int]:
        return [i for i, x in enumerate(self.operands) if getattr(x, "dtype", np.dtype(int)).kind == "f" and self.has_rule(i)]

    def has_rule(self, slot: int) -> bool:
        return self.op.joint is not None or self.op.vjps[0 if self.op.variadic else slot] is not None

    def forward(self, operands: Any) -> Any:
        result = forward_of(self.op)(*operands, **self.params)
        return np.asarray(result[0] if self.op.extras else result)


def generated(op: Op, rng: np.random.Generator) -> Iterator[Call]:
    """Random operands of every kind of shape: 0-d, empty, with axes of size 1, broadcast."""
    intervals = op.domain or (LINE,) * len(op.slots)
    if op.broadcasts:
        sets: list[tuple[tuple[int, ...], ...]] = [
            ((), ()),
            ((3,), ()),
            ((), (2,)),
            ((1,), (4,)),
            ((2, 3), (2, 3)),
            ((2, 1), (1, 3)),
            ((5, 1, 2, 1), (3, 1, 1)),
            ((0, 2), (2,)),
            ((4, 0), (4, 1)),
        ]
    else:
        sets = [(s,) * len(op.slots) for s in ((), (1,), (4,), (2, 3), (0, 3), (2, 1, 3))]
    for found in sets:
        yield Call(op, tuple(rng.uniform(*interval, shape)[()] for interval, shape in zip(intervals, found, strict=True)), {})


def calls(name: str) -> list[Call]:
    op, rng = REGISTRY[name], np.random.default_rng(20240229)
    if op.examples is None:
        return list(generated(op, rng))
    made = [Call(op, tuple(operands), dict(params)) for operands, params in op.examples(rng)]
    assert made, f"{name} has no examples"
    return made


def tensors(call: Call) -> list[Any]:
    wanted = call.differentiable_slots()
    return [tv.tensor(x, requires_grad=True) if i in wanted else x for i, x in enumerate(call.operands)]


def differences(call: Call, slot: int, weights: Any) -> Any:
    """The derivative of ``sum(weights * forward)`` by every element of one operand, by central differences."""
    x = np.array(call.operands[slot], dtype=float)
    found = np.zeros(x.shape)

    def value(array: Any) -> Any:
        operands = list(call.operands)
        operands[slot] = array[()] if array.ndim == 0 else array
        return np.sum(weights * call.forward(operands))

    for index in np.ndindex(x.shape):
        high, low = x.copy(), x.copy()
        high[index] += EPSILON
        low[index] -= EPSILON
        found[index] = (value(high) - value(low)) / (high[index] - low[index])
    return found


def close(analytic: Any, numeric: Any) -> None:
    np.testing.assert_allclose(analytic, numeric, rtol=1e-5, atol=1e-7)


def agrees(call: Call, seed: int = 1) -> None:
    made = tensors(call)
    y = call.op(*made, **call.params)
    weights = np.random.default_rng(seed).normal(size=y.shape)
    trace = y.backward(weights)
    for slot in call.differentiable_slots():
        assert made[slot].grad is not None, f"no gradient for slot {slot}"
        close(made[slot].grad, differences(call, slot, weights))
    assert trace.nodes[-1].op == call.op.name


def _is_floating(x: Any) -> bool:
    return getattr(x, "dtype", np.dtype(int)).kind == "f"


# ---- every op ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_what_is_recorded_of_it_can_be_shown_and_told(name: str):
    for call in calls(name):
        y = call.op(*tensors(call), **call.params)
        if y.requires_grad:
            trace = y.backward(np.ones(y.shape))
            assert build(trace, note="no verdicts")
            assert trace.summary()
            assert all(trace.explain(node.id) for node in trace.nodes)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_the_rule_is_the_derivative(name: str):
    tried = calls(name)
    assert any(call.differentiable_slots() for call in tried)
    for call in tried:
        if call.differentiable_slots():
            agrees(call)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_every_slot_with_a_rule_was_tried(name: str):
    op = REGISTRY[name]
    if op.variadic or op.joint is not None:
        return
    tried = {slot for call in calls(name) for slot in call.differentiable_slots()}
    assert tried == {i for i, rule in enumerate(op.vjps) if rule is not None}


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_float32_stays_float32_forward_and_backward(name: str):
    for call in calls(name):
        if call.params.get("dtype") == "float64" or not call.differentiable_slots():
            continue
        single = call._replace(
            operands=tuple(
                np.float32(x) if _is_floating(x) and np.ndim(x) == 0 else x.astype(np.float32) if _is_floating(x) else x for x in call.operands
            )
        )
        made = tensors(single)
        y = single.op(*made, **single.params)
        assert y.dtype == np.float32, f"{single.op} of {[np.shape(x) for x in single.operands]}"
        weights = np.random.default_rng(1).normal(size=y.shape)
        trace = y.backward(weights)
        for node in trace.nodes:
            for share in node.shares:
                assert share.value.dtype == np.float32
                assert share.total.dtype == np.float32
        wide = tensors(call)
        call.op(*wide, **call.params).backward(weights)
        for slot in single.differentiable_slots():
            assert made[slot].grad.dtype == np.float32
            scale = max(1.0, float(np.max(np.abs(wide[slot].grad), initial=0)))
            np.testing.assert_allclose(made[slot].grad, wide[slot].grad, rtol=2e-4, atol=2e-4 * scale)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_operands_of_two_dtypes_have_gradients_of_their_own(name: str):
    for call in calls(name):
        slots = call.differentiable_slots()
        for narrow in slots if len(slots) > 1 else ():
            operands = tuple(np.asarray(x, np.float32) if i == narrow else x for i, x in enumerate(call.operands))
            for _ in range(2):  # the first pass compiles the rule
                made = tensors(call._replace(operands=operands))
                y = call.op(*made, **call.params)
                shares = y.backward(np.ones(y.shape)).nodes
                for i in slots:
                    assert made[i].grad.dtype == operands[i].dtype, f"slot {i} of {[np.shape(x) for x in operands]}"
                assert all(s.total.dtype == n.dtype for n in shares for s in n.shares)


def _strided(array: Any) -> Any:
    """The same numbers as every other element of a larger array, backwards."""
    wide = np.empty([2 * s for s in array.shape], array.dtype)
    view = wide[tuple(slice(None, None, -2) for _ in array.shape)] if array.ndim else wide
    view[...] = array
    view.flags.writeable = False
    return view


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_memory_layout_changes_nothing_and_operands_are_left_alone(name: str):
    for call in calls(name):
        odd = call._replace(operands=tuple(_strided(x) if isinstance(x, np.ndarray) else x for x in call.operands))
        # BLAS adds in another order for another layout
        np.testing.assert_allclose(odd.forward(odd.operands), call.forward(call.operands), rtol=1e-12, atol=1e-15)
        if not call.differentiable_slots():
            continue
        # np.transpose makes the operand a strided view inside the graph
        leaves, made = [], []
        for i, x in enumerate(call.operands):
            if i in call.differentiable_slots() and np.ndim(x) > 1:
                leaves.append(tv.tensor(np.ascontiguousarray(np.transpose(x)), requires_grad=True))
                made.append(np.transpose(leaves[-1]))
            else:
                leaves.append(tv.tensor(x, requires_grad=True) if i in call.differentiable_slots() else x)
                made.append(leaves[-1])
        y = call.op(*made, **call.params)
        weights = np.random.default_rng(1).normal(size=y.shape)
        y.backward(_strided(weights))
        plain = tensors(call)
        call.op(*plain, **call.params).backward(weights)
        for i in call.differentiable_slots():
            found = leaves[i].grad.T if np.ndim(call.operands[i]) > 1 else leaves[i].grad
            np.testing.assert_allclose(found, plain[i].grad, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", BUILT_IN)
def test_plain_arrays_give_plain_arrays_of_the_same_value(name: str):
    op = REGISTRY[name]
    if op.examples is None and not op.differentiable:
        return  # comparisons and tests: see test_comparison.py
    for call in calls(name):
        plain = op(*call.operands, **call.params)
        assert not isinstance(plain, tv.Tensor)
        with_tensor = op(*tensors(call), **call.params)
        if isinstance(with_tensor, tv.Tensor):
            np.testing.assert_array_equal(with_tensor.numpy(), np.asarray(plain))


def _wrap(node: Any) -> Any:
    return node.value if type(node.value) in (bool, int, float) else handle(node)


def _recorded_shares(call: Call, made: list[Any], g: Any) -> tuple[Any, ...]:
    """The shares of a call computed on Tensors, so that they can be differentiated again."""
    node = call.op(*made, **call.params)._current()
    # what forward made for the rule depends on the operands as well
    extras = forward_of(call.op)(*made, **call.params)[1] if call.op.extras else ()
    return tuple(call.op.pull_recorded(node, g, _wrap, extras))


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_the_rule_works_on_tensors_and_gives_the_same(name: str):
    for call in calls(name):
        if not call.differentiable_slots():
            continue
        made = tensors(call)
        shape = call.forward(call.operands).shape
        weights = np.random.default_rng(1).normal(size=shape)[()]
        shares = _recorded_shares(call, made, tv.tensor(weights, requires_grad=True))
        node = call.op(*made, **call.params)._current()
        for expected, share in zip(call.op.pull(node, weights), shares, strict=True):
            if expected is not None:
                np.testing.assert_allclose(np.asarray(share), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_the_rule_of_the_rule_is_the_second_derivative(name: str):
    for call in calls(name):
        slots = call.differentiable_slots()
        if not slots or sum(np.size(x) for x in call.operands) > 40:
            continue
        made = tensors(call)
        weights = np.random.default_rng(1).normal(size=call.forward(call.operands).shape)[()]
        g = tv.tensor(weights, requires_grad=True)
        shares = _recorded_shares(call, made, g)
        directions = [None if s is None else np.random.default_rng(2 + i).normal(size=s.shape) for i, s in enumerate(shares)]

        def pulled(operands: Any, cotangent: Any, call: Call = call, directions: Any = directions) -> Any:
            """The sum of all shares, each against its direction, from arrays."""
            fresh = [tv.tensor(x, requires_grad=True) if i in call.differentiable_slots() else x for i, x in enumerate(operands)]
            y = call.op(*fresh, **call.params)._current()
            got = call.op.pull(y, cotangent)
            return sum(np.sum(d * np.asarray(s)) for s, d in zip(got, directions, strict=True) if s is not None)

        roots = [(share * d).sum() for share, d in zip(shares, directions, strict=True) if isinstance(share, tv.Tensor) and share.requires_grad]
        if not roots:
            continue
        tv.backward(roots)
        for slot in slots:
            x = np.array(call.operands[slot], dtype=float)
            numeric = np.zeros(x.shape)
            for index in np.ndindex(x.shape):
                high, low = x.copy(), x.copy()
                high[index] += EPSILON
                low[index] -= EPSILON
                ends = []
                for array in (high, low):
                    operands = list(call.operands)
                    operands[slot] = array[()] if array.ndim == 0 else array
                    ends.append(pulled(operands, weights))
                numeric[index] = (ends[0] - ends[1]) / (high[index] - low[index])
            analytic = made[slot].grad if made[slot].grad is not None else np.zeros(x.shape)
            np.testing.assert_allclose(analytic, numeric, rtol=1e-4, atol=1e-6)
        along = np.random.default_rng(9).normal(size=np.shape(weights))
        np.testing.assert_allclose(np.sum((g.grad if g.grad is not None else 0) * along), pulled(call.operands, along), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_the_gradient_of_zero_is_zero_and_of_nothing_is_empty(name: str):
    for call in calls(name):
        if not call.differentiable_slots():
            continue
        made = tensors(call)
        y = call.op(*made, **call.params)
        y.backward(np.zeros(y.shape))
        for slot in call.differentiable_slots():
            assert made[slot].grad.shape == np.shape(call.operands[slot])
            assert not made[slot].grad.any()


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_a_route_is_where_the_gradient_goes(name: str):
    op = REGISTRY[name]
    if not op.routes:
        return
    for call in calls(name):
        if not call.differentiable_slots():
            continue
        made = tensors(call)
        y = call.op(*made, **call.params)
        trace = y.backward(np.ones(y.shape))
        for share in (s for node in trace.nodes for s in node.shares):
            if op.routes[0 if op.variadic else share.slot] is None:
                continue
            assert share.route is not None
            assert share.route.shape == trace.nodes[share.target].shape
            assert ((share.route >= 0) & (share.route <= 1)).all()
            if share.route.shape == share.value.shape:
                np.testing.assert_array_equal(share.value != 0, share.route != 0)


def test_every_op_says_what_it_does():
    for name in BUILT_IN:
        op = REGISTRY[name]
        assert type(op).__doc__, f"{name} has no docstring"
        if op.differentiable:
            assert op.word
            assert len(op.formulas) == (1 if op.variadic else len(op.slots))


# ---- random shapes ----------------------------------------------------------------------------------------------

ELEMENTWISE = [n for n in DIFFERENTIABLE if REGISTRY[n].broadcasts and REGISTRY[n].examples is None and len(REGISTRY[n].slots) == 2]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(data=st.data())
def test_two_operands_of_any_shapes_that_broadcast(data: st.DataObject):
    op = REGISTRY[data.draw(st.sampled_from(ELEMENTWISE))]
    found = data.draw(broadcastable(2))
    intervals = op.domain or (LINE, LINE)
    operands = tuple(data.draw(arrays(shape, interval)) for shape, interval in zip(found, intervals, strict=True))
    agrees(Call(op, operands, {}))


REDUCED: list[Callable[..., Any]] = [tv.sum, tv.mean, tv.var, tv.prod, tv.logsumexp, tv.max, tv.min]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(data=st.data())
def test_a_reduction_over_any_axes(data: st.DataObject):
    reduce = data.draw(st.sampled_from(REDUCED))
    shape = data.draw(shapes(min_side=1))
    axis, keepdims = data.draw(axes(len(shape))), data.draw(st.booleans())
    x = data.draw(arrays(shape))
    agrees(Call(REGISTRY[reduce.__name__], (x,), {"axis": axis, "keepdims": keepdims}))
    reference = {"logsumexp": lambda a, **how: np.log(np.sum(np.exp(a), **how))}.get(reduce.__name__) or getattr(np, reduce.__name__)
    np.testing.assert_allclose(reduce(tv.tensor(x), axis=axis, keepdims=keepdims).numpy(), reference(x, axis=axis, keepdims=keepdims), rtol=1e-12)
