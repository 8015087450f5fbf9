"""A check report as plain data, and back: what a saved trace keeps of its latest check. Imports the report only."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tensorviz.checks.differences import CODE, VERDICTS, Ruler
from tensorviz.checks.report import Block, CheckReport
from tensorviz.errors import RecordError

SCOPES = ("local", "sum", "global", "function")

Column = Callable[[Iterable[float], Any], Any]


def told(report: CheckReport, column: Column) -> dict[str, Any]:
    """The report in JSON; ``column`` lays out numbers, which may be NaN, and gives what stands for them."""
    return {
        "subject": report.subject,
        "blame": report.blame,
        "blame_text": report.blame_text,
        "notes": list(report.notes),
        "blocks": [
            {
                "node": b.node,
                "scope": b.scope,
                "slot": b.slot,
                "title": b.title,
                "shape": list(b.shape),
                "where": column(list(b.where), "f8"),
                "analytic": column(b.analytic, "f8"),
                "numeric": column(b.numeric, "f8"),
                "codes": column(b.codes, "i1"),
                "reasons": list(b.reasons) if any(b.reasons) else [],
                "counts": dict(b.counts),
                "note": b.note,
                "atol": float(np.max(b.ruler.atol)),
                "rtol": float(np.max(b.ruler.rtol)),
            }
            for b in report.blocks
        ],
    }


def read(entry: dict[str, Any], column: Callable[[Any], list[Any]], nodes: int) -> CheckReport:
    """The report that :func:`told` wrote. Raises RecordError, KeyError or TypeError where it is none."""
    blocks = []
    for b in entry["blocks"]:
        where = tuple(int(i) for i in column(b["where"]))
        analytic, numeric = (np.array(column(b[name]), dtype=np.float64) for name in ("analytic", "numeric"))
        codes = np.array(column(b["codes"]), dtype=np.int8)
        shape, counts = tuple(int(n) for n in b["shape"]), {str(k): int(v) for k, v in b["counts"].items()}
        reasons = tuple(str(r) for r in b["reasons"]) or ("",) * len(where)
        if not len(where) == len(analytic) == len(numeric) == len(codes) == len(reasons):
            raise RecordError("its report has columns of unlike length")
        size = int(np.prod(shape)) if shape else 1
        if any(not -1 <= i < size for i in where) or any(not 0 <= c < len(VERDICTS) for c in codes) or not set(counts) <= set(CODE):
            raise RecordError("its report has a row that is outside of its array, or of an unknown verdict")
        if b["scope"] not in SCOPES:
            raise RecordError(f"its report has a scope {b['scope']!r}")
        ruler = Ruler(atol=float(b["atol"]), rtol=float(b["rtol"]))
        node, slot = _known(b["node"], nodes), None if b["slot"] is None else int(b["slot"])
        blocks.append(Block(node, b["scope"], slot, str(b["title"]), shape, where, analytic, numeric, codes, reasons, counts, str(b["note"]), ruler))
    notes = tuple(str(n) for n in entry["notes"])
    blame = _known(entry["blame"], nodes)
    return CheckReport(blocks, blame=blame, blame_text=str(entry["blame_text"]), subject=str(entry["subject"]), notes=notes)


def _known(node: Any, nodes: int) -> int | None:
    if node is None:
        return None
    if not 0 <= int(node) < nodes:
        raise RecordError(f"its report names node {node} of {nodes}")
    return int(node)
