"""Stills and the skeleton: what stands in them, that nothing hostile gets in, and that the same trace gives the same bytes."""

from __future__ import annotations

import itertools
import re
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.trace import Trace
from tensorviz.views.legend import BADGES, SIGNS
from tensorviz.views.palette import PALETTES
from tensorviz.views.svg import skeleton, to_svg
from tensorviz.views.text import letters, width
from views import circuits

NAMES = {
    "markup": "<lambda> <map>",
    "backslashes": "C:\\new\\Graph\\N\\last",
    "braces": "{a|b}",
    "einsum": "ij,jk->ik",
    "unicode": "∂L/∂W₁ 权重 ♂",
    "colons": "layer::v:0",
    "quotes": 'x"]; evil [label="pwned',
    "script": "</text><script>alert(1)</script>",
    "entity": "&amp;&lt;",
    "spaces": "two  spaces",
    "forty": "a_name_of_forty_characters_is_shown_whole",
}


def root(svg: str) -> ET.Element:
    return ET.fromstring(svg.encode())


def tags(svg: str) -> set[str]:
    return {e.tag.rpartition("}")[2] for e in root(svg).iter()}


def texts(svg: str) -> list[str]:
    return ["".join(e.itertext()) for e in root(svg).iter() if e.tag.endswith("}text")]


def by(svg: str, attribute: str) -> dict[str, ET.Element]:
    return {e.attrib[attribute]: e for e in root(svg).iter() if attribute in e.attrib}


# ---- what stands in a still --------------------------------------------------------------------------------------


def test_values_stand_above_and_gradients_below_each_wire() -> None:
    svg = to_svg(circuits.staged())
    centre = {key: float(e.attrib["transform"].split(",")[1][:-1]) for key, e in by(svg, "data-node").items()}
    for node, e in by(svg, "data-value").items():
        assert all(float(t.attrib["y"]) < centre[node] for t in e.iter() if t.tag.endswith("}text"))
    for node, e in by(svg, "data-total").items():
        assert all(float(t.attrib["y"]) > centre[node] for t in e.iter() if t.tag.endswith("}text"))
    assert "∂ 2.06" in texts(svg)
    assert "1.546" in texts(svg)


def test_every_node_and_every_use_is_an_element() -> None:
    trace = circuits.staged()
    svg = to_svg(trace)
    assert set(by(svg, "data-node")) == {str(n.id) for n in trace.nodes}
    assert set(by(svg, "data-edge")) == {f"{n.id}:{slot}" for n in trace.nodes for slot in range(len(n.inputs))}
    assert root(svg).attrib["data-step"] == str(len(trace.steps) - 1)


def test_an_operand_that_is_used_twice_is_drawn_once_with_two_edges_and_two_shares() -> None:
    svg = to_svg(circuits.squared())
    assert sum(t == "x" for t in texts(svg)) == 1
    assert set(by(svg, "data-edge")) == {"1:0", "1:1"}
    assert texts(svg).count("∂ 3") == 2
    assert "∂ 6" in texts(svg)
    assert "Σ 2/2" in texts(svg)


def test_the_unbroadcast_edge_says_which_axes_are_summed() -> None:
    svg = to_svg(circuits.broadcast())
    badge = next(e for e in root(svg).iter() if e.attrib.get("data-badge") == "unbroadcast")
    assert "".join(badge.itertext()) == "Σ axis 0"
    assert badge.attrib["data-on"] == "2:1"


def test_the_routing_edge_says_winners_of_total_and_ties() -> None:
    assert "4 of 12 · 1 tie" in texts(to_svg(circuits.routed()))


def test_small_arrays_are_tables_and_large_ones_give_shape_and_norm() -> None:
    small, large = texts(to_svg(circuits.broadcast())), texts(to_svg(circuits.layers(1)))
    assert {"16.81", "10.89", "12.6"} <= set(small)
    assert "(64, 64)" in large
    assert any(t.startswith("‖∂‖ ") for t in large)
    assert len(large) < 60


