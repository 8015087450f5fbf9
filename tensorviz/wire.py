"""A trace to bytes and back: one schema for the file, the widget and the page. Must not import the engine, the ops or the views."""

from __future__ import annotations

import json
import math
import os
import re
import struct
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field
from dataclasses import fields as dataclass_fields
from hashlib import blake2b
from itertools import accumulate, islice
from pathlib import Path
from types import EllipsisType, MappingProxyType
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tensorviz.arguments import file, shown
from tensorviz.errors import RecordError
from tensorviz.trace import (
    SCHEMA_VERSION,
    Array,
    NodeKind,
    Share,
    Source,
    Step,
    StepKind,
    Trace,
    TraceData,
    TraceNode,
    seal,
    uncollected,
    unsealed,
    validate,
)

MAGIC = b"\x89TVZ\r\n\x1a\n"
"""As in PNG: a byte over 127, a name, and line ends that a text-mode transfer would spoil."""

_PREFIX = struct.Struct("<8sIIQQ")
"""Mark, version, checksum of the rest, bytes of the header, bytes of the body: 32 bytes, so that the header starts aligned."""

_ALIGN = 8
"""The widest element a browser can view; every array starts on a multiple of it."""

STEP_KINDS: tuple[StepKind, ...] = ("seed", "pull", "unbroadcast", "accumulate", "leaf")
"""A step's kind travels as its position in this tuple."""
_KIND = {kind: k for k, kind in enumerate(STEP_KINDS)}

_SINGLE = frozenset("dflqi?")
"""Characters of the dtypes whose single numbers are packed together: those that every reader has."""
_F8 = np.dtype(np.float64)

Positions = npt.NDArray[np.int32]
"""Of arrays in the table, -1 for none."""

ColumnType = Literal["i1", "i4", "f4", "f8", "d4", "d8"]
"""Little-endian; ``d4`` and ``d8`` hold whole numbers as ``i4`` and ``f8``, each as its difference to the one before: what climbs step by step packs to nearly nothing."""

_STORED = {"d4": "<i4", "d8": "<f8"}


# ---- the schema: widgets/src/trace.ts is generated from these classes ---------------------------------------------


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


# ---- packing ----------------------------------------------------------------------------------------------------------


