"""Room: what a step is about is in sight at every width, nothing moves without need, every pane is seen at once, and one knows where the keys go."""

from __future__ import annotations

import json
import re
from itertools import pairwise

import nbformat
import numpy as np
import pytest
from playwright.sync_api import Locator, expect

import tensorviz as tv
from browser import scenes
from browser.scenes import node
from browser.steppers import at, broadcast
from tensorviz.site.build import build_site
from tensorviz.trace import Trace
from tensorviz.widgets.pair import pair
from views import gallery


def circuit() -> Trace:
    """Some fifteen nodes: wider than any pane at its own size."""
    a, b, c, d, e = (tv.tensor(v, requires_grad=True, name=n) for n, v in zip("abcde", (2.0, -3.0, 10.0, 0.5, 1.5), strict=True))
    u = a * b + c
    w = np.exp(e * a) / (1 + np.exp(e * a))
    return ((np.tanh(u * d) * w + u) ** 2).backward()


def matrices() -> Trace:
    draw = np.random.default_rng(0)
    X, W, V = (tv.tensor(draw.normal(size=s), requires_grad=True, name=n) for n, s in (("X", (4, 3)), ("W", (3, 5)), ("V", (5, 2))))
    b = tv.tensor(np.zeros(5), requires_grad=True, name="b")
    return (((np.maximum(X @ W + b, 0) @ V) - 1.0) ** 2).mean().backward()


OUTSIDE = """(stage, ids) => {
  const pane = stage.getBoundingClientRect();
  const outside = (e) => { const r = e.getBoundingClientRect(); return r.left < pane.left || r.right > pane.right || r.top < pane.top || r.bottom > pane.bottom; };
  return ids.filter((id) => outside(stage.querySelector(`[data-node="${id}"] > .tv-shape`)))
    .concat([...stage.querySelectorAll('[data-badge][data-now]')].filter(outside).map((e) => e.dataset.badge)); }"""
PLACE = "svg => svg.style.transform + svg.getAttribute('width')"


def about(trace: Trace, k: int) -> list[int]:
    """The node in which a step happens, who sends it something, and the operands of a rule that runs."""
    step = trace.steps[k]
    if step.kind == "pull":
        return [step.node, *trace.nodes[step.node].inputs]
    return [step.node] if step.share is None else [step.node, step.share.consumer]


def seen(stepper: Locator, trace: Trace, k: int) -> list[object]:
    """What of a step is not in sight."""
    at(stepper, k)
    stepper.page.evaluate("Promise.allSettled(document.getAnimations().map(a => a.finished))")
    return list(stepper.locator(".tv-stage").first.evaluate(OUTSIDE, about(trace, k)))


DAILY = [(circuit, 472), (matrices, 1104)]
OTHERS = [
    pytest.param(make, width, marks=pytest.mark.slow)
    for make in (circuit, matrices)
    for width in (472, 852, 1104, 1304)
    if (make, width) not in DAILY
]


@pytest.mark.parametrize(("make", "width"), [*DAILY, *OTHERS])
def test_what_a_step_is_about_is_in_sight_at_every_step(show, make, width):
    trace = make()
    stepper = show(trace, width=width)
    stepper.page.emulate_media(reduced_motion="reduce")  # the window is where it comes to rest at once
    missing = {}
    for k in range(len(trace.steps)):
        if out := seen(stepper, trace, k):
            missing[k] = out
        stepper.page.keyboard.press("ArrowRight")
    # Two uses of one value may stand further apart than any window is wide; then the node itself is in sight.
    assert len(missing) <= 0.15 * len(trace.steps), missing
    assert not [k for k, out in missing.items() if trace.steps[k].node in out], missing
    # Numbers are 14 px at the picture's own size.
    assert stepper.get_by_label("Computation graph").evaluate("svg => 14 * svg.clientWidth / svg.viewBox.baseVal.width") >= 8.6


def test_the_numbers_of_the_node_are_in_sight_beside_operands_that_stand_far_away(show):
    trace = gallery.attention()
    scores = trace.node("S").inputs[0]
    k = next(k for k, s in enumerate(trace.steps) if s.kind == "pull" and s.node == scores)
    stepper = show(trace, step=k)
    stepper.page.set_viewport_size({"width": 1280, "height": 720})
    stepper.page.emulate_media(reduced_motion="reduce")
    assert seen(stepper, trace, k) == []
    pane = stepper.locator(".tv-stage").first.bounding_box()
    for what in ("value", "total"):
        box = stepper.get_by_label("Computation graph").locator(f"[data-{what}='{scores}']").bounding_box()
        assert pane["x"] <= box["x"] and box["x"] + box["width"] <= pane["x"] + pane["width"], what
        assert pane["y"] <= box["y"] and box["y"] + box["height"] <= pane["y"] + pane["height"], what