def test_empty_and_huge_leaves_show_their_shape_and_stay_small() -> None:
    t = circuits.Tape()
    e, h = t.leaf(np.zeros((0, 3)), "e"), t.leaf(np.zeros(1_000_000), "h")
    t.add(t.sum(e), t.sum(h))
    svg = to_svg(t.record())
    assert {"(0, 3)", "(1000000,)"} <= set(texts(svg))
    assert len(svg) < 20_000


def test_nan_and_infinities_are_words_in_tables_numbers_and_statistics() -> None:
    t = circuits.Tape()
    big = np.ones(100)
    big[:2] = np.nan
    parts = [t.sum(t.leaf(v)) for v in ([np.nan, np.inf, -np.inf], big)]
    t.add(*parts)
    found = texts(to_svg(t.record()))
    assert {"NaN", "+∞", "−∞"} <= set(found)
    assert any("2 NaN" in text for text in found)


def test_truth_values_are_letters_on_grey_and_no_numbers_of_the_scale() -> None:
    x = tv.tensor([3.0, -1.0], requires_grad=True, name="x")
    trace = np.where(x > 0, x, -x).sum().backward()
    svg = to_svg(trace)
    assert re.findall(r">([TF])</text>", svg) == ["T", "F"]
    grey = PALETTES["light"]["hair"]
    assert len(re.findall(f'<rect [^>]*fill="{grey}"', svg)) == 1
    assert skeleton(trace).count('class="tv-cell tv-true"') == 1
    assert ">True<" in to_svg(np.where(x.sum() > 0, x, -x).sum().backward())


def test_kinds_of_nodes_differ_in_shape_and_in_class() -> None:
    t = circuits.Tape()
    x, w = t.leaf(2.0, "x"), t.leaf(3.0, "w", "parameter")
    t.add(t.mul(x, w), t.mul(t.detached(x, "d"), t.constant(2.0)))
    svg = to_svg(t.record())
    found = {re.search(r"tv-kind-(\w+)", e.attrib["class"])[1] for e in by(svg, "data-node").values()}  # type: ignore[index]
    assert found == {"leaf", "parameter", "op", "detached", "constant"}
    assert "tv-root" in by(svg, "data-node")["6"].attrib["class"]


def test_a_detached_value_hangs_on_a_cut_wire_that_is_no_use() -> None:
    svg = to_svg(circuits.cut())
    assert by(svg, "data-cut")["1"].attrib["data-state"] == "detached"
    assert set(by(svg, "data-edge")) == {"2:0", "2:1"}


def test_saved_values_are_marked_and_the_legend_says_so() -> None:
    assert any("saved for backward" in t for t in texts(to_svg(circuits.staged())))
    t = circuits.Tape()
    t.add(t.leaf(1.0, "x"), t.leaf(2.0, "y"))
    assert not any("saved" in text for text in texts(to_svg(t.record())))


def test_without_steps_the_gradients_are_marked_as_not_yet_computed() -> None:
    svg = to_svg(circuits.broadcast(forward_only=True))
    assert any("not yet computed" in t for t in texts(svg))
    assert texts(svg).count("∂ ?") == 5
    assert "data-total" not in svg


def test_a_leaf_that_got_no_gradient_says_so() -> None:
    t = circuits.Tape()
    x = t.leaf(2.0, "x")
    t.leaf(1.0, "unused")
    t.square(x)
    trace = t.record()
    assert "no ∂" in texts(to_svg(trace))


# ---- steps -------------------------------------------------------------------------------------------------------


def test_step_k_draws_the_state_after_step_k_with_one_active_node_and_edge() -> None:
    svg = to_svg(circuits.broadcast(), step=7)
    active = [e.attrib for e in root(svg).iter() if "data-active" in e.attrib]
    assert [a.get("data-node") or a.get("data-edge") for a in active] == ["2:1", "1"]
    assert root(svg).attrib["data-step"] == "7"
    assert set(by(svg, "data-total")) == {"0", "2", "3", "4"}
    badge = next(e for e in root(svg).iter() if e.attrib.get("data-badge") == "unbroadcast")
    assert "data-now" in badge.attrib


