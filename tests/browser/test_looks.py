"""What a designer would look at: nothing covers anything, scales say the same in every pane, and what needs a kernel is offered where there can be one."""

from __future__ import annotations

import re

import numpy as np
import pytest
from playwright.sync_api import Locator, expect

import tensorviz as tv
from browser import scenes
from browser.scenes import kernelled, node, tab
from browser.steppers import at, broadcast
from tensorviz.widgets.pair import pair
from views import gallery


def tints(group: Locator) -> list[str]:
    """How strong the cells of an array of the picture are tinted."""
    return [str(t) for t in group.locator(".tv-cell").evaluate_all("cells => cells.map(c => c.style.getPropertyValue('--tv-tint'))")]


def test_the_log_scale_is_that_of_graph_legend_and_inspector(show):
    v = tv.tensor([1000.0, 1.0, 0.001], requires_grad=True, name="v")
    trace = (v * 2.0).sum().backward()
    stepper = show(trace, step=0)
    node("v")(stepper)
    value = stepper.locator("[data-value='0']")
    legend = stepper.locator(".tv-legend")
    linear = tints(value)
    stepper.get_by_role("button", name="log scale").click()
    # Six powers of ten below 2001, the largest of the pass: 10^-0.30, 10^-3.30 and 10^-6.30.
    assert tints(value) == ["47%", "22%", "0%"] != linear
    expect(legend).to_contain_text("6 powers of ten")
    gradient = stepper.locator("[data-total='0']")
    stepper.get_by_role("button", name="Last step").click()
    at(stepper, len(trace.steps) - 1)
    assert tints(gradient) == ["50%"] * 3  # 2 is the largest gradient
    stepper.get_by_role("button", name="log scale").click()
    assert tints(value) == linear
    expect(legend).not_to_contain_text("powers of ten")


def test_what_needs_a_kernel_is_not_offered_on_a_page_and_works_where_there_is_one(show, open_page, tmp_path):
    offline = show(scenes.large(), step=12)
    node("W")(offline)
    expect(offline.get_by_role("tabpanel").locator(".tv-picture").first).to_be_visible()
    expect(offline.get_by_role("textbox", name="Part of W")).to_have_count(0)
    tab("Shares")(offline)
    expect(offline.get_by_role("table", name="Ledger of ∂W")).to_be_visible()
    expect(offline.get_by_role("button", name=re.compile("^set to 0"))).to_have_count(0)

    (tmp_path / "blank.html").write_text("<!doctype html><title>blank</title>", "utf-8")
    page = open_page(tmp_path / "blank.html")
    kernelled(page, tmp_path / "live.html", scenes.fork(), {"step": 7})
    page.goto((tmp_path / "live.html").as_uri())
    live = page.get_by_role("region", name="Backward pass debugger")
    node("x")(live)
    tab("Shares")(live)
    live.get_by_role("button", name="set to 0: share from x * x + x").click()
    expect(live.get_by_role("table", name="Ledger of ∂x").locator("td.tv-n").last).to_have_text("6")


def test_the_legend_shows_the_marks_as_they_are_in_the_picture(show):
    legend = show(gallery.cut(), step=6).get_by_role("group", name="Legend")
    expect(legend.get_by_text("detached")).to_be_visible()
    expect(legend.get_by_text("zeros")).to_be_visible()
    expect(legend.get_by_text("0 of 2 route")).to_be_visible()
    legend = show(gallery.broadcast(), step=6).get_by_role("group", name="Legend")
    expect(legend.get_by_text("Σ axis 0 unbroadcast")).to_be_visible()
    expect(legend.get_by_text("detached")).to_have_count(0)
    expect(legend.get_by_text("zeros")).to_have_count(0)
    legend = show(scenes.network(), step=100).get_by_role("group", name="Legend")
    expect(legend.get_by_text("unbroadcast")).to_have_text(" unbroadcast")  # a sign, as on its wires


