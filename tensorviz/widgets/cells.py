"""Which passes each cell of a notebook shows, so that the check of one that nobody sees any more ends. Must not import engine or ops."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import Any

from tensorviz.trace import Trace
from tensorviz.widgets import checking

Shown = weakref.WeakSet[Trace]


class Cells:
    """The passes that are on the screen, by cell: those that its latest run has shown."""

    def __init__(self) -> None:
        self._shown: dict[str, Shown] = {}
        self._running = ""
        self._now: Shown = weakref.WeakSet()

    def shows(self, trace: Trace, request: Mapping[str, Any]) -> None:
        """A cell shows a pass; ``request`` is the message that runs it, as the kernel has it."""
        cell, run = request.get("metadata", {}).get("cellId"), request.get("header", {}).get("msg_id")
        if cell is None or run is None:
            return
        if run != self._running:
            self._running, self._now = run, weakref.WeakSet()
        self._now.add(trace)

    def ended(self, cell: str | None) -> None:
        """A cell has run. What only its run before has shown is gone, with the check of it."""
        if cell is None:
            return
        before = self._shown.pop(cell, ())
        if self._now:
            self._shown[cell] = self._now
        self._running, self._now = "", weakref.WeakSet()
        for trace in before:
            if not any(trace in shown for shown in self._shown.values()):
                checking.feed(trace).ask("cancel")

    def watch(self, shell: Any) -> None:
        """Hear when the cells of this IPython end."""
        shell.events.register("post_run_cell", lambda result: self.ended(getattr(getattr(result, "info", None), "cell_id", None)))