def test_the_window_stays_where_what_is_needed_is_in_sight_and_the_picture_keeps_its_size(show):
    trace = circuit()
    stepper = show(trace, width=1104)
    picture = stepper.get_by_label("Computation graph")
    places = []
    for k in range(len(trace.steps)):
        at(stepper, k)
        places.append(picture.evaluate(PLACE))
        stepper.page.keyboard.press("ArrowRight")
    moves = sum(a != b for a, b in pairwise(places))
    assert moves < len(places) / 3
    assert len({place.rpartition(")")[2] for place in places}) == 1


def test_a_picture_that_somebody_moved_stays_until_a_step_leads_out_of_sight(show):
    trace = circuit()
    stepper = show(trace, width=1104, step=12)
    picture, stage = stepper.get_by_label("Computation graph"), stepper.locator(".tv-stage").first
    box = stage.bounding_box()
    page = stepper.page
    page.mouse.move(box["x"] + 300, box["y"] + 240)
    page.mouse.down()
    page.mouse.move(box["x"] + 270, box["y"] + 240, steps=4)
    page.mouse.up()
    moved = picture.evaluate(PLACE)
    stepper.press("ArrowRight")
    at(stepper, 13)
    assert picture.evaluate(PLACE) == moved
    stepper.press("End")
    assert seen(stepper, trace, len(trace.steps) - 1) == []
    assert picture.evaluate(PLACE) != moved


def test_somebody_who_has_zoomed_in_sees_what_a_step_is_about_too(show):
    trace = circuit()
    stepper = show(trace, width=1104, step=12)
    for _ in range(4):
        stepper.get_by_role("button", name="Zoom in").first.press("Enter")
    stepper.press("ArrowRight")
    assert seen(stepper, trace, 13) == []


SEEN = """e => ['.tv-timeline', '.tv-caption', '.tv-graph-pane', '.tv-inspector'].filter(p => {
  const r = e.querySelector(p).getBoundingClientRect(); return r.height < 40 || r.bottom > e.getBoundingClientRect().bottom + 1; })"""


@pytest.mark.parametrize("width", [432, 472, 700, 800, 852, 904])
def test_every_pane_is_seen_at_once_beside_labs_file_browser(show, width):
    stepper = show(circuit(), width=width)
    stepper.page.set_viewport_size({"width": width, "height": 690})
    assert stepper.evaluate(SEEN) == []
    assert stepper.bounding_box()["height"] <= 676  # what a window of 1280 by 800 leaves a notebook
    field = stepper.get_by_role("searchbox", name="Find node")
    assert field.evaluate(
        """e => { const pen = document.createElement('canvas').getContext('2d'); pen.font = getComputedStyle(e).font;
        return e.clientWidth - pen.measureText(e.placeholder).width; }"""
    ) >= 0  # fmt: skip
    for name in ("First step", "Next breakpoint", "Theme", "Help: keys and marks"):
        box, whole = stepper.get_by_role("button", name=name).bounding_box(), stepper.bounding_box()
        assert whole["x"] <= box["x"] and box["x"] + box["width"] <= whole["x"] + whole["width"]


def test_closed_scopes_are_seen_with_their_words_beside_labs_file_browser(show):
    stepper = show(scenes.network(), step=100, width=800)
    stepper.page.set_viewport_size({"width": 800, "height": 690})
    place = "e => e.getBoundingClientRect().bottom"
    bottom = stepper.locator(".tv-stage").first.evaluate(place)
    words = stepper.get_by_label("Computation graph").locator("text", has_text="18 nodes")
    ends = words.evaluate_all(f"all => all.filter(e => e.checkVisibility()).map({place})")
    assert len(ends) >= 4
    assert max(ends) <= bottom


def framed(tmp_path, html: str):
    path = tmp_path / "output.html"
    path.write_text(f"<!doctype html><meta charset='utf-8'><title>output</title><body style='margin:0'>{html}", "utf-8")
    return path


def test_the_steppers_of_a_pair_stand_side_by_side_and_say_that_no_kernel_is_joined(open_page, tmp_path):
    trace = circuit()
    page = open_page(framed(tmp_path, pair(trace, trace)._repr_mimebundle_()["text/html"]), width=828)
    steppers = page.locator("iframe").content_frame.get_by_role("region", name="Backward pass debugger")
    expect(steppers).to_have_count(2)
    boxes = [steppers.nth(i).bounding_box() for i in range(2)]
    assert boxes[0]["y"] == boxes[1]["y"]
    for i in range(2):
        assert steppers.nth(i).evaluate(SEEN) == []
        mark = steppers.nth(i).locator(".tv-link")
        expect(mark).to_have_text("recorded")
        expect(mark).to_have_attribute("title", re.compile("no kernel"))


