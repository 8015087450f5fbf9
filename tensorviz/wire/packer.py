"""Lays the arrays and columns of a record out in one body, each array once. Must not import the engine, the ops or the views."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from types import EllipsisType
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorviz.errors import RecordError
from tensorviz.trace import Array
from tensorviz.wire.container import ALIGN, sealed
from tensorviz.wire.schema import STORED, ArrayTable, ColumnEntry, ColumnType, Positions, SummaryEntry, TraceHeader

_SINGLE = frozenset("dflqi?")
"""Characters of the dtypes whose single numbers are packed together: those that every reader has."""
_F8 = np.dtype(np.float64)


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
        self._body.extend(b"\0" * (-len(self._body) % ALIGN))
        at = len(self._body)
        self._body.extend(data)
        return at

    def column(self, values: Iterable[float], type_: ColumnType) -> ColumnEntry:
        """One typed column of the schema."""
        data = np.asarray(list(values) if not isinstance(values, np.ndarray) else values, dtype=STORED.get(type_, "<" + type_))
        if type_ in STORED:
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
        wide = np.zeros((fresh.size, ALIGN), np.uint8)
        wide[:, : dtype.itemsize] = distinct[order][fresh, None].view(np.uint8)
        start, row = self.raw(wide.tobytes()), (kind, self._shapes.setdefault(shape, len(self._shapes)))
        self._rows += [(*row, start + ALIGN * k) for k in range(fresh.size)]
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
        return sealed(header, bytes(self._body))


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
