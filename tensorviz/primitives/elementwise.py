"""Primitives on elements of one place: add, mul, max, compare, cast and their kin. They do not broadcast: expand first. Imports the engine and the ops.

Apart from ``max``, whose gradient is spelled out here, they are the package's own ops; what is refused is the broadcasting.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorviz.arguments import dtype_of, one_of
from tensorviz.engine.graph import check_dtype
from tensorviz.engine.op import REGISTRY, Op, apply
from tensorviz.engine.tensor import Tensor
from tensorviz.errors import ShapeError
from tensorviz.ops.samples import Examples, distinct
from tensorviz.primitives.operands import as_array

__all__ = ["add", "cast", "compare", "div", "max", "mul", "neg", "stop", "sub", "where"]


def is_number(x: Any) -> bool:
    """Whether an operand is a plain number, which may stand for an array of any shape: Python's, NumPy's, or a constant without axes."""
    if isinstance(x, Tensor):
        node = x._current()
        return node.op is None and not node.tracked and node.value.ndim == 0
    return isinstance(x, (bool, int, float, np.generic))


def not_a_number(x: Any) -> bool:
    """Whether some element of a value is NaN."""
    value = np.asarray(x)
    return value.dtype.kind == "f" and bool(np.isnan(value).any())


def _same_shapes(what: str, given: tuple[Any, ...]) -> tuple[Any, ...]:
    """The operands, all of one shape; a number stands for an array of that shape."""
    found = tuple([x if is_number(x) else as_array(x) for x in given])
    shapes = [x.shape for x in found if not is_number(x)]
    if any(s != shapes[0] for s in shapes):
        raise ShapeError(
            f"{what}: the operands have shapes {', '.join(map(str, shapes))}; primitives do not broadcast, so expand them to one shape first"
        )
    return found


def add(a: Any, b: Any) -> Any:
    """``a + b`` of one shape (or a number). Gradient: g, to both.

    Raises ShapeError where the shapes differ: expand one first.

    >>> add(np.array([1.0, 2.0]), np.array([10.0, 20.0])).tolist()
    [11.0, 22.0]
    """
    return apply(REGISTRY["add"], _same_shapes("add", (a, b)), {})


def sub(a: Any, b: Any) -> Any:
    """``a - b`` of one shape (or a number). Gradient: g, and -g.

    >>> sub(np.array([1.0, 2.0]), 1.0).tolist()
    [0.0, 1.0]
    """
    return apply(REGISTRY["sub"], _same_shapes("sub", (a, b)), {})


def mul(a: Any, b: Any) -> Any:
    """``a * b`` of one shape (or a number). Gradient: ``mul(g, b)`` and ``mul(g, a)``.

    Raises ShapeError where the shapes differ: expand one first.

    >>> mul(np.array([1.0, 2.0]), np.array([10.0, 20.0])).tolist()
    [10.0, 40.0]
    """
    return apply(REGISTRY["mul"], _same_shapes("mul", (a, b)), {})


def div(a: Any, b: Any) -> Any:
    """``a / b`` of one shape (or a number). Gradient: ``div(g, b)`` and ``-g * out / b``.

    >>> div(np.array([1.0, 2.0]), 4.0).tolist()
    [0.25, 0.5]
    """
    return apply(REGISTRY["div"], _same_shapes("div", (a, b)), {})


def neg(x: Any) -> Any:
    """``-x``. Gradient: ``neg(g)``.

    >>> neg([1.0, -2.0]).tolist()
    [-1.0, 2.0]
    """
    return apply(REGISTRY["neg"], (as_array(x),), {})


def _max_share(g: Any, a: Any, b: Any) -> Any:
    """hits * g / count: g where ``a`` is chosen, half of it at a tie."""
    ours, theirs = (_hit(g, x, y) for x, y in ((a, b), (b, a)))
    return div(mul(ours, g), add(ours, theirs))


def _hit(g: Any, x: Any, other: Any) -> Any:
    if is_number(x) and not is_number(other):
        return cast(compare(other, x, "<="), g.dtype)
    hit = cast(compare(x, other, ">="), g.dtype)
    # a NaN is chosen before any number, and no comparison holds for it
    return max(hit, cast(compare(x, x, "!="), g.dtype)) if not_a_number(x) else hit


class MaxOfTwo(Op):
    """The greater of two, element by element. Ties split evenly."""

    name, label, word, slots, broadcasts = "max_of_two", "max", "routes", ("a", "b"), True
    forward = np.maximum
    formulas = ("hits * g / count, where hits = cast(a >= b)", "hits * g / count, where hits = cast(b >= a)")
    vjps = (_max_share, lambda g, a, b: _max_share(g, b, a))
    routes = (lambda a, b: _chosen(a, b), lambda a, b: _chosen(b, a))

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        shapes: tuple[tuple[int, ...], ...] = ((), (4,), (2, 3), (0, 2))
        both = [(distinct(rng, (2, *s)), s) for s in shapes]
        return [*(((x[0].reshape(s)[()], x[1].reshape(s)[()]), {}) for x, s in both), ((both[2][0][0], 0.05), {})]


def _chosen(a: Any, b: Any) -> Any:
    ours, theirs = (a >= b) | (a != a), (b >= a) | (b != b)
    return np.where(ours, np.where(theirs, 0.5, 1.0), 0.0)


def max(a: Any, b: Any) -> Any:
    """The greater of two of one shape (or a number), element by element. Gradient: ``hits * g / count``, half each at a tie.

    Raises ShapeError where the shapes differ: expand one first.

    >>> max(np.array([1.0, 5.0]), 2.0).tolist()
    [2.0, 5.0]
    """
    return apply(REGISTRY["max_of_two"], _same_shapes("max", (a, b)), {})


COMPARISONS = {"==": "equal", "!=": "not_equal", "<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal"}


def compare(a: Any, b: Any, op: str = "==") -> Any:
    """Whether ``a op b`` holds, element by element, as truth values; ``op`` is one of == != < <= > >=. No gradient.

    Raises ShapeError where the shapes differ: expand one first.

    >>> compare(np.array([1.0, 5.0]), 2.0, ">").tolist()
    [False, True]
    """
    one_of("compare", "op", op, COMPARISONS)
    return apply(REGISTRY[COMPARISONS[op]], _same_shapes("compare", (a, b)), {})


def cast(x: Any, dtype: Any) -> Any:
    """The same values in another dtype (True becomes 1.0). Gradient: cast back; none for whole numbers and truth values.

    >>> cast(np.array([True, False]), float).tolist()
    [1.0, 0.0]
    """
    x, kind = as_array(x), dtype_of("cast", dtype)
    check_dtype(kind, "cast")
    return x if isinstance(x, Tensor) and x.dtype == kind else apply(REGISTRY["astype"], (x,), {"dtype": kind.name})


def where(condition: Any, a: Any, b: Any) -> Any:
    """``a`` where the condition holds, ``b`` elsewhere, all of one shape (or numbers). Gradient: ``where(condition, g, 0)`` and ``where(condition, 0, g)``.

    Unlike a product with a mask it lets no NaN through from the side that was not chosen.

    >>> where(np.array([True, False]), np.array([1.0, 2.0]), 0.0).tolist()
    [1.0, 0.0]
    """
    return apply(REGISTRY["where"], _same_shapes("where", (condition, a, b)), {})


class Stop(Op):
    """The same values, through which no gradient goes."""

    name, slots, differentiable = "stop", ("x",), False

    @staticmethod
    def forward(x: Any) -> Any:
        return x


def stop(x: Any) -> Any:
    """``x`` as a value that counts as constant: no gradient goes through it, and unlike with ``detach`` the graph still shows where it came from.

    >>> stop(np.array([1.0, 2.0])).tolist()
    [1.0, 2.0]
    """
    return apply(REGISTRY["stop"], (as_array(x),), {})
