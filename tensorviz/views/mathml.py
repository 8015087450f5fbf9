"""A formula as MathML: fractions, roots and powers where its words have them. Imports formulas and text only.

A rule is part expression, part plain words (``g / ties where a = out, else 0``). Expressions are read and set; words stay words; a text that cannot be
read stays one line of text. Everything that came from users is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tensorviz.errors import OptionError
from tensorviz.views.format import MINUS
from tensorviz.views.formulas import Formula, Kind, Piece, said
from tensorviz.views.text import xml

NAMESPACE = "http://www.w3.org/1998/Math/MathML"
_TOKEN = re.compile(r"(?P<number>\d+(?:\.\d+)?(?:e[−+-]?\d+)?)|(?P<name>[^\W\d]\w*)|(?P<transposed>\.T\b)|(?P<sign>//|==|[^\w\s])|(?P<space>\s+)")
_SUMS = ("+", MINUS)
_PRODUCTS = ("·", "×", "/", "//", "@")
_COMPARISONS = ("=", "==", "<", ">", "≤", "≥")
_LONGEST = 500
"""Tokens of a formula that is set; a longer one is no formula that a reader would look at."""
_MOST = 60
"""Brackets inside each other that are followed."""


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    what: str
    """``number name transposed sign``, or ``atom`` for what stands for a node."""
    kind: Kind
    raised: bool
    spaced: bool
    """A space stands before it."""


class _Unread(Exception):  # noqa: N818
    """No expression begins here."""


def mathml(formula: Formula, *, numbers: bool = False, display: str = "block") -> str:
    """One ``<math>`` element: ``∂b = Σ axis 0 of ∂(X + b)``; with ``numbers`` the line of one entry, or ``""`` where there is none.

    Names of values and gradients carry the classes ``tv-value`` and ``tv-gradient``; ``alttext`` holds the formula as plain text.
    """
    if display not in ("block", "inline"):
        raise OptionError(f"display must be 'block' or 'inline', not {display!r}")
    if numbers and not formula.worked:
        return ""
    left = _atom(formula.left, "gradient")
    sign = f"<mo>{xml(formula.sign)}</mo>"
    if numbers:
        plain = formula.numbers
        entry = f"<msub>{left}{_row([f'<mtext>{xml(formula.entry)}</mtext>'])}</msub>" if formula.entry else left
        body = [entry, sign, rendered(formula.worked), "<mo>=</mo>", _number(formula.result)]
    else:
        plain = str(formula).split("\n", 1)[0]
        # "Σ axes 0, 2" is a sum over these axes
        total = [f"<munder><mo>∑</mo><mtext>{xml(formula.summed.removeprefix('Σ '))}</mtext></munder>"] if formula.summed else []
        body = [left, sign, *total, rendered(formula.rule)]
    return f'<math xmlns="{NAMESPACE}" display="{display}" alttext="{xml(plain)}">{_row(body)}</math>'


def rendered(pieces: Sequence[Piece]) -> str:
    """The pieces of a formula as the inside of a ``<math>``.

    >>> rendered((Piece("∂y", "gradient"), Piece(" / 2")))
    '<mfrac><mi class="tv-gradient">∂y</mi><mn>2</mn></mfrac>'
    """
    tokens: list[_Token] = []
    spaced = False
    for piece in pieces:
        if piece.kind != "text":
            tokens.append(_Token(piece.text, "atom", piece.kind, piece.raised, spaced))
            spaced = False
            continue
        for match in _TOKEN.finditer(piece.text):
            if match.lastgroup == "space":
                spaced = True
                continue
            tokens.append(_Token(match[0], match.lastgroup or "sign", "text", piece.raised, spaced))
            spaced = False
    if len(tokens) > _LONGEST:
        return f"<mtext>{xml(said(pieces))}</mtext>"
    return _row(_sequence(tokens))


def _sequence(tokens: Sequence[_Token]) -> list[str]:
    """Expressions and words one after the other."""
    out: list[str] = []
    words: list[str] = []
    reader = _Reader(tokens)
    while reader.at < len(tokens):
        start = reader.at
        try:
            found = reader.comparison(0)
        except _Unread:
            reader.at = start + 1
            token = tokens[start]
            words.append((" " if token.spaced and (out or words) else "") + token.text)
            continue
        _flush(words, out, tokens[start].spaced)
        out.append(found)
    _flush(words, out, False)
    return out


def _flush(words: list[str], out: list[str], spaced: bool) -> None:
    if words:
        # In MathML spaces at the ends of a text are dropped, so they are written as spaces that do not break.
        plain = "".join(words) + (" " if spaced else "")
        inner = plain.strip(" ")
        lead, tail = plain[: len(plain) - len(plain.lstrip(" "))], plain[len(plain.rstrip(" ")) :]
        out.append(f"<mtext>{xml(lead.replace(' ', NBSP) + inner + tail.replace(' ', NBSP))}</mtext>")
        words.clear()


NBSP = "\u00a0"


class _Reader:
    """Reads one expression by recursive descent; every method gives its markup and leaves ``at`` behind it."""

    def __init__(self, tokens: Sequence[_Token]) -> None:
        self.tokens, self.at = tokens, 0

    def _next(self) -> _Token | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def _sign(self, signs: Sequence[str]) -> _Token | None:
        token = self._next()
        if token is not None and token.what == "sign" and token.text in signs and not token.raised:
            self.at += 1
            return token
        return None

    def comparison(self, depth: int) -> str:
        return self._chain(depth, _COMPARISONS, self.total)

    def total(self, depth: int) -> str:
        return self._chain(depth, _SUMS, self.product)

    def _chain(self, depth: int, signs: Sequence[str], part: Callable[[int], str]) -> str:
        out = [part(depth)]
        while True:
            before = self.at
            sign = self._sign(signs)
            if sign is None:
                return _row(out)
            try:
                right = part(depth)
            except _Unread:
                self.at = before
                return _row(out)
            out += [f"<mo>{xml(sign.text)}</mo>", right]

    def product(self, depth: int) -> str:
        out = [self.signed(depth)]
        while True:
            before = self.at
            sign = self._sign(_PRODUCTS)
            if sign is None:
                return _row(out)
            try:
                right = self.signed(depth)
            except _Unread:
                self.at = before
                return _row(out)
            if sign.text == "/":
                out = [f"<mfrac>{_unbracketed(_row(out))}{_unbracketed(right)}</mfrac>"]
            else:
                out += [f"<mo>{xml(sign.text)}</mo>", right]

    def signed(self, depth: int) -> str:
        if self._sign((MINUS,)):
            return f'<mrow><mo form="prefix">{MINUS}</mo>{self.signed(depth)}</mrow>'
        return self.raised(depth)

    def raised(self, depth: int) -> str:
        """An operand with what stands behind it: transposed, indexed, and in the exponent."""
        base = self.operand(depth)
        while (token := self._next()) is not None:
            if token.what == "transposed" and not token.raised:
                self.at += 1
                base = f'<msup>{base}<mi mathvariant="normal">T</mi></msup>'
            elif token.raised:
                start = self.at
                while (inside := self._next()) is not None and inside.raised:
                    self.at += 1
                exponent = [_Token(t.text, t.what, t.kind, False, t.spaced) for t in self.tokens[start : self.at]]
                base = f"<msup>{base}{_row(_sequence(exponent))}</msup>"
            elif token.text == "[" and not token.spaced:
                self.at += 1
                inside_row = self._listed("]", depth)
                base = f"<msub>{base}{_row(inside_row)}</msub>"
            else:
                break
        return base

    def operand(self, depth: int) -> str:
        token = self._next()
        if token is None or token.raised or depth > _MOST:
            raise _Unread
        if token.what == "atom":
            self.at += 1
            return _atom(token.text, token.kind)
        if token.what == "number":
            self.at += 1
            return _number(token.text)
        if token.text == "(":
            self.at += 1
            return _bracketed(self._listed(")", depth))
        if token.what == "name" and self._is_symbol():
            self.at += 1
            following = self._next()
            if following is not None and following.text == "(" and not following.spaced:
                self.at += 1
                return _called(token.text, self._listed(")", depth))
            return f"<mi>{xml(token.text)}</mi>"
        raise _Unread

    def _is_symbol(self) -> bool:
        """Whether a name is part of an expression; a word has words or nothing on both sides."""
        before = self.tokens[self.at - 1] if self.at else None
        after = self.tokens[self.at + 1] if self.at + 1 < len(self.tokens) else None
        if after is not None and after.text in ("(", "[") and not after.spaced:
            return True
        operators = (*_SUMS, *_PRODUCTS, *_COMPARISONS)
        if any(t is not None and t.what == "sign" and t.text in operators for t in (before, after)):
            return True
        if after is not None and (after.what == "transposed" or after.raised):
            return True
        return before is not None and after is not None and before.text in ("(", "[", ",") and after.text in (")", "]", ",")

    def _listed(self, close: str, depth: int) -> list[str]:
        """Expressions up to a closing bracket, with commas between them."""
        out: list[str] = []
        while not self._sign((close,)):
            if out:
                if not self._sign((",",)):
                    raise _Unread
                out.append("<mo>,</mo>")
            out.append(self.comparison(depth + 1))
        return out


def _row(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"<mrow>{''.join(parts)}</mrow>"


_OPEN, _CLOSE = '<mrow><mo stretchy="true">(</mo>', '<mo stretchy="true">)</mo></mrow>'


_BRACKETS = re.compile(f"{re.escape(_OPEN)}|{re.escape(_CLOSE)}")


def _bracketed(parts: Sequence[str]) -> str:
    return f"{_OPEN}{''.join(parts)}{_CLOSE}"


def _unbracketed(markup: str) -> str:
    """Without the brackets around the whole: the bar of a fraction says as much."""
    if not (markup.startswith(_OPEN) and markup.endswith(_CLOSE)):
        return markup
    depth = 0
    for match in _BRACKETS.finditer(markup):
        depth += 1 if match[0] == _OPEN else -1
        if not depth and match.end() < len(markup):
            return markup
    return f"<mrow>{markup[len(_OPEN) : -len(_CLOSE)]}</mrow>"


def _called(name: str, arguments: list[str]) -> str:
    if name == "sqrt" and len(arguments) == 1:
        return f"<msqrt>{arguments[0]}</msqrt>"
    if name == "abs" and len(arguments) == 1:
        return f'<mrow><mo stretchy="true">|</mo>{arguments[0]}<mo stretchy="true">|</mo></mrow>'
    return f'<mrow><mi mathvariant="normal">{xml(name)}</mi><mo>\u2061</mo>{_bracketed(arguments)}</mrow>'


def _number(text: str) -> str:
    return f"<mn>{xml(text)}</mn>"


def _atom(text: str, kind: Kind) -> str:
    """The name of a node, or the number that stands for it. Never ``mtext``: a row of one sign between such counts as that sign, and loses its spaces."""
    element = "mn" if re.fullmatch(r"\(?−?[\d.]+(?:e−?\d+)?\)?", text) else "mi"
    return f'<{element} class="tv-{kind}">{xml(text)}</{element}>'
