"""What a container holds: widgets/src/trace.ts is generated from these classes. Must not import the engine, the ops or the views."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tensorviz.trace import NodeKind, StepKind

STEP_KINDS: tuple[StepKind, ...] = ("seed", "pull", "unbroadcast", "accumulate", "leaf")
"""A step's kind travels as its position in this tuple."""
KIND = {kind: k for k, kind in enumerate(STEP_KINDS)}

Positions = npt.NDArray[np.int32]
"""Of arrays in the table, -1 for none."""

ColumnType = Literal["i1", "i4", "f4", "f8", "d4", "d8"]
"""Little-endian; ``d4`` and ``d8`` hold whole numbers as ``i4`` and ``f8``, each as its difference to the one before: what climbs step by step packs to nearly nothing."""

STORED = {"d4": "<i4", "d8": "<f8"}


@dataclass(frozen=True)
class ColumnEntry:
    """One typed array in the body, counted in elements from a byte offset."""

    type: ColumnType
    offset: int
    count: int


@dataclass(frozen=True)
class SummaryEntry:
    """What stands for an array that is too large to travel: eight figures and a down-sampled picture."""

    stats: ColumnEntry
    """min, max, mean, norm of the finite entries, then the counts of NaN, +inf, -inf and zero."""
    picture: ColumnEntry
    rows: int
    columns: int


@dataclass(frozen=True)
class ArrayTable:
    """Every array of the record, each once; other parts name an array by its position here, -1 for none."""

    dtypes: list[str]
    shapes: list[list[int]]
    dtype: ColumnEntry
    shape: ColumnEntry
    offset: ColumnEntry
    """Byte offset into the body; -1 for an array of which only the summary is there."""
    summaries: dict[str, SummaryEntry] = field(default_factory=dict)


@dataclass(frozen=True)
class SourceEntry:
    """A place in the user's code."""

    file: str
    line: int
    function: str
    code: str
    end_line: int
    column: int
    end_column: int


@dataclass(frozen=True)
class NodeForm:
    """What nodes made by the same line have in common: everything but their numbers, their name and their place in the graph."""

    op: str
    label: str
    params: dict[str, Any]
    shape: list[int]
    dtype: str
    kind: NodeKind
    requires_grad: bool
    scope: str
    source: int
    arity: int
    """How many inputs each has."""
    slots: list[str]
    formulas: list[str]
    word: str
    weak: bool
    saved: list[str]
    saved_from: dict[str, int]
    cut: int | None
    behind: list[str] = field(default_factory=list)
    changed: bool = False


@dataclass(frozen=True)
class NodeTable:
    """Every value of the forward pass, column by column."""

    forms: list[NodeForm]
    names: list[str]
    form: ColumnEntry
    name: ColumnEntry
    """Positions in ``names``; -1 for none."""
    inputs: ColumnEntry
    """Those of all nodes one after the other, of each as many as its form says; so are ``saved``."""
    value: ColumnEntry
    saved: ColumnEntry
    shares: ColumnEntry
    """How many each received; they stand one after the other in the table of shares."""
    cotangent: ColumnEntry


@dataclass(frozen=True)
class ShareTable:
    """Every share, column by column."""

    consumer: ColumnEntry
    slot: ColumnEntry
    target: ColumnEntry
    local: ColumnEntry
    value: ColumnEntry
    total: ColumnEntry
    route: ColumnEntry
    axes: list[list[int]]
    summed_axes: ColumnEntry
    """Positions in ``axes``."""
    by_hand: list[int] = field(default_factory=list)
    """The shares that were set in a rerun."""


@dataclass(frozen=True)
class StepTable:
    """Every step, column by column."""

    kind: ColumnEntry
    node: ColumnEntry
    share: ColumnEntry
    before: ColumnEntry
    after: ColumnEntry
    captions: list[str]
    """Templates, as ``views.captions`` has them."""
    caption: ColumnEntry
    """Positions in ``captions``; empty in a file whose steps are told from the record itself."""


@dataclass(frozen=True)
class TraceHeader:
    """The JSON part: everything that is no number of an array."""

    schema: int
    complete: bool
    roots: list[int]
    nodes: NodeTable
    shares: ShareTable
    steps: StepTable
    sources: list[SourceEntry]
    texts: dict[str, str]
    """The whole text of each file or cell that made nodes, by the ``file`` of its sources."""
    arrays: ArrayTable


@dataclass(frozen=True)
class FileHeader(TraceHeader):
    """The header of a file."""

    report: dict[str, Any] | None
    """What the latest check found; see ``tensorviz.checks.kept``."""


@dataclass(frozen=True)
class Opaque:
    """What stands in a loaded trace for a parameter that is no data (a function, a random generator): how it printed."""

    text: str

    def __repr__(self) -> str:
        return self.text
