"""The look of every mark, once: resolved into attributes for stills, left to class names for the stepper. Imports palette and text.

A look names colours by token (``@gline``). ``Still`` writes the palette's colour; ``Skeleton`` writes a class (``tv-wire``) and keeps only what decides
the geometry, such as the size of text. ``stylesheet`` prints the same looks as CSS over variables, which is what the stepper's style starts from.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from tensorviz.views import text
from tensorviz.views.palette import Tokens

Look = Mapping[str, str]

NODE_STATES = ("idle", "reached", "active", "done", "zero")

_MONO = {"font-family": "@mono"}
_SANS = {"font-family": "@sans"}

LOOKS: dict[str, Look] = {
    "halo": {"fill": "@now", "stroke": "@nowink", "stroke-width": "1"},
    "shape": {"fill": "@node", "stroke": "@ink2", "stroke-width": "1.6"},
    "card": {"fill": "@node", "stroke": "@ink2", "stroke-width": "1.6"},
    "inner": {"fill": "none", "stroke": "@ink2", "stroke-width": "1.4"},
    "hatch": {"fill": "none", "stroke": "@hair2", "stroke-width": "1.6"},
    "ground": {"fill": "@node"},
    "label": {"fill": "@ink", **_MONO},
    "wire": {"fill": "none", "stroke": "@wire", "stroke-width": "1.6"},
    "head": {"fill": "@wire"},
    "back": {"fill": "none", "stroke": "@gline", "stroke-width": "2", "stroke-dasharray": "6 4"},
    "backhead": {"fill": "@gline"},
    "band": {"fill": "none", "stroke": "@now", "stroke-width": "13", "stroke-opacity": "0.55", "stroke-linecap": "round"},
    "block": {"fill": "none", "stroke": "@ink", "stroke-width": "3"},
    "cutgap": {"fill": "none", "stroke": "@bg", "stroke-width": "12"},
    "cutmark": {"fill": "none", "stroke": "@ink", "stroke-width": "2"},
    "saved": {"fill": "@val", "stroke": "@bg", "stroke-width": "1"},
    "pill": {"fill": "@bg", "stroke": "@ink2", "stroke-width": "1.3"},
    "pilltext": {"fill": "@ink", "font-weight": "600", **_SANS},
    "sign": {"fill": "none", "stroke": "@ink", "stroke-width": "1.6", "stroke-linecap": "round", "stroke-linejoin": "round"},
    "frame-value": {"fill": "none", "stroke": "@val", "stroke-width": "1.2"},
    "frame-gradient": {"fill": "none", "stroke": "@gline", "stroke-width": "1.2", "stroke-dasharray": "4 2.5"},
    "cell": {"stroke": "@bg", "stroke-width": "1"},
    "cross": {"fill": "none", "stroke": "@err", "stroke-width": "1", "stroke-opacity": "0.35"},
    "tip": {"fill": "@ink"},
    "num-value": {"fill": "@val", **_MONO},
    "mark-value": {"fill": "@val", **_MONO},
    "num-gradient": {"fill": "@grad", "font-weight": "600", **_MONO},
    "mark-gradient": {"fill": "@grad", "font-weight": "600", **_MONO},
    "cellnum-value": {"fill": "@valink", **_MONO},
    "cellnum-gradient": {"fill": "@gradink", "font-weight": "600", **_MONO},
    "name": {"fill": "@ink2", **_MONO},
    "dims": {"fill": "@ink2", **_MONO},
}

STILL: dict[str, Look] = {
    "paper": {"fill": "@bg"},
    "none": {"fill": "@ink2", **_MONO},
    "swatch": {"fill": "none", "stroke": "@hair2", "stroke-width": "1"},
    "note": {"fill": "@ink2", **_SANS},
    "title": {"fill": "@ink", "font-weight": "600", **_SANS},
    "count": {"fill": "@ink", "font-weight": "600", **_SANS},
    "caption": {"fill": "@ink", **_SANS},
    "track": {"fill": "@hair"},
    "bar": {"fill": "@gline"},
    "frame": {"fill": "none", "stroke": "@hair", "stroke-width": "1"},
    "small": {"fill": "@ink2", **_SANS},
    "head-gradient": {"fill": "@grad", "font-weight": "600", **_MONO},
    "sum": {"fill": "none", "stroke": "@nowink", "stroke-width": "2"},
    "sumhead": {"fill": "@nowink"},
    "sumtext": {"fill": "@nowink", "font-weight": "600", **_SANS},
    "born-nan": {"fill": "@err", "stroke": "@err", "stroke-width": "1.3"},
    "born-inf": {"fill": "@bg", "stroke": "@err", "stroke-width": "1.8"},
    "borntext-nan": {"fill": "@bg", "font-weight": "600", **_SANS},
    "borntext-inf": {"fill": "@err", "font-weight": "600", **_SANS},
}
"""Marks that only exported pictures have."""

SPECIAL: dict[str, Look] = {
    "zero": {"fill": "@ink2", "font-weight": "400"},
    "nan": {"fill": "@err", "font-weight": "600"},
    "inf": {"fill": "@ink", "font-weight": "600"},
}
"""Numbers that do not look like the others of their kind."""

BY_STATE: dict[str, dict[str, Look]] = {
    "shape": {
        "idle": {"stroke": "@hair2"},
        "active": {"stroke": "@ink", "stroke-width": "2.6"},
        "done": {"stroke": "@gline", "stroke-width": "2", "fill": "@done"},
    },
    "card": {"idle": {"stroke": "@hair2"}, "done": {"stroke": "@gline", "fill": "@done"}},
    "inner": {"idle": {"stroke": "@hair2"}, "active": {"stroke": "@ink"}, "done": {"stroke": "@gline"}},
    "label": {"idle": {"fill": "@ink3"}},
    "name": {"idle": {"fill": "@ink3"}},
    "back": {"active": {"stroke-width": "3.6"}},
    "pill": {"past": {"stroke": "@gline", "stroke-width": "1.8"}, "now": {"fill": "@now", "stroke": "@nowink", "stroke-width": "1.6"}},
    "pilltext": {"now": {"fill": "@onnow"}},
    "sign": {"now": {"stroke": "@onnow"}},
}
BY_KIND: dict[str, dict[str, Look]] = {
    "shape": {
        "constant": {"fill": "none", "stroke": "@hair2", "stroke-dasharray": "2 2.5"},
        "detached": {"stroke-dasharray": "5 3"},
        "fold": {"stroke-dasharray": "1 3", "stroke-linecap": "round"},
    },
    "label": {"leaf": {"font-weight": "600"}, "parameter": {"font-weight": "600"}},
    "name": {"root": {"fill": "@ink", "font-weight": "600"}},
}
CLASSES = {"cellnum": ("tv-num", "tv-in")}
"""Roles whose class names are not simply their own."""


def look(role: str, state: str = "", kind: str = "") -> dict[str, str]:
    """The look of a role: its own, then what the kind and the state change."""
    found = dict(LOOKS[role] if role in LOOKS else STILL[role])
    found.update(BY_KIND.get(role, {}).get(kind, {}))
    found.update(BY_STATE.get(role, {}).get(state, {}))
    if kind == "constant" and role == "shape":
        found["fill"] = "none"
    return found


class Still:
    """Resolved attributes; what is not to be seen is left out."""

    live = False

    def __init__(self, tokens: Tokens) -> None:
        self.tokens: dict[str, str] = {**tokens, "mono": text.MONO, "sans": text.SANS}
        self._known: dict[tuple[str, str, str, str], str] = {}

    def attributes(self, role: str, state: str = "", kind: str = "", special: str = "") -> str:
        key = (role, state, kind, special)
        if key not in self._known:
            found = look(role, state, kind) | dict(SPECIAL.get(special, {}))
            self._known[key] = " ".join(f'{name}="{self.resolve(value)}"' for name, value in found.items())
        return self._known[key]

    def resolve(self, value: str) -> str:
        return self.tokens[value[1:]] if value.startswith("@") else value


class Skeleton:
    """Class names for the stepper's style; everything is written, and attributes of the groups decide what is seen."""

    live = True

    def attributes(self, role: str, state: str = "", kind: str = "", special: str = "") -> str:
        base, _, side = role.partition("-")
        words = [*CLASSES.get(base, (f"tv-{base}",)), *([f"tv-{side}"] if side else []), *([f"tv-{special}"] if special else [])]
        return f'class="{" ".join(words)}"'