def test_the_columns_of_a_mask_are_even(show):
    stepper = show(gallery.tie(), step=5)
    cells = stepper.get_by_role("table", name="routing mask").locator("td")
    expect(cells).to_have_count(12)
    widths = cells.evaluate_all("all => all.map(e => e.getBoundingClientRect().width)")
    assert max(widths) - min(widths) < 0.5


def test_what_can_be_done_with_a_share_stands_in_one_line_with_its_rule(open_page, tmp_path):
    (tmp_path / "blank.html").write_text("<!doctype html><title>blank</title>", "utf-8")
    page = open_page(tmp_path / "blank.html")
    kernelled(page, tmp_path / "live.html", scenes.fork(), {"step": 7})
    page.goto((tmp_path / "live.html").as_uri())
    live = page.get_by_role("region", name="Backward pass debugger")
    node("x")(live)
    tab("Shares")(live)
    expect(live.locator("div.tv-offers")).to_have_count(3)
    for offers in live.locator("div.tv-offers").all():
        assert len({round(e["y"] + e["height"]) // 6 for b in offers.get_by_role("button").all() if (e := b.bounding_box())}) == 1
    last = live.get_by_role("table", name="Ledger of ∂x").locator("tbody tr").last.bounding_box()
    panel = live.get_by_role("tabpanel").bounding_box()
    assert last and panel and last["y"] + last["height"] <= panel["y"] + panel["height"]


def test_a_large_array_beside_far_larger_numbers_is_a_picture_one_can_see(show):
    stepper = show(scenes.large(), step=0)
    node("W")(stepper)
    picture = stepper.get_by_role("tabpanel").locator("canvas.tv-picture").first
    expect(picture).to_be_visible()
    stepper.page.evaluate("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")
    spread = picture.evaluate(
        """(c) => { const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
        const red = Array.from({ length: d.length / 4 }, (_, i) => d[4 * i]); return Math.max(...red) - Math.min(...red); }"""
    )
    assert spread > 80  # of 255: W holds numbers up to 3, the pass up to 706
    expect(stepper.get_by_role("tabpanel")).to_contain_text("the picture is on its own scale")


def test_nothing_covers_the_buttons_over_the_picture(show):
    stepper = show(scenes.network(), step=100)
    for name in ("Zoom in", "Fit graph", "− block2", "step over"):
        button = stepper.get_by_role("button", name=name, exact=True).first
        expect(button).to_be_visible()
        assert button.evaluate(
            "e => { const r = e.getBoundingClientRect(); return e.contains(document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2)); }"
        )


def test_buttons_stand_over_no_numbers_that_cannot_be_moved_from_under_them(show):
    stepper = show(scenes.hostile(), width=1000)
    stepper.page.set_viewport_size({"width": 1000, "height": 660})  # as high as the picture, and narrower
    stepper.page.mouse.move(2, 2)
    stage = stepper.locator(".tv-stage")
    expect(stage).to_have_attribute("data-cut", re.compile("left|right"))
    expect(stepper.locator(".tv-zoom")).to_have_css("opacity", "0")
    scenes.node("v")(stepper)
    chips = stepper.get_by_role("group", name="Groups and node")
    box = stage.bounding_box()
    stepper.page.mouse.move(box["x"] + 200, box["y"] + box["height"] - 80)
    stepper.page.mouse.down()
    stepper.page.mouse.move(box["x"] + 200, box["y"] + box["height"] - 10, steps=3)
    stepper.page.mouse.up()
    expect(stepper.locator(".tv-zoom")).to_have_css("opacity", "1")
    top = stage.locator(".tv-cell").evaluate_all("all => Math.min(...all.map(e => e.getBoundingClientRect()).filter(r => r.width).map(r => r.top))")
    buttons = chips.get_by_role("button").evaluate_all("all => Math.max(...all.map(e => e.getBoundingClientRect().bottom))")
    assert top >= buttons


def test_the_buttons_of_a_pinned_node_stand_over_nothing_of_a_picture_that_fills_its_window(show):
    stepper = show(scenes.large(), width=1280, step=5)
    stepper.page.set_viewport_size({"width": 1280, "height": 720})
    stepper.page.emulate_media(reduced_motion="reduce")  # it is where it comes to rest at once
    scenes.node("W")(stepper)
    chips = stepper.get_by_role("group", name="Groups and node").get_by_role("button")
    words = stepper.get_by_label("Computation graph").get_by_text("(64, 48)", exact=True)
    assert words.bounding_box()["y"] >= max(chip.bounding_box()["y"] + chip.bounding_box()["height"] for chip in chips.all()) - 2


def test_the_legend_shows_what_a_backward_wire_looks_like_and_what_its_width_says(show):
    legend = show(gallery.broadcast()).get_by_role("group", name="Legend")
    said = legend.get_by_text("gradient, backward")
    wire = said.locator("i").evaluate(
        "e => [getComputedStyle(e).borderTopStyle, getComputedStyle(e).borderTopColor, getComputedStyle(e.parentElement).color]"
    )
    assert wire[0] == "dashed"
    assert wire[1] != wire[2]  # that of the gradient
    expect(legend).to_contain_text("width ‖∂‖ 2.449")
    # where all are as wide nothing is said of it
    expect(show(scenes.loop()).get_by_role("group", name="Legend")).to_contain_text(re.compile(r"saved for backward\s*gradient, backward$"))


def test_the_legend_says_that_the_thinnest_wire_stands_for_all_that_is_less_and_how_little_that_is(show):
    h = tv.tensor(1.0, requires_grad=True)
    for _ in range(7):
        h = h * 1e-25
    legend = show(h.backward()).get_by_role("group", name="Legend")
    expect(legend).to_contain_text("width ‖∂‖ ≤ 1e−33")  # 1e-8 of what the first wire brings
    expect(legend.get_by_title("How wide backward wires are; the least ‖∂‖ is 1e−175")).to_be_visible()


def test_the_scopes_of_a_network_stand_in_a_row_without_the_numbers_that_they_use(show):
    stepper = show(scenes.network(), step=100)
    whole = stepper.get_by_label("Computation graph")
    expect(whole.get_by_role("button", name="scope block")).to_have_count(12)
    assert whole.get_by_role("button", name=re.compile("^constant .* \\(\\)")).count() <= 2  # those of the loss


def test_a_neighbourhood_is_as_large_as_the_picture_above_it_in_a_lecture_hall(show):
    stepper = show(scenes.network(), step=100, presentation=True, width=1920)
    whole, near = (
        stepper.get_by_label(name).evaluate("e => e.getBoundingClientRect().width / e.viewBox.baseVal.width")
        for name in ("Computation graph", "Neighbourhood of the step")
    )
    assert min(whole, near) >= 1.4


def test_the_legend_grows_with_the_screen_of_a_lecture_hall(show):
    stepper = show(gallery.broadcast(), step=7, presentation=True, width=1920)
    stepper.page.set_viewport_size({"width": 1920, "height": 1080})
    words = stepper.get_by_role("group", name="Legend").get_by_text("saved for backward")
    assert words.evaluate("e => parseFloat(getComputedStyle(e).fontSize) * e.currentCSSZoom") >= 18


def test_the_brackets_of_a_pass_without_scopes_stay_where_few_names_have_room(show):
    stepper = show(scenes.loop(), step=5, width=800)
    expect(stepper.locator(".tv-bracket")).to_have_count(9)  # the seed, seven rules, .grad


def test_a_line_of_code_is_not_scrolled_where_its_expression_begins_in_sight(show):
    stepper = show(scenes.hostile(), step=0)
    node("v")(stepper)
    lines = stepper.get_by_role("group", name="Source lines").locator(".tv-lines")
    expect(lines.locator("mark")).to_contain_text("tv.tensor([[1e200")
    assert lines.evaluate("e => e.scrollLeft") == 0


def test_the_pages_of_a_pair_are_as_high_as_a_wide_window(show, open_page, tmp_path):
    trace = broadcast()
    pair(trace, trace).to_html(tmp_path / "pair.html")
    page = open_page(tmp_path / "pair.html", width=1920, height=1000)
    steppers = page.get_by_role("region", name="Backward pass debugger")
    expect(steppers).to_have_count(2)
    boxes = [steppers.nth(i).bounding_box() for i in range(2)]
    assert boxes[0] and boxes[1]
    assert boxes[0]["y"] == boxes[1]["y"]
    assert 900 < boxes[0]["y"] + boxes[0]["height"] <= 1000


def test_on_a_page_from_right_to_left_all_stands_as_it_was_written(show):
    stepper = show(broadcast(), step=7)
    places = "e => [...e.querySelectorAll('td, .tv-caption mark, .tv-graph text, .tv-bar button')].map(c => c.getBoundingClientRect()).map(r => [r.left, r.top])"
    before = stepper.evaluate(places)
    stepper.page.evaluate("document.documentElement.dir = 'rtl'")
    assert stepper.evaluate(places) == before


def test_where_the_system_forces_its_colours_what_is_chosen_and_the_scale_are_still_seen(show):
    stepper = show(broadcast())
    stepper.page.emulate_media(forced_colors="active")
    colours = "(all, what) => [...new Set(all.map(e => getComputedStyle(e)[what]))].length"
    assert stepper.locator(".tv-segments button").evaluate_all(colours, "backgroundColor") == 2
    assert stepper.locator(".tv-ramp").first.locator("*").evaluate_all(colours, "backgroundColor") > 4


@pytest.mark.parametrize(
    ("p", "q", "ringed"),
    [
        ((3, 1, 2), (2, 2), ["0", "2", "2"]),  # two rows of each block make one sum
        ((1, 2, 2), (3, 2, 2), ["0", "4", "8", "12"]),  # the same entry of every block
        ((3, 1, 1), (3, 2, 2), ["0", "1", "2", "3", "6"]),  # a whole block
    ],
)
def test_the_terms_of_a_sum_that_is_no_strip_of_the_table_are_ringed_and_no_word_is_cut_off(show, p, q, ringed):
    left, right = (tv.tensor(np.arange(float(np.prod(s))).reshape(s), requires_grad=True, name=n) for s, n in ((p, "p"), (q, "q")))
    trace = (left * right).sum().backward()
    stepper = show(trace, step=scenes.at("unbroadcast", 0, "p")(trace))
    drawn = stepper.locator("svg.tv-strips").first
    assert drawn.evaluate("e => [...e.querySelectorAll('.tv-cell.tv-first')].map(r => r.nextElementSibling.textContent)") == ringed
    outside = drawn.evaluate(
        "e => [...e.querySelectorAll('text')].filter(t => t.getBBox().x + t.getBBox().width > e.viewBox.baseVal.width).map(t => t.textContent)"
    )
    assert outside == []
    title, dims = (drawn.locator(f".{kind}").first.bounding_box() for kind in ("tv-part", "tv-dims"))
    assert title["x"] + title["width"] < dims["x"]


BROAD = "e => e.style.setProperty('--tv-sans', 'DejaVu Sans')"
"""The letters that JupyterLab asks for on many machines; those of a page are narrower here."""


def test_the_count_of_a_tab_is_in_its_line_or_not_seen(show):
    stepper = show(scenes.hostile(), width=980)
    stepper.evaluate(BROAD)
    cut = stepper.get_by_role("tab").evaluate_all(
        """tabs => tabs.map(e => [e, e.querySelector('.tv-count').getBoundingClientRect(), e.getBoundingClientRect()])
        .filter(([, count, tab]) => count.width && count.bottom > tab.bottom && count.top < tab.bottom - 2).map(([e]) => e.textContent)"""
    )
    assert cut == []


def test_the_key_of_the_search_gives_its_room_to_the_words_where_a_kernel_fills_the_bar(show):
    for width, seen in ((1104, True), (980, False)):
        expect(show(gallery.broadcast(), width=width).locator(".tv-find kbd")).to_be_visible(visible=seen)


def test_a_number_of_the_sentence_is_not_broken_at_the_end_of_a_line(show):
    trace = gallery.staged()
    for width in (1104, 800, 640):
        stepper = show(trace, width=width, step=scenes.at("accumulate", 1, "x")(trace))
        stepper.evaluate(BROAD)
        rows = stepper.locator(".tv-caption").evaluate(
            "e => [...e.querySelectorAll('mark, .tv-g')].map(m => [m.getClientRects().length, m.offsetHeight < 2 * parseFloat(getComputedStyle(m).lineHeight)])"
        )
        assert rows == [[1, True]] * 3, width


def test_the_box_around_the_terms_of_a_sum_is_closed_where_the_line_ends(show):
    c = np.array([[-0.1546, 1.0], [-0.04035, 1.0], [-0.006787, 1.0], [-0.0009366, 1.0]])
    trace = ((c + tv.tensor([0.1, -0.2], requires_grad=True, name="b")) * c).sum().backward()
    stepper = show(trace, width=1104, step=scenes.at("unbroadcast")(trace))
    box = stepper.locator(".tv-strip-box").first
    assert box.evaluate("e => e.getClientRects().length") > 1
    expect(box).to_have_css("-webkit-box-decoration-break", "clone")


def test_a_cell_is_named_once_above_its_code(show):
    names: dict[str, object] = {"tv": tv}
    exec(compile("x = tv.tensor([1.0, 2.0], requires_grad=True)\ny = (x * x).sum()\ntrace = y.backward()", "cell [3]", "exec"), names)
    stepper = show(names["trace"], step=2)
    tab("Source")(stepper)
    panel = stepper.get_by_role("tabpanel")
    expect(panel).to_contain_text("cell [3], line 2")
    assert panel.inner_text().count("cell [3]") == 1


def test_a_low_picture_leaves_its_room_to_the_inspector_and_what_is_pinned_and_changed_shares_a_line(open_page, tmp_path):
    (tmp_path / "blank.html").write_text("<!doctype html><title>blank</title>", "utf-8")
    page = open_page(tmp_path / "blank.html", height=720)
    kernelled(page, tmp_path / "live.html", scenes.wrong(), {"step": 5})
    page.goto((tmp_path / "live.html").as_uri())
    stepper = page.get_by_role("region", name="Backward pass debugger")
    expect(stepper).to_have_attribute("data-stacked", "")
    inspector, picture = (stepper.locator(name).bounding_box() for name in (".tv-inspector", ".tv-graph-pane"))
    assert inspector["height"] > picture["height"]
    assert inspector["y"] > picture["y"]
    node("x")(stepper)
    scenes.edited("x[0]", "0.75")(stepper)
    rows = [stepper.get_by_role("group", name=name).bounding_box()["y"] for name in ("Changes", "Pinned")]
    assert rows[0] == rows[1]


def test_both_scales_of_the_legend_stand_in_one_line_beside_the_small_map(show):
    h = tv.tensor([1000.0, 0.5], requires_grad=True)
    for _ in range(12):
        h = np.abs(h)
    stepper = show((h * 2.852).sum().backward(), width=1004)
    stepper.evaluate(BROAD)
    expect(stepper.locator(".tv-mini")).to_be_visible()
    rows = stepper.locator(".tv-legend > *").evaluate_all("all => all.slice(0, 2).map(e => e.offsetTop)")
    assert rows[0] == rows[1]


def test_a_zero_of_a_sum_stands_in_a_cell_that_is_seen(show):
    p, q = (tv.tensor(np.arange(float(np.prod(s))).reshape(s), requires_grad=True, name=n) for s, n in (((3, 1, 2), "p"), ((2, 2), "q")))
    trace = (p * q).sum().backward()
    zero = show(trace, step=scenes.at("unbroadcast", 0, "p")(trace)).locator(".tv-strips .tv-cell:not(.tv-first)").nth(2)
    assert zero.evaluate("e => getComputedStyle(e).stroke") != "none"
