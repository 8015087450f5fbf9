"""Why one gradient is what it is, as text: each share that arrived, its rule with numbers, what was summed. Imports trace and other views only."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorviz.trace import Trace, TraceNode, one_line
from tensorviz.views import format as fmt
from tensorviz.views.captions import title
from tensorviz.views.exported import Told
from tensorviz.views.formulas import Formulas, symbol
from tensorviz.views.summary import spelled

MOST_SHARES = 12
"""Shares that are told one by one; of more the first and the last."""


_UNASKED = {
    "constant": "It is a constant: no requires_grad=True asked for its gradient, nor for that of anything it was computed from.",
    "detached": "It was cut off from what it was computed from, so no gradient passes through it.",
    "op": "No gradient passes through it: its op has none, or all that it was computed from is constant.",
}
"""Why a node of a kind has no gradient."""


def explain(trace: Trace, key: Any) -> str:
    """What stands in the stepper's panes about one node, to read or to print: where its gradient came from, step by step."""
    node = trace.node(key)
    rows = [_head(trace, node)]
    if node.source is not None:
        rows.append(f"  made at {node.source}")
    if node.cotangent is None:
        return Told("\n".join([*rows, f"  {_why_none(trace, node)}"]) + "\n")
    slope = _slope(trace, node)
    if slope:
        rows.append(f"  {slope}")
    first: dict[str, int] = {}
    told: dict[str, list[str]] = {}
    after = []
    for k, step in enumerate(trace.data.steps):
        if step.node != node.id:
            continue
        if step.share is None:
            if step.kind == "seed":
                rows.append(f"  {trace.steps[k].caption}")
            else:
                after.append(trace.steps[k].caption)
            continue
        first.setdefault(step.share.edge, k)
        told.setdefault(step.share.edge, []).append(trace.steps[k].caption)
    formulas, count = Formulas(trace), len(node.shares)
    left_out = range(0) if count <= MOST_SHARES else range(MOST_SHARES // 2, count - MOST_SHARES // 2)
    for i, share in enumerate(node.shares):
        if i in left_out:
            if i == left_out.start:
                rows += ["", f"  … {fmt.counted(len(left_out), 'more share')}"]
            continue
        sender = trace.nodes[share.consumer]
        code = "" if sender.source is None else sender.source.code.strip()
        where = f", line {sender.source.line}: {one_line(code)}" if sender.source is not None and code else ""
        rows += ["", f"Share {i + 1} of {count}, from {title(sender)} (node {sender.id}, step={first.get(share.edge, 0)}){where}"]
        rows += [f"  {line}" for line in str(formulas.of(share)).split("\n")]
        rows += [f"  {caption}" for caption in told.get(share.edge, ())]
        rows.append(f"  share = {spelled(share.value)}" + (f"; running sum = {spelled(share.total)}" if count > 1 else ""))
    if after:
        rows += ["", "Then", *(f"  {caption}" for caption in after)]
    return Told("\n".join([*rows, *_verdict(trace, node)]) + "\n")


def _head(trace: Trace, node: TraceNode) -> str:
    roots = ", ".join(title(trace.nodes[r]) for r in trace.roots)
    number = "" if node.cotangent is None else f" = {spelled(node.cotangent)}"
    return f"∂{symbol(node)}, the gradient of {roots} with respect to {title(node)}: {fmt.shape(node.shape)} {node.dtype}{number}"


def _slope(trace: Trace, node: TraceNode) -> str:
    """What the number means: the change of a single result with one entry, the one with the largest gradient."""
    gradient = node.cotangent
    if gradient is None or not gradient.size or not np.isfinite(gradient).all() or len(trace.roots) != 1 or node.id in trace.roots:
        return ""
    root, seed = trace.nodes[trace.roots[0]], trace.data.steps[0].after
    if root.value.size != 1 or seed is None or float(seed.reshape(())) != 1:
        return ""
    # of a share set by hand nothing is the derivative, and at a tie there is none
    if any(s.by_hand or (s.route is not None and s.tied.any()) for n in trace.nodes for s in n.shares):
        return ""
    at = np.unravel_index(int(np.argmax(np.abs(gradient))), gradient.shape)
    entry = f"[{', '.join(str(int(i)) for i in at)}]" if gradient.ndim else ""
    return f"If {symbol(node)}{entry} grows by a small δ, {title(root)} grows by {fmt.number(gradient[at])} · δ."


def _why_none(trace: Trace, node: TraceNode) -> str:
    if not trace.data.steps:
        return "Backward has not been called, so there is no gradient yet."
    if not node.requires_grad:
        return _UNASKED.get(node.kind, _UNASKED["constant"])
    if not trace.data.complete:
        return "No share has reached it: the pass stopped before its end."
    return "No share reached it: what uses it does not pass a gradient on. trace.findings() says where its way was cut, if it was."


def _verdict(trace: Trace, node: TraceNode) -> list[str]:
    """What the latest check found about this gradient."""
    rows = [] if trace.report is None else [row for row in trace.report.rows if row.node == node.id and row.scope == "global"]
    if not rows:
        return []
    row = max(rows, key=lambda row: (row.verdict != "ok", row.error))
    return ["", f"Check: {row.verdict}, " + (row.reason or f"finite differences agree to {row.error:.1e}")]
