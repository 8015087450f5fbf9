"""Vector norms. Imports the engine's op base only."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorviz.arguments import shown
from tensorviz.engine.op import REGISTRY, Op, expose
from tensorviz.errors import DTypeError, ShapeError
from tensorviz.ops.axes import Axis, divided, over, restored
from tensorviz.ops.operands import as_array, floating
from tensorviz.ops.origin import unit
from tensorviz.ops.reduction import CALLS
from tensorviz.ops.samples import Examples, distinct

__all__ = ["norm"]


def _norm(a: Any, axis: Axis = None, ord: float = 2, keepdims: Any = False) -> Any:
    size = np.abs(a)
    if ord == 1:
        return np.add.reduce(size, axis=axis, keepdims=keepdims)
    if ord == np.inf:
        return np.maximum.reduce(size, axis=axis, keepdims=keepdims, initial=0)
    if ord == -np.inf:
        return np.minimum.reduce(size, axis=axis, keepdims=keepdims)
    if ord == 2:
        return np.sqrt(np.add.reduce(size * size, axis=axis, keepdims=keepdims))
    return np.add.reduce(size**ord, axis=axis, keepdims=keepdims) ** (1 / ord)


def _norm_rule(g: Any, a: Any, out: Any, axis: Axis, ord: float, keepdims: bool) -> Any:
    g, out = restored(g, axis, keepdims), restored(out, axis, keepdims)
    if ord == 1:
        return g * np.sign(a)
    if ord in (np.inf, -np.inf):
        chosen = np.abs(a) == out
        ties = np.sum(chosen, axis=axis, keepdims=True)
        return np.where(chosen, divided(g, np.where(ties == 0, 1, ties)) * np.sign(a), 0)
    # Every norm has a kink at the origin; 0 is taken there, as for |a|.
    if ord == 2:
        return g * unit(a, out)
    size = np.abs(a / np.where(out == 0, 1, out))
    return g * (np.sign(a) * np.where(size == 0, 0, np.where(size == 0, 1, size) ** (ord - 1)))


class _Norm(Op):
    """The vector norm over some or all axes. Its gradient is 0 at the origin."""

    name, label, word, slots = "norm", "‖a‖", "scales", ("a",)
    forward = staticmethod(_norm)
    vjps = (_norm_rule,)
    formulas = ("g * sign(a) * (abs(a) / out) ** (ord - 1)",)

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        # sizes that differ, so that the largest and the smallest are no ties
        return [
            ((np.abs(distinct(rng, s)) * rng.choice([-1.0, 1.0], s) * 1.3 + 0.05,), {"axis": axis, "ord": p, "keepdims": keep})
            for s, axis, keep in CALLS
            for p in (1, 2, np.inf, 3)
        ]


@expose(numpy=[np.linalg.norm], method="norm")
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """The vector norm of order ``ord`` (a number, ±inf; None is 2; 0 counts the elements that are not 0, without a gradient) over ``axis`` (int, tuple, or None for all).

    Its gradient is 0 at the origin; for ``ord=inf`` equally large elements share it evenly. Without an axis, None (or ``"fro"``) takes the
    root of the sum of all squares of any shape. Over two axes ``ord`` is that of a matrix: "fro", "nuc" (the sum of the singular values), ±1, ±2, ±inf.

    >>> norm(np.array([[3.0, 4.0], [6.0, 8.0]]), axis=1)
    array([ 5., 10.])
    """
    axis = over(x, axis)
    if isinstance(axis, tuple) and len(axis) == 1:
        axis = axis[0]
    axes = len(axis) if isinstance(axis, tuple) else 1 if axis is not None else np.ndim(x)
    if ord == "fro" and axes == 2:
        ord = None
    if ord is not None and axes == 2:
        from tensorviz.ops.products import matrix_norm  # which few programs need

        return matrix_norm(x, ord, axis if isinstance(axis, tuple) else (0, 1), bool(keepdims))
    if isinstance(ord, str) or (ord is not None and axes > 2):
        raise ShapeError(
            f"norm: ord={ord!r} over {axes} axes of shape {np.shape(x)} is no norm; matrices have two axes, vectors one. Give axis=, or leave ord out for the root of the sum of squares"
        )
    if ord is not None and not isinstance(ord, (int, float, np.number)):
        raise DTypeError(f"norm: ord must be a number, inf, -inf or None, got {shown(ord)}")
    if ord == 0:
        x = as_array(x)
        return np.sum(np.not_equal(x, 0), axis=axis, keepdims=bool(keepdims)).astype(x.dtype if x.dtype.kind == "f" else float)
    return REGISTRY["norm"](
        floating(as_array(x)),
        axis=axis,
        ord=2 if ord is None else ord if ord in (np.inf, -np.inf) else float(ord) if ord != int(ord) else int(ord),
        keepdims=bool(keepdims),
    )
