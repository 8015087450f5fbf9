"""The offline page in a real browser: every control by its accessible name, the keyboard, the themes, and nothing from the network."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from playwright.sync_api import expect

import tensorviz as tv
from browser.steppers import at, broadcast
from tensorviz.trace import Trace

BUTTONS = ("First step", "Previous step", "Play / Pause", "Next step", "Last step", "Previous breakpoint", "Next breakpoint")
TABS = ("Node", "Shares", "Saved values", "Check", "Source", "Findings")


def shared() -> Trace:
    x = tv.tensor(3.0, requires_grad=True)
    y = x * x + x
    return y.backward()


def routed() -> Trace:
    A = tv.tensor([[0.2, 1.5, 1.5, -0.3], [-np.inf, 0.7, 2.1, 0.4], [3.0, -1.2, 0.8, 2.9]], requires_grad=True)
    w = tv.tensor([1.0, -2.0, 0.5], requires_grad=True)
    m = A.max(axis=1)
    L = w @ m
    return L.backward()


def step_of(trace: Trace, kind: str, name: str, which: int = 0) -> int:
    return [k for k, s in enumerate(trace.steps) if s.kind == kind and trace.nodes[s.node].name == name][which]


def test_every_control_has_its_name_and_does_what_it_says(show):
    stepper = show(broadcast())
    at(stepper, 0)
    for name in BUTTONS:
        expect(stepper.get_by_role("button", name=name, exact=True)).to_be_visible()
    for name in TABS:
        expect(stepper.get_by_role("tab", name=name, exact=True)).to_be_visible()
    expect(stepper.get_by_role("slider", name="Step")).to_have_value("1")
    expect(stepper.get_by_role("searchbox", name="Find node")).to_be_visible()
    expect(stepper.locator(".tv-legend")).to_contain_text(re.compile(r"‖∂‖ 2.449\s+26.38 log"))
    graph = stepper.get_by_label("Computation graph")
    expect(graph.get_by_role("button", name="leaf X (2, 3)")).to_be_visible()
    expect(graph.get_by_role("button", name="sum L ()")).to_be_attached()
    stepper.get_by_role("button", name="Next step").click()
    at(stepper, 1)
    stepper.get_by_role("button", name="Last step").click()
    at(stepper, 10)
    stepper.get_by_role("button", name="Previous step").click()
    at(stepper, 9)
    stepper.get_by_role("button", name="Previous breakpoint").click()
    at(stepper, 7)
    expect(stepper.get_by_role("status")).to_have_text(re.compile(r"^Step 8 of 11: Forward copied b along axis 0"))
    stepper.get_by_role("button", name="First step").click()
    at(stepper, 0)


def test_the_keyboard_reaches_everything(show):
    stepper = show(broadcast())
    stepper.focus()
    press = stepper.page.keyboard.press
    for key, step in (("ArrowRight", 1), ("End", 10), ("ArrowLeft", 9), ("Home", 0), ("Shift+ArrowRight", 7), ("Shift+ArrowLeft", 7)):
        press(key)
        at(stepper, step)
    press("/")
    stepper.page.keyboard.type("add")
    press("Enter")
    expect(stepper.get_by_role("tabpanel")).to_contain_text("X + b")
    expect(stepper.locator("[data-node][data-selected]")).to_have_attribute("data-node", "2")
    press("Escape")
    press("Escape")
    expect(stepper.locator("[data-node][data-selected]")).to_have_count(0)
    press("?")
    expect(stepper.get_by_role("dialog", name="Keys and marks")).to_be_visible()
    press("Escape")
    expect(stepper.get_by_role("dialog", name="Keys and marks")).to_be_hidden()
    stepper.locator("[data-node='0']").focus()
    press("ArrowDown")
    expect(stepper.locator("[data-node='1']")).to_be_focused()
    press("Enter")
    expect(stepper.get_by_role("tabpanel")).to_contain_text("leaf · (3,)")


def test_every_operand_and_every_user_of_a_node_is_reached_by_keys(show):
    x = tv.tensor(2.0, requires_grad=True)
    parts = [x * float(k) for k in range(1, 7)]
    stepper = show((np.stack(parts) * 2.0).sum().backward())
    users = [stepper.get_by_role("button", name="mul ()").nth(k) for k in range(6)]
    stepper.get_by_role("button", name=re.compile("^leaf x")).focus()
    press = stepper.page.keyboard.press
    press("]")
    for user in users:
        expect(user).to_be_focused()
        press(".")
    expect(users[0]).to_be_focused()
    press(",")
    expect(users[5]).to_be_focused()
    press("]")
    expect(stepper.get_by_role("button", name=re.compile("^stack"))).to_be_focused()
    press("[")
    expect(users[0]).to_be_focused()
    press("[")
    press(".")
    expect(stepper.get_by_role("button", name=re.compile(r"^constant 1 "))).to_be_focused()
    press(".")
    expect(stepper.get_by_role("button", name=re.compile("^leaf x"))).to_be_focused()


def test_with_alt_the_arrows_go_along_the_wires(show):
    stepper = show(broadcast())
    node = lambda name: stepper.get_by_role("button", name=re.compile(f"^{name}"))  # noqa: E731 - one line that reads as a noun
    node("leaf X").focus()
    for key, name in (("Right", "add"), ("Right", "pow"), ("Left", "add"), ("Left", "leaf X"), ("Down", "leaf b"), ("Up", "leaf X")):
        stepper.page.keyboard.press(f"Alt+Arrow{key}")
        expect(node(name)).to_be_focused()
    at(stepper, 0)


def test_a_search_with_many_hits_says_how_many_more_there_are(show):
    x = tv.tensor(0.5, requires_grad=True)
    for _ in range(40):
        x = np.tanh(x)
    stepper = show(x.backward())
    box = stepper.get_by_role("searchbox", name="Find node")
    box.fill("tanh")
    found = stepper.get_by_role("listbox", name="Nodes found")
    expect(found.get_by_role("option")).to_have_count(12)
    expect(found).to_contain_text("and 28 more: write more of the name")
    box.fill("leaf")
    expect(found.get_by_role("option")).to_have_count(1)
    expect(found).not_to_contain_text("more")


def test_the_slider_steps_with_the_arrow_keys_and_reads_its_sentence(show):
    stepper = show(broadcast())
    slider = stepper.get_by_role("slider", name="Step")
    slider.focus()
    stepper.page.keyboard.press("ArrowRight")
    at(stepper, 1)
    slider.fill("8")
    at(stepper, 7)
    assert "summed over axis 0" in (slider.get_attribute("aria-valuetext") or "")


def test_playing_goes_to_the_end_by_itself(show):
    stepper = show(shared())
    stepper.get_by_role("combobox", name="Speed").select_option("8")
    stepper.get_by_role("button", name="node", exact=True).click()
    play = stepper.get_by_role("button", name="Play / Pause")
    play.click()
    at(stepper, len(shared().steps) - 1)
    expect(play).to_have_attribute("aria-pressed", "false")


def test_at_an_unbroadcast_the_axes_are_named_and_the_sum_is_spelled_out(show):
    trace = broadcast()
    stepper = show(trace, step=step_of(trace, "unbroadcast", "b"))
    panel = stepper.get_by_role("tabpanel")
    expect(panel).to_contain_text("summed over axis 0: (2, 3) becomes (3,)")
    expect(panel).to_contain_text("2.2 + 8.2 = 10.4")
    expect(panel).to_contain_text("axis 0 is dropped")
    expect(stepper.locator("[data-edge][data-active]")).to_have_attribute("data-edge", "2:1")
    expect(stepper.locator("[data-node][data-active]")).to_have_attribute("data-node", "1")


@pytest.mark.parametrize(
    ("operand", "strips", "axes", "fates"),
    [
        ((1, 4), 4, ["axes 0, 1"], ["axis 0 is dropped", "axis 1 is kept as size 1"]),
        ((4,), 4, ["axes 0, 1"], ["axes 0, 1 are dropped"]),
        ((2, 3, 1), 6, ["axis 2"], ["axis 2 is kept as size 1"]),
        ((), 1, ["axes 0, 1", "axis 2"], ["axes 0, 1, 2 are dropped"]),
    ],
)
def test_sums_over_axes_of_a_cube_are_strips_where_they_run_together(show, operand, strips, axes, fates):
    x = tv.tensor(np.ones(operand), requires_grad=True, name="x")
    trace = (x * np.arange(24.0).reshape(2, 3, 4)).sum().backward()
    picture = show(trace, step=step_of(trace, "unbroadcast", "x")).get_by_role("img", name=re.compile("^local share"))
    expect(picture.locator(".tv-strip")).to_have_count(strips)
    expect(picture.locator(".tv-axis-name")).to_have_text(axes)
    expect(picture.locator(".tv-fate")).to_have_text(fates)


@pytest.mark.parametrize(
    ("shape", "operand"), [((2, 3), (3,)), ((2, 3), (2, 1)), ((2, 5), (5,)), ((2, 5), (2, 1)), ((2, 3, 4), (1, 4)), ((6, 5), (1, 5))]
)
@pytest.mark.parametrize("number", [1.0, -1.2345e-7])
def test_a_sum_is_never_drawn_so_small_that_it_cannot_be_read(show, shape, operand, number):
    x = tv.tensor(np.ones(operand), requires_grad=True, name="x")
    trace = (x * np.full(shape, number)).sum().backward()
    panel = show(trace, step=step_of(trace, "unbroadcast", "x")).get_by_role("tabpanel")
    picture, table = panel.locator(".tv-strips"), panel.get_by_role("table", name=f"local share {shape}")
    expect(picture.or_(table).first).to_be_visible()
    if picture.count():  # 13 px at its own size
        assert picture.evaluate("e => 13 * e.clientWidth / e.viewBox.baseVal.width") >= 12


def test_a_high_cube_whose_axes_are_summed_apart_is_shown_as_it_is(show):
    x = tv.tensor(np.ones((3, 1)), requires_grad=True, name="x")
    trace = (x * np.arange(48.0).reshape(4, 3, 4)).sum().backward()
    panel = show(trace, step=step_of(trace, "unbroadcast", "x")).get_by_role("tabpanel")
    expect(panel.locator(".tv-strips")).to_have_count(0)
    expect(panel.get_by_role("table", name="local share (4, 3, 4)")).to_be_visible()


def test_at_a_fork_the_ledger_holds_each_share_and_the_running_sum(show):
    trace = shared()
    stepper = show(trace, step=step_of(trace, "accumulate", "x", 2))
    stepper.get_by_role("tab", name="Shares").click()
    rows = stepper.get_by_role("table", name="Ledger of ∂x").locator("tbody tr")
    expect(rows).to_have_count(3)
    shares = trace.node("x").shares
    for row, share in zip(rows.all(), shares, strict=True):
        expect(row.locator("td").nth(3)).to_have_text(f"{share.value:g}")
        expect(row.locator("td").nth(4)).to_have_text(f"{share.total:g}")
    expect(stepper.get_by_role("tabpanel")).to_contain_text("∂x = 7")


def test_at_a_max_the_winners_are_ringed_with_their_fractions(show):
    trace = routed()
    stepper = show(trace, step=step_of(trace, "accumulate", "A"))
    cells = stepper.get_by_role("table", name="routing mask").locator("td")
    won = [i for i in range(12) if cells.nth(i).get_attribute("data-won") is not None]
    assert won == [1, 2, 6, 8]
    assert "½" in cells.nth(1).inner_text()
    expect(stepper.get_by_role("tabpanel")).to_contain_text("4 of 12 selected")
    stepper.get_by_role("tab", name="Check").click()
    expect(stepper.get_by_role("tabpanel")).to_contain_text("nonsmooth")


def test_the_source_line_and_the_expression_are_marked(show):
    trace = broadcast()
    stepper = show(trace, step=step_of(trace, "unbroadcast", "b"))
    source = stepper.get_by_label("Source lines")
    expect(source.locator(".tv-now")).to_contain_text("L = ((X + b) ** 2).sum()")
    expect(source.locator("mark")).to_have_text("X + b")


@pytest.mark.parametrize(
    ("theme", "system", "dark"), [("auto", "dark", True), ("auto", "light", False), ("light", "dark", False), ("dark", "light", True)]
)
def test_the_theme_follows_the_system_unless_forced(show, theme, system, dark):
    stepper = show(broadcast(), theme=theme, color_scheme=system)
    colour = stepper.evaluate("e => getComputedStyle(e).backgroundColor")
    assert colour == ("rgb(21, 24, 28)" if dark else "rgb(255, 255, 255)")
    around = stepper.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (around == colour) == dark


@pytest.mark.parametrize("theme", ["light", "dark", "cs231n"])
def test_text_is_large_and_clear_enough(show, theme):
    trace = broadcast()
    stepper = show(trace, theme=theme, step=step_of(trace, "unbroadcast", "b"))
    small = stepper.evaluate(SMALL_OR_PALE)
    assert small == []


SMALL_OR_PALE = """root => {
  const luminance = c => { const [r, g, b] = c.map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const probe = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgba = css => { probe.clearRect(0, 0, 1, 1); probe.fillStyle = css; probe.fillRect(0, 0, 1, 1); return [...probe.getImageData(0, 0, 1, 1).data]; };
  const behind = e => { for (; e; e = e.parentElement) { const c = rgba(getComputedStyle(e).backgroundColor); if (c[3] > 250) return c.slice(0, 3); } return [255, 255, 255]; };
  const found = [];
  for (const e of root.querySelectorAll('*')) {
    if (e.closest('svg') || ![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()) || !e.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    const style = getComputedStyle(e);
    if (e.matches('.tv-hidden, option') || e.closest('[aria-disabled]')) continue;
    if (parseFloat(style.fontSize) < 12) found.push(`${e.className || e.tagName} is ${style.fontSize}`);
    const [a, b] = [luminance(rgba(style.color).slice(0, 3)), luminance(behind(e))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) found.push(`${e.className || e.tagName} "${e.textContent.slice(0, 20)}" has contrast ${((a + 0.05) / (b + 0.05)).toFixed(2)}`);
  }
  for (const e of root.querySelectorAll('svg text')) if (parseFloat(getComputedStyle(e).fontSize) < 12) found.push(`${e.getAttribute('class')} is ${getComputedStyle(e).fontSize}`);
  return found;
}"""


@pytest.mark.parametrize("width", [1280, 900])
def test_nothing_is_wider_than_the_stepper_and_nothing_moves_while_stepping(show, width):
    stepper = show(routed(), width=width)
    size = stepper.bounding_box()
    places = stepper.evaluate(PLACES)
    for _ in range(len(routed().steps) - 1):
        stepper.page.keyboard.press("ArrowRight") if stepper.evaluate("e => e.contains(document.activeElement)") else stepper.press("ArrowRight")
        assert stepper.evaluate(PLACES) == places
    assert stepper.bounding_box() == size
    assert (
        stepper.evaluate(
            "e => [...e.querySelectorAll('.tv-bar, .tv-timeline, .tv-tabs')].filter(p => p.scrollWidth > p.clientWidth + 1).map(p => p.className)"
        )
        == []
    )


def test_a_warning_at_the_end_of_the_tabs_is_seen_whole_however_long_the_counts(show):
    x = tv.tensor(np.array([-1.0, 2.0]), requires_grad=True, name="x")
    trace = (np.maximum(x - 5.0, 0.0) * x).sum().backward()
    assert trace.check().ok
    stepper = show(trace, width=1280)
    expect(stepper.get_by_role("tab", name="Check").locator(".tv-count")).to_have_text("✓")
    for count in ("2/2", "12/12", "1234/1234"):
        stepper.get_by_role("tab", name="Shares").locator(".tv-count").evaluate("(e, count) => { e.dataset.count = count; }", count)
        over = stepper.get_by_role("tab", name="Findings").evaluate(
            "e => e.getBoundingClientRect().right - e.parentElement.getBoundingClientRect().right"
        )
        assert over <= 0, count


@pytest.mark.parametrize("width", [320, 400, 440, 880])
def test_no_tab_covers_another_however_narrow_the_row(show, width):
    x = tv.tensor(np.array([0.0, 4.0]), requires_grad=True, name="x")
    with np.errstate(all="ignore"):
        stepper = show((np.sqrt(x) * x).sum().backward(), width=width)
    expect(stepper.get_by_role("tab", name="Findings")).to_have_attribute("data-level", "err")
    for count in ("2/2", "12/12", "1234/1234"):
        stepper.get_by_role("tab", name="Shares").locator(".tv-count").evaluate("(e, count) => { e.dataset.count = count; }", count)
        hidden = stepper.get_by_role("tablist", name="Inspector").evaluate(
            """e => [...e.children].filter(tab => {
                const r = tab.getBoundingClientRect(), name = document.createRange();
                name.selectNodeContents(tab.firstChild);
                const ends = [name.getBoundingClientRect(), ...(tab.dataset.level ? [tab.lastChild.getBoundingClientRect()] : [])];
                return ends.some(end => end.right > r.right || end.bottom > r.bottom || document.elementFromPoint(end.right - 1, end.top + 8)?.closest("button") !== tab);
            }).map(tab => tab.textContent)"""
        )
        assert hidden == [], count


PLACES = """e => [...e.querySelectorAll('.tv-bar, .tv-timeline, .tv-caption, .tv-graph-pane, .tv-source, .tv-inspector')].map(p => {
  const r = p.getBoundingClientRect(); return [p.className, r.x, r.y, r.width, r.height].join(' '); })"""


def test_less_motion_is_respected(show):
    stepper = show(broadcast())
    stepper.page.emulate_media(reduced_motion="reduce")
    assert stepper.locator(".tv-handle").evaluate("e => getComputedStyle(e).transitionDuration") == "0s"


HOSTILE = {
    "tag": "<img src=x onerror=globalThis.ran=1>",
    "script": "</script><script>globalThis.ran=1</script>",
    "quotes": '"\'`onmouseover=globalThis.ran=1 x="',
    "svg": "</title></svg></style><svg onload=globalThis.ran=1>",
    "template": "${globalThis.ran=1}\\u003c]]>&lt;&#60;",
    "control": "a\x00\x07\x1b[31m\ud800\n\t\u202e\u2028b",
    "right-to-left": "\u0634\u0628\u0643\u0629 \u05d0\u05d1\u05d2",
    "long": "x" * 50_000,
}
DAILY = ("tag", "quotes", "long")


@pytest.mark.parametrize("name", [pytest.param(text, id=kind, marks=() if kind in DAILY else pytest.mark.slow) for kind, text in HOSTILE.items()])
def test_hostile_names_neither_run_nor_break_anything(show, name):
    """As a name, as a scope and as the title of the page, in every section and on every step; pages are watched for errors."""
    x = tv.tensor([1.0, 2.0], requires_grad=True, name=name)
    with tv.scope(name.replace("/", "|")):
        y = x * x + 1.0
    stepper = show(y.backward([1.0, 1.0]), title=name)
    asked: list[str] = []
    stepper.page.on("dialog", lambda dialog: (asked.append(dialog.message), dialog.dismiss()))
    whole = stepper.bounding_box()
    for tab in TABS:
        stepper.get_by_role("tab", name=tab, exact=True).click()
        stepper.focus()
        stepper.page.keyboard.press("Home")
        for k in range(1, len(y.trace.steps)):
            stepper.page.keyboard.press("ArrowRight")
            at(stepper, k)
    stepper.get_by_role("searchbox", name="Find node").fill(name[:6])
    assert stepper.page.evaluate("globalThis.ran") is None
    assert asked == []
    assert stepper.page.locator("img, svg[onload], [onmouseover], [onerror]").count() == 0
    assert stepper.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert stepper.bounding_box() == whole


def test_a_step_on_a_picture_of_two_hundred_nodes_touches_only_what_changes(show):
    x = tv.tensor(0.5, requires_grad=True)
    y = x
    for _ in range(60):
        y = np.tanh(y) * 1.01
    stepper = show(y.backward(), step=60)
    touched = stepper.evaluate(
        """async root => {
          const seen = new Set();
          const watch = new MutationObserver(list => list.forEach(m => seen.add(m.target)));
          watch.observe(root.querySelector('.tv-graph'), { subtree: true, attributes: true, childList: true, characterData: true });
          const slider = root.querySelector('.tv-slider');
          slider.value = +slider.value + 1;
          slider.dispatchEvent(new Event('input'));
          await new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)));
          return seen.size;
        }"""
    )
    assert 0 < touched < 25


def test_a_step_lays_out_the_panes_that_change_and_never_the_whole_page(show):
    """Each pane is an island to the browser; one that is not makes it lay out everything around, and a step half as slow again."""
    x = tv.tensor([0.5, -0.5], requires_grad=True)
    y = x
    for _ in range(12):
        y = np.tanh(y) * 1.01
    stepper = show(y.sum().backward(), step=30)
    browser = stepper.page.context.browser
    assert browser is not None
    stepper.press("ArrowRight")
    at(stepper, 31)
    browser.start_tracing(page=stepper.page, categories=["devtools.timeline"])
    for k in range(32, 40):
        stepper.page.keyboard.press("ArrowRight")
        at(stepper, k)
    layouts = [event for event in json.loads(browser.stop_tracing())["traceEvents"] if event["name"] == "Layout"]
    roots = [root["depth"] for event in layouts for root in event["args"].get("endData", {}).get("layoutRoots", [])]
    assert len(roots) >= 8
    assert min(roots) > 1  # 1: the page


def test_dragging_over_five_hundred_steps_ends_where_the_slider_stands(show):
    x = tv.tensor(0.5, requires_grad=True)
    y = x
    for _ in range(130):
        y = np.tanh(y) * 1.01
    trace = y.backward()
    assert len(trace.steps) > 500
    stepper = show(trace)
    stepper.evaluate(
        """root => {
          const slider = root.querySelector('.tv-slider');
          for (let k = 1; k <= 501; k++) { slider.value = k; slider.dispatchEvent(new Event('input')); }
        }"""
    )
    at(stepper, 500)
    expect(stepper.get_by_role("status")).to_have_text(re.compile("^Step 501 of"))
    expect(stepper.locator("[data-node][data-active], [data-group][data-active]")).to_have_count(1)


def test_of_a_large_picture_only_what_is_in_sight_is_drawn(show):
    """So that a step costs the same on 3,000 nodes as on 100."""
    xs = [tv.tensor([0.1 * i, 0.2], requires_grad=True, name=f"x{i}") for i in range(8)]
    for _ in range(9):
        xs = [np.tanh(xs[i] * xs[(i + 1) % 8]) for i in range(8)]
    trace = tv.stack(xs).sum().backward()
    stepper = show(trace, step=0)
    for step in (0, len(trace.steps) // 2, len(trace.steps) - 1):
        stepper.get_by_role("slider", name="Step").fill(str(step + 1))
        at(stepper, step)
        assert stepper.locator(".tv-graph [data-node]").count() + stepper.locator(".tv-graph [data-group]").count() < 80
        expect(stepper.locator(".tv-graph [data-node][data-active]")).to_be_in_viewport()
