"""What is seen beside the steps: the whole graph, its kin, the timeline's own places, the source strip, and the large type of a lecture."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest
from playwright.sync_api import expect

import tensorviz as tv
from browser.book import wait_until
from browser.steppers import at, broadcast
from tensorviz.trace import Trace
from views import gallery


def circuit() -> Trace:
    x, y, z, w = (tv.tensor(v, requires_grad=True) for v in (3.0, -4.0, 2.0, -1.0))
    f = (x * y + np.maximum(z, w)) * 2.0
    return f.backward()


def net(layers: int) -> Trace:
    draw = np.random.default_rng(0)
    h = tv.tensor(draw.normal(size=(8, 4)), name="data")
    for k in range(layers):
        with tv.scope(f"net/L{k}"):
            W = tv.tensor(draw.normal(size=(4, 4)) / 2, requires_grad=True, name=f"W{k}")
            h = tv.tanh(h @ W)
    loss = (h * h).mean()
    return loss.backward()


def within(inner: dict[str, float], outer: dict[str, float]) -> bool:
    return (
        inner["x"] >= outer["x"] - 1
        and inner["x"] + inner["width"] <= outer["x"] + outer["width"] + 1
        and inner["y"] >= outer["y"] - 1
        and inner["y"] + inner["height"] <= outer["y"] + outer["height"] + 1
    )


@pytest.mark.parametrize("width", [824, 1304])  # 800 and 1280 for the stepper itself
@pytest.mark.parametrize("make", [broadcast, circuit])
def test_a_small_circuit_is_seen_as_a_whole_and_can_be_read(show, make, width):
    stepper = show(make(), width=width, step=3)
    graph = stepper.get_by_label("Computation graph")
    stage = stepper.locator(".tv-stage").first
    expect(stage).not_to_have_attribute("data-cut", re.compile("."))
    wait_until(lambda: within(graph.bounding_box(), stage.bounding_box()), "the whole graph in sight", 45)
    # 14 px at its own scale; these are what stands on the wires.
    assert graph.evaluate("svg => 14 * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width") >= 10.7


SCALE = "svg => svg.getBoundingClientRect().width / svg.viewBox.baseVal.width"


@pytest.mark.parametrize(
    ("make", "width"), [(broadcast, 1010), (gallery.born, 1304)]
)  # beside Lab's file browser on a screen of 1440, and on one of 1280
def test_a_long_circuit_has_the_whole_width_where_it_can_be_read_only_there(show, make, width):
    stepper = show(make(), width=width)
    expect(stepper).to_have_attribute("data-stacked", "")
    expect(stepper.locator(".tv-stage").first).not_to_have_attribute("data-cut", re.compile("."))
    assert stepper.get_by_label("Computation graph").evaluate(SCALE) >= 0.77
    for pane in (stepper.get_by_role("tabpanel"), stepper.locator(".tv-source")):
        assert pane.bounding_box()["height"] >= 150
    expect(show(gallery.staged(), width=width)).not_to_have_attribute("data-stacked", "")  # it has no room there either


def test_what_has_no_room_as_a_whole_is_not_drawn_so_small_that_numbers_are_hard_to_read(show):
    trace = gallery.staged()
    stepper = show(trace, width=1280)
    graph = stepper.get_by_label("Computation graph")
    stepper.focus()
    sizes = []
    for k in range(len(trace.steps)):
        at(stepper, k)
        sizes.append(14 * graph.evaluate(SCALE))
        stepper.page.keyboard.press("ArrowRight")
    assert min(sizes) >= 10.7, sizes


def test_a_wide_graph_is_seen_as_a_whole_by_key_and_by_button_and_comes_back(show):
    stepper = show(net(5), step=4)
    graph, stage = stepper.get_by_label("Computation graph"), stepper.locator(".tv-stage").first
    expect(stage).to_have_attribute("data-cut", re.compile("left|right"))
    wide = graph.bounding_box()["width"]
    stepper.press("f")
    expect(stage).not_to_have_attribute("data-cut", re.compile("."))
    assert graph.bounding_box()["width"] <= stage.bounding_box()["width"] + 1
    stepper.press("f")
    expect(stage).to_have_attribute("data-cut", re.compile("left|right"))
    assert graph.bounding_box()["width"] == pytest.approx(wide)
    # The node of the step is in sight again.
    assert within(graph.locator("[data-active].tv-node").bounding_box(), stage.bounding_box())
    stepper.get_by_role("button", name="Fit graph").first.click()
    expect(stage).not_to_have_attribute("data-cut", re.compile("."))


def test_what_a_node_was_made_from_and_what_was_made_from_it_stand_out(show):
    stepper = show(circuit())
    graph = stepper.get_by_label("Computation graph")
    node = lambda name: graph.get_by_role("button", name=name)  # noqa: E731 - one line that reads as a noun
    graph.get_by_role("button", name="mul ()").first.click()
    for name, kin in (("leaf x", "before"), ("leaf y", "before"), ("add", "after"), ("mul f", "after"), ("leaf z", "none"), ("maximum", "none")):
        expect(node(name)).to_have_attribute("data-kin", kin)
    strokes = {name: node(name).locator(".tv-shape").first.evaluate("e => getComputedStyle(e).stroke") for name in ("leaf x", "add", "leaf z")}
    assert len(set(strokes.values())) == 3
    assert float(node("leaf z").evaluate("e => getComputedStyle(e).opacity")) < 0.5
    stepper.press("Escape")
    expect(node("leaf x")).not_to_have_attribute("data-kin", re.compile("."))
    assert float(node("leaf z").evaluate("e => getComputedStyle(e).opacity")) == 1


def test_the_timeline_is_clicked_for_steps_marks_and_breakpoints(show):
    trace = broadcast()
    stepper = show(trace)
    bar = stepper.locator(".tv-track")
    box = bar.bounding_box()
    stepper.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 31)
    at(stepper, 5)
    summed = next(k for k, s in enumerate(trace.steps) if s.kind == "unbroadcast")
    bar.locator(".tv-flag", has_text="Σ axis 0").click()
    at(stepper, summed)
    stepper.get_by_role("button", name="First step").click()
    # With Shift, the mark's kind becomes a breakpoint; a rule's name does so for its node.
    bar.locator(".tv-flag", has_text="Σ axis 0").click(modifiers=["Shift"])
    at(stepper, 0)
    expect(stepper.locator(".tv-chosen")).to_have_text("◆ unbroadcast")
    bar.locator(".tv-hit", has_text="Stop at X + b").click()
    expect(stepper.locator(".tv-chosen")).to_have_text("◆ unbroadcast ◆ X + b")
    stepper.get_by_role("button", name="Next breakpoint").click()
    at(stepper, next(k for k, s in enumerate(trace.steps) if s.node == trace.node(2).id))


def test_a_count_reads_the_same_on_the_timeline_and_on_the_wire(show):
    x = tv.tensor(np.arange(1600.0).reshape(40, 40) - 100, requires_grad=True)
    stepper = show(tv.relu(x).sum().backward())
    expect(stepper.locator(".tv-flag[data-kind=route] text")).to_have_text("route 1,499 of 1,600")
    expect(stepper.locator(".tv-graph [data-badge] text", has_text="of 1,600")).to_have_text("1,499 of 1,600")


def test_a_nan_that_is_born_backward_is_marked_once_and_not_told_as_one_of_the_forward_pass(show):
    z = tv.tensor([0.0, 4.0], requires_grad=True, name="z")
    with np.errstate(all="ignore"):
        trace = (np.sqrt(z) * z).sum().backward()
    assert [(f.kind, f.phase) for f in trace.findings()] == [("nan", "backward")]
    flags = show(trace).locator(".tv-flag").filter(has_text="NaN")
    expect(flags.locator("text")).to_have_text(["NaN"])
    with np.errstate(all="ignore"):
        trace = np.log(z - 5.0).sum().backward()
    expect(show(trace).locator(".tv-flag").filter(has_text="NaN forward")).to_have_count(1)


def test_a_long_pass_shows_its_scopes_and_a_click_on_one_leads_there(show):
    trace = net(30)
    stepper = show(trace)
    names = stepper.locator(".tv-rule")
    expect(names.filter(has_text=re.compile(r"^L\d+$"))).to_have_count(30)
    boxes = sorted((b["x"], b["x"] + b["width"]) for b in (names.nth(i).bounding_box() for i in range(names.count())))
    assert all(end <= start + 0.5 for (_, end), (start, _) in pairwise(boxes))
    stepper.locator(".tv-hit", has_text=re.compile("L3$")).click()
    at(stepper, next(k for k, step in enumerate(trace.steps) if step.kind == "pull" and trace.nodes[step.node].scope == "net/L3"))


def test_the_source_strip_has_more_lines_where_there_is_room(show):
    trace = broadcast()

    def has_lines(least: int, **size) -> None:
        lines = show(trace, **size).locator(".tv-source .tv-line")
        wait_until(lambda: lines.count() >= least, f"{least} lines", 45)

    has_lines(4, width=1304)
    has_lines(9, width=824)


def test_presentation_is_large_and_one_pane_from_python_by_key_and_by_button(show):
    plain = show(broadcast(), step=7)
    small = plain.get_by_role("status").evaluate("e => parseFloat(getComputedStyle(e).fontSize)")
    stepper = show(broadcast(), step=7, presentation=True)
    graph, said = stepper.get_by_label("Computation graph"), stepper.get_by_role("status")
    expect(stepper.get_by_role("button", name="Presentation")).to_have_attribute("aria-pressed", "true")
    expect(stepper.get_by_role("tab", name="Node")).not_to_be_visible()
    expect(stepper.get_by_label("Source lines")).not_to_be_visible()
    assert said.evaluate("e => parseFloat(getComputedStyle(e).fontSize)") >= 1.35 * small
    # All of the sentence and of the graph.
    assert said.evaluate("e => e.scrollHeight <= e.clientHeight + 1")
    assert within(graph.bounding_box(), stepper.locator(".tv-stage").bounding_box())
    assert graph.bounding_box()["width"] > 1.2 * plain.get_by_label("Computation graph").bounding_box()["width"]
    assert stepper.evaluate("e => e.getBoundingClientRect().bottom <= innerHeight")
    stepper.get_by_role("button", name="Presentation").click()
    expect(stepper.get_by_role("tab", name="Node")).to_be_visible()
    stepper.press("p")
    expect(stepper.get_by_role("tab", name="Node")).not_to_be_visible()


@pytest.mark.parametrize("width", [600, 824, 1304])
def test_in_presentation_the_picture_takes_all_the_room_at_every_width(show, width):
    stepper = show(broadcast(), width=width, step=7, presentation=True)
    panes, picture = stepper.locator(".tv-panes"), stepper.locator(".tv-graph-pane")
    wait_until(lambda: picture.bounding_box() == pytest.approx(panes.bounding_box()), "a picture as large as all panes", 45)


def test_the_picture_of_a_large_array_is_on_its_own_scale_and_by_powers_of_ten_on_that_of_the_pass(show):
    x = tv.tensor(np.full((30, 30), 0.1), requires_grad=True)
    loss = (x * np.linspace(1.0, 1000.0, 900).reshape(30, 30)).sum()
    stepper = show(loss.backward())
    stepper.get_by_role("button", name="leaf x (30, 30)").click()
    shade = "c => { const at = c.getContext('2d').getImageData(0, 0, 1, 1).data; return 255 * 3 - at[0] - at[1] - at[2]; }"
    picture = stepper.get_by_role("img", name="picture of (30, 30)").first
    own = picture.evaluate(f"c => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(({shade})(c)))))")
    stepper.get_by_role("button", name="log scale").click()
    of_pass = picture.evaluate(f"c => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(({shade})(c)))))")
    assert 0 < of_pass < 60  # 0.1 beside a loss of 45,045: 5.7 of six powers of ten below it
    assert own > 200  # and the largest number of its own array


@pytest.mark.parametrize("width", [924, 1304])
def test_long_rules_and_small_shares_have_room_in_the_ledger(show, width):
    hidden_activation_of_first = tv.tensor(np.eye(3) + 0.5, requires_grad=True)
    weights_of_output_layer = tv.tensor(np.arange(9.0).reshape(3, 3), requires_grad=True)
    z = (hidden_activation_of_first * weights_of_output_layer).sum() * 1e-20 + tv.layer_norm(weights_of_output_layer, (3,)).sum() * 1e-20
    loss = z + (weights_of_output_layer * hidden_activation_of_first).sum()
    trace = loss.backward()
    step = [k for k, s in enumerate(trace.steps) if s.kind == "accumulate" and s.node == trace.node("weights_of_output_layer").id][-1]
    stepper = show(trace, step=step, width=width)
    ledger = stepper.get_by_role("table", name=re.compile("Ledger"))
    expect(ledger.get_by_text("· mean(")).to_be_visible()
    assert ledger.evaluate("e => e.parentElement.scrollWidth <= e.parentElement.clientWidth")
    rule = ledger.locator("small.tv-mono", has_text="mean(")
    assert rule.bounding_box()["width"] > 0.8 * ledger.bounding_box()["width"]