def test_the_keys_of_a_page_of_its_own_work_at_once_and_the_page_does_not_scroll(show):
    stepper = show(broadcast())
    expect(stepper).to_be_focused()
    stepper.page.keyboard.press("ArrowRight")
    at(stepper, 1)
    assert stepper.page.evaluate("scrollY") == 0


def test_in_a_frame_the_focus_stays_with_the_notebook_and_one_is_told_how_to_get_there(open_page, tmp_path):
    stepper = broadcast().show()
    html = stepper._repr_mimebundle_()[0]["text/html"]
    page = open_page(framed(tmp_path, f"<input aria-label='cell' autofocus>{html}"))
    inside = page.locator("iframe").content_frame
    shown = inside.get_by_role("region", name="Backward pass debugger")
    expect(shown).to_be_visible()
    expect(page.get_by_label("cell")).to_be_focused()
    page.keyboard.press("ArrowRight")
    at(shown, 0)
    hint = inside.locator(".tv-hint")
    assert hint.evaluate("e => getComputedStyle(e).opacity") == "0"
    shown.locator(".tv-caption").hover()
    assert hint.evaluate("e => getComputedStyle(e).opacity") == "1"
    shown.locator(".tv-caption").click()
    assert hint.evaluate("e => getComputedStyle(e).opacity") == "0"
    page.keyboard.press("ArrowRight")
    at(shown, 1)


@pytest.mark.parametrize("steppers", [1, 2])
def test_the_arrows_step_the_only_stepper_of_a_text_and_nothing_where_there_are_two(open_page, tmp_path, steppers):
    code = "import tensorviz as tv\nx = tv.tensor(3.0, requires_grad=True)\ny = x * x\ny.backward()"
    cells = [nbformat.v4.new_markdown_cell("# Squares"), *(nbformat.v4.new_code_cell(code) for _ in range(steppers))]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "one.ipynb")
    build_site(tmp_path, tmp_path / "out")
    page = open_page(tmp_path / "out" / "one.html")
    frame = page.locator("iframe").first
    stepper = frame.content_frame.get_by_role("region", name="Backward pass debugger")
    expect(stepper).to_be_visible()
    frame.evaluate("e => e.scrollIntoView()")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowRight")
    if steppers == 1:
        at(stepper, 1)
    page.keyboard.press("Space")  # scrolls the text, and plays nothing
    expect(stepper.get_by_role("button", name="Play / Pause")).to_have_attribute("aria-pressed", "false")
    at(stepper, 1 if steppers == 1 else 0)


def test_a_pinned_node_says_so_and_lets_go_by_button_chip_and_key(show):
    trace = circuit()
    stepper = show(trace, step=12)
    pinned = stepper.get_by_role("group", name="Pinned")
    expect(pinned).to_be_hidden()
    for let_go in (
        lambda: pinned.get_by_role("button", name="Follow the step").click(),
        lambda: stepper.get_by_role("button", name="✕ pinned: b").click(),
        lambda: stepper.press("Escape"),
    ):
        node("b")(stepper)
        stepper.press("ArrowRight")
        expect(pinned).to_contain_text("Pinned: b")
        expect(stepper.get_by_role("tabpanel")).to_contain_text("leaf · ()")
        # The picture follows the step all the same.
        k = int(stepper.get_attribute("data-step") or 0)
        assert seen(stepper, trace, k) == []
        let_go()
        expect(pinned).to_be_hidden()
    expect(stepper.get_by_role("tabpanel")).not_to_contain_text("leaf · ()")


def test_where_it_is_narrow_the_last_chip_of_a_pinned_node_is_scrolled_to(show):
    stepper = show(circuit(), step=12, width=340)
    node("b")(stepper)
    row = stepper.get_by_role("group", name="Groups and node").bounding_box()
    chip = stepper.get_by_role("button", name="◇ stop here")
    stepper.page.mouse.move(row["x"] + row["width"] / 2, row["y"] + row["height"] / 2)
    stepper.page.mouse.wheel(400, 0)
    expect(chip).to_be_in_viewport(ratio=1)
    chip.click()
    expect(stepper.get_by_role("button", name="◆ stops here")).to_be_visible()


CUT_OFF = """root => {
  const box = e => e.getBoundingClientRect(), said = root.querySelector('.tv-caption'), legend = root.querySelector('.tv-legend');
  const entries = legend.checkVisibility() ? [...legend.children] : [];
  return [
    ...(box(said.firstElementChild).height > said.clientHeight + 1 ? [said.textContent] : []),
    ...entries.filter(e => box(e).right > box(legend).right + 1).map(e => e.textContent),
  ];
}"""


