"""einsum: any sum of products over named axes, and its rule, which is an einsum again. Must not import the trace or the views."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from tensorviz.arguments import shown
from tensorviz.engine.op import REGISTRY, Op, apply, expose
from tensorviz.errors import DTypeError, ShapeError
from tensorviz.ops.indexing import index_add
from tensorviz.ops.operands import as_array, index, refuse_out
from tensorviz.ops.samples import Examples

__all__ = ["einsum"]

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""What names an axis."""


Plan = tuple[tuple[str, ...], str]
"""A subscripts string taken apart for given numbers of axes: the operands' letters and the result's. Every axis has one, also those behind an ellipsis."""


@lru_cache(maxsize=512)
def plan(subscripts: str, ndims: tuple[int, ...]) -> Plan:
    """Letters for every axis of every operand and of the result.

    >>> plan("...ij,jk", (3, 2))
    (('Zij', 'jk'), 'Zik')
    """
    text = subscripts.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(ndims):
        raise ShapeError(f"einsum: {subscripts!r} names {len(terms)} operand(s), got {len(ndims)}")
    for term in [*terms, right]:
        if set(term.replace("...", "")) - set(_LETTERS):
            raise ShapeError(f"einsum: {subscripts!r}: the subscripts {term!r} hold something other than letters and one '...'")
    spare = [c for c in reversed(_LETTERS) if c not in text]
    widest = 0
    for term, ndim in zip(terms, ndims, strict=True):
        named = len(term.replace("...", ""))
        if named > ndim or (named < ndim and "..." not in term):
            raise ShapeError(
                f"einsum: {subscripts!r}: the subscripts {term!r} name {named} axes, but the operand has {ndim}; write '...' for axes without a name"
            )
        widest = max(widest, ndim - named)
    if widest > len(spare):
        raise ShapeError(f"einsum: {subscripts!r}: more axes than there are letters")
    dots = "".join(spare[:widest])
    inputs = tuple(
        [
            term.replace("...", dots[len(dots) - (ndim - len(term.replace("...", ""))) :] if "..." in term else "")
            for term, ndim in zip(terms, ndims, strict=True)
        ]
    )
    if arrow:
        output = right.replace("...", dots)
    else:
        # implicit: the axes behind '...', then every letter that occurs once, in the alphabet's order
        output = dots + "".join(sorted(c for c in set(left) - set(".,") if left.count(c) == 1))
    known = set("".join(inputs))
    if len(set(output)) < len(output) or set(output) - known:
        raise ShapeError(f"einsum: {subscripts!r}: each axis of the result stands there once and belongs to an operand")
    return inputs, output


class Einsum(Op):
    """A sum of products over named axes."""

    name = "einsum"
    word = "contracts with the others"
    slots = ("*xs",)
    broadcasts = True
    formulas = ("einsum of g and the other operands, back to this operand's axes",)
    source = "the gradient of a sum of products is a sum of products; Laue, Mitterreiter and Giesen 2020, A Simple and Efficient Tensor Calculus"

    @staticmethod
    def forward(*xs: Any, subscripts: str, optimize: Any = False) -> Any:
        return np.einsum(subscripts, *xs, optimize=optimize)

    @staticmethod
    def _back(g: Any, slot: int, others: Any, shapes: Any, subscripts: str, optimize: Any) -> Any:
        inputs, output = plan(subscripts, tuple([len(s) for s in shapes]))
        own = inputs[slot]
        letters = "".join(dict.fromkeys(own))
        terms = [output, *[t for j, t in enumerate(inputs) if j != slot]]
        there = set("".join(terms))
        share = np.einsum(
            f"{','.join(terms)}->{''.join([c for c in letters if c in there])}", g, *[x for x in others if x is not None], optimize=optimize
        )
        # an axis that was summed by itself: every element along it gets the same
        size = _sizes(inputs, shapes)
        for position, c in enumerate(letters):
            if c not in there:
                share = np.expand_dims(share, position)
        grown = tuple([size[c] for c in letters])
        if share.shape != grown:
            share = np.broadcast_to(share, grown)
        if letters == own:
            return share
        # a letter twice: only the diagonal was read
        shape = tuple([size[c] for c in own])
        mesh = np.ix_(*[np.arange(size[c]) for c in letters])
        return index_add(share, tuple([mesh[letters.index(c)] for c in own]), shape)

    vjps = (_back,)

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        a, b, s = rng.standard_normal((2, 3)), rng.standard_normal((3, 4)), rng.standard_normal((3, 3))
        deep = rng.standard_normal((2, 1, 3))
        return [
            ((a, b), {"subscripts": "ij,jk->ik"}),
            ((a, b), {"subscripts": "ij,jk"}),
            ((a,), {"subscripts": "ba"}),
            ((a,), {"subscripts": "ij->"}),
            ((a,), {"subscripts": "ij->j"}),
            ((s,), {"subscripts": "ii->"}),
            ((s,), {"subscripts": "ii->i"}),
            ((a, s), {"subscripts": "nd,dd->n"}),
            ((a, a, s), {"subscripts": "ni,nj,ij->n"}),
            ((deep, rng.standard_normal((4, 3))), {"subscripts": "b...i,...i->b..."}),
            ((a[0, 0], b), {"subscripts": ",ij->ji"}),
            ((a[:0], b), {"subscripts": "ij,jk->k"}),
            ((a[:1], a), {"subscripts": "ij,ij->ij"}),
        ]


