"""Where NaN and infinities first appear, and the mark that says so; cells beyond the scale."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import numpy as np

import tensorviz as tv
from tensorviz.trace import Trace
from tensorviz.views.animation import to_animated_svg
from tensorviz.views.born import births
from tensorviz.views.labels import label
from tensorviz.views.layout.types import Point
from tensorviz.views.marks import Pen
from tensorviz.views.paint import Still
from tensorviz.views.palette import PALETTES, Scale, contrast
from tensorviz.views.svg import skeleton, to_svg
from views import circuits

SVG = "{http://www.w3.org/2000/svg}"


def overflow() -> Trace:
    """``a * a`` overflows, ``sq - sq`` makes NaN of it, and the slope of sqrt at 0 is infinite."""
    a, z = tv.tensor([1e200, 2.0], requires_grad=True, name="a"), tv.tensor([0.0, 4.0], requires_grad=True, name="z")
    with np.errstate(all="ignore"):
        sq = a * a
        r, s = sq - sq, np.sqrt(z)
        L = (r + s).sum()
        return L.backward()


def born(svg: str) -> list[str]:
    return [
        "".join(e.itertext())
        for g in ET.fromstring(svg.encode()).iter()
        if "tv-born" in g.attrib.get("class", "")
        for e in g
        if e.tag == f"{SVG}text"
    ]


def test_each_is_named_where_it_first_appears_and_not_further_on() -> None:
    trace = overflow()
    found = {trace.nodes[i].name: birth for i, birth in births(trace).items()}
    assert set(found) == {"sq", "r", "s"}
    assert (found["sq"].forward, found["sq"].sign) == ("inf", 1)
    assert found["r"].forward == "nan"
    assert (found["s"].forward, found["s"].backward) == ("", "inf")


def test_a_mask_of_minus_infinity_at_one_entry_hides_no_overflow_at_another() -> None:
    x = tv.tensor([1.0, 800.0], requires_grad=True, name="x")
    with np.errstate(all="ignore"):
        masked = x + np.array([-np.inf, 0.0])
        e = np.exp(masked)
        trace = (e / e.sum()).sum().backward()
    forward = {trace.nodes[i].op: birth.forward for i, birth in births(trace).items() if birth.forward}
    assert forward == {"exp": "inf", "div": "nan"}


def test_nan_that_the_forward_pass_made_is_not_born_again_in_the_backward_pass() -> None:
    x = tv.tensor([-1.0, 1.0], requires_grad=True, name="x")
    with np.errstate(all="ignore"):
        y = np.sqrt(x)
        z = y * x
        trace = z.sum().backward()
    assert {trace.nodes[i].name: (birth.forward, birth.backward) for i, birth in births(trace).items()} == {"y": ("nan", "")}


def test_given_data_is_where_it_begins_but_a_mask_is_meant() -> None:
    x, mask = tv.tensor([np.nan, 1.0], requires_grad=True, name="x"), np.array([0.0, -np.inf])
    trace = (x + mask).sum().backward()
    assert {trace.nodes[i].name: birth.forward for i, birth in births(trace).items()} == {"x": "nan"}


def test_ordinary_records_have_none() -> None:
    assert births(circuits.staged()) == {}
    assert born(to_svg(circuits.staged())) == []


def test_the_picture_marks_them_and_the_legend_says_what_the_mark_means() -> None:
    svg = to_svg(overflow())
    assert sorted(born(svg)) == sorted(["+∞", "NaN", "∂ ∞", "NaN"])  # the last one is the legend's
    assert "first appears here" in svg


def test_the_legend_shows_a_mark_that_is_in_the_picture() -> None:
    x = tv.tensor([-np.inf, 1.0], requires_grad=True, name="x")
    trace = (x * 2.0).sum().backward()
    for svg in (to_svg(trace), trace.to_svg(steps=[0, 2]), to_animated_svg(trace)):
        assert set(born(svg)) == {"−∞"}
        assert "first appears here" in svg


def test_a_backward_birth_is_seen_once_its_share_is_on_its_way() -> None:
    trace = overflow()
    k = next(i for i, s in enumerate(trace.steps) if s.share is not None and s.share.target == trace.node("z").id)
    assert "∂ ∞" not in born(to_svg(trace, step=k - 1))
    assert "∂ ∞" in born(to_svg(trace, step=k))
    assert to_animated_svg(trace).count(">∂ ∞<") == 1


def test_a_collapsed_scope_carries_the_marks_of_what_is_inside() -> None:
    x = tv.tensor([-1.0, 4.0], requires_grad=True, name="x")
    with tv.scope("block"), np.errstate(all="ignore"):
        h = np.sqrt(x)
        for _ in range(6):
            h = h + h * 0.5
    svg = to_svg(h.sum().backward(), max_nodes=4, legend=False)
    assert 'data-group="scope:block"' in svg
    assert born(svg) == ["NaN"]


def test_marks_do_not_cover_names_or_tables() -> None:
    for direction in ("LR", "TB"):
        root = ET.fromstring(to_svg(overflow(), direction=direction).encode())
        boxes = [e for e in root.iter() if e.tag == f"{SVG}rect" and "tv-born" not in e.attrib.get("class", "") and float(e.attrib["width"]) < 200]
        pills = [e for g in root.iter() if "tv-born" in g.attrib.get("class", "") for e in g if e.tag == f"{SVG}rect"]
        cells = [b for b in boxes if b not in pills and "x" in b.attrib]
        for pill in pills:
            assert not [c for c in cells if overlap(pill, c)]


def overlap(a: ET.Element, b: ET.Element) -> bool:
    (ax, ay, aw, ah), (bx, by, bw, bh) = ([float(e.attrib[k]) for k in ("x", "y", "width", "height")] for e in (a, b))
    # Rectangles of glyphs are relative to their node, and stand left of or above everything absolute.
    return bx >= 0 and by >= 0 and ax < bx + bw and bx < ax + aw and ay < by + bh and by < ay + ah


def test_the_words_can_be_read_in_every_palette() -> None:
    for tokens in PALETTES.values():
        assert contrast(tokens["err"], tokens["bg"]) >= 4.5


def test_the_stepper_s_picture_is_left_as_it_is() -> None:
    assert "tv-born" not in skeleton(overflow())


# ---- beyond the scale --------------------------------------------------------------------------------------------


def test_a_cell_beyond_the_end_of_the_scale_has_a_corner() -> None:
    array = np.array([1.0, 2.0, -3.0, 0.5])
    markup = Pen(Still(PALETTES["light"]), Scale(2.0, 2.0)).label(label([array], False), array, Point(0, 0), "value")
    assert len(re.findall(r"h8v8z", markup)) == 1


def test_no_cell_of_a_whole_pass_is_beyond_it() -> None:
    assert "h8v8z" not in to_svg(circuits.broadcast())
