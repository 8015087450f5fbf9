"""A recorded pass and the pass through its primitives, lined up step by step. Imports the record and rerun; no view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tensorviz.rerun import rerun
from tensorviz.trace import Array, Step, Trace

Links = Mapping[int, Sequence[int]]
"""For every node id of the original, the ids of what it became; its value is the last of them."""


def seeded(original: Trace, seeds: Sequence[Array]) -> Trace:
    """The pass from these seeds, one per root, on the original graph: its own record if it began with them, a new one of the same graph otherwise.

    No Tensor is touched: what ``.grad`` held counts as None in a new record.
    """
    given = {s.node: s.after for s in original.data.steps if s.kind == "seed"}
    if original.data.complete and len(given) == len(seeds):
        mine = [given.get(root) for root in original.roots]
        if all(m is not None and np.array_equal(m, s, equal_nan=True) for m, s in zip(mine, seeds, strict=True)):
            return original
    starts = [Step("seed", root, None, None, seed, "") for root, seed in zip(original.roots, seeds, strict=True)]
    writes = [Step("leaf", n.id, None, None, None, "") for n in original.nodes if n.is_leaf and n.requires_grad]
    return rerun(Trace(replace(original.data, steps=(*starts, *writes), complete=True)))


def lined_up(original: Trace, lowered: Trace, links: Links) -> list[tuple[int, int]]:
    """Pairs of steps, ascending in both: a seed, a ``.grad``, a rule with the first rule of what its node became, a share with the last of those that it became."""
    owner: dict[int, int] = {}
    for i, ids in links.items():
        for j in ids:
            owner.setdefault(j, i)
    value = {ids[-1] for ids in links.values() if ids}
    places: dict[Any, list[int]] = {}
    for k, step in enumerate(lowered.data.steps):
        about = _about(step, owner)
        if about is not None and (step.kind == "pull" or step.node in value):
            places.setdefault(about, []).append(k)
    wanted: dict[Any, list[int]] = {}
    for k, step in enumerate(original.data.steps):
        wanted.setdefault(_about(step, None), []).append(k)
    found: dict[int, int] = {}
    for about, steps in wanted.items():
        there = places.get(about, []) if about is not None else []
        if about is not None and about[0] == "pull":
            there = there[:1]
        if len(there) > len(steps):
            there = there[-len(steps) :]
        found.update(zip(steps[len(steps) - len(there) :], there, strict=True))
    pairs, last = [], -1
    for k in sorted(found):
        if found[k] > last:
            last = found[k]
            pairs.append((k, last))
    return pairs


def _about(step: Step, owner: Mapping[int, int] | None) -> tuple[Any, ...] | None:
    """What a step does, in ids of the original: None for one that has no counterpart."""
    if step.kind == "unbroadcast":
        return None

    def own(i: int) -> int:
        return i if owner is None else owner.get(i, -1)

    if step.share is None:
        return step.kind, own(step.node)
    sender, target = own(step.share.consumer), own(step.node)
    return None if sender == target else (step.kind, target, sender)
