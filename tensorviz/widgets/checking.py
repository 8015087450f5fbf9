"""The check beside an open stepper: what its displays hear of it, and what they can ask for. Must not import engine or ops."""

from __future__ import annotations

import math
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tensorviz.errors import TensorvizError
from tensorviz.trace import Trace
from tensorviz.widgets import payload

if TYPE_CHECKING:
    from tensorviz.checks.alongside import Alongside, Update
    from tensorviz.checks.report import Block, CheckReport, CheckRow

BY_ITSELF_NODES = 1_000
BY_ITSELF_ELEMENTS = 50_000
"""A trace up to this size is checked as soon as its stepper is open: a few seconds of half of the interpreter."""

Message = dict[str, Any]
Send = Callable[[Message], bool]
"""Takes a message to one display; False where that is gone."""


class Feed:
    """The check of one trace, and the displays that follow it."""

    def __init__(self, trace: Trace) -> None:
        self._trace = weakref.ref(trace)
        self._followers: dict[str, Send] = {}
        self._running: Alongside | None = None
        self._asked = False
        self._lock = threading.RLock()

    def follow(self, name: str, send: Send, known: CheckReport | None) -> None:
        """Tell a display what there is beside the report that it came with, and what comes. The first one starts the check of a trace of no great size."""
        trace = self._trace()
        if trace is None:
            return
        with self._lock:
            self._followers[name] = send
            if trace.report is not None and trace.report is not known:
                running = self._running
                state, done, total = ("done", 0, 0) if running is None else (running.state, running.done, running.total)
                note = "" if running is None else running.note
                self._send(send, message(state, done, total, trace.report.blocks, trace.report, note, whole=True))
            else:
                self._send(send, {"state": "none" if trace.report is None else "done", "done": 0, "total": 0})
            if not self._asked and trace.report is None and _light(trace):
                self.ask("start")

    def ask(self, action: str) -> None:
        """``start`` or ``cancel``; anything else is passed over."""
        trace = self._trace()
        with self._lock:
            if action == "cancel" and self._running is not None:
                self._running.cancel()
            elif action == "start" and trace is not None and (self._running is None or self._running.wait(0)):
                self._asked = True
                try:
                    self._running = trace.check_alongside(self._tell)
                except TensorvizError as error:
                    self._all({"state": "failed", "done": 0, "total": 0, "note": str(error)})
                    return
                self._all({"state": "running", "done": 0, "total": len(trace.nodes), "whole": True})

    def _tell(self, update: Update) -> None:
        self._all(message(update.state, update.done, update.total, update.new, update.report, update.note))

    def _all(self, what: Message) -> None:
        with self._lock:
            for name, send in list(self._followers.items()):
                if not self._send(send, what):
                    del self._followers[name]

    @staticmethod
    def _send(send: Send, what: Message) -> bool:
        try:
            return send(what)
        except Exception:  # noqa: BLE001 - a comm may be closed under a thread at any moment; that display hears no more
            return False


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


def message(state: str, done: int, total: int, blocks: Sequence[Block], report: CheckReport, note: str = "", *, whole: bool = False) -> Message:
    """What a display is told: where the check stands, and rows by column. ``whole``: they take the place of all before."""
    most = max(2, payload.MOST_ROWS // max(1, 3 * max(total, len(blocks) // 3)))
    rows = [row for b in blocks for row in payload.worst_of(b, most)]
    blame = -1 if report.blame is None else report.blame
    found: Message = {"state": state, "done": done, "total": total, "kind": report.kind, "blame": blame, "note": note or report.blame_text}
    if whole:
        found["whole"] = True
    if rows:
        found["rows"] = columns(rows)
    return found


def columns(rows: Sequence[CheckRow]) -> dict[str, list[Any]]:
    """Rows column by column, in JSON: what is no number there is the word that JavaScript reads as one."""
    return {
        "node": [-1 if r.node is None else r.node for r in rows],
        "slot": [-1 if r.slot is None else r.slot for r in rows],
        "scope": [r.scope for r in rows],
        "title": [r.title for r in rows],
        "index": [payload.place(r) for r in rows],
        "verdict": [r.verdict for r in rows],
        "reason": [r.reason for r in rows],
        "analytic": [_number(r.analytic) for r in rows],
        "numeric": [_number(r.numeric) for r in rows],
        "error": [_number(r.error) for r in rows],
    }


def _number(x: float) -> float | str:
    return float(x) if math.isfinite(x) else "NaN" if math.isnan(x) else "Infinity" if x > 0 else "-Infinity"
