"""Lowerings of ops that move elements: reshape, permute, expand, pad and what is made of them. Imports primitives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorviz import primitives as p
from tensorviz.lowering.pieces import back, block, constant, each, expanded, joined, permuted, picked, reshaped, taken, total
from tensorviz.lowering.rules import RULES, lowering


def _again(function: Any) -> Any:
    """A primitive stays what it is."""

    def rule(*operands: Any, **params: Any) -> Any:
        return function(*operands, **params)

    return rule


RULES["permute"], RULES["stage"], RULES["expand"], RULES["index"], RULES["shrink"] = map(_again, (p.permute, p.stage, p.expand, p.index, p.shrink))
RULES["pad_zeros"], RULES["stack_front"] = _again(p.pad), _again(p.stack)
RULES["index_at"] = RULES["index"]


@lowering("shrink_at")
def _shrink_at(x: Any, offsets: Any, shape: Any) -> Any:
    return p.shrink(x, offsets, shape)


# ---- the same elements in another shape or order -----------------------------------------------------------------


@lowering("reshape")
def _reshape(a: Any, shape: Any, order: str = "C") -> Any:
    to = np.empty(a.shape).reshape(shape).shape if math.prod(a.shape) else tuple(np.reshape(np.empty(a.shape), shape).shape)
    if order == "C":
        return reshaped(a, to)
    # the first axis fastest: all axes reversed, reshaped to the reversed shape, reversed again
    return _reversed(reshaped(_reversed(a), to[::-1]))


def _reversed(a: Any) -> Any:
    return permuted(a, range(a.ndim)[::-1])


@lowering("ravel")
def _ravel(a: Any, order: str = "C") -> Any:
    return _reshape(a, (-1,) if math.prod(a.shape) else (0,), order)


@lowering("expand_dims")
def _expand_dims(a: Any, axis: Any) -> Any:
    return reshaped(a, np.expand_dims(np.empty(a.shape), axis).shape)


@lowering("squeeze")
def _squeeze(a: Any, axis: Any = None) -> Any:
    return reshaped(a, np.squeeze(np.empty(a.shape), axis).shape)


@lowering("transpose")
def _transpose(a: Any, axes: Any = None) -> Any:
    return permuted(a, range(a.ndim)[::-1] if axes is None else each(axes, a.ndim))


@lowering("swapaxes")
def _swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    order = list(range(a.ndim))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return permuted(a, order)


@lowering("moveaxis")
def _moveaxis(a: Any, source: Any, destination: Any) -> Any:
    # NumPy's own answer on an array whose sizes number the axes
    named = np.empty(tuple(range(1, a.ndim + 1)))
    return permuted(a, [n - 1 for n in np.moveaxis(named, source, destination).shape])


# ---- repeated ---------------------------------------------------------------------------------------------------


@lowering("broadcast_to")
def _broadcast_to(a: Any, shape: Any) -> Any:
    return expanded(a, tuple(shape))


@lowering("repeat")
def _repeat(a: Any, repeats: Any, axis: int) -> Any:
    if not isinstance(repeats, int):
        return taken(a, axis, np.repeat(np.arange(a.shape[axis]), repeats))
    before, n, after = a.shape[:axis], a.shape[axis], a.shape[axis + 1 :]
    rows = expanded(p.reshape(a, (*before, n, 1, *after)), (*before, n, repeats, *after))
    return p.reshape(rows, (*before, n * repeats, *after))


@lowering("tile")
def _tile(a: Any, reps: Any) -> Any:
    shape = (1,) * (len(reps) - a.ndim) + a.shape
    rows = p.reshape(a, tuple([k for n in shape for k in (1, n)]))
    rows = expanded(rows, tuple([k for pair in zip(reps, shape, strict=True) for k in pair]))
    return p.reshape(rows, tuple([r * n for r, n in zip(reps, shape, strict=True)]))


def _bordered(n: int, width: Any, mode: Any) -> Any:
    """Where each element of a bordered axis comes from."""
    return np.pad(np.arange(n), width, mode)


@lowering("pad")
def _pad(a: Any, pad_width: Any, mode: str = "constant", constant_values: Any = 0) -> Any:
    if mode != "constant":
        for axis, (n, width) in enumerate(zip(a.shape, pad_width, strict=True)):
            if any(width):
                a = taken(a, axis, _bordered(n, width, mode))
        return a
    pads = [n for pair in pad_width for n in pair]
    padded = p.pad(a, pads) if any(pads) else a
    if np.any(constant_values):
        border = np.pad(np.zeros(a.shape, a.dtype), pad_width, constant_values=constant_values)
        padded = p.add(padded, constant(border))
    return padded


# ---- in another order -------------------------------------------------------------------------------------------


@lowering("flip")
def _flip(a: Any, axis: Any = None) -> Any:
    for i in each(axis, a.ndim):
        if a.shape[i] > 1:
            a = taken(a, i, np.arange(a.shape[i])[::-1])
    return a


@lowering("roll")
def _roll(a: Any, shift: Any, axis: Any = None) -> Any:
    if axis is None:
        return reshaped(_roll(reshaped(a, (math.prod(a.shape),)), int(np.sum(shift)), 0), a.shape)
    axes = each(axis, a.ndim)
    shifts = (shift,) * len(axes) if isinstance(shift, int) else shift
    for i, by in zip(axes * len(shifts) if len(axes) == 1 else axes, shifts, strict=True):
        n = a.shape[i]
        by = by % n if n else 0
        if by:
            a = joined([block(a, i, n - by, by), block(a, i, 0, n - by)], i)
    return a


@lowering("sort")
def _sort(a: Any, axis: int = -1) -> Any:
    return _by_order(a, np.argsort(np.asarray(a), axis, kind="stable"), axis)


@lowering("partition")
def _partition(a: Any, kth: Any, axis: int = -1) -> Any:
    return _by_order(a, np.argpartition(np.asarray(a), kth, axis), axis)


def _by_order(a: Any, order: Any, axis: int) -> Any:
    return picked(a, np.take_along_axis(np.arange(math.prod(a.shape)).reshape(a.shape), order, axis))


@lowering("take_along_axis")
def _take_along_axis(a: Any, indices: Any, axis: int = -1) -> Any:
    return _by_order(a, np.asarray(indices), axis)


# ---- joined -----------------------------------------------------------------------------------------------------


@lowering("concatenate")
def _concatenate(*xs: Any, axis: int = 0) -> Any:
    return joined(xs, axis % xs[0].ndim)


@lowering("stack")
def _stack(*xs: Any, axis: int = 0) -> Any:
    stacked = p.stack(*xs)
    return back(stacked, axis % stacked.ndim)


# ---- diagonals and triangles ------------------------------------------------------------------------------------


@lowering("diagonal")
def _diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return picked(a, np.diagonal(np.arange(math.prod(a.shape)).reshape(a.shape), offset, axis1, axis2))


@lowering("trace")
def _trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return total(_diagonal(a, offset, axis1, axis2), -1)


@lowering("diag")
def _diag(v: Any, k: int = 0) -> Any:
    n = v.shape[0] + abs(k)
    positions = np.full((n, n), -1)
    positions[np.eye(n, k=k, dtype=bool)] = np.arange(v.shape[0])
    return picked(v, positions)


def _triangle(a: Any, k: int) -> Any:
    rows, columns = a.shape[-2:]
    return np.tri(rows, columns, k, dtype=bool)


@lowering("tril")
def _tril(a: Any, k: int = 0) -> Any:
    return p.where(constant(np.broadcast_to(_triangle(a, k), a.shape)), a, 0)


@lowering("triu")
def _triu(a: Any, k: int = 0) -> Any:
    return p.where(constant(np.broadcast_to(~_triangle(a, k - 1), a.shape)), a, 0)
