"""Gradients made by hand against the recorded ones: exact, close, or how far off. Imports the record only."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorviz.arguments import mapping, shown
from tensorviz.axes import in_words
from tensorviz.checks.report import alarm
from tensorviz.errors import DTypeError, NodeLookupError
from tensorviz.trace import Array, Trace, TraceNode, one_line

RTOL, ATOL = 1e-5, 1e-8
"""What counts as close: the tolerances of np.allclose, which hand-written float64 gradients meet easily."""


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """One gradient made by hand against the recorded one."""

    name: str
    node: int
    shape: tuple[int, ...]
    """Of the recorded gradient."""
    exact: bool
    """Bit for bit."""
    close: bool
    difference: float
    """The largest absolute difference; NaN where there is nothing to subtract."""
    index: tuple[int, ...] | None
    """Where it is."""
    note: str
    """What stands out: a wrong shape, a factor, a transpose, NaN."""


class ComparisonTable:
    """The rows of a comparison; true where all are close. A table in notebooks and terminals."""

    def __init__(self, rows: tuple[ComparisonRow, ...]) -> None:
        self.rows = rows

    @property
    def ok(self) -> bool:
        """Every gradient is close."""
        return all(r.close for r in self.rows)

    def __bool__(self) -> bool:
        return self.ok

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[ComparisonRow]:
        return iter(self.rows)

    def __getitem__(self, name: str) -> ComparisonRow:
        for row in self.rows:
            if row.name == name:
                return row
        raise NodeLookupError(f"{name!r} was not compared. Names: {', '.join(r.name for r in self.rows)}")

    _HEAD = ("gradient of", "shape", "exact", "close", "max difference", "at", "note")

    def _lines(self) -> list[tuple[str, ...]]:
        yes = {True: "yes", False: "NO"}
        return [
            (
                one_line(r.name),
                str(r.shape),
                yes[r.exact] if r.exact else "no",
                yes[r.close],
                "" if np.isnan(r.difference) else format(r.difference, ".3g"),
                "" if r.index is None else str(list(r.index)),
                r.note,
            )
            for r in self.rows
        ]

    @property
    def headline(self) -> str:
        """The outcome in one sentence."""
        exact, close = sum(r.exact for r in self.rows), sum(r.close and not r.exact for r in self.rows)
        off = len(self.rows) - exact - close
        return f"{len(self.rows)} gradient{'' if len(self.rows) == 1 else 's'} compared: {exact} exact, {close} close, {off} off"

    def __str__(self) -> str:
        lines = [self._HEAD, *self._lines()]
        widths = [max(len(line[c]) for line in lines) for c in range(len(self._HEAD))]
        body = [
            "  ".join(cell.rjust(w) if c == 4 else cell.ljust(w) for c, (cell, w) in enumerate(zip(line, widths, strict=True))).rstrip()
            for line in lines
        ]
        return "\n".join([self.headline, *body])

    def __repr__(self) -> str:
        return f"<ComparisonTable {self.headline}>"

    def _repr_html_(self) -> str:
        style = "text-align:left;padding:2px 10px 2px 0;vertical-align:top"

        def cells(tag: str, line: tuple[str, ...]) -> str:
            return "".join(f'<{tag} style="{style}">{alarm(cell) if cell == "NO" else html.escape(cell)}</{tag}>' for cell in line)

        body = "".join(f"<tr>{cells('td', line)}</tr>" for line in self._lines())
        return f'<div><strong>{html.escape(self.headline)}</strong><table style="border-collapse:collapse"><thead><tr>{cells("th", self._HEAD)}</tr></thead><tbody>{body}</tbody></table></div>'

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text("ComparisonTable(...)" if cycle else str(self))


def compare(trace: Trace, gradients: Mapping[Any, npt.ArrayLike]) -> ComparisonTable:
    """Your own gradients against the recorded ones.

    Keys are Tensors, names or ids, as :meth:`Trace.node` takes them; a name may be written as ``"dW1"`` or ``"W1.grad"`` for the
    gradient of ``W1``. A name that was given again means the latest node; a gradient that is right for an earlier one is said to be that one's.
    Nothing is broadcast: another shape is said to be one.

    >>> import tensorviz as tv
    >>> x = tv.tensor([1.0, 2.0], requires_grad=True, name="x")
    >>> trace = (x * x).sum().backward()
    >>> print(compare(trace, {"dx": [2.0, 4.0]}))
    1 gradient compared: 1 exact, 0 close, 0 off
    gradient of  shape  exact  close  max difference  at   note
    x            (2,)   yes    yes                 0  [0]
    """
    mapping("compare", "its first argument", gradients, "{'W': your_gradient} (keys: Tensors, names or ids)")
    return ComparisonTable(tuple(_row(trace, key, value) for key, value in gradients.items()))


def _row(trace: Trace, key: Any, value: npt.ArrayLike) -> ComparisonRow:
    node = trace.node(_meant(trace, key))
    name = node.name or f"node {node.id} ({node.op})"
    try:
        mine = np.asarray(value)
    except (ValueError, TypeError) as error:
        raise DTypeError(f"compare: the gradient given for {name} is no rectangular array of numbers, got {shown(value)} ({error})") from None
    if mine.dtype.kind not in "fiub":
        raise DTypeError(f"compare: the gradient given for {name} is {shown(value)} of dtype {mine.dtype}, expected real numbers")
    theirs = node.cotangent
    if theirs is None:
        return ComparisonRow(name, node.id, node.shape, False, False, np.nan, None, "no gradient reached this node, so there is none to compare with")
    if mine.shape != theirs.shape:
        return ComparisonRow(
            name,
            node.id,
            theirs.shape,
            False,
            False,
            np.nan,
            None,
            f"yours has shape {mine.shape}, the gradient {theirs.shape}{_shape_hint(mine, theirs)}",
        )
    if not mine.size:
        return ComparisonRow(name, node.id, theirs.shape, True, True, 0.0, None, "")
    lost = ~np.isfinite(mine.astype(float)) | ~np.isfinite(theirs)
    with np.errstate(invalid="ignore"):
        gap = np.where(lost, np.where(mine == theirs, 0.0, np.inf), np.abs(mine.astype(float) - theirs))
    at = tuple(int(i) for i in np.unravel_index(int(np.argmax(gap)), gap.shape))
    close = bool(np.all(gap <= ATOL + RTOL * np.where(lost, 0.0, np.abs(theirs))))
    exact = bool(np.array_equal(mine, theirs))
    note = "" if close else _namesake(trace, node, mine) or _hint(mine, theirs) or _elsewhere(trace, node, mine) or _spot(mine, theirs)
    if lost.any():
        note = f"{int(np.sum(np.isnan(mine.astype(float))))} NaN in yours, {int(np.sum(np.isnan(theirs)))} in the recorded one"
    return ComparisonRow(name, node.id, theirs.shape, exact, close, float(gap[at]), at, note)


def _namesake(trace: Trace, node: TraceNode, mine: Array) -> str:
    """That a gradient is right for another node of the same name, where it is: the name means the latest."""
    for other in trace.named(node.name) if node.name is not None else ():
        if other is not node and other.cotangent is not None and other.shape == mine.shape and np.allclose(mine, other.cotangent, RTOL, ATOL):
            return f"it is the gradient of node {other.id} ({other.op}), an earlier {node.name}; the name means the latest, node {node.id}"
    return ""


def _meant(trace: Trace, key: Any) -> Any:
    if isinstance(key, str):
        known = {n.name for n in trace.nodes}
        if key not in known:
            for bare in (key.removesuffix(".grad"), key.removeprefix("d"), key.removeprefix("d_"), key.removeprefix("grad_")):
                if bare in known:
                    return bare
    return key


def _shape_hint(mine: Array, theirs: Array) -> str:
    if mine.ndim == 2 and mine.T.shape == theirs.shape and np.allclose(mine.T, theirs, RTOL, ATOL):
        return ": it is the transpose"
    if mine.size == theirs.size and np.allclose(mine.reshape(theirs.shape), theirs, RTOL, ATOL):
        return ": the numbers are right"
    if mine.ndim >= theirs.ndim:
        try:
            if np.broadcast_shapes(mine.shape, theirs.shape) == mine.shape:
                grown = mine.ndim - theirs.ndim
                axes = (*range(grown), *(grown + i for i, n in enumerate(theirs.shape) if n == 1 and mine.shape[grown + i] != 1))
                right = np.allclose(mine.sum(axis=axes).reshape(theirs.shape), theirs, RTOL, ATOL)
                return f": summed over {in_words(axes)} it has the right shape{' and the right numbers' if right else ''}"
        except ValueError:
            pass
    return ""


def _hint(mine: Array, theirs: Array) -> str:
    """The simple thing that went wrong, where there is one."""
    if mine.ndim == 2 and mine.shape[0] == mine.shape[1] and np.allclose(mine.T, theirs, RTOL, ATOL):
        return "it is the transpose"
    used = theirs != 0
    if used.any() and not np.any(mine[~used]):
        ratios = mine[used] / theirs[used]
        if np.isfinite(ratios).all() and ratios.flat[0] != 0 and np.allclose(ratios, ratios.flat[0], 1e-6, 0):
            ratio = float(ratios.flat[0])
            parts = round(1 / ratio)  # a mean where a sum belongs is off by a count, which is known again as 1/64, not as 0.015625
            if parts > 2 and np.isclose(ratio * parts, 1, 1e-6, 0):
                return f"every number is 1/{parts} of the recorded one"
            return f"every number is {ratio:.6g} times the recorded one"
    if not np.any(mine):
        return "yours is zero throughout"
    if mine.size > 1 and np.allclose(np.sort(mine, axis=None), np.sort(theirs, axis=None), RTOL, ATOL):
        return "the numbers are right, in another order"
    return ""


def _elsewhere(trace: Trace, node: TraceNode, mine: Array) -> str:
    """What else of the pass it is: one share where several add up, or another node's gradient."""
    if not np.any(mine):
        return ""
    if len(node.shares) > 1:
        for share in node.shares:
            if np.allclose(mine, share.value, RTOL, ATOL):
                sender = trace.nodes[share.consumer]
                return f"it is the share from {sender.title}, node {sender.id}, alone; {len(node.shares)} shares add up"
    for other in trace.nodes:
        if other is not node and other.cotangent is not None and other.shape == mine.shape and np.allclose(mine, other.cotangent, RTOL, ATOL):
            return f"it is the gradient of {other.title}, node {other.id}"
    return ""


def _spot(mine: Array, theirs: Array) -> str:
    """How many numbers are off, and where, if they lie in one row or column."""
    wrong = ~np.isclose(mine, theirs, RTOL, ATOL)
    told = f"{int(np.sum(wrong)):,} of {mine.size:,} numbers are off"
    if mine.ndim == 2 and min(mine.shape) > 1:
        for axis, word in ((1, "row"), (0, "column")):
            lines = np.flatnonzero(wrong.any(axis=axis))
            if len(lines) == 1 and np.sum(wrong) > 1:
                return f"{told}, all in {word} {int(lines[0])}"
    return told
