"""Lowerings of products summed over axes: permute, reshape, expand, mul, reduce. Imports primitives and the plan of einsum."""

from __future__ import annotations

import math
import string
from typing import Any

import numpy as np

from tensorviz import primitives as p
from tensorviz.lowering.pieces import block, contracted, expanded, is_number, picked, reshaped, together
from tensorviz.lowering.rules import lowering
from tensorviz.ops.einsum import plan

_LETTERS = string.ascii_letters


@lowering("matmul")
def _matmul(a: Any, b: Any) -> Any:
    return matmul(a, b)


def matmul(a: Any, b: Any) -> Any:
    """(..., i, k) @ (..., k, j), also with vectors: every a[i, k] beside every b[k, j], multiplied, summed over k."""
    lead = max(a.ndim, b.ndim) - 2
    names = string.ascii_uppercase[: max(lead, 0)]
    left, right = (names[len(names) - max(x.ndim - 2, 0) :] for x in (a, b))
    row, column = "i" if a.ndim > 1 else "", "j" if b.ndim > 1 else ""
    return contracted((a, b), (f"{left}{row}k", f"{right}k{column}"), f"{names}{row}{column}")


@lowering("dot")
def _dot(a: Any, b: Any) -> Any:
    if is_number(a) or is_number(b) or a.ndim == 0 or b.ndim == 0:
        return p.mul(*together(a, b))
    left = _LETTERS[: a.ndim]
    right = list(_LETTERS[a.ndim : a.ndim + b.ndim])
    right[max(b.ndim - 2, 0)] = left[-1]
    return contracted((a, b), (left, "".join(right)), left[:-1] + "".join([c for c in right if c != left[-1]]))


@lowering("inner")
def _inner(a: Any, b: Any) -> Any:
    if is_number(a) or is_number(b) or a.ndim == 0 or b.ndim == 0:
        return p.mul(*together(a, b))
    left, right = _LETTERS[: a.ndim], _LETTERS[a.ndim : a.ndim + b.ndim - 1] + _LETTERS[a.ndim - 1]
    return contracted((a, b), (left, right), left[:-1] + right[:-1])


@lowering("outer")
def _outer(a: Any, b: Any) -> Any:
    return contracted([reshaped(x, (math.prod(x.shape),)) for x in (a, b)], ("i", "j"), "ij")


@lowering("tensordot")
def _tensordot(a: Any, b: Any, axes: Any) -> Any:
    left = _LETTERS[: a.ndim]
    right = list(_LETTERS[a.ndim : a.ndim + b.ndim])
    for i, j in zip(*axes, strict=True):
        right[j] = left[i]
    shared = {left[i] for i in axes[0]}
    return contracted((a, b), (left, "".join(right)), "".join([c for c in [*left, *right] if c not in shared]))


@lowering("linear")
def _linear(x: Any, weight: Any, bias: Any = None) -> Any:
    lead = _LETTERS[2 : 2 + x.ndim - 1]
    found = contracted((x, weight), (lead + "a", "ba"), lead + "b")
    return found if bias is None else p.add(found, expanded(bias, found.shape))


@lowering("einsum")
def _einsum(*xs: Any, subscripts: str, optimize: Any = False) -> Any:  # noqa: ARG001 - a parameter of the op
    inputs, output = plan(subscripts, tuple([x.ndim for x in xs]))
    found = [_once(x, term) for x, term in zip(xs, inputs, strict=True)]
    return contracted([x for x, _ in found], [term for _, term in found], output)


def _once(x: Any, term: str) -> tuple[Any, str]:
    """An operand in which no letter stands twice: of two axes of one letter only the diagonal is read."""
    letters = "".join(dict.fromkeys(term))
    if letters == term:
        return x, term
    positions = np.einsum(f"{term}->{letters}", np.arange(math.prod(x.shape)).reshape(x.shape))
    return picked(x, positions), letters


@lowering("cross")
def _cross(a: Any, b: Any) -> Any:
    a, b = together(a, b)
    shape = a.shape[:-1]

    def part(x: Any, i: int) -> Any:
        return reshaped(block(x, x.ndim - 1, i % 3, 1), shape)

    parts = [p.sub(p.mul(part(a, i + 1), part(b, i + 2)), p.mul(part(a, i + 2), part(b, i + 1))) for i in range(3)]
    stacked = p.stack(*parts)
    return p.permute(stacked, [*range(1, stacked.ndim), 0]) if stacked.ndim > 1 else stacked