@pytest.mark.parametrize("presentation", [False, True])
@pytest.mark.parametrize("width", [340, 424, 836, 1024])
def test_no_sentence_and_no_end_of_a_scale_is_cut_off(show, width, presentation):
    encoder_layer_weight = tv.tensor(np.ones((2, 1, 3, 1, 2)), requires_grad=True)
    attention_output_bias = tv.tensor(np.ones((3, 1, 1)), requires_grad=True)
    hidden_activation = encoder_layer_weight + attention_output_bias
    trace = (hidden_activation.max(axis=(0, 2)) ** 2).sum().backward()
    stepper = show(trace, width=width, presentation=presentation)
    for k in range(len(trace.steps)):
        at(stepper, k)
        assert stepper.evaluate(CUT_OFF) == []
        stepper.press("ArrowRight")


WIDER = """root => [root.querySelector('[role=tabpanel]'), ...root.querySelectorAll('[role=tabpanel] :is(.tv-scroll, .tv-heading, .tv-ruler)')]
  .filter(e => e.scrollWidth > e.clientWidth + 1).map(e => `${e.className} ${e.scrollWidth}`)"""


@pytest.mark.parametrize("width", [424, 924, 1304])
def test_names_as_long_as_those_of_large_models_fit_into_the_inspector_and_are_told_apart(show, width):
    layer = "encoder.layers.11.self_attention.out_proj"
    x = tv.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True, name=f"{layer}.weight")
    b = tv.tensor([0.1, 0.2, 0.3], requires_grad=True, name=f"{layer}.bias")
    with tv.scope(layer):
        hidden = x * b
        hidden.name = f"{layer}.hidden"
    trace = (np.maximum(hidden, x) * hidden).sum().backward()
    stepper = show(trace, width=width)
    for k in range(len(trace.steps)):
        at(stepper, k)
        assert stepper.evaluate(WIDER) == []
        if trace.steps[k].kind == "pull" and trace.nodes[trace.steps[k].node].name == hidden.name:
            expect(stepper.get_by_role("tabpanel")).to_contain_text("…_proj.weight")
            expect(stepper.get_by_role("tabpanel")).to_contain_text("…ut_proj.bias")
        stepper.press("ArrowRight")


@pytest.mark.parametrize("size", [(1280, 720), (1920, 1080)])
def test_in_a_lecture_hall_no_word_is_small(show, size):
    stepper = show(scenes.network(), step=100, presentation=True, width=size[0])
    stepper.page.set_viewport_size({"width": size[0], "height": size[1]})
    small = stepper.evaluate(
        """root => { const least = 13; return [...root.querySelectorAll('*')].filter(e => [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())
          && e.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && !e.matches('option, title')).flatMap(e => {
          const svg = e.ownerSVGElement, by = svg?.viewBox.baseVal?.width ? svg.getBoundingClientRect().width / svg.viewBox.baseVal.width : e.currentCSSZoom ?? 1;
          const px = parseFloat(getComputedStyle(e).fontSize) * by;
          return px < least ? [`${e.className.baseVal ?? e.className ?? e.tagName} ${px.toFixed(1)}`] : []; }); }"""
    )
    assert small == []
    assert stepper.evaluate("e => e.getBoundingClientRect().bottom <= innerHeight")


def test_a_low_picture_in_the_lecture_hall_of_a_notebook_is_no_higher_than_it_asks_for(open_page, tmp_path):
    heights = []
    for make in (broadcast, scenes.network):
        page = open_page(framed(tmp_path, make().show(presentation=True)._repr_mimebundle_()[0]["text/html"]), width=1080)
        stepper = page.locator("iframe").content_frame.get_by_role("region", name="Backward pass debugger")
        expect(stepper).to_have_attribute("data-present", "")
        heights.append(stepper.locator(".tv-panes").evaluate("e => e.clientHeight"))
    assert heights[0] < 540
    assert heights[1] == 560


def layer_by_layer() -> Trace:
    w = tv.tensor([0.5, -0.25], requires_grad=True, name="w")

    def layer(h):
        return np.tanh(h * w)

    h = layer(tv.tensor([1.0, 2.0], name="x"))
    return layer(h).sum().backward()


def test_a_call_leads_to_what_was_made_in_its_function(show):
    trace = layer_by_layer()
    stepper = show(trace, step=0)
    stepper.get_by_role("tab", name="Source", exact=True).click()
    call = stepper.get_by_role("tabpanel").get_by_role("button", name="Select what layer made, 4 nodes").last
    made = [n.id for n in trace.nodes if n.source and n.source.function.split(".")[-1] == "layer"]
    for id in [*made, made[0]]:
        call.click()
        expect(stepper.locator("[data-node][data-selected]")).to_have_attribute("data-node", json.dumps(id))
