"""Who evaluates a case: tensorviz, plain NumPy, central differences, PyTorch and HIPS autograd. Each gives results and gradients as arrays."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import tensorviz as tv

from .case import Case

STEP = 1e-6
"""Near the cube root of float64's precision, where truncation and round-off of a central difference meet."""


@dataclass(frozen=True)
class Outcome:
    """Results, and the gradient of ``sum(weight * result)`` by each floating operand."""

    results: list[Any]
    gradients: dict[str, Any]
    ops: frozenset[str] = frozenset()


def floating(operands: dict[str, Any]) -> list[str]:
    """The operands that get a gradient; a capital letter names one that is held fixed."""
    return [name for name, x in operands.items() if x.dtype.kind == "f" and name.islower()]


def weights(results: list[Any], *, ones: bool = False) -> list[Any]:
    """A cotangent per result: random, so that no two mistakes cancel; or ones, so that a reader can follow."""
    if ones:
        return [np.ones_like(r) for r in results]
    rng = np.random.default_rng(7)
    return [np.asarray(rng.normal(size=np.shape(r))).astype(np.asarray(r).dtype) for r in results]


def several(found: Any) -> list[Any]:
    """One result or several; autograd boxes a list of them."""
    return list(found) if isinstance(found, (list, tuple)) or type(found).__name__ == "SequenceBox" else [found]


def _assigned(a: Any, key: Any, v: Any) -> Any:
    made = a.clone() if hasattr(a, "clone") else a.copy()
    made[key] = v
    return made


def _called(function: Callable[..., Any], a: Any, *args: Any) -> Any:
    """What a function that writes into its first operand leaves there."""
    made = a.copy()
    function(made, *args)
    return made


@functools.cache
def _code(text: str) -> Any:
    return compile(text, "<case>", "eval")


def evaluated(text: str, operands: dict[str, Any], **names: Any) -> list[Any]:
    with warnings.catch_warnings():
        # A newer NumPy deprecates some of its names (fix, msort); they are judged for as long as they are there.
        warnings.simplefilter("ignore", DeprecationWarning)
        return several(eval(_code(text), {"assigned": _assigned, "called": _called, **names}, dict(operands)))


def plain(case: Case) -> list[Any]:
    """The results on arrays: NumPy's own where the text is NumPy's."""
    text = case.ours.replace(", like=a", "")
    return [np.asarray(r) for r in evaluated(text, case.operands(), np=np, tv=tv)]


def ours(case: Case, dtype: Any = None) -> Outcome:
    operands = case.operands()
    wanted = floating(operands)
    cast = {name: x if dtype is None or name not in wanted else x.astype(dtype) for name, x in operands.items()}
    leaves = {name: tv.tensor(cast[name], requires_grad=True) for name in wanted}
    results = evaluated(case.ours, cast | leaves, np=np, tv=tv)
    trace = tv.backward(results, weights([r.numpy() for r in results]))
    assert trace is not None
    return Outcome([r.numpy() for r in results], {name: leaves[name].grad for name in wanted}, frozenset(node.op for node in trace.nodes))


def differences(case: Case) -> dict[str, Any]:
    """The same gradients by central differences of the text on arrays."""
    operands = case.operands()
    text = case.ours.replace(", like=a", "")

    def results(moved: dict[str, Any]) -> list[Any]:
        return evaluated(text, moved, np=np, tv=tv)

    cotangents = weights(results(operands))
    found = {}
    for name in floating(operands):
        slopes = np.zeros(operands[name].shape)
        for i in np.ndindex(slopes.shape):
            ends = []
            for side in (STEP, -STEP):
                x = operands[name].copy()
                x[i] += side
                ends.append(sum(np.sum(w * r) for w, r in zip(cotangents, results(operands | {name: x}), strict=True)))
            slopes[i] = (ends[0] - ends[1]) / (2 * STEP)
        found[name] = slopes
    return found


def by_torch(text: str, operands: dict[str, Any], *, ones: bool = False) -> Outcome:
    import torch

    tensors = {name: torch.tensor(x, requires_grad=name in floating(operands)) for name, x in operands.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the peer's own notices say nothing about us
        results = [r.clone() for r in evaluated(text, tensors, torch=torch, F=torch.nn.functional)]
        given = [torch.tensor(w) for w in weights([r.detach().numpy() for r in results], ones=ones)]
        torch.autograd.backward(results, given)
    return Outcome([r.detach().numpy() for r in results], {name: tensors[name].grad.numpy() for name in floating(operands)})


def by_autograd(text: str, operands: dict[str, Any], *, ones: bool = False) -> Outcome:
    import autograd.numpy as anp
    from autograd import make_vjp

    names = floating(operands)
    kept: list[Any] = []

    def total(*moved: Any) -> Any:
        results = evaluated(text, operands | dict(zip(names, moved, strict=True)), np=anp)
        kept[:] = [np.asarray(getattr(r, "_value", r)) for r in results]
        return builtin_sum(anp.sum(w * r) for w, r in zip(weights(kept, ones=ones), results, strict=True))

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        pull, _ = make_vjp(total, argnum=list(range(len(names))))(*(operands[n] for n in names))
        gradients = pull(1.0)
    return Outcome(list(kept), dict(zip(names, gradients, strict=True)))


builtin_sum = sum
PEERS: dict[str, Callable[..., Outcome]] = {"PyTorch": by_torch, "autograd": by_autograd}
