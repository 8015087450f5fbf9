"""What one trace sends to the browser: the container of `wire` with large arrays as summaries, plus the picture and the words. Must not import engine or ops."""

from __future__ import annotations

import gzip
import math
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorviz.errors import TensorvizError
from tensorviz.making import uncollected
from tensorviz.trace import Array, Trace, TraceData
from tensorviz.views.format import norm
from tensorviz.views.formulas import Formulas, Piece
from tensorviz.views.origins import origins
from tensorviz.views.scale import scale_of
from tensorviz.views.svg import skeleton
from tensorviz.views.text import cut
from tensorviz.wire import ColumnEntry, Packer, SummaryEntry, TraceHeader, header_parts

if TYPE_CHECKING:
    import numpy.typing as npt

    from tensorviz.checks.report import Block, CheckReport, CheckRow

FULL_CAP = 1_000
"""Entries up to which an array travels in full: a page of cells is all that a person reads."""

FULL_BUDGET = 400_000
"""Bytes of full arrays, so that the whole state of a 2,000-node trace stays under 1 MB with the bundle's 100 kB."""

NEAR = 12
"""Lines of the user's source that travel before and after each line that made a node."""

PICTURE_SIDE = 32
PICTURE_BUDGET = 200_000

MOST_SPELLED = 5_000
"""Shares up to which their formulas travel: half a second of work, and a tenth of what the state may weigh."""

MOST_LINKED = 5_000
"""Nodes up to which the links between entries travel; a larger trace shows hardly an array entry by entry."""

MOST_ROWS = 4_000
"""Verdicts that travel: a few for each array of a large trace."""

CHECK_NODES = 60
CHECK_ELEMENTS = 2_000
"""A trace up to this size is checked when it is shown: about a tenth of a second."""

RUN_IT = "trace.check() runs it; trace.show() then has the verdicts."

_BROWSER_DTYPES = frozenset({"<f8", "<f4", "<i8", "<i4", "<i2", "|i1", "<u8", "<u4", "<u2", "|u1", "|b1"})


@dataclass(frozen=True)
class FindingEntry:
    """One finding, in words."""

    kind: str
    phase: str
    node: int
    """-1 where no node is meant."""
    op: str
    source: str
    why: str
    remedy: str


@dataclass(frozen=True)
class VerdictTable:
    """The rows of a check report, column by column; the numbers are raw because they may be NaN."""

    node: ColumnEntry
    """On local rows the op whose rule it is, otherwise the node whose gradient it is; -1 where there is none."""
    slot: ColumnEntry
    """On local rows the operand's position, otherwise -1."""
    analytic: ColumnEntry
    numeric: ColumnEntry
    error: ColumnEntry
    scope: list[str]
    title: list[str]
    index: list[str]
    """``[0, 2]``; empty for a single number, ``direction`` for a random one."""
    verdict: list[str]
    reason: list[str]


@dataclass(frozen=True)
class FormulaTable:
    """The formula of every share, column by column; each position is one in ``lines``, -1 for none."""

    lines: list[list[str]]
    """Pieces; the first character of each says what it stands for: t text, v value, g gradient, and in capitals the same inside an exponent."""
    left: ColumnEntry
    rule: ColumnEntry
    entry: ColumnEntry
    worked: ColumnEntry
    """With the numbers of one entry."""
    result: ColumnEntry


@dataclass(frozen=True)
class OriginEntry:
    """Where the entries of a result come from in one operand; neither form where it is not known."""

    axes: list[int] | None
    """Per axis of the operand the axis of the result; -1 for every position, -2 for the only one."""
    width: int
    sources: ColumnEntry | None
    """``width`` flat positions per entry of the result, filled up with -1."""


@dataclass(frozen=True)
class ViewEntry:
    """What the stepper shows beside the record."""

    title: str
    titles: list[str]
    """What captions call the nodes, each once."""
    called: ColumnEntry
    """Per node its position in ``titles``."""
    skeleton: str
    """The picture as SVG text, drawn once in Python."""
    value_max: float
    """Largest finite |value| of the whole trace: the end of the value scale, fixed for the pass."""
    gradient_max: float
    formulas: FormulaTable
    origins: dict[str, OriginEntry] | None
    """By edge, where an op does not work entry by entry; null for a trace too large to ask."""
    findings: list[FindingEntry]
    verdicts: VerdictTable
    check_kind: str
    """Worst verdict of the report; empty where no check was run."""
    check_note: str
    """Why there is no verdict and how to get one; where there are verdicts, what the report says beside them."""


