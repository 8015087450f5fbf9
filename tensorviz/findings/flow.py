"""How gradients flow: dead and saturated units, norms that vanish or explode, shares that cancel, ties. Imports the record only."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np

from tensorviz.bulk import norms as _norms
from tensorviz.findings import Finding, finding
from tensorviz.findings.zeros import zeros
from tensorviz.trace import Array, Share, TraceData, TraceNode

DEAD = 0.75
"""Share of a layer's units that must be off for a whole batch. A half is what chance gives where all rows are alike, as deep in a network or in a batch of one."""
SIGMAS = 3.0
"""And how far above that half, in standard deviations: of eight units six are off by chance. All of them are always told."""
SATURATED = 0.5
"""Share of a layer's units that must be in the flat part."""
FLAT = 1e-3
"""Slope, relative to the steepest, below which a unit counts as saturated."""
BACK = 0.1
"""Share of the saturated units that the gradient would bring back, if it passed; by chance it is a half."""
RATIO = 1e-6
"""How far a gradient's norm must fall (or rise, inverted) over a path; six decimal digits."""
LARGE = 1e3
"""How many times the root a share times its leaf's value is, before their cancelling is a loss of digits and not a minimum."""
ROWS = 4
"""Rows from which on a single unit that is off for all of them may be told."""
STEPS = 6
"""Over how many ops at least: one op that scales is meant, a fall over many is not."""
NOTHING = float(np.finfo(np.float32).smallest_subnormal) / 2
"""A number that float32 rounds to 0."""


def flow(data: TraceData) -> list[Finding]:
    """Dead and saturated units, the norms along the deepest path, cancelling shares, ties."""
    off = list(dead(data))
    found = [*off, *zeros(data, frozenset([f.node for f in off if f.node is not None]))]
    return [*found, *saturated(data), *norms(data), *cancellation(data), *tie(data)]


def _rectifies(data: TraceData, n: TraceNode) -> TraceNode | None:
    """The operand of a relu, or of max(x, 0)."""
    if n.op == "relu":
        operand = data.nodes[n.inputs[0]]
        return None if _is_margin(data, operand) else operand
    if n.op == "maximum" and len(n.inputs) == 2:
        for a, b in (n.inputs, n.inputs[::-1]):
            zero = data.nodes[b]
            if zero.kind == "constant" and not np.any(zero.value) and not _is_margin(data, data.nodes[a]):
                return data.nodes[a]
    return None


def _is_margin(data: TraceData, n: TraceNode) -> bool:
    """A constant minus something: max(0, 1 - margin) is a hinge, and its being 0 for every row is the aim."""
    return n.op == "sub" and data.nodes[n.inputs[0]].kind == "constant"


def dead(data: TraceData) -> Iterator[Finding]:
    """Layers most of whose relu units are off for every row of the batch, so that nothing flows back through them."""
    for n in data.nodes:
        operand = _rectifies(data, n) if n.kind == "op" else None
        if operand is None or n.cotangent is None or n.value.size < 4 or operand.shape != n.shape:
            continue
        off = operand.value <= 0
        units = off.reshape(-1, n.shape[-1]).all(axis=0) if n.value.ndim > 1 and n.value.size > n.shape[-1] else off.all().reshape(1)
        count = int(units.sum())
        if count < units.size and count < max(DEAD * units.size, units.size / 2 + SIGMAS * np.sqrt(units.size) / 2):
            lost = _far_off(operand.value, off, np.asarray(units))
            if lost.size:
                named = ", ".join(str(int(u)) for u in lost[:5]) + ("…" if lost.size > 5 else "")
                top = float(operand.value.reshape(-1, n.shape[-1])[:, lost].max())
                why = (
                    f"unit{'s' if lost.size > 1 else ''} {named} of the {units.size:,} of this {n.op} {'are' if lost.size > 1 else 'is'} off for every one of the "
                    f"{n.value.size // units.size:,} rows, and far: the operand there is at most {top:.4g}, so no gradient passes."
                )
                yield finding(
                    "dead",
                    "backward",
                    n,
                    why,
                    "Look at these units' bias and weights: a smaller learning rate, a bias nearer to zero or positive, or leaky_relu.",
                )
            continue
        rows = n.value.size // units.size
        what = f"{count:,} of {units.size:,} units" if units.size > 1 else f"all {n.value.size:,} units"
        why = (
            f"{what} of this {n.op} are off for every one of the {rows:,} rows: their operand is at most {float(operand.value.max()):.4g}, so no gradient passes."
            if units.size > 1
            else f"{what} of this {n.op} are off: their operand is at most {float(operand.value.max()):.4g}, so no gradient passes."
        )
        yield finding("dead", "backward", n, why, "Lower the learning rate, start with a bias nearer to zero or positive, or use leaky_relu or gelu.")


