"""Where long work stands, told as it goes: to a function, to a progress bar of the user's, or as a bar of text. Imports argument checks."""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import perf_counter
from typing import Any, Protocol, TextIO, runtime_checkable

from tensorviz.arguments import function

WIDTH = 20
PAUSE = 0.1
"""Seconds between two drawings of the bar."""


@runtime_checkable
class Bar(Protocol):
    """What ``tqdm.tqdm`` offers, its notebook twin, and their like."""

    total: Any

    def update(self, n: int = 1) -> Any: ...


Told = Callable[[int, int], Any]
Progress = Told | Bar | bool


def teller(where: str, progress: Progress | None, done: str) -> Told | None:
    """A function of (done, total) from what a user gave to ``where``; None where nobody wants to hear. ``done``: what is said of a part that is.

    >>> class Mine:
    ...     total, n = None, 0
    ...
    ...     def update(self, n=1):
    ...         self.n += n
    >>> bar = Mine()
    >>> tell = teller("check", bar, "checked")
    >>> tell(3, 8), tell(8, 8), (bar.n, bar.total)
    (None, None, (8, 8))
    """
    if progress is None or progress is False:
        return None
    if progress is True:
        return Line(sys.stderr, done)
    if isinstance(progress, Bar):
        return _Fed(progress)
    function(where, "progress", progress)
    return progress


class _Fed:
    """Feeds a bar, which wants to know how many more."""

    def __init__(self, bar: Bar) -> None:
        self.bar, self.told = bar, 0

    def __call__(self, done: int, total: int) -> None:
        if self.bar.total != total:
            self.bar.total = total
        self.bar.update(done - self.told)
        self.told = done


class Line:
    """A bar in one line of text: how far, how fast, how long still."""

    def __init__(self, stream: TextIO, word: str) -> None:
        self.stream, self.word, self.start, self.drawn, self.long = stream, word, perf_counter(), -PAUSE, 0

    def __call__(self, done: int, total: int) -> None:
        passed = perf_counter() - self.start
        if done < total and passed - self.drawn < PAUSE:
            return
        self.drawn = passed
        text = bar(self.word, done, total, passed)
        self.stream.write("\r" + text.ljust(self.long) + ("\n" if done == total else ""))
        self.stream.flush()
        self.long = len(text)


def bar(word: str, done: int, total: int, seconds: float) -> str:
    """One state of the bar.

    >>> bar("checked", 30, 120, 2.0)
    'checked  25% |#####               | 30/120 [00:02<00:06, 15.0/s]'
    """
    full = WIDTH * done // max(1, total)
    rate = done / seconds if seconds > 0 else 0.0
    left = clock((total - done) / rate) if rate else "?"
    return f"{word} {100 * done // max(1, total):3d}% |{'#' * full:<{WIDTH}}| {done:,}/{total:,} [{clock(seconds)}<{left}, {rate:.1f}/s]"


def clock(seconds: float) -> str:
    """Minutes and seconds, with hours where there are any.

    >>> clock(65), clock(3723)
    ('01:05', '1:02:03')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes:02d}:{rest:02d}"
