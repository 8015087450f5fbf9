"""Random programs of up to 30 ops: written in primitives they compute the same, and so do their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import tensorviz as tv
from quality.programs import Program, programs
from tensorviz import primitives as p

OURS = {"np": np, "tv": tv}
CALM = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


def agrees(program: Program) -> None:
    leaves = {name: tv.tensor(array.astype(float), requires_grad=True, name=name) for name, array in program.leaves.items()}
    values = program.run(leaves, OURS)
    rng = np.random.default_rng(5)
    found: list[tuple[Any, Any]] = [(values[name], rng.normal(size=np.shape(values[name]))) for name in program.roots]
    found = [(y, g) for y, g in found if isinstance(y, tv.Tensor) and y.requires_grad]
    if not found:
        return
    with np.errstate(all="ignore"):
        trace = tv.backward([y for y, _ in found], [g for _, g in found])
        lowered = tv.lower(trace)
        for (y, _), root in zip(found, lowered.roots, strict=True):
            np.testing.assert_allclose(root.numpy(), y.numpy(), rtol=1e-7, atol=1e-10)
        assert {n.op for n in lowered.trace_of_forward.nodes if not n.is_leaf} <= p.PRIMITIVES | {"argmax", "argmin", "argsort"}
        lowered.backward(found[0][1] if len(found) == 1 else [g for _, g in found])
        assert lowered.show().steps
    for name, leaf in leaves.items():
        if leaf.grad is not None:
            scale = max(1.0, float(np.max(np.abs(leaf.grad), initial=0.0)))
            np.testing.assert_allclose(lowered.grad(name), leaf.grad, rtol=1e-6, atol=1e-8 * scale)


@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=CALM)
@given(programs(max_lines=12))
def test_a_random_program_in_primitives_has_the_same_gradients(program: Program):
    agrees(program)


@pytest.mark.slow
@settings(max_examples=400, deadline=None, derandomize=True, suppress_health_check=CALM)
@given(programs())
def test_long_random_programs_in_primitives_have_the_same_gradients(program: Program):
    agrees(program)