def _far_off(operand: Array, off: Array, units: Array) -> Array:
    """The units that are off by more than their operand varies over the rows, and than any other of the layer is on or off; by number.

    Units of one layer start out alike, so that one that stands apart has been driven there. Deep in a network, where rows are
    alike, half of the units are off for all of them by chance, and the others on: a layer most of whose units do not go on and
    off says nothing.
    """
    rows = operand.size // max(1, units.size)
    nobody = np.zeros(0, dtype=int)
    if rows < ROWS or not units.any() or units.all():
        return nobody
    values, flags = operand.reshape(rows, -1), off.reshape(rows, -1)[:, ~units]
    if float(np.mean(flags.any(axis=0) & ~flags.all(axis=0))) <= 0.5:
        return nobody
    top, low = values.max(axis=0), values.min(axis=0)
    return np.flatnonzero(units & (top < low - top) & (top < -np.abs(values[:, ~units]).max()))


_SLOPES = {"sigmoid": lambda out: 4 * out * (1 - out), "tanh": lambda out: 1 - out * out}
"""Slopes from the result, relative to the steepest."""


def saturated(data: TraceData) -> Iterator[Finding]:
    """Sigmoids and tanhs most of whose units sit where the curve is flat."""
    for n in data.nodes:
        slope = _SLOPES.get(n.op)
        if slope is None or n.cotangent is None or not n.value.size or not np.any(n.cotangent):
            continue
        flat = slope(n.value.astype(float)) < FLAT
        count = int(flat.sum())
        operand = data.nodes[n.inputs[0]].value
        # a unit that the loss pushes further out is where it should be: of a classifier that is sure and right, all are
        back = flat & (n.cotangent * operand > 0)
        if count and count >= SATURATED * flat.size and int(back.sum()) >= BACK * count:
            why = f"{count:,} of {flat.size:,} units of this {n.op} are saturated: |operand| is up to {float(np.max(np.abs(operand))):.4g}, where less than a thousandth of the gradient passes."
            yield finding(
                "saturated",
                "backward",
                n,
                why,
                "Scale the operand down (smaller weights, normalised inputs), or use relu; with a cross-entropy use the form that takes logits.",
            )


def norms(data: TraceData) -> Iterator[Finding]:
    """The norm of the gradient along the deepest path, and to the leaves that get least and most, where it falls or rises a millionfold over many ops."""
    told: set[str] = set()
    for path in _paths(data):
        found = _norms([n.cotangent for n in path if n.cotangent is not None]).tolist()
        given = (n for n in path if n.cotangent is not None)
        sizes = [(n, size) for n, size in zip(given, found, strict=True) if np.isfinite(size) and size > 0]
        if len(sizes) <= STEPS:
            continue
        logs = np.log([size for _, size in sizes])
        for sign, kind in ((-1.0, "vanishing"), (1.0, "exploding")):
            way = None if kind in told else _trend(sign * logs)
            if way is None:
                continue
            told.add(kind)
            start, end = way
            first, last = sizes[start], sizes[end]
            factor = float(np.exp((logs[end] - logs[start]) / max(1, end - start)))
            by = f"{factor:.3g}" if abs(factor - 1) > 0.01 else f"{factor:.6g}"
            why = f"Over {end - start:,} ops the norm of the gradient goes from {first[1]:.3g} at {first[0].title} to {last[1]:.3g} at {last[0].title}: by {by} per op."
            why += " In float32 it would be 0." if last[1] < NOTHING and last[0].dtype == "float64" else ""
            cure = (
                "smaller initial weights, gradient clipping, normalisation"
                if kind == "exploding"
                else "larger initial weights, relu instead of sigmoid or tanh, normalisation, skip connections"
            )
            yield finding("vanishing" if kind == "vanishing" else "exploding", "backward", last[0], why, f"What helps: {cure}.")


def _trend(logs: Array) -> tuple[int, int] | None:
    """Where a rise by more than RATIO over many ops begins and ends, from the root or from behind the largest single step.

    One op that scales by a million is a mean, a unit of measure, or the square of an output that is large itself. Many are STEPS that
    one can see, or very many small ones: as many as would make the rise, and its sum of squares, if all were alike.
    """
    moves = np.diff(logs)
    for start in (0, int(np.argmax(moves)) + 1):
        way = logs[start:] - logs[start]
        end = int(np.argmax(way))
        part = moves[start : start + end]
        if way[end] < -np.log(RATIO) or float(part.max()) > way[end] / 2:
            continue
        if int(np.sum(part > 0.1)) >= STEPS or way[end] ** 2 >= STEPS * float(part @ part):
            return start, start + end
    return None


