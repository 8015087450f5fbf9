"""Text that came from users: made visible, escaped, cut and measured. Imports nothing of ours."""

from __future__ import annotations

import unicodedata
from html import escape as _escape

MONO = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
SANS = "-apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans', 'DejaVu Sans', sans-serif"
ADVANCE = 0.602
"""Width of one character of the monospaced fonts, in parts of the size; Menlo and DejaVu Sans Mono agree to the third digit."""
LONGEST = 44
"""Characters of a name that are shown; longer ones end in an ellipsis and are whole in the title."""


def visible(text: str) -> str:
    r"""``text`` with everything that is no character of XML, or that changes how its neighbours are read, replaced by a visible symbol.

    >>> visible("a\x00b\tc")
    'a␀b␉c'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_symbol, text))


def _symbol(c: str) -> str:
    code = ord(c)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    # C1 controls, lone surrogates, non-characters; and the marks that reorder text, with which a name could pretend to be another.
    if 0x80 <= code < 0xA0 or 0xD800 <= code < 0xE000 or code & 0xFFFE == 0xFFFE or 0xFDD0 <= code < 0xFDF0:
        return "\ufffd"
    if code in (0x061C, 0x200E, 0x200F, 0x2028, 0x2029) or 0x202A <= code <= 0x202E or 0x2066 <= code <= 0x2069:
        return "\ufffd"
    return c


def xml(text: str) -> str:
    """``text`` as content or attribute of XML, markup shown as text."""
    return _escape(visible(text), quote=True)


def xml_lines(text: str) -> str:
    """As :func:`xml`, but line breaks stay."""
    return "\n".join(xml(line) for line in text.split("\n"))


def units(text: str) -> float:
    """How many character cells a monospaced font gives to ``text``.

    >>> units("tanh"), units("权重")
    (4.0, 4.0)
    """
    if text.isascii():
        return float(len(text))
    return float(sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text))


def width(text: str, size: float) -> float:
    """The pixels that ``text`` takes at ``size`` in a monospaced font."""
    return units(text) * ADVANCE * size


def letters(text: str) -> float:
    """About how wide ``text`` is in proportional letters, in parts of the size: as in DejaVu Sans, the broadest of those in ``SANS``.

    >>> letters("il") < letters("ab") < letters("AB") < letters("WW") <= letters("权重")
    True
    """
    return sum(_BREADTH.get(c) or _breadth(c) for c in text)


_BREADTH = {c: breadth for breadth, some in ((0.33, "ijlI.,:;'|/- ·"), (0.41, "ftr()[]!"), (0.84, "=+−×÷→←<>≠#~∞"), (0.98, "mwMW@%…")) for c in some}


def _breadth(c: str) -> float:
    cells = units(c)
    return cells / 2 if cells != 1 else 0.72 if c.isupper() else 0.61


def heading(text: str) -> float:
    """The pixels that a title takes at most: 16 px and bold, which is an eighth wider.

    >>> heading("ab") < heading("AB") < heading("WW")
    True
    """
    return 16 * 1.13 * letters(text)


def cut(text: str, longest: int = LONGEST) -> str:
    """At most ``longest`` characters, the last one an ellipsis where something was cut.

    >>> cut("abcdef", 4)
    'abc…'
    """
    text = visible(text)
    return text if len(text) <= longest else text[: longest - 1] + "…"