class Packer:
    """Collects the arrays of a record, each once, and lays them out one after the other."""

    def __init__(self) -> None:
        self._body = bytearray()
        self._seen: dict[Any, int] = {}
        self._by_id: dict[int, int] = {}
        self._alive: list[Array] = []
        self._dtypes: dict[str, int] = {}
        self._codes: dict[np.dtype[Any], int] = {}
        self._shapes: dict[tuple[int, ...], int] = {}
        self._rows: list[tuple[int, int, int]] = []
        self.summaries: dict[str, SummaryEntry] = {}

    def raw(self, data: bytes | memoryview) -> int:
        """Append bytes on an aligned place and return where they start."""
        self._body.extend(b"\0" * (-len(self._body) % _ALIGN))
        at = len(self._body)
        self._body.extend(data)
        return at

    def column(self, values: Iterable[float], type_: ColumnType) -> ColumnEntry:
        """One typed column of the schema."""
        data = np.asarray(list(values) if not isinstance(values, np.ndarray) else values, dtype=_STORED.get(type_, "<" + type_))
        if type_ in _STORED:
            data = np.diff(data, prepend=data.dtype.type(0))
        return ColumnEntry(type_, self.raw(data.tobytes()), int(data.size))

    def array(self, a: npt.ArrayLike | None) -> int:
        """The position of an array in the table; -1 for None. Equal arrays (same dtype, shape and bytes) are kept once."""
        if a is None:
            return -1
        known = self._by_id.get(id(a))
        if known is not None:
            return known
        data = np.asarray(a)
        kind = self._kind(data.dtype)
        buffer = data.tobytes()
        key = (kind, data.shape, buffer if len(buffer) <= 64 else blake2b(buffer, digest_size=16).digest())
        index = self._seen.get(key)
        if index is None:
            index = self._seen[key] = len(self._rows)
            shape = self._shapes.setdefault(data.shape, len(self._shapes))
            self._rows.append((kind, shape, -1))
            self._rows[index] = (kind, shape, self.place(index, data, buffer))
        if isinstance(a, np.ndarray):  # its id stays its own while it is held here
            self._by_id[id(a)] = index
            self._alive.append(a)
        return index

    def arrays(self, arrays: Sequence[Array | None]) -> Positions:
        """The positions of many arrays. Single numbers are looked at together, however many there are."""
        ids = np.fromiter(map(id, arrays), np.uint64, len(arrays))
        _, first, where = np.unique(ids, return_index=True, return_inverse=True)
        order = np.argsort(first)  # as they come by: neighbours in the record are neighbours in the table
        each = [arrays[k] for k in first[order]]
        singles: dict[tuple[str, tuple[int, ...]], list[int]] = {}
        at = np.empty(len(each), np.int32)
        plain = singles.setdefault(("d", ()), [])
        for k, a in enumerate(each):
            if a is not None and a.ndim == 0 and a.dtype is _F8:
                plain.append(k)
            elif a is not None and a.size == 1 and a.dtype.isnative and a.dtype.char in _SINGLE:
                singles.setdefault((a.dtype.char, a.shape), []).append(k)
            else:
                at[k] = self.array(a)
        for some in filter(None, singles.values()):
            at[some] = self._numbers([each[k] for k in some])
        rank = np.empty_like(order)
        rank[order] = np.arange(order.size)
        return at[rank[where.reshape(-1)]]

    def _numbers(self, arrays: Sequence[Any]) -> Positions:
        """The positions of arrays of one number each, all of one dtype and shape."""
        dtype, shape = arrays[0].dtype, arrays[0].shape
        numbers = np.fromiter(arrays, dtype, len(arrays)) if not shape else np.array(arrays, dtype).reshape(-1)
        bits = numbers.view(f"u{dtype.itemsize}")
        distinct, first, where = np.unique(bits, return_index=True, return_inverse=True)
        order = np.argsort(first)
        rank = np.empty_like(order)
        rank[order] = np.arange(order.size)
        kind = self._kind(dtype)
        keys = [(kind, shape, number) for number in distinct[order].view(f"V{dtype.itemsize}").tolist()]
        known = np.array([self._seen.get(key, -1) for key in keys], np.int64)
        fresh = np.flatnonzero(known < 0)
        known[fresh] = np.arange(len(self._rows), len(self._rows) + fresh.size)
        self._seen.update(zip([keys[k] for k in fresh], known[fresh].tolist(), strict=True))
        wide = np.zeros((fresh.size, _ALIGN), np.uint8)
        wide[:, : dtype.itemsize] = distinct[order][fresh, None].view(np.uint8)
        start, row = self.raw(wide.tobytes()), (kind, self._shapes.setdefault(shape, len(self._shapes)))
        self._rows += [(*row, start + _ALIGN * k) for k in range(fresh.size)]
        return known[rank[where.reshape(-1)]].astype(np.int32)

    def _kind(self, dtype: np.dtype[Any]) -> int:
        kind = self._codes.get(dtype)
        if kind is None:
            if dtype.hasobject or dtype.kind not in "biufcSU":
                raise RecordError(f"an array of dtype {dtype} cannot be written: it holds more than plain numbers or text")
            kind = self._codes[dtype] = self._dtypes.setdefault(dtype.str, len(self._dtypes))
        return kind

    def place(self, index: int, data: Array, buffer: bytes) -> int:
        """Where an array's bytes lie; -1 if a summary was written in its stead."""
        return self.raw(buffer)

    def table(self) -> ArrayTable:
        rows = self._rows
        return ArrayTable(
            list(self._dtypes),
            [list(s) for s in self._shapes],
            self.column([r[0] for r in rows], "d4"),
            self.column([r[1] for r in rows], "d4"),
            self.column([r[2] for r in rows], "d8"),
            self.summaries,
        )

    def close(self, header: TraceHeader) -> bytes:
        """The finished container."""
        text = json.dumps(header, default=vars, allow_nan=False, separators=(",", ":")).encode("ascii")
        text += b" " * (-len(text) % _ALIGN)
        body = bytes(self._body)
        return _PREFIX.pack(MAGIC, SCHEMA_VERSION, zlib.crc32(body, zlib.crc32(text)), len(text), len(body)) + text + body


