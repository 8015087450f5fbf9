"""Cycles that in-place ops make: what they hold is counted, and collected before it is much. Knows no op.

``z = tanh(h); h += z`` makes one: the Tensor ``h`` is the node that ``z`` was computed from, and stands for a node that is computed from ``z``.
Only the cyclic collector frees them; but it counts objects, and these are few objects with large arrays.
"""

from __future__ import annotations

import gc

from tensorviz.engine.node import Node

LEAST = 64 << 20
"""Bytes that cycles may hold before they are looked for: a look costs some 50 ms in a process with many objects, as long as it takes to fill that much."""


class _Held:
    """Bytes of which nobody knows whether they are still in use."""

    __slots__ = ("bytes", "limit")

    def __init__(self) -> None:
        self.bytes = 0
        self.limit = LEAST


held = _Held()


def grown(old: Node, new: Node) -> None:
    """Count what was computed on the way from ``old`` to ``new``, which took its place for a Tensor that is a node itself."""
    since, found, seen = old.uid, [new], {new}
    for node in found:  # grows
        held.bytes += getattr(node.value, "nbytes", 0)
        for n in node.inputs:
            if n.uid > since and n not in seen:
                seen.add(n)
                found.append(n)
    if held.bytes > held.limit and gc.isenabled():
        held.bytes = 0
        del found, seen, node
        # where there was nothing to free, all is in use, and the next look can wait until there is as much again
        held.limit = LEAST if gc.collect() else 2 * held.limit
