"""Bytes, and a file, to a trace. Must not import the engine, the ops or the views."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import MISSING
from dataclasses import fields as dataclass_fields
from itertools import islice
from types import MappingProxyType
from typing import Any

from tensorviz.arguments import file, reading
from tensorviz.errors import RecordError
from tensorviz.making import seal, uncollected, unsealed
from tensorviz.trace import Share, Source, Step, Trace, TraceData, TraceNode, validate
from tensorviz.wire.container import unpack
from tensorviz.wire.schema import STEP_KINDS, NodeForm, SourceEntry
from tensorviz.wire.unpacker import Unpacker, within


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
    by_hand = {within(k, t["consumer"]["count"]) for k in t.get("by_hand", ())}
    make = unsealed(Share)
    shares = [
        make(
            consumer,
            slot,
            target,
            read.need(local),
            axes[within(summed, len(axes))],
            read.need(value),
            read.need(total),
            read.array(route),
            k in by_hand,
        )
        for k, (consumer, slot, target, local, value, total, route, summed) in enumerate(zip(*(read.column(t[n]) for n in names), strict=True))
    ]
    seal(Share, shares)
    nodes = tuple(_nodes(header["nodes"], sources, shares, read))
    seal(TraceNode, nodes)
    t = header["steps"]
    columns = [read.column(t[n]) for n in ("kind", "node", "share", "before", "after")]
    texts = [str(text).replace("{{", "{") for text in t["captions"]]
    captions = [texts[within(k, len(texts))] for k in read.column(t["caption"])] or [""] * len(columns[0])
    step_of = unsealed(Step)
    steps = tuple(
        step_of(
            kind=STEP_KINDS[within(kind, len(STEP_KINDS))],
            node=node,
            share=None if share == -1 else shares[within(share, len(shares))],
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
            "source": None if f.source == -1 else sources[within(f.source, len(sources))],
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
        f = forms[within(form, len(forms))]
        yield make(
            id=position,
            name=None if name == -1 else table["names"][within(name, len(table["names"]))],
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
    source = file("load", path)
    with reading("load", source):
        content = source.read_bytes()
    return loads(content, str(source))


def _exactly(cls: type, entry: dict[str, Any]) -> dict[str, Any]:
    """The fields of ``cls`` in ``entry``; a missing one raises KeyError, unless it has a default: then older files lack it."""
    optional = {f.name for f in dataclass_fields(cls) if f.default is not MISSING or f.default_factory is not MISSING}
    return {f.name: entry[f.name] for f in dataclass_fields(cls) if f.name in entry or f.name not in optional}
