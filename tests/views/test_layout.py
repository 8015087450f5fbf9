"""The layouts: boxes never overlap, edges run forward and end where they should, the same input gives the same output."""

from __future__ import annotations

import itertools
import random
import re
import sys
import time

import pytest

from tensorviz.views.layout import Box, Layout, LayoutError, Link, Point, layout
from tensorviz.views.layout.folding import fold
from tensorviz.views.svg import skeleton, to_svg
from views import circuits

ENGINES = ["graphviz", "layered"]


def circuit() -> tuple[list[Box], list[Link]]:
    """Two leaves: x and b into +, x and + into *."""
    boxes = [Box("x", 140, 80), Box("b", 140, 60), Box("+", 180, 120), Box("*", 120, 160)]
    return boxes, [Link("x", "+", -14), Link("b", "+", 14), Link("x", "*", -28), Link("+", "*", 28)]


def random_graph(count: int, seed: int) -> tuple[list[Box], list[Link]]:
    draw = random.Random(seed)
    boxes = [Box(i, draw.randint(30, 300), draw.randint(30, 200)) for i in range(count)]
    links = [Link(draw.randrange(max(0, i - 12), i), i, draw.choice([-14, 0, 14])) for i in range(1, count) for _ in range(draw.randint(1, 2))]
    return boxes, links


def overlaps(boxes: list[Box], placed: Layout) -> list[tuple[object, object]]:
    found = []
    for a, b in itertools.combinations(boxes, 2):
        p, q = placed.positions[a.id], placed.positions[b.id]
        if abs(p.x - q.x) < (a.width + b.width) / 2 - 0.6 and abs(p.y - q.y) < (a.height + b.height) / 2 - 0.6:
            found.append((a.id, b.id))
    return found


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("direction", ["LR", "TB"])
@pytest.mark.parametrize("seed", range(4))
def test_boxes_never_overlap(engine: str, direction: str, seed: int) -> None:
    boxes, links = random_graph(40, seed)
    placed = layout(boxes, links, engine=engine, direction=direction)
    assert overlaps(boxes, placed) == []


def edges_end_where_they_should(boxes: list[Box], links: list[Link], placed: Layout) -> None:
    """In the middle of the tail's right side, and at the port on the head's left side."""
    size = {box.id: box for box in boxes}
    for link, curve in zip(links, placed.splines, strict=True):
        tail, head = placed.positions[link.tail], placed.positions[link.head]
        assert len(curve) % 3 == 1
        assert curve[0] == pytest.approx((tail.x + size[link.tail].width / 2, tail.y), abs=0.6)
        assert curve[-1] == pytest.approx((head.x - size[link.head].width / 2, head.y + link.port), abs=0.6)


@pytest.mark.parametrize("engine", ENGINES)
def test_an_edge_runs_from_the_middle_of_the_tails_right_side_to_its_port_on_the_heads_left_side(engine: str) -> None:
    boxes, links = circuit()
    placed = layout(boxes, links, engine=engine)
    edges_end_where_they_should(boxes, links, placed)


@pytest.mark.parametrize("engine", ENGINES)
def test_top_to_bottom_leaves_at_the_bottom_and_arrives_at_the_top(engine: str) -> None:
    boxes, links = circuit()
    placed = layout(boxes, links, engine=engine, direction="TB")
    size = {box.id: box for box in boxes}
    for link, curve in zip(links, placed.splines, strict=True):
        tail, head = placed.positions[link.tail], placed.positions[link.head]
        assert curve[0] == pytest.approx((tail.x, tail.y + size[link.tail].height / 2), abs=0.6)
        assert curve[-1] == pytest.approx((head.x + link.port, head.y - size[link.head].height / 2), abs=0.6)


@pytest.mark.parametrize("engine", ENGINES)
def test_heads_stand_to_the_right_of_their_tails(engine: str) -> None:
    boxes, links = random_graph(60, 7)
    placed = layout(boxes, links, engine=engine)
    assert all(placed.positions[link.tail].x < placed.positions[link.head].x for link in links)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_same_graph_gives_the_same_layout_also_after_another_graph(engine: str) -> None:
    first = layout(*random_graph(30, 3), engine=engine)
    layout(*random_graph(50, 4), engine=engine)
    assert layout(*random_graph(30, 3), engine=engine) == first