def encode(value: Any, packer: Packer) -> Any:
    """One parameter as JSON. What JSON has no word for becomes an object with one telling key."""
    if value is None or isinstance(value, (bool, str)) or type(value) is int:
        return value
    if type(value) is float:
        return value if np.isfinite(value) else {"float": repr(value)}
    if isinstance(value, (np.generic, np.ndarray)):
        kind = "scalar" if isinstance(value, np.generic) else "array"
        return {kind: packer.array(value)} if not value.dtype.hasobject else {"opaque": repr(value)}
    if isinstance(value, list):
        return [encode(v, packer) for v in value]
    if isinstance(value, tuple):
        return {"tuple": [encode(v, packer) for v in value]}
    if isinstance(value, Mapping):
        return {"dict": [[encode(k, packer), encode(v, packer)] for k, v in value.items()]}
    if isinstance(value, slice):
        return {"slice": [encode(v, packer) for v in (value.start, value.stop, value.step)]}
    if isinstance(value, EllipsisType):
        return {"ellipsis": True}
    if isinstance(value, np.dtype):
        return {"dtype": value.str}
    if isinstance(value, type) and issubclass(value, (np.generic, int, float)):
        return {"dtype": np.dtype(value).str}
    return {"opaque": repr(value)[:200]}


def header_parts(trace: Trace, packer: Packer, *, told: bool) -> dict[str, Any]:
    """The fields of a :class:`TraceHeader` for ``trace``, but for the table of arrays, which must come last.

    ``told``: with every caption; otherwise only where the steps came with theirs, which cannot be told from the record.
    """
    data = trace.data
    shares = [s for n in data.nodes for s in n.shares]
    position = {id(s): k for k, s in enumerate(shares)}
    for step in data.steps:
        if step.share is not None and id(step.share) not in position:
            position[id(step.share)] = len(shares)
            shares.append(step.share)
    sources: dict[int, tuple[int, Source]] = {}
    places: dict[Source, int] = {}
    for n in data.nodes:
        if n.source is not None and id(n.source) not in sources:
            sources[id(n.source)] = (places.setdefault(n.source, len(places)), n.source)
    nodes, steps = data.nodes, data.steps
    listed: list[list[Array | None]] = [
        [n.value for n in nodes],
        [v for n in nodes for v in n.saved.values()],
        [n.cotangent for n in nodes],
        [s.local for s in shares],
        [s.value for s in shares],
        [s.total for s in shares],
        [s.route for s in shares],
        [s.before for s in steps],
        [s.after for s in steps],
    ]
    found = packer.arrays([a for some in listed for a in some])
    ends = list(accumulate(map(len, listed)))
    value, saved, cotangent, local, sent, total, route, before, after = np.split(found, ends[:-1])
    c = packer.column
    forms, form = _forms(nodes, {i: k for i, (k, _) in sources.items()}, packer)
    names: dict[str, int] = {}
    axes: dict[tuple[int, ...], int] = {(): 0}
    captions: dict[str, int] = {}
    templates = map(trace.captions.template, range(len(steps))) if told or trace.captions.given else ()
    return {
        "schema": SCHEMA_VERSION,
        "complete": data.complete,
        "roots": list(data.roots),
        "nodes": NodeTable(
            forms,
            name=c([-1 if n.name is None else names.setdefault(n.name, len(names)) for n in nodes], "d4"),
            names=list(names),
            form=c(form, "d4"),
            inputs=c([i for n in nodes for i in n.inputs], "d4"),
            value=c(value, "d4"),
            saved=c(saved, "d4"),
            shares=c([len(n.shares) for n in nodes], "d4"),
            cotangent=c(cotangent, "d4"),
        ),
        "shares": ShareTable(
            c([s.consumer for s in shares], "d4"),
            c([s.slot for s in shares], "d4"),
            c([s.target for s in shares], "d4"),
            c(local, "d4"),
            c(sent, "d4"),
            c(total, "d4"),
            c(route, "d4"),
            summed_axes=c([axes.setdefault(tuple(s.summed_axes), len(axes)) for s in shares], "d4"),
            axes=[list(a) for a in axes],
        ),
        "steps": StepTable(
            c([_KIND[s.kind] for s in steps], "i1"),
            c([s.node for s in steps], "d4"),
            c([-1 if s.share is None else position[id(s.share)] for s in steps], "d4"),
            c(before, "d4"),
            c(after, "d4"),
            caption=c([captions.setdefault(text, len(captions)) for text in templates], "d4"),
            captions=list(captions),
        ),
        "sources": [SourceEntry(s.file, s.line, s.function, s.code, s.end_line, s.column, s.end_column) for s in places],
        "texts": {str(k): str(v) for k, v in trace.sources.items()},
    }


