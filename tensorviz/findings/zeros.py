"""Gradients that are zero throughout: where the zero was born, by what, and which leaves inherit it. Imports the record, and what the checks know of ops.

Not every zero is told. What a first layer gets while the layer behind it is still zero (a usual way to begin) is none to
repair: the zero factor gets a gradient of its own and moves away. A square at its minimum, a hinge that is met, and an
incoming gradient that is zero already are none either.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from tensorviz.bulk import some
from tensorviz.checks.local import STEPS
from tensorviz.findings import Finding, finding
from tensorviz.trace import Array, Share, TraceData, TraceNode

PRODUCTS = frozenset({"mul", "div", "matmul", "dot", "inner", "outer", "tensordot", "einsum", "linear", "conv1d", "conv2d"})
"""Their share is a product with the other operand."""
FEW = 4
"""Elements of a selection from which on it is no chance that none was chosen: of three units all are off once in eight times."""


def zeros(data: TraceData, told: frozenset[int] = frozenset()) -> Iterator[Finding]:
    """Leaves whose gradient is zero throughout, by the op where that began. ``told``: nodes that another finding is about."""
    leaves = [n for n in data.nodes if n.kind in ("leaf", "parameter") and n.requires_grad and n.cotangent is not None and n.value.size]
    lost = [n for n in leaves if not _some(n.cotangent)]
    if not lost:
        return
    every = len(lost) == len(leaves)
    heirs: dict[int, list[TraceNode]] = {}
    why: dict[int, tuple[str, str]] = {}
    born = _births(data)
    for n in lost:
        births = born(n.id)
        causes = [_cause(data, share, every) for share in births]
        if not births or None in causes:
            continue  # of one path it is not known, or it passes: then it is not to be told
        for share, cause in zip(births, causes, strict=True):
            assert cause is not None
            heirs.setdefault(share.consumer, []).append(n)
            why.setdefault(share.consumer, cause)
    for i in sorted(heirs, reverse=True):
        if i not in told:
            names = list(dict.fromkeys(n.title for n in heirs[i]))
            shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
            inherits = "inherits it and gets" if len(names) == 1 else "inherit it and get"
            node = data.nodes[i]
            yield finding(
                "dead",
                "backward",
                node,
                f"Born here: the gradient that {node.op} sends on is 0 throughout, because {why[i][0]}. {shown} {inherits} no other.",
                why[i][1],
            )


def _some(value: Array | None) -> bool:
    """Anything but zeros; NaN counts."""
    return value is not None and bool(np.any(value))


def _births(data: TraceData) -> Callable[[int], list[Share]]:
    """By node the shares of zeros from which all that it got stems, each sent by a node that had received something else.

    None of them where it got something, where shares cancel, or where the seed itself is zero. Consumers come later in the record than what they use,
    so that one walk from its end finds them for all nodes.
    """
    shares = [share for n in data.nodes for share in n.shares]
    passes = {id(share) for share, sent in zip(shares, some([share.local for share in shares]).tolist(), strict=True) if sent}
    received = [n.cotangent for n in data.nodes]
    got = iter(some([g for g in received if g is not None]).tolist())
    moves = [g is not None and next(got) for g in received]
    births: list[Share] = []
    found = [0] * len(data.nodes)
    """Per node a bit for each of its births: a long pass has many nodes with the same few."""
    for n in reversed(data.nodes):
        if moves[n.id]:
            continue
        bits = 0
        for share in n.shares:
            before = found[share.consumer]
            if moves[share.consumer]:
                before = 1 << len(births)
                births.append(share)
            if id(share) in passes or not before:
                break  # it passes, or of this path it is not known
            bits |= before
        else:
            found[n.id] = bits
    return lambda i: [share for share, bit in zip(births, reversed(f"{found[i]:b}"), strict=False) if bit == "1"]


def _cause(data: TraceData, share: Share, every: bool) -> tuple[str, str] | None:
    """Why a rule made zeros of something, and what to do; None where that is healthy, or not known. ``every``: no leaf gets anything."""
    n, target = data.nodes[share.consumer], data.nodes[share.target]
    if n.op in STEPS:
        return f"the slope of {n.op} is 0 everywhere", "Use a smooth op in its place, or send the gradient past it: x + (f(x) - x).detach()."
    if share.slot == 0 and _over(n, target) == 1:
        return (
            f"it goes over one element at a time ({target.title} has shape {target.shape}) and gives the same whatever that is",
            _ALONE[n.op],
        )
    if share.route is not None:
        if np.any(share.route) or not (every or n.value.size >= FEW) or _is_hinge(data, target):
            return None
        low, high = float(np.min(target.value)), float(np.max(target.value))
        between = f"{target.title} is {low:.4g}" if low == high else f"{target.title} lies between {low:.4g} and {high:.4g}"
        what = f"none of the {target.value.size:,} elements was chosen" if target.value.size > 1 else "the number was not chosen"
        return (
            f"{what} ({between})",
            "Look at the bounds or the condition; a slope that does not vanish (leaky_relu, softplus) keeps a gradient.",
        )
    if n.op in PRODUCTS:
        for i in n.inputs:
            other = data.nodes[i]
            if i != share.target and other.value.size and not np.any(other.value):
                if _some(other.cotangent):
                    return None  # it moves at the next step
                called = other.title if other.name else f"a {other.op}"
                return (
                    f"it is multiplied by {called}, whose {other.value.size:,} numbers are all 0"
                    if other.value.size > 1
                    else "it is multiplied by 0",
                    "Look at where these zeros come from; weights need a start that is not 0 in all layers.",
                )
    if n.op == "pow" and len(n.inputs) == 2 and n.inputs[0] == share.target and not np.any(data.nodes[n.inputs[1]].value):
        return "the exponent is 0", "A power of 0 is 1 whatever its base: look at the exponent."
    return None


_SCORES = "Look at the axis: all scores of a row lie along it. One score for each row takes sigmoid, or bce_with_logits, in place of softmax."
_MORE = "Look at the axis, or take more than one element along it."
_ALONE = {"softmax": _SCORES, "log_softmax": _SCORES, "cross_entropy": _SCORES, "var": _MORE, "std": _MORE, "layer_norm": _MORE}
"""Ops that set elements beside each other, and what to do where each stands alone."""


def _over(n: TraceNode, target: TraceNode) -> int:
    """How many elements such an op sets beside each other; 0 of any other op."""
    shape = target.shape
    if n.op not in _ALONE or not target.value.size:
        return 0
    axis = n.params.get("axis")
    if n.op in ("softmax", "log_softmax"):
        return shape[axis] if isinstance(axis, int) and shape else 0
    if n.op == "cross_entropy":
        return shape[1] if len(shape) > 1 else shape[0]
    if n.op in ("var", "std"):
        return target.value.size // n.value.size
    count = n.params.get("count")
    return math.prod(shape[-count:]) if isinstance(count, int) and count else 0


def _is_hinge(data: TraceData, n: TraceNode) -> bool:
    """A number plus or minus something: max(0, 1 - margin) is 0 for every row when the aim is reached."""
    return n.op in ("add", "sub") and any(data.nodes[i].kind == "constant" and data.nodes[i].value.size == 1 for i in n.inputs)
