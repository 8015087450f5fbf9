"""A check that runs beside the user's program: piece by piece in a thread of its own, or between cells where there are no threads. Imports no view or widget."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter, process_time
from typing import Any, Literal

from tensorviz.arguments import function
from tensorviz.checks.pieces import Pieces
from tensorviz.checks.report import Block, CheckReport
from tensorviz.checks.run import WHOLE, plan_of, subject_of
from tensorviz.checks.subject import Stopped
from tensorviz.checks.tally import Tally
from tensorviz.checks.turns import Turns
from tensorviz.engine.words import told_word
from tensorviz.errors import OptionTypeError
from tensorviz.trace import Trace

State = Literal["waiting", "running", "done", "cancelled", "failed"]

OPTIONS = ("eps", "atol", "rtol", "budget", "seed")
"""Those of a check that one beside a program has."""
TELL = 0.1
"""Seconds between two tellings: what a person sees as at once, and ten messages a second for whoever carries them."""
BREATH = 0.02
"""Seconds of work after which others have their turn; also in the middle of a piece, between two of its ops."""
REST = 1.0
"""Then it rests as long as others work, up to this many times as long as it has itself: a program that runs keeps half of the interpreter at least."""
LONGEST_REST = 0.05
"""Seconds; after a long piece of array work, during which others ran, there is nothing to make up for."""
GLANCE = 0.001
"""Seconds of rest after which it is seen whether others work. How much they did while it worked itself says little: they may have waited for the interpreter."""
BUSY = 0.2
"""Share of that time in which they do."""

_turns = Turns()
"""Several checks take turns, breath by breath, so that ten open steppers are no busier than one."""


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
    """Everything so far; it is also the trace's ``report``, unless that is another by now."""
    note: str = ""
    """Why there is no more, where there is not."""


class Alongside:
    """One trace's check in a thread of its own, from the root on: of each node first the rule, then the gradient.

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
        self.done = 0
        self.total = sum(n.cotangent is not None for n in trace.nodes)
        self.note = ""
        self._trace: Callable[[], Trace | None] = weakref.ref(trace)
        self._tell = tell
        function("check_alongside", "tell", tell)
        if unknown := options.keys() - set(OPTIONS):
            raise OptionTypeError(told_word("check_alongside", min(unknown), ("tell", *OPTIONS)))
        self._subject = subject_of(trace, watch=self._between, **options)
        self._tally = Tally(self._subject)
        self.latest: CheckReport | None = None
        """The report that the trace got last from here."""
        self._before = trace.report
        self._writing = threading.RLock()
        self._told = 0
        """Blocks that were told."""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run_through, name="tensorviz check", daemon=True)
        self._left: Iterator[None] | None = None
        """What is left to do, where there is no thread."""
        self._since = perf_counter()
        self._last_told = float("-inf")
        self._rested = 0.0

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
                self._go_on(min(REST * (perf_counter() - start), BREATH))

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
        """End after the op that is being run, for which no other check waits; what was found stays."""
        self._stop.set()
        _turns.give(self)

    def abandon(self) -> None:
        """The same, and not a word more, nor another report for the trace."""
        with self._writing:
            self._trace = _nothing
        self._tell = _nobody
        self.cancel()

    @property
    def current(self) -> bool:
        """Whether the trace's report is the one from here, or the one before until there is any."""
        with self._writing:
            trace = self._trace()
            return trace is not None and trace.report is (self._before if self.latest is None else self.latest)

    @property
    def going(self) -> bool:
        """Whether it goes on."""
        return self.state == "running" and not self._stop.is_set() and self.current

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
        return self._tally.report(() if self.state == "done" else (self._so_far(),))

    def _so_far(self) -> str:
        why = {"cancelled": "the check was cancelled", "failed": self.note}.get(self.state, "the check is still running")
        return f"{self.done:,} of {self.total:,} nodes checked so far: {why}."

    # ---- the thread ----

    def _run_through(self) -> None:
        self._take_turn()
        try:
            for _ in self._run():
                pass
        finally:
            _turns.give(self)

    def _between(self) -> None:
        """What happens before each op that is run, and after each piece."""
        if self._stop.is_set():
            raise Stopped
        if perf_counter() - self._since >= BREATH:
            if not self.going:
                raise Stopped
            if threading.current_thread() is self._thread:
                self._say_in_time()
                self._breathe()

    def _breathe(self) -> None:
        """Rest while others work, and let the other checks go on."""
        start = now = perf_counter()
        end = now + min(REST * (now - self._since), LONGEST_REST)
        busy = True
        # with the turn in hand: the others wait as well, or ten checks would rest one by one
        while busy and now < end:
            before, used = now, process_time()
            self._stop.wait(GLANCE)
            now = perf_counter()
            busy = process_time() - used > BUSY * (now - before)
        self._rested += now - start
        _turns.give(self)
        self._take_turn()

    def _take_turn(self) -> None:
        start = perf_counter()
        _turns.take(self)
        self._since = perf_counter()
        self._rested += self._since - start

    # ---- the work ----

    def _run(self) -> Iterator[None]:
        """The whole check; pauses after each piece of work."""
        try:
            yield from self._work()
            self.state = "done"
        except Stopped:
            self.state = "cancelled"
            self.note = self._so_far()
        except Exception as error:  # noqa: BLE001 - a thread has nobody above it: whatever went wrong is told where the verdicts are
            self.state, self.note = "failed", f"the check could not go on: {type(error).__name__}: {error}"
        self._say()

    def _work(self) -> Iterator[None]:
        subject, tally = self._subject, self._tally
        plan = plan_of(subject, list(range(len(subject.nodes))), WHOLE * subject.budget)
        jobs = dict.fromkeys([n.id for n in subject.nodes if n.cotangent is not None], 0)
        for i in (*plan.rules, *plan.gradients):
            if i in jobs:
                jobs[i] += 1
        self.done = sum([not left for left in jobs.values()])
        pieces = Pieces(subject, plan)
        for job in pieces:
            start, rested = perf_counter(), self._rested
            found = job.run(subject)
            pieces.took(job, perf_counter() - start - (self._rested - rested))
            tally.add([b for blocks in found.values() for b in blocks])
            while plan.skipped and job.kind == "rules" and (plan.skipped[-1].node or 0) >= job.nodes[-1]:
                tally.add([plan.skipped.pop()])
            for i in job.nodes:
                if i in jobs:
                    jobs[i] -= 1
                    self.done += not jobs[i]
            tally.explain()
            yield
            self._between()
            self._say_in_time()
        tally.add(plan.skipped[::-1])

    def _say_in_time(self) -> None:
        if len(self._tally.blocks) > self._told and perf_counter() - self._last_told >= TELL:
            self._say()

    def _say(self) -> None:
        """Keep and tell what is known."""
        self._last_told = perf_counter()
        report = self.report
        with self._writing:
            trace = self._trace()
            if trace is None:
                return
            if self.current:
                self.latest = trace.report = report
        new, self._told = report.blocks[self._told :], len(report.blocks)
        try:
            self._tell(Update(self.state, self.done, self.total, new, report, self.note))
        except Exception as error:  # noqa: BLE001 - whose function it is hears no more, and the check goes on
            self.note = f"whom it told raised {type(error).__name__}: {error}"
            self._tell = _nobody


def _nobody(update: Update) -> None:
    """Hears nothing."""


def _nothing() -> None:
    """In place of the trace."""
