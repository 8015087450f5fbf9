"""Filmstrips: which frames there are, what each shows, and what is said about steps that do not exist."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

import tensorviz as tv
from tensorviz.errors import OptionError
from tensorviz.trace import Trace
from tensorviz.views.boxes import Badge
from tensorviz.views.layout.types import Point
from tensorviz.views.palette import PALETTES
from tensorviz.views.paragraph import wrap
from tensorviz.views.parts import Tag
from tensorviz.views.picture import touching
from tensorviz.views.svg import to_svg
from tensorviz.widgets.drawing import draw
from views import circuits

SVG = "{http://www.w3.org/2000/svg}"


def frames(svg: str) -> list[ET.Element]:
    return [e for e in ET.fromstring(svg.encode()).iter() if e.attrib.get("class") == "tv-frame"]


def texts(element: ET.Element) -> list[str]:
    return ["".join(e.itertext()) for e in element.iter() if e.tag == f"{SVG}text"]


def test_each_frame_has_its_number_its_sentence_and_the_state_of_its_step() -> None:
    trace = circuits.broadcast()
    found = frames(to_svg(trace, steps=[0, 4, 8]))
    assert [f.attrib["data-step"] for f in found] == ["0", "4", "8"]
    for k, frame in zip([0, 4, 8], found, strict=True):
        assert texts(frame)[:2] == [str(k + 1), "/11"]
        assert trace.steps[k].caption in " ".join(texts(frame))
        active = [e.attrib["data-node"] for e in frame.iter() if "data-node" in e.attrib and "data-active" in e.attrib]
        assert active == [str(trace.steps[k].node)]


def test_an_unbroadcast_shows_the_terms_and_their_sum() -> None:
    (frame,) = frames(to_svg(circuits.broadcast(), steps=[7]))
    shown = texts(frame)
    assert shown.count("∂b") == 1
    # 2 (X + b) over the rows, and their sums
    for word in ["2.2", "4.4", "6.6", "8.2", "10.4", "12.6", "14.8", "19.2", "Σ axis 0"]:
        assert word in shown
    assert shown.count("10.4") == 2


def test_a_fork_says_which_share_it_is_and_shows_the_running_sum() -> None:
    trace = circuits.squared()  # x * x at 3: two shares of 3
    steps = [k for k, s in enumerate(trace.steps) if s.kind == "accumulate"]
    first, second = (texts(f) for f in frames(to_svg(trace, steps=steps)))
    assert "∂x, 1 of 2" in first and "3" in first
    assert "∂x, 2 of 2" in second and "6" in second


def test_leaf_steps_show_what_grad_holds() -> None:
    trace = circuits.squared()
    (frame,) = frames(to_svg(trace, steps=[len(trace.steps) - 1]))
    assert "x.grad" in texts(frame)


def test_frames_are_in_the_order_asked_for_and_may_repeat() -> None:
    found = frames(to_svg(circuits.broadcast(), steps=[5, 0, 5]))
    assert [f.attrib["data-step"] for f in found] == ["5", "0", "5"]


def test_granularities_choose_frames() -> None:
    svg = to_svg(circuits.broadcast(), steps="node")
    assert [f.attrib["data-step"] for f in frames(svg)] == ["0", "2", "4", "8", "10"]
    assert ET.fromstring(svg.encode()).attrib["data-steps"] == "0 2 4 8 10"


def width(svg: str) -> float:
    return float(ET.fromstring(svg.encode()).attrib["width"])


def test_columns_say_how_many_frames_stand_side_by_side() -> None:
    trace = circuits.broadcast()
    one, two, four = (width(to_svg(trace, steps=[0, 2, 4, 6], columns=c)) for c in (1, 2, 4))
    assert one < two < four
    assert width(to_svg(trace, steps=[0, 2], columns=9)) == two
    # Two gaps more between four frames than between two, and two frames more.
    assert four - two == pytest.approx(2 * (two - one), abs=0.3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"steps": [11]}, "the trace has steps 0 to 10, not 11"),
        ({"steps": [-1, 0]}, "not -1"),
        ({"steps": []}, "steps is empty"),
        ({"steps": ["0"]}, "steps must hold step numbers, got '0'"),
        ({"steps": "all"}, "'micro', 'share', 'node'"),
        ({"steps": 3}, "step= draws a single one"),
        ({"steps": [1], "step": 1}, "not both"),
        ({"steps": [1], "columns": 0}, "columns must be a whole number of at least 1"),
        ({"columns": 2}, "steps=[0, 3, 5]"),
        ({"steps": [0] * 61}, "at most 60 frames, and 61 were asked for"),
    ],
)
def test_bad_steps_and_columns_say_what_is_wrong(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        to_svg(circuits.broadcast(), **options)  # type: ignore[arg-type]


def test_without_steps_there_is_no_film() -> None:
    with pytest.raises(OptionError, match="backward has not been called"):
        to_svg(circuits.broadcast(forward_only=True), steps=[0])


@pytest.mark.parametrize("palette", PALETTES)
@pytest.mark.parametrize("direction", ["LR", "TB"])
def test_a_film_is_a_plain_still(palette: str, direction: str) -> None:
    svg = to_svg(circuits.staged(), steps="share", palette=palette, direction=direction, title="f at (3, −4)")
    assert {e.tag.removeprefix(SVG) for e in ET.fromstring(svg.encode()).iter()} <= {"svg", "title", "g", "rect", "path", "text", "tspan"}
    assert not re.search(r"var\(|color-mix|url\(|style|\bid=|href", svg)
    sizes = {float(e.attrib["font-size"]) for e in ET.fromstring(svg.encode()).iter() if "font-size" in e.attrib}
    assert min(sizes) >= 12


def test_a_large_trace_keeps_its_frames_readable_and_says_what_is_left_out() -> None:
    svg = to_svg(circuits.layers(100), steps=[0, 5])
    assert any("more nodes not drawn" in t for t in texts(ET.fromstring(svg.encode())))


def test_every_frame_of_a_large_trace_shows_the_node_of_its_step() -> None:
    w = tv.tensor(0.5, requires_grad=True, name="w")
    h: tv.Tensor = tv.tensor(2.0, requires_grad=True, name="h")
    for _ in range(30):
        h = tv.sin(h * w)
    trace = h.backward()
    steps = [0, 60, 120, len(trace.steps) - 1]
    for k, frame in zip(steps, frames(to_svg(trace, steps=steps)), strict=True):
        active = [e.attrib["data-node"] for e in frame.iter() if "data-node" in e.attrib and "data-active" in e.attrib]
        assert active == [str(trace.steps[k].node)]


def test_the_legend_of_a_film_says_what_the_colours_of_its_tables_are_worth() -> None:
    assert {"∂ −19.2", "19.2"} <= set(texts(ET.fromstring(to_svg(circuits.broadcast(), steps=[0, 4]).encode())))
    assert not [t for t in texts(ET.fromstring(to_svg(circuits.broadcast(), steps=[0, 4]).encode())) if t.startswith("value")]


def test_a_drawing_and_the_door_take_steps_too() -> None:
    trace: Trace = circuits.squared()
    assert draw(trace, steps=[0, 1]).to_svg() == trace.to_svg(steps=[0, 1]) == to_svg(trace, steps=[0, 1])


# ---- badges as signs ---------------------------------------------------------------------------------------------


def test_badges_that_touch_give_up_their_words_and_others_keep_them() -> None:
    one = Badge(Tag("unbroadcast", "Σ axis 0"), Point(0, 0))
    near = Badge(Tag("unbroadcast", "Σ axis 1"), Point(60, 10))
    far = Badge(Tag("route", "4 of 12 · 1 tie"), Point(300, 0))
    assert touching([(b.tag, b.at) for b in (one, near, far)]) == {"unbroadcast"}
    assert touching([(b.tag, b.at) for b in (one, far)]) == set()


def test_a_sign_keeps_its_words_in_the_title() -> None:
    (frame,) = frames(to_svg(circuits.broadcast(), steps=[0]))
    badge = next(e for e in frame.iter() if e.attrib.get("data-badge") == "unbroadcast")
    assert badge.findtext(f"{SVG}title") == "Σ axis 0"
    assert not texts(badge)


# ---- sentences ---------------------------------------------------------------------------------------------------


def test_sentences_break_at_spaces_and_long_words_where_the_line_ends() -> None:
    assert wrap("aa bb cc", 30, 10) == ["aa bb", "cc"]  # 4 · 6.1 + 3.3, and 6 · 6.1 + 2 · 3.3 would be too much
    assert wrap("abcdefghijkl", 30, 10) == ["abcd", "efghij", "kl"]
    assert wrap("", 30, 10) == [""]
    assert wrap("WWWW", 30, 10) == ["WWW", "W"]
    assert wrap("权重权重", 30, 10) == ["权重权", "重"]
    assert wrap("a b c d e f g h i", 12, 10, most=2)[1].endswith("…")