@dataclass(frozen=True)
class PayloadHeader(TraceHeader):
    """The header that the browser reads."""

    view: ViewEntry


class BrowserPacker(Packer):
    """Keeps what a browser can view: native dtypes, large arrays as a summary and a picture."""

    def __init__(self, full_cap: int = FULL_CAP, side: int = PICTURE_SIDE) -> None:
        super().__init__()
        self.full_cap, self.side = full_cap, side
        self._changed: dict[int, Array] = {}

    def array(self, a: npt.ArrayLike | None) -> int:
        if isinstance(a, np.ndarray) and a.dtype != np.float64 and a.dtype.kind == "f" and a.dtype.str not in _BROWSER_DTYPES:
            # keyed by id, so the converted array must be the same object each time that the original comes by
            self._alive.append(a)
            changed = self._changed.setdefault(id(a), a.astype("<f4" if a.dtype.itemsize < 4 else "<f8"))
            return super().array(changed)
        return super().array(a)

    def place(self, index: int, data: Array, buffer: bytes) -> int:
        if data.size <= self.full_cap or data.dtype.kind not in "biuf":
            return self.raw(buffer)
        picture = downsample(data, self.side)
        self.summaries[str(index)] = SummaryEntry(self.column(statistics(data), "f8"), self.column(picture.ravel(), "f4"), *picture.shape)
        return -1


def statistics(a: Array) -> list[float]:
    """min, max, mean and norm of the finite entries, then how many are NaN, +inf, -inf and 0.

    >>> statistics(np.array([3.0, 4.0, 0.0, np.nan, -np.inf]))
    [0.0, 4.0, 2.3333333333333335, 5.0, 1.0, 0.0, 1.0, 1.0]
    """
    data = np.asarray(a, dtype=np.float64).ravel()
    finite = data[np.isfinite(data)]
    with np.errstate(over="ignore"):
        figures = [finite.min(), finite.max(), finite.mean(), norm(finite)] if finite.size else [math.nan] * 4
    counts = [np.isnan(data).sum(), np.isposinf(data).sum(), np.isneginf(data).sum(), (data == 0).sum()]
    return [float(v) for v in figures + counts]


def downsample(a: Array, side: int = PICTURE_SIDE) -> Array:
    """At most ``side`` by ``side`` cells, each the entry of its block that is furthest from zero; a NaN in the block wins.

    >>> downsample(np.array([[1.0, -3.0, 0.0, 2.0]]), 2).tolist()
    [[-3.0, 2.0]]
    """
    data = np.asarray(a, dtype=np.float64)
    table = data.reshape(-1, data.shape[-1]) if data.ndim > 1 else data.reshape(1, -1)
    if table.shape[0] == 1 and table.shape[1] > side:  # a long vector reads better as lines of text than as one thin strip
        width = side * max(1, math.ceil(table.shape[1] / (side * side)))
        lines = math.ceil(table.shape[1] / width)
        table = np.concatenate([table[0], np.zeros(lines * width - table.shape[1])]).reshape(lines, width)
    for axis in (0, 1):
        count = table.shape[axis]
        starts = np.unique(np.linspace(0, count, min(side, count), endpoint=False).astype(int))
        high, low = np.maximum.reduceat(table, starts, axis=axis), np.minimum.reduceat(table, starts, axis=axis)
        table = np.where(np.abs(low) > np.abs(high), low, high)
    with np.errstate(over="ignore"):
        return table.astype(np.float32)


def _arrays(data: TraceData) -> list[Array]:
    """Every array that the nodes and their shares hold, each once."""
    shares = [s for n in data.nodes for s in n.shares]
    held: list[list[Array | None]] = [
        [n.value for n in data.nodes],
        [a for n in data.nodes for a in n.saved.values()],
        [n.cotangent for n in data.nodes],
        *([getattr(s, part) for s in shares] for part in ("local", "value", "total", "route")),
    ]
    return [a for a in {id(a): a for some in held for a in some}.values() if a is not None]


