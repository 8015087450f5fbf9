"""The work of a check in pieces from the root on, of which none should take long. Imports no view or widget."""

from __future__ import annotations

from collections.abc import Iterator

from tensorviz.checks.run import TOGETHER, Job, Plan, group, rows_of
from tensorviz.checks.subject import Subject

LONG = 0.1
"""Seconds that a piece should not take: what a person sees as at once."""


class Pieces:
    """Neighbours together, which are checked several times as fast as one by one: rules, and gradients once every rule downstream of them is done.

    How many are not too many is found out: an op that was not met before goes alone, as does the first gradient.
    """

    def __init__(self, subject: Subject, plan: Plan) -> None:
        self._nodes, self._plan = subject.nodes, plan
        self._rows = rows_of(subject)
        self._pace: dict[str, float] = {}
        """By op, the seconds that one node's rule took where it was met last."""
        self._most = 1
        """Gradients that go together; one replay serves them all, so that many take hardly longer than one."""

    def __iter__(self) -> Iterator[Job]:
        """Say :meth:`took` of one before asking for the next."""
        rules, gradients, _ = self._plan
        r = g = 0
        waiting: Job | None = None
        while r < len(rules) or g < len(gradients):
            if waiting is None and g < len(gradients):
                waiting = group("gradients", gradients, g, self._rows, self._most)
            if waiting is not None and (r == len(rules) or rules[r] < waiting.nodes[-1]):
                yield waiting
                g += len(waiting.nodes)
                waiting = None
            else:
                job = self._rules(r)
                yield job
                r += len(job.nodes)

    def _rules(self, start: int) -> Job:
        rules, left = self._plan.rules, LONG
        end = start
        while end < len(rules) and end - start < TOGETHER:
            left -= self._pace.get(self._nodes[rules[end]].op, LONG)
            if left < 0 and end > start:
                break
            end += 1
        return Job("rules", tuple(rules[start:end]))

    def took(self, job: Job, seconds: float) -> None:
        """How long that was."""
        if job.kind == "gradients":
            self._most = max(1, self._most // 2) if seconds > LONG else min(TOGETHER, 2 * self._most)
        else:
            self._pace |= dict.fromkeys({self._nodes[i].op for i in job.nodes}, seconds / len(job.nodes))