def test_the_fork_badge_counts_the_shares_that_are_in() -> None:
    trace = circuits.staged()
    assert "Σ 0/3" in texts(to_svg(trace, step=0))
    assert "Σ 1/3" in texts(to_svg(trace, step=14))
    assert "∂ 1.583" in texts(to_svg(trace, step=14))


@pytest.mark.parametrize("direction", ["LR", "TB"])
@pytest.mark.parametrize("make", [circuits.broadcast, circuits.staged, circuits.routed])
def test_no_head_of_a_forward_wire_is_under_the_halo_of_the_active_node(make: object, direction: str) -> None:
    trace: Trace = make()  # type: ignore[operator]
    wire, now = PALETTES["light"]["wire"], PALETTES["light"]["now"]
    seen = 0
    for k in range(len(trace.steps)):
        drawn = root(to_svg(trace, step=k, direction=direction, legend=False))
        (active,) = (e for e in drawn.iter() if "data-node" in e.attrib and "data-active" in e.attrib)
        halo = next(e for e in active if e.attrib.get("fill") == now)
        x, y, w, h, r = (float(halo.attrib[name]) for name in ("x", "y", "width", "height", "rx"))
        at = [float(v) for v in re.findall(r"-?[\d.]+", active.attrib["transform"])]
        for head in (e for e in drawn.iter() if e.attrib.get("fill") == wire):
            tip = [float(v) for v in re.findall(r"-?[\d.]+", head.attrib["d"])[:2]]
            dx, dy = abs(tip[0] - at[0] - x - w / 2) - (w / 2 - r), abs(tip[1] - at[1] - y - h / 2) - (h / 2 - r)
            inside = (dx <= 0 and dy <= r) or (dy <= 0 and dx <= r) or dx * dx + dy * dy < (r - 0.2) ** 2
            assert not (max(dx, dy) < r - 0.2 and inside), f"step {k}"
            seen += 1
    assert seen


def test_the_shape_above_a_table_stays_over_it_and_off_the_wire_beside_it() -> None:
    x = tv.tensor(np.ones((1, 2, 1, 2, 2)), requires_grad=True, name="x")
    svg = to_svg((x * 2.0).sum().backward(), direction="TB")
    value = by(svg, "data-value")["0"]
    shape = next(e for e in value.iter() if "".join(e.itertext()) == "(1, 2, 1, 2, 2)")
    frame = next(e for e in value.iter() if e.attrib.get("fill") == "none")
    assert width("(1, 2, 1, 2, 2)", float(shape.attrib["font-size"])) <= float(frame.attrib["width"])


@pytest.mark.parametrize("make", [circuits.broadcast, circuits.staged, circuits.routed])
def test_the_layout_never_moves_between_steps(make: object) -> None:
    trace: Trace = make()  # type: ignore[operator]
    places = set()
    for k in (None, *range(len(trace.steps))):
        svg = to_svg(trace, step=k)
        places.add((root(svg).attrib["viewBox"], tuple(e.attrib["transform"] for e in by(svg, "data-node").values())))
    assert len(places) == 1


# ---- plain, safe, the same ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("palette", PALETTES)
@pytest.mark.parametrize("direction", ["LR", "TB"])
def test_a_still_is_plain_svg_with_a_size(palette: str, direction: str) -> None:
    svg = to_svg(circuits.routed(), palette=palette, direction=direction, step=5)
    assert tags(svg) <= {"svg", "title", "rect", "g", "path", "text", "tspan"}
    assert not re.search(r"var\(|color-mix|style=|url\(|href|\sid=", svg)
    assert {"width", "height", "viewBox"} <= set(root(svg).attrib)


def test_everything_lies_inside_the_view_box() -> None:
    for make, direction in itertools.product((circuits.broadcast, circuits.staged, circuits.routed, circuits.cut), ("LR", "TB")):
        svg = to_svg(make(), direction=direction)
        _, _, width, height = map(float, root(svg).attrib["viewBox"].split())
        for e in root(svg).iter():
            if e.tag.endswith("}rect") and "transform" not in e.attrib:
                pass
            if e.tag.endswith("}text") and "x" in e.attrib and e.attrib.get("font-size") == "14":
                assert -width <= float(e.attrib["x"]) <= width
                assert -height <= float(e.attrib["y"]) <= height