def _forms(nodes: Sequence[TraceNode], sources: Mapping[int, int], packer: Packer) -> tuple[list[NodeForm], list[int]]:
    """The distinct forms, and that of every node."""
    forms: list[NodeForm] = []
    known: dict[Any, int] = {}
    found = []
    for n in nodes:
        params = {str(k): encode(v, packer) for k, v in n.params.items()} if n.params else {}
        source = -1 if n.source is None else sources[id(n.source)]
        key = (
            *(n.op, n.label, n.shape, n.dtype, n.kind, n.requires_grad, n.scope, source, len(n.inputs), n.slots, n.formulas, n.word, n.weak),
            *(tuple(n.saved), tuple(n.saved_from.items()), n.cut, n.behind, n.changed, json.dumps(params) if params else ""),
        )
        at = known.get(key)
        if at is None:
            at = known[key] = len(forms)
            forms.append(
                NodeForm(
                    op=n.op,
                    label=n.label,
                    params=params,
                    shape=list(n.shape),
                    dtype=n.dtype,
                    kind=n.kind,
                    requires_grad=bool(n.requires_grad),
                    scope=n.scope,
                    source=source,
                    arity=len(n.inputs),
                    slots=list(n.slots),
                    formulas=list(n.formulas),
                    word=n.word,
                    weak=n.weak,
                    saved=list(n.saved),
                    saved_from=dict(n.saved_from),
                    cut=n.cut,
                    behind=list(n.behind),
                    changed=n.changed,
                )
            )
        found.append(at)
    return forms, found


def dumps(trace: Trace) -> bytes:
    """The trace as one container, every array in full and in its own dtype, with what its latest check found."""
    packer = Packer()
    with uncollected():
        parts = header_parts(trace, packer, told=False)
    return packer.close(FileHeader(**parts, arrays=packer.table(), report=_report(trace, packer)))


def _report(trace: Trace, packer: Packer) -> dict[str, Any] | None:
    if trace.report is None:
        return None
    from tensorviz.checks.kept import told

    return told(trace.report, packer.column)


def save(trace: Trace, path: str | os.PathLike[str]) -> None:
    """Write a trace to one file. The file appears whole or not at all; links are followed, and what is no plain file is written to as it is."""
    path = file("save", path)
    content = dumps(trace)
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        target.write_bytes(content)
        return
    mode = target.stat().st_mode & 0o777 if target.exists() else None
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:40]}.")
    except OSError as error:
        raise type(error)(error.errno, error.strerror, os.fspath(path)) from None
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        part.chmod(mode if mode is not None else 0o666 & ~_umask())
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _umask() -> int:
    """The permissions that new files of this process do not get; reading it means setting it."""
    current = os.umask(0o022)
    os.umask(current)
    return current


# ---- unpacking ----------------------------------------------------------------------------------------------------------


def unpack(content: bytes, name: str = "this") -> tuple[dict[str, Any], memoryview]:
    """Header and body of a container, or a :class:`RecordError` that says what is wrong with it."""
    if not content:
        raise RecordError(f"{name} is empty, no tensorviz trace")
    if content[: len(MAGIC)] != MAGIC[: len(content)]:
        raise RecordError(f"{name} is not a tensorviz trace: it does not begin with the mark that Trace.save writes")
    if len(content) < _PREFIX.size:
        raise RecordError(f"{name} is truncated: it ends after {len(content)} bytes, inside its first {_PREFIX.size}")
    _, version, checksum, header_bytes, body_bytes = _PREFIX.unpack_from(content)
    if version > SCHEMA_VERSION:
        raise RecordError(
            f"{name} was written by a newer tensorviz (format {version}; this one reads up to {SCHEMA_VERSION}): update tensorviz to open it"
        )
    if version < SCHEMA_VERSION:
        raise RecordError(
            f"{name} was written by an earlier tensorviz (format {version}; this one reads {SCHEMA_VERSION}): run the program again, and save it anew"
        )
    whole = _PREFIX.size + header_bytes + body_bytes
    if len(content) < whole:
        raise RecordError(f"{name} is truncated: {len(content):,} of {whole:,} bytes are there")
    if len(content) > whole or zlib.crc32(memoryview(content)[_PREFIX.size :]) != checksum:
        raise RecordError(f"{name} is damaged: its bytes are not those that were written (checksum)")
    text = content[_PREFIX.size : _PREFIX.size + header_bytes]
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RecordError(f"{name} has a header that cannot be read: {error}") from error
    if not isinstance(header, dict):
        raise RecordError(f"{name} has a header that is no table: {shown(header)}")
    return header, memoryview(content)[_PREFIX.size + header_bytes :]


