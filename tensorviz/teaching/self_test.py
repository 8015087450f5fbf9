"""Questions at the end of a lesson, with answers that are folded until they are asked for. Imports errors."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass

from tensorviz.arguments import shown
from tensorviz.errors import OptionError


@dataclass(frozen=True)
class SelfTest:
    """Questions and their answers, in order; see :func:`self_test`."""

    pairs: tuple[tuple[str, str], ...]

    def __len__(self) -> int:
        return len(self.pairs)

    def __str__(self) -> str:
        asked = [f"{k}. {question}" for k, (question, _) in enumerate(self.pairs, 1)]
        answered = [f"{k}. {answer}" for k, (_, answer) in enumerate(self.pairs, 1)]
        return "\n".join([*asked, "", "Answers:", *answered]).replace("`", "")

    def __repr__(self) -> str:
        return f"<SelfTest of {len(self)} question{'' if len(self) == 1 else 's'}>"

    def _repr_html_(self) -> str:
        items = "".join(f"<li>{_marked(q)}<details><summary>Answer</summary>{_marked(a)}</details></li>" for q, a in self.pairs)
        return f"<ol>{items}</ol>"

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"text/html": self._repr_html_(), "text/plain": str(self)}


def _marked(text: str) -> str:
    """Text with ``code`` between backticks as HTML."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))


def self_test(*pairs: Sequence[str]) -> SelfTest:
    """Questions as pairs ``(question, answer)``: as the last value of a cell, a list whose answers unfold one by one.

    Write answers as f-strings, so that what a lesson claims is what it computes. Text between backticks is set as code.
    Raises OptionError for anything but pairs of texts.

    >>> h = 3.0
    >>> print(self_test(("What is the slope of `h * h`?", f"{2 * h:g}: two shares of {h:g}.")))
    1. What is the slope of h * h?
    <BLANKLINE>
    Answers:
    1. 6: two shares of 3.
    """
    for pair in pairs:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not all(isinstance(text, str) for text in pair):
            raise OptionError(f"self_test takes pairs (question, answer) of texts, got {shown(pair)}")
    if not pairs:
        raise OptionError("self_test needs at least one pair (question, answer)")
    return SelfTest(tuple((question, answer) for question, answer in pairs))
