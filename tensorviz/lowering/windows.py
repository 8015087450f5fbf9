"""Lowerings of sliding windows, convolutions and pools: one block for each place in the kernel, stacked. Imports primitives."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from tensorviz import primitives as p
from tensorviz.lowering.pieces import constant, contracted, expanded, greatest, strided, total, unstrided
from tensorviz.lowering.rules import lowering
from tensorviz.ops.windows import Sizes, cut, out_size


def windows(a: Any, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, fill: float = 0.0) -> Any:
    """Shape (..., windows along each axis, kernel): for every place in the kernel a strided block of the padded array."""
    lead = a.ndim - len(kernel)
    found = tuple([out_size(*parts) for parts in zip(a.shape[lead:], kernel, stride, padding, dilation, strict=True)])
    pads = [0, 0] * lead + [n for q in padding for n in (q, q)]
    if any(pads):
        inside = np.pad(np.ones(a.shape, bool), list(zip(pads[::2], pads[1::2], strict=True)))
        a = p.pad(a, pads)
        if fill:
            a = p.where(constant(inside), a, fill)
    parts = []
    for offset in itertools.product(*map(range, kernel)):
        part = a
        for i, (o, d, s, f) in enumerate(zip(offset, dilation, stride, found, strict=True)):
            part = strided(part, lead + i, o * d, s, f)
        parts.append(part)
    stacked = p.stack(*parts)
    moved = p.permute(stacked, [*range(1, stacked.ndim), 0])
    return p.reshape(moved, (*moved.shape[:-1], *kernel))


@lowering("windows")
def _windows(a: Any, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Any:
    return windows(a, kernel, stride, padding, dilation)


@lowering("fold")
def _fold(a: Any, size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Any:
    n = len(size)
    lead, kernel = a.ndim - 2 * n, a.shape[a.ndim - n :]
    rows = p.reshape(a, (*a.shape[: a.ndim - n], math.prod(kernel)))
    rows = p.permute(rows, [rows.ndim - 1, *range(rows.ndim - 1)])
    padded = [s + 2 * q for s, q in zip(size, padding, strict=True)]
    found: Any = None
    for k, offset in enumerate(itertools.product(*map(range, kernel))):
        part = p.index(rows, k)
        for i, (o, d, s, full) in enumerate(zip(offset, dilation, stride, padded, strict=True)):
            part = unstrided(part, lead + i, o * d, s, full)
        found = part if found is None else p.add(found, part)
    if any(padding):
        found = p.shrink(found, [0] * lead + list(padding), (*found.shape[:lead], *size))
    return found


@lowering("conv1d", "conv2d")
def _convolution(x: Any, weight: Any, bias: Any = None, stride: Sizes = (), padding: Sizes = (), dilation: Sizes = (), groups: int = 1) -> Any:
    n = len(stride)
    cuts = windows(x, weight.shape[2:], stride, padding, dilation)
    places, kernel = "xy"[:n], "uv"[:n]
    batch, channels, outputs = x.shape[0], x.shape[1] // groups, weight.shape[0]
    found = cuts.shape[2 : 2 + n]
    if groups == 1:
        y = contracted((cuts, weight), (f"bc{places}{kernel}", f"oc{kernel}"), f"bo{places}")
    else:
        cuts = p.reshape(cuts, (batch, groups, channels, *cuts.shape[2:]))
        weights = p.reshape(weight, (groups, outputs // groups, *weight.shape[1:]))
        y = contracted((cuts, weights), (f"bgc{places}{kernel}", f"goc{kernel}"), f"bgo{places}")
        y = p.reshape(y, (batch, outputs, *found))
    return y if bias is None else p.add(y, expanded(p.reshape(bias, (outputs, *(1,) * n)), y.shape))


_INSIDE = (-2, -1)


@lowering("max_pool2d")
def _max_pool2d(a: Any, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Any:
    return greatest(windows(a, kernel, stride, padding, dilation, -np.inf), _INSIDE)


@lowering("avg_pool2d")
def _avg_pool2d(a: Any, kernel: Sizes, stride: Sizes, padding: Sizes, count_include_pad: bool = True) -> Any:
    sums = total(windows(a, kernel, stride, padding, (1, 1)), _INSIDE)
    if count_include_pad or not any(padding):
        return p.div(sums, float(math.prod(kernel)))
    counts = np.sum(cut(np.ones(a.shape[-2:], a.dtype), kernel, stride, padding, (1, 1)), axis=_INSIDE)
    return p.div(sums, expanded(constant(counts), sums.shape))
