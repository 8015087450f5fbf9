"""Lowerings of elementwise ops: operands expanded to one shape, then the same op, which is a primitive. Imports primitives and ops."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorviz import primitives as p
from tensorviz.engine.op import REGISTRY, apply
from tensorviz.lowering.pieces import constant, is_number, together
from tensorviz.lowering.rules import RULES, lowering
from tensorviz.ops.noise import kept, scale
from tensorviz.primitives.kinds import FUNCTIONS, PAIRS, TESTS


def _same(name: str) -> Any:
    """The op itself, on operands of one shape."""

    def rule(*operands: Any, **params: Any) -> Any:
        return apply(REGISTRY[name], together(*operands), params)

    rule.__name__ = f"_{name}"
    return rule


for _name in sorted((FUNCTIONS | PAIRS | TESTS | {"astype", "where"}) - {"maximum", "minimum", "square"}):
    RULES[_name] = _same(_name)


@lowering("maximum")
def _maximum(a: Any, b: Any) -> Any:
    return p.max(*together(a, b))


@lowering("minimum")
def _minimum(a: Any, b: Any) -> Any:
    a, b = together(a, b)
    return p.neg(p.max(*[-x if is_number(x) else p.neg(x) for x in (a, b)]))


@lowering("square")
def _square(a: Any) -> Any:
    return p.mul(a, a)


@lowering("pos", "conjugate", "argument")
def _passed(a: Any) -> Any:
    return a


@lowering("copy")
def _copy(a: Any, order: str = "K") -> Any:  # noqa: ARG001 - where its elements lie in memory is no part of the value
    return p.stage(a)


@lowering("clip")
def _clip(a: Any, low: Any, high: Any) -> Any:
    a, low, high = together(a, low, high)
    raised = p.where(p.compare(a, low, "<"), low, a)
    return p.where(p.compare(raised, high, ">"), high, raised)


@lowering("nan_to_num")
def _nan_to_num(a: Any, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Any:
    filled = np.nan_to_num(np.asarray(a), nan=nan, posinf=posinf, neginf=neginf)
    return p.where(apply(REGISTRY["isfinite"], (a,), {}), a, constant(filled))


@lowering("dropout")
def _dropout(a: Any, p: float, seed: int) -> Any:
    return dropped(a, p, seed)


def dropped(a: Any, probability: float, seed: int) -> Any:
    """Zero for a random part of the elements, which the seed decides."""
    return p.where(constant(kept(a.shape, probability, seed)), p.mul(a, scale(probability)), 0)


# ---- activations ------------------------------------------------------------------------------------------------


@lowering("relu")
def _relu(a: Any) -> Any:
    return p.where(p.compare(a, 0, "<="), 0, a)


@lowering("leaky_relu")
def _leaky_relu(a: Any, slope: float = 0.01) -> Any:
    return p.where(p.compare(a, 0, ">"), a, p.mul(a, slope))


@lowering("elu")
def _elu(a: Any, alpha: float = 1.0) -> Any:
    positive = p.compare(a, 0, ">")
    below = apply(REGISTRY["expm1"], (p.where(positive, 0, a),), {})
    return p.where(positive, a, p.mul(below, alpha))


@lowering("silu")
def _silu(a: Any) -> Any:
    return p.mul(a, apply(REGISTRY["sigmoid"], (a,), {}))


@lowering("gelu")
def _gelu(a: Any, approximate: str = "none") -> Any:
    if approximate == "tanh":
        cubic = p.add(a, p.mul(p.mul(a, p.mul(a, a)), 0.044715))
        bell = apply(REGISTRY["tanh"], (p.mul(cubic, float(np.sqrt(2 / np.pi))),), {})
    else:
        bell = apply(REGISTRY["erf"], (p.mul(a, float(np.sqrt(0.5))),), {})
    return p.mul(a, p.mul(p.add(bell, 1.0), 0.5))