def _sizes(inputs: Sequence[str], shapes: Sequence[tuple[int, ...]]) -> dict[str, int]:
    """The size of every letter: where one operand has 1 it is repeated."""
    size: dict[str, int] = {}
    for term, shape in zip(inputs, shapes, strict=True):
        for c, n in zip(term, shape, strict=True):
            if size.get(c, 1) == 1:
                size[c] = n
    return size


@expose(numpy=[np.einsum])
def einsum(subscripts: Any, *operands: Any, out: Any = None, optimize: Any = False, **kwargs: Any) -> Any:
    """The sum of products that ``subscripts`` names: ``"ij,jk->ik"``, implicit output, repeated letters (diagonals) and ``...`` as in NumPy.

    Takes NumPy's other form too: ``einsum(a, [0, 1], b, [1, 2], [0, 2])``. Raises ShapeError where letters and axes do not fit.
    Rule: the gradient takes the operand's place in the sum; where a letter occurs twice only the diagonal receives.

    >>> einsum("ii->", np.array([[1.0, 2.0], [3.0, 4.0]])).item()
    5.0
    """
    refuse_out(out)
    refused = {k: v for k, v in kwargs.items() if (k, v) not in (("dtype", None), ("order", "K"), ("casting", "safe"))}
    if refused:
        raise DTypeError(f"einsum on a Tensor takes no {', '.join(sorted(refused))}=; change the dtype of the operands with astype")
    if not isinstance(subscripts, str):
        subscripts, operands = _as_text((subscripts, *operands))
    arrays = [as_array(x) for x in operands]
    plan(subscripts, tuple([x.ndim for x in arrays]))
    params: dict[str, Any] = {"subscripts": subscripts}
    if optimize is not False:
        params["optimize"] = optimize
    return apply(REGISTRY["einsum"], arrays, params)


def _as_text(given: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    """NumPy's form with lists of numbers, written with letters."""

    def _term(numbers: Any) -> str:
        if not isinstance(numbers, (list, tuple)):
            raise DTypeError(
                f"einsum: the axes of an operand are named by a list of whole numbers, as in einsum(a, [0, 1], b, [1, 2]), got {shown(numbers)}"
            )
        named = [-1 if n is Ellipsis else index("the name of an axis", n) for n in numbers]
        if any(n is not Ellipsis and not 0 <= i < len(_LETTERS) for n, i in zip(numbers, named, strict=True)):
            raise ShapeError(f"einsum: axes are named by the whole numbers 0 to {len(_LETTERS) - 1}, got {shown(numbers)}")
        return "".join(["..." if n is Ellipsis else _LETTERS[i] for n, i in zip(numbers, named, strict=True)])

    if len(given) < 2:
        raise DTypeError(f"einsum takes the subscripts first, as in einsum('ij,jk->ik', a, b), got {shown(given[0])}")
    operands = given[0 : len(given) // 2 * 2 : 2]
    text = ",".join([_term(s) for s in given[1::2]])
    return (f"{text}->{_term(given[-1])}" if len(given) % 2 else text), operands