def _limits(data: TraceData) -> tuple[int, int]:
    """How large an array may be to travel in full, and how fine the pictures of the others are."""
    seen = _arrays(data)
    sizes, held = np.array([a.size for a in seen]), np.array([a.nbytes for a in seen])
    cap = next((c for c in (FULL_CAP, 256, 64) if held[sizes <= c].sum() <= FULL_BUDGET), 16)
    large = int((sizes > cap).sum())
    side = PICTURE_SIDE if not large else int(min(PICTURE_SIDE, max(4, math.sqrt(PICTURE_BUDGET / 4 / large))))
    return cap, side


def _formulas(trace: Trace, packer: Packer) -> FormulaTable:
    """The formulas of up to MOST_SPELLED shares; where there are more, the stepper puts the names into the op's own rule when it shows one."""
    shares = [s for n in trace.nodes for s in n.shares]
    made = Formulas(trace)
    lines: dict[tuple[str, ...], int] = {}

    def line(pieces: Sequence[Piece]) -> int:
        if not pieces:
            return -1
        return lines.setdefault(tuple((p.kind[0].upper() if p.raised else p.kind[0]) + p.text for p in pieces), len(lines))

    rows: list[tuple[int, ...]] = []
    for share in shares if len(shares) <= MOST_SPELLED else ():
        f = made.of(share)
        entry, result = (line([Piece(text)] if text else []) for text in (f.entry, f.result))
        rows.append((line([Piece(f.left, "gradient")]), line(f.rule), entry, line(f.worked), result))
    columns = (packer.column([row[i] for row in rows], "i4") for i in range(5))
    return FormulaTable([list(pieces) for pieces in lines], *columns)


def _origins(trace: Trace, packer: Packer) -> dict[str, OriginEntry] | None:
    if len(trace.nodes) > MOST_LINKED:
        return None
    found = {}
    for edge, origin in origins(trace).items():
        axes, sources = (None, None) if origin is None else (origin.axes, origin.sources)
        column = None if sources is None else packer.column(sources.ravel(), "i4")
        found[edge] = OriginEntry(None if axes is None else list(axes), 0 if sources is None else int(sources.shape[1]), column)
    return found


def _findings(trace: Trace) -> list[FindingEntry]:
    try:
        found = trace.findings()
    except ImportError:
        return []
    return [
        FindingEntry(
            str(f.kind), str(f.phase), -1 if f.node is None else int(f.node), str(f.op or ""), str(f.source or ""), str(f.why), str(f.remedy)
        )
        for f in found
    ]


def _report(trace: Trace) -> tuple[CheckReport | None, str]:
    """The latest report, or one made now if the trace is small; and a note where there is none."""
    report = trace.report
    if report is not None:
        return report, ""
    size = sum(n.value.size for n in trace.nodes if n.shares)
    if len(trace.nodes) > CHECK_NODES or size > CHECK_ELEMENTS:
        counts = f"{len(trace.nodes):,} nodes, {size:,} gradient entries"
        return None, f"Not run by itself: {counts}. {RUN_IT}"
    try:
        from tensorviz.checks.run import SOON, check_soon

        trace.report = check_soon(trace)
        return trace.report, "" if trace.report is not None else f"Not run by itself: its own ops take longer than {SOON:g} s. {RUN_IT}"
    except ImportError:
        return None, "The check is not available here."
    except TensorvizError as error:
        return None, f"The check could not run: {error}"


def outcome(trace: Trace, report: CheckReport) -> tuple[str, str]:
    """The worst verdict of a check, and what there is to say of it. Where gradients are left that it has not come to, nothing can be ok as a whole."""
    kind, said = str(report.kind), [report.blame_text, *report.notes, report.undecided]
    if kind == "ok":
        judged = {b.node for b in report.blocks if b.scope == "global"}
        gradients = [n.id for n in trace.nodes if n.shares and n.value.size]
        left = sum(i not in judged for i in gradients)
        if left:
            kind = "skipped"
        if left and not report.notes:
            said.append(f"{left:,} of {len(gradients):,} gradients were not among those that were checked.")
    return kind, " ".join(filter(None, said))


