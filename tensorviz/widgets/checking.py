"""The check beside an open stepper: what its displays hear of it, and what they can ask for. Must not import engine or ops."""

from __future__ import annotations

import math
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tensorviz.errors import TensorvizError
from tensorviz.trace import Trace
from tensorviz.widgets import payload

if TYPE_CHECKING:
    from tensorviz.checks.alongside import Alongside, Update
    from tensorviz.checks.report import Block, CheckReport

BY_ITSELF_NODES = 1_000
BY_ITSELF_ELEMENTS = 50_000
"""A trace up to this size is checked as soon as its stepper is open: about a second's work."""

PART = 2_000
"""Blocks that one message tells of: some 100 kB, which a page takes over between two of its frames."""

Message = dict[str, Any]
Send = Callable[[Message], bool]
"""Takes a message to one display; False where that is gone."""


@dataclass
class _Follower:
    """One display, and what it knows."""

    send: Send
    source: Alongside | CheckReport | None
    """Whose blocks it has."""
    sent: int
    """How many of them."""


class Feed:
    """The check of one trace, and the displays that follow it."""

    def __init__(self, trace: Trace) -> None:
        self._trace = weakref.ref(trace)
        self._followers: dict[str, _Follower] = {}
        self._running: Alongside | None = None
        self._asked = False
        self._lock = threading.RLock()
        """Several threads come by: that of the check, that of the cells, and the one in which a kernel hears its pages."""

    def follow(self, name: str, send: Send, known: CheckReport | None) -> None:
        """Tell a display what there is beside the report that it came with, and what comes. The first one starts the check of a trace of no great size."""
        trace = self._trace()
        if trace is None:
            return
        with self._lock:
            running = self._running
            source = running if running is not None and known is running.latest else known
            follower = self._followers[name] = _Follower(send, source, 0 if known is None else len(known.blocks))
            self._bring(name, follower)
            if not self._asked and trace.report is None and _light(trace):
                self.ask("start")

    def ask(self, action: str) -> None:
        """``start`` or ``cancel``; anything else is passed over."""
        trace = self._trace()
        with self._lock:
            running = self._running
            if action == "cancel" and running is not None:
                running.cancel()
                self.tell()  # at once: the op that is being run may take a while
            elif action == "start" and trace is not None and (running is None or not running.going):
                self._asked = True
                if running is not None:
                    running.abandon()
                try:
                    self._running = trace.check_alongside(self.tell)
                except TensorvizError as error:
                    for name, follower in list(self._followers.items()):
                        self._send(name, follower, {"state": "failed", "done": 0, "total": 0, "note": str(error)})
                    return
                self.tell()

    def tell(self, _: Update | None = None) -> None:
        """Bring every display up to date, and end a check that no display follows any more."""
        with self._lock:
            for name, follower in list(self._followers.items()):
                self._bring(name, follower)
            if self._running is not None and not self._followers:
                self._running.cancel()

    def _bring(self, name: str, follower: _Follower) -> None:
        """Send one display what is new to it."""
        trace, running = self._trace(), self._running
        if trace is None:
            return
        report = trace.report
        source: Alongside | CheckReport | None = report
        state, done, total, note = "none" if report is None else "done", 0, 0, ""
        if running is not None and running.current:
            source, report = running, running.latest
            state, done, total, note = running.state, running.done, running.total, running.note
            if state == "running" and not running.going:
                state = "cancelled"
        whole = follower.source is not source
        if whole:
            follower.source, follower.sent = source, 0
        kind = ""
        if report is not None:
            kind, said = payload.outcome(trace, report) if state in ("none", "done") else (report.kind, "")
            note = note or said or report.blame_text
        blocks = () if report is None else report.blocks[follower.sent :]
        for start in range(0, max(1, len(blocks)), PART):
            part = blocks[start : start + PART]
            follower.sent += len(part)
            if not self._send(name, follower, message(state, done, total, part, report, note, kind=kind, whole=whole)):
                return
            whole = False

    def _send(self, name: str, follower: _Follower, what: Message) -> bool:
        try:
            there = follower.send(what)
        except Exception:  # noqa: BLE001 - a comm may be closed under a thread at any moment; that display hears no more
            there = False
        if not there:
            self._followers.pop(name, None)
        return there


_feeds: weakref.WeakKeyDictionary[Trace, Feed] = weakref.WeakKeyDictionary()


def feed(trace: Trace) -> Feed:
    """The one feed of a trace."""
    found = _feeds.get(trace)
    if found is None:
        found = _feeds[trace] = Feed(trace)
    return found


def _light(trace: Trace) -> bool:
    size = sum(n.value.size for n in trace.nodes if n.shares)
    return len(trace.nodes) <= BY_ITSELF_NODES and size <= BY_ITSELF_ELEMENTS


def message(
    state: str, done: int, total: int, blocks: Sequence[Block], report: CheckReport | None, note: str = "", *, kind: str = "", whole: bool = False
) -> Message:
    """What a display is told: where the check stands, and rows by column. ``whole``: they take the place of all before."""
    found: Message = {"state": state, "done": done, "total": total}
    if report is not None:
        found |= {"kind": kind or report.kind, "blame": -1 if report.blame is None else report.blame, "note": note or report.blame_text}
    if whole:
        found["whole"] = True
    if blocks:
        found["rows"] = columns(blocks, max(2, payload.MOST_ROWS // max(1, 3 * total, len(blocks))))
    return found


def columns(blocks: Sequence[Block], most: int) -> dict[str, list[Any]]:
    """The worst rows of each block, column by column, in JSON: what is no number there is the word that JavaScript reads as one, and what is none anyhow a position in ``words``."""
    words: dict[str, int] = {}
    found: dict[str, list[Any]] = {name: [] for name in ("node", "slot", "analytic", "numeric", "error", "scope", "index", "verdict", "reason")}
    for b in blocks:
        for row in payload.worst_of(b, most):
            for name in ("node", "slot"):
                number = getattr(row, name)
                found[name].append(-1 if number is None else number)
            for name in ("analytic", "numeric", "error"):
                found[name].append(_number(getattr(row, name)))
            for name, word in (("scope", row.scope), ("index", payload.place(row)), ("verdict", row.verdict), ("reason", row.reason)):
                found[name].append(words.setdefault(word, len(words)))
    return found | {"words": list(words)}


def _number(x: float) -> float | str:
    return float(x) if math.isfinite(x) else "NaN" if math.isnan(x) else "Infinity" if x > 0 else "-Infinity"
