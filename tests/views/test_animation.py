"""The picture that plays: what is seen in which frame, what is seen without animation, and that it needs nothing but itself."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from tensorviz.errors import OptionError
from tensorviz.trace import Trace
from tensorviz.views.animation import MOST_BYTES, MOST_FRAMES, PAUSE, split, to_animated_svg
from tensorviz.views.palette import PALETTES
from tensorviz.views.stops import stops
from tensorviz.views.svg import to_svg
from tensorviz.widgets.drawing import draw
from views import circuits

SVG = "{http://www.w3.org/2000/svg}"


def root(svg: str) -> ET.Element:
    return ET.fromstring(svg.encode())


def style(svg: str) -> str:
    found = root(svg).find(f"{SVG}style")
    assert found is not None and found.text
    return found.text


def duration(svg: str) -> float:
    found = re.search(r"\.v\{animation:([\d.]+)s", style(svg))
    assert found
    return float(found[1])


def seen_at(svg: str, seconds: float) -> list[ET.Element]:
    """What a browser paints at a moment: keyframes are read here as step-end says, the last one that is not later counts."""
    part = 100 * seconds / duration(svg)
    visible = {}
    for name, body in re.findall(r"@keyframes tv[0-9a-f]{10}(k\d+)\{((?:[\d.]+%\{[^}]*\})+)\}", style(svg)):
        frames = [(float(at), how) for at, how in re.findall(r"([\d.]+)%\{visibility:(\w+)\}", body)]
        visible[name] = [how for at, how in frames if at <= part + 1e-9][-1] == "visible"
    return list(painted(root(svg), visible))


def painted(element: ET.Element, visible: dict[str, bool]):
    names = element.attrib.get("class", "").split()
    if "v" in names and not visible[names[1]]:
        return
    yield element
    for child in element:
        yield from painted(child, visible)


def words(elements: list[ET.Element]) -> list[str]:
    return ["".join(e.itertext()) for e in elements if e.tag == f"{SVG}text"]


def at_rest(svg: str) -> list[ET.Element]:
    """What is painted without animation: what the attributes say."""

    def walk(element: ET.Element):
        if element.attrib.get("visibility") != "hidden":
            yield element
            for child in element:
                yield from walk(child)

    return list(walk(root(svg)))


def shapes(elements: list[ET.Element]) -> list[tuple[str, str]]:
    """Drawn geometry without its colours, which a still and an animation write differently."""
    return sorted((e.tag, e.attrib["d"]) for e in elements if "d" in e.attrib)


# ---- what is seen when -------------------------------------------------------------------------------------------


def test_every_frame_shows_what_a_still_of_that_step_shows() -> None:
    trace = circuits.staged()
    svg = to_animated_svg(trace, legend=False)
    for frame in range(len(trace.steps)):
        seen = seen_at(svg, 0.9 * frame + 0.45)
        still = list(root(to_svg(trace, step=frame, legend=False)).iter())
        assert shapes(seen) == shapes(still)
        numbers = [word for word in words(seen) if word.startswith(("∂ ", "Σ "))]
        assert sorted(numbers) == sorted(word for word in words(still) if word.startswith(("∂ ", "Σ ")))


def test_without_animation_the_end_is_seen() -> None:
    trace = circuits.broadcast()
    svg = to_animated_svg(trace, legend=False)
    assert shapes(at_rest(svg)) == shapes(list(root(to_svg(trace, legend=False)).iter()))
    assert "The pass is complete: X.grad and b.grad are written." in words(at_rest(svg))
    assert shapes(seen_at(svg, duration(svg) - 0.1)) == shapes(at_rest(svg))


def test_each_step_has_its_number_and_its_sentence_and_no_other() -> None:
    trace = circuits.squared()
    svg = to_animated_svg(trace)
    count = len(trace.steps)
    for frame, step in enumerate(trace.steps):
        told = words(seen_at(svg, 0.9 * frame + 0.01))
        assert [word for word in told if word.startswith("Step ")] == [f"Step {frame + 1} of {count}"]
        assert step.caption in " ".join(told)


def test_a_step_lasts_as_long_as_was_asked_and_the_end_is_held() -> None:
    trace = circuits.squared()
    assert duration(to_animated_svg(trace)) == pytest.approx(len(trace.steps) * 0.9 + PAUSE)
    assert duration(to_animated_svg(trace, seconds_per_step=2)) == pytest.approx(len(trace.steps) * 2 + PAUSE)


def test_less_motion_and_paper_stop_every_animation() -> None:
    rules = style(to_animated_svg(circuits.squared()))
    stop = re.search(r"@media print,\(prefers-reduced-motion:reduce\)\{(.*)\}$", rules)
    assert stop
    animated = set(re.findall(r"\.(\w+)\{animation:", rules[: stop.start()]))
    assert animated == {"v", "t", "f"} == set(re.findall(r"\.(\w)[,{]", stop[1]))


def test_it_can_end_before_the_end() -> None:
    trace = circuits.staged()
    svg = to_animated_svg(trace, step=4, legend=False)
    assert shapes(at_rest(svg)) == shapes(list(root(to_svg(trace, step=4, legend=False)).iter()))
    assert root(svg).attrib["data-step"] == "4"
    assert root(svg).attrib["data-frames"] == "5"


# ---- which steps -------------------------------------------------------------------------------------------------


def test_the_stops_of_each_granularity_are_those_of_the_stepper() -> None:
    trace = circuits.broadcast()
    kinds = [s.kind for s in trace.steps]
    assert kinds == ["seed", *["pull", "accumulate"] * 3, "unbroadcast", "accumulate", "leaf", "leaf"]
    assert stops(trace, "micro") == list(range(11))
    assert stops(trace, "share") == [0, 2, 4, 6, 8, 9, 10]
    assert stops(trace, "node") == [0, 2, 4, 8, 10]
    assert root(to_animated_svg(trace, steps="node")).attrib["data-frames"] == "5"


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ("nodes", "'micro', 'share', 'node'"),
        ([], "empty"),
        ([0, 99], "steps 0 to 10, not 99"),
        ([-1], "not -1"),
        ([1.5], "got 1.5"),
        ([True], "got True"),
        (3, "step= draws a single one"),
    ],
)
def test_wrong_steps_say_what_there_is(steps: object, message: str) -> None:
    with pytest.raises(OptionError, match=re.escape(message)):
        to_animated_svg(circuits.broadcast(), steps=steps)  # type: ignore[arg-type]


@pytest.mark.parametrize("seconds", [0, -1, 61, "fast", True, float("nan")])
def test_a_pace_that_is_none_is_refused(seconds: object) -> None:
    with pytest.raises(ValueError, match=r"from 0\.05 to 60"):
        to_animated_svg(circuits.squared(), seconds_per_step=seconds)  # type: ignore[arg-type]


def test_a_trace_without_steps_cannot_be_played() -> None:
    with pytest.raises(ValueError, match="backward has not been called"):
        to_animated_svg(circuits.broadcast(forward_only=True))


# ---- size --------------------------------------------------------------------------------------------------------


def forked(leaves: int) -> Trace:
    """``leaves`` leaves of 24 entries, each added up three times over: nothing folds, and every leaf has three running sums."""
    t = circuits.Tape()
    total = t.leaf([[0.123] * 8] * 3, "a0")
    for i in range(1, leaves):
        x = t.leaf([[float(i) + 0.111] * 8] * 3, f"a{i}")
        total = t.add(t.mul(t.add(x, x), x), total)
    t.sum(total, "s")
    return t.record()


def test_two_hundred_nodes_stay_below_a_megabyte() -> None:
    trace = forked(51)
    assert len(trace.nodes) > 200
    svg = to_animated_svg(trace, max_nodes=250)
    assert 300_000 < len(svg.encode()) < MOST_BYTES
    assert any(re.fullmatch(r"… \d+ more nodes not drawn", word) for word in words(at_rest(svg)))


def test_a_long_pass_is_played_in_fewer_steps_and_says_so() -> None:
    t = circuits.Tape()
    x = y = t.leaf(1.0, "x")
    for _ in range(60):
        y = t.add(t.mul(y, x), y)  # y forks every time, so nothing folds
    svg = to_animated_svg(t.record(), max_nodes=150)
    assert len(svg.encode()) < MOST_BYTES
    frames = int(root(svg).attrib["data-frames"])
    assert 100 < frames <= MOST_FRAMES
    assert f"… {frames} of 362 steps: one for each node" in words(at_rest(svg))


def test_steps_of_what_is_not_drawn_are_left_out() -> None:
    trace = circuits.chain(300)
    svg = to_animated_svg(trace)
    # The folded middle is one item: one frame, however many rules run in it.
    assert int(root(svg).attrib["data-frames"]) < 40


# ---- the file ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("palette", PALETTES)
@pytest.mark.parametrize("direction", ["LR", "TB"])
def test_it_is_one_self_contained_file(palette: str, direction: str) -> None:
    svg = to_animated_svg(circuits.routed(), palette=palette, direction=direction)
    tags = {e.tag.removeprefix(SVG) for e in root(svg).iter()}
    assert tags <= {"svg", "title", "style", "g", "rect", "path", "text", "tspan"}
    assert not re.search(r"var\(|color-mix|url\(|@import|href|<script|\bid=|on\w+=\"", svg)
    assert not re.findall(r"@(?!keyframes tv|media print)\w+", style(svg))
    assert svg.count("http") == 1  # the name space


def test_names_in_the_style_are_those_of_one_picture() -> None:
    one, two = to_animated_svg(circuits.squared()), to_animated_svg(circuits.staged())
    names = [set(re.findall(r"@keyframes (\w+)", style(svg))) for svg in (one, two)]
    assert names[0] and names[1] and not names[0] & names[1]
    for svg in (one, two):
        scope = root(svg).attrib["class"].split()[1]
        rules = re.sub(r"@keyframes \w+\{(?:[^{}]*\{[^{}]*\})*\}|@media[^{]*\{|\}$", "", style(svg))
        assert all(part.startswith(f".{scope} .") for selector in re.findall(r"([^{}]+)\{", rules) for part in selector.split(","))


def test_the_same_trace_gives_the_same_bytes() -> None:
    assert to_animated_svg(circuits.staged()) == to_animated_svg(circuits.staged())


def test_in_a_wide_picture_title_sentence_and_legend_grow_together() -> None:
    svg = to_animated_svg(circuits.chain(12), title="A chain")
    wide = float(root(svg).attrib["width"])
    sizes = {"".join(e.itertext()): float(e.attrib["font-size"]) for e in root(svg).iter() if "font-size" in e.attrib}
    (zoom,) = re.findall(r"scale\(([\d.]+)\)", svg)
    assert wide > 1200
    assert float(zoom) == pytest.approx(min(2.5, wide / 1100), rel=1e-3)
    assert sizes["A chain"] == pytest.approx(16 * float(zoom), abs=0.1)
    assert max(size for words, size in sizes.items() if words.startswith("Step ")) == pytest.approx(16 * float(zoom), abs=0.1)
    assert "scale(" not in to_animated_svg(circuits.broadcast(), title="Small")


def test_hostile_names_are_words_in_every_caption() -> None:
    name = "</text></style><script>alert(1)</script>"
    svg = to_animated_svg(circuits.squared(name=name))
    assert not [e for e in root(svg).iter() if e.tag.endswith("script")]
    assert "<script" not in svg


def test_trace_and_drawing_have_the_door(tmp_path) -> None:
    trace = circuits.squared()
    assert trace.to_animated_svg(tmp_path / "π.svg") == (tmp_path / "π.svg").read_text(encoding="utf-8") == to_animated_svg(trace)
    assert draw(trace, palette="dark").to_animated_svg() == to_animated_svg(trace, palette="dark")
    with pytest.raises(TypeError, match="to_animated_svg has no option 'fps'"):
        trace.to_animated_svg(fps=3)


def test_a_group_is_taken_apart_without_losing_its_place() -> None:
    inner = '<rect x="1" y="2" width="3" height="4"/>'
    assert split(f'<g transform="translate(1,2)"><g class="a">{inner}</g></g>{inner}') == [f'<g transform="translate(1,2)">{inner}</g>', inner]