def _worst(report: CheckReport) -> list[CheckRow]:
    """The rows that travel: all while they are few, else of each array the worst."""
    if len(report.rows) <= MOST_ROWS:
        return list(report.rows)
    each = max(2, MOST_ROWS // len(report.blocks))
    return [row for b in report.blocks for row in worst_of(b, each)]


def worst_of(b: Block, most: int) -> list[CheckRow]:
    """The worst rows of one array, in its order."""
    if len(b.where) <= most:
        return list(b.rows())
    order = sorted(range(len(b.where)), key=lambda k: (int(b.codes[k]), -float(b.ranks[k])))[:most]
    return [b.row(k) for k in sorted(order)]


def place(row: CheckRow) -> str:
    """Where in its array a row is: ``[0, 2]``; empty for a single number, ``direction`` for a random one."""
    return "direction" if row.index is None else str(list(row.index)) if row.index else ""


def _verdicts(rows: list[Any], packer: Packer) -> VerdictTable:
    return VerdictTable(
        packer.column([-1 if r.node is None else int(r.node) for r in rows], "i4"),
        packer.column([-1 if r.slot is None else int(r.slot) for r in rows], "i4"),
        packer.column([float(r.analytic) for r in rows], "f8"),
        packer.column([float(r.numeric) for r in rows], "f8"),
        packer.column([float(r.error) for r in rows], "f8"),
        [str(r.scope) for r in rows],
        [str(r.title) for r in rows],
        [place(r) for r in rows],
        [str(r.verdict) for r in rows],
        [str(r.reason or "") for r in rows],
    )


def title(trace: Trace) -> str:
    """What the display is called.

    A trace of several roots names the first three.
    """
    return "Backward pass of " + ", ".join(cut(trace.nodes[r].title) for r in trace.roots[:3])


def build(trace: Trace, *, note: str | None = None) -> bytes:
    """The gzipped container that the stepper opens; with a ``note`` it holds no verdicts, and says why."""
    return _packed(trace, *(_report(trace) if note is None else (None, note)))


def _packed(trace: Trace, report: CheckReport | None, note: str) -> bytes:
    with uncollected():
        content = _container(trace, report, note)
    return gzip.compress(content, 6, mtime=0)


def _container(trace: Trace, report: CheckReport | None, note: str) -> bytes:
    packer = BrowserPacker(*_limits(trace.data))
    parts = header_parts(trace, packer, told=True)
    parts["texts"] = _near(parts["texts"], trace)
    scale = scale_of(trace)
    titles: dict[str, int] = {}
    kind, said = ("", note) if report is None else outcome(trace, report)
    view = ViewEntry(
        title=title(trace),
        called=packer.column([titles.setdefault(called, len(titles)) for called in trace.captions.titles], "d4"),
        titles=list(titles),
        skeleton=skeleton(trace),
        value_max=scale.value,
        gradient_max=scale.gradient,
        formulas=_formulas(trace, packer),
        origins=_origins(trace, packer),
        findings=_findings(trace),
        verdicts=_verdicts([] if report is None else _worst(report), packer),
        check_kind=kind,
        check_note=said,
    )
    return packer.close(PayloadHeader(**parts, arrays=packer.table(), view=view))


def _near(texts: Mapping[str, str], trace: Trace) -> dict[str, str]:
    """Of the source texts what stands near a line that made a node; the other lines are empty, so that all keep their numbers."""
    keep: dict[str, set[int]] = {}
    for n in trace.nodes:
        if n.source is not None:
            keep.setdefault(n.source.file, set()).update(range(n.source.line - NEAR, max(n.source.line, n.source.end_line) + NEAR + 1))
    return {
        name: "\n".join(line if k in keep[name] else "" for k, line in enumerate(text.split("\n"), 1)).rstrip("\n")
        for name, text in texts.items()
        if name in keep
    }


_built: weakref.WeakKeyDictionary[Trace, tuple[CheckReport | None, bytes]] = weakref.WeakKeyDictionary()


def payload(trace: Trace) -> bytes:
    """:func:`build`, once per trace and report."""
    return shipment(trace)[1]


def shipment(trace: Trace) -> tuple[CheckReport | None, bytes]:
    """The same, with the report that is in it; the trace's own may be another by now, where a check runs alongside."""
    found = _built.get(trace)
    if found is None or found[0] is not trace.report:
        report, note = _report(trace)
        found = _built[trace] = (report, _packed(trace, report, note))
    return found
