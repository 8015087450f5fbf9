"""An exercise for any elementwise op: its backward rule. Imports the registry of ops."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from tensorviz.engine.op import REGISTRY
from tensorviz.engine.unbroadcast import unbroadcast
from tensorviz.teaching.exercise import Case, Exercise, Part
from tensorviz.teaching.exercises.answers import gradients


@cache
def names() -> tuple[str, ...]:
    """The elementwise ops that have a rule for every operand."""
    return tuple(
        op.name
        for op in REGISTRY.values()
        if op.differentiable
        and op.ufuncs
        and all(u.signature is None for u in op.ufuncs)
        and None not in op.vjps
        and op.joint is None
        and not op.variadic
    )


def elementwise(name: str) -> Exercise:
    """The exercise on the rule of one elementwise op.

    >>> print(elementwise("tanh").task)
    y = tanh(a), element by element. Write its backward rule: g is the gradient of y; return the share of a.
    """
    op = REGISTRY[name]
    several = len(op.slots) > 1
    what = "with broadcasting" if several else "element by element"
    shares = "the shares of " + " and ".join(op.slots) + " as a tuple, each in the shape of its operand" if several else f"the share of {op.slots[0]}"
    task = f"y = {name}({', '.join(op.slots)}), {what}. Write its backward rule: g is the gradient of y; return {shares}."

    def cases(rng: np.random.Generator) -> Iterator[Case]:
        for said, shapes in _shapes(rng, len(op.slots)):
            operands = [_inside(rng, shape, op.domain[i] if i < len(op.domain) else (-np.inf, np.inf)) for i, shape in enumerate(shapes)]
            g = np.copysign(rng.uniform(0.5, 2.0, np.broadcast_shapes(*shapes)), rng.standard_normal(np.broadcast_shapes(*shapes)))
            right = gradients(op, operands, g)
            alone = gradients(op, operands, np.ones(g.shape))
            parts = tuple(
                Part(
                    f"the share of {slot}",
                    right[i],
                    (
                        ("passed-on", unbroadcast(g, shapes[i])),
                        ("without-g", alone[i]),
                        ("not-summed", g),
                        *((("swapped", right[1 - i]),) if several else ()),
                    ),
                )
                for i, slot in enumerate(op.slots)
            )
            listed = ", ".join(f"{slot} of shape {shape}" for slot, shape in zip(op.slots, shapes, strict=True))
            yield Case(f"{said}: {listed}", (g, *operands), parts)

    return Exercise(name, task, f"rule(g, {', '.join(op.slots)})", cases)


def _shapes(rng: np.random.Generator, count: int) -> list[tuple[str, tuple[tuple[int, ...], ...]]]:
    n, m = (int(i) for i in rng.permutation([2, 3, 4, 5])[:2])
    if count == 1:
        return [("a vector", ((n,),)), ("a matrix", ((n, m),)), ("size 1", ((1, 1),)), ("0-d", ((),)), ("no elements", ((0, m),))]
    return [
        ("one shape", ((n, m),) * count),
        *((("a row", ((n, m), (m,))), ("a column and a row", ((n, 1), (m,))), ("no elements", ((0, m), (m,)))) if count == 2 else ()),
    ]


def _inside(rng: np.random.Generator, shape: tuple[int, ...], bounds: tuple[float, float]) -> Any:
    """Numbers well inside an open interval."""
    low, high = bounds
    if np.isfinite(low) and np.isfinite(high):
        return rng.uniform(low + 0.1 * (high - low), high - 0.1 * (high - low), shape)
    if np.isfinite(low):
        return low + rng.uniform(0.5, 2.0, shape)
    if np.isfinite(high):
        return high - rng.uniform(0.5, 2.0, shape)
    return np.copysign(rng.uniform(0.3, 2.0, shape), rng.standard_normal(shape))
