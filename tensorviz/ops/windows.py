"""Sliding windows over the last axes of an array, and their inverse, which adds what overlaps. Imports the engine's op base only.

Convolutions and pools are written with these two linear ops, each of which is the other's rule; so their gradients can be differentiated again.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorviz.engine.aliases import view
from tensorviz.engine.op import REGISTRY, Op, expose
from tensorviz.errors import OptionError, ShapeError
from tensorviz.ops.operands import as_array
from tensorviz.ops.samples import Examples

Sizes = tuple[int, ...]


def out_size(size: int, kernel: int, stride: int, padding: int, dilation: int) -> int:
    """How many windows fit along an axis.

    >>> out_size(5, kernel=3, stride=1, padding=0, dilation=1)
    3
    """
    return (size + 2 * padding - (kernel - 1) * dilation - 1) // stride + 1


def cut(a: Any, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, fill: float = 0.0) -> Any:
    """Windows of an array: shape (..., windows along each axis, kernel). A view where nothing is padded."""
    n, lead = len(kernel), np.ndim(a) - len(kernel)
    if any(padding):
        a = np.pad(a, [(0, 0)] * lead + [(p, p) for p in padding], constant_values=fill)
    extent = tuple((k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True))
    if a.size == 0:
        found = tuple(s - e + 1 for s, e in zip(a.shape[lead:], extent, strict=True))
        windows = np.zeros((*a.shape[:lead], *found, *extent), a.dtype)
    else:
        windows = np.lib.stride_tricks.sliding_window_view(a, extent, axis=tuple(range(lead, lead + n)))
    every = [slice(None)] * lead + [slice(None, None, s) for s in stride] + [slice(None, None, d) for d in dilation]
    return windows[tuple(every)]


def put_back(w: Any, size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Any:
    """Windows added up where they came from: the transpose of :func:`cut`."""
    n = len(size)
    lead, kernel = w.shape[: w.ndim - 2 * n], w.shape[w.ndim - n :]
    found = w.shape[w.ndim - 2 * n : w.ndim - n]
    total = np.zeros((*lead, *(s + 2 * p for s, p in zip(size, padding, strict=True))), w.dtype)
    every = [slice(None)] * len(lead)
    for offset in itertools.product(*map(range, kernel)):
        places = tuple(slice(i * d, i * d + s * (f - 1) + 1, s) for i, d, s, f in zip(offset, dilation, stride, found, strict=True))
        total[(*every, *places)] += w[(*every, *[slice(None)] * n, *offset)]
    return total[(*every, *(slice(p, p + s) for p, s in zip(padding, size, strict=True)))]


class _Windows(Op):
    """Sliding windows over the last axes."""

    name, word, slots = "windows", "gathers", ("a",)
    vjps = (
        lambda g, a_shape, stride, padding, dilation: REGISTRY["fold"](
            g, size=a_shape[len(a_shape) - len(stride) :], stride=stride, padding=padding, dilation=dilation
        ),
    )
    formulas = ("fold(g)",)

    @staticmethod
    def forward(a: Any, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Any:
        return cut(a, kernel, stride, padding, dilation)

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        one: dict[str, Any] = {"kernel": (2,), "stride": (1,), "padding": (0,), "dilation": (1,)}
        two: dict[str, Any] = {"kernel": (2, 3), "stride": (2, 1), "padding": (1, 0), "dilation": (1, 2)}
        return [((rng.normal(size=(2, 4)),), one), ((rng.normal(size=(1, 2, 3, 5)),), two), ((rng.normal(size=(0, 4)),), one)]


class _Fold(Op):
    """Windows added up where they came from."""

    name, word, slots = "fold", "spreads", ("a",)
    vjps = (
        lambda g, a_shape, stride, padding, dilation: REGISTRY["windows"](
            g, kernel=a_shape[len(a_shape) - len(stride) :], stride=stride, padding=padding, dilation=dilation
        ),
    )
    formulas = ("windows(g)",)

    @staticmethod
    def forward(a: Any, size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Any:
        return put_back(a, size, stride, padding, dilation)

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        one: dict[str, Any] = {"size": (4,), "stride": (1,), "padding": (0,), "dilation": (1,)}
        two: dict[str, Any] = {"size": (3, 5), "stride": (2, 1), "padding": (1, 0), "dilation": (1, 2)}
        return [((rng.normal(size=(2, 3, 2)),), one), ((rng.normal(size=(1, 2, 2, 1, 2, 3)),), two)]


@expose(numpy=[np.lib.stride_tricks.sliding_window_view])
def _sliding_window_view(x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False) -> Any:  # noqa: ARG001 - NumPy's signature
    """Every window of a shape along axes of ``x``; the axes of the windows come last. A read-only view, as in NumPy."""
    if writeable:
        raise OptionError(
            "sliding_window_view: one element lies in many windows, so writeable=True would change several at once; change a copy, made with .copy()"
        )
    x, kernel = as_array(x), tuple(np.atleast_1d(window_shape).tolist())
    axes = tuple(range(x.ndim)) if axis is None else tuple([a + x.ndim if a < 0 else a for a in np.atleast_1d(axis).tolist()])
    if len(kernel) != len(axes) or not all(0 <= a < x.ndim for a in axes):
        raise ShapeError(f"sliding_window_view: a window of shape {kernel} does not fit axes {axis} of shape {x.shape}; give one size for each axis")
    if any(k < 0 for k in kernel):
        raise ShapeError(f"sliding_window_view: the sizes of a window are not negative, got {kernel}")
    if len(set(axes)) < len(axes):  # of windows along an axis, windows along it once more
        for a, k in zip(axes, kernel, strict=True):
            x = _sliding_window_view(x, k, a)
        return x
    rest = [i for i in range(x.ndim) if i not in axes]
    order = (*rest, *axes)
    if order != tuple(range(x.ndim)):
        x = np.transpose(x, order)
    n = len(axes)
    ones, zeros = (1,) * n, (0,) * n
    for a, size, k in zip(axes, x.shape[len(rest) :], kernel, strict=True):
        if k > size:
            raise ShapeError(f"sliding_window_view: a window of {k} does not fit into the {size} elements of axis {a}")
    found = view(REGISTRY["windows"], x, {"kernel": kernel, "stride": ones, "padding": zeros, "dilation": ones}, None)
    moved = tuple(range(len(rest), x.ndim))
    return found if moved == axes else np.moveaxis(found, moved, axes)


def sizes(op: str, what: str, value: Any, n: int, least: int) -> Sizes:
    """An argument that is one int for all axes, or one per axis."""
    found = tuple(value) if isinstance(value, Sequence) and not isinstance(value, str) else (value,) * n
    if len(found) != n or not all(isinstance(v, (int, np.integer)) and v >= least for v in found):
        raise ShapeError(f"{op}: {what} is an int of at least {least}, or {n} of them, got {value!r}")
    return tuple(int(v) for v in found)


def check_fit(op: str, shape: tuple[int, ...], kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> None:
    """Raise unless at least one window fits along every axis."""
    for axis, parts in enumerate(zip(shape[-len(kernel) :], kernel, stride, padding, dilation, strict=True)):
        if out_size(*parts) < 1:
            size, k, _, p, d = parts
            raise ShapeError(
                f"{op}: a window of {(k - 1) * d + 1} does not fit into {size + 2 * p} elements (axis {len(shape) - len(kernel) + axis} of shape {shape}, padding {p}); use a smaller kernel or more padding"
            )
