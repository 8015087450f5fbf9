"""What a teacher or an engineer would point at in a record: each finding with its node, line, reason and remedy. Imports no view or widget."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tensorviz.making import uncollected
from tensorviz.trace import Source, Trace, TraceNode, one_line

Kind = Literal[
    "nan",
    "inf",
    "stale-grad",
    "no-gradient",
    "double-broadcast",
    "dead",
    "saturated",
    "vanishing",
    "exploding",
    "cancellation",
    "tie",
    "changed-outside",
]
Phase = Literal["forward", "backward"]

__all__ = ["Finding", "find"]

_LONGEST = 100
"""Characters of the reason in the one line that a list shows of a finding."""
_PATH = 400
"""Characters of a path that is whole, since editors follow it."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to point at."""

    kind: Kind
    phase: Phase
    node: int | None
    op: str
    source: Source | None
    why: str
    """What happened, in one or two sentences with the numbers responsible."""
    remedy: str
    """What to do about it."""

    def __str__(self) -> str:
        where = f"\n  at {self.source}" if self.source else ""
        return f"{self.kind} ({self.phase}, {one_line(self.op)}): {self.why}{where}\n  {self.remedy}"

    def __repr__(self) -> str:
        """One line, for a list of findings is often the last value of a cell; ``print`` tells the whole."""
        node = "" if self.node is None else f", node {self.node}"
        where = f" at {one_line(self.source.file, _PATH)}:{self.source.line}" if self.source else ""
        why = textwrap.shorten(self.why, _LONGEST, placeholder=" …")
        return f"<Finding {self.kind} ({self.phase}, {one_line(self.op)}{node}){where}: {why}>"


def finding(kind: Kind, phase: Phase, node: TraceNode, why: str, remedy: str, source: Source | None = None) -> Finding:
    """A finding at a node, with the node's own line unless another is given."""
    return Finding(kind, phase, node.id, node.op, source or node.source, why, remedy)


def find(trace: Trace) -> list[Finding]:
    """Everything that stands out in a trace, root cause first; empty where all is well.

    What is not finite comes first (born in forward, then in backward), then what is wired wrongly, then what flows badly.

    >>> import numpy as np, tensorviz as tv
    >>> x = tv.tensor([0.0, 4.0], requires_grad=True)
    >>> with np.errstate(divide="ignore"):
    ...     trace = np.sqrt(x).sum().backward()
    >>> [(f.kind, f.phase, f.op) for f in find(trace)]
    [('inf', 'backward', 'sqrt')]
    """
    from tensorviz.findings.flow import flow
    from tensorviz.findings.nonfinite import nonfinite
    from tensorviz.findings.wiring import wiring

    data = trace.data
    # What is looked at may hold anything; the pass itself has warned.
    with uncollected(), np.errstate(all="ignore"):
        return [*nonfinite(data), *wiring(data), *flow(data)]
