"""The container: a prefix with a checksum, a header in JSON and a body of raw buffers. Must not import the engine, the ops or the views."""

from __future__ import annotations

import json
import struct
import zlib
from typing import Any

from tensorviz.arguments import shown
from tensorviz.errors import RecordError
from tensorviz.trace import SCHEMA_VERSION
from tensorviz.wire.schema import TraceHeader

MAGIC = b"\x89TVZ\r\n\x1a\n"
"""As in PNG: a byte over 127, a name, and line ends that a text-mode transfer would spoil."""

_PREFIX = struct.Struct("<8sIIQQ")
"""Mark, version, checksum of the rest, bytes of the header, bytes of the body: 32 bytes, so that the header starts aligned."""

ALIGN = 8
"""The widest element a browser can view; every array starts on a multiple of it."""


def sealed(header: TraceHeader, body: bytes) -> bytes:
    """The finished container of a header and a body."""
    text = json.dumps(header, default=vars, allow_nan=False, separators=(",", ":")).encode("ascii")
    text += b" " * (-len(text) % ALIGN)
    return _PREFIX.pack(MAGIC, SCHEMA_VERSION, zlib.crc32(body, zlib.crc32(text)), len(text), len(body)) + text + body


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
