"""history: what many passes have in common and where they go wrong: the value and the norm of every gradient, pass by pass. Imports the engine; no view or widget."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tensorviz.arguments import whole
from tensorviz.engine.graph import local
from tensorviz.engine.names import names_of
from tensorviz.engine.node import Node, new_uid
from tensorviz.errors import NodeLookupError
from tensorviz.trace import Array, Trace, one_line

if TYPE_CHECKING:
    from tensorviz.findings import Finding

ROWS = 12
"""Passes that a table shows: the first, those before the first bad one, the last."""


@dataclass(frozen=True, slots=True)
class PassRow:
    """One pass."""

    number: int
    """From 1 on, in the order in which they were made."""
    value: float
    """Of the first root; its norm where it has several elements."""
    norms: Mapping[str, float]
    """The norm of the gradient that each leaf received, by name. What ``.grad`` held before does not count."""
    finite: bool
    """No NaN and no infinity, neither in the root nor in a gradient."""


class History:
    """The passes of a block; see :func:`history`."""

    def __init__(self, keep: int) -> None:
        self.keep = keep
        self.rows: list[PassRow] = []
        self.traces: dict[int, Trace] = {}
        """Records by the number of their pass: the latest, and those of the first pass that is not finite and of the one before it."""
        self._names: dict[int, str] = {}
        self.bad: int | None = None
        """The number of the first pass with a NaN or an infinity; None if there is none."""

    def __enter__(self) -> Self:
        thread = local.thread
        thread.histories = (*thread.histories, self)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trail: TracebackType | None) -> None:
        thread = local.thread
        thread.histories = tuple(h for h in thread.histories if h is not self)

    def see(self, roots: Sequence[Node], leaves: Sequence[Node], totals: Sequence[Any], names: dict[int, str], trace: Trace | None) -> None:
        """Take note of a pass that came to its end."""
        number = len(self.rows) + 1
        called = names_of(leaves, names, new_uid())
        norms: dict[str, float] = {}
        with np.errstate(all="ignore"):
            for i, (leaf, total) in enumerate(zip(leaves, totals, strict=True)):
                if total is not None:
                    name = self._names.get(leaf.uid)
                    if name is None:  # what it is called first, it is called throughout
                        name = called.get(i) or f"leaf {i + 1} of shape {leaf.value.shape}"
                        taken = set(self._names.values())
                        name = self._names[leaf.uid] = name if name not in taken else f"{name} ({len(taken) + 1})"
                    norms[name] = _norm(total)
            root = np.asarray(roots[0].value)
            value = float(root.reshape(())) if root.size == 1 else _norm(root)
        finite = all(np.isfinite(np.asarray(r.value)).all() for r in roots) and all(map(np.isfinite, norms.values()))
        self.rows.append(PassRow(number, value, norms, finite))
        if trace is not None:
            self.traces[number] = trace
        if not finite and self.bad is None:
            self.bad = number
        kept = {*range(number - self.keep + 1, number + 1), *(() if self.bad is None else (self.bad - 1, self.bad))}
        self.traces = {k: t for k, t in self.traces.items() if k in kept or (self.bad is None and k == number - 1)}

    # ---- what is in it ---------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def values(self) -> Array:
        """The value of the root in each pass."""
        return np.array([row.value for row in self.rows])

    @property
    def names(self) -> tuple[str, ...]:
        """Of all leaves that received a gradient."""
        return tuple(dict.fromkeys(name for row in self.rows for name in row.norms))

    def __getitem__(self, name: str) -> Array:
        """The norm of the gradient of a leaf in each pass; NaN where it received none."""
        if name not in self.names:
            raise NodeLookupError(f"history: no leaf is called {name!r}. Names: {', '.join(self.names) or 'none, no pass was made'}")
        return np.array([row.norms.get(name, np.nan) for row in self.rows])

    def findings(self) -> list[Finding]:
        """Those of the first pass that is not finite; of the latest where all are."""
        trace = self.traces.get(self.bad if self.bad is not None else len(self.rows))
        return [] if trace is None else trace.findings()

    # ---- as text ---------------------------------------------------------------------------------------------

    @property
    def headline(self) -> str:
        """The outcome in a sentence or two."""
        if not self.rows:
            return "No pass was made yet"
        said = f"{len(self)} pass{'' if len(self) == 1 else 'es'}, value {self.rows[0].value:.4g} to {self.rows[-1].value:.4g}"
        if self.bad is None:
            return said
        first = next(iter(self.findings()), None)
        cause = "" if first is None else f": {first.kind}, {first.phase}, at {one_line(first.op)}"
        line = "" if first is None or first.source is None else f", line {first.source.line}: {one_line(first.source.code.strip())}".rstrip(": ")
        return f"{said}; pass {self.bad} is the first with a NaN or an infinity{cause}{line}"

    def _lines(self) -> list[tuple[str, ...]]:
        lines: list[tuple[str, ...]] = [("pass", "value", "largest gradient", "smallest gradient", "")]
        before = 0
        for row in self._shown():
            if row.number > before + 1:
                lines.append(("…", "", "", "", ""))
            before = row.number
            ordered = sorted(row.norms.items(), key=lambda pair: (np.isnan(pair[1]), pair[1]))
            ends = [f"{ordered[i][1]:.3g} {one_line(ordered[i][0])}" if ordered else "" for i in (-1, 0)]
            lines.append((str(row.number), f"{row.value:.6g}", *ends, "" if row.finite else "NOT FINITE"))
        return lines

    def _shown(self) -> list[PassRow]:
        if len(self.rows) <= ROWS:
            return self.rows
        third = ROWS // 3
        around = [] if self.bad is None else self.rows[max(0, self.bad - third) : self.bad]
        chosen = {row.number: row for row in (*self.rows[: third if self.bad is not None else 2 * third], *around, *self.rows[-third:])}
        return [chosen[k] for k in sorted(chosen)]

    def __str__(self) -> str:
        lines = self._lines() if self.rows else []
        widths = [max(len(line[c]) for line in lines) for c in range(5)] if lines else []
        return "\n".join([self.headline, *("  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip() for line in lines)])

    def __repr__(self) -> str:
        return f"<History {self.headline}>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text("History(...)" if cycle else str(self))

    def _repr_html_(self) -> str:
        style = "text-align:left;padding:2px 10px 2px 0;vertical-align:top"

        def cells(line: tuple[str, ...]) -> str:
            return "".join(f'<td style="{style}">{html.escape(cell)}</td>' for cell in line)

        rows = "".join(f"<tr>{cells(line)}</tr>" for line in self._lines())
        return f'<div><strong>{html.escape(self.headline)}</strong><table style="border-collapse:collapse">{rows if self.rows else ""}</table></div>'


def history(*, keep: int = 1) -> History:
    """Take note of every backward pass in a block: the value, the norm of each gradient, and the first pass in which something is not finite.

    Its record is kept, with the one before, and those of the latest ``keep`` passes; of all others only numbers. Passes with ``record=False`` count,
    but leave no record. ``plots.training(history)`` of :mod:`tensorviz.views.plots` draws it.

    >>> import numpy as np, tensorviz as tv
    >>> w = tv.tensor([0.5], requires_grad=True, name="w")
    >>> with tv.history() as passes, np.errstate(all="ignore"):
    ...     for _ in range(8):
    ...         w.grad = None
    ...         loss = (w**4).sum()
    ...         trace = loss.backward()
    ...         w.data -= 10 * w.grad
    >>> len(passes), passes.bad, passes["w"][:2].tolist()
    (8, 6, [0.5, 364.5])
    >>> passes.traces[passes.bad].findings()[0].op
    'pow'
    """
    return History(whole("history", "keep", keep, least=0))


def _norm(array: Any) -> float:
    return float(np.linalg.norm(np.asarray(array, dtype=float).ravel()))
