"""The bookkeeping of axes that gradients of primitives need: inverse orders, summed axes, pads. Imports errors and the record's own rule."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from tensorviz.arguments import shown
from tensorviz.axes import sum_axes
from tensorviz.errors import AxisError, DTypeError, ShapeError

Shape = tuple[int, ...]


def whole(what: str, given: Any) -> Shape:
    """Whole numbers as a tuple of ints; one number counts as a tuple of one. Raises TypeError that names the argument."""
    try:
        return (_index(given),)
    except TypeError:
        pass
    try:
        return tuple([_index(n) for n in given])
    except TypeError:
        raise DTypeError(f"{what} takes whole numbers, got {shown(given)}") from None


def _index(n: Any) -> int:
    if isinstance(n, bool):
        raise TypeError
    return operator.index(n)


def sizes(what: str, given: Any) -> Shape:
    """A shape as a tuple of ints. Raises ShapeError for a negative one."""
    found = whole(what, given)
    if any(n < 0 for n in found):
        raise ShapeError(f"{what} {found} has a negative size")
    return found


def inverse_order(order: Sequence[int]) -> Shape:
    """The order that undoes ``order``: ``inverse[order[k]] = k``. The gradient of ``permute(x, order)`` is permuted by it.

    Raises AxisError where ``order`` does not name every axis from 0 once.

    >>> inverse_order([2, 0, 1])
    (1, 2, 0)
    """
    found = full_order("inverse_order", order, None)
    back = [0] * len(found)
    for k, axis in enumerate(found):
        back[axis] = k
    return tuple(back)


def full_order(what: str, order: Any, ndim: int | None) -> Shape:
    """An order of all axes, as ints from 0; ``ndim`` None: as many as it names."""
    given = whole(f"{what}: order", order)
    count = len(given) if ndim is None else ndim
    found = tuple([i + count if -count <= i < 0 else i for i in given])
    if sorted(found) != list(range(count)):
        wanted = f"each of the axes 0 to {count - 1} once" if count else "no axis, since there is none"
        raise AxisError(f"{what}: order {given} must name {wanted}")
    return found


def summed_axes(from_shape: Sequence[int], to_shape: Sequence[int]) -> Shape:
    """The axes over which a gradient of ``from_shape`` is summed for an operand of ``to_shape`` that was expanded to it.

    Those that were prepended, and those where the operand has size 1 and the result does not. What is left is reshaped to ``to_shape``.
    Raises ShapeError where ``to_shape`` does not expand to ``from_shape``.

    >>> summed_axes((5, 3, 4, 1), (3, 1, 1)), summed_axes((5, 3, 4, 1), (5, 1, 4, 1))
    ((0, 2), (1,))
    """
    big, small = sizes("summed_axes: from_shape", from_shape), sizes("summed_axes: to_shape", to_shape)
    check_expands("summed_axes", small, big)
    return sum_axes(big, small)


def check_expands(what: str, shape: Shape, to: Shape) -> None:
    """Raise unless repeating turns ``shape`` into ``to``: every axis, counted from the last, is as long as there or has size 1."""
    if len(shape) > len(to):
        raise ShapeError(f"{what}: shape {shape} has {len(shape)} axes and cannot be expanded to {to}, which has {len(to)}; reshape it first")
    wrong = [i for i, (s, t) in enumerate(zip(reversed(shape), reversed(to), strict=False), 1) if s not in (1, t)]
    if wrong:
        i = wrong[0]
        raise ShapeError(
            f"{what}: shape {shape} cannot be expanded to {to}: its axis {-i} has size {shape[-i]}, expected 1{f' or {to[-i]}' if to[-i] != 1 else ''}"
        )


def pairs(what: str, pads: Any, ndim: int) -> tuple[tuple[int, int], ...]:
    """``[l0, r0, l1, r1, ...]`` as one pair per axis; axes that it does not reach are not padded."""
    given = whole(f"{what}: pads", pads)
    if len(given) % 2 or len(given) > 2 * ndim:
        raise ShapeError(f"{what}: pads {list(given)} must be [left, right] for each of at most {ndim} axes, one after the other")
    if any(n < 0 for n in given):
        raise ShapeError(f"{what}: pads {list(given)} must not be negative; cut off with shrink")
    found = [(given[2 * i], given[2 * i + 1]) if 2 * i < len(given) else (0, 0) for i in range(ndim)]
    return tuple(found)
