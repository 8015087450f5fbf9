"""Which rule is to blame, in words, and what excuses a mismatch. Imports no view or widget."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Literal

import numpy as np

from tensorviz.checks.differences import CODE
from tensorviz.checks.local import UNSTEADY
from tensorviz.checks.report import Block
from tensorviz.checks.subject import Subject, title
from tensorviz.trace import TraceData

KINKED = "every rule is right by itself, but some stand at a kink or a tie, where what each gives by convention need not add up to a derivative"


def is_wrong(b: Block) -> bool:
    """Whether a block of a rule, or of a sum of shares, puts the blame on its node."""
    return b.code == CODE["mismatch"] or UNSTEADY in b.reasons


def born(subject: Subject, counts: Mapping[str, int]) -> tuple[str, ...]:
    """A note on where the first number that is not finite came from, where that is why something could not be judged."""
    return (subject.born,) if counts.get("undefined") and subject.born else ()


def blame_text(data: TraceData, blocks: Iterable[Block], blame: int | None) -> str:
    """One sentence: which rule is wrong, where it was used, and by what factor."""
    if blame is None:
        return ""
    node = data.nodes[blame]
    found = [b for b in blocks if b.node == blame and b.scope in ("local", "sum") and is_wrong(b)]
    worst = found[0].worst
    where = f" ({node.source})" if node.source else ""
    if found[0].code != CODE["mismatch"]:
        return f"The backward rule of {node.op} is wrong at node {blame}{where}: {UNSTEADY}."
    if found[0].scope == "sum":
        return f"The gradient of {title(node)}, node {blame}{where}, is not the sum of its shares: analytic {worst.analytic:.6g}, numeric {worst.numeric:.6g}."
    slot = worst.slot or 0
    name = node.slots[slot] if slot < len(node.slots) else str(slot)
    compared = sum(found[0].counts.values())
    share = f"{found[0].counts['mismatch']:,} of {compared:,} derivatives differ, " if compared > 1 else ""
    return f"The backward rule of {node.op} for operand {name} is wrong at node {blame}{where}: {share}the worst is analytic {worst.analytic:.6g}, numeric {worst.numeric:.6g}."


def excused(b: Block, verdict: Literal["noise", "nonsmooth"], reason: str) -> Block:
    """The block with its mismatches, if any, turned into another verdict."""
    counts = dict(b.counts)
    wrong = counts.pop("mismatch", 0)
    if not wrong:
        return b
    counts[verdict] = counts.get(verdict, 0) + wrong
    mismatch = b.codes == CODE["mismatch"]
    reasons = tuple(reason if m else r for m, r in zip(mismatch, b.reasons, strict=True))
    return replace(b, codes=np.where(mismatch, CODE[verdict], b.codes), reasons=reasons, counts=counts)
