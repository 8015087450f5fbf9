"""The whole course as pages: every one opened from the disk with the network off, stepped, and its ways tried."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from browser.book import wait_until
from tensorviz.site.build import build_site
from tensorviz.site.course import read_course
from tensorviz.widgets.drawing import LEAST

pytestmark = pytest.mark.slow

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
NAMES = [lesson.name for lesson in read_course(NOTEBOOKS).lessons]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("course")
    build_site(NOTEBOOKS, target)
    return target


@pytest.mark.parametrize("name", NAMES)
def test_every_stepper_of_a_page_steps_and_the_page_is_as_wide_as_the_window(site, open_page, name):
    page = open_page(site / f"{name}.html", color_scheme="dark")
    frames = page.locator("iframe.tensorviz-frame")
    assert frames.count() > 0
    for index in range(frames.count()):
        frame = frames.nth(index)
        frame.scroll_into_view_if_needed()
        stepper = frame.content_frame.get_by_role("region", name="Backward pass debugger").first
        before = int(stepper.get_attribute("data-step") or 0)
        stepper.get_by_role("button", name="Next step").press("Enter")
        expect(stepper).to_have_attribute("data-step", str(before + 1))
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the page scrolls sideways"


def test_a_wide_picture_is_scrolled_and_not_made_too_small_to_read(site, open_page):
    page = open_page(site / "matmul_from_primitives.html", width=700)
    picture = page.locator(".tensorviz-drawing img").last
    drawn = picture.evaluate("async image => { await image.decode(); return image.naturalWidth }")
    assert drawn > 1000
    assert picture.bounding_box()["width"] == pytest.approx(LEAST * drawn, abs=1)
    assert picture.locator("..").evaluate("e => e.scrollWidth > e.clientWidth && getComputedStyle(e).overflowX === 'auto'")


@pytest.mark.parametrize(("width", "most"), [(1280, 50), (852, 2), (700, 2), (472, 5)])
def test_a_stepper_starts_when_it_is_near_and_little_moves_when_it_does(site, open_page, width, most):
    page = open_page(site / "forks.html", width=width)
    last = page.locator("iframe.tensorviz-frame").last
    button = last.content_frame.get_by_role("button", name="Next step")
    before = last.bounding_box()
    assert button.count() == 0, "the last stepper of a long page has started with the page"
    last.scroll_into_view_if_needed()
    button.wait_for()
    page.wait_for_function("[...document.querySelectorAll('iframe.tensorviz-frame')].at(-1).style.height")
    inside = last.content_frame.get_by_role("region", name="Backward pass debugger").first
    # read together until they agree: the stepper may still grow, and the frame follows
    wait_until(lambda: abs(last.bounding_box()["height"] - inside.bounding_box()["height"]) <= 3, "a frame of the stepper's height", 45)
    after = last.bounding_box()
    assert before is not None and after is not None
    assert abs(after["height"] - before["height"]) <= most


@pytest.mark.parametrize("width", [1280, 700])
def test_every_link_of_every_page_leads_somewhere(site, open_page, width):
    page = open_page(site / "index.html", width=width)
    assert page.locator("main.index li > a").count() == len(NAMES)
    for name in ("index", *NAMES):
        page.goto((site / f"{name}.html").as_uri())
        assert page.title() != ""
        for address in page.evaluate("[...document.links].map(a => a.href)"):
            if address.startswith("file:"):
                there, _, anchor = address.partition("#")
                file = site / Path(there.removeprefix(site.as_uri() + "/"))
                assert file.is_file(), f"{name}: {address}"
                assert not anchor or f'id="{anchor}"' in file.read_text(encoding="utf-8"), f"{name}: {address}"


def test_the_first_key_leads_past_the_head_and_the_last_link_to_the_next_lesson(site, open_page):
    page: Page = open_page(site / f"{NAMES[0]}.html")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="To the lesson")).to_be_focused()
    expect(page.get_by_role("link", name="To the lesson")).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.get_by_role("main")).to_be_focused()
    page.get_by_role("link", name="Next").press("Enter")
    page.wait_for_url(f"**/{NAMES[1]}.html")


def test_on_paper_the_steps_are_listed_and_folded_answers_lie_open(site, open_page):
    page: Page = open_page(site / f"{NAMES[0]}.html")
    page.emulate_media(media="print")
    expect(page.locator("iframe.tensorviz-frame").first).to_be_hidden()
    expect(page.get_by_role("navigation")).to_be_hidden()
    expect(page.locator(".tensorviz-static ol > li").first).to_be_visible()
    assert page.pdf(prefer_css_page_size=True).startswith(b"%PDF")