@pytest.mark.parametrize("kind", NAMES)
def test_a_hostile_name_is_shown_as_it_is_in_one_text(kind: str) -> None:
    name = NAMES[kind]
    for svg in (to_svg(circuits.squared([1.0, 2.0], name)), skeleton(circuits.squared([1.0, 2.0], name))):
        assert name in texts(svg)
        assert not tags(svg) & {"script", "img", "iframe", "foreignObject", "style"}


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a\x00b", "a␀b"),
        ("a\x1b[31mb", "a␛[31mb"),
        ("a\ud800b", "a\ufffdb"),
        ("tab\there", "tab␉here"),
        ("line\nbreak", "line␊break"),
        ("a\u202eb", "a\ufffdb"),
    ],
)
def test_what_is_no_character_becomes_a_visible_symbol(name: str, shown: str) -> None:
    assert shown in texts(to_svg(circuits.squared([1.0, 2.0], name)))


def test_a_long_name_is_cut_in_the_picture_and_whole_in_the_title() -> None:
    name = "w" * 100
    svg = to_svg(circuits.squared([1.0, 2.0], name))
    assert any(t.startswith("www") and t.endswith("…") for t in texts(svg))
    assert any(name in "".join(e.itertext()) for e in root(svg).iter() if e.tag.endswith("}title"))


def test_the_title_of_a_node_says_where_it_was_made_without_the_folders() -> None:
    title = by(to_svg(circuits.broadcast()), "data-node")["0"][0]
    assert title.text == "leaf X (2, 3) float64\ncircuit.py:1: line 1"
    assert "/home/" not in to_svg(circuits.broadcast())


def test_the_same_trace_gives_the_same_bytes_also_when_recorded_again() -> None:
    assert to_svg(circuits.staged()) == to_svg(circuits.staged())
    assert skeleton(circuits.staged()) == skeleton(circuits.staged())


def test_the_file_is_written_as_utf8_also_where_the_path_is_not_ascii(tmp_path: Path) -> None:
    folder = tmp_path / "é ü" / "граф (1)"
    folder.mkdir(parents=True)
    svg = to_svg(circuits.squared(3.0, "ж"), folder / "out put.svg")
    assert (folder / "out put.svg").read_bytes() == svg.encode()


def test_no_text_is_smaller_than_twelve() -> None:
    for make in (
        circuits.broadcast,
        circuits.staged,
        circuits.routed,
        circuits.cut,
        lambda: circuits.layers(2),
        lambda: circuits.layers(30, 4, scoped=True),
    ):
        sizes = [float(e.attrib["font-size"]) for e in root(to_svg(make())).iter() if "font-size" in e.attrib]
        assert min(sizes) >= 12


