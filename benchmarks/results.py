"""Results: one measured figure each, its bar if it has one, and the table. Knows no engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Result:
    """One figure."""

    workload: str
    what: str
    value: float
    unit: str = "x"
    bar: float | None = None
    """The figure must not exceed it; None: told for information."""
    low: float | None = None
    high: float | None = None
    """Quartiles of the rounds."""

    @property
    def verdict(self) -> str:
        if self.bar is None:
            return ""
        return "ok" if self.value <= self.bar else "OVER"


def figure(value: float, unit: str) -> str:
    """Three digits that count, and the unit.

    >>> figure(0.09444, "x"), figure(331.6, "bytes"), figure(12.3456, "us")
    ('0.094x', '332 bytes', '12.3 us')
    """
    digits = 0 if value >= 100 else 1 if value >= 10 else 2 if value >= 1 else 3
    return f"{value:.{digits}f}{'' if unit == 'x' else ' '}{unit}"


def table(results: Sequence[Result]) -> str:
    """The results as aligned text."""
    rows = [("workload", "figure", "measured", "quartiles", "bar", "")]
    for r in results:
        quartiles = "" if r.low is None or r.high is None else f"{r.low:.3g} - {r.high:.3g}"
        rows.append((r.workload, r.what, figure(r.value, r.unit), quartiles, "" if r.bar is None else f"<= {figure(r.bar, r.unit)}", r.verdict))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [
        "  ".join(
            [
                *(cell.ljust(w) for cell, w in zip(row[:2], widths, strict=False)),
                *(cell.rjust(w) for cell, w in zip(row[2:], widths[2:], strict=True)),
            ]
        )
        for row in rows
    ]
    lines.insert(1, "  ".join("-" * w for w in widths))
    return "\n".join(line.rstrip() for line in lines)
