"""A pass as text: the nodes, then every step with its share, its axes and the running sum. Imports trace and other views only.

For terminals, screen readers and diffs: plain words, one fact a line, and nothing that changes from run to run.
"""

from __future__ import annotations

import numpy as np

from tensorviz.arguments import whole
from tensorviz.axes import in_words
from tensorviz.trace import Array, Step, Trace, TraceNode
from tensorviz.views import format as fmt
from tensorviz.views.captions import title
from tensorviz.views.exported import Told
from tensorviz.views.labels import norm_mark
from tensorviz.views.parts import tags
from tensorviz.views.text import cut

MOST_ENTRIES = 24
"""Entries that are spelled out; larger arrays are given by their norm."""


LONGEST = 80
"""Characters of a name: the id beside it tells two apart that begin alike."""

MOST_ROWS = 10_000
"""Nodes, and steps, that are told; of more the first and the last."""


def summary(trace: Trace, *, values: bool = True, most: int | None = MOST_ROWS) -> str:
    """Every node and every step as text; with ``values=False`` without numbers, so that only the structure is compared.

    Of more than ``most`` nodes or steps the first and the last are told, and how many stand between them; None tells all.
    """
    if most is not None:
        whole("summary", "most", most, least=2)
    steps = trace.data.steps
    forks = fmt.counted(len(trace.forks), "fork")
    roots = ", ".join(title(trace.nodes[r]) for r in trace.roots) or "nothing"
    rows = [f"Backward pass of {roots}: {fmt.counted(len(trace.nodes), 'node')}, {fmt.counted(len(steps), 'step')}, {forks}"]
    if not trace.data.complete and steps:
        rows.append("The pass stopped before its end.")
    rows += ["", "Forward"]
    wide = len(str(max(len(trace.nodes) - 1, len(steps) - 1, 0)))
    skipped = _middle(len(trace.nodes), most)
    for node in trace.nodes:
        if node.id not in skipped:
            rows.append(f"  {node.id:>{wide}}  {_node(trace, node, values)}")
        elif node.id == skipped.start:
            rows.append(f"  {'':>{wide}}  … {fmt.counted(len(skipped), 'more node')}")
    rows += ["", "Backward" if steps else "Backward: not yet called"]
    arrived: dict[int, int] = {}
    skipped = _middle(len(steps), most)
    for k, step in enumerate(steps):
        if step.kind == "accumulate":
            arrived[step.node] = arrived.get(step.node, 0) + 1
        if k not in skipped:
            rows.append(f"  {k:>{wide}}  {_step(trace, step, arrived.get(step.node, 0), values)}")
        elif k == skipped.start:
            rows.append(f"  {'':>{wide}}  … {fmt.counted(len(skipped), 'more step')}")
    return Told("\n".join(rows) + "\n")


def _middle(count: int, most: int | None) -> range:
    """What is left out of so many, so that ``most`` are left: none, or those in the middle."""
    return range(0) if most is None or count <= most else range(most // 2, count - (most - most // 2))


def _who(node: TraceNode) -> str:
    """``3 xpy`` for a named node, ``3 (add)`` for another: a name alone may stand for several."""
    return f"{node.id} {cut(node.name, LONGEST)}" if node.name else f"{node.id} ({cut(node.op, LONGEST)})"


def _node(trace: Trace, node: TraceNode, values: bool) -> str:
    name = cut(node.name, LONGEST) if node.name else "-"
    made = f"{cut(node.op, LONGEST)}({', '.join(_who(trace.nodes[i]) for i in node.inputs)})" if node.inputs else node.kind
    if node.cut is not None:
        made += f" from {_who(trace.nodes[node.cut])}"
    kind = "" if node.requires_grad else ", no gradient"
    shown = f" = {spelled(node.value)}" if values else ""
    scope = f"  [{cut(node.scope, LONGEST)}]" if node.scope else ""
    return f"{name}: {made}, {fmt.shape(node.shape)} {node.dtype}{kind}{shown}{scope}"


def _step(trace: Trace, step: Step, arrived: int, values: bool) -> str:
    node, share = trace.nodes[step.node], step.share
    if step.kind == "seed":
        return f"seed {_who(node)}" + _number("∂", step.after, values)
    if step.kind == "pull":
        word = f": {cut(node.op, LONGEST)} {cut(node.word, LONGEST)}" if node.word else ""
        return f"pull {_who(node)}{word}"
    if step.kind == "leaf":
        before = "" if step.before is None else f" (held {spelled(step.before)} before)" if values else " (held a gradient before)"
        return f"leaf {_who(node)}" + _number(".grad", step.after, values) + before
    assert share is not None
    way = f"{_who(node)} from {_who(trace.nodes[share.consumer])} slot {share.slot}"
    if step.kind == "unbroadcast" and share.by_hand:
        return f"unbroadcast {way}: set by hand in place of the sum over {in_words(share.summed_axes)}" + _number("share", share.value, values)
    if step.kind == "unbroadcast":
        return (
            f"unbroadcast {way}: summed over {in_words(share.summed_axes)}, {fmt.shape(share.local.shape)} becomes {fmt.shape(share.value.shape)}"
            + _number("share", share.value, values)
        )
    routed = "".join(f", {tag.text}" for tag in tags(trace, share) if tag.kind in ("route", "hand"))
    total = _number("running sum", share.total, values) if len(node.shares) > 1 else ""
    return f"accumulate {way}, share {arrived} of {len(node.shares)}{routed}" + _number("share", share.value, values) + total


def _number(name: str, array: Array | None, values: bool) -> str:
    return f"; {name} = {spelled(array)}" if values and array is not None else ""


def spelled(array: Array) -> str:
    """An array as nested lists of printed numbers, or its shape and norm where it is large.

    >>> spelled(np.array([[1.0, 2.5], [0.0, -3.0]]))
    '[[1, 2.5], [0, −3]]'
    """
    array = np.asarray(array)
    if array.size > MOST_ENTRIES or not array.size:
        return f"{fmt.shape(array.shape)} {norm_mark(False, array)}{fmt.stats(array)}" if array.size else f"{fmt.shape(array.shape)} empty"
    return _nested(array)


def _nested(array: Array) -> str:
    if array.ndim == 0:
        return fmt.number(array[()])
    return "[" + ", ".join(_nested(row) for row in array) + "]"
