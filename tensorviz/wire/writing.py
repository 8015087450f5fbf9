"""A trace to bytes, and to a file. Must not import the engine, the ops or the views."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from tensorviz.arguments import file, writing
from tensorviz.making import uncollected
from tensorviz.trace import SCHEMA_VERSION, Array, Source, Trace, TraceNode
from tensorviz.wire.packer import Packer, encode
from tensorviz.wire.schema import KIND, FileHeader, NodeForm, NodeTable, ShareTable, SourceEntry, StepTable


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
            by_hand=[k for k, s in enumerate(shares) if s.by_hand],
        ),
        "steps": StepTable(
            c([KIND[s.kind] for s in steps], "i1"),
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
    with writing("save", path):
        _replace(Path(os.path.realpath(path)), content)


def _replace(target: Path, content: bytes) -> None:
    if target.exists() and not target.is_file():
        target.write_bytes(content)
        return
    mode = target.stat().st_mode & 0o777 if target.exists() else None
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:40]}.")
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
