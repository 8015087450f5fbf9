"""Numbers that left the graph: read out of a Tensor that requires a gradient, by ``float()`` or into an array. Knows no op."""

from __future__ import annotations

import sys
from collections import deque
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from tensorviz.engine.graph import OURS, Node
from tensorviz.engine.threads import Local

LARGEST = 16
"""Elements up to which what is read out is remembered: buffers are filled by numbers or short rows."""
_KEPT = 512
"""Numbers that are remembered per thread: only those, no nodes, so that nothing keeps a graph alive."""


class Exit(NamedTuple):
    """One number on its way out."""

    value: float
    op: str
    code: CodeType
    lasti: int


class _Local(Local):
    def __init__(self) -> None:
        self.exits: deque[Exit] = deque(maxlen=_KEPT)


_local = _Local()


def left(node: Node, recorded: bool) -> None:
    """Note that the user's own code, not NumPy's or ours, reads a value out. Under ``no_grad`` or after ``detach`` it is meant, also if it happened before."""
    if not (recorded and node.requires_grad):
        if _local.exits:
            meant = set(np.ravel(node.value).tolist())
            kept = [e for e in _local.exits if e.value not in meant]
            if len(kept) < len(_local.exits):
                _local.exits = deque(kept, maxlen=_KEPT)
        return
    frame: Any = sys._getframe(2)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "numpy":
        frame = frame.f_back
    if frame is None or OURS[frame.f_globals.get("__name__")] or node.op is None:
        return
    for value in np.ravel(node.value).tolist():
        if _telling(value):
            _local.exits.append(Exit(value, node.op.name, frame.f_code, frame.f_lasti))


def _telling(value: float) -> bool:
    """Whether to meet the same number again is no accident: it has more digits than people write."""
    return value == value and float(f"{value:.6g}") != value


def so_far() -> tuple[Exit, ...]:
    """What left the graph in this thread, the latest last."""
    return tuple(_local.exits)


def among(value: Any, exits: tuple[Exit, ...]) -> tuple[Exit, ...]:
    """Those that came back inside of a constant."""
    if not exits or np.size(value) > 1_000_000 or np.asarray(value).dtype.kind != "f":
        return ()
    numbers = np.array([e.value for e in exits]).astype(np.asarray(value).dtype)
    back = np.isin(numbers, np.ravel(value))
    return tuple([e for e, here in zip(exits, back.tolist(), strict=True) if here])
