"""Where NaN and infinities first appear, from a record's values alone. Imports trace and scale."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from tensorviz.birth import born
from tensorviz.bulk import finite
from tensorviz.trace import Array, Trace, TraceNode
from tensorviz.views.scale import is_finite

Strange = Literal["", "inf", "nan"]


class Birth(NamedTuple):
    """What a node brought into the world: in its own value, and in the shares that its rule sent."""

    forward: Strange
    backward: Strange
    sign: int
    """Of an infinity that was born forward: 1, -1, or 0 for both."""
    edges: tuple[str, ...]
    """``"consumer:slot"`` of the shares in which something was born backward; it is seen once one of them has arrived."""


_known: weakref.WeakKeyDictionary[Trace, dict[int, Birth]] = weakref.WeakKeyDictionary()


def births(trace: Trace) -> dict[int, Birth]:
    """Per node at which NaN or an infinity first appears, what it is.

    Forward: the node's value holds it and none of its operands does. Backward: a share of its rule holds it, and what the rule was given, the node's
    own gradient, does not; nor is there NaN among the values that the rule had saved, which was born forward. A constant that holds infinities was given so (a mask), and is not named; what NaN makes of it is.
    Of an op that works entry by entry, each entry has its own past.
    """
    found = _known.get(trace)
    if found is None:
        found = _known[trace] = dict(_births(trace))
    return found


def _births(trace: Trace) -> list[tuple[int, Birth]]:
    if is_finite(trace):
        return []
    values = [strange(node.value) for node in trace.nodes]
    edges = born_backward(trace.nodes)
    out = []
    for node, here in zip(trace.nodes, values, strict=True):
        forward: Strange = ""
        if here and not (here == "inf" and node.kind == "constant"):
            operands = [trace.nodes[i].value for i in node.inputs]
            forward = _news(node, node.value, operands, operands)
        sends = edges.get(node.id, [])
        if forward or sends:
            sign = _sign(node.value) if forward == "inf" else 0
            out.append((node.id, Birth(forward, _worst([how for how, _ in sends]), sign, tuple(edge for _, edge in sends))))
    return out


def born_backward(nodes: Sequence[TraceNode]) -> dict[int, list[tuple[Strange, str]]]:
    """Per node whose rule made NaN or an infinity of something better: what, and the share that holds it as ``"consumer:slot"``."""
    edges: dict[int, list[tuple[Strange, str]]] = {}
    if finite([share.local for node in nodes for share in node.shares]).all():
        return edges
    for node in nodes:
        for share in node.shares:
            if not strange(share.local):
                continue
            consumer = nodes[share.consumer]
            g = _cotangent(consumer)
            if sent := _news(consumer, share.local, [g], [g, *(v for v in consumer.saved.values() if strange(v) == "nan")]):
                edges.setdefault(share.consumer, []).append((sent, share.edge))
    return edges


def _news(node: TraceNode, made: Array, infinities: Sequence[Array], nans: Sequence[Array]) -> Strange:
    """The worst that is in an array that a node made and not in what it was given, entry by entry where the op works so."""
    from tensorviz.views.origins import ENTRYWISE

    return _worst([kind for kind, _ in born(made, infinities, nans, node.op in ENTRYWISE)])


_RANK: dict[Strange, int] = {"": 0, "inf": 1, "nan": 2}


def _worst(found: list[Strange]) -> Strange:
    return max(found, key=_RANK.__getitem__, default="")


def _cotangent(node: TraceNode) -> Array:
    return node.cotangent if node.cotangent is not None else np.zeros(())


def strange(array: Array) -> Strange:
    """``"nan"`` if there is a NaN, otherwise ``"inf"`` if there is an infinity.

    >>> strange(np.array([1.0, np.inf, np.nan])), strange(np.array([-np.inf])), strange(np.array([1]))
    ('nan', 'inf', '')
    """
    if array.dtype.kind != "f" or np.isfinite(array).all():
        return ""
    return "nan" if np.isnan(array).any() else "inf"


def _sign(array: Array) -> int:
    up, down = bool(np.isposinf(array).any()), bool(np.isneginf(array).any())
    return int(up) - int(down)
