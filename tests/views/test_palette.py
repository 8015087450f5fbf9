"""Colours: every text stands out from what it stands on, in every palette; the heat scale is fixed, symmetric and monotonic."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorviz.views.palette import MOST, PALETTES, Scale, contrast, mix, palette, tint

TEXTS = ["ink", "ink2", "ink3", "val", "grad", "nowink", "ok", "err", "warn"]
MARKS = ["wire", "gline", "focus"]


@pytest.mark.parametrize("name", PALETTES)
@pytest.mark.parametrize("text", TEXTS)
def test_text_on_paper_has_a_contrast_of_four_and_a_half(name: str, text: str) -> None:
    assert contrast(PALETTES[name][text], PALETTES[name]["bg"]) >= 4.5


@pytest.mark.parametrize("name", PALETTES)
@pytest.mark.parametrize("mark", MARKS)
def test_marks_on_paper_have_a_contrast_of_three(name: str, mark: str) -> None:
    assert contrast(PALETTES[name][mark], PALETTES[name]["bg"]) >= 3


@pytest.mark.parametrize("name", PALETTES)
@pytest.mark.parametrize(("ink", "end"), [("valink", "vpos"), ("valink", "vneg"), ("gradink", "gpos"), ("gradink", "gneg")])
def test_numbers_in_the_strongest_cell_have_a_contrast_of_four_and_a_half(name: str, ink: str, end: str) -> None:
    tokens = PALETTES[name]
    assert contrast(tokens[ink], mix(tokens[end], tokens["cell0"], MOST)) >= 4.5


@pytest.mark.parametrize("name", PALETTES)
@pytest.mark.parametrize(
    ("text", "ground"), [("onnow", "now"), ("ink", "done"), ("ok", "okbg"), ("err", "errbg"), ("ink", "node"), ("ink2", "cell0")]
)
def test_text_on_coloured_ground_has_a_contrast_of_four_and_a_half(name: str, text: str, ground: str) -> None:
    assert contrast(PALETTES[name][text], PALETTES[name][ground]) >= 4.5


def test_palettes_have_the_same_tokens() -> None:
    names = {frozenset(tokens) for tokens in PALETTES.values()}
    assert len(names) == 1


def test_a_palette_that_is_not_there_lists_those_that_are() -> None:
    with pytest.raises(ValueError, match="'light', 'dark', 'colorblind', 'cs231n', got 'sepia'"):
        palette("sepia")


def test_black_on_white_is_twenty_one_to_one() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


def test_cells_are_paper_at_zero_and_half_tinted_at_the_ends() -> None:
    tokens = PALETTES["light"]
    scale = Scale(10.0, 4.0)
    assert scale.fill(tokens, "value", 0.0) == "#ffffff"
    assert scale.fill(tokens, "value", 10.0) == mix(tokens["vpos"], "#ffffff", 0.5)
    assert scale.fill(tokens, "value", -10.0) == mix(tokens["vneg"], "#ffffff", 0.5)
    assert scale.fill(tokens, "gradient", 4.0) == mix(tokens["gpos"], "#ffffff", 0.5)
    assert scale.fill(tokens, "value", math.nan) == tokens["errbg"]
    assert scale.fill(tokens, "value", math.inf) == "#ffffff"


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
def test_a_larger_magnitude_is_never_paler(a: float, b: float) -> None:
    most = max(abs(a), abs(b))
    low, high = sorted((abs(a), abs(b)))
    assert 0 <= tint(low, most) <= tint(high, most) <= MOST
    assert tint(a, most) == tint(-a, most)


def _lab(colour: str) -> tuple[float, float, float]:
    """CIELAB of an sRGB colour under D65."""
    r, g, b = (((c + 0.055) / 1.055) ** 2.4 if c > 0.04045 else c / 12.92 for c in (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)))
    xyz = (
        (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505,
        0.2126 * r + 0.7152 * g + 0.0722 * b,
        (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089,
    )
    x, y, z = (v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116 for v in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize("name", PALETTES)
@pytest.mark.parametrize(("plus", "minus"), [("vpos", "vneg"), ("gpos", "gneg")])
def test_plus_and_minus_of_a_scale_are_told_apart_in_the_strongest_cell(name: str, plus: str, minus: str) -> None:
    tokens = PALETTES[name]
    ends = [_lab(mix(tokens[end], tokens["cell0"], MOST)) for end in (plus, minus)]
    assert math.dist(*ends) >= 28  # 10 is seen at a glance by most; the difference shrinks with the tint
