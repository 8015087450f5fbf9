"""Which steps a film or an animation stops at: all, one per share, one per node, or those that are listed. Imports trace and other views only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorviz.arguments import is_list, shown
from tensorviz.errors import OptionError
from tensorviz.trace import Trace
from tensorviz.views.state import last_step

GRANULARITIES = ("micro", "share", "node")
"""From the finest to the coarsest; the stepper stops at the same steps."""


def stops(trace: Trace, steps: str | Sequence[int], where: str = "stops") -> list[int]:
    """The steps to stop at, for the function ``where``.

    ``"micro"`` is every step; ``"share"`` leaves out those on which no sum changes (``pull``, ``unbroadcast``); ``"node"`` is the last step of each
    rule: of the seeds, of every node whose rule runs, and of the writing of ``.grad``; of a backward pass that is a graph itself, the last step of
    what each rule computes. A sequence of step numbers is taken as it is.
    """
    performed = trace.data.steps
    if not performed:
        raise OptionError(f"{where}: this trace has no steps: backward has not been called")
    if isinstance(steps, str):
        if steps not in GRANULARITIES:
            raise OptionError(f"{where}: steps must be one of {', '.join(map(repr, GRANULARITIES))} or a list of step numbers, got {shown(steps)}")
        if steps == "micro":
            return list(range(len(performed)))
        if steps == "share":
            return [k for k, step in enumerate(performed) if step.kind not in ("pull", "unbroadcast")]
        groups = [(step.kind, rule_scope(trace.nodes[step.node].scope) if step.kind == "seed" else "") for step in performed]
        starts = [k for k, (kind, _) in enumerate(groups) if kind == "pull" or (kind in ("seed", "leaf") and (k == 0 or groups[k - 1] != groups[k]))]
        return [k - 1 for k in starts[1:]] + [last_step(trace)]
    return _listed(where, trace, steps)


def rule_scope(scope: str) -> str:
    """The rule in which a value of a backward pass was computed that is a graph itself: its scopes from the one that begins with ∂ on; else empty.

    >>> rule_scope("training/∂matmul C"), rule_scope("layer1")
    ('∂matmul C', '')
    """
    parts = scope.split("/")
    at = next((k for k, part in enumerate(parts) if part.startswith("∂")), len(parts))
    return "/".join(parts[at:])


def _listed(where: str, trace: Trace, steps: Any) -> list[int]:
    if not is_list(steps):
        raise OptionError(f"{where}: steps must be a list of step numbers, got {shown(steps)}; step= draws a single one")
    listed = list(steps)
    if not listed:
        raise OptionError(f"{where}: steps is empty: name at least one step")
    last = last_step(trace)
    for k in listed:
        if isinstance(k, (bool, np.bool_)) or not isinstance(k, (int, np.integer)):
            raise OptionError(f"{where}: steps must hold step numbers, got {shown(k)}")
    wrong = [int(k) for k in listed if not 0 <= k <= last]
    if wrong:
        raise OptionError(f"{where}: the trace has steps 0 to {last}, not {', '.join(map(str, wrong[:5]))}{', …' if len(wrong) > 5 else ''}")
    return [int(k) for k in listed]
