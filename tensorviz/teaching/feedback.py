"""What a student is told about an answer: right or not, in words, with a hint by kind of mistake. Imports nothing of ours."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Feedback:
    """The outcome of one answer. True where it is right.

    >>> bool(Feedback(False, "Not yet.", hint="Shares add.", mistake="overwrote"))
    False
    """

    ok: bool
    words: str
    """What there is to say, in one or two sentences."""
    hint: str = ""
    """What to think of, where the kind of mistake was recognised."""
    mistake: str = ""
    """The kind of mistake, a key of :data:`tensorviz.teaching.hints.HINTS`; empty where the answer is right or the mistake is of no known kind."""
    where: str = ""
    """Of an exercise: the hidden case that went wrong."""
    index: tuple[int, ...] | None = None
    """The first wrong element."""
    expected: Any = None
    """What should stand there (of an exercise; a quiz keeps it until it is revealed)."""
    got: Any = None

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        return f"{self.words} Hint: {self.hint}" if self.hint else self.words

    def __repr__(self) -> str:
        return f"<{'right' if self.ok else 'not yet'}: {self}>"

    def _repr_html_(self) -> str:
        mark = "✓" if self.ok else "✗"
        hint = f"<div><em>Hint:</em> {html.escape(self.hint)}</div>" if self.hint else ""
        return f"<div><strong>{mark}</strong> {html.escape(self.words)}{hint}</div>"