@pytest.mark.parametrize("engine", ENGINES)
def test_two_uses_of_one_operand_are_two_edges_that_end_apart(engine: str) -> None:
    placed = layout([Box("x", 60, 40), Box("*", 60, 60)], [Link("x", "*", -14), Link("x", "*", 14)], engine=engine)
    upper, lower = placed.splines
    assert upper[0] == lower[0]
    assert lower[-1].y - upper[-1].y == pytest.approx(28, abs=0.01)


@pytest.mark.parametrize("engine", ENGINES)
def test_ports_decide_who_stands_above(engine: str) -> None:
    boxes = [Box("a", 60, 40), Box("b", 60, 40), Box("op", 60, 80)]
    placed = layout(boxes, [Link("a", "op", 14), Link("b", "op", -14)], engine=engine)
    assert placed.positions["b"].y < placed.positions["a"].y


@pytest.mark.parametrize("engine", ENGINES)
def test_a_cycle_between_collapsed_groups_is_laid_out(engine: str) -> None:
    boxes = [Box(i, 50, 50) for i in range(4)]
    placed = layout(boxes, [(0, 1), (1, 2), (2, 1), (2, 3), (3, 0)], engine=engine)
    assert len(placed.positions) == 4
    assert overlaps(boxes, placed) == []


@pytest.mark.parametrize("engine", ENGINES)
def test_one_box_and_no_box_are_fine(engine: str) -> None:
    assert layout([Box("a", 30, 20)], [], engine=engine).positions["a"] == pytest.approx((15, 10), abs=1)
    assert layout([], [], engine=engine).positions == {}


def test_a_bend_goes_around_the_box_in_between() -> None:
    boxes = [Box(0, 60, 40), Box(1, 60, 200), Box(2, 60, 60)]
    placed = layout(boxes, [Link(0, 1), Link(0, 2, -14), Link(1, 2, 14)], engine="layered")
    middle = placed.positions[1]
    inside = [p for p in placed.splines[1] if abs(p.x - middle.x) < 30 and abs(p.y - middle.y) < 100]
    assert inside == []


def test_an_engine_that_is_not_there_is_replaced_and_the_note_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from tensorviz.views.layout import graphviz

    monkeypatch.setattr(graphviz, "_instance", None)
    monkeypatch.setitem(sys.modules, "wasmtime", None)
    placed = layout(*circuit())
    assert placed.engine == "layered"
    assert placed.note is not None
    assert "not available" in placed.note
    with pytest.raises(LayoutError, match="not available"):
        layout(*circuit(), engine="graphviz")


def test_a_time_limit_stops_graphviz_and_the_next_graph_is_laid_out_again() -> None:
    boxes, links = random_graph(400, 1)
    began = time.perf_counter()
    placed = layout(boxes, links, timeout=0.01)
    assert time.perf_counter() - began < 30
    assert placed.engine == "layered"
    assert placed.note == "Graphviz took longer than 0.01 s"
    with pytest.raises(LayoutError, match=r"Graphviz took longer than 0\.01 s"):
        layout(boxes, links, engine="graphviz", timeout=0.01)
    assert layout(*circuit()).engine == "graphviz"


def test_a_long_chain_is_laid_out_in_seconds() -> None:
    boxes = [Box(i, 60, 40) for i in range(3000)]
    began = time.process_time()
    placed = layout(boxes, [(i, i + 1) for i in range(2999)])
    assert time.process_time() - began < 5
    assert placed.engine == "layered"


def test_a_net_of_long_edges_goes_to_the_layered_layout_before_graphviz_gets_lost_in_it() -> None:
    boxes = [Box(i, 60, 40) for i in range(121)]
    links = [Link(i, i + 1) for i in range(120)] + [Link(0, i) for i in range(2, 121)]
    began = time.process_time()
    assert layout(boxes, links).engine == "layered"
    assert time.process_time() - began < 5


def test_wrong_options_list_the_choices() -> None:
    with pytest.raises(ValueError, match="'auto', 'graphviz', 'layered', 'dot'"):
        layout([Box(0, 1, 1)], [], engine="neato")
    with pytest.raises(ValueError, match="'LR', 'TB'"):
        layout([Box(0, 1, 1)], [], direction="RL")
    with pytest.raises(ValueError, match="no box"):
        layout([Box(0, 1, 1)], [(0, 1)])


