"""Who is behind a share that its rule would not give again: a saved value that was overwritten, an array beside its operands. Imports no view or widget."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorviz.checks.local import rule_in_double
from tensorviz.checks.outside import outside
from tensorviz.checks.subject import Subject, title
from tensorviz.engine.op import REGISTRY
from tensorviz.trace import TraceNode

_MOST = 200
"""Nodes of one op that are asked whether a share is theirs."""


def overwritten(subject: Subject, i: int) -> str:
    """Why node ``i`` sent a wrong share, where its rule gives another one when it runs again; empty where it does not."""
    node = subject.nodes[i]
    if node.op not in REGISTRY or node.cotangent is None:
        return ""
    sent = {slot: share.value.astype(np.float64) for slot, share in subject.sent.get(i, {}).items()}
    now = _rule(subject, node, node)
    if now is None or not sent or _same(subject, sent, now):
        return ""
    others = [n for n in subject.nodes if n.op == node.op and n.id != i and n.kind == "op" and _shapes(subject, n) == _shapes(subject, node)]
    for other in sorted(others, key=lambda n: abs(n.id - i))[:_MOST]:
        subject.watch()
        theirs = _rule(subject, node, other)
        if theirs is not None and _same(subject, sent, theirs):
            where = f" ({other.source})" if other.source else ""
            return (
                f"Run again now, the rule gives another share: this one belongs to the operands of {title(other)}, node {other.id}{where}, "
                f"whose forward overwrote what this one had saved."
            )
    held = outside(node.op)
    by = f"{', '.join(held)}, which it reads from outside," if held else "something that it keeps beside its operands"
    return f"Run again now, the rule gives another share: {by} was changed between this node's forward and its backward, where no record is kept of who writes."


def _rule(subject: Subject, node: TraceNode, other: TraceNode) -> list[Any] | None:
    """What ``node``'s rule gives for the operands of ``other``, forward and all."""
    operands = [
        subject.nodes[j].value.astype(np.float64)[()] if subject.nodes[j].value.dtype.kind == "f" else subject.nodes[j].value[()]
        for j in other.inputs
    ]
    return rule_in_double(node, operands, [subject.nodes[j].requires_grad for j in node.inputs], 1.0)


def _same(subject: Subject, sent: dict[int, Any], shares: list[Any]) -> bool:
    for slot, value in sent.items():
        share = shares[slot] if slot < len(shares) else None
        if share is None or share.shape != value.shape:
            return False
        with np.errstate(invalid="ignore"):
            if not np.all((np.abs(share - value) <= subject.ruler.allowed(share, value)) | (np.isnan(share) & np.isnan(value))):
                return False
    return True


def _shapes(subject: Subject, node: TraceNode) -> list[tuple[int, ...]]:
    return [subject.nodes[j].shape for j in node.inputs] + [node.shape]
