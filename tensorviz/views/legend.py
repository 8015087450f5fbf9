"""The lines under a still: what the marks mean and what the colours are worth. Imports other views only."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from tensorviz.views import format as fmt
from tensorviz.views import text
from tensorviz.views.curves import number as n
from tensorviz.views.layout.types import Point
from tensorviz.views.marks import Pen
from tensorviz.views.palette import STEEPNESS, Kind
from tensorviz.views.parts import Tag

SIZE, LINE, GAP = 12.0, 25.0, 20.0
STEPS, STEP = 9, 12.0
BADGES = {
    "fork": "shares that arrived, which add up",
    "hand": "no rule gave this share",
    "route": "elements that were chosen get the gradient",
    "unbroadcast": "summed where forward copied",
}
"""What a badge says, by its kind."""
SIGNS = {
    "norm": (22.0, "norm of a larger array"),
    "cut": (26.0, "detached: no gradient goes back"),
    "block": (22.0, "a share of zeros"),
    "zero": (28.0, "a gradient of zeros"),
}
"""Width and words of what stands at wires and glyphs besides."""


def legend(
    pen: Pen,
    left: float,
    top: float,
    width: float,
    *,
    cells: bool,
    numbers: bool = True,
    saved: bool,
    born: Tag | None = None,
    tags: Sequence[Tag] = (),
    signs: Collection[str] = (),
    waiting: bool,
    notes: Sequence[str],
    sideways: bool,
) -> tuple[str, float]:
    """The markup and its height: entries one after the other, in as many lines as ``width`` asks for.

    ``cells``: whether arrays stand in tinted cells; ``numbers``: whether values and gradients stand at the wires, or gradients alone elsewhere; ``tags``: a badge of each kind;
    ``born``: one of the badges of NaN and infinities that are shown; ``signs``: those of ``SIGNS`` that are.
    """
    entries: list[tuple[float, list[tuple[str, object]]]] = []
    if cells:
        entries += [*([_bar(pen, "value")] if numbers else []), *([] if waiting else [_bar(pen, "gradient")])]
    elif numbers:
        value, gradient = ("value above the wire", "∂ gradient below") if sideways else ("value left of the wire", "∂ gradient right")
        entries += [_words(value, "mark-value"), *([] if waiting else [_words(gradient, "mark-gradient")])]
    if waiting:
        entries.append(_words("∂ ? not yet computed", "none"))
    else:
        entries.append(_words("solid forward, dashed backward", "note"))
    if saved:
        words = f"saved for backward: {'left' if sideways else 'top'} input, {'right' if sideways else 'bottom'} output"
        entries.append((_width(words) + 12, [("saved", ""), ("note", words)]))
    for tag in tags:
        entries.append((tag.width + 6 + _width(BADGES[tag.kind]), [("badge", tag), ("note", BADGES[tag.kind])]))
    if born is not None:
        entries.append((_width("first appears here") + born.width + 6, [("born", born), ("note", "first appears here")]))
    for name, (wide, words) in SIGNS.items():
        if name in signs:
            entries.append((wide + 6 + _width(words), [("sign", name), ("note", words)]))
    entries += [_words(note, "note") for note in notes]
    out, x, y = [], left, top + LINE / 2
    for wide, pieces in entries:
        if x > left and x + wide > left + width:
            x, y = left, y + LINE
        out.append(_draw(pen, x, y, pieces))
        x += wide + GAP
    return "".join(out), y + LINE / 2 - top


def plain_notes(pen: Pen, notes: Sequence[str], left: float, top: float) -> tuple[str, float]:
    """What was left out, which is said even without a legend, and how high that is."""
    return "".join(pen.text(left, top + 14 + 18 * i, note, "note", 12) for i, note in enumerate(notes)), 18.0 * len(notes)


def _width(words: str) -> float:
    return text.letters(words) * SIZE


def _words(words: str, role: str) -> tuple[float, list[tuple[str, object]]]:
    wide = text.width(words, SIZE) if role.startswith(("mark", "none")) else _width(words)
    return wide, [(role, words)]


def _bar(pen: Pen, kind: Kind) -> tuple[float, list[tuple[str, object]]]:
    most = fmt.number(pen.scale.most(kind))
    lead = ("value " if kind == "value" else "∂ ") + (fmt.MINUS + most if most != "0" else "0")
    wide = text.width(lead, SIZE) + 6 + STEPS * STEP + 6 + text.width(most, SIZE)
    return wide, [(f"mark-{kind}", lead), ("bar", kind), (f"mark-{kind}", most)]


def _draw(pen: Pen, x: float, y: float, pieces: list[tuple[str, object]]) -> str:
    out = []
    for role, what in pieces:
        if role == "saved":
            out.append(pen.saved(x + 4, y))
            x += 14
        elif isinstance(what, Tag):
            out.append((pen.born if role == "born" else pen.badge)(what, Point(x + what.width / 2, y)))
            x += what.width + 6
        elif role == "sign":
            out.append(_sign(pen, x, y, str(what)))
            x += SIGNS[str(what)][0] + 6
        elif role == "bar":
            kind: Kind = "value" if what == "value" else "gradient"
            for i in range(STEPS):
                # Equal steps of colour are equal steps of asinh.
                height = (2 * i / (STEPS - 1) - 1) * math.asinh(STEEPNESS)
                value = pen.scale.most(kind) * math.sinh(height) / STEEPNESS
                out.append(pen.rect(x + 6 + i * STEP, y - 6, STEP, 12, 0, pen.swatch(kind, value)))
            out.append(pen.rect(x + 6, y - 6, STEPS * STEP, 12, 0, pen.paint.attributes("swatch")))
            x += 12 + STEPS * STEP
        else:
            words = str(what)
            out.append(pen.text(x, y + 4.2, words, role, SIZE))
            x += text.width(words, SIZE) if role.startswith(("mark", "none")) else _width(words)
    return "".join(out)


def _sign(pen: Pen, x: float, y: float, name: str) -> str:
    """Each as it is in the picture: a piece of a wire with its mark, a glyph that is hatched."""
    wide = SIGNS[name][0]
    if name == "norm":
        return pen.text(x, y + 4.2, "‖·‖", "dims", SIZE)
    if name == "zero":
        return f'<g transform="translate({n(x + wide / 2)},{n(y)})">{pen.glyph("leaf", wide, 16, False, "zero")}</g>'
    middle, wire = x + wide / 2, pen.path(f"M{n(x)},{n(y)}h{n(wide)}", "wire")
    return wire + (pen.cut(middle, y) if name == "cut" else pen.path(f"M{n(middle)},{n(y - 8)}v16", "block"))
