"""What a check found: rows, verdicts and blame, as data, text and HTML. Imports no view."""

from __future__ import annotations

import html
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tensorviz.checks.differences import CODE, REASONS, VERDICTS, Floats, Judged, Ruler
from tensorviz.trace import one_line

if TYPE_CHECKING:
    from tensorviz.trace import Trace

Verdict = Literal["mismatch", "undefined", "nondeterministic", "input", "nonsmooth", "noise", "skipped", "ok"]
Scope = Literal["local", "sum", "global", "function"]

KEEP = 256
"""Rows kept of one array: all of a small one, the worst of a large one."""


@dataclass(frozen=True, slots=True)
class CheckRow:
    """One derivative, computed twice."""

    node: int | None
    """The node that is checked: on local rows the op whose rule it is, otherwise the node whose gradient it is."""
    scope: Scope
    """``local``: one op's rule alone. ``global``: a node's gradient against the root. ``sum``: a gradient against its shares. ``function``: a row of gradcheck."""
    slot: int | None
    """On local rows the argument position in the op."""
    operand: int | None
    """The same; on rows of gradcheck the position of the input."""
    index: tuple[int, ...] | None
    """The element; None for a random direction."""
    analytic: float
    numeric: float
    error: float
    """|analytic - numeric| / max(|analytic|, |numeric|), 0 where both are 0; NaN where there is no numeric value."""
    verdict: Verdict
    reason: str
    title: str
    """The node in words: its name, otherwise its op, and the operand's name on local rows."""


@dataclass(frozen=True)
class Block:
    """The rows of one array: of one share, of one node's gradient, of one input."""

    node: int | None
    scope: Scope
    slot: int | None
    title: str
    shape: tuple[int, ...]
    where: Sequence[int]
    """Per row the flat index, or -1 for a random direction."""
    analytic: Floats
    numeric: Floats
    codes: Any
    """Per row the position in VERDICTS."""
    reasons: tuple[str, ...]
    counts: Mapping[str, int]
    """How many of the derivatives that were compared have each verdict; more than there are rows where only the worst are kept."""
    note: str = ""
    """How it was checked, where not element by element."""
    ruler: Ruler = field(default_factory=Ruler)

    @cached_property
    def ranks(self) -> Floats:
        """Per row how far off it is, in tolerances."""
        with np.errstate(invalid="ignore"):
            ranks = np.abs(self.analytic - self.numeric) / self.ruler.allowed(self.analytic, self.numeric)
        return np.where(np.isnan(ranks), 0.0, ranks)

    @property
    def code(self) -> int:
        """The worst verdict's position in VERDICTS."""
        return min((CODE[name] for name, count in self.counts.items() if count), default=CODE["ok"])

    def row(self, k: int) -> CheckRow:
        a, n = float(self.analytic[k]), float(self.numeric[k])
        at = self.where[k]
        index = None if at < 0 else tuple(int(i) for i in np.unravel_index(at, self.shape))
        verdict: Any = VERDICTS[self.codes[k]]
        return CheckRow(self.node, self.scope, self.slot, self.slot, index, a, n, relative(a, n), verdict, self.reasons[k], self.title)

    def rows(self) -> Iterator[CheckRow]:
        return (self.row(k) for k in range(len(self.where)))

    @cached_property
    def worst(self) -> CheckRow:
        return self.row(min(range(len(self.where)), key=lambda k: (int(self.codes[k]), -float(self.ranks[k]))))


def relative(a: float, n: float) -> float:
    """|a - n| / max(|a|, |n|); 0 where both are 0, NaN where one of them is not finite.

    >>> relative(0.0, 0.0), relative(3.0, 4.0), relative(0.0, 1e-12)
    (0.0, 0.25, 1.0)
    """
    top = max(abs(a), abs(n))
    if not (math.isfinite(a) and math.isfinite(n)):
        return math.nan
    if top == 0.0:
        return 0.0
    return abs(a - n) / top


