"""DOT, summaries, formulas, drawings and what a Trace shows in a cell."""

from __future__ import annotations

import base64
import gzip
import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import tensorviz as tv
from tensorviz import display
from tensorviz.errors import MissingExtraError
from tensorviz.views.dot import source, to_dot
from tensorviz.views.formulas import formula
from tensorviz.views.layout.graphviz import _embedded
from tensorviz.views.summary import summary
from tensorviz.widgets.drawing import draw
from views import circuits
from views.test_svg import NAMES


def parsed(dot: str) -> dict[str, list[dict[str, str]]]:
    """What Graphviz itself understands of a text."""
    graph: dict[str, list[dict[str, str]]] = json.loads(_embedded().render(dot, 20))
    return graph


# ---- DOT ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("packaged", [True, False])
@pytest.mark.parametrize("kind", NAMES)
def test_graphviz_reads_a_hostile_name_as_one_node_with_that_label(kind: str, packaged: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not packaged:
        monkeypatch.setitem(sys.modules, "graphviz", None)
    graph = parsed(to_dot(circuits.squared(3.0, NAMES[kind])))
    assert [o["name"] for o in graph["objects"]] == ["n0", "n1"]
    escaped = NAMES[kind].replace("\\", "\\\\")
    assert graph["objects"][0]["label"].split("\\n")[0] == escaped or graph["objects"][0]["label"].startswith(escaped + "\\n")
    assert len(graph["edges"]) == 2


@pytest.mark.parametrize("name", ["a\x00b", "a\x1b[31mb", "a\ud800b", "tab\there", "line\nbreak"])
def test_graphviz_reads_names_with_control_characters(name: str) -> None:
    assert len(parsed(to_dot(circuits.squared(3.0, name)))["objects"]) == 2


def test_there_is_one_dot_edge_per_use_and_none_is_folded() -> None:
    trace = circuits.chain(300)
    text = to_dot(trace)
    assert text.count("->") == sum(len(n.inputs) for n in trace.nodes)
    assert len(parsed(to_dot(circuits.staged()))["objects"]) == 11


def test_dot_shows_values_gradients_and_axes_of_the_step() -> None:
    whole, early = to_dot(circuits.broadcast()), to_dot(circuits.broadcast(), step=0)
    assert "Σ axis 0" in whole
    assert "∂ [10.4, 14.8, 19.2]" in whole
    assert "10.4" not in early


def test_dot_is_written_as_utf8_and_is_the_same_each_time(tmp_path: Path) -> None:
    text = to_dot(circuits.staged(), tmp_path / "g.dot")
    assert (tmp_path / "g.dot").read_bytes() == text.encode()
    assert text == to_dot(circuits.staged())


def test_a_source_object_is_there_for_people_who_have_dot() -> None:
    assert source(circuits.squared()).source.strip() == to_dot(circuits.squared()).strip()


def test_a_wrong_dot_option_lists_what_there_is() -> None:
    with pytest.raises(TypeError, match="no option 'engine'; it has step, palette, direction, title"):
        to_dot(circuits.squared(), engine="neato")


# ---- summary -----------------------------------------------------------------------------------------------------


def test_the_summary_of_a_square_is_this() -> None:
    assert summary(circuits.squared()) == (
        "Backward pass of line 2: 2 nodes, 5 steps, 1 fork\n"
        "\n"
        "Forward\n"
        "  0  x: leaf, () float64 = 3\n"
        "  1  -: mul(0 x, 0 x), () float64 = 9\n"
        "\n"
        "Backward\n"
        "  0  seed 1 (mul); ∂ = 1\n"
        "  1  pull 1 (mul): mul swaps\n"
        "  2  accumulate 0 x from 1 (mul) slot 0, share 1 of 2; share = 3; running sum = 3\n"
        "  3  accumulate 0 x from 1 (mul) slot 1, share 2 of 2; share = 3; running sum = 6\n"
        "  4  leaf 0 x; .grad = 6\n"
    )


def test_the_summary_gives_shapes_and_summed_axes_and_routes() -> None:
    assert "unbroadcast 1 b from 2 (add) slot 1: summed over axis 0, (2, 3) becomes (3,); share = [10.4, 14.8, 19.2]" in summary(circuits.broadcast())
    assert "accumulate 0 A from 2 m slot 0, share 1 of 1, 4 of 12 · 1 tie" in summary(circuits.routed())


def test_the_summary_without_values_is_the_same_for_other_numbers() -> None:
    assert summary(circuits.squared(3.0), values=False) == summary(circuits.squared(4.0), values=False)


def test_a_summary_names_control_characters_and_stays_one_line_per_fact() -> None:
    text = summary(circuits.squared(3.0, "line\nbreak"))
    assert "0 line␊break" in text
    assert text.count("\n") == summary(circuits.squared()).count("\n")


def test_a_summary_before_backward_says_so() -> None:
    assert summary(circuits.broadcast(forward_only=True)).endswith("Backward: not yet called\n")


# ---- formulas ----------------------------------------------------------------------------------------------------


def test_a_rule_is_written_in_the_users_names_and_with_numbers() -> None:
    trace = circuits.staged()
    share = next(s for s in trace.node("sigx").shares)
    assert formula(trace, share).names == "∂den"
    assert formula(trace, share).numbers == ""
    into_x = next(s for s in trace.node("x").shares if trace.nodes[s.consumer].name == "sigx")
    assert formula(trace, into_x).left == "∂x"
    assert formula(trace, into_x).sign == "←"
    assert formula(trace, into_x).names == "sigx · (1 − sigx) · ∂sigx"
    assert formula(trace, into_x).numbers == "∂x ← 0.9526 · (1 − 0.9526) · (−0.7916) = −0.03576"


def test_an_unbroadcast_writes_out_the_sum_of_the_first_entry() -> None:
    trace = circuits.broadcast()
    found = formula(trace, trace.node("b").shares[0])
    assert found.summed == "Σ axis 0"
    assert found.numbers == "∂b[0] = 2.2 + 8.2 = 10.4"
    assert found.sign == "="


def test_one_entry_of_an_array_stands_for_the_others() -> None:
    trace = circuits.broadcast()
    found = formula(trace, trace.nodes[2].shares[0])
    assert found.numbers.endswith("[1, 2] = 2 · 6.3 · 1 = 12.6")  # the largest of the six


# ---- drawings ----------------------------------------------------------------------------------------------------


def test_a_drawing_shows_itself_as_svg_as_html_and_as_one_line_of_text() -> None:
    drawing = draw(circuits.staged(), palette="dark")
    shown = drawing._repr_mimebundle_()
    assert set(shown) == {"text/html", "image/svg+xml", "text/plain"}
    assert shown["image/svg+xml"] == drawing.to_svg() == drawing._repr_svg_()
    assert "#15181c" in shown["image/svg+xml"]
    assert len(repr(drawing)) < 200
    assert drawing.to_dot().startswith("digraph")
    assert "seed" in drawing.summary()


def test_as_html_a_drawing_is_its_light_and_its_dark_picture_unless_a_palette_was_chosen() -> None:
    trace = circuits.staged()
    shown = draw(trace)._repr_mimebundle_()["text/html"]
    light, dark = (re.findall(f'{where}="([^"]*)"', shown)[0] for where in ("src", "data-tensorviz-dark"))
    assert base64.b64decode(light.removeprefix("data:image/svg+xml;base64,")).decode() == trace.to_svg()
    assert gzip.decompress(base64.b64decode(dark)).decode() == trace.to_svg(palette="dark")
    chosen = draw(trace, palette="cs231n")._repr_mimebundle_()["text/html"]
    assert "<script" not in chosen
    assert "data-tensorviz-dark" not in chosen


def test_a_drawing_without_steps_has_no_page_to_step_through() -> None:
    with pytest.raises(ValueError, match="backward has not been called"):
        draw(circuits.broadcast(forward_only=True)).to_html()


def test_a_drawing_refuses_an_option_that_does_not_exist() -> None:
    with pytest.raises(TypeError, match="no option 'color'"):
        draw(circuits.staged(), color="red")


def test_png_and_pdf_come_from_the_extra(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    drawing = draw(circuits.staged())
    assert drawing.to_png(tmp_path / "a.png").startswith(b"\x89PNG")
    assert (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"
    assert drawing.to_pdf(step=3).startswith(b"%PDF")
    small, large = drawing.to_png(scale=1), drawing.to_png(scale=2)
    assert int.from_bytes(large[16:20]) == pytest.approx(2 * int.from_bytes(small[16:20]), abs=2)


def test_a_png_is_as_wide_as_the_slide_that_it_is_for() -> None:
    pytest.importorskip("vl_convert")
    assert int.from_bytes(circuits.staged().to_png(width=1280)[16:20]) == pytest.approx(1280, abs=1)
    with pytest.raises(tv.errors.OptionError, match=re.escape("to_png: width must be a whole number of at least 1, got 0")):
        circuits.staged().to_png(width=0)


def test_without_the_extra_the_error_gives_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(MissingExtraError, match=re.escape("pip install 'tensorviz-backward[image]'")):
        draw(circuits.staged()).to_png()


# ---- what a Trace shows ------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def default_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(display, "_mode", "stepper")


def test_outside_a_kernel_a_trace_shows_its_still_picture() -> None:
    assert set(display.bundle(circuits.broadcast())) == {"text/html", "image/svg+xml", "text/plain"}


def test_in_a_kernel_without_the_widget_packages_it_does_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=object())))
    monkeypatch.setitem(sys.modules, "tensorviz.widgets.output", None)
    monkeypatch.delattr("tensorviz.widgets.output", raising=False)  # where another test has imported it, the package still knows it
    assert display.in_kernel()
    assert set(display.bundle(circuits.broadcast())) == {"text/html", "image/svg+xml", "text/plain"}


