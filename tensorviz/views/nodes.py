"""The nodes of a pass as a table: one row a node, with the sizes of value and gradient, to be read, sorted and handed to pandas. Imports trace and other views only."""

from __future__ import annotations

import html
from typing import Any

import numpy as np

from tensorviz.trace import Array, Trace, TraceNode
from tensorviz.views import format as fmt
from tensorviz.views.text import cut

MOST = 40
"""Rows that are shown; of more the first and the last. All are in the list."""
LONGEST = 40
COLUMNS = (
    "id",
    "name",
    "op",
    "kind",
    "scope",
    "shape",
    "dtype",
    "value",
    "gradient",
    "largest",
    "nan",
    "inf",
    "zeros",
    "shares",
    "saved_bytes",
    "file",
    "line",
)


class NodeTable(list[dict[str, Any]]):
    """A list of rows, each a dict; ``pandas.DataFrame(table)`` takes it as it is. A table in notebooks and terminals."""

    def by(self, column: str) -> NodeTable:
        """The rows with the largest number in that column first, before them those with NaN, and last those without a number.

        >>> [row["gradient"] for row in NodeTable([{"gradient": 1.0}, {"gradient": None}, {"gradient": np.nan}, {"gradient": 5.0}]).by("gradient")]
        [nan, 5.0, 1.0, None]
        """
        from tensorviz.arguments import one_of

        one_of("by", "column", column, tuple(self[0]) if self else COLUMNS)

        def size(row: dict[str, Any]) -> tuple[bool, float]:
            found = row[column]
            number = float(found) if isinstance(found, (int, float)) else -np.inf
            return (True, 0.0) if np.isnan(number) else (False, number)

        return NodeTable(sorted(self, key=size, reverse=True))

    def _lines(self) -> list[tuple[str, ...]]:
        head = ("id", "name", "op", "shape", "‖value‖", "‖∂‖", "max |∂|", "NaN/∞/0 in ∂", "shares", "line")
        if len(self) > MOST:
            shown: list[dict[str, Any] | None] = [*self[: MOST // 2], None, *self[-MOST // 2 :]]
        else:
            shown = list(self)
        return [
            head,
            *(_cells(row) if row is not None else ("…", f"{fmt.counted(len(self) - MOST, 'more node')}", *[""] * (len(head) - 2)) for row in shown),
        ]

    def __str__(self) -> str:
        lines = self._lines()
        widths = [max(len(line[c]) for line in lines) for c in range(len(lines[0]))]
        return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip() for line in lines)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text("NodeTable(...)" if cycle else str(self))

    def _repr_html_(self) -> str:
        style = "text-align:left;padding:2px 10px 2px 0"

        def row(tag: str, line: tuple[str, ...]) -> str:
            return "".join(f'<{tag} style="{style}">{html.escape(cell)}</{tag}>' for cell in line)

        head, *body = self._lines()
        rows = "".join(f"<tr>{row('td', line)}</tr>" for line in body)
        return f'<table style="border-collapse:collapse"><thead><tr>{row("th", head)}</tr></thead><tbody>{rows}</tbody></table>'


def table(trace: Trace) -> NodeTable:
    """One row a node, in forward order; see :meth:`tensorviz.trace.Trace.table`."""
    with np.errstate(all="ignore"):
        return NodeTable(_row(node) for node in trace.nodes)


def _row(node: TraceNode) -> dict[str, Any]:
    gradient = node.cotangent
    numbers = np.zeros(0) if gradient is None or gradient.dtype.kind != "f" else gradient
    finite = numbers[np.isfinite(numbers)]
    return {
        "id": node.id,
        "name": node.name,
        "op": node.op,
        "kind": node.kind,
        "scope": node.scope,
        "shape": node.shape,
        "dtype": node.dtype,
        "value": _norm(node.value),
        "gradient": None if gradient is None else _norm(gradient),
        "largest": None if gradient is None else float(np.abs(finite).max()) if finite.size else 0.0 if not gradient.size else float("nan"),
        "nan": int(np.isnan(numbers).sum()),
        "inf": int(np.isinf(numbers).sum()),
        "zeros": int(np.count_nonzero(numbers == 0)),
        "shares": len(node.shares),
        "saved_bytes": sum(a.nbytes for a in node.saved.values()),
        "file": node.source.file if node.source else None,
        "line": node.source.line if node.source else None,
    }


def _norm(array: Array) -> float | None:
    return float(np.linalg.norm(array.astype(float).ravel())) if array.dtype.kind in "biuf" else None


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    def number(x: Any) -> str:
        return "" if x is None else fmt.number(x)

    odd = "" if row["gradient"] is None else f"{row['nan']}/{row['inf']}/{row['zeros']}"
    name, op = cut(row["name"] or "", LONGEST), cut(row["op"], LONGEST)
    where = "" if row["line"] is None else str(row["line"])
    ends = (number(row["value"]), number(row["gradient"]), number(row["largest"]), odd, str(row["shares"] or ""), where)
    return (str(row["id"]), name, op, fmt.shape(row["shape"]), *ends)
