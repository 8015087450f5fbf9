"""NaN and infinities: where each was born, which value is responsible, and how many inherit it. Of the engine it asks whether an op works element by element."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tensorviz.birth import Flags, born
from tensorviz.bulk import finite
from tensorviz.engine.op import REGISTRY
from tensorviz.findings import Finding, Kind, finding
from tensorviz.trace import Array, Share, TraceData, TraceNode

Index = tuple[int, ...]

FORWARD_REMEDIES = {
    "log": "Keep the operand above 0, e.g. np.log(np.maximum(x, 1e-12)); of a probability take log_softmax or bce_with_logits instead.",
    "sqrt": "Keep the operand at or above 0, e.g. np.sqrt(np.maximum(x, 0) + 1e-12).",
    "div": "Keep the divisor away from 0: add a small constant, or put a safe value in its place before dividing.",
    "exp": "Subtract the maximum before exp, or use logsumexp, softmax or log_softmax, which do.",
    "pow": "A negative base has no real power of a fractional exponent, and 0 none of a negative one: clip the base first.",
    "softmax": "A row that is -inf throughout has no softmax: leave at least one position of each row unmasked, or mask with a large negative number.",
    "log_softmax": "A row that is -inf throughout has no softmax: leave at least one position of each row unmasked, or mask with a large negative number.",
    "logsumexp": "A row that is -inf throughout has the sum 0: leave at least one position of each row unmasked.",
    "arcsin": "Keep the operand between -1 and 1 with np.clip.",
    "arccos": "Keep the operand between -1 and 1 with np.clip.",
    "mul": "One factor is infinite: look at where it came from.",
    "sub": "Two infinities cancel to NaN: look at where they came from.",
}
BACKWARD_REMEDIES = {
    "sqrt": "The slope of sqrt at 0 is infinite. Add a small constant inside: np.sqrt(x + 1e-12).",
    "norm": "The norm has no slope at 0. Add a small constant under the root.",
    "pow": "The slope is infinite at 0. Keep the base above 0, e.g. (x + 1e-12) ** p.",
    "log": "The slope of log at 0 is infinite. Keep the operand above 0: np.log(np.maximum(x, 1e-12)).",
    "div": "The divisor is 0, or nearly. Keep it away from 0 before dividing.",
    "logsumexp": "A row that is -inf throughout has no softmax, which is the gradient here: leave at least one position of each row unmasked.",
}
UNTAKEN = {
    "where": "np.where selects after both branches have been computed, and 0 times infinity is NaN. Put a safe value into the operand first: safe = np.where(mask, x, 1.0), then np.where(mask, f(safe), other).",
    "getitem": "An index selects after all elements have been computed, and 0 times infinity is NaN for those that it leaves out. Take the elements first and compute with them alone: f(x[i]) in place of f(x)[i].",
    "maximum": "np.maximum selects after both operands have been computed, and 0 times infinity is NaN. Bound the operand instead of the result: f(np.maximum(x, low)) in place of np.maximum(f(x), f(low)).",
    "minimum": "np.minimum selects after both operands have been computed, and 0 times infinity is NaN. Bound the operand instead of the result: f(np.minimum(x, high)) in place of np.minimum(f(x), f(high)).",
}
"""By the op that selected: what to do where something that was not chosen spoils the gradient all the same."""


def nonfinite(data: TraceData) -> list[Finding]:
    """NaN and inf that reach the root or a gradient, at the nodes where they were born, forward first."""
    bad: list[bool] = (~finite([n.value for n in data.nodes])).tolist()
    spoilt = not finite([n.cotangent for n in data.nodes if n.cotangent is not None]).all()
    if not spoilt and not any(bad[r] for r in data.roots):
        return []  # an infinity that stays inside (a mask of -inf before a softmax) is meant
    forward = list(_forward(data, bad))
    # an infinity in the data is often meant (a mask); what an op made of it comes first
    given = [f for f in forward if f.kind == "inf" and data.nodes[f.node or 0].kind != "op"]
    return [*(f for f in forward if f not in given), *given, *_backward(data)]


def _forward(data: TraceData, bad: list[bool]) -> Iterator[Finding]:
    reaching = _reaching(data, bad)
    for n in data.nodes:
        if not bad[n.id] or n.id not in reaching:
            continue
        if n.kind != "op":
            nan = bool(np.isnan(n.value).any())
            if not nan and not n.requires_grad:
                continue  # given so: what it does to others is found there
            kind: Kind = "nan" if nan else "inf"
            flags = np.isnan(n.value) if nan else np.isinf(n.value)
            yield finding(
                kind, "forward", n, f"{n.title} was given with {_told(flags, kind)}.{_heirs(data, n)}", "Look at where this array comes from."
            )
            continue
        operands = [data.nodes[i].value for i in n.inputs]
        for kind, here in _born(n, n.value, operands, operands):
            at = _first(here)
            made = ", ".join(f"{slot} = {_element(v, n.shape, at)}" for slot, v in zip(n.slots, operands, strict=False))
            clean = "no operand is NaN" if kind == "nan" else "no operand is infinite"
            elsewhere = " there" if any(np.isnan(v).any() if kind == "nan" else not _finite(v) for v in operands) else ""
            why = f"Born here: {n.op} gives {_told(here, kind)}; at {_place(at)} from {made}, while {clean}{elsewhere}.{_heirs(data, n)}"
            remedy = FORWARD_REMEDIES.get(n.op, "Keep the operand inside the domain of the op.")
            if kind == "inf" and _overflows(data, n, at):
                remedy = f"No operand is infinite and none is at a pole: the result is larger than {n.dtype} can hold (about {float(np.finfo(n.dtype).max):.2g}). Make its operands smaller, or compute with logarithms{'' if n.dtype == 'float64' else ', or in float64'}."
            chooser = _chooser(data, n)
            if chooser and n.cotangent is not None and not np.any(n.cotangent[here]):
                why += f" Nothing was chosen from these elements: {_left_out(chooser)}."
                remedy = UNTAKEN[chooser]
            yield finding(kind, "forward", n, why, remedy)


def _born(n: TraceNode, made: Array, infinities: Sequence[Array], nans: Sequence[Array]) -> list[tuple[Kind, Flags]]:
    """What is not finite in what a node made, without what it has from where it was made of."""
    op = REGISTRY.get(n.op)
    return [*born(made, infinities, nans, op is not None and op.elementwise)]


_POLES = frozenset({"log", "log2", "log10", "log1p", "arctanh", "logsumexp"})
"""Ops that are infinite at the end of their domain, and too flat to grow so large elsewhere."""


def _overflows(data: TraceData, n: TraceNode, at: Index) -> bool:
    """Whether a result is infinite because it is too large, and there is no better advice for this op."""
    if n.op in _POLES or n.op == "exp":
        return False
    zero = {"div": 1, "reciprocal": 0, "pow": 0}.get(n.op)
    if zero is None:
        return True
    try:
        return bool(np.broadcast_to(data.nodes[n.inputs[zero]].value, n.shape)[at] != 0)
    except (ValueError, IndexError):
        return False


def _reaching(data: TraceData, bad: list[bool]) -> set[int]:
    """The nodes whose NaN or inf reaches a root, or a gradient that is not finite either."""
    reaching = {r for r in data.roots if bad[r]}
    sent = {s.consumer for n in data.nodes for s in n.shares if not _finite(s.value)}
    for n in reversed(data.nodes):
        if any(not _finite(s.value) for s in n.shares) and bad[n.id]:
            reaching.add(n.id)
        if n.id in reaching or n.id in sent:
            reaching.update(i for i in n.inputs if bad[i])
            if bad[n.id]:
                reaching.add(n.id)
    return reaching


def _backward(data: TraceData) -> Iterator[Finding]:
    for r in dict.fromkeys(data.roots):
        seeds = [s.after for s in data.steps if s.kind == "seed" and s.node == r and s.after is not None]
        if seeds and not _finite(seeds[-1]):
            kind: Kind = "nan" if np.isnan(seeds[-1]).any() else "inf"
            flags = np.isnan(seeds[-1]) if kind == "nan" else np.isinf(seeds[-1])
            yield finding(
                kind,
                "backward",
                data.nodes[r],
                f"The seed of {data.nodes[r].title} was given with {_told(flags, kind)}.",
                "Look at the gradient= that backward got.",
            )
    seen: set[tuple[int, str]] = set()
    for step in data.steps:
        if step.kind != "accumulate" or step.share is None:
            continue
        for kind, here in _born_in_rule(data, step.share):
            if (step.share.consumer, kind) not in seen:
                seen.add((step.share.consumer, kind))
                yield _share_finding(data, step.share, kind, here)
        meeting = _meeting(step.share, step.before, step.after)
        if meeting is not None:
            n = data.nodes[step.node]
            why = f"Born where the shares of {n.title} are added: {step.share.value.size:,} numbers that are {'infinite of both signs' if meeting == 'nan' else 'finite'} add up to {'NaN' if meeting == 'nan' else 'infinity'}."
            yield finding(meeting, "backward", n, why, "Look at the shares one by one: the largest comes first.")


def _born_in_rule(data: TraceData, share: Share) -> list[tuple[Kind, Flags]]:
    """What is not finite in a share though nothing that its rule read is to blame."""
    consumer = data.nodes[share.consumer]
    g = consumer.cotangent
    if _finite(share.local) or g is None:
        return []
    # NaN among the saved values, or in the result, was born in forward, and is reported there
    return _born(consumer, share.local, [g], [g, *consumer.saved.values(), consumer.value])


def _meeting(share: Share, before: Array | None, after: Array | None) -> Kind | None:
    if before is None or after is None or _finite(after):
        return None
    if np.isnan(after).any():
        return "nan" if not np.isnan(before).any() and not np.isnan(share.value).any() else None
    return "inf" if _finite(before) and _finite(share.value) else None


def _share_finding(data: TraceData, share: Share, kind: Kind, here: Flags) -> Finding:
    n = data.nodes[share.consumer]
    at = _first(here)
    formula = n.formulas[share.slot] if share.slot < len(n.formulas) and n.formulas[share.slot] else "its rule"
    g = _element(n.cotangent, share.local.shape, at) if n.cotangent is not None else ""
    culprits = [f"{name} = {text}" for name, value in n.saved.items() if (text := _suspect(value, share.local.shape, at))]
    target = data.nodes[share.target]
    saved = f" with the saved value {', '.join(culprits)}" if culprits else ""
    held = f" (its operand is {_element(target.value, share.local.shape, at)} there)" if not culprits else ""
    why = f"Born here: what arrives at {_place(at)} is g = {g}, and {formula}{saved} gives {'NaN' if kind == 'nan' else _element(share.local, share.local.shape, at)}{held}."
    remedy = BACKWARD_REMEDIES.get(n.op, "Keep the operand away from the point where the slope of the op is infinite.")
    chooser = _chooser(data, n)
    if chooser and kind == "nan" and g in ("0", "-0"):
        why += f" Nothing was chosen from this element: {_left_out(chooser)}."
        remedy = UNTAKEN[chooser]
    return finding(kind, "backward", n, why, remedy)


def _chooser(data: TraceData, n: TraceNode) -> str:
    """The op that selects between the node and the root, a few ops up at most; empty where there is none."""
    ids = [n.id]
    for _ in range(8):
        ids = [s.consumer for i in ids for s in data.nodes[i].shares][:16]
        for i in ids:
            if data.nodes[i].op in UNTAKEN:
                return data.nodes[i].op
    return ""


def _left_out(chooser: str) -> str:
    return "the branch was not taken" if chooser == "where" else f"the {chooser} behind it left it out"


def _heirs(data: TraceData, n: TraceNode) -> str:
    spoilt = {n.id}
    for later in data.nodes[n.id + 1 :]:
        if not spoilt.isdisjoint(later.inputs) and not _finite(later.value):
            spoilt.add(later.id)
    return f" {len(spoilt) - 1} later value{'s' if len(spoilt) > 2 else ''} inherit{'s' if len(spoilt) == 2 else ''} it." if len(spoilt) > 1 else ""


def _finite(value: Array) -> bool:
    return value.dtype.kind != "f" or bool(np.isfinite(value).all())


def _first(flags: Flags) -> Index:
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(flags)), flags.shape))


def _place(at: Index) -> str:
    return f"[{', '.join(map(str, at))}]" if at else "the number"


def _told(flags: Flags, kind: Kind) -> str:
    what = "NaN" if kind == "nan" else "inf"
    return what if flags.size == 1 else f"{int(np.sum(flags)):,} {what} among {flags.size:,} numbers"


def _element(value: Array, shape: tuple[int, ...], at: Index) -> str:
    """The element that belongs to a place in an array that ``value`` broadcasts to; the shape where there is none."""
    try:
        return format(np.broadcast_to(value, shape)[at].item(), ".6g")
    except (ValueError, IndexError, TypeError):
        return f"an array of shape {value.shape}"


def _suspect(value: Array, shape: tuple[int, ...], at: Index) -> str:
    """The saved element at a place if it can make a rule fail: 0, infinite, or so large or small that its square is."""
    if value.dtype.kind != "f":
        return ""
    try:
        x = float(np.broadcast_to(value, shape)[at])
    except (ValueError, IndexError):
        extreme = (value == 0) | ~np.isfinite(value)
        return f"{value[_first(extreme)].item():.6g} at {_place(_first(extreme))}" if extreme.any() else ""
    limit = float(np.sqrt(np.finfo(value.dtype).max))
    return format(x, ".6g") if x == 0 or not abs(x) < limit or abs(x) < 1 / limit else ""
