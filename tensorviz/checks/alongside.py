"""A check that runs beside the user's program: node by node in a thread of its own, told as it goes. Imports no view or widget."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Literal

from tensorviz.checks.report import Block, CheckReport
from tensorviz.checks.run import WHOLE, Job, jobs_of, report_of, subject_of
from tensorviz.checks.subject import Subject
from tensorviz.trace import Trace

State = Literal["waiting", "running", "done", "cancelled", "failed"]

TELL = 0.1
"""Seconds between two tellings: what a person sees as at once, and ten messages a second for whoever carries them."""
REST = 1.0
"""The thread rests this many times as long as it has worked: while the user's program runs, it keeps half of the interpreter at least."""
LONGEST_REST = 0.05
"""Seconds; after a long piece of array work, during which others ran, there is nothing to make up for."""

_turn = threading.Lock()
"""Several checks take turns, piece by piece, so that ten open steppers are no busier than one."""


@dataclass(frozen=True)
class Update:
    """What a check that runs alongside has come to."""

    state: State
    done: int
    """Nodes that are finished."""
    total: int
    new: tuple[Block, ...]
    """What was found since the update before."""
    report: CheckReport
    """Everything so far; it is also the trace's ``report``."""
    note: str = ""
    """Why there is no more, where there is not."""


class Alongside:
    """One trace's check in a thread of its own, from the root on, node by node: first a node's rule, then its gradient.

    ``tell`` is called, in that thread, with an :class:`Update` about ten times a second, and once at the end. The rows are
    those of :func:`tensorviz.checks.check` with the same options. ``trace.report`` holds what is known so far, from the
    first update on. The thread ends early if the trace is dropped, or gets another report meanwhile.

    >>> import numpy as np, tensorviz as tv
    >>> x = tv.tensor([1.0, 2.0], requires_grad=True)
    >>> trace = np.exp(x).sum().backward()
    >>> checking = trace.check_alongside()
    >>> checking.wait()
    True
    >>> checking.state, trace.report.kind
    ('done', 'ok')
    """

    def __init__(self, trace: Trace, tell: Callable[[Update], Any], **options: Any) -> None:
        self.state: State = "waiting"
        self.done = self.total = 0
        self.note = ""
        self._trace = weakref.ref(trace)
        self._tell = tell
        self._subject = subject_of(trace, **options)
        self._written = trace.report
        self._blocks: list[Block] = []
        self._fresh: list[Block] = []
        self._skipped: list[Block] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tensorviz check", daemon=True)

    def start(self) -> Alongside:
        """Begin. Returns itself."""
        self.state = "running"
        self._thread.start()
        return self

    def cancel(self) -> None:
        """End after the piece of work that is being done; what was found stays."""
        self._stop.set()

    def wait(self, seconds: float | None = None) -> bool:
        """Whether it has ended, within so many seconds."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    @property
    def report(self) -> CheckReport:
        """Everything found so far."""
        subject = self._subject
        notes = () if self.state == "done" else (self._so_far(),)
        return report_of(subject, [*self._blocks, *self._skipped], notes=notes)

    def _so_far(self) -> str:
        why = {"cancelled": "the check was cancelled", "failed": self.note}.get(self.state, "the check is still running")
        return f"{self.done:,} of {self.total:,} nodes checked so far: {why}."

    def _run(self) -> None:
        try:
            self._work(self._subject)
            if self.state == "running":
                self.state = "cancelled" if self._stop.is_set() else "done"
        except Exception as error:  # noqa: BLE001 - a thread has nobody above it: whatever went wrong is told where the verdicts are
            self.state, self.note = "failed", f"the check could not go on: {type(error).__name__}: {error}"
        if self.state == "cancelled":
            self.note = self._so_far()
        self._say()

    def _work(self, subject: Subject) -> None:
        pieces, self._skipped = _pieces(subject)
        self._fresh = list(self._skipped)
        self.total = len(pieces)
        told = perf_counter()
        for jobs in pieces:
            for job in jobs:
                with _turn:
                    start = perf_counter()
                    found = [b for blocks in job.run(subject).values() for b in blocks]
                    self._blocks += found
                    self._fresh += found
                    # under the lock: the others wait as well, or ten checks would rest one by one
                    self._stop.wait(min(REST * (perf_counter() - start), LONGEST_REST))
                if self._stop.is_set():
                    return
            self.done += 1
            if perf_counter() - told >= TELL:
                told = perf_counter()
                if not self._say():
                    self.state = "cancelled"
                    return

    def _say(self) -> bool:
        """Keep and tell what is known; False where nobody wants it any more."""
        trace = self._trace()
        if trace is None or trace.report is not self._written:
            return False
        report = self.report
        trace.report = self._written = report
        fresh, self._fresh = tuple(self._fresh), []
        self._tell(Update(self.state, self.done, self.total, fresh, report, self.note))
        return True


def _pieces(subject: Subject) -> tuple[list[Sequence[Job]], list[Block]]:
    """Per node its rule and its gradient, root first, and blocks for what would take too long."""
    every = list(range(len(subject.nodes)))
    jobs, skipped = jobs_of(subject, every, WHOLE * subject.budget)
    kinds = {kind: {i for job in jobs if job.kind == kind for i in job.nodes} for kind in ("rules", "gradients")}
    received = [n.id for n in subject.nodes if n.cotangent is not None]
    pieces: list[Sequence[Job]] = []
    for i in reversed(received):
        found = [Job(kind, (i,)) for kind in ("rules", "gradients") if i in kinds[kind]]
        if found:
            pieces.append(found)
    return pieces, skipped
