"""Each mark of the picture as SVG text: glyphs, tables, numbers, badges. Imports other views only."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from tensorviz.trace import Array
from tensorviz.views import labels as lab
from tensorviz.views import text
from tensorviz.views.curves import number as n
from tensorviz.views.labels import CELL_HEIGHT, LINE, SIZE, SMALL, Label
from tensorviz.views.layout.types import Point
from tensorviz.views.paint import Paint, Still
from tensorviz.views.palette import Kind, Scale
from tensorviz.views.parts import BADGE, PILL, Tag

SIGNS = {
    "fork": "M4,-5H-4L0.5,0L-4,5H4",
    "unbroadcast": "M-5,-5H5M-5,-1.5H5M0,-1.5V5M-3,2L0,5L3,2",
    "hand": "M-5,5L-4,1.5L3,-5.5L5.5,-3L-1.5,4L-5,5M1,-3.5L3.5,-1",
    "route": "M-6,0H-2.5L1.5,-4H6M3.5,-6.5L6,-4L3.5,-1.5M-2.5,0L0.5,3.8H2.5",
}
"""Badges as paths around (0, 0), because a font may lack the sign: a sum, bars that run together, a pencil, a switch."""


class Pen:
    """Writes marks with one paint and one heat scale."""

    def __init__(self, paint: Paint, scale: Scale) -> None:
        self.paint, self.scale = paint, scale

    # ---- elements --------------------------------------------------------------------------------------------

    def text(
        self, x: float, y: float, words: str, role: str, size: float, anchor: str = "start", state: str = "", kind: str = "", special: str = ""
    ) -> str:
        place = "" if anchor == "start" else f' text-anchor="{anchor}"'
        keep = ' xml:space="preserve"' if "  " in words or words != words.strip(" ") else ""
        return f'<text x="{n(x)}" y="{n(y)}" font-size="{n(size)}"{place}{keep} {self.paint.attributes(role, state, kind, special)}>{text.xml(words)}</text>'

    def letters(self, x: float, y: float, words: str, role: str, size: float, anchor: str, state: str, kind: str) -> str:
        """Words that are a drawing: a letter that stands for an op is not what its button is called, and speech input would stumble over it.

        They are seen through a ``use``, so they belong to no element around it.
        """
        key = "tv-word-" + "-".join(f"{ord(c):x}" for c in words)
        look = self.paint.attributes(role, state, kind)
        use = f'<use href="#{key}" x="{n(x)}" y="{n(y)}" font-size="{n(size)}" text-anchor="{anchor}" {look}/>'
        return f'<defs><text id="{key}">{text.xml(words)}</text></defs>{use}'

    def rect(self, x: float, y: float, w: float, h: float, radius: float, look: str) -> str:
        return f'<rect x="{n(x)}" y="{n(y)}" width="{n(w)}" height="{n(h)}" rx="{n(radius)}" {look}/>'

    def path(self, d: str, role: str, state: str = "", kind: str = "") -> str:
        return f'<path d="{d}" {self.paint.attributes(role, state, kind)}/>'

    # ---- labels ----------------------------------------------------------------------------------------------

    def label(self, label: Label, array: Array, at: Point, kind: Kind, *, marked: bool = True) -> str:
        """A label whose table starts at ``at`` (top left), or whose one line of text has it as the top left of its line box.

        ``marked``: with the ∂ beside the table of a gradient.
        """
        words = lab.shown(array)
        if label.form == "cells":
            return self._table(label, array, words, at, kind, marked)
        lead = ("∂ " if kind == "gradient" else "") if label.form == "number" else lab.norm_mark(kind == "gradient", array)
        special = self._special(array, words[0]) if label.form == "number" else "nan" if "NaN" in words[0] or "∞" in words[0] else ""
        y = at.y + 14
        out = []
        if label.shape:
            out.append(self.text(at.x, at.y + 12, label.shape, "dims", SMALL))
            y += LINE
        if lead:
            inner = f"<tspan {self.paint.attributes(f'num-{kind}', special=special)}>{text.xml(words[0])}</tspan>"
            size = SMALL if label.form == "stats" and label.height <= 16 else SIZE
            out.append(f'<text x="{n(at.x)}" y="{n(y)}" font-size="{n(size)}" {self.paint.attributes(f"mark-{kind}")}>{lead}{inner}</text>')
        else:
            out.append(self.text(at.x, y, words[0], f"num-{kind}", SIZE, special=special))
        return "".join(out)

    def _special(self, array: Array, word: str) -> str:
        return "nan" if word == "NaN" else "inf" if "∞" in word else "zero" if word.strip("\xa0") in ("0", "F", "False") else ""

    def _table(self, label: Label, array: Array, words: Sequence[str], at: Point, kind: Kind, marked: bool) -> str:
        out = []
        top = at.y
        if label.shape:
            out.append(self.text(at.x, top + 11, label.shape, "dims", SMALL))
            top += LINE
        if kind == "gradient" and marked:
            out.append(self.text(at.x - 6, top + label.rows * CELL_HEIGHT / 2 + 5, "∂", "mark-gradient", SIZE, "end"))
        truth = array.dtype.kind == "b"
        values = [float(v) for v in array.ravel()]
        for i, (x, word) in enumerate(zip(values, words, strict=True)):
            left, upper = at.x + i % label.cols * label.cell, top + i // label.cols * CELL_HEIGHT
            out.append(
                f'<rect x="{n(left)}" y="{n(upper)}" width="{n(label.cell)}" height="{n(CELL_HEIGHT)}" {self._truth(x) if truth else self._cell(kind, x)}/>'
            )
            if not self.paint.live and not math.isfinite(x):
                out.append(self._strange(x, left, upper, label.cell))
            elif not (self.paint.live or truth) and abs(x) > self.scale.most(kind):
                # More than the scale's end: the colour says no more, so a corner does.
                out.append(self.path(f"M{n(left + label.cell - 8)},{n(upper)}h8v8z", "tip"))
            out.append(self.text(left + label.cell - 6, upper + 17.5, word, f"cellnum-{kind}", SIZE, "end", special=self._special(array, word)))
        height = label.rows * CELL_HEIGHT
        out.append(self.rect(at.x - 0.5, top - 0.5, label.width + 1, height + 1, 1.5, self.paint.attributes(f"frame-{kind}")))
        return "".join(out)

    def _cell(self, kind: Kind, x: float) -> str:
        if isinstance(self.paint, Still):
            return f'fill="{self.scale.fill(self.paint.tokens, kind, x)}" {self.paint.attributes("cell")}'
        if math.isnan(x):
            return 'class="tv-cell tv-nan"'
        share = self.scale.tint(kind, x)
        hue = f"{kind[0]}{'pos' if x >= 0 else 'neg'}"
        return f'class="tv-cell tv-{hue}" style="--tv-tint:{100 * share:.0f}%"'

    def _truth(self, x: float) -> str:
        """The cell of a truth value, which is no number of the scale: grey, or empty."""
        if isinstance(self.paint, Still):
            return f'fill="{self.paint.tokens["hair" if x else "cell0"]}" {self.paint.attributes("cell")}'
        return f'class="tv-cell{" tv-true" if x else ""}"'

    def swatch(self, kind: Kind, x: float) -> str:
        """The look of a cell of ``x`` in a legend."""
        return self._cell(kind, x)

    def _strange(self, x: float, left: float, top: float, width: float) -> str:
        """NaN is crossed out; infinities are hatched and point up or down."""
        right, bottom = left + width, top + CELL_HEIGHT
        if math.isnan(x):
            return self.path(f"M{n(left)},{n(top)}L{n(right)},{n(bottom)}M{n(left)},{n(bottom)}L{n(right)},{n(top)}", "cross")
        # Beside the sign of infinity, since a hatched cell shows no border to the one before it.
        point = -6 if x > 0 else 6
        tip = f"M{n(right - 37)},{n(top + CELL_HEIGHT / 2 - point / 2)}l4,{point}l4,{-point}z"
        return self.path(hatch_rect(left, top, right, bottom), "hatch") + self.path(tip, "tip")

    # ---- badges ----------------------------------------------------------------------------------------------

    def pill(self, tag: Tag, at: Point, when: str, extra: str = "", words: str | None = None) -> str:
        """A badge of the ``past``, of the ``future``, or of ``now``."""
        return f'<g class="tv-badge" data-badge="{tag.kind}" data-{when}=""{extra}>{self.badge(tag, at, when, words)}</g>'

    def badge(self, tag: Tag, at: Point, when: str = "future", words: str | None = None) -> str:
        """A badge that is none of the graph's: how it looks."""
        box = self.rect(at.x - tag.width / 2, at.y - PILL / 2, tag.width, PILL, PILL / 2, self.paint.attributes("pill", when))
        if tag.icon:
            sign = f'<path transform="translate({n(at.x)},{n(at.y)})" d="{SIGNS[tag.kind]}" {self.paint.attributes("sign", when)}/>'
            return f"<title>{text.xml(words or tag.text)}</title>{box}{sign}"
        return box + self.text(at.x, at.y + 4.4, words or tag.text, "pilltext", BADGE, "middle", state=when)

    def born(self, tag: Tag, at: Point) -> str:
        """NaN is solid red, an infinity has a red outline."""
        box = self.rect(at.x - tag.width / 2, at.y - PILL / 2, tag.width, PILL, PILL / 2, self.paint.attributes(f"born-{tag.kind}"))
        words = self.text(at.x, at.y + 4.4, tag.text, f"borntext-{tag.kind}", BADGE, "middle")
        return f'<g class="tv-badge tv-born" data-badge="{tag.kind}"><title>{text.xml(tag.text)} first appears here</title>{box}{words}</g>'

    # ---- glyphs ----------------------------------------------------------------------------------------------

    def glyph(self, shape: str, w: float, h: float, root: bool, state: str) -> str:
        """Halo, outline and hatch of a node around (0, 0)."""
        out = []
        paint = self.paint
        if state == "active" or paint.live:
            radius = h / 2 + 7 if shape in ("op", "fold") else 9
            out.append(self.rect(-w / 2 - 7, -h / 2 - 7, w + 14, h + 14, radius, paint.attributes("halo")))
        look = paint.attributes("shape", state, shape)
        x, y, r, b = -w / 2, -h / 2, w / 2, h / 2
        if shape == "scope":
            out.append(self.rect(x + 4, y - 4, w, h, 6, paint.attributes("card", state)))
        outline = {
            "parameter": f"M{n(x + 10)},{n(y)}H{n(r - 10)}L{n(r)},0L{n(r - 10)},{n(b)}H{n(x + 10)}L{n(x)},0Z",
            "detached": f"M{n(x + 8)},{n(y)}H{n(r)}L{n(r - 8)},{n(b)}H{n(x)}Z",
        }.get(shape)
        radius = {"leaf": 3.0, "constant": 2.0, "scope": 6.0}.get(shape, h / 2)
        out.append(f'<path d="{outline}" {look}/>' if outline else self.rect(x, y, w, h, radius, look))
        if state == "zero" or paint.live:
            out.append(self.path(hatch_round(w, h, radius if not outline else 10.0), "hatch"))
        if root:
            out.append(self.rect(x + 4, y + 4, w - 8, h - 8, max(2.0, radius - 4), paint.attributes("inner", state)))
        return "".join(out)

    def ground(self, word: str, size: float, state: str) -> str:
        """Paper under a label that would stand on hatching."""
        if state != "zero" and not self.paint.live:
            return ""
        wide = text.width(word, size) + 6
        return self.rect(-wide / 2, -size * 0.62, wide, size * 1.2, 3, self.paint.attributes("ground"))

    def cut(self, x: float, y: float) -> str:
        """Two slashes across a gap in a wire that runs to the right."""
        gap, slashes = f"M{n(x - 5)},{n(y)}H{n(x + 5)}", f"M{n(x - 9)},{n(y + 8)}l6,-16M{n(x + 3)},{n(y + 8)}l6,-16"
        return self.path(gap, "cutgap") + self.path(slashes, "cutmark")

    def saved(self, x: float, y: float) -> str:
        return self.path(f"M{n(x)},{n(y - 7)}l5,7l-5,7l-5,-7z", "saved")


