"""Sentences broken into lines, for text in pictures, which cannot wrap by itself. Imports text only."""

from __future__ import annotations

from tensorviz.views import text

LEAST = 2.2
"""A line holds some letters, however small the picture: so many sizes of them."""


def wrap(words: str, width: float, size: float, most: int = 6) -> list[str]:
    """Lines of at most ``width`` pixels at ``size``; what does not fit into ``most`` lines ends in an ellipsis.

    >>> wrap("one two three", 60, 12)
    ['one two', 'three']
    """
    fits = max(LEAST, width / size)
    lines: list[str] = []
    line = ""
    for word in text.visible(words).split(" "):
        for piece in _pieces(word, fits):
            longer = f"{line} {piece}" if line else piece
            if line and text.letters(longer) > fits:
                lines.append(line)
                line = piece
            else:
                line = longer
    lines.append(line)
    if len(lines) > most:
        lines = [*lines[: most - 1], _until(lines[most - 1], fits)]
    return lines


def _until(line: str, fits: float) -> str:
    """As much of a line as leaves room for an ellipsis."""
    while line and text.letters(line + " …") > fits:
        line = line[:-1]
    return line.rstrip() + " …"


def _pieces(word: str, fits: float) -> list[str]:
    """A word that is wider than a line by itself is cut where the line ends."""
    if text.letters(word) <= fits:
        return [word]
    out, piece = [], ""
    for c in word:
        if piece and text.letters(piece + c) > fits:
            out.append(piece)
            piece = ""
        piece += c
    return [*out, piece]