class Unpacker:
    """Reads arrays and columns out of a body; everything is checked against its length."""

    def __init__(self, header: dict[str, Any], body: memoryview) -> None:
        self._body = body
        table = header["arrays"]
        self._dtypes = [_plain_dtype(d) for d in table["dtypes"]]
        self._shapes = [tuple(int(i) for i in s) for s in table["shapes"]]
        self._places = list(zip(self.column(table["dtype"]), self.column(table["shape"]), self.column(table["offset"]), strict=True))
        self._made: dict[int, Array] = {}

    def column(self, entry: dict[str, Any]) -> list[Any]:
        kind = entry["type"]
        data = self._view(np.dtype(_STORED.get(kind, "<" + kind)), (int(entry["count"]),), int(entry["offset"]))
        listed: list[Any] = (np.cumsum(data, dtype=np.int64 if kind == "d4" else None) if kind in _STORED else data).tolist()
        return listed

    def _view(self, dtype: np.dtype[Any], shape: tuple[int, ...], offset: int) -> Array:
        count = math.prod(shape)
        if offset < 0 or min(shape, default=0) < 0 or offset + count * dtype.itemsize > len(self._body):
            raise RecordError("an array lies outside the file")
        if count == 0:
            empty = np.empty(shape, dtype)
            empty.flags.writeable = False
            return empty
        return np.frombuffer(self._body, dtype, count, offset).reshape(shape)

    def array(self, index: int) -> Array | None:
        if index == -1:
            return None
        if index not in self._made:
            dtype, shape, offset = self._places[_position(index, len(self._places))]
            if offset < 0:
                raise RecordError("this record was made for a browser and holds summaries in place of its large arrays")
            self._made[index] = self._view(self._dtypes[dtype], self._shapes[shape], int(offset))
        return self._made[index]

    def need(self, index: int) -> Array:
        a = self.array(index)
        if a is None:
            raise RecordError("an array that every record has is missing")
        return a

    def decode(self, value: Any) -> Any:
        """The parameter that :func:`encode` wrote."""
        if isinstance(value, list):
            return [self.decode(v) for v in value]
        if not isinstance(value, dict):
            return value
        (kind, inner), *more = value.items()
        if more:
            raise RecordError(f"a parameter of unknown form: {sorted(value)}")
        match kind:
            case "float":
                return float(inner)
            case "tuple":
                return tuple(self.decode(v) for v in inner)
            case "slice":
                return slice(*(self.decode(v) for v in inner))
            case "ellipsis":
                return Ellipsis
            case "array":
                return self.need(inner)
            case "scalar":
                return self.need(inner)[()]
            case "dtype":
                return _plain_dtype(inner)
            case "dict":
                return {self.decode(k): self.decode(v) for k, v in inner}
            case "opaque":
                return Opaque(str(inner))
        raise RecordError(f"a parameter of unknown kind {kind!r}")


def _plain_dtype(text: str) -> np.dtype[Any]:
    # as NumPy writes them; what else it would read has aliases that it warns of
    if re.fullmatch(r"[<>|=]?[biufcSU]\d+", str(text)) is None:
        raise RecordError(f"the dtype {text!r} is none that a trace holds")
    return np.dtype(str(text))


def _position(index: Any, count: int) -> int:
    if not isinstance(index, int) or not 0 <= index < count:
        raise RecordError(f"position {index!r} of {count}")
    return index


def _exactly(cls: type, entry: dict[str, Any]) -> dict[str, Any]:
    """The fields of ``cls`` in ``entry``; a missing one raises KeyError, unless it has a default: then older files lack it."""
    optional = {f.name for f in dataclass_fields(cls) if f.default is not MISSING or f.default_factory is not MISSING}
    return {f.name: entry[f.name] for f in dataclass_fields(cls) if f.name in entry or f.name not in optional}


def loads(content: bytes, name: str = "this") -> Trace:
    """The trace in a container. Nothing of it is run; what does not hold together raises :class:`RecordError`."""
    header, body = unpack(content, name)
    try:
        read = Unpacker(header, body)
        with uncollected():
            trace = Trace(validate(_rebuild(header, read)))
        if header.get("report") is not None:
            from tensorviz.checks.kept import read as reported

            trace.report = reported(header["report"], read.column, len(trace.nodes))
        return trace
    except RecordError as error:
        raise RecordError(f"{name}: {error}") from error
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise RecordError(f"{name} does not hold a record of this format: {type(error).__name__}: {error}") from error