def block(
    node: int | None,
    scope: Scope,
    slot: int | None,
    title: str,
    shape: tuple[int, ...],
    where: Any,
    analytic: Floats,
    judged: Judged,
    ruler: Ruler,
    note: str = "",
) -> Block:
    """A block from what was judged, with the worst KEEP rows."""
    tallies = enumerate(np.bincount(judged.verdict, minlength=len(VERDICTS)).tolist())
    counts = {VERDICTS[code]: count for code, count in tallies if count}
    every = Block(
        node,
        scope,
        slot,
        title,
        shape,
        where if isinstance(where, range) else tuple(where),
        analytic,
        judged.numeric,
        judged.verdict,
        tuple([REASONS.get(r, r) if r else r for r in judged.reason]) if any(judged.reason) else ("",) * len(analytic),
        counts,
        note,
        ruler,
    )
    if len(analytic) <= KEEP:
        return every
    ranks = every.ranks
    kept = np.argpartition(-ranks, KEEP)[:KEEP] if len(counts) == 1 else np.lexsort((-ranks, judged.verdict))[:KEEP]
    kept = np.sort(kept)
    numbers = kept.tolist()
    return replace(
        every,
        where=tuple([every.where[k] for k in numbers]),
        analytic=analytic[kept],
        numeric=judged.numeric[kept],
        codes=judged.verdict[kept],
        reasons=tuple([every.reasons[k] for k in numbers]),
    )


def single(node: int | None, scope: Scope, slot: int | None, title: str, verdict: Verdict, reason: str) -> Block:
    """One row without numbers, for what could not be compared."""
    nan = np.array([math.nan])
    return Block(node, scope, slot, title, (), (-1,), nan, nan, np.array([CODE[verdict]], dtype=np.int8), (reason,), {verdict: 1})