def hatch_rect(left: float, top: float, right: float, bottom: float, step: float = 8.0) -> str:
    """45-degree lines inside a rectangle; drawn lines, because a pattern would need an id."""
    out = []
    height = bottom - top
    x = left - height + step / 2
    while x < right:
        x0, y0 = max(x, left), bottom - max(0.0, left - x)
        x1, y1 = min(x + height, right), top + max(0.0, x + height - right)
        out.append(f"M{n(x0)},{n(y0)}L{n(x1)},{n(y1)}")
        x += step
    return "".join(out)


@lru_cache(maxsize=512)
def hatch_round(w: float, h: float, radius: float, step: float = 6.0) -> str:
    """45-degree lines inside a rectangle with round corners around (0, 0)."""
    out = []
    r = min(radius, w / 2, h / 2)

    def inside(x: float, y: float) -> bool:
        dx, dy = max(0.0, abs(x) - (w / 2 - r)), max(0.0, abs(y) - (h / 2 - r))
        return dx * dx + dy * dy <= max(0.0, r - 1.2) ** 2 if r > 1.2 else dx <= 0 and dy <= 0

    half = (w + h) / 2
    offset = -half + step / 2
    while offset < half:
        # Points (t, offset - t): walk them by half pixels and keep the first and the last that are inside.
        hits = [t / 2 for t in range(int(-w), int(w) + 1) if inside(t / 2, offset - t / 2)]
        if len(hits) > 1:
            out.append(f"M{n(hits[0])},{n(offset - hits[0])}L{n(hits[-1])},{n(offset - hits[-1])}")
        offset += step
    return "".join(out)