def test_the_program_dot_is_asked_for_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(LayoutError, match='engine="graphviz" needs none'):
        layout(*circuit(), engine="dot")


def test_curves_come_back_in_the_order_of_the_edges_whatever_their_tails() -> None:
    boxes = [Box(name, 60, 40) for name in "abcdef"]
    links = [("c", "f"), ("a", "c"), ("b", "d"), ("a", "d"), ("d", "f"), ("b", "e"), ("a", "e"), ("e", "f")]
    placed = layout(boxes, links)
    assert placed.engine == "graphviz"
    for (tail, head), curve in zip(links, placed.splines, strict=True):
        left, right = placed.positions[tail].x, placed.positions[head].x
        assert all(left <= p.x <= right for p in curve), (tail, head)


def test_points_are_named() -> None:
    assert Point(1, 2).x == 1


@pytest.mark.parametrize(
    ("text", "timeout", "said"),
    [
        ("no graph", 5.0, "Graphviz refused the graph: Failed to parse DOT source"),
        (
            "digraph{" + "subgraph{" * 20_000 + "}" * 20_000 + "}",
            20.0,
            r'Graphviz stopped: wasm trap: .*; our own layout, engine="layered", takes graphs of any size',
        ),
        ("digraph{" + ";".join(f"n{i}->n{j}" for i in range(60) for j in range(i)) + "}", 0.001, r"Graphviz took longer than 0\.001 s"),
    ],
    ids=["refused", "trapped", "too long"],
)
def test_what_stopped_graphviz_is_said(text: str, timeout: float, said: str) -> None:
    from tensorviz.views.layout.graphviz import Embedded

    with pytest.raises(LayoutError, match=said):
        Embedded().render(text, timeout)


def test_a_lack_of_memory_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    from tensorviz.views.layout import graphviz

    monkeypatch.setattr(graphviz, "MEMORY_LIMIT", 1 << 20)
    with pytest.raises(LayoutError, match=r"the embedded Graphviz did not start \(memory minimum size of 35 pages exceeds memory limits\)"):
        graphviz.Embedded().render("digraph{a->b}", 5.0)


# ---- rows ----------------------------------------------------------------------------------------------------------


def row_of(count: int, skips: int = 0) -> tuple[list[Box], list[Link]]:
    """A chain, and wires from its first boxes to its last ones."""
    boxes = [Box(i, 160, 90) for i in range(count)]
    return boxes, [Link(i, i + 1) for i in range(count - 1)] + [Link(i, count - 1 - i, 14) for i in range(skips)]


@pytest.mark.parametrize("skips", [0, 2])
def test_a_long_chain_is_laid_in_rows_for_a_slide_and_every_edge_still_ends_where_it_should(skips: int) -> None:
    boxes, links = row_of(40, skips)
    placed = fold(layout(boxes, links), boxes, links)
    assert 1.2 <= placed.width / placed.height <= 3.3
    assert overlaps(boxes, placed) == []
    edges_end_where_they_should(boxes, links, placed)
    assert all(0 <= p.x <= placed.width and 0 <= p.y <= placed.height for curve in placed.splines for p in curve)
    # of the chain, one for each end of a row; and those that pass by rows
    assert 3 <= len(placed.turns) <= 6 + skips


def test_what_a_slide_shows_and_what_would_be_a_knot_of_wires_is_not_laid_in_rows() -> None:
    for boxes, links in (row_of(8), row_of(40, 12)):
        placed = layout(boxes, links)
        assert fold(placed, boxes, links) is placed


def test_the_still_of_a_long_chain_is_in_rows_and_the_steppers_picture_and_one_that_runs_down_are_not() -> None:
    trace = circuits.chain(40)

    def size(svg: str) -> tuple[float, float]:
        found = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
        assert found is not None
        return float(found[1]), float(found[2])

    wide, high = size(to_svg(trace))
    assert wide < 3.3 * high
    assert size(skeleton(trace))[0] > 4 * wide / 2
    assert size(to_svg(trace, direction="TB"))[1] > 2 * high
    assert to_svg(trace).count("data-edge=") == skeleton(trace).count("data-edge=")
