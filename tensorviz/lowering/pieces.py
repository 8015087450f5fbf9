"""What lowerings have in common: operands brought to one shape, reductions over any axes, sums of products, elements picked by position. Imports primitives."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorviz import primitives as p
from tensorviz.engine.graph import frozen, leaf
from tensorviz.engine.tensor import Tensor, handle
from tensorviz.errors import LoweringError

Shape = tuple[int, ...]

MOST = 2**24
"""Elements of the largest value that a lowering may make: 128 MiB of float64. A product of matrices is written out in full here."""

FEW = 8
"""Positions up to which elements are picked one by one, with index and stack; more of them by comparing positions."""


def constant(value: Any) -> Tensor:
    """A constant whose uses are recorded, so that a picture shows how it comes in."""
    node = leaf(frozen(np.array(value)))
    node.more().tracked = True
    node.forget_place()
    return handle(node)


def is_number(x: Any) -> bool:
    return not isinstance(x, Tensor)


def tensor(x: Any, like: Any = None) -> Any:
    """A Python number as a constant, in the dtype of another operand."""
    if isinstance(x, Tensor):
        return x
    return constant(np.asarray(x, dtype=None if like is None or not isinstance(like, Tensor) else np.result_type(like.dtype, x)))


def fits(shape: Shape) -> Shape:
    """The shape, unless a value of it would be too large."""
    if math.prod(shape) > MOST:
        raise LoweringError(
            f"written in primitives it would make a value of shape {shape}, {math.prod(shape)} elements, more than {MOST}; take a smaller example"
        )
    return shape


def expanded(x: Any, shape: Shape) -> Any:
    return x if is_number(x) or x.shape == shape else p.expand(x, fits(shape))


def reshaped(x: Any, shape: Shape) -> Any:
    return x if x.shape == shape else p.reshape(x, shape)


def permuted(x: Any, order: Sequence[int]) -> Any:
    return x if list(order) == list(range(x.ndim)) else p.permute(x, order)


def together(*xs: Any) -> tuple[Any, ...]:
    """The operands expanded to their common shape; numbers stay what they are."""
    shape = np.broadcast_shapes(*[x.shape for x in xs if not is_number(x)])
    return tuple([expanded(x, shape) for x in xs])


def each(axis: Any, ndim: int) -> Shape:
    """The axes one by one, none negative; None means all."""
    if axis is None:
        return tuple(range(ndim))
    return tuple([i % ndim for i in ((axis,) if isinstance(axis, int) else axis)])


def kept(shape: Shape, axes: Shape) -> Shape:
    """The shape with those axes at size 1."""
    return tuple([1 if i in axes else n for i, n in enumerate(shape)])


def over(x: Any, how: str, axis: Any, keepdims: bool = False) -> Any:
    """A reduction over any axes: those to the front, then popped."""
    axes = each(axis, x.ndim)
    if axes:
        rest = tuple([i for i in range(x.ndim) if i not in axes])
        found = p.reduce(permuted(x, axes + rest), how, pop=len(axes))
    else:
        found = x
    return reshaped(found, kept(x.shape, axes)) if keepdims else found


def total(x: Any, axis: Any, keepdims: bool = False) -> Any:
    return over(x, "add", axis, keepdims)


def greatest(x: Any, axis: Any, keepdims: bool = False) -> Any:
    return over(x, "max", axis, keepdims)


def count(shape: Shape, axis: Any) -> int:
    return math.prod([shape[i] for i in each(axis, len(shape))])


def divided(x: Any, n: float) -> Any:
    """``x / n``, and NaN where n is 0."""
    return p.div(x, float(n)) if n else p.mul(x, float("nan"))


def average(x: Any, axis: Any, keepdims: bool = False) -> Any:
    return divided(total(x, axis, keepdims), count(x.shape, axis))


def product(x: Any, axis: Any, keepdims: bool = False) -> Any:
    """The product over axes by multiplying one half with the other, since reduce mul has no gradient."""
    axes = each(axis, x.ndim)
    if not axes:
        return x
    rest = tuple([i for i in range(x.ndim) if i not in axes])
    rows = permuted(x, axes + rest)
    rows = reshaped(rows, (count(x.shape, axes), *[x.shape[i] for i in rest]))
    tail = rows.shape[1:]
    if rows.shape[0] == 0:
        found = p.add(p.reduce(rows), 1.0)
    else:
        while rows.shape[0] > 1:
            n = rows.shape[0] // 2
            left, right = block(rows, 0, 0, n), block(rows, 0, n, n)
            halves = p.mul(left, right)
            rows = halves if rows.shape[0] == 2 * n else joined([halves, block(rows, 0, 2 * n, 1)], 0)
        found = reshaped(rows, tail)
    return reshaped(found, kept(x.shape, axes)) if keepdims else found


def lined(x: Any, shape: Shape) -> Any:
    """A reduced value, its axes kept at size 1, beside the operand again."""
    return expanded(x, shape)


# ---- parts of an array, and parts joined ------------------------------------------------------------------------


def block(x: Any, axis: int, start: int, size: int) -> Any:
    """``size`` elements along one axis, from ``start`` on."""
    if start == 0 and size == x.shape[axis]:
        return x
    offsets = [0] * x.ndim
    offsets[axis] = start
    return p.shrink(x, offsets, tuple([size if i == axis else n for i, n in enumerate(x.shape)]))


def joined(parts: Sequence[Any], axis: int) -> Any:
    """Arrays one behind the other along an axis that they have: each padded to the full length, then added."""
    sizes = [x.shape[axis] for x in parts]
    filled = [(x, sum(sizes[:i])) for i, x in enumerate(parts) if x.shape[axis] or len(parts) == 1]
    if not filled:
        return parts[0]
    found: Any = None
    for x, start in filled:
        pads = [0] * (2 * axis) + [start, sum(sizes) - start - x.shape[axis]]
        padded = p.pad(x, pads) if any(pads) else x
        found = padded if found is None else p.add(found, padded)
    return found


def front(x: Any, axis: int) -> Any:
    """One axis moved to the front."""
    return permuted(x, [axis, *[i for i in range(x.ndim) if i != axis]])


def back(x: Any, axis: int) -> Any:
    """The first axis moved to a place."""
    order = list(range(1, x.ndim))
    order.insert(axis, 0)
    return permuted(x, order)


def taken(x: Any, axis: int, positions: Any) -> Any:
    """Elements along one axis at positions, which may be an array or a Tensor of any shape; it takes the axis's place."""
    rows = front(x, axis)
    n, rest = rows.shape[0], rows.shape[1:]
    where = np.asarray(positions)
    if is_number(positions) and where.size <= FEW and where.size:
        found = reshaped(p.stack(*[p.index(rows, int(j)) for j in where.reshape(-1)]), (*where.shape, *rest))
    else:
        found = _compared(rows, positions, where, n, rest)
    order = list(range(where.ndim, where.ndim + axis)) + list(range(where.ndim)) + list(range(where.ndim + axis, found.ndim))
    return permuted(found, order)