Paint = Still | Skeleton


def stylesheet(scope: str = ".tv-graph") -> str:
    """The looks as CSS over ``--name`` variables, one for each token, nested in ``scope``."""
    rows = []

    def rule(selector: str, found: Look) -> None:
        body = "; ".join(f"{name}: {_css(value)}" for name, value in found.items() if value != "@mono")
        rows.append(f"  {selector} {{ {body} }}")

    rule("text", {"font-family": "var(--mono)"})  # said once: nearly all words in a picture are
    for role, found in LOOKS.items():
        base, _, side = role.partition("-")
        rule("".join(f".{word}" for word in CLASSES.get(base, (f"tv-{base}",))) + (f".tv-{side}" if side else ""), found)
    for role, kinds in BY_KIND.items():
        for kind, found in kinds.items():
            rule(f".tv-{'root' if kind == 'root' else f'kind-{kind}'} .tv-{role}", found)
    for state in dict.fromkeys(state for states in BY_STATE.values() for state in states):  # state by state: what looks the same stands together
        for role, states in BY_STATE.items():
            if state in states:
                rule(f"[data-{state}] .tv-{role}" if state in ("past", "now") else f'[data-state="{state}"] .tv-{role}', states[state])
    rule(".tv-kind-constant .tv-shape", {"fill": "none", "stroke": "@hair2"})
    for special, found in SPECIAL.items():
        rule(f".tv-num.tv-{special}", found)
    rule(".tv-cell", {"fill": "color-mix(in srgb, var(--tv-hue, transparent) var(--tv-tint, 0%), @cell0)"})
    for hue in ("vpos", "vneg", "gpos", "gneg"):
        rule(f".tv-cell.tv-{hue}", {"--tv-hue": f"@{hue}"})
    rule(".tv-cell.tv-nan", {"fill": "@errbg"})
    rule(".tv-cell.tv-true", {"fill": "@hair"})
    hidden = [
        '.tv-node:not([data-state="active"]) .tv-halo', '.tv-node:not([data-state="zero"]) :is(.tv-hatch, .tv-ground)',
        '.tv-edge:not([data-state="active"]) .tv-band', '.tv-edge:not([data-state="blocked"]) > .tv-block',
        ':is([data-state="idle"], [data-state="detached"], [data-state="idle"] > .tv-seed) > :is(.tv-back, .tv-backhead)',
        ':is([data-total], [data-share])[data-state="idle"]',
    ]  # fmt: skip
    rows.append(f"  {', '.join(hidden)} {{ display: none }}")
    return "\n".join([f"{scope} {{", *rows, "}"]) + "\n"


def _css(value: str) -> str:
    return re.sub(r"@(\w+)", r"var(--\1)", value)
