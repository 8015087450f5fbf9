"""Reads arrays, columns and parameters out of a body. Must not import the engine, the ops or the views."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from tensorviz.errors import RecordError
from tensorviz.trace import Array
from tensorviz.wire.schema import STORED, Opaque


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
        data = self._view(np.dtype(STORED.get(kind, "<" + kind)), (int(entry["count"]),), int(entry["offset"]))
        listed: list[Any] = (np.cumsum(data, dtype=np.int64 if kind == "d4" else None) if kind in STORED else data).tolist()
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
            dtype, shape, offset = self._places[within(index, len(self._places))]
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


def within(index: Any, count: int) -> int:
    if not isinstance(index, int) or not 0 <= index < count:
        raise RecordError(f"position {index!r} of {count}")
    return index
