"""What a page asks of the kernel while there is one: a run with something changed, and slices of large arrays. Must not import engine or ops."""

from __future__ import annotations

import ast
import json
import weakref
from collections.abc import Mapping
from typing import Any

import numpy as np

from tensorviz.arguments import shown
from tensorviz.errors import IndexingError, OptionError
from tensorviz.trace import Array, Share, Trace
from tensorviz.widgets.payload import build

SLICE_CAP = 2_000
"""Entries that one slice may have: what a person reads, not what a program loads."""

UNCHECKED = "Not checked: a share was changed, so the gradients are no derivatives any more."

_runs: weakref.WeakKeyDictionary[Trace, tuple[str, Trace]] = weakref.WeakKeyDictionary()
"""The latest run of each record, and what had been changed for it."""


def answer(trace: Trace, wish: Any) -> tuple[dict[str, Any], list[bytes]]:
    """What goes back to the page, as JSON and buffers; what cannot be done is said under ``error``. Nothing is raised: a page must hear of everything.

    ``{"kind": "run", "changes": ...}`` gives a container as :func:`payload.build` makes it. ``{"kind": "slice", "name": "value:3", "index": "[0, :5]"}``
    gives the entries as float64, and their shape. ``changes`` is what :func:`run_of` takes.
    """
    if not isinstance(wish, Mapping):
        return {"error": "a wish is a mapping"}, []
    head = {"kind": wish.get("kind"), "serial": wish.get("serial")}
    try:
        run = run_of(trace, wish.get("changes") or {})
        if wish.get("kind") == "run":
            note = UNCHECKED if (wish.get("changes") or {}).get("shares") else None
            return head, [build(run, note=note)]
        if wish.get("kind") == "slice":
            found = sliced(array_named(run, str(wish.get("name"))), str(wish.get("index")))
            return head | {"shape": list(found.shape), "dtype": str(found.dtype)}, [np.ascontiguousarray(found, dtype=np.float64).tobytes()]
        return head | {"error": f"no wish is called {shown(wish.get('kind'))}; there are run and slice"}, []
    except Exception as error:  # noqa: BLE001 - an op's own rule may raise anything on numbers it was not made for
        return head | {"error": f"{type(error).__name__}: {error}" if not str(error) else str(error)}, []


def run_of(trace: Trace, changes: Mapping[str, Any]) -> Trace:
    """The record with some entries changed; the record itself where none is.

    ``changes``: ``{"values": [[node, position, number], ...], "shares": [[edge, position, number], ...]}``; positions are flat, and None in a share
    stands for all of it. Numbers may be words (``"NaN"``), since JSON has none for these. The latest run of each record is kept.
    """
    values, shares = changes.get("values") or [], changes.get("shares") or []
    if not values and not shares:
        return trace
    key = json.dumps([values, shares])
    known = _runs.get(trace)
    if known is None or known[0] != key:
        known = _runs[trace] = (key, trace.rerun(_leaves(trace, values), shares=_shares(trace, shares)))
    return known[1]


def _leaves(trace: Trace, entries: Any) -> dict[int, Array]:
    changed: dict[int, Array] = {}
    for node, position, number in entries:
        array = changed.setdefault(int(node), np.array(trace.node(int(node)).value))
        _put(array, int(position), float(number), trace.node(int(node)).title)
    return changed


def _shares(trace: Trace, entries: Any) -> dict[str, Array]:
    sent = {s.edge: s for n in trace.nodes for s in n.shares}
    changed: dict[str, Array] = {}
    for edge, position, number in entries:
        if edge not in sent:
            raise OptionError(f"no share was sent over {shown(edge)}")
        array = changed.setdefault(str(edge), np.array(sent[edge].value))
        if position is None:
            array[...] = float(number)
        else:
            _put(array, int(position), float(number), f"the share over {edge}")
    return changed


def _put(array: Array, position: int, number: float, where: str) -> None:
    if not 0 <= position < array.size:
        raise IndexingError(f"{where} has {array.size} entries, none at position {position}")
    kept = np.asarray(number).astype(array.dtype)
    if array.dtype.kind != "f" and not float(kept) == number:
        raise OptionError(f"{where} holds {array.dtype}, and {number:g} is none")
    array.reshape(-1)[position] = kept


def array_named(trace: Trace, name: str) -> Array:
    """An array by the name that the stepper gives it: ``value:3``, ``cotangent:3``, ``saved:3:out``, ``before:7`` (step 7), ``share:3:0`` (node 3's first share), and so ``local:3:0``, ``total:3:0``, ``route:3:0``."""
    kind, _, rest = name.partition(":")
    at, _, more = rest.partition(":")
    found: Array | None = None
    try:
        if kind in ("before", "after"):
            found = getattr(trace.steps[int(at)], kind)
        elif kind in ("value", "cotangent"):
            found = getattr(trace.nodes[int(at)], kind)
        elif kind == "saved":
            found = trace.nodes[int(at)].saved[more]
        elif kind in ("share", "local", "total", "route"):
            share: Share = trace.nodes[int(at)].shares[int(more)]
            found = getattr(share, "value" if kind == "share" else kind)
    except (ValueError, IndexError, KeyError):
        found = None
    if found is None:
        raise IndexingError(f"the record has no array {shown(name)}")
    return found


def sliced(array: Array, index: str) -> Array:
    """Part of an array by an index as it is written in NumPy, of integers, slices and ``...`` alone.

    >>> sliced(np.arange(12).reshape(3, 4), "[1:, ::2]").tolist()
    [[4, 6], [8, 10]]

    Raises IndexingError for anything else, for an index that does not fit, and for more than SLICE_CAP entries.
    """
    text = index.strip().removeprefix("[").removesuffix("]").strip()
    try:
        tree: Any = ast.parse(f"a[{text or '...'}]", mode="eval").body
        parts = tree.slice.elts if isinstance(tree.slice, ast.Tuple) else [tree.slice]
        found = np.asarray(array[tuple(_part(p) for p in parts)])
    except (SyntaxError, ValueError, AttributeError, IndexError, RecursionError, MemoryError) as error:
        raise IndexingError(f"{shown(index)} is no index of shape {array.shape}; write it as in NumPy, with integers and slices: [0, :5]") from error
    if found.size > SLICE_CAP:
        raise IndexingError(f"[{text}] has {found.size:,} entries; a slice shows at most {SLICE_CAP:,}")
    return found


def _part(node: ast.expr) -> Any:
    if isinstance(node, ast.Slice):
        return slice(*(None if p is None else _integer(p) for p in (node.lower, node.upper, node.step)))
    return ... if isinstance(node, ast.Constant) and node.value is ... else _integer(node)


def _integer(node: ast.expr) -> int:
    value = ast.literal_eval(node)
    if type(value) is not int:
        raise IndexingError("no integer")
    return value