@pytest.mark.parametrize(
    ("mode", "kinds"), [("svg", {"text/html", "image/svg+xml", "text/plain"}), ("text", {"text/plain"}), ("none", {"text/plain"})]
)
def test_the_mode_decides_what_is_shown(mode: display.Mode, kinds: set[str]) -> None:
    display.set_display(mode)
    assert display.display_mode() == mode
    shown = display.bundle(circuits.broadcast())
    assert set(shown) == kinds
    assert ("seed" in shown["text/plain"]) == (mode == "text")


def test_a_front_end_that_asks_for_an_object_gets_one_that_shows_itself() -> None:
    trace = circuits.broadcast()
    assert type(trace._display_()).__name__ == "Stepper"
    display.set_display("svg")
    assert trace._display_()._repr_svg_() == trace.to_svg()
    display.set_display("text")
    assert trace._display_() == trace.summary()
    display.set_display("none")
    assert trace._display_() == repr(trace)


def test_a_mode_that_is_not_there_lists_those_that_are() -> None:
    with pytest.raises(ValueError, match="'stepper', 'svg', 'text', 'none', got 'movie'"):
        display.set_display("movie")  # type: ignore[arg-type]


def test_numbers_of_any_dtype_are_printed_without_their_type() -> None:
    for dtype in (np.float32, np.float64, np.int64):
        t = circuits.Tape()
        t.mul(t.leaf(3.0, "x"), t.constant(np.array(2, dtype)))
        assert "np." not in summary(t.record())


