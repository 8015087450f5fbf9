"""Random graphs: gradients agree with central differences and, where it has the words, with PyTorch; and the record adds up.

Every day the same programs run. ``TENSORVIZ_FUZZ=5000`` runs so many random ones; a program that fails is printed, shortened.
"""

from __future__ import annotations

import importlib.util
import os
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings

import tensorviz as tv
from quality.programs import Program, programs
from tensorviz.engine.op import REGISTRY
from tensorviz.engine.unbroadcast import unbroadcast

MANY = os.environ.get("TENSORVIZ_FUZZ")
BOUNDED = settings(
    max_examples=int(MANY or 50),
    derandomize=MANY is None,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
STEP = 1e-6
OURS = {"np": np, "tv": tv}


def cotangents(program: Program, values: dict[str, Any]) -> list[Any]:
    rng = np.random.default_rng(5)
    return [rng.normal(size=np.shape(values[name])) for name in program.roots]


def backward(program: Program, dtype: Any = float, *, record: bool = True) -> tuple[dict[str, Any], Any]:
    """The gradient of every leaf (None where no root depends on it), and the record."""
    leaves = {name: tv.tensor(array.astype(dtype), requires_grad=True, name=name) for name, array in program.leaves.items()}
    values = program.run(leaves, OURS)
    found = [(values[name], g) for name, g in zip(program.roots, cotangents(program, values), strict=True)]
    found = [(y, g) for y, g in found if y.requires_grad]
    if not found:
        return dict.fromkeys(leaves), None
    trace = tv.backward([y for y, _ in found], [g for _, g in found], record=record)
    return {name: leaf.grad for name, leaf in leaves.items()}, trace


def differences(program: Program) -> dict[str, Any]:
    def total(leaves: dict[str, Any]) -> float:
        values = program.run(leaves, OURS)
        return sum(float(np.sum(g * values[name])) for name, g in zip(program.roots, weights, strict=True))

    weights = cotangents(program, program.run(program.leaves, OURS))
    found = {}
    for name, array in program.leaves.items():
        slopes = np.zeros(array.shape)
        for i in np.ndindex(array.shape):
            ends = []
            for side in (STEP, -STEP):
                x = array.copy()
                x[i] += side
                ends.append(total(program.leaves | {name: x}))
            slopes[i] = (ends[0] - ends[1]) / (2 * STEP)
        found[name] = slopes
    return found


def by_torch(program: Program) -> dict[str, Any]:
    import torch

    leaves = {name: torch.tensor(array, requires_grad=True) for name, array in program.leaves.items()}
    values = program.run(leaves, {"np": np, "torch": torch, "F": torch.nn.functional}, torch=True)
    found = [
        (values[name], torch.tensor(g))
        for name, g in zip(program.roots, cotangents(program, {n: v.detach() for n, v in values.items()}), strict=True)
    ]
    found = [(y, g) for y, g in found if y.requires_grad]
    torch.autograd.backward([y for y, _ in found], [g for _, g in found])
    return {name: None if x.grad is None else x.grad.numpy() for name, x in leaves.items()}


def close(mine: dict[str, Any], theirs: dict[str, Any], rtol: float, atol: float) -> None:
    largest = max([1.0, *(float(np.max(np.abs(g), initial=0)) for g in mine.values() if g is not None)])
    for name, g in mine.items():
        other = theirs[name]
        if other is None or g is None:
            assert not np.any(g if other is None else other) or (g is None and other is None), name
            continue
        np.testing.assert_allclose(g, other, rtol=rtol, atol=atol * largest, err_msg=name)


# ---- the properties ---------------------------------------------------------------------------------------------


@BOUNDED
@given(program=programs())
def test_a_random_graph_agrees_with_central_differences(program: Program):
    # Truncation grows with the third derivative, which chains of powers and products make large.
    close(backward(program)[0], differences(program), rtol=1e-4, atol=1e-6)


@pytest.mark.skipif(importlib.util.find_spec("torch") is None and not os.environ.get("CI"), reason="NOT COMPARED with PyTorch, which is missing")
@BOUNDED
@given(program=programs())
def test_a_random_graph_agrees_with_pytorch_where_it_has_the_words(program: Program):
    program.lines = program.lines[: next((i for i, line in enumerate(program.lines) if line.torch is None), len(program.lines))]
    if program.lines:
        close(backward(program)[0], by_torch(program), rtol=1e-7, atol=1e-10)


@BOUNDED
@given(program=programs())
def test_the_record_of_a_random_graph_adds_up(program: Program):
    gradients, trace = backward(program)
    plain, nothing = backward(program, record=False)
    assert nothing is None
    for name, g in gradients.items():
        assert (g is None) == (plain[name] is None)
        assert g is None or (g == plain[name]).all() or not np.isfinite(g).all()
    if trace is None:
        return
    seeds = [s.node for s in trace.steps if s.kind == "seed"]
    for node in trace.nodes:
        running = None
        for share in node.shares:
            assert share.target == node.id
            assert share.value.shape == node.shape
            np.testing.assert_array_equal(unbroadcast(np.asarray(share.local), node.shape), share.value)
            if running is not None and node.id not in seeds:
                np.testing.assert_array_equal(share.total, running + share.value)
            running = share.total
        if node.shares and node.id not in seeds:
            np.testing.assert_array_equal(node.cotangent, running)
    for name in program.leaves:
        if gradients[name] is not None:
            np.testing.assert_array_equal(trace.node(name).cotangent, gradients[name])
    kinds = [s.kind for s in trace.steps]
    assert kinds.count("accumulate") == sum(len(node.shares) for node in trace.nodes)
    assert kinds.count("leaf") == sum(g is not None for g in gradients.values())


@BOUNDED
@given(program=programs(max_lines=12))
def test_a_random_graph_in_float32_has_gradients_in_float32(program: Program):
    gradients, trace = backward(program, np.float32)
    for g in gradients.values():
        assert g is None or g.dtype == np.float32
    if trace is not None:
        assert {share.value.dtype for node in trace.nodes for share in node.shares} <= {np.dtype(np.float32)}


@BOUNDED
@given(program=programs(max_lines=8))
def test_a_random_graph_differentiated_on_tensors_has_the_same_gradient(program: Program):
    names = list(program.leaves)

    def total(*leaves: Any) -> Any:
        values = program.run(dict(zip(names, leaves, strict=True)), OURS)
        return sum((values[name] * g).sum() for name, g in zip(program.roots, weights, strict=True))

    weights = cotangents(program, program.run(program.leaves, OURS))
    leaves = [tv.tensor(program.leaves[name], requires_grad=True) for name in names]
    found = tv.grad(total, argnums=tuple(range(len(names))))(*leaves)
    close({n: np.asarray(g) for n, g in zip(names, found, strict=True)}, backward(program)[0], rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", ["mul", "concatenate", "sum"])
def test_a_planted_mistake_is_found(name, monkeypatch):
    op = REGISTRY[name]
    rule = op.pull
    monkeypatch.setattr(op, "pull", lambda node, g: tuple(None if s is None else s * 1.01 for s in rule(node, g)))
    searched = settings(BOUNDED, phases=(Phase.generate,), database=None, derandomize=True, max_examples=200)
    agree = searched(given(program=programs())(lambda program: close(backward(program)[0], differences(program), rtol=1e-4, atol=1e-6)))
    with pytest.raises(AssertionError):
        agree()