def _paths(data: TraceData) -> Iterator[list[TraceNode]]:
    """The longest path of gradients from a root, and the longest to the leaf that gets least (but not nothing) and to the one that gets most; root first."""
    depth = [-1] * len(data.nodes)
    came = [-1] * len(data.nodes)
    for r in data.roots:
        depth[r] = 0
    for n in reversed(data.nodes):
        for share in n.shares:
            if depth[share.consumer] >= 0 and depth[share.consumer] + 1 > depth[n.id]:
                depth[n.id], came[n.id] = depth[share.consumer] + 1, share.consumer
    if not depth:
        return
    leaves = [n for n in data.nodes if n.is_leaf and n.cotangent is not None and depth[n.id] > 0]
    sizes = dict(zip([n.id for n in leaves], _norms([n.cotangent for n in leaves if n.cotangent is not None]).tolist(), strict=True))
    some = [i for i, size in sizes.items() if np.isfinite(size) and size > 0]
    ends = [int(np.argmax(depth)), *([min(some, key=lambda i: sizes[i]), max(some, key=lambda i: sizes[i])] if some else [])]
    for end in dict.fromkeys(ends):
        i, path = end, []
        while i >= 0:
            path.append(data.nodes[i])
            i = came[i]
        yield path[::-1]


def cancellation(data: TraceData) -> Iterator[Finding]:
    """Forks whose shares are each large and whose sum is not: digits are lost, or the node has no effect."""
    top = max([float(np.max(np.abs(data.nodes[r].value), initial=0.0)) for r in data.roots], default=0.0)
    # a shift by the maximum has no effect by design
    forks = [(n, n.cotangent) for n in data.nodes if len(n.shares) > 1 and n.cotangent is not None and n.op not in ("max", "min", "amax", "amin")]
    sent: Iterator[float] = iter(_norms([s.value for n, _ in forks for s in n.shares]).tolist())
    totals = _norms([g for _, g in forks]).tolist()
    for (n, cotangent), total in zip(forks, totals, strict=True):
        parts = sum(islice(sent, len(n.shares)))
        limit = RATIO if cotangent.dtype.itemsize >= 8 else 1e-3
        if n.kind != "op" and parts * float(np.max(np.abs(n.value), initial=0.0)) <= LARGE * top:
            continue  # where a loss is least, what its terms want of a parameter cancels: that is what least means
        if np.isfinite(parts) and parts > 0 and total < limit * parts:
            lost = f"about {-np.log10(total / parts):.0f} digits are lost" if total > 0 else "nothing is left"
            why = (
                f"The {len(n.shares)} shares of {n.title} cancel: their norms add up to {parts:.4g}, the norm of their sum is {total:.4g}, so {lost}."
            )
            yield finding(
                "cancellation",
                "backward",
                n,
                why,
                "Rewrite the expression so that the large terms cancel before they are computed, or leave the node out if it has no effect.",
            )


def _parts(share: Share, consumer: TraceNode) -> Array:
    """Which part of the gradient that arrives at a place each element gets, or each copy of an element that was broadcast."""
    if not share.summed_axes:
        return np.where(share.value != 0, share.tied * share.route, 0.0)
    if consumer.cotangent is None or consumer.cotangent.shape != share.local.shape:
        return np.zeros(0)
    with np.errstate(all="ignore"):
        return np.nan_to_num(np.abs(share.local) / np.abs(consumer.cotangent))


def tie(data: TraceData) -> Iterator[Finding]:
    """Maxima and minima that several elements share, where a gradient arrives."""
    told: set[int] = set()
    for n in data.nodes:
        for share in n.shares:
            if share.route is None or not share.value.size or share.consumer in told:
                continue
            consumer = data.nodes[share.consumer]
            weights = _parts(share, consumer)
            tied = (weights > 0) & (weights < 1)
            count = int(tied.sum())
            if not count:
                continue
            if n.op == "relu" and not share.summed_axes and not np.any(n.value[tied]):
                continue  # zeros of a relu meet in a pooling window all the time, and the relu stops what they get
            told.add(share.consumer)
            weights = np.unique(weights[tied])
            one, many = ("copy of an element", "copies of elements") if share.summed_axes else ("element", "elements")
            who = f"1 {one} of {n.title} shares" if count == 1 else f"{count:,} {many} of {n.title} share"
            why = f"{who} a place in {consumer.op} (weights {', '.join(f'{w:.3g}' for w in weights[:4])}): the gradient is split between them, and a small change of one moves all of it there."
            yield finding(
                "tie",
                "backward",
                consumer,
                why,
                "Nothing to repair if equal values are meant; otherwise break the tie, e.g. with a little noise, or use logsumexp as a smooth maximum.",
            )
