"""What one primitive did, as one plain sentence. Imports the list of primitives and the record."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tensorviz.primitives.kinds import is_primitive
from tensorviz.trace import Source

Shape = tuple[int, ...]


def within(source: Source | None) -> Source | None:
    """The line of source behind one primitive of many, with no part of it marked: its expression is what all of them make together."""
    return None if source is None else replace(source, column=0, end_column=0)


def listed(shape: Sequence[int]) -> str:
    """A shape or some axes as they are written in Python."""
    return str(tuple(shape))


def told(op: str, label: str, params: Mapping[str, Any], shapes: Sequence[Shape], result: Shape) -> str:
    """The sentence, without its full stop: what went in, what the primitive did, what came out.

    >>> told("permute", "permute", {"order": (0, 2, 1)}, [(5, 3, 4)], (5, 4, 3))
    'permute takes the axes in the order (0, 2, 1): (5, 3, 4) becomes (5, 4, 3)'
    """
    becomes = f"{listed(shapes[0])} becomes {listed(result)}" if shapes else f"the result is {listed(result)}"
    if op == "reshape":
        return f"reshape keeps every element in its order: {becomes}"
    if op == "permute":
        return f"permute takes the axes in the order {listed(params['order'])}: {becomes}"
    if op == "pad_zeros":
        return f"pad puts zeros around it ({_pads(params['pads'])}): {becomes}"
    if op in ("shrink", "shrink_at"):
        return f"shrink cuts out the block from {listed(params['offsets']) if 'offsets' in params else 'a computed place'} on: {becomes}"
    if op == "stack_front":
        return f"stack puts {len(shapes)} of shape {listed(shapes[0])} one behind the other: {listed(result)}"
    if op in ("index", "index_at"):
        return f"index takes element {params.get('j', 'at a computed place')} of the leading axis: {becomes}"
    if op == "stage":
        return f"stage computes {listed(result)} once and keeps it"
    if op == "expand":
        return f"expand repeats it {math.prod(result) // max(math.prod(shapes[0]), 1)} times: {becomes}"
    if op.startswith("reduce_"):
        pop = params["pop"]
        return f"{label} pops the leading {'axis' if pop == 1 else f'{pop} axes'}: {becomes}"
    if op == "astype":
        return f"cast turns {listed(result)} into {params['dtype']}"
    gate = label if label.isidentifier() else op
    if is_primitive(op):
        return f"{gate} works element by element on {listed(result)}"
    return f"{gate} of {' and '.join(map(listed, shapes)) or 'nothing'} gives {listed(result)}"


def _pads(pads: Sequence[int]) -> str:
    return (
        ", ".join(
            f"axis {i}: {left} before, {right} after" for i, (left, right) in enumerate(zip(pads[::2], pads[1::2], strict=True)) if left or right
        )
        or "none"
    )
