"""A trace to bytes and back: one schema for the file, the widget and the page. Must not import the engine, the ops or the views."""

from tensorviz.wire.container import MAGIC, unpack
from tensorviz.wire.packer import Packer
from tensorviz.wire.reading import load, loads
from tensorviz.wire.schema import (
    STEP_KINDS,
    ArrayTable,
    ColumnEntry,
    FileHeader,
    NodeForm,
    NodeTable,
    Opaque,
    ShareTable,
    SourceEntry,
    StepTable,
    SummaryEntry,
    TraceHeader,
)
from tensorviz.wire.unpacker import Unpacker
from tensorviz.wire.writing import dumps, header_parts, save

__all__ = [
    "MAGIC",
    "STEP_KINDS",
    "ArrayTable",
    "ColumnEntry",
    "FileHeader",
    "NodeForm",
    "NodeTable",
    "Opaque",
    "Packer",
    "ShareTable",
    "SourceEntry",
    "StepTable",
    "SummaryEntry",
    "TraceHeader",
    "Unpacker",
    "dumps",
    "header_parts",
    "load",
    "loads",
    "save",
    "unpack",
]
