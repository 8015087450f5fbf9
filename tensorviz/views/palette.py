"""Colours: the tokens of each palette and the heat scale of cells. Imports argument checks only.

Three hues carry meaning: blue is value, orange-red is gradient, yellow is now; red is kept for NaN, infinities and failed checks. The browser
colours cells by the same rules (``color.ts``); both are held to ``tests/golden/color.json``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from tensorviz.arguments import one_of

Kind = Literal["value", "gradient"]
Tokens = Mapping[str, str]

_PAPER = {
    "bg": "#ffffff", "bg2": "#f5f7f9", "ink": "#16191d", "ink2": "#4d5761", "ink3": "#68727d", "hair": "#dde2e7", "hair2": "#aab3bd",
    "wire": "#7d8995", "cell0": "#ffffff", "node": "#ffffff", "now": "#ffc933", "nowsoft": "#fff2c9", "nowink": "#6b4700", "onnow": "#16191d",
    "ok": "#176b34", "okbg": "#e3f4e8", "warn": "#7a5200", "focus": "#0a5796",
}  # fmt: skip
_OKABE_ITO = _PAPER | {
    "val": "#0a5796", "valink": "#073d6b", "vpos": "#0072b2", "vneg": "#009e73",
    "grad": "#b23a00", "gradink": "#7a2800", "gline": "#d55e00", "gpos": "#d55e00", "gneg": "#b8528c", "done": "#fdeee4",
    "err": "#b00020", "errbg": "#fde7ea",
}  # fmt: skip
_DARK = {
    "bg": "#15181c", "bg2": "#1c2026", "ink": "#eceff2", "ink2": "#b3bcc6", "ink3": "#8d97a2", "hair": "#333a42", "hair2": "#5a6470",
    "wire": "#7f8b97", "cell0": "#1f242a", "node": "#1f242a", "now": "#f2b90f", "nowsoft": "#3a2f0c", "nowink": "#ffdc73", "onnow": "#16191d",
    "ok": "#6fd692", "okbg": "#12301d", "warn": "#ffdc73", "focus": "#8fc7ff",
    "val": "#8fc7ff", "valink": "#d3e9ff", "vpos": "#2f8fd6", "vneg": "#1fae86",
    "grad": "#ffa06b", "gradink": "#ffe0cd", "gline": "#f0813f", "gpos": "#e2661c", "gneg": "#c765a0", "done": "#3a2315",
    "err": "#ff8b94", "errbg": "#3d1418",
}  # fmt: skip
_CS231N = _PAPER | {
    "val": "#12702f", "valink": "#0b4a1f", "vpos": "#2e9e4f", "vneg": "#a08000",
    "grad": "#c00f0f", "gradink": "#7d0808", "gline": "#d92b2b", "gpos": "#d92b2b", "gneg": "#8a4fa8", "done": "#fbe9e9",
    "err": "#8a0a4f", "errbg": "#fbe4f0",
}  # fmt: skip

PALETTES: Mapping[str, Tokens] = MappingProxyType(
    {
        "light": MappingProxyType(_OKABE_ITO),
        "dark": MappingProxyType(_DARK),
        # The default look is the colour-blind-safe one (Okabe-Ito); "light" is its name as a theme, so the two are the same colours.
        "colorblind": MappingProxyType(_OKABE_ITO),
        # Values green, gradients red, as on the course's slides. Not safe for colour-blind readers, hence never a default.
        "cs231n": MappingProxyType(_CS231N),
    }
)

STEEPNESS = 50.0
"""How fast the heat scale rises near zero: asinh(50 |x| / m) is at half its height where |x| = m / 8."""
MOST = 0.5
"""The strongest tint. With half of a scale's end mixed in, the numbers inside the cells keep a contrast of 4.9."""


def palette(name: str, where: str = "") -> Tokens:
    """The tokens of a palette; ``OptionError`` lists the names there are."""
    one_of(where, "palette", name, PALETTES)
    return PALETTES[name]


def mix(over: str, under: str, part: float) -> str:
    """``part`` of the colour ``over`` on the rest of ``under``, channel by channel; halves round up.

    >>> mix("#ff0000", "#ffffff", 0.5)
    '#ff8080'
    """
    pairs = zip(_channels(over), _channels(under), strict=True)
    return "#" + "".join(f"{math.floor(a * part + b * (1 - part) + 0.5):02x}" for a, b in pairs)


def _channels(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def tint(x: float, most: float) -> float:
    """How much of the scale's end goes into the cell of ``x``, in whole hundredths; ``most`` is the largest finite magnitude of the pass.

    >>> tint(0.0, 10.0), tint(10.0, 10.0), tint(-1.0, 10.0)
    (0.0, 0.5, 0.25)
    """
    if not math.isfinite(x) or x == 0 or most <= 0:
        return 0.0
    height = math.asinh(STEEPNESS * min(1.0, abs(x) / most)) / math.asinh(STEEPNESS)
    return math.floor(100 * MOST * height + 0.5) / 100


@dataclass(frozen=True, slots=True)
class Scale:
    """The heat scale of one pass: the largest finite magnitudes of values and gradients over the whole trace, so that colours never jump."""

    value: float
    gradient: float

    def most(self, kind: Kind) -> float:
        return self.value if kind == "value" else self.gradient

    def tint(self, kind: Kind, x: float) -> float:
        return tint(x, self.most(kind))

    def fill(self, tokens: Tokens, kind: Kind, x: float) -> str:
        """The colour of a cell; NaN has its own, infinities stay paper and are hatched."""
        if math.isnan(x):
            return tokens["errbg"]
        end = tokens[("v" if kind == "value" else "g") + ("pos" if x >= 0 else "neg")]
        return mix(end, tokens["cell0"], self.tint(kind, x))


def luminance(colour: str) -> float:
    """Relative luminance after WCAG 2."""
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in (v / 255 for v in _channels(colour))]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: str, b: str) -> float:
    """The contrast ratio of two colours after WCAG 2, from 1 to 21."""
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def tokens_json() -> dict[str, Any]:
    """Every palette as plain dictionaries, for the page that styles the stepper."""
    return {name: dict(tokens) for name, tokens in PALETTES.items()}
