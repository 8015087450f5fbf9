"""The bars: ratios of CPU time that tensorviz must stay below, per workload. Holds numbers only."""

from __future__ import annotations

from typing import NamedTuple


class Bar(NamedTuple):
    """``one`` may take at most ``at_most`` times as long as ``other``; None: told for information."""

    one: str
    other: str
    at_most: float | None


OURS, OFF, FUSED, HAND = "tensorviz", "tensorviz off", "tensorviz fused", "NumPy"

_CHAIN = (
    Bar(OURS, "autograd", 0.07),
    Bar(OURS, "micrograd", 0.6),
    Bar(OURS, "torch", 0.3),
    Bar(OURS, "torch hooks", None),
    Bar(OURS, HAND, None),
)

BARS: dict[str, tuple[Bar, ...]] = {
    "a": (Bar(OURS, HAND, 1.15), Bar(OURS, "autograd", 0.9), Bar(OURS, "torch", None), Bar(OURS, "torch hooks", None), Bar(OURS, OFF, 1.15)),
    "b": (Bar(OURS, HAND, 2.5), Bar(OURS, "autograd", 0.15), Bar(OURS, "torch", 0.45), Bar(OURS, "torch hooks", 0.2), Bar(OURS, OFF, 1.15)),
    "c 1k": (*_CHAIN, Bar(OURS, OFF, 1.2)),
    "c 10k": (*_CHAIN, Bar(OURS, OFF, None)),
    "d": (
        *(Bar(OURS, HAND, 1.7), Bar(FUSED, HAND, 1.25), Bar(OURS, "autograd", None), Bar(OURS, "torch", None), Bar(FUSED, "torch fused", None)),
        *(Bar(OURS, "torch hooks", 1.0), Bar(OURS, OFF, 1.3)),
    ),
    "e": (
        *(Bar(OURS, HAND, 1.35), Bar(FUSED, HAND, 1.2), Bar(OURS, "autograd", 0.65), Bar(OURS, "torch", None), Bar(FUSED, "torch fused", None)),
        *(Bar(OURS, "torch hooks", 0.55), Bar(OURS, OFF, 1.15)),
    ),
}
"""What is compared on each workload. torch on (a), (d) and (e) is told only: there MKL against OpenBLAS and fused kernels decide."""

LENGTH = 2.0
"""Time per node of the chain at 100,000 nodes to that at 1,000."""
POSITION = 0.15
"""Microseconds per node for the source position, whatever the function's length or the stack's depth."""
MEMORY = 450.0
"""Bytes per node kept on the chain, with its record."""
PEAK = {"a": 1.5, "d": 2.8, "e": 2.5}
"""Peak memory of one pass to that of hand-written NumPy."""
IMPORT = 1.35
"""``import tensorviz`` to ``import numpy``."""
CHECK_LOOP, CHECK_TORCH, CHECK_BATCHED = 2.0, 0.3, 0.5
"""Entry-wise gradcheck of (b) to a plain NumPy loop, to torch.autograd.gradcheck; batched to the loop."""
CHECK_WHOLE = 2.0
"""A pass of (b) with ``trace.check()``, every node local and global, to torch.autograd.gradcheck of the same function."""
CHECK_DIGITS = 60.0
"""``trace.check()`` of one step of the digits network to its forward and backward."""
CHECK_GROWTH = 1.3
"""Time per node of a local check at 2,000 nodes to that at 250: it grows with the nodes, and not faster."""
