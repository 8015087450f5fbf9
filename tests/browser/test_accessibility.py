"""Nothing that axe-core calls serious, in light, dark and presentation; the whole tour by keyboard; every sentence in the live region."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

import tensorviz as tv
from browser.book import wait_until
from browser.scenes import SCENES
from tensorviz.trace import Trace

AXE = Path(__file__).parents[2] / "widgets" / "node_modules" / "axe-core" / "axe.min.js"
TABS = ("Node", "Shares", "Saved values", "Check", "Source", "Findings")


def routed() -> Trace:
    X = tv.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 5.0]], requires_grad=True, name="X")
    b = tv.tensor([0.1, 0.2, 0.3], requires_grad=True, name="b")
    return (tv.relu(X + b).max(axis=1) * X.sum(axis=1)).sum().backward()


def scoped() -> Trace:
    h = tv.tensor([0.1, 0.2, 0.3], requires_grad=True, name="h")
    for i in range(8):
        with tv.scope(f"layer{i}"):
            for _ in range(8):
                h = np.tanh(h) * 1.1
    return h.sum().backward()


@pytest.fixture
def axe() -> str:
    if not AXE.is_file():
        if os.environ.get("CI"):
            pytest.fail("axe-core is not installed: run npm ci in widgets/")
        pytest.skip("axe-core is not installed: run npm ci in widgets/")
    return AXE.read_text("utf-8")


def serious(page: Page, axe: str, within: str = "body") -> list[str]:
    """What axe-core finds in a part of the page, of serious or critical impact."""
    if not page.evaluate("'axe' in globalThis"):
        page.evaluate(axe)  # evaluated, because the page's policy loads nothing
    found = page.evaluate("async (within) => (await axe.run(within, { resultTypes: ['violations'] })).violations", within)
    return [
        f"{v['id']} ({v['impact']}): {v['help']}\n    " + "\n    ".join(n["html"][:150] for n in v["nodes"][:4])
        for v in found
        if v["impact"] in ("serious", "critical")
    ]


def opened(open_page, tmp_path: Path, trace: Trace, **options) -> Locator:
    scheme = options.pop("color_scheme", "light")
    trace.to_html(tmp_path / "page.html", **options)
    return open_page(tmp_path / "page.html", color_scheme=scheme).get_by_role("region", name="Backward pass debugger")


@pytest.mark.parametrize(("make", "scheme"), [(routed, "light"), (routed, "dark"), (scoped, "dark")])
def test_nothing_serious_in_any_section(open_page, tmp_path, axe, make, scheme):
    trace = make()
    step = next((k for k, s in enumerate(trace.steps) if s.kind == "unbroadcast"), 9)
    stepper = opened(open_page, tmp_path, trace, color_scheme=scheme, step=step)
    found = serious(stepper.page, axe)
    for tab in TABS:
        stepper.get_by_role("tab", name=tab, exact=True).click()
        found += [f"{tab}: {line}" for line in serious(stepper.page, axe, ".tv-inspector")]
    stepper.focus()
    stepper.page.keyboard.press("?")
    found += [f"help: {line}" for line in serious(stepper.page, axe, ".tv-help")]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("width", [472, 700, 912])
def test_nothing_serious_where_the_stepper_is_narrow(open_page, tmp_path, axe, width):
    JUDGED["network"].make().to_html(tmp_path / "page.html", step=100)
    page = open_page(tmp_path / "page.html", width=width)
    legend = page.get_by_role("group", name="Legend")
    assert legend.evaluate("e => e.scrollHeight > e.clientHeight"), "there is to be more than has room"
    found = serious(page, axe)
    assert not found, "\n".join(found)
    legend.focus()
    page.keyboard.press("ArrowDown")
    wait_until(lambda: legend.evaluate("e => e.scrollTop") > 0, "the keyboard to scroll the legend", 45)


JUDGED = {scene.name: scene for scene in SCENES}
DAILY = ("fork", "findings", "blame", "edit", "network", "pair", "lecture-fork")
"""Scenes that are judged every day, in light or dark by turns; the others and the third palette by ``-m slow``."""


def nothing_serious(browser, tmp_path: Path, axe: str, name: str, theme: str) -> None:
    wide, high = JUDGED[name].size
    context = browser.new_context(viewport={"width": wide, "height": high}, offline=True, reduced_motion="reduce")
    try:
        page = context.new_page()
        JUDGED[name].open(page, tmp_path, theme)
        found = serious(page, axe)
    finally:
        context.close()
    assert not found, "\n".join(found)


@pytest.mark.parametrize(("name", "theme"), [(name, ("light", "dark")[i % 2]) for i, name in enumerate(DAILY)])
def test_nothing_serious_in_what_a_person_does(browser, tmp_path, axe, name, theme):
    nothing_serious(browser, tmp_path, axe, name, theme)


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark", "cs231n"])
@pytest.mark.parametrize("name", JUDGED)
def test_nothing_serious_in_any_scene_in_any_palette(browser, tmp_path, axe, name, theme):
    nothing_serious(browser, tmp_path, axe, name, theme)


def test_every_sentence_reaches_the_live_region(open_page, tmp_path):
    trace = routed()
    stepper = opened(open_page, tmp_path, trace)
    status = stepper.get_by_role("status")
    expect(status).to_have_attribute("aria-live", "polite")
    stepper.focus()
    for k, step in enumerate(trace.steps):
        expect(status).to_have_text(f"Step {k + 1} of {len(trace.steps)}: {step.caption}")
        stepper.page.keyboard.press("ArrowRight")


def test_the_whole_tour_by_keyboard(open_page, tmp_path):
    """Every control can be reached by Tab, each shows that it has the focus, and Esc brings the focus back."""
    stepper = opened(open_page, tmp_path, routed())
    press, reached = stepper.page.keyboard.press, set()
    stepper.focus()
    for _ in range(60):
        press("Tab")
        name = stepper.page.evaluate(
            """() => { const e = document.activeElement; if (!e || e === document.body) return null;
            const style = getComputedStyle(e), shape = e.querySelector?.(':scope > .tv-shape');
            const seen = parseFloat(style.outlineWidth) > 0 && style.outlineStyle !== 'none' || shape || e.closest('.tv-find') || e.matches('[type=range]');
            return seen ? e.getAttribute('aria-label') || e.textContent.trim() || e.className : 'UNSEEN ' + e.outerHTML.slice(0, 120); }"""
        )
        if name is None:
            break
        assert not name.startswith("UNSEEN"), name
        reached.add(name)
    for name in ("First step", "Play / Pause", "Next breakpoint", "Step", "Find node", "Theme", "Fit graph", "Node"):
        assert name in reached, f"{name} cannot be reached by Tab; reached: {sorted(reached)}"
    assert any(name.startswith(("sum", "leaf")) for name in reached), "no node can be reached"
    press("Escape")
    stepper.focus()
    press("/")
    expect(stepper.get_by_role("searchbox", name="Find node")).to_be_focused()
    press("Escape")
    expect(stepper).to_be_focused()
