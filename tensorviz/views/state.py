"""What has happened after step k: the state of every node and edge. Imports trace, nothing else of ours.

The stepper derives the same in the browser (``step.ts``); both are held to ``tests/golden/states.json``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tensorviz.arguments import shown
from tensorviz.errors import DTypeError, OptionError
from tensorviz.trace import Array, Share, Trace

NodeState = Literal["idle", "reached", "active", "done", "zero"]
EdgeState = Literal["idle", "passed", "active", "blocked"]


@dataclass(frozen=True, slots=True)
class State:
    """The picture's state after step ``step`` (-1 before the first)."""

    step: int
    nodes: tuple[NodeState, ...]
    edges: dict[str, EdgeState]
    """Per ``"consumer:slot"``; edges that are not listed are idle."""
    totals: dict[int, Array]
    """Per node that something has reached: the running sum, the seed for a root."""
    arrived: dict[int, int]
    """Per node: how many of its shares have been added."""
    active: int | None
    """The one node that the step is about; None where the whole pass is looked at."""
    active_edge: str | None
    kind: str | None
    """The kind of the step, None where the whole pass is looked at."""


def last_step(trace: Trace) -> int:
    return len(trace.data.steps) - 1


def check_step(trace: Trace, step: int | None, where: str = "") -> int | None:
    """``step`` if the trace has it; ``ValueError`` says what it has."""
    where = f"{where}: " if where else ""
    if step is None:
        return None
    if isinstance(step, bool) or not isinstance(step, (int, np.integer)):
        raise DTypeError(f"{where}step must be an int or None, not {shown(step)}")
    if not trace.data.steps:
        raise OptionError(f"{where}step={step}, but this trace has no steps: backward has not been called")
    if not 0 <= step < len(trace.data.steps):
        raise OptionError(f"{where}step must be in 0 to {last_step(trace)} (or None for the whole pass), not {step}")
    return int(step)


def focus_at(trace: Trace, step: int | None) -> int | None:
    """The active node, without working out the rest."""
    return trace.data.steps[step].node if step is not None and step >= 0 else None


def sender_at(trace: Trace, step: int | None) -> int | None:
    """The node whose share the step is about; None where it is about none."""
    share = trace.data.steps[step].share if step is not None and step >= 0 else None
    return None if share is None else share.consumer


def state_at(trace: Trace, step: int | None = None, only: Collection[int] | None = None) -> State:
    """The state after steps 0 to ``step``; with None after all of them, and then nothing is active.

    A node is *idle* while nothing has reached it, *reached* once a share or the seed has, *done* once its rule has run (for leaves: once all shares
    are in) and *zero* where it is done and every entry of its cotangent is zero. On ``pull`` the node whose rule runs is active, on every other
    step the receiver. An edge is *active* on its ``unbroadcast`` and ``accumulate``, *passed* after its ``accumulate``, *blocked* if what
    passed is zero everywhere. With ``only``, the question whether an array is zero everywhere is asked for those nodes and their shares alone, which
    is what makes a picture of few nodes of a large trace quick.
    """
    return next(walk(trace, [step], only))


def walk(trace: Trace, steps: Iterable[int | None], only: Collection[int] | None = None) -> Iterator[State]:
    """The states after several steps in ascending order (-1 first, None last), each found from the one before; otherwise as :func:`state_at`."""
    asked = range(len(trace.nodes)) if only is None else only
    performed = trace.data.steps
    totals: dict[int, Array] = {}
    arrived: dict[int, int] = {}
    pulled: set[int] = set()
    edges: dict[str, EdgeState] = {}
    states: list[NodeState] = ["idle"] * len(trace.nodes)
    at = 0
    for step in steps:
        last = last_step(trace) if step is None else step
        for done in performed[at : last + 1]:
            i = done.node
            if done.kind == "seed":
                # A root can be an operand of another root: its seed is then added like a share.
                if done.after is not None:
                    totals[i] = done.after
                else:
                    totals.setdefault(i, _seed(trace, i))
            elif done.kind == "pull":
                pulled.add(i)
            elif done.kind == "accumulate" and done.share is not None:
                share = done.share
                edges[share.edge] = "blocked" if share.target in asked and is_zero(share.value) else "passed"
                totals[share.target] = share.total
                arrived[share.target] = arrived.get(share.target, 0) + 1
            if i in totals:
                complete = i in pulled or (trace.nodes[i].is_leaf and arrived.get(i, 0) >= len(trace.nodes[i].shares))
                states[i] = "reached" if not complete else "zero" if i in asked and is_zero(totals[i]) else "done"
        at = max(at, last + 1)
        now = performed[step] if step is not None and step >= 0 else None
        seen, shown = edges.copy(), states.copy()
        active_edge = None
        if now is not None:
            shown[now.node] = "active"
            if now.share is not None and now.kind in ("unbroadcast", "accumulate"):
                active_edge = now.share.edge
                seen[active_edge] = "active"
        yield State(
            last,
            tuple(shown),
            seen,
            totals.copy(),
            arrived.copy(),
            now.node if now is not None else None,
            active_edge,
            now.kind if now is not None else None,
        )


def _seed(trace: Trace, node: int) -> Array:
    shares: tuple[Share, ...] = trace.nodes[node].shares
    cotangent = trace.nodes[node].cotangent
    if cotangent is not None and not shares:
        return cotangent
    return np.ones(trace.nodes[node].shape)


def is_zero(values: Array) -> bool:
    """Whether there are entries and every one is exactly zero."""
    return bool(values.size) and not values.any()
