"""The keys are heard whatever the pointer has pressed last: also what is gone, hidden or drawn anew by the press."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, expect

from browser import scenes
from browser.scenes import node
from browser.steppers import at
from browser.test_stepper_groups import graph, scoped
from tensorviz.trace import Trace
from views import gallery


def crumb(name: str) -> Callable[[Locator], None]:
    return lambda stepper: stepper.get_by_role("group", name="Groups and node").get_by_role("button", name=name).click()


def in_panel(name: str) -> Callable[[Locator], None]:
    return lambda stepper: stepper.get_by_role("tabpanel").get_by_role("button", name=name).first.click()


def follow(stepper: Locator) -> None:
    stepper.get_by_role("group", name="Pinned").get_by_role("button", name="Follow the step").click()


def settled(stepper: Locator) -> None:
    stepper.evaluate("() => new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")


@pytest.mark.parametrize(
    ("make", "acts"),
    [
        pytest.param(gallery.staged, (node("x"), follow), id="follow the step"),
        pytest.param(gallery.staged, (node("x"), crumb("✕ pinned: x")), id="let go of a pinned node"),
        pytest.param(gallery.born, (in_panel("Why?"),), id="why"),
        pytest.param(gallery.broadcast, (node("b"), scenes.entry("b[1]"), in_panel("(X + b)[:, 1]")), id="link in the panel"),
    ],
)
def test_the_keys_step_after_a_click_on_what_goes_away(show, make: Callable[[], Trace], acts):
    stepper = show(make(), step=3)
    for act in acts:
        act(stepper)
        settled(stepper)
    k = int(stepper.get_attribute("data-step") or 0)
    stepper.page.keyboard.press("ArrowRight")
    at(stepper, k + 1)
    expect(stepper.get_by_role("status").first).to_contain_text(f"Step {k + 2} of")


def test_a_legend_that_was_scrolled_keeps_the_keys_when_it_gets_room(show):
    stepper = show(scenes.hostile(), width=424)
    legend = stepper.get_by_role("group", name="Legend")
    assert legend.evaluate("e => e.scrollHeight > e.clientHeight")
    legend.click()
    stepper.page.set_viewport_size({"width": 1600, "height": 900})
    settled(stepper)
    stepper.page.keyboard.press("ArrowRight")
    at(stepper, 1)


def test_code_that_has_no_room_any_more_leaves_the_keys(show):
    stepper = show(gallery.staged())
    stepper.locator(".tv-source .tv-expression").first.focus()
    stepper.page.set_viewport_size({"width": 500, "height": 800})
    expect(stepper.locator(".tv-source")).to_be_hidden()
    expect(stepper).to_be_focused()
    stepper.page.keyboard.press("ArrowRight")
    at(stepper, 1)


def test_nothing_slides_once_so_many_groups_are_open_that_it_would_jerk(show):
    stepper = show(scoped())
    expect(stepper).not_to_have_attribute("data-large", "")
    for _ in range(5):
        graph(stepper).locator("[data-group^='scope:']").first.focus()
        stepper.page.keyboard.press("+")
    expect(stepper).to_have_attribute("data-large", "")


def test_a_breakpoint_is_marked_in_the_neighbourhood_too(show):
    stepper = show(scoped(), step=7)
    near = stepper.get_by_label("Neighbourhood of the step")
    expect(near.locator(".tv-stop")).to_have_count(0)
    stepper.press("b")
    expect(near.locator(".tv-stop")).to_have_count(1)
    stepper.press("b")
    expect(near.locator(".tv-stop")).to_have_count(0)
