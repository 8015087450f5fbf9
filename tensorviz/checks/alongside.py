"""A check that runs beside the user's program: node by node in a thread of its own, or between cells where there are no threads. Imports no view or widget."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
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
    first update on. The thread ends early if the trace is dropped, or gets another report meanwhile. Where ``tell`` raises, it is
    told no more, and ``note`` says why; the check goes on.

    Python in a browser has no threads. There the same work is done piece by piece in the event loop that runs the cells, and :meth:`wait` does it at once.

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
        self._thread = threading.Thread(target=self._run_through, name="tensorviz check", daemon=True)
        self._left: Iterator[None] | None = None
        """What is left to do, where there is no thread."""

    def start(self) -> Alongside:
        """Begin; once. Returns itself."""
        if self.state != "waiting":
            return self
        self.state = "running"
        try:
            self._thread.start()
        except RuntimeError:
            # "can't start new thread": a browser, or a machine that is full
            self._left = self._run()
            self._go_on(0.0)
        return self

    def _go_on(self, rest: float) -> None:
        """One piece once the event loop has done what else there was, then the next one."""

        def piece() -> None:
            start = perf_counter()
            if self._advance():
                self._go_on(min(REST * (perf_counter() - start), LONGEST_REST))

        try:
            asyncio.get_running_loop().call_later(rest, piece)
        except RuntimeError:  # no loop either: nobody is there to be kept waiting
            self.wait()

    def _advance(self) -> bool:
        """Do one piece; whether there is more."""
        if self._left is not None and next(self._left, self) is self:
            self._left = None
        return self._left is not None

    def cancel(self) -> None:
        """End after the piece of work that is being done; what was found stays."""
        self._stop.set()

    def wait(self, seconds: float | None = None) -> bool:
        """Whether it has ended, within so many seconds."""
        if self._thread.ident is not None:
            self._thread.join(seconds)
            return not self._thread.is_alive()
        end = float("inf") if seconds is None else perf_counter() + seconds
        while self._left is not None and perf_counter() < end:
            self._advance()
        return self._left is None

    @property
    def report(self) -> CheckReport:
        """Everything found so far."""
        subject = self._subject
        notes = () if self.state == "done" else (self._so_far(),)
        return report_of(subject, [*self._blocks, *self._skipped], notes=notes)

    def _so_far(self) -> str:
        why = {"cancelled": "the check was cancelled", "failed": self.note}.get(self.state, "the check is still running")
        return f"{self.done:,} of {self.total:,} nodes checked so far: {why}."

    def _run_through(self) -> None:
        pieces = self._run()
        while True:
            with _turn:
                start = perf_counter()
                if next(pieces, self) is self:
                    return
                # under the lock: the others wait as well, or ten checks would rest one by one
                self._stop.wait(min(REST * (perf_counter() - start), LONGEST_REST))

    def _run(self) -> Iterator[None]:
        """The whole check; pauses after each piece of work."""
        try:
            yield from self._work(self._subject)
            if self.state == "running":
                self.state = "cancelled" if self._stop.is_set() else "done"
        except Exception as error:  # noqa: BLE001 - a thread has nobody above it: whatever went wrong is told where the verdicts are
            self.state, self.note = "failed", f"the check could not go on: {type(error).__name__}: {error}"
        if self.state == "cancelled":
            self.note = self._so_far()
        self._say()

    def _work(self, subject: Subject) -> Iterator[None]:
        pieces, self._skipped = _pieces(subject)
        self._fresh = list(self._skipped)
        self.total = len(pieces)
        told = perf_counter()
        for jobs in pieces:
            for job in jobs:
                found = [b for blocks in job.run(subject).values() for b in blocks]
                self._blocks += found
                self._fresh += found
                yield
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
        try:
            self._tell(Update(self.state, self.done, self.total, fresh, report, self.note))
        except Exception as error:  # noqa: BLE001 - whose function it is hears no more, and the check goes on
            self.note = f"whom it told raised {type(error).__name__}: {error}"
            self._tell = _nobody
        return True


def _nobody(update: Update) -> None:
    """Hears nothing."""


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