def long_chain(count: int) -> tv.Trace:
    a, b = tv.tensor(0.5, requires_grad=True), tv.tensor(2 / count, requires_grad=True)
    for _ in range(count // 2):
        a = a * b + a
    return a.backward()


def test_of_a_very_long_pass_the_summary_tells_both_ends_and_what_stands_between() -> None:
    trace = long_chain(60)
    whole = summary(trace, most=None).splitlines()
    assert whole == summary(trace).splitlines()
    short = summary(trace, most=11).splitlines()
    between = [line.strip() for line in short if "…" in line]
    assert between == [f"… {len(trace.nodes) - 11} more nodes", f"… {len(trace) - 11} more steps"]
    assert len(short) == len(whole) - (len(trace.nodes) - 11) - (len(trace) - 11) + 2
    assert [line for line in short if "…" not in line] == [line for line in whole if line in short]
    with pytest.raises(tv.errors.OptionError, match="summary: most must be"):
        summary(trace, most=1)


def test_of_a_very_large_graph_dot_has_the_neighbourhood_of_the_step_and_says_what_is_left_out() -> None:
    trace = long_chain(60)
    graph = parsed(to_dot(trace, max_nodes=12))
    names = {box["name"] for box in graph["objects"]}
    assert len(names) == 13
    assert f"n{trace.roots[0]}" in names
    assert "more" in names
    assert f"… {len(trace.nodes) - 12} more nodes not drawn" in to_dot(trace, max_nodes=12)
    middle = next(k for k, step in enumerate(trace.data.steps) if step.node == 30)
    assert "n30 [" in to_dot(trace, step=middle, max_nodes=12)
    assert "more" not in to_dot(trace, max_nodes=100)


@pytest.mark.slow
def test_text_of_a_hundred_thousand_nodes_is_bounded() -> None:
    trace = long_chain(100_000)
    assert len(trace.summary()) < 3_000_000
    assert len(trace.to_dot()) < 2_500_000


# ---- what an export shows of itself --------------------------------------------------------------------------------


def displayed(value: object) -> dict[str, object]:
    """What IPython makes of the last value of a cell."""
    formatter = pytest.importorskip("IPython.core.formatters").DisplayFormatter()
    found: dict[str, object] = formatter.format(value)[0]
    return found


@pytest.mark.parametrize("name", ["to_svg", "to_animated_svg"])
def test_a_saved_picture_shows_itself_as_the_last_value_of_a_cell(name: str, tmp_path: Path) -> None:
    path = tmp_path / "pass.svg"
    given = getattr(circuits.broadcast(), name)(path)
    assert isinstance(given, str)
    assert path.read_text("utf-8") == given
    assert displayed(given) == {"image/svg+xml": given, "text/plain": f"<SVG picture of {len(given):,} characters, written to {path}>"}


def test_a_page_says_in_a_line_what_it_is_and_where(tmp_path: Path) -> None:
    trace, path = circuits.broadcast(), tmp_path / "pass.html"
    for save in (trace.to_html, trace.beside(trace).to_html):
        page = save(path)
        assert page == path.read_text("utf-8")
        assert displayed(page) == {"text/plain": f"<HTML page of {len(page):,} characters, written to {path}>"}


def test_dot_text_says_in_a_line_what_it_is() -> None:
    text = circuits.broadcast().to_dot()
    assert displayed(text) == {"text/plain": f"<DOT text of {len(text):,} characters>"}
    assert repr(text[:7]) == "'digraph'"  # a part of it is an ordinary string


def test_an_image_shows_itself_and_a_pdf_says_what_it_is(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    trace, path = circuits.broadcast(), tmp_path / "pass.png"
    image, document = trace.to_png(path), trace.to_pdf()
    assert image == path.read_bytes()
    assert displayed(image)["text/plain"] == f"<PNG image of {len(image):,} bytes, written to {path}>"
    assert displayed(image)["image/png"]
    assert displayed(document) == {"text/plain": f"<PDF document of {len(document):,} bytes>"}


def test_a_summary_shows_its_lines() -> None:
    told = circuits.broadcast().summary()
    assert displayed(told) == {"text/plain": told.rstrip("\n")}
