"""One property for every lowering: what it computes is what the op computes, and its gradients are those of the op's own rule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorviz as tv
from tensorviz import primitives as p
from tensorviz.engine.op import REGISTRY, Op
from tensorviz.lowering import RULES, lower

NAMES = sorted(name for name in RULES if name in REGISTRY and REGISTRY[name].differentiable)
OPS = [n for n in NAMES if type(REGISTRY[n]).__module__.startswith("tensorviz.ops.")]


def calls(op: Op) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    """The op's own examples, or operands of every kind of shape."""
    rng = np.random.default_rng(11)
    if op.examples is not None:
        return [(tuple(operands), dict(params)) for operands, params in op.examples(rng)]
    intervals = op.domain or ((-2.0, 2.0),) * len(op.slots)
    sets: list[tuple[tuple[int, ...], ...]] = [(s,) * len(op.slots) for s in ((), (4,), (2, 3), (0, 3))]
    if op.broadcasts:
        sets += [((3,), ()), ((1,), (4,)), ((2, 1), (1, 3)), ((5, 1, 2, 1), (3, 1, 1)), ((4, 0), (4, 1))]
    return [(tuple(rng.uniform(*i, s)[()] for i, s in zip(intervals, found, strict=True)), {}) for found in sets]


def has_gradient(op: Op, slot: int, x: Any) -> bool:
    rule = op.joint or op.vjps[0 if op.variadic else slot]
    return rule is not None and getattr(x, "dtype", np.dtype(int)).kind == "f"


@pytest.mark.parametrize("name", OPS)
def test_the_lowered_gradient_is_that_of_the_rule(name: str):
    op = REGISTRY[name]
    tried = 0
    for operands, params in calls(op):
        made = [tv.tensor(x, requires_grad=True) if has_gradient(op, i, x) else x for i, x in enumerate(operands)]
        y = op(*made, **params)
        if not isinstance(y, tv.Tensor) or not y.requires_grad:
            continue
        weights = np.random.default_rng(7).standard_normal(y.shape)
        with np.errstate(all="ignore"):
            lowered = lower(y)
            np.testing.assert_allclose(lowered.root.numpy(), y.numpy(), rtol=1e-9, atol=1e-12)
            assert lowered.root.dtype == y.dtype
            y.backward(weights)
            if lowered.root.requires_grad:
                lowered.backward(weights)
        for x in made:
            if isinstance(x, tv.Tensor):
                found = lowered.grad(x) if lowered.trace is not None else np.zeros(x.shape)
                np.testing.assert_allclose(found, x.grad, rtol=1e-8, atol=1e-10, err_msg=f"{[np.shape(o) for o in operands]} {params}")
        tried += 1
    assert tried


@pytest.mark.parametrize("name", OPS)
def test_a_lowered_graph_and_its_backward_pass_consist_of_primitives(name: str):
    op = REGISTRY[name]
    for operands, params in calls(op):
        made = [tv.tensor(x, requires_grad=True) if has_gradient(op, i, x) else x for i, x in enumerate(operands)]
        y = op(*made, **params)
        if not isinstance(y, tv.Tensor) or not y.requires_grad:
            continue
        with np.errstate(all="ignore"):
            lowered = lower(y)
            assert {n.op for n in lowered.trace_of_forward.nodes if not n.is_leaf} <= p.PRIMITIVES
            assert all(_one_shape(lowered.trace_of_forward, n) for n in lowered.trace_of_forward.nodes)
            if lowered.root.requires_grad:
                assert p.only_primitives(lowered.grad_graph(np.ones(y.shape)))


def _one_shape(trace: tv.Trace, node: tv.TraceNode) -> bool:
    """Whether an elementwise node's operands have its own shape, but for numbers."""
    if node.op not in p.ELEMENTWISE:
        return True
    return all(trace.nodes[i].shape == node.shape or (trace.nodes[i].kind == "constant" and not trace.nodes[i].shape) for i in node.inputs)


@pytest.mark.parametrize("name", OPS)
def test_float32_stays_float32_in_the_lowered_graph(name: str):
    op = REGISTRY[name]
    for operands, params in calls(op)[:3]:
        if params.get("dtype") == "float64":
            continue
        made = [tv.tensor(np.asarray(x, np.float32), requires_grad=True) if has_gradient(op, i, x) else x for i, x in enumerate(operands)]
        if any(getattr(x, "dtype", None) == np.float64 for x in made):
            continue
        y = op(*made, **params)
        if not isinstance(y, tv.Tensor) or not y.requires_grad or y.dtype != np.float32:
            continue
        with np.errstate(all="ignore"):
            lowered = lower(y)
        wide = {n.op for n in lowered.trace_of_forward.nodes if n.dtype == "float64" and not n.weak}
        assert wide == set()


@pytest.mark.parametrize("name", ["softmax", "cross_entropy", "layer_norm", "conv2d", "attention", "max", "einsum", "sort", "logsumexp"])
def test_a_lowered_pass_agrees_with_finite_differences_at_every_node(name: str):
    op = REGISTRY[name]
    for operands, params in calls(op)[:3]:
        made = [tv.tensor(x, requires_grad=True) if has_gradient(op, i, x) else x for i, x in enumerate(operands)]
        y = op(*made, **params)
        if y.size:
            assert lower(y).backward(np.random.default_rng(0).standard_normal(y.shape)).check().ok