class CheckReport:
    """The outcome of :meth:`Trace.check` or :func:`gradcheck`. True where nothing is wrong.

    ``kind`` is the worst verdict; mismatch, undefined, nondeterministic and input make ``ok`` False.
    """

    def __init__(
        self,
        blocks: list[Block],
        *,
        blame: int | None = None,
        blame_text: str = "",
        subject: str = "",
        notes: tuple[str, ...] = (),
        trace: Trace | None = None,
        counts: Mapping[str, int] | None = None,
    ) -> None:
        self.blocks = tuple(blocks)
        self.blame = blame
        """Id of the node whose rule is wrong (nearest the root if several are), or None."""
        self.blame_text = blame_text
        self.subject = subject
        self.notes = notes
        self.trace = trace
        """Of gradcheck: the record of the pass that was checked."""
        self.counts = _counted(self.blocks if counts is None else (), counts or {})
        """How many derivatives have each verdict, worst first."""

    @cached_property
    def rows(self) -> tuple[CheckRow, ...]:
        """Every derivative that was compared; of a large array the worst ones."""
        return tuple(row for b in self.blocks for row in b.rows())

    @property
    def worst(self) -> CheckRow | None:
        """The row to look at first; None without rows."""
        found = [(b.code, -float(np.max(b.ranks, initial=0.0)), k) for k, b in enumerate(self.blocks) if b.where]
        return self.blocks[min(found)[2]].worst if found else None

    @property
    def kind(self) -> Verdict:
        """The worst verdict."""
        kind: Any = next(iter(self.counts), "ok")
        return kind  # type: ignore[no-any-return]

    @property
    def ok(self) -> bool:
        return CODE[self.kind] > CODE["input"]

    def __bool__(self) -> bool:
        return self.ok

    @cached_property
    def undecided(self) -> str:
        """Of a report that finds nothing wrong and is not ok: how many derivatives could not be judged, and why most of them. Else empty."""
        if not self.ok or self.kind == "ok":
            return ""
        reasons = Counter(r for b in self.blocks for code, r in zip(b.codes.tolist(), b.reasons, strict=True) if code == CODE[self.kind])
        why = reasons.most_common(1)[0][0] if reasons else ""
        count, verb = self.counts[self.kind], "is" if self.counts[self.kind] == 1 else "are"
        return f"{count:,} of {sum(self.counts.values()):,} derivatives {verb} {self.kind}{f': {why}' if why else ''}."

    def for_node(self, node: int) -> tuple[CheckRow, ...]:
        """The worst row of each of a node's blocks: its gradient, the sum of its shares, each slot of its rule."""
        return tuple(b.worst for b in self.blocks if b.node == node and b.where)

    @property
    def headline(self) -> str:
        """The outcome in one sentence."""
        total = sum(self.counts.values())
        if not total:
            return f"{self.subject}: nothing to compare"
        told = ", ".join(f"{count:,} {name}" for name, count in self.counts.items())
        return f"{self.subject}: {self.kind} ({told})"

    def _lines(self, most: int) -> tuple[list[tuple[str, ...]], int]:
        """Table cells, worst block first, and how many blocks are left out."""
        order = sorted(range(len(self.blocks)), key=lambda k: (self.blocks[k].code, k))
        shown = [self.blocks[k] for k in order if self.blocks[k].where]
        lines: list[tuple[str, ...]] = []
        for b in shown[:most]:
            row = b.worst
            empty = row.index is None and not b.shape and math.isnan(row.analytic)
            index = "" if empty else "direction" if row.index is None else str(list(row.index))
            told = "; ".join(part for part in (row.reason, b.note) if part)
            numbers = ("", "", "") if empty else (figure(row.analytic), figure(row.numeric), short(row.error))
            at = "" if b.node is None else str(b.node)
            lines.append((str(row.verdict), str(row.scope), at, one_line(b.title), index, *numbers, f"{sum(b.counts.values()):,}", told))
        return lines, max(0, len(shown) - most)

    _HEAD = ("verdict", "check", "node", "of", "worst at", "analytic", "numeric", "error", "compared", "reason")

    def text(self, most: int = 40) -> str:
        """The report as a table of text: one line per array, worst first."""
        lines, left = self._lines(most)
        parts = [self.headline]
        if self.blame_text:
            parts.append(self.blame_text)
        parts.extend(self.notes)
        if lines:
            widths = [max(len(line[c]) for line in [self._HEAD, *lines]) for c in range(len(self._HEAD))]
            right = {2, 5, 6, 7, 8}
            for line in [self._HEAD, *lines]:
                parts.append(
                    "  ".join(cell.rjust(w) if c in right else cell.ljust(w) for c, (cell, w) in enumerate(zip(line, widths, strict=True))).rstrip()
                )
        if left:
            parts.append(f"… {left:,} more arrays, none worse")
        return "\n".join(parts)

    __str__ = text

    def __repr__(self) -> str:
        return f"<CheckReport {self.headline}>"

    def _repr_html_(self) -> str:
        lines, left = self._lines(40)
        style = "text-align:left;padding:2px 10px 2px 0;vertical-align:top"

        def cells(tag: str, line: tuple[str, ...], bad: bool = False) -> str:
            verdict, *rest = map(html.escape, line)
            first = alarm(verdict) if bad else f"<b>{verdict}</b>"
            return "".join(f'<{tag} style="{style}">{cell}</{tag}>' for cell in (first, *rest))

        said = "".join(f"<div>{html.escape(part)}</div>" for part in (self.blame_text, *self.notes) if part)
        body = "".join(f"<tr>{cells('td', line, CODE[line[0]] <= CODE['input'])}</tr>" for line in lines)
        more = f"<div>… {left:,} more arrays, none worse</div>" if left else ""
        table = (
            f'<table style="border-collapse:collapse"><thead><tr>{cells("th", self._HEAD)}</tr></thead><tbody>{body}</tbody></table>' if lines else ""
        )
        return f"<div><strong>{html.escape(self.headline)}</strong>{said}{table}{more}</div>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text("CheckReport(...)" if cycle else self.text())


def _counted(blocks: Iterable[Block], known: Mapping[str, int]) -> dict[str, int]:
    found = {name: known.get(name, 0) for name in VERDICTS}
    for b in blocks:
        for name, count in b.counts.items():
            found[name] += count
    return {name: count for name, count in found.items() if count}


def alarm(escaped: str) -> str:
    """What is wrong, as a light word on its own dark ground: a coloured word is hard to read on some page or other."""
    return f'<b style="background:#b00020;color:#fff;padding:0 5px;border-radius:3px">{escaped}</b>'


def figure(value: float) -> str:
    """A number with seven digits: enough to see a difference of one in a thousand, and of one in a million."""
    return format(value, ".7g")


def short(value: float) -> str:
    return format(value, ".1e") if value else "0"