def _compared(rows: Any, positions: Any, where: Any, n: int, rest: Shape) -> Any:
    """Position by position: where it is the wanted one the element, elsewhere 0; then the sum over all."""
    if is_number(positions):
        positions = constant(np.where(where < 0, where + n, where))
    elif (where < 0).any():
        positions = p.where(p.compare(positions, 0, "<"), p.add(positions, n), positions)
    full = fits((n, *where.shape, *rest))
    spread = (1,) * len(rest)
    numbers = expanded(p.reshape(constant(np.arange(n)), (n, *(1,) * where.ndim)), (n, *where.shape))
    hits = p.compare(numbers, expanded(reshaped(positions, (1, *where.shape)), (n, *where.shape)))
    chosen = p.where(expanded(reshaped(hits, (n, *where.shape, *spread)), full), expanded(reshaped(rows, (n, *(1,) * where.ndim, *rest)), full), 0)
    return p.reduce(chosen)


def picked(x: Any, positions: Any) -> Any:
    """Elements of the flattened ``x`` at an array of positions, 0 where the position is -1."""
    positions = np.asarray(positions)
    flat = reshaped(x, (math.prod(x.shape),))
    if flat.shape[0] == 0:
        flat = p.pad(flat, [0, 1])  # there is nothing to pick but the zero for -1
    if not positions.size:
        found = p.shrink(flat, (0,), (0,))
        return reshaped(found, positions.shape)
    if (positions < 0).any():
        inside = positions >= 0
        return p.where(constant(inside), taken(flat, 0, np.where(inside, positions, 0)), 0)
    return taken(flat, 0, positions)


def strided(x: Any, axis: int, start: int, step: int, size: int) -> Any:
    """``size`` elements along an axis, every ``step``-th from ``start`` on: a block, cut into rows of ``step``, of which the first column stays."""
    if step == 1 or size <= 1:
        return block(x, axis, start, size)
    missing = start + size * step - x.shape[axis]
    if missing > 0:
        x = p.pad(x, [0] * (2 * axis) + [0, missing])
    cut = block(x, axis, start, size * step)
    rows = p.reshape(cut, (*cut.shape[:axis], size, step, *cut.shape[axis + 1 :]))
    return p.reshape(block(rows, axis + 1, 0, 1), (*cut.shape[:axis], size, *cut.shape[axis + 1 :]))


def unstrided(x: Any, axis: int, start: int, step: int, full: int) -> Any:
    """The other way: zeros of size ``full`` along an axis with the elements at every ``step``-th place from ``start`` on."""
    size = x.shape[axis]
    if step > 1 and size > 1:
        rows = p.pad(p.reshape(x, (*x.shape[: axis + 1], 1, *x.shape[axis + 1 :])), [0] * (2 * axis + 2) + [0, step - 1])
        x = p.reshape(rows, (*x.shape[:axis], size * step, *x.shape[axis + 1 :]))
        x = block(x, axis, 0, (size - 1) * step + 1)
    left, right = start, full - start - x.shape[axis]
    return p.pad(x, [0] * (2 * axis) + [left, right]) if left or right else x


# ---- sums of products -------------------------------------------------------------------------------------------


def contracted(operands: Sequence[Any], terms: Sequence[str], output: str) -> Any:
    """The sum of products over named axes, as einsum has it; no letter stands twice in one term.

    Each operand gets an axis for every letter (permute, reshape), is repeated along those that it had not (expand); they are multiplied,
    and the letters that the result has not are summed (permute, reduce).
    """
    letters = list(dict.fromkeys("".join(terms)))
    size = dict.fromkeys(letters, 1)
    for x, term in zip(operands, terms, strict=True):
        for c, n in zip(term, x.shape, strict=True):
            size[c] = n if size[c] == 1 else size[c]
    full = tuple([size[c] for c in letters])
    found: Any = None
    for x, term in zip(operands, terms, strict=True):
        own = [c for c in letters if c in term]
        x = permuted(x, [term.index(c) for c in own])
        x = reshaped(x, tuple([x.shape[own.index(c)] if c in own else 1 for c in letters]))
        x = expanded(x, full)
        found = x if found is None else p.mul(found, x)
    summed = [i for i, c in enumerate(letters) if c not in output]
    rest = [i for i, c in enumerate(letters) if c in output]
    if summed:
        found = p.reduce(permuted(found, summed + rest), "add", pop=len(summed))
    names = [letters[i] for i in rest]
    return permuted(found, [names.index(c) for c in output])
