"""Turns: who has waited longest goes first. Imports nothing of ours."""

from __future__ import annotations

import threading
from collections import deque


class Turns:
    """A lock that is handed to whoever has waited longest: of an ordinary one, a thread that gives it back and wants it again at once takes it from all the others.

    >>> turns = Turns()
    >>> turns.take("a")
    >>> turns.give("b")  # who does not have it
    >>> turns.give("a")
    """

    def __init__(self) -> None:
        self._waiting: deque[tuple[object, threading.Lock]] = deque()
        self._owner: object = None
        self._guard = threading.Lock()

    def take(self, who: object) -> None:
        """Wait for the turn."""
        with self._guard:
            if self._owner is None:
                self._owner = who
                return
            gate = threading.Lock()
            gate.acquire()
            self._waiting.append((who, gate))
        gate.acquire()

    def give(self, who: object) -> None:
        """Hand it on, if it is theirs; any thread may do that for one that does not come back."""
        with self._guard:
            if self._owner is who:
                self._owner = None
                if self._waiting:
                    self._owner, gate = self._waiting.popleft()
                    gate.release()