def test_a_title_and_a_scale() -> None:
    plain, titled = to_svg(circuits.cut()), to_svg(circuits.cut(), title="<cut> & pasted", scale=2, legend=False)
    assert "<cut> & pasted" in texts(titled)
    assert float(root(titled).attrib["width"]) == pytest.approx(2 * float(root(titled).attrib["viewBox"].split()[2]))
    assert not any("solid forward" in t for t in texts(titled))
    assert any("solid forward" in t for t in texts(plain))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"colour": "red"}, TypeError, "no option 'colour'; it has step, palette, direction"),
        ({"palette": "sepia"}, ValueError, "'light', 'dark', 'colorblind', 'cs231n'"),
        ({"direction": "RL"}, ValueError, "'LR', 'TB'"),
        ({"engine": "neato"}, ValueError, "'auto', 'graphviz', 'layered', 'dot'"),
        ({"step": 99}, ValueError, "0 to 10"),
        ({"scale": 0}, ValueError, "scale must be"),
        ({"max_nodes": 0}, ValueError, "max_nodes must be"),
        ({"title": 3}, TypeError, "title must be"),
    ],
)
def test_a_wrong_option_says_what_there_is(options: dict[str, object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        to_svg(circuits.broadcast(), **options)  # type: ignore[arg-type]


# ---- large graphs ------------------------------------------------------------------------------------------------


def test_a_chain_of_twenty_thousand_nodes_is_small_and_says_what_it_folds() -> None:
    trace = circuits.chain(20_000)
    began = time.process_time()
    svg = to_svg(trace)
    assert time.process_time() - began < 10
    assert len(svg) < 100_000
    assert any(re.fullmatch(r"« [\d,]+ more »", t) for t in texts(svg))
    nodes = by(svg, "data-node")
    assert {"0", "40001"} <= set(nodes)


def test_the_neighbourhood_of_the_step_is_drawn_inside_a_fold() -> None:
    trace = circuits.chain(2_000)
    k = len(trace.steps) // 2
    svg = to_svg(trace, step=k)
    assert str(trace.steps[k].node) in by(svg, "data-node")
    assert sum(bool(re.fullmatch(r"« [\d,]+ more »", t)) for t in texts(svg)) == 2


def test_scopes_collapse_where_nodes_are_many_and_not_where_they_are_few() -> None:
    many, few = to_svg(circuits.layers(40, 4, scoped=True)), to_svg(circuits.layers(3, 4, scoped=True))
    assert set(by(many, "data-group")) == {f"scope:layer{i}" for i in range(40)}
    assert by(few, "data-group") == {}
    assert {"layer0", "5 nodes", "W0", "b0"} <= set(texts(many))


def test_a_number_of_a_formula_is_in_the_scope_that_uses_it_and_what_two_scopes_use_stays_outside() -> None:
    t = circuits.Tape()
    h = t.leaf([1.0, 2.0], "h")
    two = t.constant(2.0)
    for i in range(60):
        t.scope = ""
        half = t.constant(0.5)
        t.scope = f"layer{i}"
        h = t.mul(t.mul(h, half), two)
    t.scope = ""
    t.sum(h, "loss")
    drawn = to_svg(t.record())
    assert {int(i) for i in by(drawn, "data-node")} == {0, two, len(t.nodes) - 1}
    assert set(by(drawn, "data-group")) == {f"scope:layer{i}" for i in range(60)}


def test_a_collapsed_scope_opens_around_the_node_of_the_step() -> None:
    trace = circuits.layers(40, 4, scoped=True)
    k, step = next((k, s) for k, s in enumerate(trace.steps) if s.kind == "accumulate" and trace.nodes[s.node].name == "W20")
    svg = to_svg(trace, step=k)
    assert {str(step.node), str(step.share.consumer)} <= set(by(svg, "data-node"))  # type: ignore[union-attr]
    assert by(svg, "data-edge")[step.share.edge].attrib["data-state"] == "active"  # type: ignore[union-attr]


@pytest.mark.parametrize("direction", ["LR", "TB"])
def test_a_stack_of_thousands_has_few_wires_from_what_is_not_drawn_and_counts_the_rest(direction: str) -> None:
    trace = tv.stack([tv.tensor(float(i), requires_grad=True) for i in range(3_000)]).sum().backward()
    svg = to_svg(trace, direction=direction)
    assert svg.count("tv-stub") == 6
    assert any(re.fullmatch("… 2,9.. more", t) for t in texts(svg))
    assert len(svg) < 100_000


def test_the_op_that_sends_is_drawn_beside_a_parameter_that_is_used_all_over() -> None:
    w = tv.tensor(0.5, requires_grad=True, name="w")
    parts = [np.tanh(w * float(i)) for i in range(300)]
    trace = tv.stack(parts).sum().backward()
    step = [k for k, s in enumerate(trace.steps) if s.kind == "accumulate" and s.node == trace.node(w).id][150]
    share = trace.steps[step].share
    assert share is not None
    for svg in (to_svg(trace, step=step), to_svg(trace, steps=[step])):
        assert re.search(f'data-edge="{share.edge}" data-state="active"', svg)
    assert f"n{share.target} -> n{share.consumer}" in trace.to_dot(step=step)


def test_a_parameter_that_is_used_all_over_is_not_drawn_all_alone() -> None:
    h: tv.Tensor = tv.tensor(2.0, requires_grad=True, name="h")
    w = tv.tensor(0.5, requires_grad=True, name="w")
    for _ in range(60):
        h = tv.sin(h * w)
    trace = h.backward()
    assert trace.steps[-1].node == trace.node("w").id
    drawn = by(to_svg(trace, step=len(trace.steps) - 1), "data-node")
    assert len(drawn) == 40
    assert {str(trace.node("w").id), str(trace.roots[0])} <= set(drawn)


def test_what_is_neither_scope_nor_chain_is_cut_to_a_neighbourhood_and_the_rest_is_counted() -> None:
    t = circuits.Tape()
    a, b = t.leaf(1.0, "a"), t.leaf(0.5, "b")
    for _ in range(200):
        a = t.add(t.mul(a, b), a)
    svg = to_svg(t.record())
    drawn = len(by(svg, "data-node"))
    assert drawn == 40
    assert f"… {402 - drawn} more nodes not drawn" in texts(svg)
    assert "…" in texts(svg)


def test_the_legend_says_what_each_kind_of_badge_means_and_counts_for_none_of_the_graph() -> None:
    x = tv.tensor([[1.0, 4.0], [3.0, 2.0]], requires_grad=True, name="x")
    b = tv.tensor([1.0, 2.0], requires_grad=True, name="b")
    h = x + b
    trace = (h.max(axis=1) + h.sum(axis=1)).sum().backward()
    words = {"shares that arrived, which add up", "elements that were chosen get the gradient", "summed where forward copied"}
    for shown in (to_svg(trace), to_svg(trace, steps=[0, 3]), trace.to_animated_svg()):
        assert words <= set(texts(shown))
    assert not words & set(texts(to_svg(trace, legend=False)))
    assert to_svg(trace).count('data-badge="') == to_svg(trace, legend=False).count('data-badge="')
    assert not words & set(texts(to_svg(tv.tensor(2.0, requires_grad=True).exp().backward())))


def test_the_legend_says_what_cuts_bars_and_hatching_mean_where_they_are_seen() -> None:
    x = tv.tensor([1.0, -2.0], requires_grad=True, name="x")
    dead = tv.tensor([-1.0, -3.0], requires_grad=True, name="dead")
    trace = (x * x.detach() + tv.relu(dead)).sum().backward()
    cut, block, zero = (SIGNS[name][1] for name in ("cut", "block", "zero"))
    words = {cut, block, zero}
    for shown in (to_svg(trace), to_svg(trace, direction="TB"), to_svg(trace, steps=[0, 10]), trace.to_animated_svg()):
        assert words <= set(texts(shown))
    assert words & set(texts(to_svg(trace, step=0))) == {cut}
    assert not words & set(texts(to_svg(trace, legend=False)))
    assert not words & set(texts(to_svg(circuits.staged())))
    assert SIGNS["norm"][1] not in texts(to_svg(trace))
    assert SIGNS["norm"][1] in texts(to_svg((tv.tensor(np.ones((8, 8)), requires_grad=True) ** 2).mean().backward()))


def test_the_gaps_between_the_entries_of_a_legend_are_even() -> None:
    fonts = pytest.importorskip("matplotlib.font_manager")
    font = fonts.get_font(fonts.findfont("DejaVu Sans"))  # the broadest of those that the pictures ask for
    font.set_size(100, 72)
    said = [
        *BADGES.values(),
        *(words for _, words in SIGNS.values()),
        "solid forward, dashed backward",
        "saved for backward: left input, right output",
    ]
    for words in said:
        drawn = sum(font.load_char(ord(c)).linearHoriAdvance for c in words) / 65536 / 100
        assert drawn <= letters(words) * 1.02, words
        assert letters(words) < 1.06 * drawn, words


def test_the_legend_of_a_picture_that_runs_down_speaks_of_the_sides_on_which_things_stand_there() -> None:
    assert {"value left of the wire", "saved for backward: top input, bottom output"} <= set(texts(to_svg(circuits.staged(), direction="TB")))
    assert {"value above the wire", "saved for backward: left input, right output"} <= set(texts(to_svg(circuits.staged())))


# ---- the skeleton ------------------------------------------------------------------------------------------------


def test_the_skeleton_has_class_names_instead_of_colours() -> None:
    svg = skeleton(circuits.routed())
    assert not re.search(r"#[0-9a-f]{6}|fill=|stroke=", svg)
    assert root(svg).attrib["class"] == "tv-graph"
    assert [e.attrib["class"] for e in root(svg)] == ["tv-viewport"]


def test_a_letter_that_stands_for_an_op_is_seen_but_is_no_word_of_its_button() -> None:
    drawn = root(skeleton(circuits.staged()))
    button = next(e for e in drawn.iter() if e.get("aria-label") == "sigmoid sigx ()")
    words = [e.text for e in button.iter() if e.tag.endswith("}text") and "id" not in e.attrib]
    assert words == ["sigx"]
    (shown,) = [e for e in button.iter() if e.tag.endswith("}use")]
    assert "tv-label" in (shown.get("class") or "")
    assert next(e for e in button.iter() if "#" + e.get("id", "") == shown.get("href")).text == "σ"
    assert "<use" not in to_svg(circuits.staged())


def test_the_skeleton_holds_every_state_of_every_node_and_edge() -> None:
    trace = circuits.staged()
    svg = skeleton(trace)
    for key, e in by(svg, "data-node").items():
        classes = {c for child in e.iter() for c in child.attrib.get("class", "").split()}
        assert {"tv-shape", "tv-halo", "tv-label"} <= classes
        node = trace.nodes[int(key)]
        assert e.attrib["role"] == "button"
        name = node.name or (f"{node.value:g}" if node.kind == "constant" else "")
        assert e.attrib["aria-label"] == " ".join(word for word in (node.op, name, "()") if word)
    for e in by(svg, "data-edge").values():
        assert {"tv-wire", "tv-back", "tv-band"} <= {child.attrib["class"] for child in e}
    fork = by(svg, "data-fork")["0"]
    assert fork.attrib["data-count"] == "3"
    assert set(by(svg, "data-share")) == {f"{s.consumer}:{s.slot}" for n in trace.forks for s in n.shares}


def test_cells_of_the_skeleton_stand_in_row_major_pairs() -> None:
    total = by(skeleton(circuits.broadcast()), "data-total")["0"]
    assert (total.attrib["data-form"], total.attrib["data-rows"], total.attrib["data-cols"]) == ("cells", "2", "3")
    numbers = [e.text for e in total.iter() if "tv-num" in e.attrib.get("class", "").split()]
    assert numbers == ["2.2", "4.4", "6.6", "8.2", "10.4", "12.6"]
    assert sum("tv-cell" in e.attrib.get("class", "").split() for e in total.iter()) == 6


def test_the_skeleton_gives_the_ends_of_the_heat_scale() -> None:
    attributes = root(skeleton(circuits.broadcast())).attrib
    assert float(attributes["data-vmax"]) == pytest.approx(100.55, abs=0.1)
    assert float(attributes["data-gmax"]) == pytest.approx(19.2)


@pytest.mark.slow
def test_three_hundred_thousand_nodes_are_drawn_told_and_exported_in_time_and_say_what_is_left_out() -> None:
    a, b = tv.tensor(0.3, requires_grad=True, name="a"), tv.tensor(0.999, requires_grad=True, name="b")
    x = a
    for _ in range(150_000):
        x = x * b + a
    trace = x.backward()
    begun = time.perf_counter()
    still, dot, animated, told, page = trace.to_svg(), trace.to_dot(), trace.to_animated_svg(), trace.summary(), trace.to_html()
    took = time.perf_counter() - begun
    for text in (still, dot):
        assert len(text) < 2_000_000
        assert re.search(r"29\d,\d\d\d more nodes not drawn", text)
    assert len(animated) < 1_100_000
    assert "more" in told
    assert len(page) < 12_000_000
    assert took < 120


def test_a_title_of_capitals_has_room():
    wide = re.search(r' width="([\d.]+)"', to_svg(circuits.cut(), title="W" * 120))
    assert wide is not None and float(wide[1]) >= 120 * 16
