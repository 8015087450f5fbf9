"""Sentences broken into lines, for text in pictures, which cannot wrap by itself. Imports text only."""

from __future__ import annotations

from tensorviz.views import text

SANS_ADVANCE = 0.535
"""Width of the average character of proportional fonts, in parts of the size, on the wide side."""


def wrap(words: str, width: float, size: float, most: int = 6) -> list[str]:
    """Lines of at most ``width`` pixels at ``size``; what does not fit into ``most`` lines ends in an ellipsis.

    >>> wrap("one two three", 60, 12)
    ['one two', 'three']
    """
    fits = max(4.0, width / (SANS_ADVANCE * size))
    lines: list[str] = []
    line = ""
    for word in text.visible(words).split(" "):
        for piece in _pieces(word, fits):
            longer = f"{line} {piece}" if line else piece
            if line and text.units(longer) > fits:
                lines.append(line)
                line = piece
            else:
                line = longer
    lines.append(line)
    if len(lines) > most:
        lines = [*lines[: most - 1], text.cut(lines[most - 1] + " …", max(2, int(fits)))]
    return lines


def _pieces(word: str, fits: float) -> list[str]:
    """A word that is wider than a line by itself is cut where the line ends."""
    if text.units(word) <= fits:
        return [word]
    out, piece = [], ""
    for c in word:
        if piece and text.units(piece + c) > fits:
            out.append(piece)
            piece = ""
        piece += c
    return [*out, piece]
