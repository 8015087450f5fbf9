"""The inspector in a real browser, offline: nothing is cut off, what is wrong is pointed at, code and nodes lead to each other."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from playwright.sync_api import Locator, expect

import tensorviz as tv
from tensorviz.trace import Trace
from views import gallery


def matrices() -> Trace:
    W = tv.tensor([[0.25, -0.5], [1.125, 0.75], [-2.5, 0.125]], requires_grad=True)
    h = np.tanh(W)
    L = (h * W).sum() + (h**3).sum()
    return L.backward()


def strange() -> Trace:
    x = tv.tensor([1.0, 0.0, 4.0, -1.0], requires_grad=True)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        s = np.sqrt(x)
        L = (np.log(s) * x).sum()
        return L.backward()


def unrolled() -> Trace:
    w = tv.tensor(0.5, requires_grad=True)

    def cell(h, x):
        return np.tanh(w * h + x)

    h = tv.tensor(0.25)
    for t in range(5):
        h = cell(h, 0.3 * t)
    L = h * h
    return L.backward()


def fits(element: Locator) -> None:
    """Nothing of an element stands beyond its right edge."""
    inner, outer = element.evaluate("e => [e.scrollWidth, e.clientWidth]")
    assert inner <= outer, f"{inner - outer} px are cut off"


@pytest.mark.parametrize("width", [1280, 900, 813])
def test_tabs_and_ledger_have_room(show, width):
    trace = matrices()
    last = next(k for k, s in reversed(list(enumerate(trace.steps))) if s.kind == "accumulate")
    stepper = show(trace, width=width, step=last)
    fits(stepper.get_by_role("tablist", name="Inspector"))
    ledger = stepper.get_by_role("table", name=re.compile("^Ledger"))
    expect(ledger.get_by_role("columnheader", name="running sum")).to_be_visible()
    fits(ledger.locator(".."))
    sums = ledger.locator("tbody tr[data-when='now'] td.tv-n")
    left, right = sums.nth(0).bounding_box(), sums.nth(1).bounding_box()
    words = sums.nth(1).evaluate("e => { const r = document.createRange(); r.selectNodeContents(e); return r.getBoundingClientRect().x; }")
    assert words - (left["x"] + left["width"]) >= 10, "share and running sum touch"
    assert right["x"] + right["width"] <= stepper.get_by_role("tabpanel").evaluate("e => e.getBoundingClientRect().right")


@pytest.mark.parametrize("width", [1280, 900])
def test_the_ledger_breaks_no_word_of_where_a_share_is_from(show, width):
    h = tv.tensor(0.7, requires_grad=True, name="h")
    a_name_with_many_parts = np.exp(h)
    trace = (np.tanh(h) * 0.5 + a_name_with_many_parts * np.maximum(h, 0)).backward()
    stepper = show(trace, width=width, step=max(k for k, s in enumerate(trace.steps) if s.kind == "accumulate"))
    ledger = stepper.get_by_role("table", name="Ledger of ∂h")
    fits(ledger.locator(".."))
    lines = ledger.locator("code").evaluate_all(
        """all => all.map(code => {
            const lines = new Map(), range = document.createRange();
            for (const piece of code.childNodes) {
                range.selectNodeContents(piece);
                for (const r of range.getClientRects()) if (r.width) lines.set(r.top, (lines.get(r.top) ?? "") + piece.data);
            }
            return [...lines.values()];
        })"""
    )
    assert sorted(lines) == [["a_name_with_", "many_parts"], ["maximum"], ["np.tanh(h)"]]


def test_infinities_of_both_signs_that_are_born_are_not_told_as_one_sign(show):
    with np.errstate(all="ignore"):
        trace = (np.array([1.0, -1.0]) / tv.tensor(np.zeros(2), requires_grad=True)).sum().backward()
    stepper = show(trace)
    stepper.get_by_role("note").get_by_role("button").first.click()
    expect(stepper.get_by_role("tabpanel")).to_contain_text("2 ∞ born here")


def test_a_nan_is_pointed_at_from_the_first_step(show):
    stepper = show(strange())
    findings = stepper.get_by_role("tab", name="Findings")
    expect(findings).to_have_attribute("data-level", "err")
    note = stepper.get_by_role("note")
    expect(note).to_contain_text("is born")
    note.get_by_role("button", name="s", exact=True).click()
    expect(stepper.get_by_role("tabpanel")).to_contain_text("1 NaN born here")
    note.get_by_role("button", name="Why?").click()
    expect(findings).to_have_attribute("aria-selected", "true")
    stepper.get_by_role("tab", name="Node", exact=True).click()
    expect(note).to_have_count(0)
    expect(show(matrices()).get_by_role("tab", name="Findings")).not_to_have_attribute("data-level", "err")


def test_truth_values_are_letters_and_are_read_aloud_as_words(show):
    x = tv.tensor([3.0, -1.0], requires_grad=True, name="x")
    mask = x > 0
    trace = np.where(mask, x, x * mask).sum().backward()
    stepper = show(trace)
    stepper.get_by_role("searchbox", name="Find node").fill("mask")
    stepper.get_by_role("searchbox", name="Find node").press("Enter")
    cells = stepper.get_by_role("tabpanel").get_by_role("gridcell")
    expect(cells).to_have_text(["T", "F"])
    expect(cells.first).to_have_accessible_name("mask[0] is True")
    grey, plain = (cells.nth(i).evaluate("e => getComputedStyle(e).backgroundColor") for i in (0, 1))
    assert grey != plain
    expect(stepper.locator(".tv-cell.tv-true")).to_have_count(1)


def test_a_route_to_what_was_broadcast_says_how_many_copies_were_chosen(show):
    b = tv.tensor([2.0, 3.0, 4.0], requires_grad=True, name="b")
    trace = np.maximum(np.array([[1.0, 5.0, 3.0], [4.0, 2.0, 6.0]]), b).sum().backward()
    stepper = show(trace, step=next(k for k, s in enumerate(trace.steps) if s.kind == "accumulate" and s.share.route is not None))
    expect(stepper.get_by_role("status").first).to_contain_text("3 of 6 copied elements of b were chosen")
    expect(stepper.get_by_role("tabpanel")).to_contain_text("3 of 6 copies selected")
    expect(stepper.locator("[data-badge=route]").first).to_contain_text("3 of 6")
    expect(stepper.locator(".tv-flag title").get_by_text("route 3 of 6", exact=True)).to_be_attached()


def test_the_tabs_are_walked_with_the_arrows(show):
    stepper = show(matrices())
    stepper.get_by_role("tab", name="Node", exact=True).focus()
    for name in ("Shares", "Saved values", "Check", "Source", "Findings", "Node"):
        stepper.page.keyboard.press("ArrowRight")
        expect(stepper.get_by_role("tab", name=name, exact=True)).to_be_focused()
        expect(stepper.get_by_role("tab", name=name, exact=True)).to_have_attribute("aria-selected", "true")
    expect(stepper).to_have_attribute("data-step", "0")


def test_the_panel_is_named_by_the_tab_that_is_open(show):
    stepper = show(matrices())
    for name in ("Node", "Shares", "Saved values", "Check", "Source", "Findings"):
        stepper.get_by_role("tab", name=name, exact=True).click()
        expect(stepper.get_by_role("tabpanel", name=name, exact=True)).to_be_visible()
    ids = stepper.evaluate("e => [...e.querySelectorAll('[id]:not(svg *)')].map(e => e.id)")
    assert len(ids) == len(set(ids))


def test_an_exponent_is_set_as_one_and_large_enough_to_read(show):
    trace = matrices()
    node = trace.nodes[next(n.id for n in trace.nodes if n.op == "pow")]
    step = next(k for k, s in enumerate(trace.steps) if s.kind == "accumulate" and s.share.consumer == node.id)
    stepper = show(trace, step=step)
    powers = stepper.get_by_role("tabpanel").locator(".tv-whole")
    powers.first.wait_for()
    sizes = powers.evaluate_all("es => es.map(e => [...e.children].map(c => [c.textContent, parseFloat(getComputedStyle(c).fontSize)]))")
    assert sizes
    for base, exponent in sizes:
        assert base[0] == "h" or float(base[0].strip("()").replace("−", "-"))
        assert exponent[0] == "3−1"
        assert 12 <= exponent[1] < base[1]


def test_code_leads_to_its_nodes_and_nodes_to_their_code(show):
    stepper = show(unrolled())
    strip = stepper.get_by_role("group", name="Source lines")
    stepper.get_by_label("Computation graph").get_by_role("button", name=re.compile("^tanh")).first.focus()
    stepper.page.keyboard.press("Enter")
    expect(strip.locator("mark")).to_have_text("np.tanh(w * h + x)")
    expect(strip).to_contain_text("1st of 5 times")
    code = strip.locator(".tv-now").get_by_role("button", name=re.compile("^Select add: .*5 nodes$")).first
    code.click()
    expect(strip).to_contain_text("1st of 5 times")
    expect(strip.locator("mark")).to_have_text("w * h + x")
    again = strip.locator(".tv-now").get_by_role("button", name=re.compile("^Select add")).first
    again.focus()
    stepper.page.keyboard.press("Enter")
    expect(strip).to_contain_text("2nd of 5 times")


def test_a_long_line_is_scrolled_to_its_expression(show):
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    a_rather_long_name_for_a_result = (np.exp(x) + np.exp(x * 2.0) + np.exp(x * 3.0) + np.exp(x * 4.0)).sum() + np.log(x).sum() + np.sqrt(x).sum()
    trace = a_rather_long_name_for_a_result.backward()
    node = next(n.id for n in trace.nodes if n.op == "sqrt")
    stepper = show(trace, width=900, step=next(k for k, s in enumerate(trace.steps) if s.kind == "pull" and s.node == node))
    strip = stepper.get_by_role("group", name="Source lines")
    expect(strip.locator("mark")).to_have_text("np.sqrt(x)")
    mark, pane = strip.locator("mark").bounding_box(), strip.bounding_box()
    assert pane["x"] + 40 <= mark["x"]
    assert mark["x"] + mark["width"] <= pane["x"] + pane["width"]


def product() -> Trace:
    X = tv.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
    W = tv.tensor([[0.5, -1.0], [0.25, 2.0], [-0.75, 1.5]], requires_grad=True)
    b = tv.tensor([0.125, 0.5], requires_grad=True)
    h = X @ W
    L = ((h + b) ** 2).sum()
    return L.backward()


def look(stepper: Locator, node: str, entry: str) -> None:
    """Select a node, and focus one of its entries."""
    stepper.get_by_label("Computation graph").get_by_role("button", name=re.compile(f"^{node}")).first.focus()
    stepper.page.keyboard.press("Enter")
    stepper.get_by_role("gridcell", name=re.compile(f"^{re.escape(entry)} is")).focus()


def test_an_entry_shows_where_it_came_from_and_where_it_goes(show):
    trace = product()
    stepper = show(trace, step=len(trace.steps) - 1)
    panel = stepper.get_by_role("tabpanel")
    look(stepper, "matmul h", "h[0, 1]")
    for link in ("X[0, :]", "W[:, 1]", "(h + b)[0, 1]"):
        expect(panel.get_by_role("button", name=link, exact=True)).to_be_visible()
    ringed = stepper.locator(".tv-graph .tv-linked")
    expect(ringed).to_have_count(3 + 3 + 1 + 1)
    panel.get_by_role("button", name="W[:, 1]", exact=True).click()
    look(stepper, "leaf b", "b[0]")
    expect(panel.get_by_role("button", name="(h + b)[:, 0]", exact=True)).to_be_visible()


def used_four_times() -> Trace:
    X = tv.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
    W = tv.tensor([[0.5, -1.0], [0.25, 2.0], [-0.75, 1.5]], requires_grad=True)
    h = X @ W
    L = (h.sum(axis=0) * h.max(axis=1)).sum() + (h[:, 1] ** 2).sum() + h.mean()
    return L.backward()


HEIGHTS = """async box => { const seen = new Set();
  for (let i = 0; i < 12; i++) { await new Promise(requestAnimationFrame); seen.add(box.offsetHeight); }
  return [...seen]; }"""


@pytest.mark.parametrize("down", [0, 9999], ids=["top", "bottom"])
def test_an_entry_stays_under_the_pointer_where_the_box_about_it_takes_its_room(show, down):
    trace = used_four_times()
    stepper = show(trace, step=len(trace.steps) - 1)
    stepper.get_by_label("Computation graph").get_by_role("button", name=re.compile("^matmul h")).focus()
    stepper.page.keyboard.press("Enter")
    entry, box = stepper.get_by_role("gridcell", name=re.compile(r"^∂h\[1, 0\] is")), stepper.locator("[role=tabpanel] .tv-entry")
    stepper.get_by_role("tabpanel").evaluate("(e, down) => { e.scrollTop = down; }", down)
    place = entry.bounding_box()
    stepper.page.mouse.move(place["x"] + 4, place["y"] + 4)
    expect(box).to_contain_text("∂h[1, 0] =")
    assert len(box.evaluate(HEIGHTS)) == 1
    expect(box).to_contain_text("and 1 more: see Shares")  # four shares, three of which are written out
    expect(box).not_to_contain_text("∂(h[:, 1])")  # which has no part in it
    entry.focus()
    assert entry.evaluate("e => e.getBoundingClientRect().bottom") <= box.evaluate("e => e.getBoundingClientRect().top") + 1  # px are rounded


def test_an_entry_under_the_pointer_in_the_picture_is_followed_as_in_the_inspector(show):
    trace = product()
    stepper = show(trace, step=len(trace.steps) - 1)
    ringed = stepper.locator(".tv-graph .tv-linked")
    expect(ringed).to_have_count(0)

    def point(selector, k):
        box = stepper.locator(f".tv-graph {selector}").nth(k).bounding_box()
        stepper.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)

    h, b = trace.node("h").id, trace.node("b").id
    point(f"[data-value='{h}'] .tv-in", 1)
    expect(ringed).to_have_count(3 + 3 + 1 + 1)  # of X, of W, of h + b, and itself
    stepper.get_by_role("button", name="Next step").hover()
    expect(ringed).to_have_count(0)
    point(f"[data-total='{h}'] .tv-in", 0)
    expect(ringed).to_have_count(1 + 3 + 3 + 1)  # of ∂(h + b), of ∂X and ∂W, and itself
    look(stepper, "leaf b", "b[0]")
    point(f"[data-value='{b}'] .tv-in", 1)
    expect(stepper.get_by_role("tabpanel").locator(".tv-entry")).to_contain_text("b[1] =")
    stepper.get_by_role("button", name="Next step").hover()
    expect(stepper.get_by_role("tabpanel").locator(".tv-entry")).to_contain_text("b[0] =")


def test_the_numbers_of_the_entry_that_is_looked_at_are_put_in(show):
    trace = product()
    stepper = show(trace, step=len(trace.steps) - 1)
    panel = stepper.get_by_role("tabpanel")
    g = trace.node("h").cotangent
    look(stepper, "leaf W", "∂W[2, 0]")
    words = panel.locator(".tv-entry .tv-put")
    expect(words).to_contain_text(f"3 · {('(−' + format(-g[0, 0], 'g') + ')') if g[0, 0] < 0 else format(g[0, 0], 'g')}")
    look(stepper, "leaf b", "∂b[1]")
    expect(words).to_contain_text(f"= {format(trace.node('b').cotangent[1], 'g')}")
    expect(panel.get_by_role("button", name="∂(h + b)[:, 1]", exact=True)).to_be_visible()


def test_a_saved_value_says_until_when_it_is_needed_and_the_pass_how_much_it_holds(show):
    trace = product()
    stepper = show(trace)
    stepper.get_by_label("Computation graph").get_by_role("button", name=re.compile("^matmul h")).focus()
    stepper.page.keyboard.press("Enter")
    stepper.get_by_role("tab", name="Saved values").click()
    panel = stepper.get_by_role("tabpanel")
    pull = next(k for k, s in enumerate(trace.steps) if s.kind == "pull" and trace.nodes[s.node].name == "h")
    expect(panel).to_contain_text(f"48 B, needed by h; for the last time at step {pull + 1}")
    chart = panel.get_by_role("img", name=re.compile("^bytes held at each of"))
    # saved: X and W, 48 B each, and h + b with its exponent, 32 B and 8 B; a gradient of 8 B has arrived
    expect(chart).to_have_accessible_name(re.compile(r"now 136 B of saved values and 8 B of gradients"))
    panel.get_by_role("button", name=f"step {pull + 1}", exact=True).first.click()
    expect(stepper).to_have_attribute("data-step", str(pull))
    stepper.get_by_role("button", name="Next step", exact=True).click()
    expect(chart).to_have_accessible_name(re.compile("now 0 B of saved values"))


def test_the_scale_can_be_logarithmic_and_shows_what_falls_off_it(show):
    x = tv.tensor([1.0, 1e-3, 1e-9, 0.0], requires_grad=True)
    stepper = show((x * 2.0).sum().backward())
    look(stepper, "leaf x", "x[1]")
    cells = stepper.get_by_role("grid", name="value (4,)").get_by_role("gridcell")
    before = cells.nth(1).evaluate("e => getComputedStyle(e).backgroundColor")
    log = stepper.get_by_role("button", name="log scale")
    log.click()
    expect(log).to_have_attribute("aria-pressed", "true")
    assert cells.nth(1).evaluate("e => getComputedStyle(e).backgroundColor") != before
    expect(cells.nth(2)).to_have_attribute("data-special", "clipped")
    expect(cells.nth(3)).not_to_have_attribute("data-special", "clipped")


def test_the_panel_stays_where_it_was_scrolled_to_where_it_is_drawn_again(show):
    stepper = show(gallery.attention(), step=17)
    panel, log = stepper.get_by_role("tabpanel"), stepper.get_by_role("button", name="log scale")
    stepper.page.set_viewport_size({"width": 1280, "height": 640})
    panel.evaluate("e => { e.scrollTop = 60; }")
    stepper.page.evaluate("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")
    assert panel.evaluate("e => e.scrollTop") == 60
    log.evaluate("e => e.click()")
    expect(log).to_have_attribute("aria-pressed", "true")
    assert panel.evaluate("e => e.scrollTop") == 60
    stepper.get_by_role("tab", name="Check").click()
    assert panel.evaluate("e => e.scrollTop") == 0
