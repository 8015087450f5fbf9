"""The cyclic collector, paused while a pass makes many objects and no garbage. Imports nothing of ours: the record's own way of pausing is not loaded with the engine."""

from __future__ import annotations

import gc


class Uncollected:
    """A context manager: no collection inside; afterwards as it was before."""

    __slots__ = ("_was_on",)

    def __enter__(self) -> None:
        self._was_on = gc.isenabled()
        if self._was_on:
            gc.disable()

    def __exit__(self, *error: object) -> None:
        if self._was_on:
            gc.enable()