def _rebuild(header: dict[str, Any], read: Unpacker) -> TraceData:
    sources = [Source(**_exactly(SourceEntry, s)) for s in header["sources"]]
    t = header["shares"]
    names = ("consumer", "slot", "target", "local", "value", "total", "route", "summed_axes")
    axes = [tuple(a) for a in t["axes"]]
    make = unsealed(Share)
    shares = [
        make(consumer, slot, target, read.need(local), axes[_position(summed, len(axes))], read.need(value), read.need(total), read.array(route))
        for consumer, slot, target, local, value, total, route, summed in zip(*(read.column(t[n]) for n in names), strict=True)
    ]
    seal(Share, shares)
    nodes = tuple(_nodes(header["nodes"], sources, shares, read))
    seal(TraceNode, nodes)
    t = header["steps"]
    columns = [read.column(t[n]) for n in ("kind", "node", "share", "before", "after")]
    texts = [str(text).replace("{{", "{") for text in t["captions"]]
    captions = [texts[_position(k, len(texts))] for k in read.column(t["caption"])] or [""] * len(columns[0])
    step_of = unsealed(Step)
    steps = tuple(
        step_of(
            kind=STEP_KINDS[_position(kind, len(STEP_KINDS))],
            node=node,
            share=None if share == -1 else shares[_position(share, len(shares))],
            before=read.array(before),
            after=read.array(after),
            caption=caption,
        )
        for kind, node, share, before, after, caption in zip(*columns, captions, strict=True)
    )
    seal(Step, steps)
    files = {str(k): str(v) for k, v in header.get("texts", {}).items()}
    return TraceData(nodes, steps, tuple(header["roots"]), bool(header["complete"]), MappingProxyType(files))


def _nodes(table: dict[str, Any], sources: Sequence[Source], shares: Sequence[Share], read: Unpacker) -> Iterator[TraceNode]:
    forms = [NodeForm(**_exactly(NodeForm, f)) for f in table["forms"]]
    common = [
        {
            "op": f.op,
            "label": f.label,
            "params": MappingProxyType({k: read.decode(v) for k, v in f.params.items()}),
            "shape": tuple(f.shape),
            "dtype": f.dtype,
            "kind": f.kind,
            "requires_grad": f.requires_grad,
            "scope": f.scope,
            "source": None if f.source == -1 else sources[_position(f.source, len(sources))],
            "slots": tuple(f.slots),
            "formulas": tuple(f.formulas),
            "word": f.word,
            "weak": f.weak,
            "saved_from": MappingProxyType(dict(f.saved_from)),
            "cut": f.cut,
            "behind": tuple(str(b) for b in f.behind),
            "changed": bool(f.changed),
        }
        for f in forms
    ]
    make = unsealed(TraceNode)
    inputs, saved, received = iter(read.column(table["inputs"])), iter(read.column(table["saved"])), iter(shares)
    columns = (read.column(table[n]) for n in ("form", "name", "value", "shares", "cotangent"))
    for position, (form, name, value, count, cotangent) in enumerate(zip(*columns, strict=True)):
        f = forms[_position(form, len(forms))]
        yield make(
            id=position,
            name=None if name == -1 else table["names"][_position(name, len(table["names"]))],
            inputs=_next("inputs", inputs, f.arity),
            value=read.need(value),
            saved=MappingProxyType(dict(zip(f.saved, map(read.need, _next("saved values", saved, len(f.saved))), strict=True))),
            shares=_next("shares", received, count),
            cotangent=read.array(cotangent),
            **common[form],
        )
    for what, rest in (("inputs", inputs), ("saved values", saved)):
        if next(rest, None) is not None:
            raise RecordError(f"there are more {what} than the nodes have")


def _next(what: str, rest: Iterator[Any], count: int) -> tuple[Any, ...]:
    """The next of what stands one after the other."""
    found = tuple(islice(rest, max(0, count)))
    if len(found) != count:
        raise RecordError(f"there are fewer {what} than the nodes have")
    return found


def load(path: str | os.PathLike[str]) -> Trace:
    """Read a trace that :meth:`Trace.save` wrote. Loading runs nothing.

    Raises :class:`RecordError` for a file that is truncated, damaged, from a newer tensorviz, or none of ours.
    """
    return loads(file("load", path).read_bytes(), str(path))
