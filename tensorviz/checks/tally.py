"""What a check has found so far, with the last word on each block, so that a report costs little at any time. Imports no view or widget."""

from __future__ import annotations

from collections.abc import Iterable

from tensorviz.checks.blame import KINKED, blame_text, born, excused, is_wrong
from tensorviz.checks.differences import CODE
from tensorviz.checks.report import Block, CheckReport
from tensorviz.checks.stale import overwritten
from tensorviz.checks.subject import Subject, title


class Tally:
    """Takes blocks from the root on: those of every rule downstream of a node before that of the node's gradient, which they may excuse."""

    def __init__(self, subject: Subject) -> None:
        self.blocks: list[Block] = []
        self.blame: int | None = None
        """Of the nodes whose rule is wrong the one nearest the root."""
        self._subject = subject
        self._counts: dict[str, int] = {}
        self._wrong: list[Block] = []
        """Those that put the blame on the node."""
        self._why: str | None = None
        """What made it wrong; None where that was not asked yet."""
        self._noisy = -1
        """The node nearest the root whose rule is lost in round-off."""
        self._kinked: set[int] = set()

    def add(self, blocks: Iterable[Block]) -> None:
        for b in blocks:
            self._note(b)
            found = self._excused(b)
            self.blocks.append(found)
            for verdict, count in found.counts.items():
                self._counts[verdict] = self._counts.get(verdict, 0) + count

    def _note(self, b: Block) -> None:
        if b.node is None or b.scope not in ("local", "sum"):
            return
        if is_wrong(b) and (self.blame is None or b.node >= self.blame):
            if b.node != self.blame:
                self.blame, self._wrong, self._why = b.node, [], None
            self._wrong.append(b)
        if b.scope == "local" and b.code == CODE["noise"]:
            self._noisy = max(self._noisy, b.node)
        if b.scope == "local" and b.code == CODE["nonsmooth"]:
            self._kinked.add(b.node)

    def _excused(self, b: Block) -> Block:
        """A global mismatch of a narrow dtype, or of what is noise or a kink further down, where every rule downstream is right."""
        if b.scope != "global" or b.node is None or b.code != CODE["mismatch"] or (self.blame is not None and self.blame > b.node):
            return b
        if self._kinked and not self._kinked.isdisjoint(self._subject.downstream(b.node)):
            return excused(b, "nonsmooth", KINKED)
        if self._subject.double and self._noisy <= b.node:
            return b
        return excused(b, "noise", "round-off that grew between here and the root: every rule downstream is right")

    def explain(self) -> None:
        """Find out what made the blamed rule wrong, where that is not known yet; of slow rules that may take a while."""
        if self.blame is not None and self._why is None:
            mismatch = any(b.scope == "local" and b.code == CODE["mismatch"] for b in self._wrong)
            self._why = overwritten(self._subject, self.blame) if mismatch else ""

    def report(self, notes: tuple[str, ...] = ()) -> CheckReport:
        """All of it, with the blame; it does not change as more is added."""
        subject = self._subject
        root = ", ".join(subject.data.nodes[r].title for r in subject.data.roots[:3])
        said = " ".join(part for part in (blame_text(subject.data, self._wrong, self.blame), self._why) if part)
        notes = (*notes, *_by_hand(subject), *born(subject, self._counts))
        return CheckReport(self.blocks, blame=self.blame, blame_text=said, subject=f"check of {root}", notes=notes, counts=self._counts)


def _by_hand(subject: Subject) -> tuple[str, ...]:
    """A note on shares that were set in a rerun, after which gradients are no derivatives any more."""
    if not subject.set_by_hand:
        return ()
    nodes, most = subject.nodes, 3
    named = [f"that of {title(nodes[s.target])} from {title(nodes[s.consumer])}" for s in subject.set_by_hand[:most]]
    more = f" and {len(subject.set_by_hand) - most} more" if len(subject.set_by_hand) > most else ""
    return (
        (
            f"Shares set by hand: {', '.join(named)}{more}. Gradients that follow from them are no derivatives, so they differ. "
            "Rules are compared by what they gave."
        ),
    )
