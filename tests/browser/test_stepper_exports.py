"""A notebook with steppers, exported by nbconvert: one offline page on which each steps by itself."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import FrameLocator, Page, expect

import tensorviz as tv
from browser.book import wait_until
from tensorviz.widgets import output

nbconvert = pytest.importorskip("nbconvert")


def cell(name: str) -> nbformat.NotebookNode:
    """A code cell with the output that a trace leaves in a kernel."""
    x = tv.tensor(3.0, requires_grad=True, name=name)
    shown = output.bundle((x * x + x).backward())
    return nbformat.v4.new_code_cell("trace", outputs=[nbformat.v4.new_output("execute_result", shown, execution_count=1)], execution_count=1)


def exported(path: Path, cells: list[nbformat.NotebookNode]) -> Path:
    book = nbformat.v4.new_notebook(cells=cells)
    body, _ = nbconvert.HTMLExporter(template_name="basic").from_notebook_node(book)
    path.write_text(f"<!doctype html><html><head><meta charset='utf-8'><title>export</title></head><body>{body}</body></html>", "utf-8")
    return path


def frame(page: Page, i: int) -> FrameLocator:
    return page.locator("iframe.tensorviz-frame").nth(i).content_frame


def stands(page: Page, i: int, step: int) -> None:
    expect(frame(page, i).get_by_role("region", name="Backward pass debugger")).to_have_attribute("data-step", str(step))


def test_an_exported_notebook_steps_offline_and_two_frames_do_not_disturb_each_other(open_page, tmp_path):
    page = open_page(exported(tmp_path / "book.html", [cell("a"), cell("b")]))
    stands(page, 0, 0)
    stands(page, 1, 0)
    frame(page, 1).get_by_role("button", name="Next step").click()
    frame(page, 1).get_by_role("button", name="Next step").click()
    frame(page, 0).get_by_role("button", name="Last step").click()
    stands(page, 1, 2)
    expect(frame(page, 1).get_by_role("status")).to_have_text(re.compile("^Step 3 of"))
    expect(frame(page, 0).get_by_role("status")).to_contain_text("a.grad")
    assert "b" not in (frame(page, 0).get_by_role("status").text_content() or "").split()
    expect(page.locator(".tensorviz-static").first).to_be_hidden()


def test_an_output_that_is_cleared_leaves_the_other_working_and_a_reload_starts_anew(open_page, tmp_path):
    page = open_page(exported(tmp_path / "book.html", [cell("a"), cell("b")]))
    stands(page, 1, 0)
    page.locator(".tensorviz-output").first.evaluate("e => e.remove()")
    # by key: a click right after what stands above has gone may still meet the frame where it was
    frame(page, 0).get_by_role("button", name="Next step").press("Enter")
    stands(page, 0, 1)
    page.reload()
    stands(page, 0, 0)
    stands(page, 1, 0)


def test_without_scripts_the_steps_are_listed_in_place_of_an_empty_frame(browser, tmp_path):
    page = browser.new_context(java_script_enabled=False, offline=True).new_page()
    page.goto(exported(tmp_path / "book.html", [cell("a")]).as_uri())
    expect(page.locator("iframe.tensorviz-frame")).to_be_hidden()
    page.get_by_text("The steps as text").click()
    expect(page.locator("ol > li").last).to_contain_text("a.grad")
    page.context.close()


def test_the_frame_is_as_high_as_the_stepper(open_page, tmp_path):
    page = open_page(exported(tmp_path / "book.html", [cell("a")]))
    stands(page, 0, 0)
    inner, outer = frame(page, 0).get_by_role("region", name="Backward pass debugger"), page.locator("iframe.tensorviz-frame")
    expect(outer).to_have_attribute("style", re.compile(r"height: \d+px"))
    # read together until they agree: the stepper may still grow, and the frame follows
    wait_until(lambda: outer.bounding_box()["height"] == round(inner.bounding_box()["height"]) + 2, "a frame of the stepper's height", 45)
